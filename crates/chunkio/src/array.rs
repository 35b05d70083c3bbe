//! [`ChunkedArray`]: one chunked array, ready for reads and writes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_codec::{ChunkInfo, ElementChunk, Filter, ItemKind, ItemType};
use nczarr_dispatch::{CacheConfig, EncodedChunks, Linear, MemMut, MemRef, StoredChunks, VarData, byte_len};
use nczarr_model::convert::Half;
use nczarr_model::{CheckedSlab, ErrorKind, NcString, NcType, Result, Slab, Values};

use crate::converted::ConvertedElements;
use crate::elements::PackedElements;
use crate::engine::{ArrayEngine, ShardedStore};
use crate::fast::cached_chunk;
use crate::fast::stored_element::get_stored_element;
use crate::fixed_size::FixedSize;
use crate::grid::ChunkGrid;
use crate::kernel::Convert;
use crate::plan::{FilterPlan, PlanSource};
use crate::strings::{FixedText, TextElements, TextEncoding, fill_string};
use crate::{ArraySpec, DimOrder, ElementLayout, ElementPiece, ObjectForm, read, strings, write};

/// One chunked array, for reads and writes from any number of threads.
#[derive(Debug)]
pub struct ChunkedArray {
    pub(crate) kind: ArrayKind,
    /// The stored form of an element, and the order of elements, as specified.
    pub(crate) element: ElementLayout,
    pub(crate) order: DimOrder,
    cache: Mutex<CacheConfig>,
}

#[derive(Debug)]
// One per array and never moved: a box would add an indirection to every access.
#[allow(clippy::large_enum_variant)]
pub(crate) enum ArrayKind {
    Numbers(ArrayEngine<FixedSize>),
    Strings(ArrayEngine<TextElements>),
}

/// Runs `$body` with `$engine` bound to the array's engine, for each kind of elements.
macro_rules! each_kind {
    ($kind:expr, $engine:ident => $body:expr) => {
        match $kind {
            ArrayKind::Numbers($engine) => $body,
            ArrayKind::Strings($engine) => $body,
        }
    };
}

impl ChunkedArray {
    /// Binds the filters and checks sizes.
    ///
    /// # Errors
    /// `NC_EINVAL`, `NC_EBADCHUNK` or `NC_EMAXDIMS` for an invalid or too large shape; `NC_EBADTYPE` for an
    /// element type without a size; otherwise a filter's error about its parameters.
    pub fn new(spec: ArraySpec) -> Result<Self> {
        let name = spec.name.clone();
        let cache =
            CacheConfig::default().bytes(spec.options.cache_bytes.unwrap_or(CacheConfig::BUILT_IN.bytes));
        let (element, order) = (spec.element.clone(), spec.order.clone());
        let kind = ArrayKind::new(spec).map_err(|error| error.at(name))?;
        Ok(Self { kind, element, order, cache: Mutex::new(cache) })
    }

    /// Stores all changed chunks.
    ///
    /// # Errors
    /// An error of the storage or a filter; chunks that could not be stored stay in the cache.
    pub fn flush(&self) -> Result<()> {
        each_kind!(&self.kind, engine => engine.flush())
    }

    /// Stores all changed chunks, then drops unchanged ones, so that changes by other processes become
    /// visible.
    ///
    /// # Errors
    /// As [`ChunkedArray::flush`].
    pub fn sync(&self) -> Result<()> {
        self.flush()?;
        each_kind!(&self.kind, engine => engine.cache.clear());
        Ok(())
    }

    /// Whether this array was written to since it was created.
    pub fn written(&self) -> bool {
        each_kind!(&self.kind, engine => engine.written())
    }

