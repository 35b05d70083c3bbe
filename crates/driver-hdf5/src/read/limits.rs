//! Limits on work that a small damaged file can cause, and damage that must not be hidden.

use std::sync::Arc;

use nczarr_model::{ErrorKind, NcType, Values};

use super::datatype::{CompoundMember, Datatype, DatatypeClass};
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::header::{ObjectHeader, message_type};
use super::local_heap::LocalHeap;
use super::messages;
use super::shared_messages;
use super::values;

fn file(bytes: Vec<u8>) -> HdfFile {
    HdfFile::new(Arc::new(FileBytes::Memory(bytes.into()))).unwrap()
}

/// Makes a local heap that is one long name.
fn heap(len: usize) -> Vec<u8> {
    let mut bytes =
        [&b"HEAP\0\0\0\0"[..], &(len as u64 + 1).to_le_bytes(), &[0xff; 8], &32u64.to_le_bytes()].concat();
    bytes.resize(32 + len, b'a');
    bytes.push(0);
    bytes
}

#[test]
fn repeated_reads_of_one_name_are_limited() {
    let file = file(heap(1 << 20));
    let heap = LocalHeap::read(&file, 0).unwrap();
    let read = (0..65_535).map_while(|_| heap.text(&file, 0).ok()).count();
    assert!((8..200).contains(&read), "{read} names of a megabyte");
    let error = heap.text(&file, 0).unwrap_err();
    assert!(error.kind() == ErrorKind::HdfErr && error.to_string().contains("more metadata than"), "{error}");
}

/// Makes an object header of version 1 with one message.
fn header(kind: u8, flags: u8, body: &[u8]) -> Vec<u8> {
    let len = body.len() as u8;
    let head = [1, 0, 1, 0, 1, 0, 0, 0, 8 + len, 0, 0, 0, 0, 0, 0, 0];
    [&head[..], &[kind, 0, len, 0, flags, 0, 0, 0], body].concat()
}

#[test]
fn shared_fill_values_are_errors_and_not_absent() {
    // Version 2; late allocation, fill if set, value defined; 4 bytes.
    let own = [2, 2, 2, 1, 4, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    let file = file(header(5, 0, &own));
    assert_eq!(
        messages::fill(&file, &ObjectHeader::read(&file, 0).unwrap()).unwrap().value,
        Some(vec![7, 0, 0, 0])
    );
    for kind in [4, 5] {
        let file = super::limits::file(header(kind, 2, &[3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        let error = messages::fill(&file, &ObjectHeader::read(&file, 0).unwrap()).unwrap_err();
        assert!(error.to_string().contains("the table of shared messages has no index for type"), "{error}");
    }
    let file = super::limits::file(header(11, 2, &[1, 0, 0, 0, 0, 0, 0, 0]));
    let header = ObjectHeader::read(&file, 0).unwrap();
    messages::pipeline(&file, header.find(11).unwrap()).unwrap_err();
}

/// Makes a fractal heap at the start of a file. Its one block holds `len` bytes from offset 19 on. Returns
/// also their id.
fn shared_heap(len: u16) -> (Vec<u8>, [u8; 8]) {
    let (none, block, size) = ([0xff; 8], 512_u64, 64_u64 << 10);
    let head = [
        &b"FRHP\0"[..],
        // Length of ids and filters; flags; largest managed object.
        &[8, 0, 0, 0, 0],
        &u32::from(u16::MAX).to_le_bytes(),
        &[0; 8],
        &none,
        &[0; 8],
        &none,
        &[0; 64],
        // Width, first block size, largest block size, bits of an offset.
        &4_u16.to_le_bytes(),
        &size.to_le_bytes(),
        &size.to_le_bytes(),
        &[32, 0, 0, 0],
        &block.to_le_bytes(),
        &[0, 0],
    ]
    .concat();
    let mut bytes = [&head[..], &crate::lookup3::lookup3(&head).to_le_bytes()].concat();
    bytes.resize(block as usize, 0);
    bytes.extend([&b"FHDB\0"[..], &[0; 12]].concat());
    bytes.resize((block + size) as usize, 7);
    let mut id = [0, 19, 0, 0, 0, 0, 0, 0];
    id[5..7].copy_from_slice(&len.to_le_bytes());
    (bytes, id)
}

#[test]
fn a_large_message_may_be_shared_by_many() {
    let (bytes, id) = shared_heap(60_000);
    let mut file = file(bytes);
    file.shared.indexes = vec![(1 << message_type::DATATYPE, 0)];
    let given =
        (0..100_000).map_while(|_| shared_messages::object(&file, message_type::DATATYPE, &id).ok()).count();
    assert!((1000..1200).contains(&given), "{given} times 60 kB");
    let error = shared_messages::object(&file, message_type::DATATYPE, &id).unwrap_err();
    assert!(
        error.kind() == ErrorKind::HdfErr && error.to_string().contains("shared messages: more than"),
        "{error}"
    );
    // The message was read once.
    file.spend(32 << 20).unwrap();
}

#[test]
fn old_fill_values_are_shared_among_the_new_ones() {
    let (bytes, id) = shared_heap(8);
    let mut file = file(bytes);
    file.shared.indexes = vec![(1 << message_type::FILL, 0)];
    for kind in [message_type::OLD_FILL, message_type::FILL] {
        assert_eq!(*shared_messages::object(&file, kind, &id).unwrap(), [7; 8]);
    }
    file.shared.indexes = vec![(1 << message_type::OLD_FILL, 0)];
    shared_messages::object(&file, message_type::OLD_FILL, &id).unwrap_err();
}

#[test]
fn a_header_continuation_that_loops_is_an_error() {
    // The continuation is the header's own messages.
    let file = file(header(16, 0, &[16, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0]));
    let error = ObjectHeader::read(&file, 0).unwrap_err();
    assert!(error.to_string().contains("again"), "{error}");
}

fn number(size: u32) -> Datatype {
    let big_endian = cfg!(target_endian = "little");
    let class = DatatypeClass::Integer { signed: true, big_endian, precision: 8 * size as u16, offset: 0 };
    Datatype { size, class, named: None, complex: false }
}

fn array(base: Datatype, count: u32) -> Datatype {
    let class = DatatypeClass::Array { shape: vec![count], base: Box::new(base.clone()) };
    Datatype { size: base.size * count, class, named: None, complex: false }
}

#[test]
fn numbers_of_arrays_in_compounds_in_arrays_are_turned() {
    let member = |name: &str, offset, ty| CompoundMember { name: name.to_owned(), offset, ty };
    // A byte of padding, a pair of pairs, a number.
    let members = vec![member("a", 1, array(array(number(2), 2), 2)), member("b", 9, number(4))];
    let compound =
        Datatype { size: 14, class: DatatypeClass::Compound(members), named: None, complex: false };
    let mut bytes: Vec<u8> = (0..56).collect();
    values::to_native(&array(compound, 2), &mut bytes);
    let expected: Vec<u8> = [0, 14, 28, 42]
        .iter()
        .flat_map(|at| [0, 2, 1, 4, 3, 6, 5, 8, 7, 12, 11, 10, 9, 13].map(|i| at + i))
        .collect();
    assert_eq!(bytes, expected);
}

#[test]
fn an_empty_array_takes_no_memory() {
    // A list of all numbers would have 2^29 entries.
    let ty = array(array(number(2), 1 << 14), 1 << 15);
    assert_eq!(values::numbers(&ty, NcType::Short, &[]), Some(Values::Short(Vec::new())));
}
