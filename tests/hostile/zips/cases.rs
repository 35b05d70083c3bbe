//! The damaged archives and the expected result of reading each.

use super::build::{Archive, End, End64, Header, Member, extra};

/// The expected result of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The reader returns all data of the dataset as written.
    Read,
    /// The reader refuses the archive or the member, or a chunk is missing.
    Refused,
    /// Both results are valid.
    Either,
}

use Expect::{Either, Read, Refused};

/// One archive.
pub struct Case {
    pub what: String,
    pub expect: Expect,
    pub bytes: Vec<u8>,
    /// Size in bytes of the largest valid member that a reader may read.
    pub declared: usize,
}

/// The chunks with false records, one of them compressed, and the document that defines the variable.
const CHUNK: &str = "v/0";
const PACKED: &str = "w/0";

/// The size limit for documents.
const DOCUMENT: usize = 64 << 20;

/// Names that no object may have, and names that look like paths or special files.
fn names() -> Vec<Vec<u8>> {
    let texts = [
        "../up",
        "../../outside/secret",
        "../outside/secret",
        "/outside",
        "/etc/passwd",
        "//x",
        "a/../b",
        "v/../../up",
        "a/./b",
        "./a",
        "a//b",
        "..",
        ".",
        "a/..",
        "a/.",
        "v/..",
        "nul\0byte",
        "a/\0",
        "line\nbreak",
        "carriage\rreturn",
        "tab\tname",
        "bell\u{7}",
        "escape\u{1b}[2J",
        "delete\u{7f}",
        "C:\\x",
        "C:/x",
        "C:x",
        "\\\\server\\share\\x",
        "..\\up",
        "a\\..\\..\\b",
        "\\x",
        "CON",
        "NUL",
        "aux.txt",
        "COM1",
        "a/LPT1/b",
        "stream:x",
        "trailing.",
        "trailing ",
        " leading",
        "%2e%2e/x",
        "..%2fup",
        "~root/x",
        "$(touch escaped)",
        "`touch escaped`",
        "; touch escaped",
        "\u{202e}gpj",
        "\u{feff}bom",
        "e\u{301}",
        "\u{1f600}",
        ".nczarr-lock",
        ".nczarr-tmp-1-1",
        "a/.nczarr-lock",
        "__MACOSX/._v",
        "-rf",
        "*",
        "?",
        "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z",
    ];
    let mut names: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    names.extend([
        vec![0xff, 0xfe],
        b"v\xc0\xae\xc0\xae\xc0\xafx".to_vec(),
        b"\xc0\xae\xc0\xae/x".to_vec(),
        b"\xed\xa0\x80".to_vec(),
        b"a\x80b/c".to_vec(),
        b"x".repeat(300),
        b"x/".repeat(30_000),
        b"y".repeat(65_535),
        b"../".repeat(1000),
        Vec::new(),
    ]);
    names
}

/// All cases. The dataset has the variables `v` and `w` with the same values.
pub fn all(objects: &[(String, Vec<u8>)]) -> Vec<Case> {
    let base = || {
        let mut archive = Archive::of(objects);
        let packed = archive.member(PACKED);
        *packed = packed.clone().deflated();
        archive
    };
    let mut cases =
        vec![Case { what: "nothing wrong".to_owned(), expect: Read, bytes: base().bytes(), declared: 0 }];
    let mut add = |what: String, expect: Expect, change: &dyn Fn(&mut Archive)| {
        let mut archive = base();
        change(&mut archive);
        let sound = |member: &&Member| member.central.size.is_none() && member.method != 0;
        let declared =
            archive.members.iter().filter(sound).map(|member| member.size as usize).max().unwrap_or(0);
        cases.push(Case { what, expect, bytes: archive.bytes(), declared: declared.min(DOCUMENT) });
    };
    for name in names() {
        let shown: String = String::from_utf8_lossy(&name).chars().take(40).collect();
        for (flags, deflated) in [(0, false), (1 << 11, true)] {
            add(format!("a member {shown:?}, flags {flags}"), Read, &|archive| {
                let mut member = Member::new(&name, b"escaped");
                if deflated {
                    member = member.deflated();
                }
                (member.local.flags, member.central.flags) = (Some(flags), Some(flags));
                archive.members.insert(0, member);
            });
        }
        add(format!("the chunk is {shown:?} in its own record"), Either, &|archive| {
            archive.member(CHUNK).local.name = Some(name.clone());
        });
    }
    records(&mut add);
    ends(&mut add);
    zip64(&mut add);
    members(&mut add);
    surroundings(&mut add, &base().bytes());
    cases
}

