//! `ncz dump --json`: a dataset as one JSON document, written while it is read.
//!
//! A group is `{"types":…, "dimensions":…, "attributes":…, "variables":…, "groups":…}`. Each of these is an
//! object by name, left out if empty. A variable has `type` and `dimensions` (paths where a name alone is
//! ambiguous) and, except under `--header`, `data`: arrays nested by dimension.
//!
//! Elements have the form of `ncz cat`, but rows of a text variable are strings, and times, on request, ISO
//! 8601 text. Unreadable data are `{"error":"…"}`.

use nczarr_cdl::{Blocks, DataSource as _, Options, PrintedPart, TimeAxis};
use nczarr_model::{Att, Group, GroupId, Model, NcType, Result, TypeClass, Values, VarId};
use serde_json::{Map, Value, json};

use crate::cat::json::{each, push_text};
use crate::info::type_name_in;
use crate::output::Output;
use crate::source::DatasetSource;

/// The usual number of bytes per read.
const BLOCK_BYTES: u64 = 4 << 20;
/// The maximum number of bytes per read, if larger reads avoid decoding a chunk twice.
const MOST_BYTES: u64 = 64 << 20;

/// Prints the dataset. After a read failure it goes on, and returns the first one at the end.
///
/// # Errors
///
/// Errors of reading and writing.
pub fn print(
    model: &Model,
    options: &Options,
    source: &mut DatasetSource<'_>,
    out: &mut Output,
) -> Result<()> {
    let mut printer = Printer { model, options, source, out, failed: None };
    printer.out.put("{\"name\":")?;
    printer.text(&options.name)?;
    printer.group(GroupId::ROOT)?;
    printer.out.put("}\n")?;
    printer.failed.map_or(Ok(()), Err)
}

struct Printer<'a, 'b> {
    model: &'a Model,
    options: &'a Options,
    source: &'a mut DatasetSource<'b>,
    out: &'a mut Output,
    failed: Option<nczarr_model::Error>,
}

impl Printer<'_, '_> {
    /// Prints the members of a group, each with a comma before it. The depth of recursion is that of the
    /// group tree.
    fn group(&mut self, id: GroupId) -> Result<()> {
        let model = self.model;
        let group: &Group = model.group(id)?;
        let mut types = Map::new();
        for &ty in group.types.values() {
            let user = model.user_type(ty)?;
            types.insert(user.name.clone(), self.type_json(&user.class, user.group)?);
        }
        self.object("types", types)?;
        let mut dims = Map::new();
        for &dim in group.dims.values() {
            let dim = model.dim(dim)?;
            dims.insert(dim.name.clone(), json!({"length": dim.len(), "unlimited": dim.unlimited}));
        }
        self.object("dimensions", dims)?;
        self.object("attributes", self.atts(&group.atts, id, None)?)?;
        if !group.vars.is_empty() {
            self.out.put(",\"variables\":{")?;
            for (at, &var) in group.vars.values().enumerate() {
                self.out.put(if at == 0 { "" } else { "," })?;
                self.var(var)?;
            }
            self.out.put("}")?;
        }
        if !group.groups.is_empty() {
            self.out.put(",\"groups\":{")?;
            for (at, &child) in group.groups.values().enumerate() {
                self.out.put(if at == 0 { "" } else { "," })?;
                let name = &model.group(child)?.name;
                self.text(name)?;
                self.out.put(":{\"name\":")?;
                self.text(name)?;
                self.group(child)?;
                self.out.put("}")?;
            }
            self.out.put("}")?;
        }
        Ok(())
    }

    fn object(&mut self, name: &str, object: Map<String, Value>) -> Result<()> {
        if object.is_empty() {
            return Ok(());
        }
        self.out.put(format!(",\"{name}\":{}", Value::from(object)))
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let mut quoted = Vec::new();
        push_text(&mut quoted, text);
        self.out.put(quoted)
    }

