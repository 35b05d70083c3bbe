//! [`Compound`] and [`compound!`](crate::compound): Rust structs as elements of compound types.
//!
//! Fields are matched by name, so the stored type may have more fields, in any order and at any offsets.

use nczarr_model::{ErrorKind, Item, NcType, Result, TypeClass};

use crate::{Extents, Group, UserType, Variable};

/// Types of fields of a [`Compound`]: numbers, `String`, arrays of fields, `Vec` for vlens, and compounds.
pub trait FieldValue: Sized {
    /// Returns type and shape of the field; defines the type if needed. A vlen of `int` is called `int_vlen`.
    ///
    /// # Errors
    /// The errors of defining types.
    fn describe(group: &Group) -> Result<(NcType, Vec<u32>)>;

    /// Returns the elements of the field.
    fn to_items(&self) -> Vec<Item>;

    /// Builds the field from its elements.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if the elements have another type, `NC_ERANGE` for a number that does not fit.
    fn from_items(items: Vec<Item>) -> Result<Self>;
}

/// A struct that is an element of a compound type; [`compound!`](crate::compound) implements it.
pub trait Compound: FieldValue {
    /// The name of the type.
    const NAME: &'static str;

    /// Returns name, type and shape of each field.
    ///
    /// # Errors
    /// As [`FieldValue::describe`].
    fn fields(group: &Group) -> Result<Vec<(&'static str, NcType, Vec<u32>)>>;

    /// Returns the names of the fields.
    fn names() -> &'static [&'static str];

    /// Returns the elements of each field.
    fn to_parts(&self) -> Vec<Vec<Item>>;

    /// Builds the struct from the elements of each field.
    ///
    /// # Errors
    /// As [`FieldValue::from_items`].
    fn from_parts(parts: Vec<Vec<Item>>) -> Result<Self>;
}

fn wrong(expected: &str, found: &[Item]) -> nczarr_model::Error {
    ErrorKind::BadType.context(format!("expected {expected}, found {found:?}"))
}

macro_rules! integers {
    ($($t:ty, $ty:ident;)*) => {$(
        impl FieldValue for $t {
            fn describe(_: &Group) -> Result<(NcType, Vec<u32>)> {
                Ok((NcType::$ty, Vec::new()))
            }
            fn to_items(&self) -> Vec<Item> {
                vec![Item::Int((*self).into())]
            }
            fn from_items(items: Vec<Item>) -> Result<Self> {
                match items[..] {
                    [Item::Int(value)] => {
                        value.try_into().map_err(|_| ErrorKind::Range.context(format!("{value} as {}", stringify!($t))))
                    }
                    _ => Err(wrong(stringify!($t), &items)),
                }
            }
        }
    )*};
}

integers! {
    i8, Byte; i16, Short; i32, Int; i64, Int64; u8, UByte; u16, UShort; u32, UInt; u64, UInt64;
}

impl FieldValue for f32 {
    fn describe(_: &Group) -> Result<(NcType, Vec<u32>)> {
        Ok((NcType::Float, Vec::new()))
    }
    fn to_items(&self) -> Vec<Item> {
        vec![Item::Float(*self)]
    }
    fn from_items(items: Vec<Item>) -> Result<Self> {
        match items[..] {
            [Item::Float(value)] => Ok(value),
            _ => Err(wrong("f32", &items)),
        }
    }
}

impl FieldValue for f64 {
    fn describe(_: &Group) -> Result<(NcType, Vec<u32>)> {
        Ok((NcType::Double, Vec::new()))
    }
    fn to_items(&self) -> Vec<Item> {
        vec![Item::Double(*self)]
    }
    fn from_items(items: Vec<Item>) -> Result<Self> {
        match items[..] {
            [Item::Double(value)] => Ok(value),
            [Item::Float(value)] => Ok(value.into()),
            _ => Err(wrong("f64", &items)),
        }
    }
}

impl FieldValue for String {
    fn describe(_: &Group) -> Result<(NcType, Vec<u32>)> {
        Ok((NcType::String, Vec::new()))
    }
    fn to_items(&self) -> Vec<Item> {
        vec![Item::String(self.as_str().into())]
    }
    fn from_items(items: Vec<Item>) -> Result<Self> {
        match &items[..] {
            [Item::String(text)] => text.to_str().map(str::to_owned),
            _ => Err(wrong("a string", &items)),
        }
    }
}

