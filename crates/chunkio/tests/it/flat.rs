//! Compares arrays without chunks to a plain loop over every element.

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use nczarr_chunkio::{ArrayDim, BeyondEnd, ByteStore, FlatArray, FlatSpec};
use nczarr_dispatch::{Linear, MemMut, MemRef, Options, Progress, VarData};
use nczarr_model::{ErrorKind, NcString, NcType, Result, Slab};
use nczarr_runtime::OutBuf;

use crate::oracle::{NUMBERS, indices, row, slab};
use crate::random::Random;

/// Bytes in memory behind a lock. They record each write's place and can fail.
#[derive(Debug, Default)]
struct Bytes {
    bytes: Mutex<Vec<u8>>,
    writes: Mutex<Vec<(u64, usize)>>,
    reads: AtomicUsize,
    /// The number of the first call that fails, counted from one. Zero means that none fails.
    good: AtomicUsize,
    /// Reads return one byte less than the store has.
    lazy: bool,
}

impl Bytes {
    fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes: Mutex::new(bytes), ..Self::default() })
    }

    fn all(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    fn fail(&self) -> Result<()> {
        match self.good.fetch_update(SeqCst, SeqCst, |left| (left > 1).then(|| left - 1)) {
            Err(1) => Err(ErrorKind::Io.context("the disk is on fire")),
            _ => Ok(()),
        }
    }
}

impl ByteStore for Bytes {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.fail()?;
        self.reads.fetch_add(1, SeqCst);
        let bytes = self.bytes.lock().unwrap();
        let from = bytes.get(offset as usize..).unwrap_or(&[]);
        let len = from.len().min(out.remaining()) - usize::from(self.lazy);
        out.put(&from[..len])
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.fail()?;
        self.writes.lock().unwrap().push((offset, bytes.len()));
        let mut all = self.bytes.lock().unwrap();
        let end = offset as usize + bytes.len();
        if all.len() < end {
            all.resize(end, 0);
        }
        all[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }
}

/// Bytes that never change.
#[derive(Debug)]
struct Mapped(Vec<u8>);

