//! [`load_bytes`]: elements that lie any number of bytes apart, not only whole elements.
//!
//! Of arrays without chunks: a record may end anywhere, so that an element of the next one need not lie a whole number
//! of elements further on.

use dispatch::OutBuf;
use model::Result;

use super::{Convert, Layout, choose, each_block, stream, write_all};
use crate::project::Part;

/// Appends a part of `bytes` to `out`. The steps of the part on the side of `bytes`, and its start there, are in
/// bytes; in memory its elements lie one after another. Answers whether a value was out of the memory type's range.
///
/// `stream`: see [`super::load`].
///
/// # Errors
/// If there is less room.
pub(crate) fn load_bytes(
    bytes: &[u8],
    layout: &Layout,
    part: &Part,
    convert: Option<&Convert>,
    stream: bool,
    out: &mut OutBuf<'_>,
) -> Result<bool> {
    let item = layout.item;
    let mem_item = convert.map_or(item, |convert| convert.mem_item);
    let (last, mem) = part.extent();
    // The extent counts to one past the first byte of the last element.
    assert!(last + item - 1 <= bytes.len(), "a part inside {} bytes: {part:?}", bytes.len());
    assert!(!layout.planes && part.mem_start == 0 && mem == part.elems, "elements one after another: {part:?}");
    let unit = part.dims[0].n == 1 || (part.dims[0].chunk == item && part.dims[0].mem == 1);
    let kernel = if convert.is_some() { None } else { Some(choose(layout, unit, true, stream)) };
    let mut out_of_range = false;
    write_all(out, part.elems * mem_item, |memory| {
        let memory = memory.as_mut_ptr().cast::<u8>();
        each_block(part, 1, mem_item, true, 0, |from, to, rows| {
            // SAFETY: checked above for the whole part, of which the block is one piece; the output is borrowed
            // exclusively, and has room for all elements.
            unsafe {
                let (src, dst) = (bytes.as_ptr().add(from), memory.add(to));
                match (convert, kernel) {
                    (Some(convert), _) => out_of_range |= convert.load(layout, src, dst, rows, stream),
                    (None, Some(kernel)) => kernel(src, dst, rows),
                    (None, None) => unreachable!("one of both is set"),
                }
            }
        });
    })?;
    if stream {
        stream::fence();
    }
    Ok(out_of_range)
}
