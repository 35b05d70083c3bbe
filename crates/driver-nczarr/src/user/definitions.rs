//! The list `types` of a group: objects with `name`, `class` and the members of the class.
//!
//! Types may refer to types of any group, in any order, but never to themselves.

use std::collections::{HashMap, HashSet, VecDeque};

use nczarr_model::{
    Defined, Edit, EnumMember, Error, ErrorKind, Field, Group, GroupId, Model, NcType, Result, TypeClass,
    TypeId,
};
use nczarr_storage::Key;

use super::encoding::MAX_SIZE;
use super::names::type_name;
use crate::metadata::json::{Json, Object, Value, write_list, write_name, write_number, write_string};
use crate::metadata::members::bad_member;
use crate::metadata::renamed_groups::resolve_renamed;

/// Appends the list of a group's types.
///
/// # Errors
/// A type that the model does not have.
pub(crate) fn write(model: &Model, group: &Group, out: &mut String) -> Result<()> {
    let mut list = Vec::with_capacity(group.types.len());
    for &id in group.types.values() {
        list.push(one(model, id)?);
    }
    write_list(&list, out, |text, out| out.push_str(text));
    Ok(())
}

fn one(model: &Model, id: TypeId) -> Result<String> {
    let ty = model.user_type(id)?;
    let mut out = "{\"name\": ".to_owned();
    write_string(&ty.name, &mut out);
    let mut class = |name: &str| {
        write_name("class", &mut out);
        write_string(name, &mut out);
    };
    match &ty.class {
        TypeClass::Opaque { size } => {
            class("opaque");
            write_name("size", &mut out);
            write_number(size, &mut out);
        }
        TypeClass::Vlen { base } => {
            class("vlen");
            write_name("base", &mut out);
            write_string(&type_name(model, *base)?, &mut out);
        }
        TypeClass::Enum { base, members } => {
            class("enum");
            write_name("base", &mut out);
            write_string(&type_name(model, *base)?, &mut out);
            write_name("members", &mut out);
            write_list(members, &mut out, |member, out| {
                out.push_str("{\"name\": ");
                write_string(&member.name, out);
                write_name("value", out);
                write_number(member.value, out);
                out.push('}');
            });
        }
        TypeClass::Compound { size, fields } => {
            class("compound");
            write_name("size", &mut out);
            write_number(size, &mut out);
            let mut list = Vec::with_capacity(fields.len());
            for field in fields {
                list.push((field, type_name(model, field.ty)?));
            }
            write_name("fields", &mut out);
            write_list(&list, &mut out, |(field, ty), out| {
                out.push_str("{\"name\": ");
                write_string(&field.name, out);
                write_name("type", out);
                write_string(ty, out);
                write_name("offset", out);
                write_number(field.offset, out);
                write_name("shape", out);
                write_list(&field.shape, out, write_number);
                out.push('}');
            });
        }
    }
    out.push('}');
    Ok(out)
}

/// Defines the types of all groups: `lists` has the `types` of each group that defines some.
///
/// `displaced` are groups that were renamed after references to their types were stored.
///
/// # Errors
/// `NC_ENCZARR` with the type and its invalid part.
pub(crate) fn define(model: &mut Model, lists: &[(GroupId, Vec<Json>)], displaced: &[Key]) -> Result<()> {
    let mut found = HashMap::new();
    let mut order = Vec::new();
    for (group, list) in lists {
        for item in list {
            let members = item.as_object().ok_or_else(|| bad_member("types", "objects", Some(item)))?;
            let name = members.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| bad_member("types", "objects with a \"name\"", Some(item)))?;
            let full = model.fqn(*group, name)?;
            if found.insert(full.clone(), (*group, members)).is_some() {
                return Err(bad_member("types", "each name once", Some(&Value::string(full))));
            }
            order.push(full);
        }
    }
    let waiting = order.iter().cloned().collect();
    let mut making = TypeDefiner { order: HashMap::new(), waiting, made: HashMap::new(), found, displaced };
    for name in &order {
        let group = making.found.get(name).map_or(GroupId::ROOT, |(group, _)| *group);
        making.order.entry(group).or_default().push_back(name.clone());
    }
    order.iter().try_for_each(|name| making.make(model, name, 0).map(drop))
}

struct TypeDefiner<'d> {
    found: HashMap<String, (GroupId, &'d Object)>,
    /// The types of each group that were not reached yet.
    order: HashMap<GroupId, VecDeque<String>>,
    /// All names in `order`.
    waiting: HashSet<String>,
    /// `None`: the definition is in progress.
    made: HashMap<String, Option<TypeId>>,
    displaced: &'d [Key],
}

/// The most members of an enum or fields of a compound, as in HDF5.
pub(crate) const MAX_MEMBERS: usize = 65_535;

/// The deepest chain of references between types.
const MAX_DEPTH: usize = 64;

