//! Resolves names of types, dimensions and variables in the model.

use nczarr_model::{DimId, ErrorKind, GroupId, Model, NcType, Result, VarId, name};

/// The words for atomic types, also old ones.
const ATOMIC: &[(&str, NcType)] = &[
    ("byte", NcType::Byte),
    ("char", NcType::Char),
    ("short", NcType::Short),
    ("int", NcType::Int),
    ("integer", NcType::Int),
    ("long", NcType::Int),
    ("float", NcType::Float),
    ("real", NcType::Float),
    ("double", NcType::Double),
    ("ubyte", NcType::UByte),
    ("ushort", NcType::UShort),
    ("uint", NcType::UInt),
    ("int64", NcType::Int64),
    ("uint64", NcType::UInt64),
    ("string", NcType::String),
];

/// Returns the atomic type of a word.
pub(crate) fn atomic(word: &str) -> Option<NcType> {
    ATOMIC.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, ty)| *ty)
}

/// Returns the group of a path, and its last segment; `None` if a group does not exist.
fn place<'p>(model: &Model, from: GroupId, path: &'p [String]) -> Option<(GroupId, &'p str)> {
    let (last, groups) = path.split_last()?;
    let (mut at, groups) = match groups {
        [first, rest @ ..] if first.is_empty() => (GroupId::ROOT, rest),
        all => (from, all),
    };
    for segment in groups {
        at = *name::find(&model.group(at).ok()?.groups, segment)?;
    }
    Some((at, last))
}

fn written(path: &[String]) -> String {
    path.iter().map(|segment| name::escape(segment)).collect::<Vec<_>>().join("/")
}

/// Returns the type of a path: atomic, or user-defined in this group, an enclosing one, or any other before.
pub(crate) fn type_of(model: &Model, from: GroupId, path: &[String]) -> Result<NcType> {
    if let [word] = path {
        // A user-defined type may have the name of an old word.
        if let Some(id) = model.find_type(from, word) {
            return Ok(NcType::User(id));
        }
        if let Some(ty) = atomic(word) {
            return Ok(ty);
        }
        if let Some((id, _)) = model.user_types().find(|(_, ty)| ty.name == *word) {
            return Ok(NcType::User(id));
        }
    } else if let Some((group, last)) = place(model, from, path)
        && let Some(&id) = name::find(&model.group(group)?.types, last)
    {
        return Ok(NcType::User(id));
    }
    Err(ErrorKind::BadType.context(format!("no type {:?}", written(path))))
}

/// Returns the dimension of a path, relative to `from`.
pub(crate) fn dim_of(model: &Model, from: GroupId, path: &[String]) -> Result<DimId> {
    let found = match path {
        [word] => model.find_dim(from, word),
        path => match place(model, from, path) {
            Some((group, last)) => name::find(&model.group(group)?.dims, last).copied(),
            None => None,
        },
    };
    found.ok_or_else(|| ErrorKind::BadDim.context(format!("no dimension {:?}", written(path))))
}

/// Returns the variable of a path, relative to `from`.
pub(crate) fn var_of(model: &Model, from: GroupId, path: &[String]) -> Result<VarId> {
    let found = match place(model, from, path) {
        Some((group, last)) => name::find(&model.group(group)?.vars, last).copied(),
        None => None,
    };
    found.ok_or_else(|| ErrorKind::NotVar.context(format!("no variable {:?}", written(path))))
}
