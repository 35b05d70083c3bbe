//! Mapped access against one loop over all indices.

use nczarr_model::{
    ErrorKind, NcString, check_imap, gather_items, gather_mapped, scatter_items, scatter_mapped,
};
use proptest::prelude::*;

/// Returns the memory position of every element in C order, by definition.
fn places(count: &[u64], imap: &[i64]) -> Vec<i128> {
    let total: u64 = count.iter().product();
    (0..total)
        .map(|mut at| {
            let mut place = 0;
            for (count, step) in count.iter().zip(imap).rev() {
                place += i128::from(at % count) * i128::from(*step);
                at /= count;
            }
            place
        })
        .collect()
}

fn check(count: &[u64], imap: &[i64], len: usize, item: usize) -> Result<(), TestCaseError> {
    let places = places(count, imap);
    let inside = places.iter().all(|place| (0..len as i128).contains(place));
    let outcome = check_imap(count, imap, len);
    prop_assert_eq!(outcome.is_ok(), inside, "{:?} {:?} {}", count, imap, len);
    let memory: Vec<u8> = (0..len * item).map(|i| (i * 7 + i / 256) as u8).collect();
    let mut dense = vec![0; places.len() * item];
    let gathered = gather_mapped(count, imap, item, &memory, &mut dense);
    let source: Vec<u8> = (0..dense.len()).map(|i| (i * 11) as u8).collect();
    let mut scattered = memory.clone();
    let scatter = scatter_mapped(count, imap, item, &mut scattered, &source);
    if !inside {
        prop_assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Inval);
        prop_assert_eq!(gathered.unwrap_err().kind(), ErrorKind::Inval);
        prop_assert_eq!(scatter.unwrap_err().kind(), ErrorKind::Inval);
        prop_assert_eq!(scattered, memory);
        return Ok(());
    }
    gathered.unwrap();
    scatter.unwrap();
    let mut expected = memory.clone();
    for (i, place) in places.iter().enumerate() {
        let place = *place as usize * item;
        prop_assert_eq!(&dense[i * item..][..item], &memory[place..][..item]);
        expected[place..place + item].copy_from_slice(&source[i * item..][..item]);
    }
    prop_assert_eq!(scattered, expected);
    Ok(())
}

proptest! {
    #[test]
    fn mapped_access_equals_a_loop(
        dims in prop::collection::vec((0u64..5, -2i64..14), 0..4),
        len in 0usize..120,
        item in prop::sample::select(vec![1usize, 2, 3, 4, 8, 12]),
    ) {
        let (count, imap): (Vec<u64>, Vec<i64>) = dims.into_iter().unzip();
        check(&count, &imap, len, item)?;
    }

    #[test]
    fn dense_steps_are_a_copy(count in prop::collection::vec(1u64..5, 0..5)) {
        let mut imap: Vec<i64> = vec![1; count.len()];
        for dim in (1..count.len()).rev() {
            imap[dim - 1] = imap[dim] * count[dim] as i64;
        }
        check(&count, &imap, count.iter().product::<u64>() as usize, 4)?;
    }

    #[test]
    fn no_numbers_panic(count in prop::collection::vec(any::<u64>(), 0..4), imap in prop::collection::vec(any::<i64>(), 0..4), len in any::<usize>()) {
        let _ = check_imap(&count, &imap, len);
        let _ = gather_mapped(&count, &imap, 2, &[0; 8], &mut [0; 4]);
        let _ = scatter_mapped(&count, &imap, 3, &mut [0; 9], &[0; 3]);
    }
}

#[test]
fn a_transposed_table() {
    let table = ["a", "b", "c", "d", "e", "f"].map(NcString::from);
    let mut dense = vec![NcString::new(); 6];
    gather_items(&[3, 2], &[1, 3], &table, &mut dense).unwrap();
    assert_eq!(dense, ["a", "d", "b", "e", "c", "f"].map(NcString::from));
    let mut back = vec![NcString::new(); 6];
    scatter_items(&[3, 2], &[1, 3], &mut back, &dense).unwrap();
    assert_eq!(back, table);
}

#[test]
fn refusals() {
    for (count, imap, item, mapped, dense) in [
        (&[2][..], &[1, 1][..], 1, 4, 2),
        (&[2], &[], 1, 4, 2),
        (&[3], &[1], 2, 4, 6),
        (&[3], &[2], 1, 4, 3),
        (&[2], &[-1], 1, 4, 2),
        (&[2], &[i64::MAX], 1, 4, 2),
        (&[u64::MAX, u64::MAX], &[i64::MAX, i64::MAX], 8, 64, 64),
        (&[u64::MAX], &[0], 4, 64, 64),
        (&[2], &[1], 4, 8, 9),
        (&[2], &[1], 4, 8, 7),
        (&[2], &[1], 4, 8, 12),
        (&[2], &[1], 3, 6, 7),
        (&[2], &[1], 0, 6, 6),
        (&[0], &[1], 1, 6, 1),
        (&[], &[], 4, 0, 4),
    ] {
        let mut memory = (vec![0u8; mapped], vec![0u8; dense]);
        let gathered = gather_mapped(count, imap, item, &memory.0, &mut memory.1);
        assert_eq!(gathered.unwrap_err().kind(), ErrorKind::Inval, "{count:?} {imap:?} {item}");
        let scattered = scatter_mapped(count, imap, item, &mut memory.0, &memory.1);
        assert_eq!(scattered.unwrap_err().kind(), ErrorKind::Inval, "{count:?} {imap:?} {item}");
    }
}
