//! Resolves variables and groups listed in a flag.

use nczarr_model::{ErrorKind, GroupId, Model, Result, VarId};

use crate::list::split_list;

/// Returns the variables of a list of paths and names; a name without `/` stands for every variable of that
/// name.
///
/// # Errors
///
/// `NC_ENOTVAR` for a name without a variable, with the flag.
pub fn vars(model: &Model, flag: &str, list: &str) -> Result<Vec<VarId>> {
    let mut found = Vec::new();
    for wanted in split_list(list) {
        let names = nczarr_model::name::split_path(&wanted);
        match names.as_slice() {
            [name] if !wanted.starts_with('/') => {
                let before = found.len();
                found.extend(model.vars().filter(|(_, var)| var.name == *name).map(|(id, _)| id));
                if found.len() == before {
                    let all: Result<Vec<_>> = model.vars().map(|(id, _)| model.var_path(id)).collect();
                    return Err(ErrorKind::NotVar.context(format!(
                        "{flag} {wanted}: no such variable; there are: {}",
                        all?.join(", ")
                    )));
                }
            }
            _ => found.push(model.var_at(GroupId::ROOT, &wanted).map_err(|error| error.at(flag))?),
        }
    }
    if found.is_empty() {
        return Err(ErrorKind::NotVar.context(format!("{flag}: no variable is named")));
    }
    Ok(found)
}

/// Returns the groups of a list of paths and names; a name without `/` stands for every group of that name.
///
/// # Errors
///
/// `NC_EBADGRPID` for a name without a group, with the flag.
pub fn groups(model: &Model, flag: &str, list: &str) -> Result<Vec<GroupId>> {
    let mut found = Vec::new();
    for wanted in split_list(list) {
        let before = found.len();
        let names = nczarr_model::name::split_path(&wanted);
        for (id, _) in model.groups() {
            let path = model.group_names(id)?;
            let named = match names.as_slice() {
                [name] if !wanted.starts_with('/') => path.last() == Some(&name.as_str()),
                names => path.iter().copied().eq(names.iter().map(String::as_str)),
            };
            if named {
                found.push(id);
            }
        }
        if found.len() == before {
            return Err(ErrorKind::BadGrpId.context(format!("{flag} {wanted}: no such group")));
        }
    }
    Ok(found)
}
