//! A small model with one item of every kind.

use nczarr_model::{
    Chunking, Defined, DimId, Edit, ErrorKind, GroupId, Model, NcType, Quantize, Result, TypeId, Values,
    VarId,
};

pub const ROOT: GroupId = GroupId::ROOT;
pub const G: GroupId = GroupId(1);
pub const H: GroupId = GroupId(2);
pub const X: DimId = DimId(0);
pub const TIME: DimId = DimId(1);
pub const Y: DimId = DimId(2);
pub const SCALAR: VarId = VarId(0);
pub const TEMP: VarId = VarId(1);
pub const DEPTH: VarId = VarId(2);
pub const LAST: VarId = VarId(3);
pub const POINT: TypeId = TypeId(0);
pub const COLOUR: TypeId = TypeId(1);
pub const BLOB: TypeId = TypeId(2);
pub const LIST: TypeId = TypeId(3);
pub const USED: TypeId = TypeId(4);

/// ```text
/// types: compound point(16) {}  enum byte colour {}  opaque(4) blob  vlen(int) list  compound used(8) {}
/// dims:  x = 4, time = unlimited;  vars: int s, float temp(time, x), last(x) of used;  atts: title, history
/// group g { dims: y = 6; vars: double depth(y, x); group h }
/// ```
pub fn model() -> Model {
    let mut model = Model::new();
    for edit in [
        Edit::DefDim { group: ROOT, name: "x", len: Some(4) },
        Edit::DefDim { group: ROOT, name: "time", len: None },
        Edit::DefGroup { parent: ROOT, name: "g" },
        Edit::DefGroup { parent: G, name: "h" },
        Edit::DefDim { group: G, name: "y", len: Some(6) },
        Edit::DefCompound { group: ROOT, name: "point", size: 16 },
        Edit::DefEnum { group: ROOT, name: "colour", base: NcType::Byte },
        Edit::DefOpaque { group: ROOT, name: "blob", size: 4 },
        Edit::DefVlen { group: ROOT, name: "list", base: NcType::Int },
        Edit::DefCompound { group: ROOT, name: "used", size: 8 },
        Edit::DefVar { group: ROOT, name: "s", xtype: NcType::Int, dims: &[] },
        Edit::DefVar { group: ROOT, name: "temp", xtype: NcType::Float, dims: &[TIME, X] },
        Edit::DefVar { group: G, name: "depth", xtype: NcType::Double, dims: &[Y, X] },
        Edit::DefVar { group: ROOT, name: "last", xtype: NcType::User(USED), dims: &[X] },
        Edit::PutAtt { group: ROOT, var: None, name: "title", values: &Values::text("t") },
        Edit::PutAtt { group: ROOT, var: None, name: "history", values: &Values::text("h") },
        Edit::PutAtt { group: ROOT, var: Some(TEMP), name: "units", values: &Values::text("K") },
        Edit::PutAtt { group: ROOT, var: Some(TEMP), name: "valid_min", values: &Values::Float(vec![1.0]) },
        Edit::PutAtt {
            group: ROOT,
            var: Some(TEMP),
            name: "valid_range",
            values: &Values::Float(vec![1.0, 2.0]),
        },
        Edit::DefVarChunking { var: DEPTH, chunking: &Chunking::Chunked(vec![3, 4]) },
        Edit::DefVarQuantize { var: DEPTH, quantize: Some(Quantize::BitRound(9)) },
    ] {
        model.apply(&edit).unwrap_or_else(|error| panic!("{edit:?}: {error}"));
    }
    model
}

/// Applies the edit. A failed edit must leave the model unchanged.
pub fn apply(model: &mut Model, edit: &Edit<'_>) -> Result<Defined> {
    let before = format!("{model:?}");
    let outcome = model.apply(edit);
    if outcome.is_err() {
        assert_eq!(format!("{model:?}"), before, "changed by a refused {edit:?}");
    }
    outcome
}

/// Returns the result of the edit on a fresh sample.
pub fn outcome(edit: &Edit<'_>) -> Result<Defined, ErrorKind> {
    apply(&mut model(), edit).map_err(|error| {
        assert!(!error.what().is_empty(), "{edit:?} says nothing");
        error.kind()
    })
}