    fn type_json(&self, class: &TypeClass, from: GroupId) -> Result<Value> {
        Ok(match class {
            TypeClass::Opaque { size } => json!({"class": "opaque", "size": size}),
            TypeClass::Vlen { base } => {
                json!({"class": "vlen", "base": type_name_in(self.model, from, *base)})
            }
            TypeClass::Enum { base, members } => {
                let members = members.iter().map(|member| (member.name.clone(), member.value.to_string()));
                let members: Map<String, Value> = members
                    .map(|(name, value)| {
                        (name, value.parse::<i64>().map_or_else(|_| Value::from(value), Value::from))
                    })
                    .collect();
                json!({"class": "enum", "base": type_name_in(self.model, from, *base), "members": members})
            }
            TypeClass::Compound { fields, .. } => {
                let fields: Result<Vec<_>> = (fields.iter())
                    .map(|field| {
                        Ok(json!({"name": field.name, "type": type_name_in(self.model, from, field.ty), "shape": field.shape}))
                    })
                    .collect();
                json!({"class": "compound", "fields": fields?})
            }
        })
    }

    fn atts(&self, atts: &Att, from: GroupId, times: Option<&TimeAxis>) -> Result<Map<String, Value>> {
        let mut object = Map::new();
        for (name, values) in atts {
            let mut att = Map::new();
            att.insert("type".to_owned(), type_name_in(self.model, from, values.nc_type()).into());
            att.insert("value".to_owned(), self.att_value(values)?);
            if let Some(axis) = times.filter(|_| values.nc_type().is_numeric()) {
                att.insert(
                    "times".to_owned(),
                    (0..values.len()).map(|at| moment(axis, values, at)).collect(),
                );
            }
            object.insert(name.clone(), att.into());
        }
        Ok(object)
    }

    /// Text stays text; one value stands alone, others form an array.
    fn att_value(&self, values: &Values) -> Result<Value> {
        if let Values::Char(text) = values {
            return Ok(String::from_utf8_lossy(text).into());
        }
        let mut all = Vec::with_capacity(values.len());
        each(self.model, values, |element| {
            all.push(serde_json::from_slice(element).unwrap_or(Value::Null));
            Ok(())
        })?;
        Ok(if all.len() == 1 { all.remove(0) } else { all.into() })
    }

    fn var(&mut self, id: VarId) -> Result<()> {
        let var = self.model.var(id)?;
        let times = self.options.times.and_then(|_| TimeAxis::of(self.model, var));
        let mut dims = Vec::with_capacity(var.dims.len());
        for &dim in &var.dims {
            let seen = self.model.dim(dim)?;
            let path = || -> Result<String> {
                let names = self.model.group_names(seen.group)?.into_iter().chain([seen.name.as_str()]);
                Ok(names.map(|name| format!("/{}", nczarr_model::name::escape(name))).collect())
            };
            let plain = self.model.find_dim(var.group, &seen.name) == Some(dim);
            dims.push(if plain { seen.name.clone() } else { path()? });
        }
        self.text(&var.name)?;
        self.out.put(format!(
            ":{{\"type\":{},\"dimensions\":{}",
            Value::from(type_name_in(self.model, var.group, var.xtype)),
            Value::from(dims)
        ))?;
        self.object("attributes", self.atts(&var.atts, var.group, times.as_ref())?)?;
        if self.wants(id)? {
            self.out.put(",\"data\":")?;
            self.data(id, times.as_ref())?;
        }
        self.out.put("}")
    }

    fn wants(&self, id: VarId) -> Result<bool> {
        let var = self.model.var(id)?;
        let listed = |list: &[VarId]| list.is_empty() || list.contains(&id);
        let grouped = self.options.groups.is_empty() || self.options.groups.contains(&var.group);
        Ok(grouped
            && listed(&self.options.vars)
            && match self.options.part {
                PrintedPart::All => true,
                PrintedPart::Header => false,
                PrintedPart::Coordinates => {
                    var.dims.len() == 1 && self.model.find_dim(var.group, &var.name).is_some()
                }
            })
    }

