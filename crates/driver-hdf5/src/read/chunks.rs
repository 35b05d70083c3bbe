//! [`ChunkObjects`]: the chunks of a dataset as a map of objects.
//!
//! A key ends with the address, length and filter mask of its chunk. In a remote file, several chunks are
//! read at once. Bytes that a prefetch already requested are not requested again.

use std::sync::Arc;

use nczarr_chunkio::{ByteStore as _, ChunkStore, ObjectForm};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::batch::{
    FetchReply, FetchRequest, InFlightLimits, Ranges, ReadJob, read_overlapped, read_parallel,
};
use nczarr_storage::{ByteRange, Key, MapCaps, ObjectInfo, ReadOptions, ZMap};

use super::chunk_parts;
use super::cursor::UNDEFINED;
use super::file::HdfFile;
use super::file_bytes::FileBytes;
use super::index::{ChunkTable, IndexedChunk, LazyChunkIndex};
use super::messages::DataLayout;

/// Limits of concurrent requests to a remote file.
const AT_ONCE: InFlightLimits = InFlightLimits { requests: 64, bytes: 256 << 20 };

/// Finds the address of a chunk.
#[derive(Debug)]
pub(crate) enum ChunkLookup {
    /// The whole index was read.
    All(ChunkTable),
    /// The index is read as chunks are needed.
    Wanted(Arc<LazyChunkIndex>),
}

impl ChunkLookup {
    /// # Errors
    /// As [`LazyChunkIndex::find`].
    fn find(&self, index: &[u64]) -> Result<Option<IndexedChunk>> {
        match self {
            Self::All(table) => Ok(table.find(index).copied()),
            Self::Wanted(known) => known.find(index),
        }
    }
}

/// The chunks of one dataset.
#[derive(Debug)]
pub(crate) struct ChunkObjects {
    file: Arc<HdfFile>,
    places: ChunkLookup,
    /// Whether each chunk begins with its filter mask ([`super::masked_pipeline`]).
    masked: bool,
    /// Whether the dataset is chunked. One without data is shown in chunks that do not exist.
    chunked: bool,
}

impl ChunkObjects {
    /// Returns the chunks of a dataset with this layout.
    pub(crate) fn new(file: Arc<HdfFile>, layout: &DataLayout, places: ChunkLookup, masked: bool) -> Self {
        let chunked = matches!(layout, DataLayout::Chunked { .. });
        Self { file, places, masked, chunked }
    }

    /// Parses the address, length and filter mask of a chunk from its key.
    fn find(key: &Key) -> Option<(u64, u64, u32)> {
        let mut numbers = key.name().split('+');
        let (address, len, skipped) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some((address.parse().ok()?, len.parse().ok()?, skipped.parse().ok()?))
    }

    fn read_part(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let Some((address, len, skipped)) = Self::find(key) else { return Ok(false) };
        let head = if self.masked { 4 } else { 0 };
        let end = range.offset.saturating_add(range.len.unwrap_or(u64::MAX)).min(len + head);
        if range.offset >= end {
            return Ok(true);
        }
        let bits = skipped.to_le_bytes();
        if range.offset < head {
            out.extend_from_slice(&bits[range.offset as usize..end.min(head) as usize]);
        }
        let (from, to) = (range.offset.max(head) - head, end.max(head) - head);
        let start = self.file.place(address, len)?;
        let wanted = usize::try_from(to - from)
            .map_err(|_| ErrorKind::NoMem.context(format!("{key}: {len} bytes")))?;
        let before = out.len();
        out.try_reserve(wanted)
            .map_err(|error| ErrorKind::NoMem.context(format!("{key}: {len} bytes")).caused_by(error))?;
        out.resize(before + wanted, 0);
        let mut buf = OutBuf::from_slice(&mut out[before..]);
        self.file.store.read_at(start + from, &mut buf)?;
        match buf.remaining() {
            0 => Ok(true),
            left => {
                Err(ErrorKind::Trunc
                    .context(format!("{key}: the file is cut short ({left} bytes are missing)")))
            }
        }
    }

