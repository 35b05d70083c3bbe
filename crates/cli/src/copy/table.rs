//! Copies every dataset of the corpus to every kind of target: no copy fails, and its reports are complete.
//!
//! The test splits the texts of source and copy into lines and compares them piece by piece. Each difference
//! must belong to an object that the copy reports, and each reported object must differ. A part of the corpus
//! lies in the repository; `NCZ_CORPUS` names the whole of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use nczarr::Place;
use nczarr_cdl::Options;
use nczarr_model::name::escape;
use nczarr_tests::unpack::unpack;

use super::args::CopyArgs;
use super::compare::says_more;
use crate::dump::facts;
use crate::failure::Failure;
use crate::source::DatasetSource;

/// Kinds of targets, the ends of their names, and their URL fragments.
const KINDS: [(&str, &str, &str); 9] = [
    ("1", "", ""),
    ("2", "", ""),
    ("5", "", ""),
    ("nczarr", "", ""),
    ("zarr", "", ""),
    ("nczarr", ".zip", ""),
    ("zarr", ".zip", ""),
    ("nczarr", "", "#mode=v3"),
    ("zarr", "", "#mode=v3"),
];

/// Special attributes about storage.
const STORAGE: [&str; 14] = [
    "_Storage",
    "_ChunkSizes",
    "_ShardSizes",
    "_Endianness",
    "_Filter",
    "_DeflateLevel",
    "_Shuffle",
    "_Fletcher32",
    "_Codecs",
    "_NCProperties",
    "_SuperblockVersion",
    "_IsNetcdf4",
    "_Format",
    "_nczarr_maxstrlen",
];

/// The error of a source that this build cannot read.
const SOURCE: &str = "NC_ENOFILTER: ";

/// The error of a source that plain Zarr V3 cannot hold: its text is UTF-8, and other bytes are found only
/// while writing.
const NO_TEXT: &str = "is not UTF-8";

/// Parts of plain Zarr that a plain Zarr copy cannot hold: lists have no named type, and some attributes have
/// no name.
const NOT_EVEN_ZARR: [&str; 3] =
    ["neither vlens nor enums", "its type was left out", "a name is never empty"];

/// Types that Zarr V3 lacks; variables of them are left out with a report.
const NOT_IN_V3: &str = "Zarr V3 has no fields with a shape";

/// Datasets with attributes that are bare words, such as NaN: a copy stores text in their place, and reports
/// it.
const BARE_WORDS: &str = "/group/attributes.zarr";

/// The beginning of a report about a stored type; texts do not show it.
const STORED: &str = "variables with stored type ";
/// Reports about the layout; texts do not show it.
const LAYOUT: [&str; 2] = ["filters left out", "shards left out"];
/// The report about the JSON of attributes; a text shows their values only.
const JSON: &str = "attributes with other JSON";

/// The pieces of a text by kind and path, as in `dim /g/x`, with their contents.
type Pieces = BTreeMap<(PieceKind, String), String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PieceKind {
    Group,
    Type,
    Dim,
    Var,
    Att,
    Data,
    /// The order of a group's members.
    Order,
}

/// Returns a name in the form of messages.
fn unescape(name: &str) -> String {
    let (mut out, mut bytes) = (Vec::new(), name.as_bytes().iter().copied());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'%') => {
                    let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                    out.push(u8::from_str_radix(&digits, 16).unwrap());
                }
                other => out.extend(other),
            },
            byte => out.push(byte),
        }
    }
    escape(&String::from_utf8(out).unwrap())
}

/// Returns the position of an unescaped character of `wanted` outside of quotes.
fn find(text: &str, wanted: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => return None,
            c if !escaped && wanted.contains(c) => return Some(at),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}

