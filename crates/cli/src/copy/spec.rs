//! `--chunks`, `--shards` and `--filter`: the requested layout of the copy's variables.

use nczarr::Registry;
use nczarr::codec::FilterText;
use nczarr_model::{DimId, FilterSpec, GroupId, Model, Var, VarId};

use super::args::CopyArgs;
use super::byte_size::bytes;
use crate::failure::Failure;
use crate::list::split_list;

/// Removes all filters.
const NONE: &str = "none";
/// Stands for every variable.
const EVERY: &str = "*";

/// The requested layout.
#[derive(Debug, Default)]
pub struct RequestedLayout {
    chunks: RequestedLengths,
    shards: RequestedLengths,
    /// The request for the shards of all variables. Requests for dimensions or one variable take precedence.
    all_shards: Option<AllShards>,
    filters: Vec<(Option<VarId>, Vec<FilterSpec>)>,
    /// Whether the layout is optional: a format that lacks a feature gives a report, not an error.
    pub is_wish: bool,
}

/// A request for the shards of all variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllShards {
    None,
    /// Shards of about this many bytes, decoded.
    Bytes(u64),
}

/// Lengths along dimensions, and shapes of variables.
#[derive(Debug, Default)]
struct RequestedLengths {
    dims: Vec<(DimId, u64)>,
    shapes: Vec<(VarId, Vec<u64>)>,
}

impl RequestedLengths {
    /// Returns the requested shape for a variable; `old` is its present chunk shape, or its shape.
    fn of(&self, id: VarId, dims: &[DimId], old: &[u64]) -> Option<Vec<u64>> {
        if let Some((_, shape)) = self.shapes.iter().rev().find(|(var, _)| *var == id) {
            return Some(shape.clone());
        }
        let wanted: Vec<Option<u64>> = dims
            .iter()
            .map(|dim| self.dims.iter().rev().find(|(at, _)| at == dim).map(|(_, len)| *len))
            .collect();
        let asked = wanted.iter().any(Option::is_some);
        asked.then(|| wanted.iter().zip(old).map(|(wanted, &old)| wanted.unwrap_or(old)).collect())
    }

    fn add(&mut self, spec: &str, model: &Model) -> Result<(), String> {
        if let Some((var, shape)) = spec.rsplit_once(':')
            && shape.split(',').all(|len| !len.is_empty() && len.bytes().all(|byte| byte.is_ascii_digit()))
        {
            let shape: Vec<u64> = shape.split(',').map(length).collect::<Result<_, _>>()?;
            for id in find_vars(model, var)? {
                let rank = model.var(id).map_err(|error| error.to_string())?.dims.len();
                if rank != shape.len() {
                    let path = model.var_path(id).unwrap_or_default();
                    return Err(format!("{} lengths, {path} has {rank} dimensions", shape.len()));
                }
                self.shapes.push((id, shape.clone()));
            }
            return Ok(());
        }
        for item in split_list(spec) {
            let (dim, len) = item.rsplit_once('/').ok_or("expected dim/len or var:len,…")?;
            let len = length(len)?;
            self.dims.extend(find_dims(model, dim)?.into_iter().map(|dim| (dim, len)));
        }
        Ok(())
    }
}

impl RequestedLayout {
    /// Parses the flags for the variables of a dataset.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for a malformed flag, or one that fits nothing in the dataset.
    pub fn of(args: &CopyArgs, model: &Model, registry: &Registry) -> Result<Self, Failure> {
        let mut layout = Self { is_wish: args.as_nccopy, ..Self::default() };
        for spec in &args.chunks {
            layout
                .chunks
                .add(spec, model)
                .map_err(|what| Failure::Usage(format!("--chunks {spec}: {what}")))?;
        }
        for spec in &args.shards {
            layout
                .add_shards(spec, model)
                .map_err(|what| Failure::Usage(format!("--shards {spec}: {what}")))?;
        }
        let deflate = args.deflate.map(|level| match (level, args.shuffle) {
            (0, _) => NONE.to_owned(),
            (level, true) => format!("shuffle|deflate,{level}"),
            (level, false) => format!("deflate,{level}"),
        });
        for spec in deflate.iter().chain(&args.filter) {
            layout
                .add_filter(spec, model, registry)
                .map_err(|what| Failure::Usage(format!("--filter {spec}: {what}")))?;
        }
        Ok(layout)
    }

    /// Returns the requested chunk shape of a variable; `old` is its present one, or its shape.
    pub fn chunks(&self, id: VarId, dims: &[DimId], old: &[u64]) -> Option<Vec<u64>> {
        self.chunks.of(id, dims, old)
    }

