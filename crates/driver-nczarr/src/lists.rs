//! NCZarr's own keys: the superblock, a group's lists and dimensions, an array's dimension references, recorded types.
//!
//! All of them are attributes, as they are today; readers accept a group's and an array's beside them, with shorter names.
//! Everything is checked here, so that nobody else looks into these objects.
//!
//! Source: the NCZarr manual; the formats notes for what is really on disk.

use nczarr_dispatch::Key;
use nczarr_model::{Group, Model, Result};

use crate::attrs::{KEPT, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK, NETCDF};
use crate::json::{Json, Members, Value, write_name, write_number};
use crate::meta::bad;
use crate::user;

/// What an array's keys say of its fill value: its place as an attribute that is not stored.
pub(crate) const FILL: &str = "fill";

/// A dimension as a group declares it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) len: u64,
    pub(crate) unlimited: bool,
}

/// What a group says it holds.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lists {
    pub(crate) dims: Vec<Declared>,
    pub(crate) arrays: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// The definitions of its types.
    pub(crate) types: Vec<Json>,
}

/// What an array says of its dimensions.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct References {
    pub(crate) dims: Vec<String>,
    pub(crate) scalar: bool,
    /// The full name of its type, if that is a user-defined one.
    pub(crate) ty: Option<String>,
    /// The place of the attribute `_FillValue`, if its fill value is one and none is stored.
    pub(crate) implied: Option<usize>,
}

/// The superblock.
pub(crate) fn superblock<'a, 't>(attrs: Option<&'a Value<'t>>) -> Option<&'a Value<'t>> {
    attrs?.as_object()?.get(NCZARR_SUPERBLOCK)
}

/// The version text of a superblock.
pub(crate) fn version<'a>(superblock: &'a Value<'_>) -> Option<&'a str> {
    superblock.as_object()?.get("version")?.as_str()
}

/// The key of the document that holds a group's lists.
pub(crate) fn document(group: &Key, attrs: &Members<'_>) -> String {
    let name = if attrs.contains_key(NCZARR_GROUP) { ".zattrs" } else { ".zgroup" };
    if group.is_root() { name.to_owned() } else { format!("{group}/{name}") }
}

/// The lists of a group; `None` if it has none.
///
/// # Errors
/// `NC_ENCZARR` naming the member that is not as it should be.
pub(crate) fn read(attrs: &Members<'_>, zgroup: Option<&Members<'_>>) -> Result<Option<Lists>> {
    let Some(group) = attrs.get(NCZARR_GROUP).or_else(|| zgroup?.get(NCZARR_GROUP)) else { return Ok(None) };
    let members = group.as_object().ok_or_else(|| bad(NCZARR_GROUP, "an object", Some(group)))?;
    Ok(Some(Lists { types: types(members)?, ..of(members)? }))
}

/// The definitions of types.
fn types(members: &Members<'_>) -> Result<Vec<Json>> {
    let Some(list) = members.get("types") else { return Ok(Vec::new()) };
    let items = list.as_array().ok_or_else(|| bad("types", "a list of objects", Some(list)))?;
    Ok(items.iter().map(|item| item.clone().into_owned()).collect())
}

/// The lists that an object holds, but for types.
///
/// # Errors
/// As [`read`].
pub(crate) fn of(members: &Members<'_>) -> Result<Lists> {
    let arrays = names(members, "arrays", "vars")?;
    let groups = names(members, "groups", "groups")?;
    let mut dims = Vec::new();
    if let Some(declared) = members.get("dimensions").or_else(|| members.get("dims")) {
        let declared = declared.as_object().ok_or_else(|| bad("dimensions", "an object", Some(declared)))?;
        for (name, size) in declared {
            dims.push(dimension(name, size)?);
        }
    }
    Ok(Lists { dims, arrays, groups, types: Vec::new() })
}

