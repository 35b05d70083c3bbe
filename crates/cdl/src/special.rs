//! The special attributes of `-s`: the storage of a variable, and properties of the dataset. They are not
//! attributes of the dataset; CDL readers apply them.

use nczarr_model::{Chunking, Endian, FilterSpec, Result, Var, VarFill, VarId};

use crate::atts::push_text_att;
use crate::header::Printer;
use crate::text::push_name;

/// HDF5 ids of filters with special attributes of their own.
const DEFLATE: u32 = 1;
const SHUFFLE: u32 = 2;
const FLETCHER32: u32 = 3;

impl Printer<'_> {
    pub(crate) fn var_specials(&mut self, id: VarId) -> Result<()> {
        if self.facts.classic {
            return Ok(());
        }
        let var = self.model.var(id)?;
        let (storage, chunks) = match &var.chunking {
            Chunking::Contiguous => ("contiguous", None),
            Chunking::Compact => ("compact", None),
            Chunking::Chunked(shape) => ("chunked", Some(shape.clone())),
            Chunking::Default => match self.source.chunk_shape(id) {
                Some(shape) => ("chunked", Some(shape)),
                None => ("contiguous", None),
            },
        };
        self.text_att(&var.name, "_Storage", storage)?;
        // A scalar has no chunk sizes.
        if let Some(shape) = chunks.filter(|shape| !shape.is_empty() && !var.dims.is_empty()) {
            self.plain_att(&var.name, "_ChunkSizes", &joined(&shape, ", "))?;
        }
        if let Some(shards) = &var.shards {
            self.plain_att(&var.name, "_ShardSizes", &joined(shards, ", "))?;
        }
        self.filters(var)?;
        let swappable = var.xtype.is_numeric() && var.xtype.size().is_some_and(|size| size > 1);
        match var.endian {
            Endian::Little if swappable => self.text_att(&var.name, "_Endianness", "little")?,
            Endian::Big if swappable => self.text_att(&var.name, "_Endianness", "big")?,
            _ => {}
        }
        if var.fill == VarFill::NoFill {
            self.text_att(&var.name, "_NoFill", "true")?;
        }
        Ok(())
    }

    fn filters(&mut self, var: &Var) -> Result<()> {
        let own = |id| !self.options.as_filters && [DEFLATE, SHUFFLE, FLETCHER32].contains(&id);
        let find = |id| var.filters.iter().find(|filter| filter.hdf5_id == Some(id) && own(id));
        if find(FLETCHER32).is_some() {
            self.text_att(&var.name, "_Fletcher32", "true")?;
        }
        if find(SHUFFLE).is_some() {
            self.text_att(&var.name, "_Shuffle", "true")?;
        }
        if let Some(level) = find(DEFLATE).and_then(|deflate| deflate.params.first()) {
            self.plain_att(&var.name, "_DeflateLevel", &level.to_string())?;
        }
        // The parameter that HDF5 stores for the shuffle filter is the element size.
        let size = self.model.type_size(var.xtype)?.and_then(|size| u32::try_from(size).ok());
        let rendered = |filter: &FilterSpec| match size {
            Some(size) if filter.hdf5_id == Some(SHUFFLE) && filter.params.is_empty() => {
                other_filter(&FilterSpec { params: vec![size], ..filter.clone() }, own)
            }
            _ => other_filter(filter, own),
        };
        let others: Vec<String> = var.filters.iter().filter_map(rendered).collect();
        if !others.is_empty() {
            self.text_att(&var.name, "_Filter", &others.join("|"))?;
        }
        let codecs: Option<Vec<String>> =
            var.filters.iter().map(|filter| filter.codec.as_deref().map(spaced)).collect();
        if let Some(codecs) = codecs.filter(|codecs| !codecs.is_empty()) {
            self.text_att(&var.name, "_Codecs", &format!("[{}]", codecs.join(",")))?;
        }
        Ok(())
    }

    pub(crate) fn root_specials(&mut self) -> Result<()> {
        if !self.facts.classic {
            if let Some(text) = &self.facts.properties {
                self.text_att("", "_NCProperties", text)?;
            }
            if let Some(version) = self.facts.superblock {
                self.plain_att("", "_SuperblockVersion", &version.to_string())?;
            }
            if !self.facts.hdf4 {
                self.plain_att("", "_IsNetcdf4", if self.facts.foreign { "0" } else { "1" })?;
            }
        }
        self.text_att("", "_Format", &self.facts.format)
    }

    fn text_att(&mut self, owner: &str, name: &str, text: &str) -> Result<()> {
        let mut line = Vec::new();
        push_text_att(&mut line, owner, name, text);
        self.att_line(&line)
    }

    fn plain_att(&mut self, owner: &str, name: &str, text: &str) -> Result<()> {
        let mut line = Vec::new();
        push_name(&mut line, owner);
        line.extend_from_slice(format!(":{name} = {text} ;\n").as_bytes());
        self.att_line(&line)
    }
}

/// Returns id and parameters of a filter without a special attribute of its own; `None` if it has one, or has
/// no id.
fn other_filter(filter: &FilterSpec, own: impl Fn(u32) -> bool) -> Option<String> {
    let id = filter.hdf5_id.filter(|&id| !own(id))?;
    let numbers: Vec<u32> = std::iter::once(id).chain(filter.params.iter().copied()).collect();
    Some(joined(&numbers, ","))
}

fn joined<T: ToString>(values: &[T], between: &str) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

/// Formats JSON text with one blank after each colon and, in objects, after each comma, and no others.
fn spaced(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 16);
    let mut inside = Vec::new();
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                text.push(c);
                while let Some(c) = chars.next() {
                    text.push(c);
                    match c {
                        '\\' => text.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            c if c.is_whitespace() => {}
            ':' => text.push_str(": "),
            ',' if inside.last() == Some(&'{') => text.push_str(", "),
            c => {
                match c {
                    '{' | '[' => inside.push(c),
                    '}' | ']' => drop(inside.pop()),
                    _ => {}
                }
                text.push(c);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_spaced_alike() {
        for (json, want) in [
            (r#"{"id":"zlib","level":5}"#, r#"{"id": "zlib", "level": 5}"#),
            (r#"{ "id" : "zlib" , "level" : 5 }"#, r#"{"id": "zlib", "level": 5}"#),
            (r#"{"a":[1, 2,{"b":"x, y: \"z\""}],"c":{}}"#, r#"{"a": [1,2,{"b": "x, y: \"z\""}], "c": {}}"#),
            (r#""unfinished \"#, r#""unfinished \"#),
        ] {
            assert_eq!(spaced(json), want);
        }
    }

    #[test]
    fn filters_without_an_attribute_of_their_own() {
        let filter =
            |id, params: &[u32]| FilterSpec { hdf5_id: id, params: params.to_vec(), ..FilterSpec::default() };
        let own = |id| [DEFLATE, SHUFFLE, FLETCHER32].contains(&id);
        assert_eq!(other_filter(&filter(Some(32015), &[3]), own).as_deref(), Some("32015,3"));
        assert_eq!(other_filter(&filter(Some(307), &[]), own).as_deref(), Some("307"));
        assert_eq!(other_filter(&filter(Some(1), &[5]), own), None);
        assert_eq!(other_filter(&filter(None, &[5]), own), None);
    }
}
