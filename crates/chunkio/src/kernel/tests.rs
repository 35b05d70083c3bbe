use nczarr_model::convert::Linear;
use nczarr_model::{NcType, Scalar, Values};
use proptest::prelude::*;

use super::*;
use crate::grid::ChunkIndex;
use crate::project::{Coverage, StridedRun};

/// Returns the position of byte `byte` of native element `at` in a chunk.
fn place(layout: &ChunkLayout, elems: usize, at: usize, byte: usize) -> usize {
    let byte = if layout.swap { layout.item - 1 - byte } else { byte };
    if layout.planes { byte * elems + at } else { at * layout.item + byte }
}

fn layouts() -> impl Strategy<Value = ChunkLayout> {
    (prop::sample::select(vec![1usize, 2, 4, 8]), any::<bool>(), any::<bool>())
        .prop_map(|(item, planes, swap)| ChunkLayout { item, planes, swap })
}

/// Nested runs that do not overlap in the chunk or in memory, in any two orders.
fn parts() -> impl Strategy<Value = ChunkPart> {
    let dim = (1..70usize, 1..4usize, 1..3usize, any::<u8>());
    (prop::collection::vec(dim, 1..5), 0..40usize, 0..40usize).prop_map(|(list, chunk_start, mem_start)| {
        // Long runs occur at the innermost level and at no more than one other level.
        let n = |level: usize| match (level, list[level].0) {
            (0, n) => n,
            (1, n) if n > 40 => n,
            (_, n) => 1 + n % 3,
        };
        // The order of the runs in the chunk. In memory the runs follow one another.
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|&level| list[level].3 / 128 * list[level].3);
        let mut steps = vec![0; list.len()];
        let mut chunk = 1;
        for level in order {
            steps[level] = chunk * list[level].1;
            chunk = n(level) * steps[level];
        }
        let mut part = ChunkPart {
            index: ChunkIndex::default(),
            chunk_start,
            mem_start,
            elems: 1,
            cover: Coverage::Some,
            ..ChunkPart::default()
        };
        let mut mem = 1;
        for (level, &(_, _, gap, _)) in list.iter().enumerate() {
            let dim = StridedRun { n: n(level), chunk: steps[level], mem: mem * gap };
            part.elems *= dim.n;
            part.dims.push(dim);
            mem = dim.n * dim.mem;
        }
        part
    })
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: the callee only writes whole elements, so every byte it leaves behind is initialised.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn elements_are_moved_to_their_places(layout in layouts(), part in parts(), lead in 0..80usize, stream in any::<bool>()) {
        let (chunk_elems, mem_elems) = part.extent();
        let item = layout.item;
        let chunk = bytes(chunk_elems * item);
        // The result may have any alignment.
        let mut mem = vec![0xEE; lead + mem_elems * item];
        let mut expected = mem.clone();
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |from, to| {
            for byte in 0..item {
                expected[lead + to * item + byte] = chunk[place(&layout, chunk_elems, from, byte)];
            }
        });
        // SAFETY: the result belongs to this test.
        let range = unsafe { load(&chunk, &layout, &part, None, mem[lead..].as_mut_ptr(), mem_elems * item, stream) };
        prop_assert!(!range);
        prop_assert_eq!(&mem, &expected);

        let mut back = vec![0xDD; chunk.len()];
        let mut expected = back.clone();
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, _| {
            for byte in 0..item {
                let place = place(&layout, chunk_elems, at, byte);
                expected[place] = chunk[place];
            }
        });
        save(&mem[lead..], &part, None, &layout, uninit(&mut back));
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn conversion_happens_on_the_way(
        layout in layouts(), part in parts(), lead in 0..80usize, stream in any::<bool>(),
        to in prop::sample::select(vec![NcType::Byte, NcType::Short, NcType::Int, NcType::Float, NcType::Double]),
    ) {
        let from = match layout.item { 1 => NcType::UByte, 2 => NcType::UShort, 4 => NcType::UInt, _ => NcType::Int64 };
        let (chunk_elems, mem_elems) = part.extent();
        let (item, mem_item) = (layout.item, to.size().unwrap());
        let chunk = bytes(chunk_elems * item);
        let reading = Convert::reading(from, to).unwrap();
        let writing = Convert::writing(to, from).unwrap();
        let (Some(reading), Some(writing)) = (reading, writing) else { return Ok(()) };
        let native = |at: usize| (0..item).map(|byte| chunk[place(&layout, chunk_elems, at, byte)]).collect::<Vec<_>>();

        let mut mem = vec![0xEE; lead + mem_elems * mem_item];
        let (mut expected, mut expected_range) = (mem.clone(), false);
        let row = nczarr_model::convert::read_row(from, to, false).unwrap();
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, slot| {
            let slot = lead + slot * mem_item;
            expected_range |= row(&native(at), uninit(&mut expected[slot..slot + mem_item]));
        });
        // SAFETY: the result belongs to this test.
        let range = unsafe {
            load(&chunk, &layout, &part, Some(&reading), mem[lead..].as_mut_ptr(), mem_elems * mem_item, stream)
        };
        prop_assert_eq!(range, expected_range);
        prop_assert_eq!(&mem, &expected);

        let mut back = vec![0xDD; chunk.len()];
        let (mut expected, mut expected_range) = (back.clone(), false);
        let row = nczarr_model::convert::write_row(to, from, false).unwrap();
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, slot| {
            let slot = lead + slot * mem_item;
            let mut value = vec![0; item];
            expected_range |= row(&mem[slot..slot + mem_item], uninit(&mut value));
            for byte in 0..item {
                expected[place(&layout, chunk_elems, at, byte)] = value[byte];
            }
        });
        let range = save(&mem[lead..], &part, Some(&writing), &layout, uninit(&mut back));
        prop_assert_eq!(range, expected_range);
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn scaling_happens_on_the_way(
        layout in layouts(), part in parts(), lead in 0..80usize, stream in any::<bool>(),
        kind in 0..3usize, wide in any::<bool>(), plainly in any::<bool>(),
        scale in prop::sample::select(vec![1.0, -0.005, 1e35, 1e300]),
        offset in prop::sample::select(vec![Linear::NO_OFFSET, 273.15, 1e-3]),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let from = match (layout.item, kind) {
            (1, 0) => NcType::Byte,
            (1, _) => NcType::UByte,
            (2, 0) => NcType::Short,
            (2, _) => NcType::UShort,
            (4, 0) => NcType::Int,
            (4, 1) => NcType::UInt,
            (4, _) => NcType::Float,
            (_, 0) => NcType::Int64,
            (_, 1) => NcType::UInt64,
            (_, _) => NcType::Double,
        };
        let to = if wide { NcType::Double } else { NcType::Float };
        let (chunk_elems, mem_elems) = part.extent();
        let (item, mem_item) = (layout.item, to.size().unwrap());
        let chunk = bytes(chunk_elems * item);
        let native = |at: usize| (0..item).map(|byte| chunk[place(&layout, chunk_elems, at, byte)]).collect::<Vec<_>>();
        // The missing values are values that some elements have.
        let missing: Vec<u8> = picks.iter().flat_map(|pick| native(pick.index(chunk_elems))).collect();
        let missing = Values::from_native_bytes(from, &missing).unwrap();
        let linear = Linear { missing: Some(missing.clone()), ..Linear::new(scale, offset) };
        let convert = Convert::scaling(from, to, &linear).unwrap();
        let convert = if plainly { convert.plainly() } else { convert };

        let mut mem = vec![0xEE; lead + mem_elems * mem_item];
        let (mut expected, mut expected_range) = (mem.clone(), false);
        Odometer::each(&part.dims, part.chunk_start, part.mem_start, |at, slot| {
            let value = Values::from_native_bytes(from, &native(at)).unwrap();
            let is_missing = (0..missing.len()).any(|i| missing.scalar(i) == value.scalar(0));
            let scaled = match value.scalar(0).unwrap() {
                _ if is_missing => f64::NAN,
                Scalar::Int(value) => value as f64 * scale + offset,
                Scalar::Float(value) => value * scale + offset,
            };
            let slot = lead + slot * mem_item;
            if wide {
                expected[slot..slot + 8].copy_from_slice(&scaled.to_ne_bytes());
            } else {
                expected[slot..slot + 4].copy_from_slice(&(scaled as f32).to_ne_bytes());
                expected_range |= scaled.is_finite() && scaled.abs() > f64::from(f32::MAX);
            }
        });
        // SAFETY: the result belongs to this test.
        let range = unsafe {
            load(&chunk, &layout, &part, Some(&convert), mem[lead..].as_mut_ptr(), mem_elems * mem_item, stream)
        };
        prop_assert_eq!(range, expected_range);
        prop_assert_eq!(&mem, &expected);
    }

    #[test]
    fn fill_reaches_every_element(layout in layouts(), part in parts(), lead in 0..9usize) {
        let value = &[1, 2, 3, 4, 5, 6, 7, 8][..layout.item];
        let (_, mem_elems) = part.extent();
        let mut mem = vec![0; lead + mem_elems * layout.item];
        let mut expected = mem.clone();
        Odometer::each(&part.dims, 0, part.mem_start, |_, to| {
            let at = lead + to * layout.item;
            expected[at..at + layout.item].copy_from_slice(value);
        });
        // SAFETY: the result belongs to this test.
        unsafe { fill(value, &part, mem[lead..].as_mut_ptr(), mem_elems * layout.item) };
        prop_assert_eq!(mem, expected);

        let elems = part.elems.min(300);
        let mut chunk = vec![0; elems * layout.item];
        fill_chunk(value, &layout, uninit(&mut chunk));
        let mut back = vec![0; chunk.len()];
        let whole = ChunkPart::whole(elems);
        // SAFETY: the result belongs to this test.
        unsafe { load(&chunk, &layout, &whole, None, back.as_mut_ptr(), back.len(), false) };
        prop_assert!(back.chunks(layout.item).all(|element| element == value));
    }
}

