//! Builds archives with any wrong field. [`Archive::bytes`] writes the given fields unchanged.
//!
//! Source: the ZIP file format specification (APPNOTE 6.3).

/// The fields of both records of a member; `None` stands for the correct value.
#[derive(Debug, Clone, Default)]
pub struct Header {
    pub version: Option<u16>,
    pub flags: Option<u16>,
    pub method: Option<u16>,
    pub crc: Option<u32>,
    pub packed: Option<u32>,
    pub size: Option<u32>,
    pub name_len: Option<u16>,
    pub extra_len: Option<u16>,
    pub name: Option<Vec<u8>>,
    pub extra: Vec<u8>,
    // Only the directory record has these fields.
    pub comment_len: Option<u16>,
    pub disk: Option<u16>,
    pub made_by: Option<u16>,
    pub external: Option<u32>,
    pub at: Option<u32>,
}

/// A member: its stored bytes, and its records.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    /// Declared unpacked size, checksum and method, unless the records override them.
    pub size: u32,
    pub crc: u32,
    pub method: u16,
    pub local: Header,
    pub central: Header,
    /// The bytes after the member.
    pub descriptor: Vec<u8>,
    /// Whether the directory lists the member, and whether the archive contains it.
    pub listed: bool,
    pub there: bool,
}

impl Member {
    pub fn new(name: impl AsRef<[u8]>, data: impl AsRef<[u8]>) -> Self {
        let data = data.as_ref().to_vec();
        let mut crc = flate2::Crc::new();
        crc.update(&data);
        Self {
            name: name.as_ref().to_vec(),
            size: data.len() as u32,
            crc: crc.sum(),
            method: 0,
            data,
            local: Header::default(),
            central: Header::default(),
            descriptor: Vec::new(),
            listed: true,
            there: true,
        }
    }

    /// Returns the same member, compressed.
    pub fn deflated(mut self) -> Self {
        use std::io::Write as _;
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        self.data = encoder.write_all(&self.data).and_then(|()| encoder.finish()).expect("memory");
        self.method = 8;
        self
    }
}

/// The end record of the directory; `None` stands for the correct value.
#[derive(Debug, Clone, Default)]
pub struct End {
    pub disk: Option<u16>,
    pub first_disk: Option<u16>,
    pub count_here: Option<u16>,
    pub count: Option<u16>,
    pub len: Option<u32>,
    pub at: Option<u32>,
    pub comment_len: Option<u16>,
    pub comment: Vec<u8>,
}

/// The end record of a zip64 directory and its locator.
#[derive(Debug, Clone, Default)]
pub struct End64 {
    pub record_len: Option<u64>,
    pub disk: Option<u32>,
    pub first_disk: Option<u32>,
    pub count_here: Option<u64>,
    pub count: Option<u64>,
    pub len: Option<u64>,
    pub at: Option<u64>,
    pub locator_disk: Option<u32>,
    pub locator_at: Option<u64>,
    pub disks: Option<u32>,
    /// The bytes between the record and its locator.
    pub between: Vec<u8>,
}

/// An archive.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    pub before: Vec<u8>,
    pub members: Vec<Member>,
    /// The bytes between the members and the directory.
    pub gap: Vec<u8>,
    pub end_64: Option<End64>,
    pub end: End,
    pub after: Vec<u8>,
    /// The length to which the archive is cut.
    pub cut: Option<usize>,
}

struct Out(Vec<u8>);

impl Out {
    fn half(&mut self, value: u16) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn word(&mut self, value: u32) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn long(&mut self, value: u64) -> &mut Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends the fields that both records share.
    fn common(&mut self, member: &Member, header: &Header) -> &mut Self {
        let name = header.name.as_ref().unwrap_or(&member.name);
        self.half(header.version.unwrap_or(20)).half(header.flags.unwrap_or(0));
        self.half(header.method.unwrap_or(member.method)).half(0).half(33);
        self.word(header.crc.unwrap_or(member.crc));
        self.word(header.packed.unwrap_or(member.data.len() as u32)).word(header.size.unwrap_or(member.size));
        self.half(header.name_len.unwrap_or(name.len() as u16));
        self.half(header.extra_len.unwrap_or(header.extra.len() as u16))
    }
}

/// One extra field.
pub fn extra(id: u16, values: &[u64]) -> Vec<u8> {
    let mut out = Out(Vec::new());
    out.half(id).half((values.len() * 8) as u16);
    for &value in values {
        out.long(value);
    }
    out.0
}

impl Archive {
    /// Makes a valid archive of these objects.
    pub fn of(objects: &[(String, Vec<u8>)]) -> Self {
        Self {
            members: objects.iter().map(|(name, data)| Member::new(name, data)).collect(),
            ..Self::default()
        }
    }

    /// Returns the member of this name.
    pub fn member(&mut self, name: &str) -> &mut Member {
        self.members.iter_mut().find(|member| member.name == name.as_bytes()).expect("a member of the store")
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Out(self.before.clone());
        let mut places = Vec::new();
        for member in &self.members {
            places.push(out.0.len());
            if member.there {
                let name = member.local.name.as_ref().unwrap_or(&member.name);
                out.bytes(b"PK\x03\x04").common(member, &member.local).bytes(name).bytes(&member.local.extra);
                out.bytes(&member.data).bytes(&member.descriptor);
            }
        }
        out.bytes(&self.gap);
        let start = out.0.len();
        let mut count = 0;
        for (member, place) in self.members.iter().zip(places).filter(|(member, _)| member.listed) {
            let header = &member.central;
            out.bytes(b"PK\x01\x02").half(header.made_by.unwrap_or(3 << 8 | 20)).common(member, header);
            out.half(header.comment_len.unwrap_or(0)).half(header.disk.unwrap_or(0)).half(0);
            out.word(header.external.unwrap_or(0o100_644 << 16)).word(header.at.unwrap_or(place as u32));
            out.bytes(header.name.as_ref().unwrap_or(&member.name)).bytes(&header.extra);
            count += 1;
        }
        let len = out.0.len() - start;
        if let Some(end) = &self.end_64 {
            let at = out.0.len() as u64;
            out.bytes(b"PK\x06\x06").long(end.record_len.unwrap_or(44)).half(45).half(45);
            out.word(end.disk.unwrap_or(0)).word(end.first_disk.unwrap_or(0));
            out.long(end.count_here.unwrap_or(count)).long(end.count.unwrap_or(count));
            out.long(end.len.unwrap_or(len as u64)).long(end.at.unwrap_or(start as u64)).bytes(&end.between);
            out.bytes(b"PK\x06\x07").word(end.locator_disk.unwrap_or(0)).long(end.locator_at.unwrap_or(at));
            out.word(end.disks.unwrap_or(1));
        }
        let end = &self.end;
        out.bytes(b"PK\x05\x06").half(end.disk.unwrap_or(0)).half(end.first_disk.unwrap_or(0));
        out.half(end.count_here.unwrap_or(count as u16)).half(end.count.unwrap_or(count as u16));
        out.word(end.len.unwrap_or(len as u32)).word(end.at.unwrap_or(start as u32));
        out.half(end.comment_len.unwrap_or(end.comment.len() as u16)).bytes(&end.comment).bytes(&self.after);
        out.0.truncate(self.cut.unwrap_or(usize::MAX));
        out.0
    }
}
