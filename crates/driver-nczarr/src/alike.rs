//! Arrays that have the document of another one: [`Pattern`].
//!
//! The arrays of a dataset mostly have one document in common, and attributes that say nothing of how they are stored. What
//! was made of the document then holds for all of them, and what is remembered to read their data is there once.
//!
//! Only for Zarr V2 as it is read by plain Zarr's rules: NCZarr tells of each array in its attributes.

use std::sync::Arc;

use nczarr_model::Var;

use crate::attrs::ARRAY_DIMENSIONS;
use crate::dtype::Kind;
use crate::flavour::{self, Naming};
use crate::json::{Members, Value};
use crate::older::Generation;
use crate::var::{Built, Links, Reading, Stored, imply, present};

/// What the arrays of one document have in common.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// Without attributes.
    var: Var,
    stored: Arc<Stored>,
    /// Whether all their dimensions have names.
    named: bool,
}

impl Pattern {
    /// What others with the document of `built` have in common with it; `None` if that depends on more than the document.
    /// `attrs`: those of `built`.
    pub(crate) fn of(built: &Built, attrs: Option<&Members<'_>>, reading: &Reading<'_>) -> Option<Self> {
        let apart = reading.keep || reading.naming == Naming::References || reading.generation != Generation::Today;
        if apart || built.var.problem.is_some() || !attrs.is_none_or(is_plain) {
            return None;
        }
        let kind = built.stored.meta.as_ref()?.dtype.kind;
        // Others have attributes of their own beside those that are stored, or a type that is told by its place.
        if !matches!(kind, Kind::Number(_) | Kind::Bool | Kind::Char | Kind::Text(_)) {
            return None;
        }
        let var = Var { atts: Default::default(), ..Var::clone(&built.var) };
        Some(Self { var, stored: Arc::clone(&built.stored), named: is_named(&built.links) })
    }

    /// The variable of another array with the same document; `None` if that is to be read for it.
    pub(crate) fn build(
        &self,
        attrs: Option<&Members<'_>>,
        zarray: &Value<'_>,
        reading: &Reading<'_>,
    ) -> Option<Built> {
        let none = Members::new();
        let attrs = attrs.unwrap_or(&none);
        let rank = self.stored.meta.as_ref()?.shape.len();
        if !is_plain(attrs) {
            return None;
        }
        let links = flavour::links(reading.naming, attrs, zarray, rank);
        if is_named(&links) != self.named {
            return None;
        }
        let mut var = self.var.clone();
        var.atts = present(attrs, None, usize::from(self.stored.implied_fill.is_some()));
        imply(&mut var, self.stored.implied_fill.as_ref());
        Some(Built { var: Arc::new(var), stored: Arc::clone(&self.stored), links })
    }
}

fn is_named(links: &Links) -> bool {
    matches!(links, Links::Names(names) if names.iter().all(Option::is_some))
}

/// Whether attributes say nothing of how an array is stored: what does, has a name that begins so.
fn is_plain(attrs: &Members<'_>) -> bool {
    attrs.iter().all(|(name, _)| !name.starts_with('_') || name == ARRAY_DIMENSIONS)
}
