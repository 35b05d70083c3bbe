//! The packed form: one element of a type that has a string or a vlen anywhere in it, as bytes without
//! pointers.
//!
//! An element of a type of fixed size ([`Model::is_fixed`]) is its memory form: native byte order, a compound
//! with its own offsets and size. An element of any other type is a sequence of parts without gaps:
//!
//! * a compound: its fields in the order of insertion, each with its elements in C order. Fields of fixed
//!   size are adjacent memory forms;
//! * a nested string: a `u64` length in bytes, and the bytes;
//! * a nested vlen: a `u64` length in bytes, and its elements, each in its form inside a compound.
//!
//! A top-level string or vlen has no length before it. Lengths are in native byte order. Packed elements are
//! [`Values::Packed`](crate::Values::Packed), and the strings of a data call.
//!
//! [`Packer`] writes them, and [`Unpacker`] reads them part by part. [`Model::parts`] follows a type and
//! checks all lengths. [`Item`](crate::Item) is an element as a tree.

use crate::{ErrorKind, Field, Model, NcString, NcType, Result, TypeClass, Values};

/// Types nested more deeply are treated as cyclic.
pub(crate) const MAX_DEPTH: usize = 64;

/// The maximum size of an unwritten element.
const MAX_BLANK: usize = 16 << 20;

/// The size of a length.
const LENGTH: usize = size_of::<u64>();

/// Writes one packed element, part by part in the order of its type.
///
/// # Examples
/// ```
/// use nczarr_model::{Packer, Unpacker};
///
/// // A compound of an int, a string and a vlen of shorts.
/// let mut packer = Packer::default();
/// packer.fixed(&7i32.to_ne_bytes());
/// packer.string(b"ab");
/// packer.open();
/// packer.fixed(&1i16.to_ne_bytes());
/// packer.close();
/// let element = packer.finish();
/// assert_eq!(element.as_bytes().len(), 4 + (8 + 2) + (8 + 2));
///
/// let mut parts = Unpacker::new(element.as_bytes());
/// assert_eq!(parts.fixed(4)?, 7i32.to_ne_bytes());
/// assert_eq!(parts.string()?, b"ab");
/// assert_eq!(parts.vlen()?.fixed(2)?, 1i16.to_ne_bytes());
/// parts.end()?;
/// # Ok::<(), nczarr_model::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Packer {
    out: Vec<u8>,
    /// The start of each open vlen's elements.
    open: Vec<usize>,
}

impl Packer {
    /// Appends elements of fixed size in their memory form.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// A string in a compound or vlen.
    pub fn string(&mut self, text: &[u8]) {
        self.out.extend_from_slice(&(text.len() as u64).to_ne_bytes());
        self.out.extend_from_slice(text);
    }

    /// Begins a vlen inside a compound or vlen; its elements follow, up to [`Packer::close`].
    pub fn open(&mut self) {
        self.out.extend_from_slice(&[0; LENGTH]);
        self.open.push(self.out.len());
    }

    /// Ends the innermost open vlen; does nothing if none is open.
    pub fn close(&mut self) {
        if let Some(start) = self.open.pop() {
            let len = (self.out.len() - start) as u64;
            self.out[start - LENGTH..start].copy_from_slice(&len.to_ne_bytes());
        }
    }

    /// Returns the number of bytes so far.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Returns the element.
    pub fn finish(mut self) -> NcString {
        while !self.open.is_empty() {
            self.close();
        }
        self.out.into()
    }
}

/// Reads one packed element, part by part in the order of its type. Lengths are checked against the available
/// bytes.
#[derive(Debug, Clone)]
pub struct Unpacker<'a> {
    rest: &'a [u8],
}

impl<'a> Unpacker<'a> {
    /// Creates a reader of an element.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Reads `len` bytes: elements of fixed size in their memory form.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if fewer bytes remain.
    pub fn fixed(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(len) else { return Err(self.short(len as u64)) };
        self.rest = rest;
        Ok(bytes)
    }

    /// A string in a compound or vlen.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if the element ends early.
    pub fn string(&mut self) -> Result<&'a [u8]> {
        let Some((length, rest)) = self.rest.split_first_chunk::<LENGTH>() else { return Err(self.short(8)) };
        let len = u64::from_ne_bytes(*length);
        self.rest = rest;
        match usize::try_from(len) {
            Ok(len) => self.fixed(len),
            Err(_) => Err(self.short(len)),
        }
    }

    /// Reads a vlen inside a compound or vlen; returns a reader of its elements.
    ///
    /// # Errors
    /// As [`Unpacker::string`].
    pub fn vlen(&mut self) -> Result<Self> {
        self.string().map(Self::new)
    }

    /// Returns the number of remaining bytes.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Whether no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that no bytes remain.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if bytes remain.
    pub fn end(&self) -> Result<()> {
        match self.len() {
            0 => Ok(()),
            more => {
                Err(ErrorKind::BadType.context(format!("{more} bytes after the last part of the element")))
            }
        }
    }

    fn short(&self, wanted: u64) -> crate::Error {
        ErrorKind::BadType
            .context(format!("packed element too short (expected {wanted} more bytes, found {})", self.len()))
    }
}

