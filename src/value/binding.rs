//! [`Binding`]: how a Rust type lies in a stored type.

use nczarr_model::{ErrorKind, Item, Model, NcType, Result, TypeClass, UserType, Values, convert};

use super::bound_enum::BoundEnum;
use super::bound_struct::BoundStruct;
use super::no_fixed_size;

/// The connection of a Rust type with a stored type. It is made once, and used for each element.
#[derive(Debug, Clone)]
pub struct Binding {
    ty: NcType,
    size: usize,
    pub(super) class: BoundClass,
}

/// The part of a [`Binding`] that depends on the Rust type.
#[derive(Debug, Clone)]
pub(super) enum BoundClass {
    Number(BoundNumber),
    Enum(BoundEnum),
    Struct(BoundStruct),
    /// An array, or a vlen.
    Sequence(Box<Binding>),
    String,
}

/// A number in memory, and the conversions if the stored type is another one.
#[derive(Debug, Clone)]
pub(super) struct BoundNumber {
    ty: NcType,
    conversions: Option<Conversions>,
}

#[derive(Debug, Clone)]
struct Conversions {
    load: convert::NativeRow,
    store: convert::NativeRow,
}

impl Binding {
    pub(super) fn new(ty: NcType, size: usize, class: BoundClass) -> Self {
        Self { ty, size, class }
    }

    /// Connects numbers of type `own` with a stored number, enum, or character.
    ///
    /// # Errors
    /// `NC_EBADTYPE` for other stored types, and for a shape.
    pub(super) fn of_number(own: NcType, model: &Model, ty: NcType, shape: &[u32]) -> Result<Self> {
        let stored = match ty {
            NcType::User(id) => match &model.user_type(id)?.class {
                TypeClass::Enum { base, .. } => *base,
                _ => ty,
            },
            atomic => atomic,
        };
        let is_text = stored == NcType::Char && own == NcType::UByte;
        let size = stored.size().filter(|_| shape.is_empty() && (is_text || stored.is_numeric()));
        let wrong = || {
            let stored = describe(model, ty, shape);
            ErrorKind::BadType.context(format!("expected a number for {}, found {stored}", own.name()))
        };
        let size = size.ok_or_else(wrong)?;
        let conversions = if is_text || stored == own {
            None
        } else {
            let (load, store) = (convert::native_row(stored, own)?, convert::native_row(own, stored)?);
            Some(Conversions { load, store })
        };
        Ok(Self::new(stored, size, BoundClass::Number(BoundNumber { ty: own, conversions })))
    }

    /// Connects strings with stored strings.
    pub(super) fn of_string(shape: &[u32]) -> Result<Self> {
        single("a string", shape)?;
        Ok(Self::new(NcType::String, 0, BoundClass::String))
    }

    /// Connects an array with a field that has a shape.
    pub(super) fn of_array(len: usize, item: Self) -> Result<Self> {
        let too_large = || ErrorKind::BadType.context(format!("an array of {len} elements is too large"));
        let size = item.size.checked_mul(len).ok_or_else(too_large)?;
        Ok(Self::new(item.ty, size, BoundClass::Sequence(Box::new(item))))
    }

    /// Connects a vector with a vlen.
    pub(super) fn of_vlen(ty: NcType, shape: &[u32], item: Self) -> Result<Self> {
        single("a vlen", shape)?;
        Ok(Self::new(ty, 0, BoundClass::Sequence(Box::new(item))))
    }

    /// The stored type of one value: for an enum its integer type, for an array the type of its elements.
    pub fn nc_type(&self) -> NcType {
        self.ty
    }

    /// Returns the bytes of the stored value; 0 if strings or vlens are in it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the connection of the elements of an array or a vlen.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if it is neither.
    pub fn item(&self) -> Result<&Self> {
        match &self.class {
            BoundClass::Sequence(item) => Ok(item),
            _ => Err(self.misused("a sequence")),
        }
    }