/// The name of a field and the function that sets it.
type Field<R, V> = (&'static str, fn(&mut R, V));

type Add<'a> = dyn FnMut(String, Expect, &dyn Fn(&mut Archive)) + 'a;

/// False values in every field of both records of a member.
fn records(add: &mut Add<'_>) {
    let halves: [Field<Header, u16>; 9] = [
        ("version", |header, value| header.version = Some(value)),
        ("flags", |header, value| header.flags = Some(value)),
        ("method", |header, value| header.method = Some(value)),
        ("length of the name", |header, value| header.name_len = Some(value)),
        ("length of extra fields", |header, value| header.extra_len = Some(value)),
        ("length of the comment", |header, value| header.comment_len = Some(value)),
        ("disk", |header, value| header.disk = Some(value)),
        ("made by", |header, value| header.made_by = Some(value)),
        ("external", |header, value| header.external = Some(u32::from(value) << 16)),
    ];
    let words: [Field<Header, u32>; 4] = [
        ("checksum", |header, value| header.crc = Some(value)),
        ("stored size", |header, value| header.packed = Some(value)),
        ("size", |header, value| header.size = Some(value)),
        ("place", |header, value| header.at = Some(value)),
    ];
    let own: fn(&mut Member) -> &mut Header = |member| &mut member.local;
    let listed: fn(&mut Member) -> &mut Header = |member| &mut member.central;
    for (record, header, fields) in [("its own record", own, 5), ("the directory", listed, halves.len())] {
        for name in [CHUNK, PACKED] {
            for (field, set) in &halves[..fields] {
                for value in [0, 1, 0x7fff, 0xffff] {
                    add(format!("{name}: {field} {value} in {record}"), Either, &|archive| {
                        set(header(archive.member(name)), value);
                    });
                }
            }
            for (field, set) in &words[..fields.min(4)] {
                for value in [0, 1, 15, 17, 0x7fff_ffff, u32::MAX] {
                    add(format!("{name}: {field} {value} in {record}"), Either, &|archive| {
                        set(header(archive.member(name)), value);
                    });
                }
            }
        }
    }
    for name in [CHUNK, PACKED] {
        add(format!("{name}: another checksum"), Refused, &|archive| {
            let member = archive.member(name);
            (member.local.crc, member.central.crc) = (Some(7), Some(7));
        });
        for size in [0, 15, 17, 1 << 20, 0x7fff_fff0] {
            add(format!("{name}: both records say {size} bytes"), Refused, &|archive| {
                let member = archive.member(name);
                for header in [&mut member.local, &mut member.central] {
                    header.size = Some(size);
                    if name == CHUNK {
                        header.packed = Some(size);
                    }
                }
            });
        }
    }
}

/// False values in every field of the end record.
fn ends(add: &mut Add<'_>) {
    let halves: [Field<End, u16>; 5] = [
        ("disk", |end, value| end.disk = Some(value)),
        ("disk of the directory", |end, value| end.first_disk = Some(value)),
        ("members on this disk", |end, value| end.count_here = Some(value)),
        ("members", |end, value| end.count = Some(value)),
        ("length of the comment", |end, value| end.comment_len = Some(value)),
    ];
    let words: [Field<End, u32>; 2] = [
        ("length of the directory", |end, value| end.len = Some(value)),
        ("its place", |end, value| end.at = Some(value)),
    ];
    for (field, set) in halves {
        for value in [0, 1, 2, 0x7fff, 0xffff] {
            add(format!("the end: {field} {value}"), Either, &|archive| set(&mut archive.end, value));
        }
    }
    for (field, set) in words {
        for value in [0, 1, 46, 0x7fff_ffff, u32::MAX] {
            add(format!("the end: {field} {value}"), Either, &|archive| set(&mut archive.end, value));
        }
    }
    add("several disks".to_owned(), Either, &|archive| {
        (archive.end.disk, archive.end.first_disk) = (Some(3), Some(1));
        archive.members.iter_mut().for_each(|member| member.central.disk = Some(2));
    });
    for (what, comment) in [
        ("a comment", b"hello".to_vec()),
        ("a comment of the greatest length", vec![b'x'; 65_535]),
        ("a comment that looks like an end", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        ("a comment that looks like a member", b"PK\x03\x04PK\x01\x02PK\x06\x06PK\x06\x07".to_vec()),
    ] {
        add(what.to_owned(), Either, &|archive| archive.end.comment = comment.clone());
    }
}

/// False values in every zip64 field and in the extra fields of members.
fn zip64(add: &mut Add<'_>) {
    add("zip64 without need".to_owned(), Read, &|archive| archive.end_64 = Some(End64::default()));
    let longs: [Field<End64, u64>; 6] = [
        ("length of the record", |end, value| end.record_len = Some(value)),
        ("members on this disk", |end, value| end.count_here = Some(value)),
        ("members", |end, value| end.count = Some(value)),
        ("length of the directory", |end, value| end.len = Some(value)),
        ("its place", |end, value| end.at = Some(value)),
        ("place of the record", |end, value| end.locator_at = Some(value)),
    ];
    let words: [Field<End64, u32>; 4] = [
        ("disk", |end, value| end.disk = Some(value)),
        ("disk of the directory", |end, value| end.first_disk = Some(value)),
        ("disk of the record", |end, value| end.locator_disk = Some(value)),
        ("disks", |end, value| end.disks = Some(value)),
    ];
    for needed in [false, true] {
        let start = move |archive: &mut Archive| {
            if needed {
                let end = &mut archive.end;
                (end.count, end.count_here, end.len, end.at) =
                    (Some(0xffff), Some(0xffff), Some(u32::MAX), Some(u32::MAX));
            }
            archive.end_64 = Some(End64::default());
        };
        for (field, set) in longs {
            for value in [0, 1, 0x7fff_ffff, i64::MAX as u64, u64::MAX] {
                add(format!("zip64, needed: {needed}: {field} {value}"), Either, &|archive| {
                    start(archive);
                    archive.end_64.iter_mut().for_each(|end| set(end, value));
                });
            }
        }
        for (field, set) in words {
            for value in [1, u32::MAX] {
                add(format!("zip64, needed: {needed}: {field} {value}"), Either, &|archive| {
                    start(archive);
                    archive.end_64.iter_mut().for_each(|end| set(end, value));
                });
            }
        }
    }
    add("zip64 is said to be there and is not".to_owned(), Refused, &|archive| {
        (archive.end.count, archive.end.len, archive.end.at) = (Some(0xffff), Some(u32::MAX), Some(u32::MAX));
    });
    add("something between the records of zip64".to_owned(), Either, &|archive| {
        archive.end_64 = Some(End64 { between: vec![7; 50], ..End64::default() });
    });
    let fields: [(&str, Vec<u8>); 9] = [
        ("nothing", Vec::new()),
        ("an empty one", extra(1, &[])),
        ("one number", extra(1, &[16])),
        ("lengths as they are", extra(1, &[16, 16])),
        ("the greatest lengths", extra(1, &[u64::MAX, u64::MAX])),
        ("lengths that overflow", extra(1, &[1 << 63, 1 << 63, 1 << 63])),
        ("two of them", [extra(1, &[16, 16]), extra(1, &[999, 999])].concat()),
        ("one longer than there is room", vec![1, 0, 0xff, 0xff, 1, 2, 3]),
        ("half a head", vec![1, 0, 8]),
    ];
    for (what, field) in fields {
        for (size, at) in [(Some(u32::MAX), None), (None, Some(u32::MAX)), (Some(u32::MAX), Some(u32::MAX))] {
            add(
                format!("zip64 field of a member: {what}, size {size:?}, place {at:?}"),
                Either,
                &|archive| {
                    let member = archive.member(CHUNK);
                    member.central.extra = field.clone();
                    (member.central.size, member.central.packed, member.central.at) = (size, size, at);
                },
            );
        }
    }
}

/// Members that are not objects.
fn members(add: &mut Add<'_>) {
    for (bit, what) in [(0, "encrypted"), (6, "strongly encrypted"), (13, "masked"), (5, "patched")] {
        for name in [CHUNK, PACKED] {
            let expect = if bit == 0 { Refused } else { Either };
            add(format!("{name}: {what}"), expect, &|archive| {
                let member = archive.member(name);
                (member.local.flags, member.central.flags) = (Some(1 << bit | 1), Some(1 << bit | 1));
                if bit == 5 {
                    (member.local.flags, member.central.flags) = (Some(1 << 5), Some(1 << 5));
                }
            });
        }
    }
    for method in [1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 14, 16, 18, 19, 20, 93, 94, 95, 96, 97, 98, 99, 0xffff] {
        add(format!("method {method}"), Refused, &|archive| {
            let member = archive.member(CHUNK);
            (member.local.method, member.central.method) = (Some(method), Some(method));
        });
    }
    for target in ["../outside/secret", "/etc/passwd", "..", "v/.zarray", ""] {
        add(format!("a link to {target:?}"), Refused, &|archive| {
            let member = archive.member(CHUNK);
            *member = Member::new(CHUNK, target);
            member.central.external = Some(0o120_777 << 16);
        });
    }
    for (what, mode) in
        [("a fifo", 0o010_644), ("a device", 0o060_644), ("a socket", 0o140_644), ("a folder", 0o040_755u32)]
    {
        add(format!("the chunk has the mode of {what}"), Either, &|archive| {
            archive.member(CHUNK).central.external = Some(mode << 16);
        });
    }
    // Folder members.
    for (name, data, expect) in [
        ("v/", &b""[..], Read),
        ("v/", b"bytes of a folder", Read),
        ("v/0/", b"", Read),
        ("v", b"", Read),
        ("v", b"bytes of a prefix", Refused),
        ("v/0/x", b"below the chunk", Refused),
        ("v/.zarray/x", b"below a document", Refused),
    ] {
        add(format!("a member {name:?} of {} bytes", data.len()), expect, &|archive| {
            archive.members.push(Member::new(name, data));
        });
    }
    // Two members with the same name.
    for (what, first) in [("before", true), ("behind", false)] {
        for name in [CHUNK, "v/.zarray", ".zgroup"] {
            for data in [&b""[..], b"another"] {
                add(
                    format!("{name}: {} bytes {what} it under the same name", data.len()),
                    Either,
                    &|archive| {
                        let place = if first { 0 } else { archive.members.len() };
                        archive.members.insert(place, Member::new(name, data));
                    },
                );
            }
        }
    }
    // Overlapping members.
    for name in [CHUNK, PACKED] {
        for (what, at) in
            [("the first member", 0), ("one byte into the first member", 1), ("thirty bytes into it", 30)]
        {
            add(format!("{name} lies at {what}"), Either, &|archive| {
                archive.member(name).central.at = Some(at)
            });
        }
        add(format!("{name} has no bytes of its own"), Either, &|archive| archive.member(name).there = false);
        add(format!("{name} is not listed"), Either, &|archive| archive.member(name).listed = false);
        add(format!("{name} reaches into what comes behind"), Refused, &|archive| {
            archive.member(name).central.packed = Some(5000);
            archive.member(name).local.packed = Some(5000);
        });
        add(format!("the bytes of {name} are those of another member"), Either, &|archive| {
            let mut other = archive.member(name).clone();
            other.name = b"other".to_vec();
            other.there = false;
            archive.members.push(other);
        });
    }
    add("a thousand names for the same bytes".to_owned(), Either, &|archive| {
        for i in 0..1000 {
            let mut other = archive.member(PACKED).clone();
            (other.name, other.there) = (format!("many/{i}").into_bytes(), false);
            other.central.at = Some(0);
            archive.members.push(other);
        }
    });
    // Data descriptors.
    let mut good = b"PK\x07\x08".to_vec();
    for (what, descriptor, expect) in [
        ("no", Vec::new(), Either),
        ("a short", vec![1, 2, 3], Either),
        (
            "a wrong",
            {
                good.extend_from_slice(&[9; 12]);
                good.clone()
            },
            Either,
        ),
        ("a long", vec![0; 24], Either),
    ] {
        for name in [CHUNK, PACKED] {
            add(format!("{name}: {what} descriptor"), expect, &|archive| {
                let member = archive.member(name);
                member.local = Header {
                    flags: Some(8),
                    crc: Some(0),
                    packed: Some(0),
                    size: Some(0),
                    ..Header::default()
                };
                member.central.flags = Some(8);
                member.descriptor.clone_from(&descriptor);
            });
        }
    }
    bombs(add);
}

/// Small members that unpack to many bytes.
fn bombs(add: &mut Add<'_>) {
    let zeros = vec![0; 24 << 20];
    let bomb = Member::new(CHUNK, &zeros).deflated();
    for (what, size) in
        [("as large as it is", None), ("16", Some(16)), ("0", Some(0)), ("2 GiB", Some(i32::MAX as u32))]
    {
        for name in [CHUNK, "v/.zarray", ".zgroup"] {
            add(format!("{name}: a bomb that says it is {what} bytes"), Refused, &|archive| {
                let mut bomb = bomb.clone();
                bomb.name = name.as_bytes().to_vec();
                (bomb.local.size, bomb.central.size) = (size, size);
                *archive.member(name) = bomb;
            });
        }
    }
    let great = Member::new(".zgroup", vec![b' '; 100 << 20]).deflated();
    add("a document larger than documents may be".to_owned(), Refused, &|archive| {
        *archive.member(".zgroup") = great.clone();
    });
    add("a hundred bombs in unread members".to_owned(), Read, &|archive| {
        for i in 0..100 {
            let mut bomb = bomb.clone();
            bomb.name = format!("bomb/{i}").into_bytes();
            archive.members.push(bomb);
        }
    });
}

/// Extra bytes around an archive, and archives with missing parts.
fn surroundings(add: &mut Add<'_>, whole: &[u8]) {
    for (what, bytes) in [
        ("bytes", vec![7; 1000]),
        ("a script", b"#!/bin/sh\nexit\n".to_vec()),
        ("another archive", whole.to_vec()),
        ("a magic number", b"PK\x03\x04".to_vec()),
        ("an end", b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
    ] {
        add(format!("{what} before it"), Either, &|archive| archive.before = bytes.clone());
        add(format!("{what} behind it"), Either, &|archive| archive.after = bytes.clone());
        add(format!("{what} before the directory"), Either, &|archive| archive.gap = bytes.clone());
    }
    add("nothing but an end".to_owned(), Refused, &|archive| archive.members.clear());
    for part in 0..20 {
        let len = whole.len() * part / 20;
        add(format!("the first {len} bytes"), Refused, &|archive| archive.cut = Some(len));
    }
    for less in [1, 2, 3, 21, 22, 23, 40] {
        add(format!("all but the last {less} bytes"), Refused, &|archive| {
            archive.cut = Some(whole.len() - less)
        });
    }
}