fn pieces(text: &str) -> Pieces {
    let mut pieces = Pieces::new();
    let (mut groups, mut section, mut statement) = (Vec::<String>::new(), "", String::new());
    let mut order: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let bare = line.trim();
        if statement.is_empty() {
            match bare {
                "" => continue,
                "types:"
                | "dimensions:"
                | "variables:"
                | "data:"
                | "// global attributes:"
                | "// group attributes:" => {
                    section = bare;
                    continue;
                }
                _ if bare.starts_with("group: ") && bare.ends_with('{') => {
                    groups.push(unescape(bare["group: ".len()..].trim_end_matches('{').trim_end()));
                    pieces.insert((PieceKind::Group, format!("/{}", groups.join("/"))), String::new());
                    continue;
                }
                _ if bare.starts_with('}') => {
                    groups.pop();
                    continue;
                }
                _ => {}
            }
        }
        statement.push_str(bare);
        statement.push('\n');
        // A type has statements of its own, in braces.
        let ends = if section == "types:" && statement.contains("{\n") {
            bare.starts_with('}')
        } else {
            bare.ends_with(';') || bare.contains("; // (")
        };
        if !ends {
            continue;
        }
        let whole = std::mem::take(&mut statement);
        // Multi-line text is printed as such where it is char, whatever the variable.
        let whole = whole.trim_end().trim_end_matches(';').trim_end().replace("\\n\",\n\"", "\\n");
        let whole = whole.as_str();
        let group: String = groups.iter().map(|name| format!("/{name}")).collect();
        let split = |whole: &str| {
            let at = whole.find(" =").unwrap();
            (whole[..at].to_owned(), whole[at + 2..].trim().to_owned())
        };
        let (kind, name, says) = match section {
            "types:" => (PieceKind::Type, unescape(type_name(whole)), whole.to_owned()),
            "dimensions:" => {
                let (name, len) = split(whole);
                (PieceKind::Dim, unescape(&name), len)
            }
            "data:" => {
                let (name, values) = split(whole);
                (PieceKind::Data, unescape(&name), values)
            }
            _ => match find(whole, ":") {
                Some(colon) => {
                    let (var, rest) = whole.split_at(colon);
                    let equals = rest.find(" = ").unwrap();
                    let att = unescape(&rest[1..equals]);
                    if STORAGE.contains(&att.as_str()) {
                        continue;
                    }
                    // A type may come first.
                    let (ty, var) = match find(var, " ") {
                        Some(at) => (&var[..at], unescape(&var[at + 1..])),
                        None => ("", unescape(var)),
                    };
                    let owner = if var.is_empty() && group.is_empty() { "/".to_owned() } else { var };
                    let owner = if owner == "/" { owner } else { join(&group, &owner) };
                    pieces.insert(
                        (PieceKind::Att, format!("{owner}:{att}")),
                        format!("{ty}{}", &rest[equals..]),
                    );
                    continue;
                }
                None => {
                    let at = find(whole, " ").unwrap();
                    let (ty, rest) = whole.split_at(at);
                    let end = find(rest, "(").unwrap_or(rest.len());
                    (PieceKind::Var, unescape(rest[..end].trim()), format!("{ty}{}", &rest[end..]))
                }
            },
        };
        let path = join(&group, &name);
        // Types appear where they were first met.
        if ![PieceKind::Data, PieceKind::Type].contains(&kind) {
            order.entry(group).or_default().push_str(&format!("{kind:?} {path}\n"));
        }
        pieces.insert((kind, path), says);
    }
    pieces.extend(
        order.into_iter().map(|(group, says)| {
            ((PieceKind::Order, if group.is_empty() { "/".into() } else { group }), says)
        }),
    );
    pieces
}

/// Returns the name of the defined type.
fn type_name(statement: &str) -> &str {
    let start = statement.lines().next().unwrap().trim_end_matches('{').trim_end();
    let mut spaces = start.char_indices().filter(|&(at, c)| c == ' ' && !start[..at].ends_with('\\'));
    &start[spaces.next_back().unwrap().0 + 1..]
}

fn join(group: &str, name: &str) -> String {
    if name.is_empty() { group.to_owned() } else { format!("{group}/{name}") }
}

/// Returns the values of data, numbers in one form whatever their type.
fn values(data: &str) -> Vec<String> {
    // Braces appear where a dimension other than the first is unlimited.
    let blank = |c: char| c.is_whitespace() || ",{}".contains(c);
    let (mut values, mut rest) = (Vec::new(), data.trim_matches(blank));
    while !rest.is_empty() {
        let end = if let Some(quoted) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = quoted.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.unwrap().0 + 2
        } else {
            rest.find(blank).unwrap_or(rest.len())
        };
        let value = rest[..end].trim();
        values.push(match (value.trim_end_matches('.').parse::<i128>(), value.parse::<f64>()) {
            (Ok(integer), _) => integer.to_string(),
            (_, Ok(float)) if float.is_finite() && float.fract() == 0.0 => format!("{float:.0}"),
            (_, Ok(float)) => format!("{float:e}"),
            _ => value.to_owned(),
        });
        rest = rest[end..].trim_start_matches(blank);
    }
    values
}

