//! [`Item`]: one element of any type as a tree of values, for inspection, printing and construction without
//! knowledge of its bytes.

use crate::packed::MAX_DEPTH;
use crate::{Error, ErrorKind, Model, NcString, NcType, Packer, Result, Scalar, TypeClass, Unpacker, Values};

/// One element of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An integer, or an enum value.
    Int(i128),
    /// A single.
    Float(f32),
    /// A double.
    Double(f64),
    /// One byte of text.
    Char(u8),
    /// A string.
    String(NcString),
    /// The bytes of an opaque element.
    Opaque(Vec<u8>),
    /// The elements of a vlen element.
    Vlen(Vec<Item>),
    /// The fields of a compound element; a field with a shape is a list of all its elements in C order.
    Compound(Vec<Vec<Item>>),
}

impl Item {
    /// Returns value `index` of an atomic vector.
    pub fn atomic(values: &Values, index: usize) -> Option<Self> {
        Some(match values {
            Values::Float(v) => Self::Float(*v.get(index)?),
            Values::Double(v) => Self::Double(*v.get(index)?),
            Values::Char(v) => Self::Char(*v.get(index)?),
            Values::String(v) => Self::String(v.get(index)?.clone()),
            other => match other.scalar(index)? {
                Scalar::Int(value) => Self::Int(value),
                Scalar::Float(value) => Self::Double(value),
            },
        })
    }

    /// Whether two elements are equal; all NaNs are equal, and zeros are distinguished by sign.
    pub fn same(&self, other: &Self) -> bool {
        let all = |a: &[Self], b: &[Self]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Vlen(a), Self::Vlen(b)) => all(a, b),
            (Self::Compound(a), Self::Compound(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| all(a, b))
            }
            (a, b) => a == b,
        }
    }
}

impl Model {
    /// Converts values to items.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if the bytes are not elements of their type.
    pub fn items(&self, values: &Values) -> Result<Vec<Item>> {
        let ty = values.nc_type();
        match values {
            Values::User(_, bytes) => self.fixed_items(ty, bytes, 0),
            Values::Packed(_, list) => list.iter().map(|element| self.item(ty, element.as_bytes())).collect(),
            _ => Ok((0..values.len()).filter_map(|index| Item::atomic(values, index)).collect()),
        }
    }

    /// Converts one element to an item, from its memory form, or from its packed form if its size is not
    /// fixed.
    ///
    /// # Errors
    /// As [`Model::items`].
    pub fn item(&self, ty: NcType, bytes: &[u8]) -> Result<Item> {
        let mut cursor = Unpacker::new(bytes);
        if ty == NcType::String {
            return Ok(Item::String(bytes.into()));
        }
        if let Some(base) = self.vlen_base(ty)? {
            return self
                .vlen_items(base, cursor, 0)
                .map(Item::Vlen)
                .map_err(|error| error.at(self.type_name(ty)));
        }
        let mut items = self.part_items(ty, 1, &mut cursor, 0)?;
        cursor.end().map_err(|error| error.at(self.type_name(ty)))?;
        items.pop().ok_or_else(|| ErrorKind::Internal.context("one element"))
    }