#[test]
#[should_panic(expected = "a part inside")]
fn a_part_beyond_its_chunk_is_refused() {
    let mut mem = [0; 64];
    let part = ChunkPart::whole(9);
    // SAFETY: the result belongs to this test.
    unsafe { load(&[0; 32], &ChunkLayout::native(4), &part, None, mem.as_mut_ptr(), mem.len(), false) };
}

#[cfg(target_arch = "x86_64")]
#[test]
fn every_instruction_set_gives_the_same() {
    fn run<const I: usize>() {
        let n = 150;
        let src = bytes(n * I);
        let rows = KernelRows { n: [n, 1, 1], src: [1, 0, 0], dst: [I, 0, 0], item: I, pitch: n };
        let back = KernelRows { src: rows.dst, dst: rows.src, ..rows };
        for swap in [false, true] {
            let mut results = Vec::new();
            let kernels = [(true, true), (true, false), (false, false)];
            for (avx2, stream) in kernels.into_iter().filter(|&(avx2, _)| !avx2 || has_avx2()) {
                let mut out = vec![0; n * I];
                let mut again = vec![0; n * I];
                // SAFETY: the rows are exactly these vectors.
                unsafe {
                    shuffle::unshuffle::<I>(swap, avx2, stream)(src.as_ptr(), out.as_mut_ptr(), &rows);
                    shuffle::shuffle::<I>(swap, avx2)(out.as_ptr(), again.as_mut_ptr(), &back);
                }
                assert_eq!(again, src);
                results.push(out);
            }
            let mut slow = vec![0; n * I];
            // SAFETY: as above.
            unsafe { shuffle::unshuffle_strided::<I>(swap)(src.as_ptr(), slow.as_mut_ptr(), &rows) };
            assert!(results.iter().all(|result| *result == slow));
        }
    }
    run::<2>();
    run::<4>();
    run::<8>();
}
