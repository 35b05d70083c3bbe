//! Parses printed texts, also with random damage. The result is always a dataset or an error.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nczarr_cdl::{Cdl, CdlTarget, SpecialLayout};
use nczarr_model::{Defined, Edit, Model, Result, Values, VarId};

/// A dataset that keeps the model and the number of written values.
#[derive(Default)]
struct Made {
    model: Model,
    values: u64,
}

impl CdlTarget for Made {
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

    fn put(&mut self, var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()> {
        let var = self.model.var(var)?;
        assert_eq!((start.len(), count.len()), (var.dims.len(), var.dims.len()));
        assert_eq!(values.nc_type(), var.xtype);
        assert_eq!(count.iter().product::<u64>(), self.model.count(&values)? as u64);
        // Every element is one item.
        assert_eq!(self.model.items(&values)?.len(), self.model.count(&values)?);
        for ((&dim, start), count) in var.dims.iter().zip(start).zip(count) {
            let dim = self.model.dim(dim)?;
            assert!(dim.unlimited || start + count <= dim.len(), "{start}+{count} of {}", dim.len());
        }
        self.values += values.len() as u64;
        Ok(())
    }
}

/// Returns the number of written values, or the error.
fn read(text: &[u8]) -> std::result::Result<u64, String> {
    let mut made = Made::default();
    Cdl::parse(text).and_then(|cdl| cdl.build(&mut made)).map_err(|mistake| mistake.to_string())?;
    Ok(made.values)
}

fn texts() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = paths.filter(|path| path.extension().is_some_and(|ending| ending == "cdl"));
    texts.map(|path| (path.display().to_string(), crate::corrected(&fs::read(path).unwrap()))).collect()
}

#[test]
fn every_printed_text_is_read() {
    let texts = texts();
    let mut values = 0;
    for (name, text) in &texts {
        match read(text) {
            Ok(count) => values += count,
            Err(mistake) => panic!("{name}:{mistake}"),
        }
    }
    assert!(texts.len() > 20 && values > 1000, "{} texts, {values} values", texts.len());
}

#[test]
fn damaged_texts_are_read_or_refused() {
    let mut state = 1u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let (mut read_all, mut refused) = (0, 0);
    for (_, text) in texts() {
        for round in 0..60 {
            let mut damaged = text.clone();
            match round % 3 {
                0 => damaged.truncate(random(text.len())),
                1 => {
                    for _ in 0..=random(4) {
                        let at = random(text.len());
                        damaged[at] = b"{}();,:=\"'\\/-_.e9\x00\xff "[random(20)];
                    }
                }
                _ => {
                    let (from, to) = (random(text.len()), random(text.len()));
                    let piece = text[from..(from + 1 + random(30)).min(text.len())].to_vec();
                    damaged.splice(to..to, piece);
                }
            }
            match read(&damaged) {
                Ok(_) => read_all += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read_all > 100 && refused > 100, "{read_all} read, {refused} refused");
}