    /// Converts elements of a type of fixed size.
    fn fixed_items(&self, ty: NcType, bytes: &[u8], depth: usize) -> Result<Vec<Item>> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep(ty));
        }
        let broken = || {
            ErrorKind::BadType.context(format!(
                "{} bytes are not whole elements of {}",
                bytes.len(),
                self.type_name(ty)
            ))
        };
        if !self.is_fixed(ty)? {
            return Err(broken());
        }
        let size = self.fixed_size(ty)?;
        if !bytes.len().is_multiple_of(size) {
            return Err(broken());
        }
        let NcType::User(id) = ty else {
            let values = Values::from_native_bytes(ty, bytes).ok_or_else(broken)?;
            return self.items(&values);
        };
        let user = self.user_type(id)?;
        match &user.class {
            TypeClass::Opaque { .. } => {
                Ok(bytes.chunks_exact(size).map(|bytes| Item::Opaque(bytes.to_vec())).collect())
            }
            TypeClass::Enum { base, .. } => self.fixed_items(*base, bytes, depth + 1),
            TypeClass::Vlen { .. } => Err(broken()),
            TypeClass::Compound { fields, .. } => {
                let one = |bytes: &[u8]| {
                    let field = |field: &crate::Field| {
                        let lost = || {
                            ErrorKind::BadField
                                .context(format!("type {:?}: field {:?}", user.name, field.name))
                        };
                        let len = self.fixed_size(field.ty)?.checked_mul(field.count()?).ok_or_else(lost)?;
                        let end = field.offset.checked_add(len).ok_or_else(lost)?;
                        let bytes = bytes.get(field.offset..end).ok_or_else(lost)?;
                        self.fixed_items(field.ty, bytes, depth + 1)
                    };
                    fields.iter().map(field).collect::<Result<_>>().map(Item::Compound)
                };
                bytes.chunks_exact(size).map(one).collect()
            }
        }
    }

    /// Converts `count` elements inside another element.
    fn part_items(
        &self,
        ty: NcType,
        count: usize,
        cursor: &mut Unpacker<'_>,
        depth: usize,
    ) -> Result<Vec<Item>> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep(ty));
        }
        if self.is_fixed(ty)? {
            let len = self.fixed_size(ty)?.checked_mul(count);
            let len = len.ok_or_else(|| {
                ErrorKind::BadType.context(format!("{count} elements of {}", self.type_name(ty)))
            })?;
            return self.fixed_items(ty, cursor.fixed(len)?, depth);
        }
        let vlen = self.vlen_base(ty)?;
        let mut items = Vec::new();
        for _ in 0..count {
            let before = cursor.len();
            items.push(match (ty, vlen) {
                (_, Some(base)) => Item::Vlen(self.vlen_items(base, cursor.vlen()?, depth + 1)?),
                (NcType::User(id), None) => {
                    let TypeClass::Compound { fields, .. } = &self.user_type(id)?.class else {
                        return Err(
                            ErrorKind::Internal.context("only compounds and vlens have no fixed size")
                        );
                    };
                    let part =
                        |field: &crate::Field| self.part_items(field.ty, field.count()?, cursor, depth + 1);
                    Item::Compound(fields.iter().map(part).collect::<Result<_>>()?)
                }
                _ => Item::String(cursor.string()?.into()),
            });
            if cursor.len() == before {
                return Err(
                    ErrorKind::BadType.context(format!("elements of {} have no bytes", self.type_name(ty)))
                );
            }
        }
        Ok(items)
    }

    fn vlen_items(&self, base: NcType, mut cursor: Unpacker<'_>, depth: usize) -> Result<Vec<Item>> {
        if self.is_fixed(base)? {
            return self.fixed_items(base, cursor.fixed(cursor.len())?, depth);
        }
        let mut items = Vec::new();
        while !cursor.is_empty() {
            items.append(&mut self.part_items(base, 1, &mut cursor, depth)?);
        }
        Ok(items)
    }

    /// Converts items to values of a type.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if an item has another type; [`ErrorKind::Range`] if a number does not fit.
    pub fn values(&self, ty: NcType, items: &[Item]) -> Result<Values> {
        let NcType::User(id) = ty else {
            if ty == NcType::String {
                let text = |item: &Item| match item {
                    Item::String(text) => Ok(text.clone()),
                    other => Err(self.no_item(ty, other)),
                };
                return items.iter().map(text).collect::<Result<_>>().map(Values::String);
            }
            let bytes = self.memory(ty, items)?;
            return Values::from_native_bytes(ty, &bytes)
                .ok_or_else(|| ErrorKind::Internal.context("whole elements"));
        };
        if self.is_fixed(ty)? {
            return Ok(Values::User(id, self.memory(ty, items)?));
        }
        Ok(Values::Packed(id, items.iter().map(|item| self.pack(ty, item)).collect::<Result<_>>()?))
    }

    /// Returns the packed form of an element, or its memory form if its size is fixed.
    ///
    /// # Errors
    /// As [`Model::values`].
    pub fn pack(&self, ty: NcType, item: &Item) -> Result<NcString> {
        let mut packer = Packer::default();
        match (item, self.vlen_base(ty)?) {
            (Item::String(text), None) if ty == NcType::String => return Ok(text.clone()),
            (Item::Vlen(items), Some(base)) => self.pack_part(base, items, &mut packer, 0)?,
            (_, Some(_)) => return Err(self.no_item(ty, item)),
            (item, None) => self.pack_part(ty, std::slice::from_ref(item), &mut packer, 0)?,
        }
        Ok(packer.finish())
    }

    fn pack_part(&self, ty: NcType, items: &[Item], packer: &mut Packer, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(self.too_deep(ty));
        }
        if self.is_fixed(ty)? {
            packer.fixed(&self.memory(ty, items)?);
            return Ok(());
        }
        let vlen = self.vlen_base(ty)?;
        for item in items {
            match (item, vlen, ty) {
                (Item::Vlen(items), Some(base), _) => {
                    packer.open();
                    self.pack_part(base, items, packer, depth + 1)?;
                    packer.close();
                }
                (Item::String(text), None, NcType::String) => packer.string(text.as_bytes()),
                (Item::Compound(parts), None, NcType::User(id)) => {
                    let TypeClass::Compound { fields, .. } = &self.user_type(id)?.class else {
                        return Err(self.no_item(ty, item));
                    };
                    self.check_parts(ty, fields, parts)?;
                    for (field, part) in fields.iter().zip(parts) {
                        self.pack_part(field.ty, part, packer, depth + 1)?;
                    }
                }
                _ => return Err(self.no_item(ty, item)),
            }
        }
        Ok(())
    }

    /// Checks the number of elements of each field.
    fn check_parts(&self, ty: NcType, fields: &[crate::Field], parts: &[Vec<Item>]) -> Result<()> {
        if fields.len() != parts.len() {
            let (found, wanted) = (parts.len(), fields.len());
            return Err(
                ErrorKind::BadType.context(format!("{found} fields for {wanted} of {}", self.type_name(ty)))
            );
        }
        for (field, part) in fields.iter().zip(parts) {
            let wanted = field.count()?;
            if part.len() != wanted {
                let what = format!("{} elements for {wanted} of field {:?}", part.len(), field.name);
                return Err(ErrorKind::BadType.context(what).at(self.type_name(ty)));
            }
        }
        Ok(())
    }

    /// Returns the memory form of elements of fixed size.
    fn memory(&self, ty: NcType, items: &[Item]) -> Result<Vec<u8>> {
        let size = self.fixed_size(ty)?;
        let too_many =
            || ErrorKind::NoMem.context(format!("{} elements of {}", items.len(), self.type_name(ty)));
        let len =
            size.checked_mul(items.len()).filter(|&len| len <= isize::MAX as usize).ok_or_else(too_many)?;
        let mut out = Vec::new();
        out.try_reserve_exact(len).map_err(|error| too_many().caused_by(error))?;
        out.resize(len, 0);
        for (item, out) in items.iter().zip(out.chunks_exact_mut(size)) {
            self.store(ty, item, out, 0)?;
        }
        Ok(out)
    }

    fn store(&self, ty: NcType, item: &Item, out: &mut [u8], depth: usize) -> Result<()> {
        let wrong = || self.no_item(ty, item);
        let range = |value: &i128| {
            ErrorKind::Range.context(format!("{value} is not a value of {}", self.type_name(ty)))
        };
        macro_rules! int {
            ($t:ty) => {
                match item {
                    Item::Int(value) => {
                        out.copy_from_slice(&<$t>::try_from(*value).map_err(|_| range(value))?.to_ne_bytes())
                    }
                    _ => return Err(wrong()),
                }
            };
        }
        match (ty, item) {
            (NcType::Byte, _) => int!(i8),
            (NcType::Short, _) => int!(i16),
            (NcType::Int, _) => int!(i32),
            (NcType::Int64, _) => int!(i64),
            (NcType::UByte, _) => int!(u8),
            (NcType::UShort, _) => int!(u16),
            (NcType::UInt, _) => int!(u32),
            (NcType::UInt64, _) => int!(u64),
            (NcType::Float, Item::Float(value)) => out.copy_from_slice(&value.to_ne_bytes()),
            (NcType::Double, Item::Double(value)) => out.copy_from_slice(&value.to_ne_bytes()),
            (NcType::Char, Item::Char(value)) => out.copy_from_slice(&[*value]),
            (NcType::User(_), _) if depth > MAX_DEPTH => return Err(self.too_deep(ty)),
            (NcType::User(id), _) => match (&self.user_type(id)?.class, item) {
                (TypeClass::Opaque { size }, Item::Opaque(bytes)) if bytes.len() == *size => {
                    out.copy_from_slice(bytes)
                }
                (TypeClass::Enum { base, .. }, _) if base.is_integer() => {
                    self.store(*base, item, out, depth + 1)?
                }
                (TypeClass::Compound { fields, .. }, Item::Compound(parts)) => {
                    self.check_parts(ty, fields, parts)?;
                    for (field, part) in fields.iter().zip(parts) {
                        let size = self.fixed_size(field.ty)?;
                        for (at, item) in part.iter().enumerate() {
                            let start =
                                size.checked_mul(at).and_then(|start| start.checked_add(field.offset));
                            let end = start.and_then(|start| start.checked_add(size));
                            let place = start.zip(end).and_then(|(start, end)| out.get_mut(start..end));
                            self.store(field.ty, item, place.ok_or(ErrorKind::BadField)?, depth + 1)?;
                        }
                    }
                }
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn too_deep(&self, ty: NcType) -> Error {
        ErrorKind::BadType.context(format!("{} is nested too deeply", self.type_name(ty)))
    }

    fn no_item(&self, ty: NcType, item: &Item) -> Error {
        let what = match item {
            Item::Int(value) => format!("the number {value}"),
            Item::Float(value) => format!("the float {value}"),
            Item::Double(value) => format!("the double {value}"),
            Item::Char(byte) => format!("the character {byte}"),
            Item::String(_) => "a string".to_owned(),
            Item::Opaque(bytes) => format!("{} opaque bytes", bytes.len()),
            Item::Vlen(items) => format!("a list of {}", items.len()),
            Item::Compound(parts) => format!("a record of {} fields", parts.len()),
        };
        ErrorKind::BadType.context(format!("{what} is not an element of {}", self.type_name(ty)))
    }
}
