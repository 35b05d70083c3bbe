//! CDL text read: [`Cdl::parse`] reads the definitions, [`Cdl::build`] makes a dataset of them and of the data.
//!
//! Definitions are small and become a tree; data may be large and goes straight from the text into typed values, block by
//! block, once the types of the variables are known. What the dataset is stored in is the [`Target`]'s business.

mod build;
mod constant;
mod cursor;
mod data;
mod define;
mod layout;
mod needs;
mod tree;
mod types;
mod values;

use std::fmt;
use std::sync::Arc;

use nczarr_model::{Defined, Edit, Error, Model, Result, Values, VarId};

pub use layout::Layout;

use constant::Constant;
use cursor::Cursor;
use tree::GroupDef;

/// Where a dataset is made.
pub trait Target {
    /// What there is so far.
    fn model(&self) -> Arc<Model>;

    /// Makes one change.
    ///
    /// # Errors
    /// Why it cannot be made.
    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined>;

    /// Lays a variable out; called once for each variable with special attributes, before data are written.
    ///
    /// # Errors
    /// Why it cannot be laid out so.
    fn lay_out(&mut self, var: VarId, layout: &Layout) -> Result<()>;

    /// All is defined; data follow.
    ///
    /// # Errors
    /// What storing the definitions says.
    fn defined(&mut self) -> Result<()>;

    /// Writes a hyperslab: `values` in C order, of the variable's own type.
    ///
    /// # Errors
    /// What storing them says.
    fn put(&mut self, var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()>;
}

/// What is wrong with a text, or with what it asks for, and where.
#[derive(Debug)]
pub struct Mistake {
    /// The line, from 1 on.
    pub line: usize,
    /// The byte in the line, from 1 on.
    pub column: usize,
    /// What is wrong.
    pub error: Error,
}

impl Mistake {
    fn new(text: &[u8], at: usize, error: Error) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |feed| feed + 1);
        Self { line, column: before.len() - start + 1, error }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Mistake {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // Its message is shown already.
        self.error.source()
    }
}

/// A text, its definitions read.
#[derive(Debug)]
pub struct Cdl<'t> {
    text: &'t [u8],
    root: GroupDef,
}

impl<'t> Cdl<'t> {
    /// Reads the definitions of a text, and where its data is.
    ///
    /// # Errors
    /// Where the text is no CDL.
    pub fn parse(text: &'t [u8]) -> Result<Self, Mistake> {
        // A mark of the encoding that some editors put in front.
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut cursor = Cursor::new(text, start);
        let root = define::dataset(&mut cursor).map_err(|error| Mistake::new(text, cursor.at(), error))?;
        Ok(Self { text, root })
    }

    /// The name after `netcdf`.
    pub fn name(&self) -> &str {
        &self.root.name
    }

    /// The value of the special attribute `_Format`, if there is one: `classic`, `netCDF-4` …
    pub fn format(&self) -> Option<String> {
        let att = self.root.atts.iter().find(|att| att.var.is_none() && att.name == "_Format")?;
        match &att.values.first()?.constant {
            Constant::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// Whether the text asks for something that only the netCDF-4 model has: groups, its types, several unlimited dimensions or one
    /// that is not the first, special attributes of storage.
    pub fn needs_netcdf4(&self) -> bool {
        needs::netcdf4(&self.root)
    }

    /// Makes the dataset: definitions, then data.
    ///
    /// # Errors
    /// The first thing that cannot be, and its place in the text.
    pub fn build(&self, target: &mut dyn Target) -> Result<(), Mistake> {
        build::build(self.text, &self.root, target).map_err(|(at, error)| Mistake::new(self.text, at, error))
    }

    /// Makes the definitions only. The data section is not read.
    ///
    /// # Errors
    /// As [`Cdl::build`].
    pub fn build_header(&self, target: &mut dyn Target) -> Result<(), Mistake> {
        let made = build::header(self.text, &self.root, target, &mut data::Told::new());
        made.map(drop).map_err(|(at, error)| Mistake::new(self.text, at, error))
    }
}