    /// Checks a hyperslab to read, for owners of an array that form their own hyperslabs.
    ///
    /// # Errors
    /// As [`Slab::check`].
    pub fn check_read<'s>(&self, slab: &Slab<'s>) -> Result<CheckedSlab<'s>> {
        self.check(slab, false)
    }

    /// As [`ChunkedArray::check_read`], for a write, which may extend unlimited dimensions.
    ///
    /// # Errors
    /// As [`Slab::check`].
    pub fn check_write<'s>(&self, slab: &Slab<'s>) -> Result<CheckedSlab<'s>> {
        self.check(slab, true)
    }

    fn check<'s>(&self, slab: &Slab<'s>, writing: bool) -> Result<CheckedSlab<'s>> {
        let (grid, name) = each_kind!(&self.kind, engine => (&engine.grid, &engine.name));
        let may_grow = |dim: usize| writing && grid.dims[dim].unlimited;
        slab.check(&grid.shape(), may_grow).map_err(|error| error.at(name))
    }

    fn wrong_memory(&self, expected: u64, found: usize, unit: &str) -> nczarr_model::Error {
        let name = each_kind!(&self.kind, engine => &engine.name);
        ErrorKind::Inval
            .context(format!("{name}: wrong size of memory (expected {expected} {unit}, found {found})"))
    }

    pub(crate) fn check_bytes(
        &self,
        form: &FixedSize,
        slab: &Slab<'_>,
        ty: NcType,
        found: usize,
    ) -> Result<()> {
        let own = (ty == form.ty).then(|| form.item());
        let size = own
            .or(ty.size())
            .ok_or_else(|| ErrorKind::BadType.context(format!("memory of type {}", ty.name())))?;
        let expected = byte_len(slab.len(), size)?;
        if expected != found { Err(self.wrong_memory(expected as u64, found, "bytes")) } else { Ok(()) }
    }

    pub(crate) fn check_strings(&self, slab: &Slab<'_>, found: &[NcString]) -> Result<()> {
        if slab.len() != found.len() as u64 {
            return Err(self.wrong_memory(slab.len(), found.len(), "strings"));
        }
        Ok(())
    }
}

impl ArrayKind {
    fn new(spec: ArraySpec) -> Result<Self> {
        let ArraySpec {
            name,
            dims,
            chunk_shape,
            element,
            order,
            filters,
            fill,
            mut shards,
            store,
            options,
            writable,
        } = spec;
        let (mut stage, mut half, mut converted) = (None::<Box<dyn Filter>>, None, None);
        // The size of an element as stored, and in memory.
        let (item, held, big_endian) = match &element {
            ElementLayout::Number { ty, big_endian } => {
                let no_number = || ErrorKind::BadType.context(format!("elements of type {}", ty.name()));
                let size = ty.size().ok_or_else(no_number)?;
                (Some(size), size, *big_endian)
            }
            ElementLayout::Text { width } => (Some(*width), (*width).max(1), false),
            ElementLayout::Utf32 { chars, big_endian } => {
                let no_size = || ErrorKind::BadChunk.context(format!("elements of {chars} characters"));
                let width = chars.checked_mul(4).ok_or_else(no_size)?;
                (Some(width), width.max(1), *big_endian)
            }
            ElementLayout::Time { big_endian, .. } => (Some(8), 8, *big_endian),
            ElementLayout::Packed { pieces, .. } => {
                let (own, stored, held) = PackedElements::new(pieces)?;
                half = own.as_ref().and_then(PackedElements::half);
                stage = own.map(|own| Box::new(own) as _);
                (Some(stored), held, cfg!(target_endian = "big"))
            }
            ElementLayout::Converted { data_type, big_endian, .. } => {
                let own = ConvertedElements::new(Arc::clone(data_type), *big_endian)?;
                let (stored, held) = own.sizes();
                stage = Some(Box::new(own.clone()));
                converted = Some(own);
                (Some(stored), held, *big_endian)
            }
            ElementLayout::Variable(_) => (None, size_of::<NcString>(), false),
        };
        let number = matches!(element, ElementLayout::Number { .. });
        let packed = matches!(element, ElementLayout::Packed { .. } | ElementLayout::Converted { .. });
        let line = dims.last().filter(|dim| number && !dim.unlimited);
        let line = line.and_then(|dim| usize::try_from(dim.len.load(Ordering::Acquire)).ok());
        let grid = ChunkGrid::new(dims, chunk_shape, &order, held, &options.limits)?;
        let elems = grid.elems;
        let elements = match &element {
            ElementLayout::Number { ty, big_endian } => ItemType::of(*ty, *big_endian),
            ElementLayout::Time { big_endian, .. } => ItemType::of(NcType::Int64, *big_endian),
            ElementLayout::Converted { data_type, big_endian, .. } => {
                ItemType { big_endian: *big_endian, ..data_type.item() }
            }
            ElementLayout::Packed { pieces, .. } => match pieces[..] {
                [ElementPiece::Halves { half: Half::Binary16, count: 1, big_endian }] => {
                    ItemType { kind: ItemKind::Float, size: 2, big_endian }
                }
                _ => ItemType::bytes(item.unwrap_or(1)),
            },
            _ => ItemType::bytes(item.unwrap_or(1).max(1)),
        };
        let source = PlanSource {
            held: if item.is_some() { held } else { 1 },
            item: item.unwrap_or(1).max(1),
            number,
            big_endian,
            elements,
            stage,
            half,
            bytes: item.map(|item| if packed { held * elems } else { item * elems }),
            shape: (0..grid.chunk.len())
                .map(|place| grid.chunk[order.axis(place, grid.chunk.len())])
                .collect(),
            count: elems,
            row: grid.row,
            line,
            most: usize::try_from(options.limits.chunk).unwrap_or(usize::MAX),
        };
        let plan = FilterPlan::new(&source, filters)?;
        for filter in shards.iter_mut().flat_map(|shard| &mut shard.filters) {
            let name = filter.info().name;
            // A shard is a sequence of bytes; only the size of its elements is known.
            let around = ChunkInfo::new(ItemType::bytes(1), 1)
                .item_size(source.item)
                .chunk_bytes(source.item)
                .big_endian(big_endian);
            filter.bind(&around).map_err(|error| error.at(format_args!("filter {name} around shards")))?;
        }
        let stored = ShardedStore { store, shards };
        let text = match element {
            ElementLayout::Number { ty, .. }
            | ElementLayout::Packed { ty, .. }
            | ElementLayout::Converted { ty, .. } => {
                let form = FixedSize::new(ty, held, plan, converted, fill.as_ref(), elems)?;
                let cost = elems * held;
                let engine = ArrayEngine::new(name, grid, form, stored, options, writable, cost)?;
                return Ok(Self::Numbers(engine));
            }
            ElementLayout::Text { width } => TextEncoding::Fixed(FixedText::Bytes(width)),
            ElementLayout::Utf32 { chars, big_endian } => {
                TextEncoding::Fixed(FixedText::Points { chars, big_endian })
            }
            ElementLayout::Time { unit, big_endian } => {
                TextEncoding::Fixed(FixedText::Time { unit, big_endian })
            }
            ElementLayout::Variable(mut codec) => {
                let chunk = ElementChunk { shape: &grid.chunk, first_fastest: order == DimOrder::F };
                codec.bind(&chunk).map_err(|error| error.at(format_args!("codec {}", codec.name())))?;
                TextEncoding::Codec(codec)
            }
        };
        let mut fill = fill_string(fill.as_ref())?;
        if let TextEncoding::Fixed(FixedText::Time { unit, .. }) = text {
            // The text that reads return after storing.
            fill = NcString::from(unit.format(fill.to_str().and_then(|fill| unit.parse(fill))?));
        }
        let form = TextElements { text, plan, fill, elems, most: source.most };
        Ok(Self::Strings(ArrayEngine::new(name, grid, form, stored, options, writable, elems * held)?))
    }
}

