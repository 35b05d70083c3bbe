//! Arrays that share one metadata document: [`SharedLayout`].
//!
//! In most datasets many arrays have byte-identical documents, and attributes that do not affect the layout.
//! The variable and the `StoredVariable` made from the first such array then serve all of them.
//!
//! This applies only to Zarr V2 with plain Zarr's rules: NCZarr describes each array in its attributes.

use std::sync::Arc;

use nczarr_model::Var;

use crate::flavour::dim_refs::dim_refs;
use crate::flavour::kind::DimNaming;
use crate::legacy::NczarrVersion;
use crate::metadata::attributes::ARRAY_DIMENSIONS;
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v2::var::{add_fill_attribute, shown_attributes};
use crate::metadata::variable::{DimRefs, ReadContext, StoredVariable, VariableDraft};

/// The part of a [`VariableDraft`] that depends only on the array's document.
#[derive(Debug)]
pub(crate) struct SharedLayout {
    /// Without attributes.
    var: Var,
    stored: Arc<StoredVariable>,
    /// Whether all their dimensions have names.
    named: bool,
}

impl SharedLayout {
    /// Extracts the shared part of `built`; `None` if it depends on more than the document. `attrs` are the
    /// attributes of `built`.
    pub(crate) fn of(
        built: &VariableDraft,
        attrs: Option<&ObjectMembers<'_>>,
        reading: &ReadContext<'_>,
    ) -> Option<Self> {
        let apart = reading.keep
            || reading.naming == DimNaming::References
            || reading.nczarr_version != NczarrVersion::Current;
        if apart || built.var.problem.is_some() || !attrs.is_none_or(is_plain) {
            return None;
        }
        let kind = built.stored.meta.as_ref()?.dtype.kind;
        // Other kinds read some attributes as part of the type, or derive the type from their place.
        if !matches!(kind, DTypeKind::Number(_) | DTypeKind::Bool | DTypeKind::Char | DTypeKind::Text(_)) {
            return None;
        }
        let var = Var { atts: Default::default(), ..Var::clone(&built.var) };
        Some(Self { var, stored: Arc::clone(&built.stored), named: is_named(&built.dim_refs) })
    }

    /// Builds the variable of another array with the same document; `None` if that array needs its own parse.
    pub(crate) fn build(
        &self,
        attrs: Option<&ObjectMembers<'_>>,
        zarray: &Value<'_>,
        reading: &ReadContext<'_>,
    ) -> Option<VariableDraft> {
        let none = ObjectMembers::new();
        let attrs = attrs.unwrap_or(&none);
        let rank = self.stored.meta.as_ref()?.shape.len();
        if !is_plain(attrs) {
            return None;
        }
        let links = dim_refs(reading.naming, attrs, zarray, rank);
        if is_named(&links) != self.named {
            return None;
        }
        let mut var = self.var.clone();
        var.atts = shown_attributes(attrs, None, usize::from(self.stored.implied_fill.is_some()));
        add_fill_attribute(&mut var, self.stored.implied_fill.as_ref());
        Some(VariableDraft { var: Arc::new(var), stored: Arc::clone(&self.stored), dim_refs: links })
    }
}

fn is_named(links: &DimRefs) -> bool {
    matches!(links, DimRefs::Names(names) if names.iter().all(Option::is_some))
}

/// Whether no attribute affects how the array is stored. Such attributes begin with `_`.
fn is_plain(attrs: &ObjectMembers<'_>) -> bool {
    attrs.iter().all(|(name, _)| !name.starts_with('_') || name == ARRAY_DIMENSIONS)
}
