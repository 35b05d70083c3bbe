//! [`FixedSize`]: elements of fixed size, native in memory.
//!
//! After the called filters, one kernel pass converts the stored bytes. [`crate::read`] and [`crate::write`]
//! transfer data without a whole chunk in this form.

use nczarr_model::convert::{self, Half};
use nczarr_model::{ErrorKind, NcType, Result, Values};

use crate::converted::ConvertedElements;
use crate::engine::ElementKind;
use crate::kernel::{self, ChunkLayout};
use crate::mask::ElementMask;
use crate::memory::{ChunkBuffer, with_scratch};
use crate::plan::{EncodeInput, FilterPlan};
use crate::project::ChunkPart;

/// The stored form of an array's numbers, and their fill value.
#[derive(Debug)]
pub(crate) struct FixedSize {
    pub(crate) ty: NcType,
    pub(crate) plan: FilterPlan,
    /// Converts the elements, if a plugin does.
    pub(crate) converted: Option<ConvertedElements>,
    /// One native element.
    pub(crate) fill: Vec<u8>,
    pub(crate) elems: usize,
}

impl FixedSize {
    pub(crate) fn new(
        ty: NcType,
        item: usize,
        plan: FilterPlan,
        converted: Option<ConvertedElements>,
        fill: Option<&Values>,
        elems: usize,
    ) -> Result<Self> {
        let fill = match fill {
            None => vec![0; item],
            Some(values) => fill_bytes(values, ty, item)?,
        };
        let fill = match plan.half {
            Some(half) => halved(&fill, half)?,
            None => fill,
        };
        let fill = match &converted {
            Some(converted) => {
                let (stored, unfit) = converted.as_stored(&fill)?;
                unfit.map_err(|error| error.at("the fill value"))?;
                stored
            }
            None => fill,
        };
        Ok(Self { ty, plan, converted, fill, elems })
    }

    /// Returns the size of an element.
    pub(crate) fn item(&self) -> usize {
        self.plan.layout.item
    }

    /// Returns the size of a chunk in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.elems * self.item()
    }

    /// Returns the layout of elements in a cached chunk.
    pub(crate) fn memory_layout(&self) -> ChunkLayout {
        ChunkLayout::native(self.item())
    }
}

/// Rounds a single to the half float that is stored.
fn halved(fill: &[u8], half: Half) -> Result<Vec<u8>> {
    let one = fill
        .try_into()
        .map(f32::from_ne_bytes)
        .map_err(|_| ErrorKind::Internal.context("a fill value of a single"))?;
    Ok(half.nearest(one.into()).to_ne_bytes().to_vec())
}

fn fill_bytes(values: &Values, ty: NcType, item: usize) -> Result<Vec<u8>> {
    let wrong = || {
        let found = values.nc_type().name();
        ErrorKind::Inval.context(format!(
            "wrong fill value (expected one value of type {}, found {} of type {found})",
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

impl ElementKind for FixedSize {
    type Data = ChunkBuffer;

    fn cost(&self, data: &ChunkBuffer) -> usize {
        data.len()
    }

    fn limit(&self) -> usize {
        self.plan.limit
    }

    fn copy(&self, data: &ChunkBuffer) -> Result<ChunkBuffer> {
        data.try_clone()
    }

    fn fill_values(&self) -> Result<ChunkBuffer> {
        let fill = |out: &mut nczarr_runtime::OutBuf<'_>| {
            kernel::fill_out(&self.fill, &self.memory_layout(), self.bytes(), out)
        };
        ChunkBuffer::new(self.bytes(), fill, |found| self.plan.wrong_size(found))
    }

    fn uninitialised_values(&self) -> Result<ChunkBuffer> {
        ChunkBuffer::spare(self.bytes()).map_or_else(|| self.fill_values(), Ok)
    }

    fn is_plain(&self) -> bool {
        self.plan.is_plain()
    }

    fn as_stored<'d>(&self, data: &'d ChunkBuffer) -> Option<&'d [u8]> {
        self.is_plain().then_some(data)
    }

    fn expected_size(&self) -> usize {
        if self.plan.has_filters() { self.bytes() / 2 } else { self.bytes() }
    }

    fn stored_size(&self) -> Option<usize> {
        (!self.plan.has_filters()).then(|| self.bytes())
    }

    fn decode(&self, stored: &[u8]) -> Result<ChunkBuffer> {
        let wrong = |found| self.plan.wrong_size(found);
        with_scratch(|pair| {
            if self.plan.layout.is_native() {
                return ChunkBuffer::new(self.bytes(), |out| self.plan.decode_into(stored, pair, out), wrong);
            }
            let bytes = self.plan.decode(stored, pair)?;
            let load = |out: &mut nczarr_runtime::OutBuf<'_>| {
                kernel::load_out(bytes, &self.plan.layout, &ChunkPart::whole(self.elems), out)
            };
            ChunkBuffer::new(self.bytes(), load, wrong)
        })
    }

    fn encode(&self, data: &ChunkBuffer, stored: &mut Vec<u8>) -> Result<()> {
        let layout = &self.plan.layout;
        with_scratch(|pair| {
            let given = if layout.is_native() {
                EncodeInput::Bytes(data)
            } else {
                EncodeInput::Gather(self.bytes(), |out: &mut nczarr_runtime::OutBuf<'_>| {
                    let whole = ChunkPart::whole(self.elems);
                    kernel::save_out(data, &whole, None, layout, &self.fill, self.bytes(), out).map(drop)
                })
            };
            self.plan.encode(given, pair, stored)
        })
    }

    fn overlay(&self, base: &mut ChunkBuffer, over: &ChunkBuffer, mask: &ElementMask) {
        let item = self.item();
        mask.runs(true, |start, n| {
            let range = start * item..(start + n) * item;
            base[range.clone()].copy_from_slice(&over[range]);
        });
    }

    fn fill_outside(&self, data: &mut ChunkBuffer, mask: &ElementMask) -> Result<()> {
        let item = self.item();
        mask.runs(false, |start, n| kernel::fill_in(&self.fill, &mut data[start * item..(start + n) * item]));
        Ok(())
    }
}
