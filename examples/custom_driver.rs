//! Adds a driver of its own: a text file with one number a line is a dataset with one variable.
//!
//! `cargo run --example custom_driver`. The book's page on plugins explains the traits.

use std::sync::Arc;

use nczarr::dispatch::{
    Dataset, DatasetInfo, Driver, DriverInfo, Format, FormatX, MemMut, OpenRequest, Registry, VarData,
};
use nczarr::model::{CheckedSlab, GroupId, Model, ModelCell, Var, VarId};
use nczarr::{Error, ErrorKind, NcType, OpenOptions, Place, Result, Values};

static INFO: DriverInfo =
    DriverInfo::new("numbers", FormatX::Udf(0), "text files with one number a line").modes(&["numbers"]);

struct NumbersDriver;

impl Driver for NumbersDriver {
    fn info(&self) -> &DriverInfo {
        &INFO
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        let path = &request.target.path;
        let text = std::fs::read_to_string(path).map_err(|source| Error::io_at(path, source))?;
        let parse = |(line, text): (usize, &str)| {
            let number = text.trim().parse::<f64>();
            number.map_err(|error| {
                ErrorKind::NotNc
                    .context(format!("{}: line {}: not a number", path.display(), line + 1))
                    .caused_by(error)
            })
        };
        let numbers: Vec<f64> = text.lines().enumerate().map(parse).collect::<Result<_>>()?;
        let mut model = Model::new();
        let dims = vec![model.add_dim(GroupId::ROOT, "line", numbers.len() as u64, false)?];
        model.add_var(Var { name: "number".to_owned(), xtype: NcType::Double, dims, ..Var::default() })?;
        Ok(Arc::new(NumbersDataset { model: ModelCell::new(model), numbers: Arc::new(Numbers(numbers)) }))
    }
}

/// An open file.
#[derive(Debug)]
struct NumbersDataset {
    model: ModelCell,
    numbers: Arc<Numbers>,
}

impl Dataset for NumbersDataset {
    fn info(&self) -> DatasetInfo {
        DatasetInfo::new(&INFO, Format::NetCdf4)
    }

    fn model(&self) -> &ModelCell {
        &self.model
    }

    fn data(&self, _: VarId) -> Result<Arc<dyn VarData>> {
        Ok(Arc::clone(&self.numbers) as Arc<dyn VarData>)
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// The data of the variable.
#[derive(Debug)]
struct Numbers(Vec<f64>);

impl VarData for Numbers {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let place = |i: u64| (slab.start[0] + i * slab.step(0)) as usize;
        let numbers = (0..slab.count[0]).map(|i| self.0[place(i)]).collect();
        out.put_values(&Values::Double(numbers))
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("numbers.txt");
    std::fs::write(&path, "1.5\n2.5\n-3\n").expect("a new file");

    let registry = Registry::clone(&*nczarr::registry()?).with_driver(NumbersDriver);
    let file = OpenOptions::new().registry(registry).open(Place::path(&path).mode("numbers"))?;
    let number = file.variable("number")?;
    println!("{:?}: {:?}", number.shape()?, number.get_values::<f32>(..)?);
    assert_eq!(number.get_values::<f32>(1..)?, [2.5, -3.0]);
    Ok(())
}
