//! [`DefinedObjects`]: the objects of the target, by those of the source.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nczarr_model::{DimId, GroupId, Model, NcType, TypeId, Values, VarId};

use super::fit::NumberWidening;
use super::loss_report::LossReport;
use super::names::GroupTarget;

/// The result of defining: by source id, the new object, or `None` if it was left out.
pub struct DefinedObjects {
    /// The model of the target.
    pub made: Arc<Model>,
    /// The variables.
    pub vars: Vec<Option<NewVar>>,
    /// The dimensions.
    pub dims: Vec<Option<DimId>>,
    /// The groups.
    pub groups: Vec<GroupTarget>,
    /// Group attributes with new names.
    pub atts: HashMap<(GroupId, String), String>,
    /// The objects that were left out or changed.
    pub lost: LossReport,
    /// The paths of attributes that were left out.
    pub left: HashSet<String>,
    /// The types.
    pub types: Vec<Option<TypeId>>,
}

/// A variable of the target.
pub struct NewVar {
    pub id: VarId,
    pub form: VariableForm,
}

/// How elements are converted.
#[derive(Debug, Clone, PartialEq)]
pub enum VariableForm {
    /// Unchanged.
    Same,
    /// To another type.
    Numbers(NumberWidening),
    /// Strings become rows of `len` bytes.
    Text { len: u64 },
}

impl DefinedObjects {
    /// Returns the target's type for a type of the source; `None` if it was left out.
    pub fn ty(&self, ty: NcType) -> Option<NcType> {
        let NcType::User(id) = ty else { return Some(ty) };
        self.types.get(id.index()).copied().flatten().map(NcType::User)
    }

    /// Converts values to the target's types.
    pub fn values(&self, values: &Values) -> Option<Values> {
        Some(match (values, self.ty(values.nc_type())?) {
            (Values::User(_, bytes), NcType::User(id)) => Values::User(id, bytes.clone()),
            (Values::Packed(_, list), NcType::User(id)) => Values::Packed(id, list.clone()),
            (values, _) => values.clone(),
        })
    }
}