/// Returns the reported objects, with their other names in the report.
fn named(reported: &[String]) -> BTreeMap<String, Vec<(String, String)>> {
    let mut named: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for line in reported {
        let (kind, objects) = line.split_once(": /").unwrap();
        for object in objects.split(", /") {
            let end = object.match_indices(" (").find(|(at, _)| !object[..*at].ends_with('\\'));
            let (path, more) = object.split_at(end.map_or(object.len(), |(at, _)| at));
            let more = more.trim_start_matches(" (").trim_end_matches(')');
            named.entry(format!("/{path}")).or_default().push((kind.to_owned(), more.to_owned()));
        }
    }
    named
}

/// Returns the mismatches between reports and differences of two texts.
fn judge(source: &str, copy: &str, reported: &[String]) -> Vec<String> {
    let (source, copy, named) = (pieces(source), pieces(copy), named(reported));
    let flat = named.values().flatten().any(|(kind, _)| kind.starts_with("groups flattened"));
    let says = |path: &str, part: &str| {
        named.get(path).is_some_and(|kinds| kinds.iter().any(|(kind, _)| kind.contains(part)))
    };
    // Returns the names of an object whose group was dissolved.
    let there = |kind: PieceKind, path: &str| {
        if !flat || kind == PieceKind::Group || kind == PieceKind::Order {
            return path.to_owned();
        }
        let (owner, att) = match kind {
            PieceKind::Att => path.rsplit_once(':').map(|(owner, att)| (owner, format!(":{att}"))).unwrap(),
            _ => (path, String::new()),
        };
        let is_group = kind == PieceKind::Att
            && (owner == "/" || source.contains_key(&(PieceKind::Group, owner.to_owned())));
        let plain = owner[1..].replace('/', "_");
        let renamed =
            named.get(owner).into_iter().flatten().find(|(kind, _)| kind.starts_with("names changed"));
        match (is_group, renamed) {
            (true, _) if owner == "/" => path.to_owned(),
            (true, _) => format!("/:{plain}_{}", &att[1..]),
            (false, Some((_, new)))
                if kind == PieceKind::Att || copy.contains_key(&(kind, format!("/{new}"))) =>
            {
                format!("/{new}{att}")
            }
            (false, _) => format!("/{plain}{att}"),
        }
    };
    let (mut bad, mut differ, mut met) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for ((kind, path), says_here) in &source {
        let new = (*kind, there(*kind, path));
        let found = copy.get(&new);
        met.insert(new.clone());
        let owner =
            if *kind == PieceKind::Att { path.rsplit_once(':').map_or("", |(owner, _)| owner) } else { path };
        let var_gone = !copy.contains_key(&(PieceKind::Var, there(PieceKind::Var, owner)));
        let same = match (kind, found) {
            (_, None) => false,
            (PieceKind::Order, Some(found)) => {
                let kept = |text: &str, other: &str| {
                    let lines: Vec<_> = text
                        .lines()
                        .filter(|line| other.lines().any(|other| other == *line))
                        .map(str::to_owned)
                        .collect();
                    lines
                };
                flat || kept(says_here, found) == kept(found, says_here)
            }
            (PieceKind::Data, Some(found)) => says(path, "type string") || values(says_here) == values(found),
            // Dimensions have other names.
            (PieceKind::Var, Some(found)) if flat => {
                let rank = |text: &str| text.matches(',').count() - text.matches("\\,").count();
                let form = |text: &str| (text.split('(').next().unwrap_or("").to_owned(), rank(text));
                form(says_here) == form(found)
            }
            (_, Some(found)) => says_here == found,
        };
        if same {
            continue;
        }
        differ.insert(path.clone());
        let is_said = match kind {
            PieceKind::Att if path.ends_with(":_NoFill") => {
                differ.insert(owner.to_owned());
                var_gone || says(owner, "fill mode")
            }
            PieceKind::Att if var_gone && source.contains_key(&(PieceKind::Var, owner.to_owned())) => {
                named.contains_key(owner)
            }
            PieceKind::Order => flat || says(path, "order"),
            _ => named.contains_key(path),
        };
        if !is_said {
            bad.push(format!("{kind:?} {path}: {says_here:?} became {found:?}, and nothing says so"));
        }
    }
    for (kind, path) in copy.keys().filter(|key| !met.contains(key)) {
        differ.insert(path.clone());
        // Zeros in place of a fill value of zero need no report: every element reads the same.
        let is_no_fill = *kind == PieceKind::Att && path.ends_with(":_NoFill");
        if !named.contains_key(path) && *kind != PieceKind::Order && !is_no_fill {
            bad.push(format!("{kind:?} {path} is new, and nothing says so"));
        }
    }
    for (path, said) in named.iter().filter(|(path, _)| !differ.contains(*path)) {
        let is_shown = |kind: &str| !LAYOUT.contains(&kind) && !kind.starts_with(STORED) && kind != JSON;
        if said.iter().any(|(kind, _)| is_shown(kind)) {
            bad.push(format!("{path} is the same, and something is said of it: {said:?}"));
        }
    }
    bad
}

