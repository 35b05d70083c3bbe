//! Parses CDL text: [`Cdl::parse`] reads the definitions, [`Cdl::build`] makes a dataset from definitions and
//! data.
//!
//! Definitions are small and become a tree. Data may be large, so they are converted block by block to typed
//! values, once the types are known. The [`CdlTarget`] stores the dataset.

mod build;
mod constant;
mod cursor;
mod data;
mod define;
mod layout;
mod netcdf4_needs;
mod quick_number;
mod split_rows;
mod tree;
mod types;
mod values;
mod var_writer;

use std::fmt;
use std::sync::Arc;

use nczarr_model::{Defined, Edit, Error, Model, Result, Values, VarId};

pub use layout::SpecialLayout;

use constant::Constant;
use cursor::CdlCursor;
use tree::GroupDef;

/// Receives a dataset.
pub trait CdlTarget {
    /// Returns the current model.
    fn model(&self) -> Arc<Model>;

    /// Applies one edit.
    ///
    /// # Errors
    /// The reason for rejecting it.
    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined>;

    /// Sets the storage of a variable with special attributes, once, before data are written.
    ///
    /// # Errors
    /// The reason for rejecting it.
    fn lay_out(&mut self, var: VarId, layout: &SpecialLayout) -> Result<()>;

    /// Ends the definitions; data follow.
    ///
    /// # Errors
    /// Errors of storing the definitions.
    fn defined(&mut self) -> Result<()>;

    /// Writes a hyperslab: `values` in C order, of the variable's own type.
    ///
    /// # Errors
    /// Errors of storing them.
    fn put(&mut self, var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()>;
}

/// An error, with its position in the text.
#[derive(Debug)]
pub struct CdlError {
    /// The line, from 1.
    pub line: usize,
    /// The byte in the line, from 1.
    pub column: usize,
    /// The error.
    pub error: Error,
}

impl CdlError {
    fn new(text: &[u8], at: usize, error: Error) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |feed| feed + 1);
        Self { line, column: before.len() - start + 1, error }
    }
}

impl fmt::Display for CdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.column)?;
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for CdlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message already includes it.
        self.error.source()
    }
}

/// A text with parsed definitions.
#[derive(Debug)]
pub struct Cdl<'t> {
    text: &'t [u8],
    root: GroupDef,
}

impl<'t> Cdl<'t> {
    /// Parses the definitions of a text, and finds its data.
    ///
    /// # Errors
    /// The position where the text is not CDL.
    pub fn parse(text: &'t [u8]) -> Result<Self, CdlError> {
        // A byte order mark, which some editors insert.
        let start = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut cursor = CdlCursor::new(text, start);
        let root = define::dataset(&mut cursor).map_err(|error| CdlError::new(text, cursor.at(), error))?;
        Ok(Self { text, root })
    }

    /// Returns the name after `netcdf`.
    pub fn name(&self) -> &str {
        &self.root.name
    }

    /// Returns the special attribute `_Format`, if present: `classic`, `netCDF-4` …
    pub fn format(&self) -> Option<String> {
        let att = self.root.atts.iter().find(|att| att.var.is_none() && att.name == "_Format")?;
        match &att.values.first()?.constant {
            Constant::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        }
    }

    /// Whether the text needs the netCDF-4 model: groups, its types, several unlimited dimensions or one that
    /// is not the first, special attributes of storage.
    pub fn needs_netcdf4(&self) -> bool {
        netcdf4_needs::netcdf4(&self.root)
    }

    /// Makes the dataset: definitions, then data.
    ///
    /// # Errors
    /// The first error, with its position in the text.
    pub fn build(&self, target: &mut dyn CdlTarget) -> Result<(), CdlError> {
        build::build(self.text, &self.root, target).map_err(|(at, error)| CdlError::new(self.text, at, error))
    }

    /// Makes only the definitions. The data sections are not read.
    ///
    /// # Errors
    /// As [`Cdl::build`].
    pub fn build_header(&self, target: &mut dyn CdlTarget) -> Result<(), CdlError> {
        let made = build::header(self.text, &self.root, target, &mut data::SectionContext::new());
        made.map(drop).map_err(|(at, error)| CdlError::new(self.text, at, error))
    }
}
