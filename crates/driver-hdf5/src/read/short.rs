//! [`ShortVar`]: a contiguous dataset that is shorter than its dimensions and has a fill value of its own.
//!
//! Its dimensions belong to other datasets of a damaged or foreign file, so a hyperslab that lies inside them
//! may lie outside the dataset. Such a read is an error.

use nczarr_chunkio::FlatArray;
use nczarr_dispatch::{Linear, MemMut, VarData};
use nczarr_model::{CheckedSlab, Result};

/// The data of a variable whose dataset has fewer elements than its dimensions.
#[derive(Debug)]
pub(super) struct ShortVar(pub(super) FlatArray);

impl VarData for ShortVar {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        self.0.get(&self.0.check_read(slab)?, out)
    }

    fn check_readable(&self, slab: &CheckedSlab<'_>) -> Result<()> {
        self.0.check_readable(&self.0.check_read(slab)?)
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        self.0.get_linear(&self.0.check_read(slab)?, out, linear)
    }
}
