//! [`Numbers`]: elements of fixed size in memory: plain, in this machine's byte order.
//!
//! Stored bytes become that in one pass of a kernel after the called filters; see [`crate::read`] and
//! [`crate::write`] for transfers that never make it whole.

use nczarr_model::convert::{self, Half};
use nczarr_model::{ErrorKind, NcType, Result, Values};

use crate::keeper::Form;
use crate::kernel::{self, Layout};
use crate::mask::Mask;
use crate::memory::{Block, with_scratch};
use crate::plan::{Given, Plan};
use crate::project::Part;

/// How an array's numbers are stored, and what unwritten ones are.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) ty: NcType,
    pub(crate) plan: Plan,
    /// One element, in this machine's byte order.
    pub(crate) fill: Vec<u8>,
    pub(crate) elems: usize,
    /// All elements of a chunk, for whole-chunk kernels.
    pub(crate) whole: Part,
}

impl Numbers {
    pub(crate) fn new(ty: NcType, item: usize, plan: Plan, fill: Option<&Values>, elems: usize) -> Result<Self> {
        let fill = match fill {
            None => vec![0; item],
            Some(values) => fill_bytes(values, ty, item)?,
        };
        let fill = match plan.half {
            Some(half) => halved(&fill, half)?,
            None => fill,
        };
        Ok(Self { ty, plan, fill, elems, whole: Part::whole(elems) })
    }

    /// Bytes of an element.
    pub(crate) fn item(&self) -> usize {
        self.plan.layout.item
    }

    /// Bytes of a chunk.
    pub(crate) fn bytes(&self) -> usize {
        self.elems * self.item()
    }

    /// How elements lie in a kept chunk.
    pub(crate) fn kept(&self) -> Layout {
        Layout::native(self.item())
    }
}

/// A single as the half float it is stored as.
fn halved(fill: &[u8], half: Half) -> Result<Vec<u8>> {
    let one =
        fill.try_into().map(f32::from_ne_bytes).map_err(|_| ErrorKind::Internal.context("a fill value of a single"))?;
    Ok(half.nearest(one.into()).to_ne_bytes().to_vec())
}

fn fill_bytes(values: &Values, ty: NcType, item: usize) -> Result<Vec<u8>> {
    let wrong = || {
        let found = values.nc_type().name();
        ErrorKind::Inval.context(format!(
            "one fill value of type {} expected, {} of type {found}",
            ty.name(),
            values.len()
        ))
    };
    if values.nc_type() != ty && convert::check(values.nc_type(), ty).is_err() {
        return Err(wrong());
    }
    let bytes = match values {
        Values::User(user, bytes) if NcType::User(*user) == ty => Some(bytes.clone()),
        values if values.nc_type() == ty => values.to_native_bytes(),
        values => convert::convert_values(values, ty)?.0.to_native_bytes(),
    };
    bytes.filter(|bytes| bytes.len() == item).ok_or_else(wrong)
}

impl Form for Numbers {
    type Data = Block;

    fn cost(&self, data: &Block) -> usize {
        data.len()
    }

    fn limit(&self) -> usize {
        self.plan.limit
    }

    fn copy(&self, data: &Block) -> Result<Block> {
        data.try_clone()
    }

    fn blank(&self) -> Result<Block> {
        let fill =
            |out: &mut nczarr_dispatch::OutBuf<'_>| kernel::fill_out(&self.fill, &self.kept(), self.bytes(), out);
        Block::new(self.bytes(), fill, |found| self.plan.wrong_size(found))
    }

    fn fresh(&self) -> Result<Block> {
        Block::spare(self.bytes()).map_or_else(|| self.blank(), Ok)
    }

    fn is_plain(&self) -> bool {
        self.plan.is_plain()
    }

    fn as_stored<'d>(&self, data: &'d Block) -> Option<&'d [u8]> {
        self.is_plain().then_some(data)
    }

    fn decode(&self, stored: &[u8]) -> Result<Block> {
        let wrong = |found| self.plan.wrong_size(found);
        with_scratch(|pair| {
            if self.plan.layout.is_native() {
                return Block::new(self.bytes(), |out| self.plan.decode_into(stored, pair, out), wrong);
            }
            let bytes = self.plan.decode(stored, pair)?;
            let load =
                |out: &mut nczarr_dispatch::OutBuf<'_>| kernel::load_out(bytes, &self.plan.layout, &self.whole, out);
            Block::new(self.bytes(), load, wrong)
        })
    }

    fn encode(&self, data: &Block, stored: &mut Vec<u8>) -> Result<()> {
        let layout = &self.plan.layout;
        with_scratch(|pair| {
            let given = if layout.is_native() {
                Given::Bytes(data)
            } else {
                Given::Gather(self.bytes(), |out: &mut nczarr_dispatch::OutBuf<'_>| {
                    kernel::save_out(data, &self.whole, None, layout, &self.fill, self.bytes(), out).map(drop)
                })
            };
            self.plan.encode(given, pair, stored)
        })
    }

    fn overlay(&self, base: &mut Block, over: &Block, mask: &Mask) {
        let item = self.item();
        mask.runs(true, |start, n| {
            let range = start * item..(start + n) * item;
            base[range.clone()].copy_from_slice(&over[range]);
        });
    }

    fn fill_outside(&self, data: &mut Block, mask: &Mask) -> Result<()> {
        let item = self.item();
        mask.runs(false, |start, n| kernel::fill_in(&self.fill, &mut data[start * item..(start + n) * item]));
        Ok(())
    }
}