fn text(url: &str) -> Result<String, String> {
    let options = Options {
        name: "x".to_owned(),
        special: true,
        float_digits: Some(9),
        double_digits: Some(17),
        ..Options::default()
    };
    let print = || {
        let (file, mut text) = (nczarr::open(Place::url(url))?, Vec::new());
        let mut source = DatasetSource::new(file.dataset().as_ref());
        nczarr_cdl::print(&file.model(), &facts(file.info()), &options, &mut source, &mut text)?;
        // The display of an empty string depends on the format; the values still show that it is one.
        Ok(String::from_utf8_lossy(&text).replace("NIL", "_").replace("\"\"", "_"))
    };
    print().map_err(|error: nczarr_model::Error| format!("{error:#}"))
}

fn copy(source: &str, kind: &str, target: &str) -> Result<Vec<String>, String> {
    let kind = Some(kind.parse().unwrap());
    let args = CopyArgs { clobber: true, kind, ..CopyArgs::plain(source, target) };
    super::run::make(&args).map_err(|failure| match failure {
        Failure::Usage(what) | Failure::Interrupted(what) => what,
        Failure::Failed { place, error } => format!("{place}: {error:#}"),
    })
}

/// Returns unreported differences of a copy that can hold everything: layout, and values bit by bit.
fn not_the_same(source: &str, copy: &str, reported: &[String]) -> nczarr_model::Result<Vec<String>> {
    let named = named(reported);
    let (source, copy) = (nczarr::open(Place::url(source))?, nczarr::open(Place::url(copy))?);
    let (here, there) = (source.model(), copy.model());
    let (from, to) =
        (DatasetSource::new(source.dataset().as_ref()), DatasetSource::new(copy.dataset().as_ref()));
    let zarr = source.info().map.is_some();
    let mut bad = Vec::new();
    for (id, var) in here.vars() {
        let path = here.var_path(id)?;
        // Another check finds missing ones.
        let Ok(new) = there.var_at(nczarr_model::GroupId::ROOT, &path) else { continue };
        let (copied, shape) = (there.var(new)?, here.shape(id)?);
        // Without chunks, the target chooses them; a scalar has one chunk or none. Along a fixed dimension,
        // netCDF allows no longer chunk.
        let fitting = |chunks: Option<Vec<u64>>| {
            let dims = var.dims.iter().map(|&dim| here.dim(dim).unwrap());
            let most = dims.map(|dim| if dim.unlimited { u64::MAX } else { dim.len() });
            chunks.map(|chunks| {
                chunks.into_iter().zip(most).map(|(len, most)| len.min(most)).collect::<Vec<_>>()
            })
        };
        let chunks =
            [fitting(source.dataset().data(id)?.chunk_shape()), copy.dataset().data(new)?.chunk_shape()];
        if zarr && !shape.is_empty() && chunks[0] != chunks[1] && !shape.contains(&0) {
            bad.push(format!("{path}: chunks {:?} became {:?}", chunks[0], chunks[1]));
        }
        let names = |var: &nczarr_model::Var| {
            var.filters.iter().map(|filter| (filter.name.clone(), filter.params.clone())).collect::<Vec<_>>()
        };
        let said =
            LAYOUT.map(|what| named.get(&path).is_some_and(|said| said.iter().any(|(kind, _)| kind == what)));
        if !shape.is_empty() && (names(var) != names(copied)) != said[0] {
            bad.push(format!(
                "{path}: filters {:?} became {:?}, said: {}",
                names(var),
                names(copied),
                said[0]
            ));
        }
        if (var.shards.is_some() && copied.shards.is_none()) != said[1] {
            bad.push(format!(
                "{path}: shards {:?} became {:?}, said: {}",
                var.shards, copied.shards, said[1]
            ));
        }
        let other =
            var.stored_type != copied.stored_type && var.stored_type.as_deref().is_some_and(says_more);
        if named.get(&path).is_some_and(|said| said.iter().any(|(kind, _)| kind.starts_with(STORED))) != other
        {
            bad.push(format!("{path}: stored type {:?} became {:?}", var.stored_type, copied.stored_type));
        }
        if shape.contains(&0) {
            continue;
        }
        let start = vec![0; shape.len()];
        let slab = nczarr_model::Slab::new(&start, &shape);
        if from.values(id, &slab)? != to.values(new, &slab)? {
            bad.push(format!("{path}: values are not the same"));
        }
    }
    Ok(bad)
}

