//! NCZarr's own keys: the superblock, a group's lists and dimensions, an array's dimension references,
//! recorded types.
//!
//! Today they are attributes. Older styles keep those of groups and arrays in other documents, with shorter
//! names; both are accepted. All validation is here, so other modules do not look into these objects.
//!
//! Source: the NCZarr manual; the format notes for the forms found on disk.

use nczarr_model::{Group, Model, Result};
use nczarr_storage::Key;

use crate::metadata::attributes::{
    EXACT_MEMBERS, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK, NETCDF,
};
use crate::metadata::json::{Json, ObjectMembers, Value, write_name, write_number};
use crate::metadata::members::bad_member;

/// The member of an array's keys that names its type.
pub(crate) const TYPE: &str = "type";

/// The member with the position of `_FillValue` among the attributes if that attribute is not stored.
pub(crate) const FILL: &str = "fill";

/// A dimension declared by a group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeclaredDim {
    pub(crate) name: String,
    pub(crate) len: u64,
    pub(crate) unlimited: bool,
}

/// The contents that a group declares.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct GroupLists {
    pub(crate) dims: Vec<DeclaredDim>,
    pub(crate) arrays: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// The definitions of its types.
    pub(crate) types: Vec<Json>,
}

/// The dimension references of an array.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ArrayReferences {
    pub(crate) dims: Vec<String>,
    pub(crate) scalar: bool,
    /// The full name of its user-defined type.
    pub(crate) ty: Option<String>,
    /// The position of the attribute `_FillValue`, if it exists but is not stored.
    pub(crate) fill_position: Option<usize>,
}

/// Returns the superblock.
pub(crate) fn superblock<'a, 't>(attrs: Option<&'a Value<'t>>) -> Option<&'a Value<'t>> {
    attrs?.as_object()?.get(NCZARR_SUPERBLOCK)
}

/// Returns the version text of a superblock.
pub(crate) fn version<'a>(superblock: &'a Value<'_>) -> Option<&'a str> {
    superblock.as_object()?.get("version")?.as_str()
}

/// Returns the key of the document with a group's lists.
pub(crate) fn document(group: &Key, attrs: &ObjectMembers<'_>) -> String {
    let name = if attrs.contains_key(NCZARR_GROUP) { ".zattrs" } else { ".zgroup" };
    if group.is_root() { name.to_owned() } else { format!("{group}/{name}") }
}

/// Reads the lists of a group; `None` if it has none.
///
/// # Errors
/// `NC_ENCZARR` with the name of the invalid member.
pub(crate) fn read(
    attrs: &ObjectMembers<'_>,
    zgroup: Option<&ObjectMembers<'_>>,
) -> Result<Option<GroupLists>> {
    let Some(group) = attrs.get(NCZARR_GROUP).or_else(|| zgroup?.get(NCZARR_GROUP)) else { return Ok(None) };
    let members = group.as_object().ok_or_else(|| bad_member(NCZARR_GROUP, "an object", Some(group)))?;
    Ok(Some(GroupLists { types: types(members)?, ..read_lists(members)? }))
}

/// Reads the definitions of types.
fn types(members: &ObjectMembers<'_>) -> Result<Vec<Json>> {
    let Some(list) = members.get("types") else { return Ok(Vec::new()) };
    let items = list.as_array().ok_or_else(|| bad_member("types", "a list of objects", Some(list)))?;
    Ok(items.iter().map(|item| item.clone().into_owned()).collect())
}

/// Reads the lists in an object, except for types.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_lists(members: &ObjectMembers<'_>) -> Result<GroupLists> {
    let arrays = names(members, "arrays", "vars")?;
    let groups = names(members, "groups", "groups")?;
    let mut dims = Vec::new();
    if let Some(declared) = members.get("dimensions").or_else(|| members.get("dims")) {
        let declared =
            declared.as_object().ok_or_else(|| bad_member("dimensions", "an object", Some(declared)))?;
        for (name, size) in declared {
            dims.push(dimension(name, size)?);
        }
    }
    Ok(GroupLists { dims, arrays, groups, types: Vec::new() })
}