    /// Starts to read the requested bytes of a chunk of a remote file.
    fn begin(&self, wanted: FetchRequest, reply: FetchReply) {
        let FileBytes::Remote(source, ahead) = &*self.file.store else {
            return reply.send(Err(ErrorKind::Internal.context("a local file")));
        };
        let place = Self::find(&wanted.key)
            .map(|(address, len, skipped)| self.file.place(address, len).map(|start| (start, len, skipped)));
        let head = if self.masked { 4 } else { 0 };
        // A prefetch already requested these bytes.
        let is_coming =
            matches!(&place, Some(Ok((start, len, _))) if ahead.is_requested(*start..start + len));
        let range = match (&wanted.ranges, place) {
            (_, None) => return reply.send(Ok(None)),
            (_, Some(Err(error))) => return reply.send(Err(error)),
            (Ranges::All, Some(Ok((start, len, skipped))))
                if len + head <= wanted.limit as u64 && !is_coming =>
            {
                let bits = skipped.to_le_bytes();
                let head = bits[..head as usize].to_vec();
                let whole =
                    move |bytes: Vec<u8>| if head.is_empty() { bytes } else { [head, bytes].concat() };
                let then =
                    move |read: Result<Vec<u8>>| reply.send(read.map(|bytes| Some((whole(bytes), None))));
                return source.start_read(ByteRange::new(start, len), Box::new(then));
            }
            (Ranges::One(range), Some(Ok((start, len, _)))) if !self.masked && !is_coming => {
                let from = range.offset.min(len);
                ByteRange::new(start + from, range.len.unwrap_or(u64::MAX).min(len - from))
            }
            (Ranges::Strided { .. } | Ranges::List(_), Some(Ok((start, len, _))))
                if !self.masked && !is_coming =>
            {
                return match wanted.parts() {
                    Ok(found) => {
                        chunk_parts::begin(source, start, len, wanted.key, found.unwrap_or_default(), reply);
                    }
                    Err(error) => reply.send(Err(error)),
                };
            }
            _ => {
                let mut bytes = Vec::new();
                let found = self.read_part(&wanted.key, ByteRange::ALL, &mut bytes);
                let found = found.and_then(|_| {
                    wanted.ranges.cut(&wanted.key, &bytes, wanted.limit).map(std::borrow::Cow::into_owned)
                });
                return reply.send(found.map(|bytes| Some((bytes, None))));
            }
        };
        source.start_read(range, Box::new(move |read| reply.send(read.map(|bytes| Some((bytes, None))))));
    }
}

impl ZMap for ChunkObjects {
    fn caps(&self) -> MapCaps {
        let remote = matches!(*self.file.store, FileBytes::Remote(..));
        MapCaps::new().range_read(true).remote(remote)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(Self::find(key).map(|(_, len, _)| if self.masked { len + 4 } else { len }))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        Ok(self.read_part(key, options.range, out)?.then(ObjectInfo::default))
    }

    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool> {
        let Some((address, len, _)) = Self::find(key).filter(|_| !self.masked) else {
            let mut bytes = Vec::new();
            let found = self.read_part(key, ByteRange::new(offset, out.capacity() as u64), &mut bytes)?;
            out.put(&bytes)?;
            return Ok(found);
        };
        let start = self.file.place(address, len)?;
        let wanted = len.saturating_sub(offset).min(out.capacity() as u64) as usize;
        out.fill_limited(wanted, |out| self.file.store.read_at(start + offset, out))?;
        Ok(true)
    }

    fn read_batch(&self, job: &dyn ReadJob) {
        match *self.file.store {
            FileBytes::Remote(..) => {
                read_overlapped(job, AT_ONCE, &mut |wanted, reply| self.begin(wanted, reply))
            }
            _ => read_parallel(self, job),
        }
    }
}

impl ChunkStore for ChunkObjects {
    fn map(&self) -> &dyn ZMap {
        self
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(const { &Key::root() });
        key.push_index(index, '.');
        match self.places.find(index) {
            Ok(Some(chunk))
                if self.masked || chunk.skipped == 0 || matches!(self.places, ChunkLookup::All(_)) =>
            {
                key.push_index(&[chunk.address, chunk.len, chunk.skipped.into()], '+');
            }
            Ok(None) => {}
            // The chunk must not count as absent, so its key leads to an address that cannot be read.
            Ok(Some(_)) | Err(_) => key.push_index(&[UNDEFINED, 1, 0], '+'),
        }
    }

    fn object_form(&self) -> ObjectForm {
        match (self.chunked, self.masked) {
            (false, _) => ObjectForm::Derived,
            (true, true) => ObjectForm::Masked,
            (true, false) => ObjectForm::Encoded,
        }
    }

    fn for_each_stored(&self, _rank: usize, each: &mut dyn FnMut(&[u64])) -> Result<bool> {
        match &self.places {
            ChunkLookup::All(table) => table.placed().for_each(|(place, _)| each(&place)),
            ChunkLookup::Wanted(known) => known.all()?.iter().for_each(|(place, _)| each(place)),
        }
        Ok(true)
    }
}
