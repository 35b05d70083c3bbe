//! Checks data: parts equal the whole, and hyperslabs beyond the shape fail.

use nczarr_dispatch::{Dataset, MemMut, byte_len};
use nczarr_model::{ErrorKind, NcString, NcType, Result, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;

use crate::failure::{Outcome, fails, ok, same};

/// The maximum number of elements read from a variable.
const MOST: u64 = 1 << 20;

/// Decoded elements, one by one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DecodedElements {
    Fixed { item: usize, bytes: Vec<u8> },
    Strings(Vec<NcString>),
}

impl DecodedElements {
    /// Returns the elements at these positions.
    fn pick(&self, places: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Fixed { item, bytes } => {
                let picked = places.flat_map(|at| bytes.get(at * item..(at + 1) * item).unwrap_or_default());
                Self::Fixed { item: *item, bytes: picked.copied().collect() }
            }
            Self::Strings(all) => Self::Strings(places.filter_map(|at| all.get(at).cloned()).collect()),
        }
    }
}

/// Reads a hyperslab with the variable's own type.
pub(super) fn read(
    dataset: &dyn Dataset,
    var: VarId,
    start: &[u64],
    count: &[u64],
    stride: Option<&[u64]>,
) -> Result<DecodedElements> {
    let ty = dataset.inq_var_all(var)?.xtype;
    let elements = count.iter().product::<u64>();
    let get = |out: MemMut<'_, '_>| match stride {
        Some(stride) => dataset.get_vars(var, start, count, stride, out),
        None => dataset.get_vara(var, start, count, out),
    };
    if ty == NcType::String {
        let mut strings = vec![NcString::default(); byte_len(elements, 1)?];
        get(MemMut::Strings(&mut strings))?;
        return Ok(DecodedElements::Strings(strings));
    }
    let (_, size) = dataset.inq_type(ty)?;
    let item = size.ok_or_else(|| ErrorKind::BadType.context("no size in memory"))?;
    let mut bytes = vec![0xee; byte_len(elements, item)?];
    let mut out = OutBuf::from_slice(&mut bytes);
    get(MemMut::Fixed { ty, out: &mut out })?;
    if out.filled().len() != out.capacity() {
        let (filled, capacity) = (out.filled().len(), out.capacity());
        return Err(
            ErrorKind::Internal.context(format!("{filled} of {capacity} bytes filled after a success"))
        );
    }
    Ok(DecodedElements::Fixed { item, bytes })
}

pub(super) fn check(dataset: &dyn Dataset) -> Outcome {
    let model = dataset.model().snapshot();
    for (id, var) in model.vars() {
        let path = ok("var_path", model.var_path(id))?;
        if let Some(problem) = &var.problem {
            fails(format!("{path}: data that cannot be read"), &[problem.kind()], dataset.data(id))?;
            continue;
        }
        if ok("inq_type", dataset.inq_type(var.xtype))?.1.is_none() && var.xtype != NcType::String {
            continue;
        }
        let mut shape = ok("shape", model.shape(id))?;
        outside(dataset, id, &shape, &path)?;
        // Keeps the first rows of a large variable.
        while let Some(largest) = (0..shape.len()).max_by_key(|&dim| shape[dim])
            && shape.iter().fold(1_u64, |all, &len| all.saturating_mul(len)) > MOST
        {
            shape[largest] = shape[largest].div_ceil(2);
        }
        parts(dataset, id, &shape, &path)?;
    }
    Ok(())
}

/// Checks hyperslabs that exceed the variable.
fn outside(dataset: &dyn Dataset, var: VarId, shape: &[u64], path: &str) -> Outcome {
    let rank = shape.len();
    let origin = vec![0; rank];
    let coords = &[ErrorKind::InvalCoords];
    for dim in 0..rank {
        let one: Vec<u64> = shape.iter().map(|&len| len.min(1)).collect();
        let (mut start, mut count, mut stride) = (origin.clone(), one.clone(), vec![1; rank]);
        start[dim] = shape[dim] + 1;
        fails(
            format!("{path}: a start beyond dimension {dim}"),
            coords,
            read(dataset, var, &start, &count, None),
        )?;
        if one.contains(&0) {
            continue;
        }
        count[dim] = shape[dim] + 1;
        if shape[dim] < MOST {
            let over = read(dataset, var, &origin, &count, None);
            fails(format!("{path}: a count beyond dimension {dim}"), &[ErrorKind::Edge], over)?;
        }
        stride[dim] = 0;
        let still = read(dataset, var, &origin, &one, Some(&stride));
        fails(format!("{path}: a stride of 0 along dimension {dim}"), &[ErrorKind::Stride], still)?;
    }
    let more = vec![0; rank + 1];
    fails(format!("{path}: one index too many"), &[ErrorKind::Inval], read(dataset, var, &more, &more, None))
}

/// Checks that halves, every other element and single ones equal the whole.
fn parts(dataset: &dyn Dataset, var: VarId, shape: &[u64], path: &str) -> Outcome {
    let rank = shape.len();
    let origin = vec![0; rank];
    let whole = ok(format!("{path}: read"), read(dataset, var, &origin, shape, None))?;
    same(format!("{path}: read again"), &whole, &ok("read", read(dataset, var, &origin, shape, None))?)?;
    let place =
        |index: &[u64]| index.iter().zip(shape).fold(0, |at, (&index, &len)| at * len + index) as usize;
    for (step, from) in [(1, 0), (1, 2), (2, 0), (3, 1)] {
        for dim in 0..rank {
            let mut start = origin.clone();
            start[dim] = (shape[dim] / 2).min(from);
            let mut count = shape.to_vec();
            count[dim] = (shape[dim] - start[dim]).div_ceil(step);
            if step == 1 {
                count[dim] = count[dim].div_ceil(2);
            }
            let mut stride = vec![1; rank];
            stride[dim] = step;
            let expected = whole.pick(walk(&count).map(|index| {
                let at: Vec<u64> = (0..rank).map(|dim| start[dim] + index[dim] * stride[dim]).collect();
                place(&at)
            }));
            let what = format!("{path}: start {start:?} count {count:?} stride {stride:?}");
            same(&what, &expected, &ok(&what, read(dataset, var, &start, &count, Some(&stride)))?)?;
        }
    }
    if shape.contains(&0) {
        return Ok(());
    }
    let last: Vec<u64> = shape.iter().map(|&len| len - 1).collect();
    let middle: Vec<u64> = shape.iter().map(|&len| len / 2).collect();
    for at in [origin, middle, last] {
        let expected = whole.pick([place(&at)].into_iter());
        let one = ok(format!("{path}: element {at:?}"), read(dataset, var, &at, &vec![1; rank], None))?;
        same(format!("{path}: element {at:?}"), expected, one)?;
    }
    Ok(())
}

/// Returns all indices of a shape, in C order.
fn walk(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> {
    let all = shape.iter().product::<u64>();
    (0..all).map(move |mut at| {
        let mut index = vec![0; shape.len()];
        for (place, &len) in index.iter_mut().zip(shape).rev() {
            (*place, at) = (at % len, at / len);
        }
        index
    })
}
