//! Enums: members are found by name, so their values may differ between the Rust type and the stored type.

use nczarr_model::{ErrorKind, Model, NcType, Result, TypeClass};

use super::Binding;
use super::binding::{BoundClass, describe, user_type};

/// The members of a Rust enum in a stored enum.
#[derive(Debug, Clone)]
pub(super) struct BoundEnum {
    /// The name of the stored type.
    name: String,
    /// The Rust members with their values.
    members: &'static [(&'static str, i128)],
    /// The stored value of each Rust member; `None` if the stored type lacks it.
    values: Vec<Option<i128>>,
    /// The stored values with the position of their Rust member, in ascending order.
    by_value: Vec<(i128, usize)>,
    /// The type of the enum in memory, if all members have the same values there.
    pub(super) same: Option<NcType>,
}

/// The methods of derived implementations for enums.
impl Binding {
    /// Connects an enum with a stored enum. `base` and `members` describe the Rust enum.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if the stored type is not an enum.
    pub fn of_enum(
        base: NcType,
        members: &'static [(&'static str, i128)],
        model: &Model,
        ty: NcType,
        shape: &[u32],
    ) -> Result<Self> {
        let user = user_type(model, ty, shape)?.map(|user| (user, &user.class));
        let Some((user, TypeClass::Enum { base: stored_base, members: stored })) = user else {
            let found = describe(model, ty, shape);
            return Err(ErrorKind::BadType.context(format!("expected an enum, found {found}")));
        };
        let value_of = |name: &str| stored.iter().find(|member| member.name == name).map(|found| found.value);
        let values: Vec<_> = members.iter().map(|(name, _)| value_of(name)).collect();
        let mut by_value: Vec<_> =
            values.iter().enumerate().filter_map(|(index, value)| Some(((*value)?, index))).collect();
        by_value.sort_unstable();
        let is_same = *stored_base == base
            && values.iter().zip(members).all(|(stored, (_, own))| *stored == Some(*own));
        let size = stored_base
            .size()
            .filter(|_| stored_base.is_integer())
            .ok_or_else(|| ErrorKind::BadType.context(format!("type {:?} has no integers", user.name)))?;
        let same = is_same.then_some(base);
        let bound = BoundEnum { name: user.name.clone(), members, values, by_value, same };
        Ok(Self::new(*stored_base, size, BoundClass::Enum(bound)))
    }

    fn members(&self) -> Result<&BoundEnum> {
        match &self.class {
            BoundClass::Enum(bound) => Ok(bound),
            _ => Err(self.misused("an enum")),
        }
    }

    /// Reads a stored enum value. Returns the position of its member in the Rust enum.
    ///
    /// # Errors
    /// `NC_ERANGE` that names value and type if the Rust enum has no such member.
    pub fn load_member(&self, bytes: &[u8]) -> Result<usize> {
        let bound = self.members()?;
        let value = integer(self.nc_type(), bytes).ok_or_else(|| self.misused("as many bytes"))?;
        match bound.by_value.binary_search_by_key(&value, |(value, _)| *value) {
            Ok(at) => Ok(bound.by_value[at].1),
            Err(_) => Err(ErrorKind::Range
                .context(format!("enum {:?}: value {value} is not a member of the Rust enum", bound.name))),
        }
    }

    /// Writes the member at a position of the Rust enum.
    ///
    /// # Errors
    /// `NC_ERANGE` that names the type if the stored enum has no such member.
    pub fn store_member(&self, member: usize, bytes: &mut [u8]) -> Result<()> {
        let bound = self.members()?;
        let value = bound.values.get(member).copied().flatten().ok_or_else(|| {
            let own = bound.members.get(member).map(|(name, _)| *name).unwrap_or_default();
            ErrorKind::Range.context(format!("enum {:?}: the stored type has no member {own:?}", bound.name))
        })?;
        put_integer(self.nc_type(), value, bytes).ok_or_else(|| self.misused("as many bytes"))
    }
}

macro_rules! by_type {
    ($ty:expr, $int:ident => $body:expr) => {
        match $ty {
            NcType::Byte => {
                type $int = i8;
                $body
            }
            NcType::Short => {
                type $int = i16;
                $body
            }
            NcType::Int => {
                type $int = i32;
                $body
            }
            NcType::Int64 => {
                type $int = i64;
                $body
            }
            NcType::UByte => {
                type $int = u8;
                $body
            }
            NcType::UShort => {
                type $int = u16;
                $body
            }
            NcType::UInt => {
                type $int = u32;
                $body
            }
            NcType::UInt64 => {
                type $int = u64;
                $body
            }
            _ => None,
        }
    };
}

/// Reads a native integer.
fn integer(ty: NcType, bytes: &[u8]) -> Option<i128> {
    by_type!(ty, Int => Some(Int::from_ne_bytes(bytes.try_into().ok()?).into()))
}

/// Writes a native integer.
fn put_integer(ty: NcType, value: i128, bytes: &mut [u8]) -> Option<()> {
    by_type!(ty, Int => {
        *bytes.first_chunk_mut()? = Int::try_from(value).ok()?.to_ne_bytes();
        Some(())
    })
}