/// Writes elements of a plugin's data type, as they will read later.
fn put_converted(
    engine: &ArrayEngine<FixedSize>,
    converted: &ConvertedElements,
    slab: &CheckedSlab<'_>,
    ty: NcType,
    bytes: &[u8],
) -> Result<()> {
    let (own, at) = (engine.form.ty, |error: nczarr_model::Error| error.at(&engine.name));
    if ty == own {
        let (stored, range) = converted.as_stored(bytes).map_err(at)?;
        return write::put(engine, slab, own, &stored).and(range.map_err(at));
    }
    let wrong = || at(ErrorKind::BadType.context(format!("values of type {}", ty.name())));
    let values = Values::from_native_bytes(ty, bytes).ok_or_else(wrong)?;
    // A value is rounded to the stored type only once.
    let between = if own == NcType::Float { NcType::Double } else { own };
    let (values, out_of_range) = nczarr_model::convert::convert_values(&values, between)?;
    let given = values.to_native_bytes().ok_or_else(wrong)?;
    let stored =
        if between == own { converted.as_stored(&given) } else { converted.doubles_as_stored(&given) };
    let (stored, range) = stored.map_err(at)?;
    let unfit = if out_of_range { Err(ErrorKind::Range.into()) } else { Ok(()) };
    write::put(engine, slab, own, &stored).and(unfit).and(range.map_err(at))
}

pub(crate) fn text_and_numbers(name: &str) -> nczarr_model::Error {
    ErrorKind::Char.context(format!("{name}: text and numbers do not convert to each other"))
}