impl ByteStore for Mapped {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let from = self.0.get(offset as usize..).unwrap_or(&[]);
        out.put(&from[..from.len().min(out.remaining())])
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<()> {
        Err(ErrorKind::Perm.into())
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

#[derive(Debug)]
struct Disk(File);

impl Disk {
    fn new(name: &str, bytes: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("chunkio-flat-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        Self(file)
    }
}

impl ByteStore for Disk {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut bytes = vec![0; out.remaining()];
        let mut got = 0;
        loop {
            match self.0.read_at(&mut bytes[got..], offset + got as u64).unwrap() {
                0 => return out.put(&bytes[..got]),
                n => got += n,
            }
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.write_all_at(bytes, offset).map_err(|error| ErrorKind::Io.context(error.to_string()))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.0.metadata().unwrap().len())
    }
}

/// One array and a plain reading of its bytes.
#[derive(Clone)]
struct Case {
    shape: Vec<u64>,
    ty: NcType,
    big: bool,
    begin: u64,
    record: Option<u64>,
    unlimited: bool,
    options: Options,
    short: BeyondEnd,
}

impl Case {
    fn new(shape: &[u64], ty: NcType) -> Self {
        Self {
            shape: shape.to_vec(),
            ty,
            big: true,
            begin: 16,
            record: None,
            unlimited: false,
            options: Options::default(),
            short: BeyondEnd::Error,
        }
    }

    fn records(mut self, step: u64) -> Self {
        (self.record, self.unlimited) = (Some(step), true);
        self
    }

    fn spec(&self, store: Arc<dyn ByteStore>) -> FlatSpec {
        let dim = |(at, &len): (usize, &u64)| ArrayDim {
            len: Arc::new(AtomicU64::new(len)),
            unlimited: self.unlimited && at == 0,
        };
        FlatSpec {
            name: "/v".to_owned(),
            dims: self.shape.iter().enumerate().map(dim).collect(),
            ty: self.ty,
            big_endian: self.big,
            begin: self.begin,
            record: self.record,
            store,
            options: self.options.clone(),
            writable: true,
            beyond_end: self.short,
        }
    }

    fn open(&self, store: &Arc<impl ByteStore + 'static>) -> FlatArray {
        FlatArray::new(self.spec(store.clone())).unwrap()
    }

    fn offset(&self, index: &[u64]) -> usize {
        let mut step = self.ty.size().unwrap() as u64;
        let mut offset = self.begin;
        for dim in (0..index.len()).rev() {
            let step_here = if dim == 0 { self.record.unwrap_or(step) } else { step };
            offset += index[dim] * step_here;
            step *= self.shape[dim];
        }
        offset as usize
    }

    fn swapped(&self, mut value: Vec<u8>) -> Vec<u8> {
        if self.big != cfg!(target_endian = "big") {
            value.reverse();
        }
        value
    }

    /// The expected result of a read. Bytes beyond the end are zeros.
    fn get(&self, bytes: &[u8], slab: &Slab<'_>, to: NcType) -> (Vec<u8>, bool) {
        let (mut found, mut range) = (Vec::new(), false);
        for index in indices(slab) {
            let at = self.offset(&index);
            let stored =
                (at..at + self.ty.size().unwrap()).map(|at| bytes.get(at).copied().unwrap_or(0)).collect();
            let (value, out) = row(self.ty, to, &self.swapped(stored));
            found.extend(value);
            range |= out;
        }
        (found, range)
    }

    fn put(&self, bytes: &mut Vec<u8>, slab: &Slab<'_>, from: NcType, memory: &[u8]) -> bool {
        let mut range = false;
        for (index, value) in indices(slab).into_iter().zip(memory.chunks(from.size().unwrap())) {
            let (value, out) = row(from, self.ty, value);
            let at = self.offset(&index);
            if bytes.len() < at + value.len() {
                bytes.resize(at + value.len(), 0);
            }
            bytes[at..at + value.len()].copy_from_slice(&self.swapped(value));
            range |= out;
        }
        range
    }

    /// The greatest number of bytes that the array can occupy.
    fn end(&self) -> usize {
        let last: Vec<u64> = self.shape.iter().map(|len| len.saturating_sub(1)).collect();
        self.offset(&last) + self.ty.size().unwrap()
    }
}

fn get(array: &FlatArray, slab: &Slab<'_>, ty: NcType) -> (Vec<u8>, Result<()>) {
    let mut memory = vec![MaybeUninit::uninit(); slab.len() as usize * ty.size().unwrap()];
    let mut out = OutBuf::new(&mut memory);
    let result =
        array.check_read(slab).and_then(|slab| array.get(&slab, MemMut::Fixed { ty, out: &mut out }));
    (out.filled().to_vec(), result)
}

fn put(array: &FlatArray, slab: &Slab<'_>, ty: NcType, bytes: &[u8]) -> Result<()> {
    array.put(&array.check_write(slab)?, MemRef::Fixed { ty, bytes })
}

fn check(result: Result<()>, range: bool) {
    match result {
        Ok(()) => assert!(!range, "a range error was expected"),
        Err(error) => assert!(range && error.kind() == ErrorKind::Range, "{error}"),
    }
}

/// Bytes of elements. Half of them are small so that conversions often succeed.
fn elements(random: &mut Random, ty: NcType, n: usize) -> Vec<u8> {
    if ty == NcType::Char || random.one_in(2) {
        return random.bytes(n * ty.size().unwrap());
    }
    random.bytes(n).iter().flat_map(|byte| row(NcType::Byte, ty, &[byte % 2]).0).collect()
}

fn case(random: &mut Random) -> Case {
    // A few cases are large enough for pieces and threads.
    let large = random.one_in(150);
    let rank = random.below(if large { 4 } else { 7 }) as usize;
    let most = if large { [1, 1 << 18, 600, 60][rank] } else { [1, 60, 20, 9, 6, 4, 3][rank] };
    let mut case = Case::new(&[], if random.one_in(8) { NcType::Char } else { random.pick(&NUMBERS) });
    case.shape = (0..rank).map(|_| 1 + random.below(most)).collect();
    case.big = !random.one_in(3);
    case.begin = random.below(40);
    case.options.threads = 1 + random.below(2) as usize;
    if rank > 0 && random.one_in(2) {
        let inner: u64 = case.shape[1..].iter().product::<u64>() * case.ty.size().unwrap() as u64;
        let gap = [0, random.below(9), 4 * random.below(20), 5000 + random.below(9)];
        case = case.records(inner + random.pick(&gap));
        case.unlimited = !random.one_in(4);
        if large {
            case.shape[0] = 1 + random.below(90);
        }
    }
    case
}

fn reading(seed: u64) {
    let mut random = Random::new(seed);
    let mut case = case(&mut random);
    let item = case.ty.size().unwrap();
    let mut bytes = vec![0; case.begin as usize];
    let len = case.end() - bytes.len();
    bytes.extend(elements(&mut random, case.ty, len.div_ceil(item)));
    if random.one_in(3) {
        case.short = BeyondEnd::Zeros;
        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
    }
    let stores: [Arc<dyn ByteStore>; 3] =
        [Bytes::new(bytes.clone()), Arc::new(Mapped(bytes.clone())), Arc::new(Disk::new("reading", &bytes))];
    for store in stores {
        let array = FlatArray::new(case.spec(store)).unwrap();
        for _ in 0..4 {
            let ty =
                if case.ty == NcType::Char || random.one_in(2) { case.ty } else { random.pick(&NUMBERS) };
            let [start, count, stride] = slab(&mut random, &case.shape, &vec![false; case.shape.len()]);
            let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
            let (found, result) = get(&array, &slab, ty);
            let (expected, range) = case.get(&bytes, &slab, ty);
            check(result, range);
            assert!(found == expected, "{slab:?} as {ty:?}");
            if case.ty != NcType::Char && slab.len() < 1000 {
                linear(&array, &case.get(&bytes, &slab, NcType::Double), &slab);
            }
        }
    }
}

/// Scale and offset: the expected values are doubles that the test transforms itself.
fn linear(array: &FlatArray, plain: &(Vec<u8>, bool), slab: &Slab<'_>) {
    let double = |bytes: &[u8]| f64::from_ne_bytes(bytes.try_into().unwrap());
    let expected: Vec<u8> =
        plain.0.chunks(8).flat_map(|item| (double(item) * 0.5 + 3.0).to_ne_bytes()).collect();
    let mut found = vec![0; expected.len()];
    let out = MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut found) };
    array.get_linear(&array.check_read(slab).unwrap(), out, &Linear::new(0.5, 3.0)).unwrap();
    assert_eq!(found, expected, "{slab:?}");
}