impl<T: FieldValue, const N: usize> FieldValue for [T; N] {
    fn describe(group: &Group) -> Result<(NcType, Vec<u32>)> {
        let (ty, mut shape) = T::describe(group)?;
        let len =
            u32::try_from(N).map_err(|_| ErrorKind::Inval.context(format!("a field of {N} elements")))?;
        shape.insert(0, len);
        Ok((ty, shape))
    }
    fn to_items(&self) -> Vec<Item> {
        self.iter().flat_map(FieldValue::to_items).collect()
    }
    fn from_items(items: Vec<Item>) -> Result<Self> {
        if N == 0 || !items.len().is_multiple_of(N) {
            return Err(wrong(&format!("{N} elements"), &items));
        }
        let each = items.len() / N;
        let parts: Vec<T> =
            items.chunks(each.max(1)).map(|items| T::from_items(items.to_vec())).collect::<Result<_>>()?;
        parts.try_into().map_err(|_| wrong(&format!("{N} elements"), &items))
    }
}

impl<T: FieldValue> FieldValue for Vec<T> {
    fn describe(group: &Group) -> Result<(NcType, Vec<u32>)> {
        let (base, shape) = T::describe(group)?;
        if !shape.is_empty() {
            return Err(ErrorKind::BadType.context("a vlen of arrays"));
        }
        let name = match base {
            NcType::User(_) => group.base_name(base),
            atomic => atomic.name().to_owned(),
        };
        let name = format!("{name}_vlen");
        if let Ok(known) = group.user_type(&name)
            && known.base()? == Some(base)
        {
            return Ok((known.nc_type(), Vec::new()));
        }
        Ok((group.add_vlen(&name, base)?.nc_type(), Vec::new()))
    }
    fn to_items(&self) -> Vec<Item> {
        vec![Item::Vlen(self.iter().flat_map(FieldValue::to_items).collect())]
    }
    fn from_items(items: Vec<Item>) -> Result<Self> {
        match <[Item; 1]>::try_from(items) {
            Ok([Item::Vlen(items)]) => items.into_iter().map(|item| T::from_items(vec![item])).collect(),
            Ok(items) => Err(wrong("a vlen", &items)),
            Err(items) => Err(wrong("a vlen", &items)),
        }
    }
}

/// Defines structs that are elements of compound types: `struct Name = "name of the type" { field: type, …
/// }`.
///
/// # Examples
/// ```
/// # #[cfg(not(all(feature = "nczarr", feature = "file")))]
/// # fn main() {}
/// # #[cfg(all(feature = "nczarr", feature = "file"))]
/// # fn main() -> nczarr::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("a.zarr").display().to_string();
/// nczarr::compound! {
///     #[derive(Debug, Clone, PartialEq)]
///     struct Station = "station" {
///         id: i32,
///         place: [f64; 2],
///         name: String,
///         heights: Vec<f32>,
///     }
/// }
///
/// let file = nczarr::create(&format!("file://{path}#mode=nczarr"))?;
/// let ty = file.add_compound_of::<Station>()?;
/// file.add_dimension("station", 2)?;
/// let stations = file.add_variable_with_type("stations", ty.nc_type(), &["station"])?;
/// let oslo = Station { id: 1, place: [59.9, 10.7], name: "Oslo".into(), heights: vec![2.0, 10.0] };
/// stations.put_compounds(&[oslo.clone()], 0)?;
/// assert_eq!(stations.get_compounds::<Station>(0)?, [oslo]);
/// # file.close()
/// # }
/// ```
#[macro_export]
macro_rules! compound {
    ($(#[$meta:meta])* $vis:vis struct $name:ident = $type_name:literal {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident : $ty:ty),* $(,)?
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $ty,)*
        }

        impl $crate::Compound for $name {
            const NAME: &'static str = $type_name;

            fn fields(
                group: &$crate::Group,
            ) -> $crate::Result<::std::vec::Vec<(&'static str, $crate::NcType, ::std::vec::Vec<u32>)>> {
                ::std::result::Result::Ok(::std::vec![$({
                    let (ty, shape) = <$ty as $crate::FieldValue>::describe(group)?;
                    (::std::stringify!($field), ty, shape)
                }),*])
            }

            fn names() -> &'static [&'static str] {
                &[$(::std::stringify!($field)),*]
            }

            fn to_parts(&self) -> ::std::vec::Vec<::std::vec::Vec<$crate::model::Item>> {
                ::std::vec![$($crate::FieldValue::to_items(&self.$field)),*]
            }

            fn from_parts(parts: ::std::vec::Vec<::std::vec::Vec<$crate::model::Item>>) -> $crate::Result<Self> {
                let mut parts = parts.into_iter();
                ::std::result::Result::Ok(Self {
                    $($field: $crate::FieldValue::from_items(parts.next().unwrap_or_default())?,)*
                })
            }
        }

        impl $crate::FieldValue for $name {
            fn describe(group: &$crate::Group) -> $crate::Result<($crate::NcType, ::std::vec::Vec<u32>)> {
                ::std::result::Result::Ok((group.add_compound_of::<Self>()?.nc_type(), ::std::vec::Vec::new()))
            }

            fn to_items(&self) -> ::std::vec::Vec<$crate::model::Item> {
                ::std::vec![$crate::model::Item::Compound($crate::Compound::to_parts(self))]
            }

            fn from_items(items: ::std::vec::Vec<$crate::model::Item>) -> $crate::Result<Self> {
                match items.into_iter().next() {
                    ::std::option::Option::Some($crate::model::Item::Compound(parts)) => {
                        <Self as $crate::Compound>::from_parts(parts)
                    }
                    _ => ::std::result::Result::Err($crate::ErrorKind::BadType.context("expected a compound")),
                }
            }
        }
    };
}