fn dimension(name: &str, size: &Value<'_>) -> Result<Declared> {
    let wrong =
        |found| bad(&format!("dimensions.{name}"), "a size, or an object with \"size\" and \"unlimited\"", found);
    let (len, unlimited) = match size.as_object() {
        None => (size.as_u64().ok_or_else(|| wrong(Some(size)))?, false),
        Some(members) => {
            let len = members.get("size").and_then(Value::as_u64).ok_or_else(|| wrong(members.get("size")))?;
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
        return Err(bad("dimensions", "names without '/'", Some(&Value::string(name))));
    }
    // A length of 0 says "unlimited" in netCDF.
    Ok(Declared { name: name.to_owned(), len, unlimited: unlimited || len == 0 })
}

fn names(members: &Members<'_>, name: &str, old_name: &str) -> Result<Vec<String>> {
    let Some(list) = members.get(name).or_else(|| members.get(old_name)) else { return Ok(Vec::new()) };
    let items = list.as_array().ok_or_else(|| bad(name, "a list of names", Some(list)))?;
    items.iter().map(|item| Ok(item.as_str().ok_or_else(|| bad(name, "names", Some(item)))?.to_owned())).collect()
}

/// The dimension references of an array; `None` if it has none.
///
/// # Errors
/// As [`read`].
pub(crate) fn references(attrs: &Members<'_>, zarray: Option<&Members<'_>>) -> Result<Option<References>> {
    let Some(array) = attrs.get(NCZARR_ARRAY).or_else(|| zarray?.get(NCZARR_ARRAY)) else { return Ok(None) };
    let members = array.as_object().ok_or_else(|| bad(NCZARR_ARRAY, "an object", Some(array)))?;
    let list = members.get("dimension_references").or_else(|| members.get("dimrefs"));
    let Some(list) = list else { return Err(bad("dimension_references", "a list of names", None)) };
    let items = list.as_array().ok_or_else(|| bad("dimension_references", "a list of names", Some(list)))?;
    let dims: Result<Vec<String>> = items
        .iter()
        .map(|item| {
            let name = item.as_str().filter(|name| name.starts_with('/'));
            Ok(name.ok_or_else(|| bad("dimension_references", "names from the root", Some(item)))?.to_owned())
        })
        .collect();
    let marked = members.get("scalar").is_some_and(|flag| flag.as_integer() == Some(1) || flag.as_bool() == Some(true));
    let stored = members.get("storage").and_then(Value::as_str) == Some("scalar");
    let ty = match members.get(user::TYPE) {
        None => None,
        Some(name) => {
            let full = name.as_str().filter(|name| name.starts_with('/'));
            Some(full.ok_or_else(|| bad(user::TYPE, "a name from the root", Some(name)))?.to_owned())
        }
    };
    let implied = members.get(FILL).and_then(Value::as_u64).map(|place| usize::try_from(place).unwrap_or(usize::MAX));
    Ok(Some(References { dims: dims?, scalar: marked || stored, ty, implied }))
}

/// The recorded type of an attribute.
pub(crate) fn recorded<'a>(attrs: &'a Members<'_>, name: &str) -> Option<&'a str> {
    recorded_types(attrs)?.get(name)?.as_str()
}

/// The recorded types of attributes, by their names.
pub(crate) fn recorded_types<'a, 't>(attrs: &'a Members<'t>) -> Option<&'a Members<'t>> {
    beside(attrs)?.get("types")?.as_object()
}

/// What is kept of attributes beside their types, by the members of [`KEPT`] and their names.
pub(crate) fn recorded_beside<'a, 't>(attrs: &'a Members<'t>) -> [Option<&'a Members<'t>>; 2] {
    KEPT.map(|member| beside(attrs)?.get(member)?.as_object())
}

/// What is kept of attributes beside them: NCZarr's, or the annotation of a plain store.
fn beside<'a, 't>(attrs: &'a Members<'t>) -> Option<&'a Members<'t>> {
    attrs.get(NCZARR_ATTR).or_else(|| attrs.get(NETCDF))?.as_object()
}

/// Appends the dimensions of a group as it declares them.
///
/// # Errors
/// A dimension that the model does not have.
pub(crate) fn write_dims(model: &Model, group: &Group, out: &mut String) -> Result<()> {
    out.push('{');
    for (name, &dim) in &group.dims {
        let dim = model.dim(dim)?;
        write_name(name, out);
        match dim.unlimited {
            true => write_number(format_args!("{{\"size\": {}, \"unlimited\": 1}}", dim.len()), out),
            false => write_number(dim.len(), out),
        }
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Object, parse};
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
        assert_eq!((lists.arrays, lists.groups), (vec!["a".to_owned(), "b".to_owned()], vec!["g".to_owned()]));
        let old = object(r#"{"zarr_format": 2, "_nczarr_group": {"dims": {"w": 4}, "vars": ["a"], "groups": []}}"#);
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
        assert_eq!(found, References { dims: vec!["/g/x".into(), "/y".into()], ..References::default() });
        assert_eq!(recorded(&array, "u"), Some(">S1"));
        assert_eq!(recorded(&array, "v"), None);
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
