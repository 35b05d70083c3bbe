//! Slabs against a loop over every index, and the codes of the netCDF rules.

use nczarr_model::{ErrorKind, Slab};
use proptest::prelude::*;

#[test]
fn codes() {
    let max = u64::MAX;
    for (start, count, stride, grow, expected) in [
        // The shape is 5 × 3. The flag says whether the first dimension may grow.
        (&[0, 0][..], &[5, 3][..], None, false, Ok(())),
        (&[0, 0], &[0, 0], None, false, Ok(())),
        (&[5, 3], &[0, 0], None, false, Ok(())),
        (&[5, 0], &[1, 1], None, false, Err(ErrorKind::InvalCoords)),
        (&[6, 0], &[0, 1], None, false, Err(ErrorKind::InvalCoords)),
        (&[6, 0], &[1, 1], None, false, Err(ErrorKind::InvalCoords)),
        (&[4, 0], &[2, 1], None, false, Err(ErrorKind::Edge)),
        (&[0, 1], &[1, 3], None, false, Err(ErrorKind::Edge)),
        (&[0, 0], &[max, 1], None, false, Err(ErrorKind::Edge)),
        (&[1, 0], &[max, 1], None, false, Err(ErrorKind::Edge)),
        (&[max, 0], &[1, 1], None, false, Err(ErrorKind::InvalCoords)),
        (&[0, 0], &[3, 2], Some(&[2, 2][..]), false, Ok(())),
        (&[0, 0], &[3, 2], Some(&[2, 3]), false, Err(ErrorKind::Edge)),
        (&[1, 0], &[3, 2], Some(&[2, 2]), false, Err(ErrorKind::Edge)),
        (&[4, 0], &[1, 1], Some(&[max, max]), false, Ok(())),
        (&[0, 0], &[2, 1], Some(&[max, 1]), false, Err(ErrorKind::Edge)),
        (&[0, 0], &[1, 1], Some(&[0, 1]), false, Err(ErrorKind::Stride)),
        (&[0, 0], &[0, 0], Some(&[1, 0]), false, Err(ErrorKind::Stride)),
        (&[0], &[1, 1], None, false, Err(ErrorKind::Inval)),
        (&[0, 0], &[1], None, false, Err(ErrorKind::Inval)),
        (&[0, 0], &[1, 1], Some(&[1]), false, Err(ErrorKind::Inval)),
        (&[0, 0, 0], &[1, 1, 1], None, false, Err(ErrorKind::Inval)),
        (&[7, 0], &[2, 3], None, true, Ok(())),
        (&[7, 0], &[2, 4], None, true, Err(ErrorKind::Edge)),
        (&[7, 0], &[2, 3], Some(&[9, 1]), true, Ok(())),
        (&[max, 0], &[1, 1], None, true, Err(ErrorKind::InvalCoords)),
        (&[2, 0], &[max, 1], None, true, Err(ErrorKind::Edge)),
    ] {
        let slab = Slab { start, count, stride };
        let outcome = slab.check(&[5, 3], |dim| grow && dim == 0);
        assert_eq!(outcome.map(drop).map_err(|error| error.kind()), expected, "{slab:?}");
    }
    assert!(Slab::new(&[], &[]).check(&[], |_| false).is_ok());
    assert_eq!(Slab::new(&[], &[]).len(), 1);
    assert_eq!(Slab::new(&[0, 0], &[max, 2]).len(), max);
    assert_eq!(Slab::new(&[0, 0], &[max, 0]).len(), 0);
}

proptest! {
    #[test]
    fn a_slab_is_inside_if_every_index_is(dims in prop::collection::vec((0u64..7, 0u64..9, 0u64..6, 1u64..5), 0..4)) {
        let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
        let start: Vec<u64> = dims.iter().map(|dim| dim.1).collect();
        let count: Vec<u64> = dims.iter().map(|dim| dim.2).collect();
        let stride: Vec<u64> = dims.iter().map(|dim| dim.3).collect();
        let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
        let mut inside = true;
        let mut dense = true;
        for dim in 0..shape.len() {
            let indices: Vec<u64> = (0..count[dim]).map(|i| start[dim] + i * stride[dim]).collect();
            // A slab without elements may start one past the last index.
            inside &= indices.iter().all(|index| *index < shape[dim]) && start[dim] <= shape[dim];
            dense &= indices.windows(2).all(|pair| pair[1] == pair[0] + 1);
            prop_assert_eq!(slab.end(dim), Some(indices.last().map_or(start[dim], |last| last + 1)));
        }
        prop_assert_eq!(slab.check(&shape, |_| false).is_ok(), inside);
        prop_assert_eq!(slab.is_dense(), dense);
        prop_assert_eq!(slab.len(), count.iter().product::<u64>());
        prop_assert_eq!(slab.is_empty(), count.contains(&0));
        prop_assert!(slab.check(&shape, |_| true).is_ok());
    }

    #[test]
    fn no_numbers_panic(dims in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..4), grow: bool) {
        let shape: Vec<u64> = dims.iter().map(|dim| dim.0).collect();
        let start: Vec<u64> = dims.iter().map(|dim| dim.1).collect();
        let count: Vec<u64> = dims.iter().map(|dim| dim.2).collect();
        let stride: Vec<u64> = dims.iter().map(|dim| dim.3).collect();
        let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
        if let Ok(checked) = slab.check(&shape, |_| grow) {
            prop_assert!((0..shape.len()).all(|dim| slab.end(dim) == Some(checked.end(dim))));
            prop_assert!((0..shape.len()).all(|dim| slab.end(dim).is_some_and(|end| grow || end <= shape[dim] || count[dim] == 0)));
        }
    }
}