impl Group {
    /// Returns the compound type of a struct. Defines it here if no visible type of its name has the same
    /// fields.
    ///
    /// # Errors
    /// As [`Group::add_compound`].
    pub fn add_compound_of<C: Compound>(&self) -> Result<UserType> {
        let fields = C::fields(self)?;
        if let Ok(known) = self.user_type(C::NAME) {
            let same = |(field, (name, ty, shape)): (&nczarr_model::Field, &(&str, NcType, Vec<u32>))| {
                field.name == *name && field.ty == *ty && field.shape == *shape
            };
            let there = known.fields()?;
            if there.len() == fields.len() && there.iter().zip(&fields).all(same) {
                return Ok(known);
            }
        }
        let fields: Vec<_> = fields.iter().map(|(name, ty, shape)| (*name, *ty, &shape[..])).collect();
        self.add_compound(C::NAME, &fields)
    }

    fn base_name(&self, ty: NcType) -> String {
        match ty {
            NcType::User(id) => {
                self.opened().model().user_type(id).map(|ty| ty.name.clone()).unwrap_or_default()
            }
            atomic => atomic.name().to_owned(),
        }
    }
}

impl Variable {
    /// Reads elements of a compound type as structs, in C order. Fields are found by name; stored fields that
    /// the struct lacks are ignored at the outermost level.
    ///
    /// # Errors
    /// As [`Variable::get`]; `NC_EBADTYPE` if the variable is not a compound or a field has another type;
    /// `NC_EBADFIELD` if a field is missing; `NC_ERANGE` for an integer that does not fit.
    pub fn get_compounds<C: Compound>(&self, extents: impl Extents) -> Result<Vec<C>> {
        let places = self.places::<C>()?;
        let items = self.get_items(extents)?.into_iter().map(|item| match item {
            Item::Compound(parts) => {
                C::from_parts(places.iter().map(|&place| parts[place].clone()).collect())
            }
            other => Err(wrong("a compound", &[other])),
        });
        items.collect::<Result<_>>().map_err(|error| error.at(self.full_name()))
    }

    /// Writes structs as elements of a compound type, in C order.
    ///
    /// # Errors
    /// As [`Variable::put`] and [`Variable::get_compounds`]; `NC_EBADFIELD` if the type has a field that the
    /// struct lacks.
    pub fn put_compounds<C: Compound>(&self, elements: &[C], extents: impl Extents) -> Result<()> {
        let places = self.places::<C>()?;
        let lacking = |len: usize| {
            let what = format!("the type has {len} fields, {} has {}", C::NAME, places.len());
            ErrorKind::BadField.context(what).at(self.full_name())
        };
        let len = self.compound_fields()?.len();
        if len != places.len() {
            return Err(lacking(len));
        }
        let item = |element: &C| {
            let mut parts = vec![Vec::new(); len];
            for (&place, part) in places.iter().zip(element.to_parts()) {
                parts[place] = part;
            }
            Item::Compound(parts)
        };
        self.put_items(&elements.iter().map(item).collect::<Vec<_>>(), extents)
    }

    fn compound_fields(&self) -> Result<Vec<nczarr_model::Field>> {
        match self.user_type().map(|ty| ty.class) {
            Some(TypeClass::Compound { fields, .. }) => Ok(fields),
            _ => Err(ErrorKind::BadType.context("not a variable of compound type").at(self.full_name())),
        }
    }

    /// Returns the position of each field of a struct within the type.
    fn places<C: Compound>(&self) -> Result<Vec<usize>> {
        let fields = self.compound_fields()?;
        let place = |name: &&str| {
            let missing = || ErrorKind::BadField.context(format!("no field {name:?}")).at(self.full_name());
            fields.iter().position(|field| field.name == **name).ok_or_else(missing)
        };
        C::names().iter().map(place).collect()
    }
}
