//! The dimension references of an array, from its documents.

use super::kind::DimNaming;
use super::nczarr_lists;
use crate::metadata::attributes::ARRAY_DIMENSIONS;
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::variable::DimRefs;

/// Returns the dimension references of an array with `rank` dimensions.
pub(crate) fn dim_refs(
    naming: DimNaming,
    attrs: &ObjectMembers<'_>,
    zarray: &Value<'_>,
    rank: usize,
) -> DimRefs {
    match naming {
        DimNaming::References => DimRefs::References(
            nczarr_lists::references(attrs, zarray.as_object()).map(|found| found.map(Box::new)),
        ),
        DimNaming::Attribute => names(attrs, rank).map_or(DimRefs::None, DimRefs::Names),
        DimNaming::None => DimRefs::None,
    }
}

/// Returns the dimension names of an array, if it has one legal name for each dimension.
fn names(attrs: &ObjectMembers<'_>, rank: usize) -> Option<Vec<Option<String>>> {
    let items = attrs.get(ARRAY_DIMENSIONS)?.as_array().filter(|items| items.len() == rank)?;
    items.iter().map(|item| item.as_str().filter(is_legal).map(|name| Some(name.to_owned()))).collect()
}

pub(super) fn is_legal(name: &&str) -> bool {
    !name.is_empty() && !name.contains('/')
}
