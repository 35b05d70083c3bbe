//! [`PassThrough`]: copies the chunks of a variable as stored bytes, without decoding.
//!
//! It applies if source and target store the chunks in the same form: grid, type, byte order, filters and
//! fill value. The first chunk is decoded on both sides and compared. Otherwise the elements are copied.

use std::cell::Cell;
use std::sync::Arc;

use nczarr::dispatch::{
    Dataset, EncodedCheck, EncodedChunk, EncodedChunks, MemMut, OutBuf, VarData, byte_len,
};
use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{CheckedSlab, ErrorKind, NcString, NcType, Result, Slab, VarId};

use super::error::CopyError;
use super::tiles::Tiles;
use crate::stored::VarBox;

/// The elements of a chunk.
#[derive(PartialEq)]
enum Elements {
    Bytes(Vec<u8>),
    Strings(Vec<NcString>),
}

/// A variable in one of the datasets.
pub struct Side<'a> {
    pub dataset: &'a dyn Dataset,
    pub id: VarId,
    /// The type of its elements in memory, and their size; `None`: strings.
    pub memory: (NcType, Option<usize>),
}

/// The two forms of a variable, which are equal.
pub struct PassThrough {
    source: Arc<dyn VarData>,
    target: Arc<dyn VarData>,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// The dimensions that the target may extend.
    unlimited: Vec<bool>,
    memory: [(NcType, Option<usize>); 2],
    check: EncodedCheck,
    /// Whether a chunk decoded to equal elements on both sides; `None`: not compared yet.
    proven: Cell<Option<bool>>,
}

impl PassThrough {
    /// Compares the forms of a variable; `None`: its elements must be copied. `block`: the shape of the
    /// blocks that are copied at once.
    ///
    /// # Errors
    ///
    /// Errors of both datasets.
    pub fn of(
        from: &Side<'_>,
        to: &Side<'_>,
        block: &[u64],
        check: EncodedCheck,
    ) -> Result<Option<Self>, CopyError> {
        let shape = from.dataset.model().snapshot().shape(from.id)?;
        let source = from.dataset.data(from.id).map_err(CopyError::Source)?;
        let Some(encoding) = source.encoded_chunks().map(EncodedChunks::encoding) else { return Ok(None) };
        let is_same = |data: &Arc<dyn VarData>| {
            data.encoded_chunks().is_some_and(|chunks| chunks.encoding() == encoding)
        };
        let chunk = encoding.chunk_shape.clone();
        let whole = block
            .iter()
            .zip(&chunk)
            .zip(&shape)
            .all(|((block, chunk), len)| block % chunk == 0 || block >= len);
        if !whole || block.len() != chunk.len() || !is_same(&to.dataset.data(to.id)?) {
            return Ok(None);
        }
        match to.dataset._enddef(0, 0, 0, 0) {
            Err(error) if error.kind() != ErrorKind::NotInDefine => return Err(error.into()),
            _ => {}
        }
        // The end of define mode decides the layout.
        let target = to.dataset.data(to.id)?;
        let model = to.dataset.model().snapshot();
        let dims = &model.var(to.id)?.dims;
        let unlimited: Vec<bool> =
            dims.iter().map(|&dim| model.dim(dim).map(|dim| dim.unlimited)).collect::<Result<_>>()?;
        if !is_same(&target) || unlimited.len() != shape.len() {
            return Ok(None);
        }
        Ok(Some(Self {
            source,
            target,
            shape,
            chunk,
            unlimited,
            memory: [from.memory, to.memory],
            check,
            proven: Cell::new(None),
        }))
    }