fn writing(seed: u64) {
    let mut random = Random::new(seed);
    let case = case(&mut random);
    let held = if random.one_in(2) { case.end() } else { case.begin as usize };
    let before = random.bytes(held);
    let (memory, disk) = (Bytes::new(before.clone()), Arc::new(Disk::new("writing", &before)));
    let arrays = [case.open(&memory), case.open(&disk)];
    let mut shape = case.shape.clone();
    let mut expected = before;
    for _ in 0..3 {
        let grow: Vec<bool> = (0..shape.len()).map(|dim| dim == 0 && case.unlimited).collect();
        let from = if case.ty == NcType::Char || random.one_in(2) { case.ty } else { random.pick(&NUMBERS) };
        let [start, count, stride] = slab(&mut random, &shape, &grow);
        let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
        let bytes = elements(&mut random, from, slab.len() as usize);
        let range = case.put(&mut expected, &slab, from, &bytes);
        for array in &arrays {
            check(put(array, &slab, from, &bytes), range);
        }
        if let Some(len) = shape.first_mut().filter(|_| !slab.is_empty()) {
            *len = (*len).max(slab.end(0).unwrap());
        }
    }
    assert!(memory.all() == expected);
    let mut written = vec![0; expected.len() + 1];
    assert_eq!(disk.0.read_at(&mut written, 0).unwrap(), expected.len());
    assert!(written[..expected.len()] == expected);
    // The file has no bytes beyond those that the test put.
    let end = shape.clone();
    let (found, result) = get(&arrays[0], &Slab::new(&vec![0; end.len()], &end), case.ty);
    if result.is_ok() {
        assert!(found == case.get(&expected, &Slab::new(&vec![0; end.len()], &end), case.ty).0);
    }
}

