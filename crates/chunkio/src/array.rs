//! [`ChunkedArray`]: one array, ready to be read and written.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{
    CacheConfig, ChunkInfo, ElementChunk, ItemKind, ItemType, Linear, MemMut, MemRef, StoredChunks, VarData, byte_len,
};
use nczarr_model::convert::Half;
use nczarr_model::{ErrorKind, NcString, NcType, Result, Slab};

use crate::elements::Elements;
use crate::grid::Grid;
use crate::keeper::Keeper;
use crate::kernel::Convert;
use crate::numbers::Numbers;
use crate::plan::{Plan, Source};
use crate::strings::{Cell, Strings, Text, fill_string};
use crate::{ArraySpec, Element, Order, Piece, read, strings, write};

/// One array, ready to be read and written by any number of threads.
#[derive(Debug)]
pub struct ChunkedArray {
    kind: Kind,
    cache: Mutex<CacheConfig>,
}

#[derive(Debug)]
// One per array, never moved about: a box would only be a detour for every access.
#[allow(clippy::large_enum_variant)]
enum Kind {
    Numbers(Keeper<Numbers>),
    Strings(Keeper<Strings>),
}

/// Runs `$body` with `$keeper` bound to the array's keeper, whatever its elements are.
macro_rules! each_kind {
    ($kind:expr, $keeper:ident => $body:expr) => {
        match $kind {
            Kind::Numbers($keeper) => $body,
            Kind::Strings($keeper) => $body,
        }
    };
}

impl ChunkedArray {
    /// Binds the filters and checks sizes.
    ///
    /// # Errors
    /// `NC_EINVAL`, `NC_EBADCHUNK`, `NC_EMAXDIMS` for a shape that makes no sense or exceeds the limits;
    /// `NC_EBADTYPE` for an element type without a size; what a filter says of its parameters.
    pub fn new(spec: ArraySpec) -> Result<Self> {
        let name = spec.name.clone();
        let cache = CacheConfig {
            bytes: spec.options.cache_bytes.unwrap_or(CacheConfig::BUILT_IN.bytes),
            ..CacheConfig::default()
        };
        let kind = Kind::new(spec).map_err(|error| error.at(name))?;
        Ok(Self { kind, cache: Mutex::new(cache) })
    }

    /// Writes every changed chunk.
    ///
    /// # Errors
    /// What storage and filters say; what could not be written stays in the cache.
    pub fn flush(&self) -> Result<()> {
        each_kind!(&self.kind, keeper => keeper.flush())
    }

    /// Writes every changed chunk, then forgets the unchanged ones, so that what others wrote is seen.
    ///
    /// # Errors
    /// As [`ChunkedArray::flush`].
    pub fn sync(&self) -> Result<()> {
        self.flush()?;
        each_kind!(&self.kind, keeper => keeper.cache.clear());
        Ok(())
    }

    /// Whether anything was written through this array since it was made.
    pub fn written(&self) -> bool {
        each_kind!(&self.kind, keeper => keeper.written())
    }

    /// Checks what would otherwise be a wrong place in memory or in the grid. Whether there are elements at all.
    fn check(&self, slab: &Slab<'_>, writing: bool) -> Result<bool> {
        let (grid, name) = each_kind!(&self.kind, keeper => (&keeper.grid, &keeper.name));
        let lengths = grid.dims.iter().map(|dim| (dim.len.load(Ordering::Acquire), writing && dim.unlimited));
        if slab.is_plain(lengths) {
            return Ok(true);
        }
        let shape = grid.shape();
        slab.check(&shape, |dim| writing && grid.dims[dim].unlimited).map_err(|error| error.at(name))?;
        Ok(!slab.is_empty())
    }

    fn wrong_memory(&self, expected: u64, found: usize, unit: &str) -> nczarr_model::Error {
        let name = each_kind!(&self.kind, keeper => &keeper.name);
        ErrorKind::Inval.context(format!("{name}: memory of {expected} {unit} expected, {found} found"))
    }

    fn check_bytes(&self, form: &Numbers, slab: &Slab<'_>, ty: NcType, found: usize) -> Result<()> {
        let own = (ty == form.ty).then(|| form.item());
        let size =
            own.or(ty.size()).ok_or_else(|| ErrorKind::BadType.context(format!("memory of type {}", ty.name())))?;
        let expected = byte_len(slab.len(), size)?;
        if expected != found { Err(self.wrong_memory(expected as u64, found, "bytes")) } else { Ok(()) }
    }

    fn check_strings(&self, slab: &Slab<'_>, found: &[NcString]) -> Result<()> {
        if slab.len() != found.len() as u64 {
            return Err(self.wrong_memory(slab.len(), found.len(), "strings"));
        }
        Ok(())
    }
}

