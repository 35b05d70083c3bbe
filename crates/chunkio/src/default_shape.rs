//! The default chunk shape, computed from shape, unlimited dimensions and element size.
//!
//! * fixed dimensions only: the whole shape, scaled down evenly to about 16 MiB per chunk. Then lengths are
//!   adjusted, so that no last chunk is mostly empty;
//! * a single unlimited dimension: 4 KiB of elements;
//! * several dimensions: 1 along unlimited ones, the others as above;
//! * only unlimited dimensions: equal lengths, 16 MiB together.
//!
//! Source: the rule of netCDF-C.

const CHUNK_BYTES: f64 = (16u64 << 20) as f64;
const RECORD_BYTES: u64 = 4096;

/// Returns the default chunk shape of an array. `dims`: length, and whether unlimited; `item`: bytes per
/// element.
pub fn default_shape(dims: &[(u64, bool)], item: u64) -> Vec<u64> {
    let item = item.max(1);
    let unlimited = dims.iter().filter(|(_, unlimited)| *unlimited).count();
    if unlimited == dims.len() {
        return match dims.len() {
            0 => Vec::new(),
            1 => vec![(RECORD_BYTES / item).max(1)],
            rank => vec![(root(CHUNK_BYTES / item as f64, rank) as u64).max(1); rank],
        };
    }
    let fixed: f64 = dims.iter().filter(|(_, unlimited)| !unlimited).map(|&(len, _)| len as f64).product();
    let scale = root(CHUNK_BYTES / (fixed * item as f64), dims.len() - unlimited);
    let side = |&(len, unlimited): &(u64, bool)| {
        if unlimited { 1 } else { ((len as f64 * scale - 0.5).max(1.0) as u64).min(len).max(1) }
    };
    let mut sides: Vec<u64> = dims.iter().map(side).collect();
    // Dimensions that were too short to shrink leave their share to the others.
    while sides.iter().fold(item as f64, |bytes, &side| bytes * side as f64) > CHUNK_BYTES {
        let before = sides.clone();
        sides.iter_mut().for_each(|side| *side = (*side / 2).max(1));
        if sides == before {
            break;
        }
    }
    // Distributes the excess of the last chunk over all chunks.
    for (side, &(len, unlimited)) in sides.iter_mut().zip(dims) {
        let count = len.div_ceil(*side).max(1);
        if !unlimited {
            *side -= count.saturating_mul(*side).saturating_sub(len) / count;
        }
    }
    sides
}

fn root(value: f64, degree: usize) -> f64 {
    value.powf(1.0 / degree as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cases_of_the_notes() {
        let fixed = |lens: &[u64]| lens.iter().map(|&len| (len, false)).collect::<Vec<_>>();
        for (dims, item, expected) in [
            (fixed(&[3000, 5000]), 8, vec![1000, 1667]),
            (fixed(&[4, 4, 5]), 2, vec![4, 4, 5]),
            (fixed(&[1]), 8, vec![1]),
            (fixed(&[2048, 1024]), 8, vec![1024, 512]),
            (fixed(&[1 << 40, 1, 1]), 8, vec![1_664_510, 1, 1]),
            (vec![(0, true)], 1, vec![4096]),
            (vec![(0, true)], 2, vec![2048]),
            (vec![(0, true)], 4, vec![1024]),
            (vec![(0, true)], 8, vec![512]),
            (vec![(7, true)], 8, vec![512]),
            (vec![(0, true), (0, true)], 4, vec![2048, 2048]),
            (vec![(0, true), (10, false), (20, false)], 4, vec![1, 10, 20]),
            (vec![(10, false), (0, true)], 4, vec![10, 1]),
            (vec![], 8, vec![]),
        ] {
            assert_eq!(default_shape(&dims, item), expected, "{dims:?} {item}");
        }
    }

    proptest! {
        #[test]
        fn a_chunk_fits_its_array_and_stays_small(
            dims in prop::collection::vec((1u64..1 << 40, any::<bool>()), 1..6), item in 1u64..16,
        ) {
            let shape = default_shape(&dims, item);
            prop_assert_eq!(shape.len(), dims.len());
            let mut bytes = item as f64;
            for (&chunk, &(len, unlimited)) in shape.iter().zip(&dims) {
                prop_assert!(chunk >= 1 && (unlimited || chunk <= len));
                bytes *= chunk as f64;
            }
            prop_assert!(bytes <= CHUNK_BYTES, "{shape:?}");
        }
    }
}
