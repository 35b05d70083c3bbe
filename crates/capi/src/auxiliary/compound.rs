//! Compound types that are built field by field, with the layout of a C struct.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, NcType, Result};

use crate::boundary::pointer::{InPtr, NamePtr, OutPtr, TargetPtr, TextPtr};
use crate::open_file::FIRST_USER_TYPE;
use crate::table;
use crate::types::inquire::{nc_inq_type, nc_inq_user_type};

/// A field of a new type.
struct NewField {
    name: String,
    ty: c_int,
    shape: Vec<u32>,
}

/// A new type.
struct NewCompound {
    ncid: c_int,
    name: String,
    fields: Vec<NewField>,
}

/// The types that programs are building. A tag is the number of one.
static BUILDING: Mutex<BTreeMap<usize, NewCompound>> = Mutex::new(BTreeMap::new());

fn building() -> MutexGuard<'static, BTreeMap<usize, NewCompound>> {
    BUILDING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unknown() -> nczarr::Error {
    ErrorKind::Inval.context("the tag names no compound type that is being built")
}

c_functions! {
    /// Begins a type.
    fn ncaux_begin_compound(ncid: c_int, name: TextPtr, _alignmode: c_int, tag: OutPtr<*mut c_void>) {
        let new = NewCompound { ncid, name: name.name()?.to_owned(), fields: Vec::new() };
        let mut building = building();
        // The address 0 is a null pointer.
        let number = building.last_key_value().map_or(1, |(last, _)| last + 1);
        building.insert(number, new);
        tag.set(std::ptr::without_provenance_mut(number));
        Ok(())
    }

    /// Adds a field.
    fn ncaux_add_field(tag: TargetPtr, name: TextPtr, field_type: c_int, ndims: c_int, dimsizes: InPtr<c_int>) {
        let wrong = || ErrorKind::Inval.context(format!("an array field of {ndims} dimensions"));
        let rank = usize::try_from(ndims).map_err(|_| wrong())?;
        let positive = |&size: &c_int| u32::try_from(size).ok().filter(|&size| size > 0);
        let shape = dimsizes.values(rank, "dimsizes")?.iter().map(positive).collect::<Option<Vec<_>>>();
        let field = NewField { name: name.name()?.to_owned(), ty: field_type, shape: shape.ok_or_else(wrong)? };
        building().get_mut(&tag.address().addr()).ok_or_else(unknown)?.fields.push(field);
        Ok(())
    }

    /// Defines the type in the dataset. The tag is no longer valid if that succeeds.
    fn ncaux_end_compound(tag: TargetPtr, xtypeid: OutPtr<c_int>) {
        let number = tag.address().addr();
        let new = building().remove(&number).ok_or_else(unknown)?;
        let defined = define(&new);
        if defined.is_err() {
            building().insert(number, new);
        }
        xtypeid.set(defined?);
        Ok(())
    }

    /// Forgets a type that was begun. A tag that is no longer valid is no error.
    fn ncaux_abort_compound(tag: TargetPtr) {
        building().remove(&tag.address().addr());
        Ok(())
    }

    /// Returns the alignment of elements of a type in C. A user-defined type needs its dataset.
    fn ncaux_type_alignment(xtype: c_int, ncid: c_int, alignp: OutPtr<usize>) {
        let alignment = match NcType::from_code(xtype) {
            Some(ty) => of_atomic(ty),
            None => {
                let node = table::find(ncid)?;
                let ty = node.xtype(xtype)?;
                node.look_types(|types| types.alignment(ty))?
            }
        };
        alignp.set(alignment);
        Ok(())
    }

    /// Returns the alignment of a class of types, if it does not depend on the type.
    fn ncaux_class_alignment(ncclass: c_int, alignp: OutPtr<usize>) {
        let alignment = match ncclass {
            VLEN => align_of::<usize>(),
            OPAQUE => 1,
            atomic => NcType::from_code(atomic).map(of_atomic).ok_or_else(|| {
                ErrorKind::Inval.context(format!("class {ncclass}: the alignment depends on the type"))
            })?,
        };
        alignp.set(alignment);
        Ok(())
    }

    /// Returns the properties of any type. An atomic type is its own class.
    fn ncaux_inq_any_type(
        ncid: c_int, xtypeid: c_int, name: NamePtr, size: OutPtr<usize>, basetypep: OutPtr<c_int>,
        nfieldsp: OutPtr<usize>, classp: OutPtr<c_int>,
    ) {
        if xtypeid >= FIRST_USER_TYPE {
            return nc_inq_user_type(ncid, xtypeid, name, size, basetypep, nfieldsp, classp);
        }
        nc_inq_type(ncid, xtypeid, name, size)?;
        basetypep.set(0);
        nfieldsp.set(0);
        classp.set(xtypeid);
        Ok(())
    }
}

const VLEN: c_int = 13;
const OPAQUE: c_int = 14;

fn of_atomic(ty: NcType) -> usize {
    ty.size().unwrap_or(align_of::<usize>())
}

fn define(new: &NewCompound) -> Result<c_int> {
    let node = table::find(new.ncid)?;
    let (mut end, mut widest, mut fields) = (0usize, 1, Vec::with_capacity(new.fields.len()));
    let too_large = || ErrorKind::Inval.context(format!("type {:?} is too large", new.name));
    for field in &new.fields {
        let ty = node.xtype(field.ty)?;
        let (size, alignment) = node.look_types(|types| Ok((types.size(ty)?, types.alignment(ty)?)))?;
        let size = field.shape.iter().try_fold(size, |size, &len| size.checked_mul(len as usize));
        let offset = end.checked_next_multiple_of(alignment).ok_or_else(too_large)?;
        end = size.and_then(|size| offset.checked_add(size)).ok_or_else(too_large)?;
        widest = widest.max(alignment);
        fields.push((field, ty, offset));
    }
    let size = end.checked_next_multiple_of(widest).ok_or_else(too_large)?;
    let nc = node.nc_to_edit()?;
    let id = nc.def_compound(node.group, size, &new.name)?;
    for (field, ty, offset) in fields {
        nc.insert_array_compound(id, &field.name, offset, ty, &field.shape)?;
    }
    Ok(NcType::User(id).code())
}
