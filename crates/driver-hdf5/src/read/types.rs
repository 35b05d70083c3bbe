//! [`Types`]: which netCDF type a datatype is, and the user-defined ones of a file.

use nczarr_dispatch::Fault;
use nczarr_model::{
    EnumMember, ErrorKind, Field, GroupId, Model, NcType, Result, Scalar, TypeClass, TypeId, UserType, Values,
};

use super::datatype::{Class, Datatype, Member};
use super::partial::Bits;
use super::walk::Tree;

/// The user-defined types of a file.
#[derive(Debug, Default)]
pub(crate) struct Types {
    known: Vec<Known>,
    /// Types without a name that were given one, of each class.
    unnamed: [u32; 4],
}

#[derive(Debug)]
struct Known {
    ty: Datatype,
    group: GroupId,
    name: String,
    id: Option<TypeId>,
    /// It is being defined.
    open: bool,
}

/// What netCDF has no type for.
pub(crate) fn no_type(ty: &Datatype) -> nczarr_model::Error {
    ErrorKind::BadTypId.context(format!("elements of HDF5's type {}, for which netCDF has none", ty.name()))
}

impl Types {
    /// Defines the named types of a file.
    ///
    /// # Errors
    /// What the model says of names.
    pub(crate) fn define(tree: &mut Tree, model: &mut Model) -> Result<Self> {
        let mut types = Self::default();
        for (number, group) in tree.groups.iter().enumerate() {
            for (name, ty) in &group.types {
                let group = GroupId(number as u32);
                types.known.push(Known { ty: ty.clone(), group, name: name.clone(), id: None, open: false });
            }
        }
        for number in 0..types.known.len() {
            if let Err(error) = types.id(number, model) {
                tree.faults.push(Fault::left_out(
                    format_args!("type {}", types.known[number].name),
                    format_args!("{error:#}"),
                ));
            }
        }
        Ok(types)
    }

    fn id(&mut self, number: usize, model: &mut Model) -> Result<TypeId> {
        if let Some(id) = self.known[number].id {
            return Ok(id);
        }
        if std::mem::replace(&mut self.known[number].open, true) {
            return Err(ErrorKind::BadTypId.context("a type that is made of itself, or of one that is not read"));
        }
        let Known { ty, group, name, .. } = &self.known[number];
        let (ty, group, name) = (ty.clone(), *group, name.clone());
        let class = self.class(&ty, model)?;
        let id = model.add_type(UserType { name, group, class })?;
        self.known[number].id = Some(id);
        Ok(id)
    }

    fn class(&mut self, ty: &Datatype, model: &mut Model) -> Result<TypeClass> {
        Ok(match &ty.class {
            Class::Compound(members) => {
                let fields = members.iter().map(|member| self.field(member, model)).collect::<Result<_>>()?;
                TypeClass::Compound { size: ty.size as usize, fields }
            }
            Class::Enum { base, members } => {
                let base_type = self.nc_type(base, model)?;
                let mut list = Vec::new();
                for (name, bytes) in members {
                    let value = super::values::numbers(base, base_type, bytes).and_then(|values| values.scalar(0));
                    let Some(Scalar::Int(value)) = value else { return Err(no_type(ty)) };
                    list.push(EnumMember { name: name.clone(), value });
                }
                TypeClass::Enum { base: base_type, members: list }
            }
            Class::Opaque => TypeClass::Opaque { size: ty.size as usize },
            Class::List(base) => TypeClass::Vlen { base: self.nc_type(base, model)? },
            _ => return Err(no_type(ty)),
        })
    }

    fn field(&mut self, member: &Member, model: &mut Model) -> Result<Field> {
        let (mut ty, mut shape) = (&member.ty, Vec::new());
        while let Class::Array { shape: inner, base } = &ty.class {
            shape.extend(inner);
            ty = base;
        }
        let nc_type = match ty.class {
            Class::Text => {
                if ty.size > 1 {
                    shape.push(ty.size);
                }
                NcType::Char
            }
            _ => self.nc_type(ty, model)?,
        };
        Ok(Field { name: member.name.clone(), offset: member.offset as usize, ty: nc_type, shape })
    }

    /// The netCDF type of elements; text of more than one byte is `String`.
    ///
    /// # Errors
    /// `NC_EBADTYPID` if there is none.
    pub(crate) fn nc_type(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        Ok(match &ty.class {
            Class::Integer { signed, .. } if ty.is_whole() => match (ty.size, signed) {
                (1, true) => NcType::Byte,
                (1, false) => NcType::UByte,
                (2, true) => NcType::Short,
                (2, false) => NcType::UShort,
                (4, true) => NcType::Int,
                (4, false) => NcType::UInt,
                (8, true) => NcType::Int64,
                (8, false) => NcType::UInt64,
                _ => return Err(no_type(ty)),
            },
            Class::Float { ieee: true, .. } => {
                if ty.size == 4 {
                    NcType::Float
                } else {
                    NcType::Double
                }
            }
            Class::Text => {
                if ty.size == 1 {
                    NcType::Char
                } else {
                    NcType::String
                }
            }
            Class::Strings => NcType::String,
            Class::Compound(_) | Class::Enum { .. } | Class::List(_) | Class::Opaque => {
                let named = |known: &Known| ty.named.is_some() && known.ty.named == ty.named;
                let position = self.known.iter().position(named);
                let position = position.or_else(|| self.known.iter().position(|known| known.ty.is_like(ty)));
                NcType::User(self.id(position.ok_or_else(|| no_type(ty))?, model)?)
            }
            _ => return Err(no_type(ty)),
        })
    }

    /// As [`Types::nc_type`], where elements need not have the size of the type: integers with unused bits, half floats.
    ///
    /// # Errors
    /// As [`Types::nc_type`].
    pub(crate) fn shown(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        match Bits::of(ty) {
            Some(bits) => Ok(bits.nc_type()),
            None => self.nc_type(ty, model),
        }
    }

    /// As [`Types::shown`], of a dataset of a group: a type without a name gets one there, as netCDF-C gives it.
    ///
    /// # Errors
    /// As [`Types::nc_type`].
    pub(crate) fn of_dataset(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        if let Ok(found) = self.shown(ty, model) {
            return Ok(found);
        }
        let (class, word) = match &ty.class {
            Class::Compound(_) => (0, "Compound"),
            Class::Enum { .. } => (1, "Enum"),
            Class::List(_) => (2, "Vlen"),
            Class::Opaque => (3, "Opaque"),
            _ => return Err(no_type(ty)),
        };
        // What it is made of first.
        match &ty.class {
            Class::Compound(members) => {
                for member in members {
                    let mut inner = &member.ty;
                    while let Class::Array { base, .. } = &inner.class {
                        inner = base;
                    }
                    if !matches!(inner.class, Class::Text) {
                        self.of_dataset(inner, model)?;
                    }
                }
            }
            Class::List(base) => {
                self.of_dataset(base, model)?;
            }
            _ => {}
        }
        self.unnamed[class] += u32::from(!ty.complex);
        let name = match ty.complex {
            true => format!("_Complex{}_t", ty.size * 8),
            false => format!("_Anonymous{word}{}", self.unnamed[class]),
        };
        self.known.push(Known { ty: ty.clone(), group: GroupId::ROOT, name, id: None, open: false });
        Ok(NcType::User(self.id(self.known.len() - 1, model)?))
    }
}

/// Values that hold nothing, of a type.
pub(crate) fn nothing(ty: NcType) -> Values {
    Values::empty(ty).unwrap_or_else(|| Values::Byte(Vec::new()))
}