    /// Whether the bytes of numbers of type `ty` are the stored bytes.
    pub(super) fn is_number(&self, ty: NcType) -> bool {
        matches!(&self.class, BoundClass::Number(BoundNumber { ty: own, conversions: None }) if *own == ty)
    }

    /// Reads a stored number. `number` has the native bytes of the Rust number.
    #[inline]
    pub(super) fn load_number(&self, bytes: &[u8], number: &mut [u8]) -> Result<()> {
        match &self.class {
            BoundClass::Number(BoundNumber { conversions: None, .. }) if bytes.len() == number.len() => {
                number.copy_from_slice(bytes);
                Ok(())
            }
            BoundClass::Number(BoundNumber { ty, conversions: Some(rows) }) if bytes.len() == self.size => {
                let is_out_of_range = (rows.load)(bytes, number);
                if is_out_of_range { Err(out_of_range(self.ty, bytes, *ty)) } else { Ok(()) }
            }
            _ => Err(self.misused("a number")),
        }
    }

    /// Writes a number, given as native bytes, as stored.
    #[inline]
    pub(super) fn store_number(&self, number: &[u8], bytes: &mut [u8]) -> Result<()> {
        match &self.class {
            BoundClass::Number(BoundNumber { conversions: None, .. }) if bytes.len() == number.len() => {
                bytes.copy_from_slice(number);
                Ok(())
            }
            BoundClass::Number(BoundNumber { ty, conversions: Some(rows) }) if bytes.len() == self.size => {
                let is_out_of_range = (rows.store)(number, bytes);
                if is_out_of_range { Err(out_of_range(*ty, number, self.ty)) } else { Ok(()) }
            }
            _ => Err(self.misused("a number")),
        }
    }

    /// Checks that each field of the stored type has a value. A write would otherwise erase the others.
    ///
    /// # Errors
    /// `NC_EBADFIELD` that names a field.
    pub(super) fn check_complete(&self) -> Result<()> {
        match &self.class {
            BoundClass::Struct(bound) => bound.check_complete(),
            BoundClass::Sequence(item) => item.check_complete(),
            BoundClass::Number(_) | BoundClass::Enum(_) | BoundClass::String => Ok(()),
        }
    }

    /// The error of a binding that was made for another Rust type.
    #[cold]
    pub(super) fn misused(&self, expected: &str) -> nczarr_model::Error {
        ErrorKind::Internal.context(format!("expected a binding of {expected}, found {self:?}"))
    }
}

#[cold]
fn out_of_range(from: NcType, bytes: &[u8], to: NcType) -> nczarr_model::Error {
    let value = Values::from_native_bytes(from, bytes).and_then(|values| Item::atomic(&values, 0));
    match value {
        Some(value) => ErrorKind::Range.context(format!("{value:?} does not fit type {}", to.name())),
        None => no_fixed_size(from),
    }
}

/// Returns the user-defined type of a single value; `None` for an atomic type and for an array.
pub(super) fn user_type<'m>(model: &'m Model, ty: NcType, shape: &[u32]) -> Result<Option<&'m UserType>> {
    match ty {
        NcType::User(id) if shape.is_empty() => model.user_type(id).map(Some),
        _ => Ok(None),
    }
}

/// Checks that a field has no shape.
pub(super) fn single(object: &str, shape: &[u32]) -> Result<()> {
    match shape {
        [] => Ok(()),
        _ => Err(ErrorKind::BadType.context(format!("expected {object}, found an array of shape {shape:?}"))),
    }
}

/// Returns the name of any type.
pub(super) fn type_name(model: &Model, ty: NcType) -> String {
    match ty {
        NcType::User(id) => model.user_type(id).map(|ty| ty.name.clone()).unwrap_or_default(),
        atomic => atomic.name().to_owned(),
    }
}

/// Returns type and shape of a field as text.
pub(super) fn describe(model: &Model, ty: NcType, shape: &[u32]) -> String {
    match shape {
        [] => type_name(model, ty),
        _ => format!("{} of shape {shape:?}", type_name(model, ty)),
    }
}