fn dimension(name: &str, size: &Value<'_>) -> Result<DeclaredDim> {
    let wrong = |found| {
        bad_member(
            &format!("dimensions.{name}"),
            "a size, or an object with \"size\" and \"unlimited\"",
            found,
        )
    };
    let (len, unlimited) = match size.as_object() {
        None => (size.as_u64().ok_or_else(|| wrong(Some(size)))?, false),
        Some(members) => {
            let len =
                members.get("size").and_then(Value::as_u64).ok_or_else(|| wrong(members.get("size")))?;
            let unlimited = match members.get("unlimited") {
                None => false,
                Some(flag) => match (flag.as_integer(), flag.as_bool()) {
                    (Some(flag), _) => flag != 0,
                    (None, Some(flag)) => flag,
                    _ => return Err(wrong(Some(flag))),
                },
            };
            (len, unlimited)
        }
    };
    if name.is_empty() || name.contains('/') {
        return Err(bad_member("dimensions", "names without '/'", Some(&Value::string(name))));
    }
    // In netCDF a length of 0 means unlimited.
    Ok(DeclaredDim { name: name.to_owned(), len, unlimited: unlimited || len == 0 })
}

fn names(members: &ObjectMembers<'_>, name: &str, old_name: &str) -> Result<Vec<String>> {
    let Some(list) = members.get(name).or_else(|| members.get(old_name)) else { return Ok(Vec::new()) };
    let items = list.as_array().ok_or_else(|| bad_member(name, "a list of names", Some(list)))?;
    items
        .iter()
        .map(|item| Ok(item.as_str().ok_or_else(|| bad_member(name, "names", Some(item)))?.to_owned()))
        .collect()
}

/// Reads the dimension references of an array; `None` if it has none.
///
/// # Errors
/// As [`read`].
pub(crate) fn references(
    attrs: &ObjectMembers<'_>,
    zarray: Option<&ObjectMembers<'_>>,
) -> Result<Option<ArrayReferences>> {
    let Some(array) = attrs.get(NCZARR_ARRAY).or_else(|| zarray?.get(NCZARR_ARRAY)) else { return Ok(None) };
    let members = array.as_object().ok_or_else(|| bad_member(NCZARR_ARRAY, "an object", Some(array)))?;
    let list = members.get("dimension_references").or_else(|| members.get("dimrefs"));
    let Some(list) = list else { return Err(bad_member("dimension_references", "a list of names", None)) };
    let items =
        list.as_array().ok_or_else(|| bad_member("dimension_references", "a list of names", Some(list)))?;
    let dims: Result<Vec<String>> = items
        .iter()
        .map(|item| {
            let name = item.as_str().filter(|name| name.starts_with('/'));
            Ok(name
                .ok_or_else(|| bad_member("dimension_references", "names from the root", Some(item)))?
                .to_owned())
        })
        .collect();
    let marked = members
        .get("scalar")
        .is_some_and(|flag| flag.as_integer() == Some(1) || flag.as_bool() == Some(true));
    let stored = members.get("storage").and_then(Value::as_str) == Some("scalar");
    let ty = match members.get(TYPE) {
        None => None,
        Some(name) => {
            let full = name.as_str().filter(|name| name.starts_with('/'));
            Some(full.ok_or_else(|| bad_member(TYPE, "a name from the root", Some(name)))?.to_owned())
        }
    };
    let implied =
        members.get(FILL).and_then(Value::as_u64).map(|place| usize::try_from(place).unwrap_or(usize::MAX));
    Ok(Some(ArrayReferences { dims: dims?, scalar: marked || stored, ty, fill_position: implied }))
}

/// Returns the recorded type of an attribute.
pub(crate) fn recorded_type<'a>(attrs: &'a ObjectMembers<'_>, name: &str) -> Option<&'a str> {
    recorded_types(attrs)?.get(name)?.as_str()
}

/// Returns the recorded types of attributes, by name.
pub(crate) fn recorded_types<'a, 't>(attrs: &'a ObjectMembers<'t>) -> Option<&'a ObjectMembers<'t>> {
    attribute_records(attrs)?.get("types")?.as_object()
}

/// Returns the recorded exact values of attributes, by the members of
/// [`EXACT_MEMBERS`](crate::metadata::attributes::EXACT_MEMBERS).
pub(crate) fn recorded_exact<'a, 't>(attrs: &'a ObjectMembers<'t>) -> [Option<&'a ObjectMembers<'t>>; 2] {
    EXACT_MEMBERS.map(|member| attribute_records(attrs)?.get(member)?.as_object())
}

/// Returns the records beside attributes: NCZarr's, or the annotation of a plain store.
fn attribute_records<'a, 't>(attrs: &'a ObjectMembers<'t>) -> Option<&'a ObjectMembers<'t>> {
    attrs.get(NCZARR_ATTR).or_else(|| attrs.get(NETCDF))?.as_object()
}