    fn data(&mut self, id: VarId, times: Option<&TimeAxis>) -> Result<()> {
        let var = self.model.var(id)?;
        let shape = self.model.shape(id)?;
        if let Some(empty) = shape.iter().position(|&len| len == 0) {
            // One level per dimension before the first empty one.
            let rows = shape[..empty].iter().try_fold(1u64, |n, &len| n.checked_mul(len));
            let one = rows.is_none_or(|rows| rows == 1);
            return self.out.put(if one {
                format!("{}{}", "[".repeat(empty + 1), "]".repeat(empty + 1))
            } else {
                "[]".to_owned()
            });
        }
        let size = self.model.type_size(var.xtype)?.map_or(64, |size| size.max(1) as u64);
        let is_text = var.xtype == NcType::Char && !shape.is_empty();
        let mut rows = ArrayCursor { shape: &shape, index: vec![0; shape.len()], text: is_text };
        let (mut line, mut text) = (Vec::new(), Vec::new());
        let chunks = self.source.chunk_shape(id);
        let blocks =
            Blocks::by_chunks(&shape, chunks.as_deref(), (BLOCK_BYTES / size).max(1), MOST_BYTES / size);
        for (start, count) in blocks {
            let block = match self.source.read(id, &start, &count) {
                Ok(block) => block,
                // JSON has no place for an error within an array.
                Err(error) if start.iter().any(|&at| at > 0) => return Err(error),
                Err(error) => {
                    let failure = json!({"error": format!("{error:#}")}).to_string();
                    self.failed.get_or_insert(error);
                    return self.out.put(failure);
                }
            };
            match block {
                Values::Char(bytes) if is_text => {
                    text.extend_from_slice(&bytes);
                    let length = *shape.last().unwrap_or(&1) as usize;
                    let whole = text.len() - text.len() % length;
                    for row in text[..whole].chunks(length) {
                        let end = row.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                        rows.open(&mut line);
                        push_text(&mut line, &String::from_utf8_lossy(&row[..end]));
                        rows.close(&mut line);
                    }
                    text.drain(..whole);
                }
                values => {
                    let mut at = 0;
                    each(self.model, &values, |element| {
                        rows.open(&mut line);
                        match times {
                            Some(axis) => {
                                line.extend_from_slice(moment(axis, &values, at).to_string().as_bytes())
                            }
                            None => line.extend_from_slice(element),
                        }
                        rows.close(&mut line);
                        at += 1;
                        if line.len() < 1 << 16 { Ok(()) } else { self.out.put(std::mem::take(&mut line)) }
                    })?;
                }
            }
            self.out.put(std::mem::take(&mut line))?;
        }
        Ok(())
    }
}

/// Returns a time as text; the number if it is not a valid time.
fn moment(axis: &TimeAxis, values: &Values, at: usize) -> Value {
    let number = match values.scalar(at) {
        Some(nczarr_model::Scalar::Int(value)) => value as f64,
        Some(nczarr_model::Scalar::Float(value)) => value,
        None => return Value::Null,
    };
    axis.moment(number).map_or_else(|| Value::from(number), |moment| moment.iso().into())
}

/// The position of the next element in the nested arrays.
struct ArrayCursor<'a> {
    shape: &'a [u64],
    index: Vec<u64>,
    /// Whether a row of the last dimension is one text.
    text: bool,
}

impl ArrayCursor<'_> {
    fn levels(&self) -> usize {
        self.shape.len() - usize::from(self.text)
    }

    /// Returns brackets and commas before the next element.
    fn open(&self, line: &mut Vec<u8>) {
        let levels = self.levels();
        let zeros = self.index[..levels].iter().rev().take_while(|&&at| at == 0).count();
        if zeros < levels {
            line.push(b',');
        }
        line.resize(line.len() + zeros, b'[');
    }

    /// Returns brackets after it.
    fn close(&mut self, line: &mut Vec<u8>) {
        for dim in (0..self.levels()).rev() {
            self.index[dim] += 1;
            if self.index[dim] < self.shape[dim] {
                return;
            }
            self.index[dim] = 0;
            line.push(b']');
        }
    }
}