impl Kind {
    fn new(spec: ArraySpec) -> Result<Self> {
        let ArraySpec { name, dims, chunk_shape, element, order, filters, fill, mut shards, store, options, writable } =
            spec;
        let mut stage = None;
        // Bytes of an element as stored, and in memory.
        let (item, held, big_endian) = match &element {
            Element::Number { ty, big_endian } => {
                let no_number = || ErrorKind::BadType.context(format!("elements of type {}", ty.name()));
                let size = ty.size().ok_or_else(no_number)?;
                (Some(size), size, *big_endian)
            }
            Element::Text { width } => (Some(*width), (*width).max(1), false),
            Element::Utf32 { chars, big_endian } => {
                let no_size = || ErrorKind::BadChunk.context(format!("elements of {chars} characters"));
                let width = chars.checked_mul(4).ok_or_else(no_size)?;
                (Some(width), width.max(1), *big_endian)
            }
            Element::Time { big_endian, .. } => (Some(8), 8, *big_endian),
            Element::Packed { pieces, .. } => {
                let (own, stored, held) = Elements::new(pieces)?;
                stage = own;
                (Some(stored), held, cfg!(target_endian = "big"))
            }
            Element::Variable(_) => (None, size_of::<NcString>(), false),
        };
        let number = matches!(element, Element::Number { .. });
        let packed = matches!(element, Element::Packed { .. });
        let line = dims.last().filter(|dim| number && !dim.unlimited);
        let line = line.and_then(|dim| usize::try_from(dim.len.load(Ordering::Acquire)).ok());
        let grid = Grid::new(dims, chunk_shape, &order, held, &options.limits)?;
        let elems = grid.elems;
        let elements = match &element {
            Element::Number { ty, big_endian } => ItemType::of(*ty, *big_endian),
            Element::Time { big_endian, .. } => ItemType::of(NcType::Int64, *big_endian),
            Element::Packed { pieces, .. } => match pieces[..] {
                [Piece::Halves { half: Half::Binary16, count: 1, big_endian }] => {
                    ItemType { kind: ItemKind::Float, size: 2, big_endian }
                }
                _ => ItemType::bytes(item.unwrap_or(1)),
            },
            _ => ItemType::bytes(item.unwrap_or(1).max(1)),
        };
        let source = Source {
            held: if item.is_some() { held } else { 1 },
            item: item.unwrap_or(1).max(1),
            number,
            big_endian,
            elements,
            stage,
            bytes: item.map(|item| if packed { held * elems } else { item * elems }),
            count: elems,
            row: grid.row,
            line,
            most: usize::try_from(options.limits.chunk).unwrap_or(usize::MAX),
        };
        let plan = Plan::new(&source, filters)?;
        for filter in shards.iter_mut().flat_map(|shard| &mut shard.filters) {
            let name = filter.info().name;
            // A shard is bytes, however many; what its elements are is all that is known.
            let around = ChunkInfo {
                item_size: source.item,
                chunk_bytes: source.item,
                elements: 1,
                row: 1,
                array_row: None,
                big_endian,
                item: ItemType::bytes(1),
            };
            filter.bind(&around).map_err(|error| error.at(format_args!("filter {name} around shards")))?;
        }
        let text = match element {
            Element::Number { ty, .. } | Element::Packed { ty, .. } => {
                let form = Numbers::new(ty, held, plan, fill.as_ref(), elems)?;
                let cost = elems * held;
                let keeper = Keeper::new(name, grid, form, (store, shards), options, writable, cost)?;
                return Ok(Self::Numbers(keeper));
            }
            Element::Text { width } => Text::Fixed(Cell::Bytes(width)),
            Element::Utf32 { chars, big_endian } => Text::Fixed(Cell::Points { chars, big_endian }),
            Element::Time { unit, big_endian } => Text::Fixed(Cell::Time { unit, big_endian }),
            Element::Variable(mut codec) => {
                let chunk = ElementChunk { shape: &grid.chunk, first_fastest: order == Order::F };
                codec.bind(&chunk).map_err(|error| error.at(format_args!("codec {}", codec.name())))?;
                Text::Codec(codec)
            }
        };
        let mut fill = fill_string(fill.as_ref())?;
        if let Text::Fixed(Cell::Time { unit, .. }) = text {
            // As it reads when it was stored.
            fill = NcString::from(unit.format(fill.to_str().and_then(|fill| unit.parse(fill))?));
        }
        let form = Strings { text, plan, fill, elems, most: source.most };
        Ok(Self::Strings(Keeper::new(name, grid, form, (store, shards), options, writable, elems * held)?))
    }
}