    /// Returns the shard shape of a variable of this shape in chunks of `chunks`, with elements of `item`
    /// bytes: the requested one, or the present one, rounded up to whole chunks. `None`: no shards.
    pub fn shards(&self, id: VarId, var: &Var, shape: &[u64], chunks: &[u64], item: u64) -> Option<Vec<u64>> {
        let old = var.shards.as_deref().unwrap_or(chunks);
        let asked = self.shards.of(id, &var.dims, old);
        let mut shards = match (asked, self.all_shards) {
            (Some(asked), _) => asked,
            (None, Some(AllShards::None)) => return None,
            (None, Some(AllShards::Bytes(bytes))) => grown(shape, chunks, item, bytes),
            (None, None) => var.shards.clone()?,
        };
        for (shard, chunk) in shards.iter_mut().zip(chunks) {
            *shard = shard.checked_next_multiple_of((*chunk).max(1))?;
        }
        Some(shards)
    }

    /// Returns whether `--shards` applies to a variable.
    pub fn asks_shards(&self, id: VarId, dims: &[DimId]) -> bool {
        self.all_shards.is_some() || self.shards.of(id, dims, &vec![1; dims.len()]).is_some()
    }

    /// Returns the requested filters of a variable. A request for the variable alone takes precedence over
    /// one for all.
    pub fn filters(&self, id: VarId) -> Option<&[FilterSpec]> {
        let find = |wanted| {
            self.filters.iter().rev().find(|(var, _)| *var == wanted).map(|(_, specs)| specs.as_slice())
        };
        find(Some(id)).or_else(|| find(None))
    }

    fn add_shards(&mut self, spec: &str, model: &Model) -> Result<(), String> {
        match (spec, bytes(spec)) {
            (NONE, _) => self.all_shards = Some(AllShards::None),
            (_, Some(bytes)) => self.all_shards = Some(AllShards::Bytes(bytes)),
            _ => {
                return self.shards.add(spec, model).map_err(|what| {
                    if what.starts_with("expected") {
                        format!("{what}, a number of bytes (such as 64M), or none")
                    } else {
                        what
                    }
                });
            }
        }
        Ok(())
    }

    fn add_filter(&mut self, spec: &str, model: &Model, registry: &Registry) -> Result<(), String> {
        let mut parts: Vec<Vec<String>> = spec.split('|').map(split_list).collect();
        let first = parts[0].first().cloned().ok_or("names no filter")?;
        let vars = if first == NONE || is_filter(registry, &first).is_ok() {
            vec![None]
        } else if first == EVERY {
            parts[0].remove(0);
            vec![None]
        } else {
            if parts[0].len() == 1 {
                // A single word: the error for unknown filters helps more than one for unknown variables.
                is_filter(registry, &first)?;
            }
            parts[0].remove(0);
            // Like nccopy: one specification may name several variables.
            let mut vars = Vec::new();
            for name in first.split('&') {
                vars.extend(find_vars(model, name)?.into_iter().map(Some));
            }
            vars
        };
        let specs = pipeline(registry, &parts)?;
        self.filters.extend(vars.into_iter().map(|var| (var, specs.clone())));
        Ok(())
    }
}

/// Parses the filters of a specification without variables: `name[,param…]`, several joined by `|`, or
/// `none`.
///
/// # Errors
///
/// The reason why it is malformed.
pub fn filters(registry: &Registry, spec: &str) -> Result<Vec<FilterSpec>, String> {
    pipeline(registry, &spec.split('|').map(split_list).collect::<Vec<_>>())
}

fn pipeline(registry: &Registry, parts: &[Vec<String>]) -> Result<Vec<FilterSpec>, String> {
    let mut specs = Vec::new();
    for part in parts {
        let (name, params) = part.split_first().ok_or("names no filter")?;
        if name == NONE {
            if parts.len() > 1 || !params.is_empty() {
                return Err("`none` cannot be combined with filters".to_owned());
            }
            continue;
        }
        specs.push(filter(registry, name, params)?);
    }
    Ok(specs)
}

/// Parses a chunk length.
///
/// # Errors
///
/// If it is not one.
pub fn length(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(len @ 1..) => Ok(len),
        _ => Err(format!("{text:?} is not a chunk length")),
    }
}