    /// Copies the chunks of some parts of a block, which consist of whole chunks. `false`: their elements
    /// must be copied.
    ///
    /// # Errors
    ///
    /// Errors of reading and writing, each with its side.
    pub fn move_parts(&self, parts: &[VarBox]) -> Result<bool, CopyError> {
        if self.proven.get() == Some(false) {
            return Ok(false);
        }
        let boxes: Vec<VarBox> = parts.iter().flat_map(|part| self.chunks_of(part)).collect();
        let slabs = boxes.iter().map(|(start, count)| Slab::new(start, count).check(&self.shape, |_| false));
        let slabs = slabs.collect::<Result<Vec<_>>>()?;
        let found = chunks(&self.source)?.read_encoded(&slabs).map_err(CopyError::Source)?;
        let (mut places, mut stored) = (Vec::new(), Vec::new());
        for (slab, chunk) in slabs.into_iter().zip(found) {
            if let Some(chunk) = chunk {
                places.push(slab);
                stored.push(chunk);
            }
        }
        // HDF5 may leave filters out; the target cannot record that.
        if stored.iter().any(|chunk| chunk.filter_mask != 0) {
            return Ok(false);
        }
        let (Some(place), Some(chunk)) = (places.first(), stored.first()) else { return Ok(true) };
        if self.proven.get().is_none() {
            let agree = self.agree(place, chunk);
            self.proven.set(Some(agree));
            if !agree {
                return Ok(false);
            }
        }
        // A write may extend unlimited dimensions.
        let now: Vec<u64> =
            self.shape.iter().zip(&self.unlimited).map(|(&len, &may)| if may { 0 } else { len }).collect();
        let grown = places.iter().map(|place| place.check(&now, |dim| self.unlimited[dim]));
        let grown = grown.collect::<Result<Vec<_>>>()?;
        match chunks(&self.target)?.write_encoded(&grown, &stored, self.check) {
            Ok(()) => Ok(true),
            Err(error) => Err(self.blame(error, &places, &stored)),
        }
    }

    /// The chunks of a part.
    fn chunks_of(&self, part: &VarBox) -> impl Iterator<Item = VarBox> + use<> {
        let (start, count) = part;
        let start = start.clone();
        Tiles::new(count, &self.chunk).map(move |(inside, count)| {
            (start.iter().zip(&inside).map(|(start, inside)| start + inside).collect(), count)
        })
    }

    /// Whether a chunk decodes to the same elements on both sides.
    fn agree(&self, place: &CheckedSlab<'_>, chunk: &EncodedChunk) -> bool {
        let decode = |data: &Arc<dyn VarData>, memory| decode(&**data, place, chunk, memory);
        match (decode(&self.source, self.memory[0]), decode(&self.target, self.memory[1])) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        }
    }

    /// Finds the side of a failed write: bytes that the source cannot decode are its fault.
    fn blame(
        &self,
        error: nczarr_model::Error,
        places: &[CheckedSlab<'_>],
        stored: &[EncodedChunk],
    ) -> CopyError {
        let decoded = |(place, chunk)| decode(&*self.source, place, chunk, self.memory[0]).err();
        match places.iter().zip(stored).find_map(decoded) {
            Some(cause) => CopyError::Source(cause),
            None => CopyError::Target(error),
        }
    }
}

fn chunks(data: &Arc<dyn VarData>) -> Result<&dyn EncodedChunks> {
    data.encoded_chunks().ok_or_else(|| ErrorKind::Internal.context("the chunks are gone"))
}

fn decode(
    data: &dyn VarData,
    place: &CheckedSlab<'_>,
    chunk: &EncodedChunk,
    memory: (NcType, Option<usize>),
) -> Result<Elements> {
    let chunks = data.encoded_chunks().ok_or(ErrorKind::Internal)?;
    let (ty, size) = memory;
    let Some(size) = size else {
        let mut strings = vec![NcString::new(); byte_len(place.len(), 1)?];
        chunks.decode(place, chunk, MemMut::Strings(&mut strings))?;
        return Ok(Elements::Strings(strings));
    };
    let mut bytes = vec![0; byte_len(place.len(), size)?];
    chunks.decode(place, chunk, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })?;
    Ok(Elements::Bytes(bytes))
}