fn text_and_numbers(name: &str) -> nczarr_model::Error {
    ErrorKind::Char.context(format!("{name}: text and numbers do not convert to each other"))
}

impl VarData for ChunkedArray {
    fn get(&self, slab: &Slab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let out = match (&self.kind, out) {
            (Kind::Numbers(keeper), MemMut::Fixed { ty, out }) => {
                if read::hit(keeper, slab, ty, out) {
                    return Ok(());
                }
                MemMut::Fixed { ty, out }
            }
            (_, out) => out,
        };
        let any = self.check(slab, false)?;
        match (&self.kind, out) {
            (Kind::Numbers(keeper), MemMut::Fixed { ty, out }) => {
                self.check_bytes(&keeper.form, slab, ty, out.capacity())?;
                nczarr_model::convert::check(keeper.form.ty, ty).map_err(|error| error.at(&keeper.name))?;
                if any { read::get(keeper, slab, ty, out) } else { Ok(()) }
            }
            (Kind::Strings(keeper), MemMut::Strings(out)) => {
                self.check_strings(slab, out)?;
                if any { strings::get(keeper, slab, out) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, keeper => &keeper.name))),
        }
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        match &self.kind {
            Kind::Numbers(keeper) => read::peek(keeper, at, ty, out),
            Kind::Strings(_) => false,
        }
    }

    /// Nobody may write the array, and its chunks have to stay where they are meanwhile.
    fn try_get_stored_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        match &self.kind {
            Kind::Numbers(keeper) => read::pick(keeper, at, ty, out),
            Kind::Strings(_) => false,
        }
    }

    fn get_linear(&self, slab: &Slab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        let any = self.check(slab, false)?;
        match (&self.kind, out) {
            (Kind::Numbers(keeper), MemMut::Fixed { ty, out }) => {
                self.check_bytes(&keeper.form, slab, ty, out.capacity())?;
                let form = &keeper.form;
                let convert = Convert::scaling(form.ty, ty, linear).map_err(|error| error.at(&keeper.name))?;
                if any { read::get_with(keeper, slab, Some(convert), out) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, keeper => &keeper.name))),
        }
    }

    fn put(&self, slab: &Slab<'_>, data: MemRef<'_>) -> Result<()> {
        let grid = each_kind!(&self.kind, keeper => { keeper.check_writable()?; &keeper.grid });
        let any = self.check(slab, true)?;
        let result = match (&self.kind, data) {
            (Kind::Numbers(keeper), MemRef::Fixed { ty, bytes }) => {
                self.check_bytes(&keeper.form, slab, ty, bytes.len())?;
                nczarr_model::convert::check(ty, keeper.form.ty).map_err(|error| error.at(&keeper.name))?;
                if any { write::put(keeper, slab, ty, bytes) } else { Ok(()) }
            }
            (Kind::Strings(keeper), MemRef::Strings(values)) => {
                self.check_strings(slab, values)?;
                if any { strings::put(keeper, slab, values) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, keeper => &keeper.name))),
        };
        // A value out of range was written all the same, as everything else was.
        let accepted = match &result {
            Ok(()) => any,
            Err(error) => error.kind() == ErrorKind::Range,
        };
        if accepted {
            for (dim, limits) in grid.dims.iter().enumerate().filter(|(_, limits)| limits.unlimited) {
                if let Some(end) = slab.end(dim) {
                    limits.len.fetch_max(end, Ordering::AcqRel);
                }
            }
        }
        result
    }

    fn is_absent(&self, slab: &Slab<'_>) -> Result<bool> {
        if !self.check(slab, false)? {
            return Ok(true);
        }
        each_kind!(&self.kind, keeper => keeper.is_absent(slab))
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        each_kind!(&self.kind, keeper => keeper.stored_chunks())
    }

    fn is_fixed_text(&self) -> bool {
        matches!(&self.kind, Kind::Strings(keeper) if matches!(keeper.form.text, Text::Fixed(Cell::Bytes(_))))
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        if !(0.0..=1.0).contains(&cache.preemption) {
            return Err(
                ErrorKind::Inval.context(format!("a cache preemption of {}; 0 to 1 is allowed", cache.preemption))
            );
        }
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = cache;
        each_kind!(&self.kind, keeper => {
            keeper.cache.set_budget(cache.bytes);
            keeper.relieve()
        })
    }

    fn chunk_cache(&self) -> CacheConfig {
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(each_kind!(&self.kind, keeper => keeper.grid.chunk.clone()))
    }
}