/// Returns the largest shard shape of whole chunks within `most` bytes. It grows evenly along all dimensions,
/// up to their lengths, from one chunk.
fn grown(shape: &[u64], chunks: &[u64], item: u64, most: u64) -> Vec<u64> {
    let mut counts = vec![1u64; chunks.len()];
    let bytes = |counts: &[u64]| {
        counts
            .iter()
            .zip(chunks)
            .fold(item.max(1), |all, (count, chunk)| all.saturating_mul(count.saturating_mul(*chunk)))
    };
    let mut open = vec![true; chunks.len()];
    // The dimension with the fewest chunks; of several, the fastest.
    while let Some(dim) = (0..counts.len()).rev().filter(|&dim| open[dim]).min_by_key(|&dim| counts[dim]) {
        // A dimension without a length yet takes one chunk.
        let (now, all) = (counts[dim], shape[dim].div_ceil(chunks[dim].max(1)).max(1));
        counts[dim] = (2 * now).min(all);
        open[dim] = counts[dim] > now;
        if bytes(&counts) > most {
            (counts[dim], open[dim]) = (now, false);
        }
    }
    counts.iter().zip(chunks).map(|(count, chunk)| count * chunk).collect()
}

/// Checks that a word names a filter.
fn is_filter(registry: &Registry, name: &str) -> Result<(), String> {
    let found = match name.parse() {
        Ok(id) => registry.filter_by_id(id).map(drop),
        Err(_) => registry.filter(name).map(drop),
    };
    found.map_err(|error| error.to_string())
}

fn filter(registry: &Registry, name: &str, params: &[String]) -> Result<FilterSpec, String> {
    is_filter(registry, name)?;
    let text: Vec<&str> = std::iter::once(name).chain(params.iter().map(String::as_str)).collect();
    let spec = text.join(",").parse::<FilterText>().and_then(|text| registry.filter_spec(&text));
    spec.map_err(|error| error.to_string())
}

/// Returns the variable at a path, or all variables of a name.
fn find_vars(model: &Model, wanted: &str) -> Result<Vec<VarId>, String> {
    let names = nczarr_model::name::split_path(wanted);
    let found: Vec<VarId> = match names.as_slice() {
        [name] if !wanted.starts_with('/') => {
            model.vars().filter(|(_, var)| var.name == *name).map(|(id, _)| id).collect()
        }
        _ => vec![model.var_at(GroupId::ROOT, wanted).map_err(|error| error.to_string())?],
    };
    if found.is_empty() { Err(format!("no variable {wanted:?}")) } else { Ok(found) }
}