/// Appends the dimensions that a group declares.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_dims(model: &Model, group: &Group, out: &mut String) -> Result<()> {
    out.push('{');
    for (name, &dim) in &group.dims {
        let dim = model.dim(dim)?;
        write_name(name, out);
        if dim.unlimited {
            write_number(format_args!("{{\"size\": {}, \"unlimited\": 1}}", dim.len()), out)
        } else {
            write_number(dim.len(), out)
        }
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::{Object, parse};
    use nczarr_dispatch::Limits;
    use nczarr_model::ErrorKind;

    fn object(document: &str) -> Object {
        parse(document.as_bytes(), &Limits::default()).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn both_spellings_of_a_group() {
        let new = object(
            r#"{"_nczarr_group": {"dimensions": {"t": {"size": 5, "unlimited": 1}, "w": 4, "z": 0, "f": {"size": 2}},
                "arrays": ["a","b"], "groups": ["g"]}}"#,
        );
        let lists = read(&new, None).unwrap().unwrap();
        let dims: Vec<_> = lists.dims.iter().map(|dim| (dim.name.as_str(), dim.len, dim.unlimited)).collect();
        assert_eq!(dims, [("t", 5, true), ("w", 4, false), ("z", 0, true), ("f", 2, false)]);
        assert_eq!(
            (lists.arrays, lists.groups),
            (vec!["a".to_owned(), "b".to_owned()], vec!["g".to_owned()])
        );
        let old =
            object(r#"{"zarr_format": 2, "_nczarr_group": {"dims": {"w": 4}, "vars": ["a"], "groups": []}}"#);
        let lists = read(&Object::new(), Some(&old)).unwrap().unwrap();
        assert_eq!((lists.dims.len(), lists.arrays.len()), (1, 1));
        assert_eq!(read(&Object::new(), None).unwrap(), None);
    }

    #[test]
    fn references_and_types() {
        let array = object(
            r#"{"_nczarr_array": {"dimension_references": ["/g/x","/y"], "storage": "chunked"},
                "_nczarr_attr": {"types": {"u": ">S1"}}}"#,
        );
        let found = references(&array, None).unwrap().unwrap();
        assert_eq!(
            found,
            ArrayReferences { dims: vec!["/g/x".into(), "/y".into()], ..ArrayReferences::default() }
        );
        assert_eq!(recorded_type(&array, "u"), Some(">S1"));
        assert_eq!(recorded_type(&array, "v"), None);
        for scalar in [
            r#"{"_nczarr_array": {"dimension_references": [], "scalar": 1, "storage": "chunked"}}"#,
            r#"{"_nczarr_array": {"dimrefs": [], "storage": "scalar"}}"#,
        ] {
            assert!(references(&object(scalar), None).unwrap().unwrap().scalar);
        }
    }

    #[test]
    fn damage_names_the_member() {
        for (bad, member) in [
            (r#"{"_nczarr_group": []}"#, "_nczarr_group"),
            (r#"{"_nczarr_group": {"arrays": {}}}"#, "arrays"),
            (r#"{"_nczarr_group": {"arrays": [1]}}"#, "arrays"),
            (r#"{"_nczarr_group": {"groups": "g"}}"#, "groups"),
            (r#"{"_nczarr_group": {"dimensions": []}}"#, "dimensions"),
            (r#"{"_nczarr_group": {"dimensions": {"x": -1}}}"#, "dimensions.x"),
            (r#"{"_nczarr_group": {"dimensions": {"x": "4"}}}"#, "dimensions.x"),
            (r#"{"_nczarr_group": {"dimensions": {"x": {}}}}"#, "dimensions.x"),
            (r#"{"_nczarr_group": {"dimensions": {"x": {"size": 1, "unlimited": "no"}}}}"#, "dimensions.x"),
            (r#"{"_nczarr_group": {"dimensions": {"a/b": 1}}}"#, "dimensions"),
        ] {
            let error = read(&object(bad), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NcZarr);
            assert!(error.what().contains(&format!("\"{member}\"")), "{bad}: {error}");
        }
        for bad in [
            r#"{"_nczarr_array": 1}"#,
            r#"{"_nczarr_array": {}}"#,
            r#"{"_nczarr_array": {"dimension_references": "x"}}"#,
            r#"{"_nczarr_array": {"dimension_references": ["x"]}}"#,
            r#"{"_nczarr_array": {"dimension_references": [4]}}"#,
        ] {
            assert_eq!(references(&object(bad), None).unwrap_err().kind(), ErrorKind::NcZarr, "{bad}");
        }
    }
}
