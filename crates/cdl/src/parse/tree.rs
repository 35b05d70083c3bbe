//! The definitions of a CDL text. Names are unresolved, and data are only offsets.

use super::constant::Placed;

/// A type by its path; the first segment is empty if the path starts at the root.
#[derive(Debug, Clone)]
pub(crate) struct TypeRef {
    pub(crate) path: Vec<String>,
    pub(crate) at: usize,
}

/// A group; the dataset itself is the outermost one.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupDef {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) types: Vec<TypeDef>,
    pub(crate) dims: Vec<DimDef>,
    pub(crate) vars: Vec<VarDef>,
    pub(crate) atts: Vec<AttDef>,
    /// Offsets of its data sections.
    pub(crate) data: Vec<usize>,
    pub(crate) groups: Vec<GroupDef>,
}

#[derive(Debug, Clone)]
pub(crate) struct TypeDef {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) class: ClassDef,
}

#[derive(Debug, Clone)]
pub(crate) enum ClassDef {
    Enum { base: TypeRef, members: Vec<(String, i128)> },
    Opaque { size: usize },
    Vlen { base: TypeRef },
    Compound { fields: Vec<FieldDef> },
}

#[derive(Debug, Clone)]
pub(crate) struct FieldDef {
    pub(crate) ty: TypeRef,
    pub(crate) name: String,
    pub(crate) shape: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct DimDef {
    pub(crate) name: String,
    pub(crate) at: usize,
    /// `None`: unlimited.
    pub(crate) len: Option<u64>,
}

#[derive(Debug, Clone)]
pub(crate) struct VarDef {
    pub(crate) ty: TypeRef,
    pub(crate) name: String,
    pub(crate) at: usize,
    /// Dimensions by their paths.
    pub(crate) dims: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct AttDef {
    /// The variable by its path; `None`: the group.
    pub(crate) var: Option<Vec<String>>,
    /// `None`: the type follows from the values.
    pub(crate) ty: Option<TypeRef>,
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) values: Vec<Placed>,
}
