//! [`TypeTable`]: maps datatypes to netCDF types, and defines the user-defined types of a file.

use nczarr_dispatch::Fault;
use nczarr_model::{
    EnumMember, ErrorKind, Field, GroupId, Model, NcType, Result, Scalar, TypeClass, TypeId, UserType, Values,
};

use super::datatype::{CompoundMember, Datatype, DatatypeClass};
use super::walk::FileTree;
use super::widened::BitField;

/// The user-defined types of a file.
#[derive(Debug, Default)]
pub(crate) struct TypeTable {
    known: Vec<NamedType>,
    /// Number of unnamed types that got a name, of each class.
    unnamed: [u32; 4],
    /// The first field with text of a fixed size, which the model shows as an array of characters.
    pub(crate) text_field: Option<String>,
}

#[derive(Debug)]
struct NamedType {
    ty: Datatype,
    group: GroupId,
    name: String,
    id: Option<TypeId>,
    /// Its definition is under way.
    open: bool,
}

/// Makes the error for a type that netCDF lacks.
pub(crate) fn no_type(ty: &Datatype) -> nczarr_model::Error {
    ErrorKind::BadTypId.context(format!("HDF5 type {} has no netCDF counterpart", ty.name()))
}

impl TypeTable {
    /// Defines the named types of a file.
    ///
    /// # Errors
    /// Errors of the model about names.
    pub(crate) fn define(tree: &mut FileTree, model: &mut Model) -> Result<Self> {
        let mut types = Self::default();
        for (number, group) in tree.groups.iter().enumerate() {
            for (name, ty) in &group.types {
                let group = GroupId(number as u32);
                types.known.push(NamedType {
                    ty: ty.clone(),
                    group,
                    name: name.clone(),
                    id: None,
                    open: false,
                });
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
            return Err(ErrorKind::BadTypId.context("the type contains itself or an unsupported type"));
        }
        let NamedType { ty, group, name, .. } = &self.known[number];
        let (ty, group, name) = (ty.clone(), *group, name.clone());
        let class = self.class(&ty, model)?;
        let id = model.add_type(UserType { name, group, class })?;
        self.known[number].id = Some(id);
        Ok(id)
    }

    fn class(&mut self, ty: &Datatype, model: &mut Model) -> Result<TypeClass> {
        Ok(match &ty.class {
            DatatypeClass::Compound(members) => {
                let fields = members.iter().map(|member| self.field(member, model)).collect::<Result<_>>()?;
                TypeClass::Compound { size: ty.size as usize, fields }
            }
            DatatypeClass::Enum { base, members } => {
                let base_type = self.nc_type(base, model)?;
                let mut list = Vec::new();
                for (name, bytes) in members {
                    let value =
                        super::values::numbers(base, base_type, bytes).and_then(|values| values.scalar(0));
                    let Some(Scalar::Int(value)) = value else { return Err(no_type(ty)) };
                    list.push(EnumMember { name: name.clone(), value });
                }
                TypeClass::Enum { base: base_type, members: list }
            }
            DatatypeClass::Opaque => TypeClass::Opaque { size: ty.size as usize },
            DatatypeClass::List(base) => TypeClass::Vlen { base: self.nc_type(base, model)? },
            _ => return Err(no_type(ty)),
        })
    }

    fn field(&mut self, member: &CompoundMember, model: &mut Model) -> Result<Field> {
        let (mut ty, mut shape) = (&member.ty, Vec::new());
        while let DatatypeClass::Array { shape: inner, base } = &ty.class {
            shape.extend(inner);
            ty = base;
        }
        let nc_type = match ty.class {
            DatatypeClass::Text { .. } => {
                if ty.size > 1 {
                    let what = format!("text of {} bytes in field {:?} of a compound", ty.size, member.name);
                    self.text_field.get_or_insert(what);
                    shape.push(ty.size);
                }
                NcType::Char
            }
            _ => self.nc_type(ty, model)?,
        };
        Ok(Field { name: member.name.clone(), offset: member.offset as usize, ty: nc_type, shape })
    }

    /// Returns the netCDF type of elements. Text longer than one byte is `String`.
    ///
    /// # Errors
    /// `NC_EBADTYPID` if there is none.
    pub(crate) fn nc_type(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        Ok(match &ty.class {
            DatatypeClass::Integer { signed, .. } if ty.is_whole() => match (ty.size, signed) {
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
            DatatypeClass::Float { ieee: true, .. } => {
                if ty.size == 4 {
                    NcType::Float
                } else {
                    NcType::Double
                }
            }
            DatatypeClass::Text { .. } => {
                if ty.size == 1 {
                    NcType::Char
                } else {
                    NcType::String
                }
            }
            DatatypeClass::Strings { .. } => NcType::String,
            DatatypeClass::Compound(_)
            | DatatypeClass::Enum { .. }
            | DatatypeClass::List(_)
            | DatatypeClass::Opaque => {
                let named = |known: &NamedType| ty.named.is_some() && known.ty.named == ty.named;
                let position = self.known.iter().position(named);
                let position = position.or_else(|| self.known.iter().position(|known| known.ty.is_like(ty)));
                NcType::User(self.id(position.ok_or_else(|| no_type(ty))?, model)?)
            }
            _ => return Err(no_type(ty)),
        })
    }

    /// As [`TypeTable::nc_type`], and accepts numbers that must be widened ([`BitField`]).
    ///
    /// # Errors
    /// As [`TypeTable::nc_type`].
    pub(crate) fn widened_type(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        match BitField::of(ty) {
            Some(bits) => Ok(bits.nc_type()),
            None => self.nc_type(ty, model),
        }
    }

    /// As [`TypeTable::widened_type`], for a dataset. An unnamed type is defined under the name that netCDF-C
    /// gives it.
    ///
    /// # Errors
    /// As [`TypeTable::nc_type`].
    pub(crate) fn of_dataset(&mut self, ty: &Datatype, model: &mut Model) -> Result<NcType> {
        if let Ok(found) = self.widened_type(ty, model) {
            return Ok(found);
        }
        let (class, word) = match &ty.class {
            DatatypeClass::Compound(_) => (0, "Compound"),
            DatatypeClass::Enum { .. } => (1, "Enum"),
            DatatypeClass::List(_) => (2, "Vlen"),
            DatatypeClass::Opaque => (3, "Opaque"),
            _ => return Err(no_type(ty)),
        };
        // Define its parts first.
        match &ty.class {
            DatatypeClass::Compound(members) => {
                for member in members {
                    let mut inner = &member.ty;
                    while let DatatypeClass::Array { base, .. } = &inner.class {
                        inner = base;
                    }
                    if !matches!(inner.class, DatatypeClass::Text { .. }) {
                        self.of_dataset(inner, model)?;
                    }
                }
            }
            DatatypeClass::List(base) => {
                self.of_dataset(base, model)?;
            }
            _ => {}
        }
        self.unnamed[class] += u32::from(!ty.complex);
        let name = if ty.complex {
            format!("_Complex{}_t", ty.size * 8)
        } else {
            format!("_Anonymous{word}{}", self.unnamed[class])
        };
        self.known.push(NamedType { ty: ty.clone(), group: GroupId::ROOT, name, id: None, open: false });
        Ok(NcType::User(self.id(self.known.len() - 1, model)?))
    }
}

/// Returns no values of a type.
pub(crate) fn nothing(ty: NcType) -> Values {
    Values::empty(ty).unwrap_or_else(|| Values::Byte(Vec::new()))
}