/// Returns the dimension at a path, or all dimensions of a name.
fn find_dims(model: &Model, wanted: &str) -> Result<Vec<DimId>, String> {
    let names = nczarr_model::name::split_path(wanted);
    let Some((name, groups)) = names.split_last() else { return Err("names no dimension".to_owned()) };
    let anywhere = groups.is_empty() && !wanted.starts_with('/');
    let found: Vec<DimId> = model
        .dims()
        .filter(|(_, dim)| dim.name == *name)
        .filter(|(_, dim)| anywhere || model.group_names(dim.group).is_ok_and(|path| path == groups))
        .map(|(id, _)| id)
        .collect();
    if found.is_empty() { Err(format!("no dimension {wanted:?}")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use nczarr_model::NcType;

    use super::*;

    fn model() -> Model {
        let mut model = Model::new();
        let x = model.add_dim(GroupId::ROOT, "x", 10, false).unwrap();
        let y = model.add_dim(GroupId::ROOT, "y", 20, false).unwrap();
        let g = model.add_group(GroupId::ROOT, "g").unwrap();
        let gx = model.add_dim(g, "x", 30, false).unwrap();
        for (name, group, dims) in
            [("v", GroupId::ROOT, vec![x, y]), ("w", GroupId::ROOT, vec![y]), ("v", g, vec![gx])]
        {
            let var = Var { name: name.into(), group, xtype: NcType::Int, dims, ..Var::default() };
            model.add_var(var).unwrap();
        }
        model
    }

    fn layout(chunks: &[&str], filter: &[&str]) -> Result<RequestedLayout, String> {
        layout_of(chunks, &[], filter)
    }

    fn layout_of(chunks: &[&str], shards: &[&str], filter: &[&str]) -> Result<RequestedLayout, String> {
        let strings = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        let (chunks, shards, filter) = (strings(chunks), strings(shards), strings(filter));
        let args = CopyArgs { chunks, shards, filter, ..CopyArgs::plain("", "") };
        let registry = nczarr::registry().unwrap();
        RequestedLayout::of(&args, &model(), &registry).map_err(|failure| match failure {
            Failure::Usage(what) => what,
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn chunks_by_dimension_and_by_variable() {
        let model = model();
        let dims = |id: u32| model.var(VarId(id)).unwrap().dims.clone();
        let chunks =
            |layout: &RequestedLayout, id: u32, old: &[u64]| layout.chunks(VarId(id), &dims(id), old);
        let all = layout(&["x/5"], &[]).unwrap();
        assert_eq!(chunks(&all, 0, &[10, 20]), Some(vec![5, 20]));
        assert_eq!(chunks(&all, 1, &[20]), None);
        assert_eq!(chunks(&all, 2, &[30]), Some(vec![5]));
        let one = layout(&["/x/5,/g/x/7", "/v:2,3"], &[]).unwrap();
        assert_eq!(chunks(&one, 0, &[10, 20]), Some(vec![2, 3]));
        assert_eq!(chunks(&one, 2, &[30]), Some(vec![7]));
    }

    #[test]
    fn shards_are_whole_chunks() {
        let model = model();
        let shards = |layout: &RequestedLayout, id: u32, has: Option<&[u64]>, chunks: &[u64]| {
            let mut var = model.var(VarId(id)).unwrap().clone();
            var.shards = has.map(<[u64]>::to_vec);
            layout.shards(VarId(id), &var, &model.shape(VarId(id)).unwrap(), chunks, 4)
        };
        let asked = |specs: &[&str]| layout_of(&[], specs, &[]);
        let by_dim = asked(&["x/5"]).unwrap();
        assert_eq!(shards(&by_dim, 0, None, &[2, 7]), Some(vec![6, 7]));
        assert_eq!(shards(&by_dim, 0, Some(&[2, 14]), &[2, 7]), Some(vec![6, 14]));
        assert_eq!(shards(&by_dim, 1, None, &[7]), None);
        let mixed = asked(&["400", "/v:10,20", "none"]).unwrap();
        assert_eq!(shards(&mixed, 0, None, &[3, 5]), Some(vec![12, 20]));
        assert_eq!(shards(&mixed, 1, Some(&[20]), &[5]), None);
        let none = asked(&[]).unwrap();
        assert_eq!(shards(&none, 1, Some(&[20]), &[5]), Some(vec![20]));
        // The existing shard shape, rounded to chunks of another shape.
        assert_eq!(shards(&none, 1, Some(&[20]), &[6]), Some(vec![24]));
        for (bytes, want) in
            [("1", [2, 3]), ("24", [2, 3]), ("48", [2, 6]), ("100", [4, 6]), ("1G", [10, 21])]
        {
            assert_eq!(shards(&asked(&[bytes]).unwrap(), 0, None, &[2, 3]), Some(want.to_vec()), "{bytes}");
        }
        for (bad, what) in
            [("x", "expected"), ("0", "expected"), ("1T", "expected"), ("x/0", "\"0\" is not a chunk length")]
        {
            let error = asked(&[bad]).unwrap_err();
            assert!(error.starts_with(&format!("--shards {bad}: {what}")), "{error}");
        }
    }

    #[test]
    fn filters_for_all_and_for_one() {
        let both = layout(&[], &["2|1,0x5u", "/v&w,zstd,-3|fletcher32"]).unwrap();
        for id in 0..2 {
            let filters = both.filters(VarId(id)).unwrap();
            assert_eq!((filters.len(), &*filters[0].params), (2, &[-3i32 as u32][..]));
        }
        assert_eq!(both.filters(VarId(2)).unwrap()[1].params, [5]);
        let layout = layout(&[], &["shuffle|deflate,5", "w,none", "/g/v,zstd,-3"]).unwrap();
        let names =
            |id| layout.filters(VarId(id)).unwrap().iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(0), ["shuffle", "deflate"]);
        assert_eq!(names(1), Vec::<String>::new());
        assert_eq!(names(2), ["zstd"]);
        assert_eq!(layout.filters(VarId(2)).unwrap()[0].params, [-3i32 as u32]);
    }

    #[test]
    fn nonsense_names_the_flag() {
        for (chunks, filter, part) in [
            (&["x"][..], &[][..], "--chunks x: expected"),
            (&["x/0"], &[], "--chunks x/0: \"0\" is not a chunk length"),
            (&["q/5"], &[], "--chunks q/5: no dimension"),
            (&["w:1,2"], &[], "--chunks w:1,2: 2 lengths, /w has 1"),
            (&["q:1"], &[], "--chunks q:1: no variable"),
            (&[], &["nosuch"], "--filter nosuch: NC_ENOFILTER"),
            (&[], &["q,zstd,1"], "--filter q,zstd,1: no variable"),
            (&[], &["v,nosuch"], "--filter v,nosuch: NC_ENOFILTER"),
            (&[], &["zstd,x"], "--filter zstd,x: NC_EINVAL: filter \"zstd,x\": invalid parameter \"x\""),
            (&[], &["none|zstd,1"], "--filter none|zstd,1: `none` cannot be combined with filters"),
            (&[], &[""], "--filter : names no filter"),
        ] {
            let error = layout(chunks, filter).unwrap_err();
            assert!(error.starts_with(part), "{error}");
        }
    }
}