impl VarData for ChunkedArray {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        debug_assert!(self.check_read(slab).is_ok(), "{slab:?} of another array");
        let out = match (&self.kind, out) {
            (ArrayKind::Numbers(engine), MemMut::Fixed { ty, out }) => {
                if cached_chunk::copy_cached(engine, slab, ty, out) {
                    return Ok(());
                }
                MemMut::Fixed { ty, out }
            }
            (_, out) => out,
        };
        match (&self.kind, out) {
            (ArrayKind::Numbers(engine), MemMut::Fixed { ty, out }) => {
                self.check_bytes(&engine.form, slab, ty, out.capacity())?;
                nczarr_model::convert::check(engine.form.ty, ty).map_err(|error| error.at(&engine.name))?;
                if !slab.is_empty() { read::get(engine, slab, ty, out) } else { Ok(()) }
            }
            (ArrayKind::Strings(engine), MemMut::Strings(out)) => {
                self.check_strings(slab, out)?;
                if !slab.is_empty() { strings::get(engine, slab, out) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, engine => &engine.name))),
        }
    }

    fn try_get_cached_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        match &self.kind {
            ArrayKind::Numbers(engine) => cached_chunk::get_cached_element(engine, at, ty, out),
            ArrayKind::Strings(_) => false,
        }
    }

    /// The array must be read-only, and its chunks must not move.
    fn try_get_stored_element(&self, at: &[u64], ty: NcType, out: &mut [u8]) -> bool {
        match &self.kind {
            ArrayKind::Numbers(engine) => get_stored_element(engine, at, ty, out),
            ArrayKind::Strings(_) => false,
        }
    }

    fn get_linear(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>, linear: &Linear) -> Result<()> {
        debug_assert!(self.check_read(slab).is_ok(), "{slab:?} of another array");
        match (&self.kind, out) {
            (ArrayKind::Numbers(engine), MemMut::Fixed { ty, out }) => {
                self.check_bytes(&engine.form, slab, ty, out.capacity())?;
                let form = &engine.form;
                let convert =
                    Convert::scaling(form.ty, ty, linear).map_err(|error| error.at(&engine.name))?;
                if !slab.is_empty() { read::get_with(engine, slab, Some(convert), out) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, engine => &engine.name))),
        }
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        let grid = each_kind!(&self.kind, engine => { engine.check_writable()?; &engine.grid });
        debug_assert!(self.check_write(slab).is_ok(), "{slab:?} of another array");
        let result = match (&self.kind, data) {
            (ArrayKind::Numbers(engine), MemRef::Fixed { ty, bytes }) => {
                self.check_bytes(&engine.form, slab, ty, bytes.len())?;
                nczarr_model::convert::check(ty, engine.form.ty).map_err(|error| error.at(&engine.name))?;
                match &engine.form.converted {
                    _ if slab.is_empty() => Ok(()),
                    None => write::put(engine, slab, ty, bytes),
                    Some(converted) => put_converted(engine, converted, slab, ty, bytes),
                }
            }
            (ArrayKind::Strings(engine), MemRef::Strings(values)) => {
                self.check_strings(slab, values)?;
                if !slab.is_empty() { strings::put(engine, slab, values) } else { Ok(()) }
            }
            (kind, _) => Err(text_and_numbers(each_kind!(kind, engine => &engine.name))),
        };
        // A value out of range does not stop the write.
        let accepted = match &result {
            Ok(()) => !slab.is_empty(),
            Err(error) => error.kind() == ErrorKind::Range,
        };
        if accepted {
            for (dim, limits) in grid.dims.iter().enumerate().filter(|(_, limits)| limits.unlimited) {
                limits.len.fetch_max(slab.end(dim), Ordering::AcqRel);
            }
        }
        result
    }

    fn is_absent(&self, slab: &CheckedSlab<'_>) -> Result<bool> {
        debug_assert!(self.check_read(slab).is_ok(), "{slab:?} of another array");
        if slab.is_empty() {
            return Ok(true);
        }
        each_kind!(&self.kind, engine => engine.is_absent(slab))
    }

    fn stored_chunks(&self) -> Result<Option<StoredChunks>> {
        each_kind!(&self.kind, engine => engine.stored_chunks())
    }

    fn encoded_chunks(&self) -> Option<&dyn EncodedChunks> {
        let form = each_kind!(&self.kind, engine => engine.store.object_form());
        if form == ObjectForm::Derived { None } else { Some(self) }
    }

    fn is_fixed_text(&self) -> bool {
        matches!(&self.kind, ArrayKind::Strings(engine) if matches!(engine.form.text, TextEncoding::Fixed(FixedText::Bytes(_))))
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        if !(0.0..=1.0).contains(&cache.preemption) {
            return Err(ErrorKind::Inval.context(format!(
                "chunk cache: preemption {} out of range (expected 0 to 1)",
                cache.preemption
            )));
        }
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = cache;
        each_kind!(&self.kind, engine => {
            engine.cache.set_budget(cache.bytes);
            engine.relieve()
        })
    }

    fn chunk_cache(&self) -> CacheConfig {
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        Some(each_kind!(&self.kind, engine => engine.grid.chunk.clone()))
    }
}