/// A part of a packed element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackedPart<'a> {
    /// Elements of a type of fixed size, in their memory form; none, for an empty vlen.
    Fixed {
        /// Their type.
        ty: NcType,
        /// A whole number of them.
        bytes: &'a [u8],
    },
    /// A string.
    String(&'a [u8]),
    /// A vlen begins.
    Open,
    /// The innermost open vlen ends.
    Close,
}

impl Model {
    /// Whether all elements of a type have the same size: the type contains no string or vlen.
    ///
    /// # Errors
    /// [`ErrorKind::BadTypId`] if it refers to a type that does not exist.
    pub fn is_fixed(&self, ty: NcType) -> Result<bool> {
        let NcType::User(id) = ty else { return Ok(ty != NcType::String) };
        match self.user_type(id)?.class {
            TypeClass::Vlen { .. } => return Ok(false),
            TypeClass::Enum { .. } | TypeClass::Opaque { .. } => return Ok(true),
            TypeClass::Compound { .. } => {}
        }
        // Each type is visited once.
        let mut seen = vec![false; self.user_types().len()];
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let class = &self.user_type(id)?.class;
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            match class {
                TypeClass::Vlen { .. } => return Ok(false),
                TypeClass::Enum { .. } | TypeClass::Opaque { .. } => {}
                TypeClass::Compound { fields, .. } => {
                    for field in fields {
                        match field.ty {
                            NcType::String => return Ok(false),
                            NcType::User(inner) => open.push(inner),
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(true)
    }

    /// Calls `each` for the parts of a packed element: those of its fields or elements, in order.
    ///
    /// An element of fixed size is one part. A top-level vlen has no [`PackedPart::Open`].
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] if the bytes are not an element of the type; the error of `each`.
    pub fn parts<'a>(
        &self,
        ty: NcType,
        bytes: &'a [u8],
        each: &mut dyn FnMut(PackedPart<'a>) -> Result<()>,
    ) -> Result<()> {
        let named = |error: crate::Error| error.at(self.type_name(ty));
        let mut cursor = Unpacker::new(bytes);
        match self.vlen_base(ty)? {
            Some(base) => self.elements_of(base, cursor, each, 0).map_err(named),
            None if ty == NcType::String => each(PackedPart::String(bytes)),
            None => self.part(ty, 1, &mut cursor, each, 0).and_then(|()| cursor.end()).map_err(named),
        }
    }

    /// Checks that bytes are a packed element of a type.
    ///
    /// # Errors
    /// As [`Model::parts`].
    pub fn check_packed(&self, ty: NcType, bytes: &[u8]) -> Result<()> {
        self.parts(ty, bytes, &mut |_| Ok(()))
    }

    /// Passes on the elements of a vlen, which are all remaining bytes.
    fn elements_of<'a>(
        &self,
        base: NcType,
        mut cursor: Unpacker<'a>,
        each: &mut dyn FnMut(PackedPart<'a>) -> Result<()>,
        depth: usize,
    ) -> Result<()> {
        if self.is_fixed(base)? {
            let size = self.fixed_size(base)?;
            if !cursor.len().is_multiple_of(size) {
                let (len, name) = (cursor.len(), self.type_name(base));
                return Err(ErrorKind::BadType
                    .context(format!("{len} bytes are not whole elements of {name} ({size} bytes each)")));
            }
            let bytes = cursor.fixed(cursor.len())?;
            return each(PackedPart::Fixed { ty: base, bytes });
        }
        while !cursor.is_empty() {
            let before = cursor.len();
            self.part(base, 1, &mut cursor, each, depth)?;
            if cursor.len() == before {
                return Err(
                    ErrorKind::BadType.context(format!("elements of {} have no bytes", self.type_name(base)))
                );
            }
        }
        Ok(())
    }

    /// Passes on `count` elements inside another element.
    fn part<'a>(
        &self,
        ty: NcType,
        count: usize,
        cursor: &mut Unpacker<'a>,
        each: &mut dyn FnMut(PackedPart<'a>) -> Result<()>,
        depth: usize,
    ) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(ErrorKind::BadType.context(format!("{} is nested too deeply", self.type_name(ty))));
        }
        if self.is_fixed(ty)? {
            let len = self.fixed_size(ty)?.checked_mul(count);
            let len = len.ok_or_else(|| {
                ErrorKind::BadType.context(format!("{count} elements of {}", self.type_name(ty)))
            })?;
            return each(PackedPart::Fixed { ty, bytes: cursor.fixed(len)? });
        }
        if let Some(base) = self.vlen_base(ty)? {
            for _ in 0..count {
                let inner = cursor.vlen()?;
                each(PackedPart::Open)?;
                self.elements_of(base, inner, each, depth + 1)?;
                each(PackedPart::Close)?;
            }
            return Ok(());
        }
        for _ in 0..count {
            match ty {
                NcType::User(id) => {
                    let TypeClass::Compound { fields, .. } = &self.user_type(id)?.class else { continue };
                    for field in fields {
                        self.part(field.ty, field.count()?, cursor, each, depth + 1)?;
                    }
                }
                _ => each(PackedPart::String(cursor.string()?))?,
            }
        }
        Ok(())
    }

    /// Returns the default element of a user-defined type for unwritten data without a fill value: zeros,
    /// empty strings, empty vlens.
    ///
    /// # Errors
    /// [`ErrorKind::BadType`] for an atomic type, a type without bytes, or one of more than 16 MiB.
    pub fn blank(&self, ty: NcType) -> Result<Values> {
        let NcType::User(id) = ty else {
            return Err(ErrorKind::BadType.context(format!("{} is not a user-defined type", ty.name())));
        };
        if self.is_fixed(ty)? {
            let size = self.fixed_size(ty)?;
            if size > MAX_BLANK {
                return Err(self.too_large(ty));
            }
            return Ok(Values::User(id, vec![0; size]));
        }
        let mut packer = Packer::default();
        if self.vlen_base(ty)?.is_none() {
            self.blank_part(ty, 1, &mut packer, 0)?;
        }
        Ok(Values::Packed(id, vec![packer.finish()]))
    }

    fn blank_part(&self, ty: NcType, count: usize, packer: &mut Packer, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH || count > MAX_BLANK || packer.len() > MAX_BLANK {
            return Err(self.too_large(ty));
        }
        if self.is_fixed(ty)? {
            let bytes = self.fixed_size(ty)?.checked_mul(count).filter(|&bytes| bytes <= MAX_BLANK);
            packer.fixed(&vec![0; bytes.ok_or_else(|| self.too_large(ty))?]);
            return Ok(());
        }
        for _ in 0..count {
            match ty {
                NcType::User(id) => match &self.user_type(id)?.class {
                    TypeClass::Compound { fields, .. } => {
                        for field in fields {
                            self.blank_part(field.ty, field.count()?, packer, depth + 1)?;
                        }
                    }
                    _ => packer.string(b""),
                },
                _ => packer.string(b""),
            }
        }
        Ok(())
    }

    fn too_large(&self, ty: NcType) -> crate::Error {
        ErrorKind::BadType.context(format!("{}: an element has too many bytes", self.type_name(ty)))
    }

    /// Returns the base type of a vlen type; `None` for other types.
    ///
    /// # Errors
    /// [`ErrorKind::BadTypId`] if there is no such type.
    pub fn vlen_base(&self, ty: NcType) -> Result<Option<NcType>> {
        let NcType::User(id) = ty else { return Ok(None) };
        Ok(match self.user_type(id)?.class {
            TypeClass::Vlen { base } => Some(base),
            _ => None,
        })
    }

    /// Returns the size of an element of fixed size: at least one byte.
    pub(crate) fn fixed_size(&self, ty: NcType) -> Result<usize> {
        self.type_size(ty)?.filter(|&size| size > 0).ok_or_else(|| {
            ErrorKind::BadType.context(format!("elements of {} have no bytes", self.type_name(ty)))
        })
    }

    /// Returns the name of a type for messages.
    pub(crate) fn type_name(&self, ty: NcType) -> String {
        match ty {
            NcType::User(id) => match self.user_type(id) {
                Ok(ty) => format!("type {:?}", ty.name),
                Err(_) => format!("{id:?}"),
            },
            atomic => atomic.name().to_owned(),
        }
    }

    /// Returns the number of elements, for any type.
    ///
    /// # Errors
    /// [`ErrorKind::BadTypId`], [`ErrorKind::BadType`] for a type that does not exist or has no size.
    pub fn count(&self, values: &Values) -> Result<usize> {
        match values {
            Values::User(..) => Ok(values.len() / self.fixed_size(values.nc_type())?),
            _ => Ok(values.len()),
        }
    }
}

impl Field {
    /// Returns the number of its elements: the product of its shape.
    ///
    /// # Errors
    /// [`ErrorKind::BadField`] on overflow.
    pub fn count(&self) -> Result<usize> {
        let count =
            self.shape.iter().try_fold(1usize, |count, &len| count.checked_mul(usize::try_from(len).ok()?));
        count.ok_or_else(|| {
            ErrorKind::BadField.context(format!("field {:?} of shape {:?}", self.name, self.shape))
        })
    }
}
