//! The types of a JSON tree: [`Value`] and [`ObjectMembers`].

use std::borrow::Cow;

use indexmap::IndexMap;
use nczarr_model::NameHasher;

/// A value that owns its text.
pub(crate) type Json = Value<'static>;

/// The members of an object, with owned text.
pub(crate) type Object = ObjectMembers<'static>;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    /// The text of a number; always legal JSON.
    Number(Cow<'t, str>),
    /// A bare token that is not JSON but has a clear meaning: `NaN`, `-Infinity`, `01`, `tRUE` …
    Word(Cow<'t, str>),
    String(Cow<'t, str>),
    Array(Vec<Value<'t>>),
    Object(ObjectMembers<'t>),
}

/// The members of an object, in order. If a name repeats, the later value replaces the earlier one in place.
#[derive(Clone)]
pub(crate) struct ObjectMembers<'t>(pub(super) MemberStore<'t>);

/// A name and its value.
pub(super) type Member<'t> = (Cow<'t, str>, Value<'t>);

/// The members as a list, or with an index.
#[derive(Clone)]
pub(super) enum MemberStore<'t> {
    Few(Vec<Member<'t>>),
    Many(Box<IndexMap<Cow<'t, str>, Value<'t>, NameHasher>>),
}
