//! Elements of user-defined types: fields of compounds by name, and lists.

use nczarr_dispatch::{MemMut, MemRef};
use nczarr_model::{ErrorKind, Model, NcString, NcType, Result, TypeClass, UserType, Values, convert};
use nczarr_runtime::{Buffer, DimVec};

use crate::{Array, Extents, Number, Variable};

/// A field in an element; it may be inside arrays of other records.
struct FieldPlace {
    ty: NcType,
    offset: usize,
    /// Counts and distances in bytes, outermost first.
    repeats: Vec<(usize, usize)>,
}

impl FieldPlace {
    /// Finds the field of a dotted path in a compound type.
    fn find(model: &Model, ty: NcType, path: &str) -> Result<Self> {
        let mut place = Self { ty, offset: 0, repeats: Vec::new() };
        let mut rest = Some(path);
        while let Some(path) = rest {
            let NcType::User(id) = place.ty else {
                return Err(ErrorKind::BadType.context(format!("type {} has no fields", place.ty.name())));
            };
            let user = model.user_type(id)?;
            let TypeClass::Compound { fields, .. } = &user.class else {
                return Err(ErrorKind::BadType.context(format!("type {} has no fields", user.name)));
            };
            // A name may contain dots: the longest match counts.
            let after = |name: &str| match path.strip_prefix(name)? {
                "" => Some(None),
                more => Some(Some(more.strip_prefix('.')?)),
            };
            let fitting = fields.iter().filter_map(|field| Some((field, after(&field.name)?)));
            let (field, more) = fitting
                .max_by_key(|(field, _)| field.name.len())
                .ok_or_else(|| ErrorKind::BadField.context(format!("type {} has none", user.name)))?;
            rest = more;
            let mut step =
                model.type_size(field.ty)?.ok_or_else(|| ErrorKind::BadType.context("of no fixed size"))?;
            let outer = place.repeats.len();
            for &len in field.shape.iter().rev() {
                place.repeats.insert(outer, (len as usize, step));
                step = step.saturating_mul(len as usize);
            }
            place.offset += field.offset;
            place.ty = field.ty;
        }
        Ok(place)
    }

    /// Returns the number of occurrences in an element.
    fn count(&self) -> usize {
        self.repeats.iter().fold(1, |product, (count, _)| product.saturating_mul(*count))
    }

    /// Returns the offset of occurrence `index`.
    fn start(&self, mut index: usize) -> usize {
        let mut start = self.offset;
        for &(count, step) in self.repeats.iter().rev() {
            start += index % count * step;
            index /= count;
        }
        start
    }
}

impl Variable {
    /// The user-defined type of the variable; `None` if its type is an atomic one.
    pub fn user_type(&self) -> Option<UserType> {
        let model = self.open.model();
        match model.var(self.id).ok()?.xtype {
            NcType::User(id) => model.user_type(id).ok().cloned(),
            _ => None,
        }
    }

    /// Reads one field of all elements of a part. `field` is its name, or a dotted path for a nested field.
    /// The shape of a field appears as further dimensions of the result.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EBADTYPE` if the variable is not a compound; `NC_EBADFIELD` if it has no
    /// such field.
    pub fn get_field<T: Number>(&self, field: &str, extents: impl Extents) -> Result<Array<T>> {
        let named = |error: nczarr_model::Error| self.located(error.at(format_args!("field {field}")));
        let model = self.open.model();
        let (own, size) = self.fixed_type()?;
        let place = FieldPlace::find(&model, own, field).map_err(named)?;
        convert::check(place.ty, T::TYPE).map_err(named)?;
        let item = place.ty.size().unwrap_or(1);
        let part = self.part(extents)?;
        let selected = part.select()?;
        let mut records = Vec::new();
        let len = part.bytes(size)?;
        records
            .try_reserve_exact(len)
            .map_err(|error| ErrorKind::NoMem.context("records").caused_by(error))?;
        records.resize(len, 0);
        super::fill(selected, own, &mut records)?;
        let mut bytes = Vec::new();
        for record in records.chunks_exact(size) {
            for index in 0..place.count() {
                let start = place.start(index);
                let value = start.checked_add(item).and_then(|end| record.get(start..end));
                bytes.extend_from_slice(
                    value.ok_or_else(|| named(ErrorKind::BadField.context("outside the element")))?,
                );
            }
        }
        let mut shape: DimVec<u64> = part.selection.shape();
        place.repeats.iter().for_each(|(count, _)| shape.push(*count as u64));
        Ok(Array::new(shape, numbers(place.ty, &bytes).map_err(named)?))
    }

    /// Reads lists of numbers, in C order of the part.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EBADTYPE` if the elements are not lists.
    pub fn get_lists<T: Number>(&self, extents: impl Extents) -> Result<Vec<Vec<T>>> {
        let base = self.list_base()?;
        let part = self.part(extents)?;
        let selected = part.select()?;
        let count = part.bytes(size_of::<NcString>())? / size_of::<NcString>();
        let mut lists = Vec::new();
        lists.try_reserve_exact(count).map_err(|error| {
            self.located(ErrorKind::NoMem.context(format!("{count} lists")).caused_by(error))
        })?;
        lists.resize(count, NcString::new());
        selected.get(MemMut::Strings(&mut lists))?;
        let lists = lists.into_iter().map(|list| numbers(base, list.as_bytes()).map(Buffer::into_vec));
        lists.collect::<Result<_>>().map_err(|error| self.located(error))
    }

    /// Writes lists of numbers, in C order of the part.
    ///
    /// # Errors
    /// As [`Variable::put`]; `NC_EBADTYPE` if the elements are not lists.
    pub fn put_lists<T: Number, L: AsRef<[T]>>(&self, lists: &[L], extents: impl Extents) -> Result<()> {
        let base = self.list_base()?;
        let named = |error: nczarr_model::Error| self.located(error);
        let selection = self.select_for_write(extents, lists.len())?;
        let stored = lists.iter().map(|list| {
            let bytes: &[u8] = bytemuck::must_cast_slice(list.as_ref());
            Ok(NcString::from(converted(T::TYPE, base, bytes)?))
        });
        let stored = stored.collect::<Result<Vec<_>>>().map_err(named)?;
        self.write(&selection.slab(), MemRef::Strings(&stored))
    }

    fn list_base(&self) -> Result<NcType> {
        match self.user_type().map(|user| user.class) {
            Some(TypeClass::Vlen { base }) => Ok(base),
            _ => Err(self.located(ErrorKind::BadType.context("not a variable of lists"))),
        }
    }
}

/// Converts native numbers between types, or fails with `NC_ERANGE`.
fn converted(from: NcType, to: NcType, bytes: &[u8]) -> Result<Vec<u8>> {
    let values = Values::from_native_bytes(from, bytes).ok_or_else(|| {
        ErrorKind::BadType.context(format!("{} bytes of type {}", bytes.len(), from.name()))
    })?;
    let (values, out_of_range) = convert::convert_values(&values, to)?;
    if out_of_range {
        return Err(ErrorKind::Range.context(format!(
            "a {} that does not fit type {}",
            from.name(),
            to.name()
        )));
    }
    values.to_native_bytes().ok_or_else(|| ErrorKind::BadType.context(format!("type {}", to.name())))
}

fn numbers<T: Number>(from: NcType, bytes: &[u8]) -> Result<Buffer<T>> {
    let bytes = converted(from, T::TYPE, bytes)?;
    Buffer::fill(bytes.len() / size_of::<T>(), |out| out.put(&bytes))
}
