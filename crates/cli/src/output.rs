//! Where results go: standard output, or a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::{Error, Result};

/// Buffered output that knows its name.
pub struct Output {
    sink: BufWriter<Box<dyn Write>>,
    file: Option<PathBuf>,
}

impl Output {
    /// Standard output.
    pub fn standard() -> Self {
        Self { sink: BufWriter::with_capacity(1 << 16, Box::new(io::stdout().lock())), file: None }
    }

    /// A new file, or standard output.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn to(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::standard()) };
        let file = File::create(path).map_err(|error| Error::io(path.display().to_string(), error))?;
        Ok(Self { sink: BufWriter::with_capacity(1 << 20, Box::new(file)), file: Some(path.to_owned()) })
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// What the system says.
    pub fn put(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let outcome = self.sink.write_all(bytes.as_ref());
        outcome.map_err(|error| self.failed(error))
    }

    /// Writes out what is buffered; the last call.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> Result<()> {
        let outcome = self.sink.flush();
        outcome.map_err(|error| self.failed(error))
    }

    /// The writer itself.
    pub fn writer(&mut self) -> &mut dyn Write {
        &mut self.sink
    }

    fn failed(&self, error: io::Error) -> Error {
        let name = self.file.as_ref().map_or_else(|| "standard output".to_owned(), |file| file.display().to_string());
        Error::io(name, error)
    }
}