fn seeds(n: u64, run: impl Fn(u64) + std::panic::RefUnwindSafe) {
    for seed in 0..n {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn any_slab_reads_the_stored_elements() {
    seeds(900, reading);
}

#[test]
fn any_slab_is_written_and_nothing_else() {
    seeds(900, writing);
}

/// Ints 0, 1, 2 … from offset 16, in big-endian order.
fn ints(n: i32) -> Arc<Bytes> {
    let numbers = (0..n).flat_map(i32::to_be_bytes);
    Bytes::new([0; 16].into_iter().chain(numbers).collect())
}

#[test]
fn only_the_bytes_of_the_elements_are_written() {
    let case = Case::new(&[4, 5], NcType::Short).records(16);
    let store = Bytes::new(vec![7; 16 + 64]);
    let array = case.open(&store);
    put(&array, &Slab { start: &[1, 0], count: &[2, 2], stride: Some(&[2, 3]) }, NcType::Short, &[0; 8])
        .unwrap();
    assert_eq!(*store.writes.lock().unwrap(), [(32, 2), (38, 2), (64, 2), (70, 2)]);
    put(&array, &Slab::new(&[0, 0], &[4, 5]), NcType::Short, &[0; 40]).unwrap();
    assert_eq!(store.writes.lock().unwrap()[4..], [(16, 10), (32, 10), (48, 10), (64, 10)]);
}

#[test]
fn adjacent_records_are_one_write_and_near_ones_one_read() {
    let case = Case::new(&[4, 4], NcType::Int).records(16);
    let store = Bytes::new(vec![0; 80]);
    let array = case.open(&store);
    put(&array, &Slab::new(&[0, 0], &[4, 4]), NcType::Int, &[1; 64]).unwrap();
    assert_eq!(*store.writes.lock().unwrap(), [(16, 64)]);
    let columns = Slab { start: &[0, 0], count: &[4, 2], stride: Some(&[1, 3]) };
    get(&array, &columns, NcType::Int).1.unwrap();
    assert_eq!(store.reads.load(SeqCst), 1);
    let far = Case::new(&[4, 1], NcType::Int).records(10_000);
    let store = Bytes::new(vec![0; 40_016]);
    get(&far.open(&store), &Slab::new(&[0, 0], &[4, 1]), NcType::Int).1.unwrap();
    assert_eq!(store.reads.load(SeqCst), 4);
}

#[test]
fn a_short_store_is_an_error_or_reads_as_zeros() {
    let mut case = Case::new(&[2, 3], NcType::Int);
    let store = ints(5);
    let whole = Slab::new(&[0, 0], &[2, 3]);
    for ty in [NcType::Int, NcType::Double] {
        let error = get(&case.open(&store), &whole, ty).1.unwrap_err();
        assert_eq!(error.to_string(), "NC_ETRUNC: /v: 24 bytes at offset 16: the file ends at 36");
        get(&case.open(&store), &Slab::new(&[0, 0], &[2, 2]), ty).1.unwrap();
    }
    case.short = BeyondEnd::Zeros;
    assert_eq!(get(&case.open(&store), &whole, NcType::Byte).0, [0, 1, 2, 3, 4, 0]);
    // Half of an element counts with the bytes that it has.
    store.bytes.lock().unwrap().truncate(34);
    assert_eq!(get(&case.open(&store), &whole, NcType::Byte).0, [0, 1, 2, 3, 0, 0]);
    let empty = Bytes::new(vec![]);
    assert_eq!(get(&case.open(&empty), &whole, NcType::Byte).0, [0; 6]);
}

#[test]
fn a_store_that_delivers_less_than_it_has_is_an_error() {
    for short in [BeyondEnd::Zeros, BeyondEnd::Error] {
        let case = Case { short, ..Case::new(&[4], NcType::Int) };
        let store = Arc::new(Bytes { bytes: Mutex::new(vec![1; 32]), lazy: true, ..Bytes::default() });
        let error = get(&case.open(&store), &Slab::new(&[0], &[4]), NcType::Int).1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
}

#[test]
fn a_failing_store_is_reported() {
    let n = 400_000;
    for (threads, ty) in [(1, NcType::Int), (2, NcType::Int), (1, NcType::Double), (2, NcType::Short)] {
        let mut case = Case::new(&[0], NcType::Int).records(4);
        case.options.threads = threads;
        let store = ints(n);
        let array = case.open(&store);
        let bytes = vec![0; n as usize * ty.size().unwrap()];
        let slab = (&[0u64][..], &[n as u64][..]);
        let slab = Slab::new(slab.0, slab.1);
        for good in 1..4 {
            store.good.store(good, SeqCst);
            let error = put(&array, &slab, ty, &bytes).unwrap_err();
            assert!(error.kind() == ErrorKind::Io && error.to_string().contains("/v: "), "{error}");
            // A failed write does not grow the array.
            let none = get(&array, &Slab::new(&[0], &[1]), ty).1.unwrap_err();
            assert_eq!(none.kind(), ErrorKind::InvalCoords);
        }
        store.good.store(0, SeqCst);
        put(&array, &slab, ty, &bytes).unwrap();
        for good in 1..4 {
            store.good.store(good, SeqCst);
            let (found, result) = get(&array, &slab, ty);
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
            assert!(found.is_empty());
        }
    }
}

#[test]
fn sizes_are_checked() {
    let store: Arc<dyn ByteStore> = Bytes::new(vec![]);
    let kind = |case: Case| FlatArray::new(case.spec(store.clone())).map(drop).map_err(|error| error.kind());
    let case = Case::new;
    assert_eq!(kind(case(&[1 << 40, 1 << 23], NcType::Byte)), Err(ErrorKind::VarSize));
    assert_eq!(kind(case(&[1 << 40, 1 << 40], NcType::Byte)), Err(ErrorKind::VarSize));
    assert_eq!(kind(case(&[1 << 40, 1 << 40, 0], NcType::Byte)), Ok(()));
    assert_eq!(kind(case(&[1 << 40, (1 << 23) - 1], NcType::Byte)), Ok(()));
    assert_eq!(kind(Case { begin: u64::MAX, ..case(&[], NcType::Byte) }), Err(ErrorKind::VarSize));
    assert_eq!(kind(Case { begin: u64::MAX - 3, ..case(&[0], NcType::Int) }), Err(ErrorKind::VarSize));
    assert_eq!(kind(case(&[3, 3], NcType::Int).records(11)), Err(ErrorKind::Inval));
    assert_eq!(kind(case(&[3, 3], NcType::Int).records(13)), Ok(()));
    assert_eq!(kind(case(&[3, u64::MAX], NcType::Int).records(13)), Err(ErrorKind::VarSize));
    assert_eq!(kind(Case { unlimited: true, ..case(&[3], NcType::Int) }), Err(ErrorKind::Inval));
    assert_eq!(kind(Case { record: Some(4), ..case(&[], NcType::Int) }), Err(ErrorKind::Inval));
    assert_eq!(kind(case(&[1; 1025], NcType::Int)), Err(ErrorKind::MaxDims));
    assert_eq!(kind(case(&[1], NcType::String)), Err(ErrorKind::BadType));
    // The number of records is huge, so each access is checked.
    let array = FlatArray::new(case(&[0, 2], NcType::Int).records(1 << 40).spec(store.clone())).unwrap();
    let far = put(&array, &Slab::new(&[1 << 23, 0], &[1, 1]), NcType::Int, &[0; 4]).unwrap_err();
    assert_eq!(far.kind(), ErrorKind::VarSize);
    let far = put(&array, &Slab::new(&[u64::MAX - 1, 0], &[1, 1]), NcType::Int, &[0; 4]).unwrap_err();
    assert_eq!(far.kind(), ErrorKind::VarSize);
}

#[test]
fn invalid_calls_are_refused() {
    let case = Case::new(&[2, 3], NcType::Int);
    let store = ints(6);
    let array = case.open(&store);
    let kind = |start: &[u64], count: &[u64]| {
        get(&array, &Slab::new(start, count), NcType::Int).1.unwrap_err().kind()
    };
    assert_eq!(kind(&[0, 2], &[1, 2]), ErrorKind::Edge);
    assert_eq!(kind(&[3, 0], &[1, 1]), ErrorKind::InvalCoords);
    assert_eq!(kind(&[0], &[1]), ErrorKind::Inval);
    assert_eq!(kind(&[0, 0, 0], &[1, 1, 1]), ErrorKind::Inval);
    let two = Slab::new(&[0, 0], &[1, 2]);
    assert_eq!(put(&array, &two, NcType::Int, &[0; 4]).unwrap_err().kind(), ErrorKind::Inval);
    assert_eq!(put(&array, &two, NcType::Char, &[0; 2]).unwrap_err().kind(), ErrorKind::Char);
    assert_eq!(get(&array, &two, NcType::Char).1.unwrap_err().kind(), ErrorKind::Char);
    let strings =
        array.get(&array.check_read(&two).unwrap(), MemMut::Strings(&mut [NcString::new(), NcString::new()]));
    assert_eq!(strings.unwrap_err().kind(), ErrorKind::Char);
    let fixed = FlatArray::new(FlatSpec { writable: false, ..case.spec(store.clone()) }).unwrap();
    assert_eq!(put(&fixed, &two, NcType::Int, &[0; 8]).unwrap_err().kind(), ErrorKind::Perm);
    assert!(store.writes.lock().unwrap().is_empty());
    // A slab without elements makes no transfer.
    get(&array, &Slab::new(&[2, 3], &[0, 0]), NcType::Int).1.unwrap();
    put(&array, &Slab::new(&[2, 3], &[0, 0]), NcType::Int, &[]).unwrap();
    assert_eq!(store.reads.load(SeqCst), 0);
}

#[test]
fn a_transfer_can_be_watched_and_stopped() {
    #[derive(Debug)]
    struct Half(AtomicU64);
    impl Progress for Half {
        fn advance(&self, done: u64, total: u64) -> bool {
            self.0.store(total, SeqCst);
            done < total / 2
        }
    }
    let half = Arc::new(Half(AtomicU64::new(0)));
    let n = 400_000;
    let mut case = Case::new(&[n as u64], NcType::Int);
    case.options.progress = Some(half.clone());
    let array = case.open(&ints(n));
    for ty in [NcType::Int, NcType::Double] {
        let slab = (&[0u64][..], &[n as u64][..]);
        let (found, result) = get(&array, &Slab::new(slab.0, slab.1), ty);
        assert!(found.is_empty() && result.unwrap_err().to_string().contains("observer"));
        assert_eq!(half.0.load(SeqCst), n as u64 * ty.size().unwrap() as u64);
    }
}
