//! [`Edit`]: one change of a model. Each `def_*`, `insert_*`, `rename_*`, `put_att` and `del_att` entry of
//! the dispatch table has one.
//!
//! An edit describes a change. The driver decides whether its format supports it;
//! [`Model::apply`](crate::Model::apply) checks the rules of the model.

use crate::{
    Chunking, DimId, Endian, FillMode, FilterSpec, GroupId, NcType, Quantize, TypeId, Values, VarId,
};

/// One change of a model.
///
/// The fields are the changed object, or the owner of a new one; its name; and the arguments of the netCDF
/// function.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Edit<'a> {
    /// A new dimension; `len` is `None` (or 0, as `NC_UNLIMITED` is) for an unlimited one.
    DefDim { group: GroupId, name: &'a str, len: Option<u64> },
    /// Another name for a dimension.
    RenameDim { dim: DimId, name: &'a str },
    /// A new variable.
    DefVar { group: GroupId, name: &'a str, xtype: NcType, dims: &'a [DimId] },
    /// Another name for a variable.
    RenameVar { var: VarId, name: &'a str },
    /// A new group.
    DefGroup { parent: GroupId, name: &'a str },
    /// Another name for a group; not for the root.
    RenameGroup { group: GroupId, name: &'a str },
    /// A new or changed attribute of `var`, or of `group` if `var` is `None`.
    PutAtt { group: GroupId, var: Option<VarId>, name: &'a str, values: &'a Values },
    /// Another name for an attribute.
    RenameAtt { group: GroupId, var: Option<VarId>, name: &'a str, to: &'a str },
    /// The removal of an attribute.
    DelAtt { group: GroupId, var: Option<VarId>, name: &'a str },
    /// The fill mode of new variables.
    SetFill { mode: FillMode },
    /// A variable's fill value (`None`: the default of its type), or no fill at all.
    DefVarFill { var: VarId, no_fill: bool, value: Option<&'a Values> },
    /// The value of unwritten elements alone. The edit does not create or change the attribute `_FillValue`.
    /// For formats that store both separately. Most of them refuse it beside such an attribute.
    DefVarUnwritten { var: VarId, value: &'a Values },
    /// A variable's chunk shape.
    DefVarChunking { var: VarId, chunking: &'a Chunking },
    /// The shape of a variable's shards, in elements; `None`: each chunk is an object.
    DefVarShards { var: VarId, shards: Option<&'a [u64]> },
    /// A variable's byte order.
    DefVarEndian { var: VarId, endian: Endian },
    /// One more filter at the end of a variable's list; a filter of the same id or name is replaced in place.
    DefVarFilter { var: VarId, filter: &'a FilterSpec },
    /// All filters of a variable, replacing the existing ones; a filter may occur several times.
    DefVarFilters { var: VarId, filters: &'a [FilterSpec] },
    /// The quantization of a float variable; `None` removes it.
    DefVarQuantize { var: VarId, quantize: Option<Quantize> },
    /// A new compound type without fields, of `size` bytes.
    DefCompound { group: GroupId, name: &'a str, size: usize },
    /// One more field of a compound type; an empty `shape` is a single value.
    InsertField { ty: TypeId, name: &'a str, offset: usize, field: NcType, shape: &'a [u32] },
    /// A new vlen type.
    DefVlen { group: GroupId, name: &'a str, base: NcType },
    /// A new enum type without members.
    DefEnum { group: GroupId, name: &'a str, base: NcType },
    /// One more member of an enum type.
    InsertEnum { ty: TypeId, name: &'a str, value: i128 },
    /// A new opaque type of `size` bytes.
    DefOpaque { group: GroupId, name: &'a str, size: usize },
}

/// The object that an edit defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    /// Nothing new.
    Nothing,
    /// A group.
    Group(GroupId),
    /// A dimension.
    Dim(DimId),
    /// A variable.
    Var(VarId),
    /// A type.
    Type(TypeId),
}