/// Returns names and URLs of the datasets of the corpus; archives are unpacked to `scratch`.
fn datasets(scratch: &Path) -> Vec<(String, String)> {
    let mut roots =
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").canonicalize().unwrap()];
    roots.extend(std::env::var_os("NCZ_CORPUS").map(PathBuf::from));
    let mut found = BTreeMap::new();
    for root in roots {
        let rows = |part: &str| {
            let text = fs::read_to_string(root.join(part).join("MANIFEST.tsv")).unwrap();
            text.lines()
                .skip(1)
                .map(|line| line.split('\t').map(str::to_owned).collect())
                .collect::<Vec<Vec<String>>>()
        };
        for row in rows("netcdf-c") {
            let path = root.join("netcdf-c").join(&row[1]);
            if row[1].starts_with("classic/") {
                found.insert(row[0].clone(), path.display().to_string());
            } else if row[1].starts_with("nczarr/") {
                let fragment =
                    row[3].split('&').filter(|pair| pair.contains('=')).collect::<Vec<_>>().join("&");
                let place = if row[1].ends_with(".zarr.zip") {
                    unpack(&path, scratch).unwrap();
                    scratch.join(format!("{}.zarr", row[0]))
                } else {
                    path
                };
                found.insert(row[0].clone(), format!("file://{}#{fragment}", place.display()));
            }
        }
        for row in rows("zarr") {
            // Defects of a store do not concern copies.
            if row[11] != "error" && (row[4] == "2" || row[12].starts_with("yes")) {
                found.insert(row[0].clone(), root.join("zarr").join(&row[0]).display().to_string());
            }
        }
    }
    found.into_iter().collect()
}

#[test]
fn nothing_stops_a_copy_and_everything_that_differs_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let datasets = datasets(scratch.path());
    let (next, bad, done) = (Mutex::new(datasets.iter()), Mutex::new(Vec::new()), Mutex::new(0));
    let work = || {
        let folder = tempfile::tempdir().unwrap();
        loop {
            let Some((name, url)) = next.lock().unwrap().next() else { break };
            let short = Path::new(name.trim_end_matches(".zip")).file_name().unwrap().display();
            let source = match text(url) {
                Ok(source) => source,
                Err(error) => {
                    bad.lock().unwrap().push(format!("{name}: {error:#}"));
                    continue;
                }
            };
            for (kind, ending, fragment) in KINDS {
                let target = folder.path().join(format!("{short}{ending}"));
                let made = copy(url, kind, &format!("{}{fragment}", target.display()));
                if made.as_ref().is_err_and(|why| why.contains(SOURCE)) {
                    continue;
                }
                if (kind, fragment) == ("zarr", "#mode=v3")
                    && made.as_ref().is_err_and(|why| why.contains(NO_TEXT))
                {
                    continue;
                }
                let found = made.and_then(|reported| {
                    assert_eq!(
                        target.is_file(),
                        ending == ".zip" || kind.len() == 1,
                        "{name} -k {kind} {ending}"
                    );
                    let target = target.to_str().unwrap();
                    let mut found = judge(&source, &text(target)?, &reported);
                    if kind.len() > 1 {
                        found.extend(
                            not_the_same(url, target, &reported).map_err(|error| format!("{error:#}"))?,
                        );
                    }
                    if kind == "zarr" && name.starts_with("stores/") {
                        let known = |reported: &str| {
                            NOT_EVEN_ZARR.iter().any(|why| reported.contains(why))
                                || LAYOUT.iter().any(|what| reported.starts_with(what))
                                || reported.starts_with(STORED)
                                || (reported.starts_with(JSON) && name.ends_with(BARE_WORDS))
                        };
                        let lost = reported.iter().filter(|reported| !known(reported));
                        if !reported.iter().any(|reported| reported.contains(NOT_IN_V3)) {
                            found.extend(lost.cloned());
                        }
                    }
                    Ok(found)
                });
                *done.lock().unwrap() += 1;
                let found = found.unwrap_or_else(|error| vec![error]);
                bad.lock().unwrap().extend(
                    found.into_iter().map(|what| format!("{name} -k {kind} {ending}{fragment}: {what}")),
                );
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let (bad, done) = (bad.into_inner().unwrap(), done.into_inner().unwrap());
    assert!(bad.is_empty(), "{} of {done} copies of {}:\n{}", bad.len(), datasets.len(), bad.join("\n"));
    assert!(done > 300, "{done}");
}
