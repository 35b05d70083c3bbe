//! `is_absent` is true exactly for elements that were never written.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::ElementLayout;
use nczarr_dispatch::{MemRef, VarData};
use nczarr_model::{ErrorKind, NcString, NcType, Slab};

use crate::map::{ALL, Mem};
use crate::shards::plain;
use crate::support::{Setup, get_ints, put_ints};

#[test]
fn only_unstored_and_uncached_chunks_are_absent() {
    let map = Arc::new(Mem::new(ALL));
    let setup = Setup::new(&map, &[6, 6], &[2, 3], NcType::Int);
    let array = setup.open();
    let absent = |start: [u64; 2], count: [u64; 2]| {
        array.is_absent(&array.check_read(&Slab::new(&start, &count)).unwrap()).unwrap()
    };
    assert!(absent([0, 0], [6, 6]));
    assert!(absent([0, 0], [0, 6]), "nothing is always absent");
    // Written fill values are not absent, in the cache and later in storage.
    for _ in 0..2 {
        put_ints(&array, &[2, 0], &[1, 1], &[0]).unwrap();
        assert!(!absent([3, 2], [1, 1]) && !absent([0, 0], [6, 6]));
        assert!(absent([0, 0], [2, 6]) && absent([2, 3], [2, 3]) && absent([4, 0], [2, 6]));
        array.sync().unwrap();
    }
    // A read of an absent element does not make it present.
    get_ints(&array, &[0, 0], &[1, 1]).unwrap();
    assert!(absent([0, 0], [2, 3]));
    let strided = Slab { start: &[0, 0], count: &[2, 2], stride: Some(&[4, 3]) };
    assert!(array.is_absent(&array.check_read(&strided).unwrap()).unwrap());
    assert_eq!(array.check_read(&Slab::new(&[6, 0], &[1, 1])).unwrap_err().kind(), ErrorKind::InvalCoords);

    let mut text = Setup::new(&Arc::new(Mem::new(ALL)), &[4], &[2], NcType::Int);
    text.element = ElementLayout::Text { width: 3 };
    let text = text.open();
    text.put(&text.check_write(&Slab::new(&[0], &[1])).unwrap(), MemRef::Strings(&[NcString::new()]))
        .unwrap();
    assert!(
        !text.is_absent(&text.check_read(&Slab::new(&[1], &[1])).unwrap()).unwrap()
            && text.is_absent(&text.check_read(&Slab::new(&[2], &[2])).unwrap()).unwrap()
    );
}

#[test]
fn chunks_in_shards_are_not_read_to_find_them() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[4096], &[1024], NcType::Int);
    setup.shards = vec![plain(&[4], false)];
    let array = setup.open();
    put_ints(&array, &[1024], &[1024], &[7; 1024]).unwrap();
    array.flush().unwrap();
    let array = setup.open();
    let absent = |start: u64, count: u64| {
        array.is_absent(&array.check_read(&Slab::new(&[start], &[count])).unwrap()).unwrap()
    };
    map.read_bytes.store(0, SeqCst);
    assert!(absent(0, 1024) && !absent(1024, 1024) && absent(2048, 2048) && !absent(0, 4096));
    // Indexes of 64 bytes, and not the chunk of 4096.
    assert!(map.read_bytes.load(SeqCst) < 1024, "{} bytes were read", map.read_bytes.load(SeqCst));
}