impl TypeDefiner<'_> {
    /// Returns the type of a full name, and defines it if necessary.
    fn make(&mut self, model: &mut Model, full: &str, depth: usize) -> Result<TypeId> {
        match self.made.get(full) {
            Some(Some(id)) => return Ok(*id),
            Some(None) => return Err(invalid_type(full, "the type contains itself".to_owned())),
            None => {}
        }
        let Some(&(group, members)) = self.found.get(full) else {
            return Err(ErrorKind::NcZarr.context(format!("member \"types\": no type {full:?}")));
        };
        if depth > MAX_DEPTH {
            return Err(invalid_type(full, "the types are nested too deeply".to_owned()));
        }
        self.made.insert(full.to_owned(), None);
        // Types keep their order in the group as far as references allow; errors are reported at each type's
        // turn.
        while self.waiting.contains(full)
            && let Some(before) = self.order.get_mut(&group).and_then(VecDeque::pop_front)
        {
            self.waiting.remove(&before);
            if before != full {
                drop(self.make(model, &before, depth + 1));
            }
        }
        let made = self.class(model, full, group, members, depth).map_err(|error| match error.kind() {
            ErrorKind::NcZarr => error,
            _ => ErrorKind::NcZarr.context(format!("member \"types\": type {full:?}: {}", error.what())),
        });
        match &made {
            Ok(id) => drop(self.made.insert(full.to_owned(), Some(*id))),
            Err(_) => drop(self.made.remove(full)),
        }
        made
    }

    fn class(
        &mut self,
        model: &mut Model,
        full: &str,
        group: GroupId,
        members: &Object,
        depth: usize,
    ) -> Result<TypeId> {
        let name = members.get("name").and_then(Value::as_str).unwrap_or_default();
        let member = |of: &Object, name: &str| of.get(name).cloned();
        let missing = |what: &str| invalid_type(full, format!("expected {what}"));
        let text = |of: &Object, name: &str, what: &str| {
            member(of, name).and_then(|value| value.as_str().map(str::to_owned)).ok_or_else(|| missing(what))
        };
        let size = |of: &Object| {
            let size =
                of.get("size").and_then(Value::as_u64).filter(|&size| (1..=MAX_SIZE as u64).contains(&size));
            size.map(|size| size as usize).ok_or_else(|| missing("a \"size\" from 1 to 2^30"))
        };
        let list = |of: &Object, name: &str| {
            let list = member(of, name).and_then(|value| value.as_array().map(<[Json]>::to_vec));
            match list.ok_or_else(|| missing(&format!("a list {name:?}")))? {
                list if list.len() > MAX_MEMBERS => Err(invalid_type(
                    full,
                    format!("too many {name} (expected at most {MAX_MEMBERS}, found {})", list.len()),
                )),
                list => Ok(list),
            }
        };
        let define = |model: &mut Model, edit: &Edit<'_>| match model.apply(edit)? {
            Defined::Type(id) => Ok(id),
            other => Err(ErrorKind::Internal.context(format!("{other:?}"))),
        };
        match text(members, "class", "a \"class\"")?.as_str() {
            "opaque" => {
                let size = size(members)?;
                define(model, &Edit::DefOpaque { group, name, size })
            }
            "vlen" => {
                let base = self.of(model, &text(members, "base", "a \"base\"")?, depth)?;
                define(model, &Edit::DefVlen { group, name, base })
            }
            "enum" => {
                let base = self.of(model, &text(members, "base", "a \"base\"")?, depth)?;
                let items = list(members, "members")?;
                let mut members = Vec::with_capacity(items.len());
                for item in &items {
                    let item = item.as_object().ok_or_else(|| missing("members that are objects"))?;
                    let name = text(item, "name", "members with a \"name\"")?;
                    let value = item.get("value").and_then(Value::as_integer);
                    let value = value.ok_or_else(|| missing("members with an integer \"value\""))?;
                    members.push(EnumMember { name, value });
                }
                model.define_enum(group, name, base, members)
            }
            "compound" => {
                let (size, items) = (size(members)?, list(members, "fields")?);
                let mut fields = Vec::with_capacity(items.len());
                for item in &items {
                    let item = item.as_object().ok_or_else(|| missing("fields that are objects"))?;
                    let name = text(item, "name", "fields with a \"name\"")?;
                    let ty = self.of(model, &text(item, "type", "fields with a \"type\"")?, depth)?;
                    let offset =
                        item.get("offset").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
                    let offset = offset.ok_or_else(|| missing("fields with an \"offset\""))?;
                    let len = |len: &Json| len.as_u64().and_then(|len| u32::try_from(len).ok());
                    let shape: Option<Vec<u32>> = match item.get("shape") {
                        None => Some(Vec::new()),
                        Some(shape) => shape.as_array().and_then(|shape| shape.iter().map(len).collect()),
                    };
                    let shape = shape.ok_or_else(|| missing("a \"shape\" that is a list of sizes"))?;
                    fields.push(Field { name, offset, ty, shape });
                }
                model.define_compound(group, name, size, fields)
            }
            other => Err(invalid_type(
                full,
                format!(
                    "unknown class (expected \"compound\", \"enum\", \"opaque\" or \"vlen\", found {other:?})"
                ),
            )),
        }
    }

    /// Returns the type of netCDF's word or of a full name.
    fn of(&mut self, model: &mut Model, name: &str, depth: usize) -> Result<NcType> {
        match NcType::ATOMIC.into_iter().find(|ty| ty.name() == name) {
            Some(atomic) => Ok(atomic),
            None => {
                let found = resolve_renamed(name, self.displaced, |name| {
                    self.found.get_key_value(name).map(|(name, _)| name)
                });
                let name = found.map_or(name, String::as_str).to_owned();
                self.make(model, &name, depth + 1).map(NcType::User)
            }
        }
    }
}

fn invalid_type(full: &str, what: String) -> Error {
    ErrorKind::NcZarr.context(format!("member \"types\": type {full:?}: {what}"))
}
