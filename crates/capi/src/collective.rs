//! [`CollectiveDataset`]: a dataset that several processes define together.
//!
//! Every process makes the same definitions, as programs with MPI do. The first one that stores an object
//! creates it. A definition that equals an existing object succeeds and returns that object; a different one
//! fails. The processes need not communicate.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr::dispatch::{
    Audit, Dataset, DatasetInfo, Editor, Fault, HeaderPadding, JsonMetadata, Registry, VarData,
};
use nczarr::model::{
    Chunking, Defined, DimId, Edit, Endian, GroupId, Model, ModelCell, TypeClass, Var, VarId, name::nfc,
};
use nczarr::{Error, ErrorKind, NcType, Result};

/// A dataset whose definitions join those of other processes.
#[derive(Debug)]
pub struct CollectiveDataset {
    dataset: Arc<dyn Dataset>,
    /// The number of variables that exist in storage.
    stored_vars: AtomicUsize,
}

impl CollectiveDataset {
    pub fn new(dataset: Arc<dyn Dataset>) -> Self {
        let vars = dataset.model().with(|model| model.vars().len());
        Self { dataset, stored_vars: AtomicUsize::new(vars) }
    }

    /// Finds the object that an edit defines, if it exists and is the same.
    fn existing(&self, edit: &Edit<'_>) -> Result<Option<Defined>> {
        let stored = self.stored_vars.load(Ordering::Acquire);
        self.dataset.model().with(|model| match layout_of(edit).filter(|var| var.index() < stored) {
            Some(var) => same_layout(model, var, edit).map(Some),
            None => existing(model, edit),
        })
    }
}

impl Dataset for CollectiveDataset {
    fn info(&self) -> DatasetInfo {
        self.dataset.info()
    }

    fn model(&self) -> &ModelCell {
        self.dataset.model()
    }

    fn search_faults(&self) -> Result<Vec<Fault>> {
        self.dataset.search_faults()
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        self.dataset.registry()
    }

    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>> {
        self.dataset.data(var)
    }

    fn audit(&self) -> Result<Audit> {
        self.dataset.audit()
    }

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
    }

    fn json_metadata(&self) -> Option<&dyn JsonMetadata> {
        self.dataset.json_metadata()
    }

    fn external_files(&self) -> Vec<PathBuf> {
        self.dataset.external_files()
    }

    fn close(&self) -> Result<()> {
        self.dataset.close()
    }

    fn image(&self) -> Result<Vec<u8>> {
        self.dataset.image()
    }

    fn sync(&self) -> Result<()> {
        self.dataset.sync()
    }

    /// Forgets definitions that are not stored. Stored objects stay, since other processes may have defined
    /// them too.
    fn abort(&self) -> Result<()> {
        self.model().roll_back();
        self.dataset.close()
    }
}

impl Editor for CollectiveDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        match self.existing(edit)? {
            Some(_) => Ok(()),
            None => self.dataset.editor()?.admit(edit),
        }
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        match self.existing(edit)? {
            Some(defined) => Ok(defined),
            None => self.dataset.editor()?.apply(edit),
        }
    }

    fn commit(&self, padding: HeaderPadding) -> Result<()> {
        let vars = self.dataset.model().with(|model| model.vars().len());
        self.dataset.editor()?.commit(padding)?;
        self.stored_vars.fetch_max(vars, Ordering::AcqRel);
        Ok(())
    }

    fn reserve(&self, dim: DimId, count: u64) -> Result<u64> {
        self.dataset.editor()?.reserve(dim, count)
    }
}

fn different(what: &str, name: &str, existing: impl std::fmt::Debug, wanted: impl std::fmt::Debug) -> Error {
    ErrorKind::NameInUse.context(format!(
        "{what} {name:?}: it exists with another definition (expected {wanted:?}, found {existing:?}); delete \
         the dataset first, or define the same in every process"
    ))
}

/// Finds the object that an edit defines, if it exists and is the same.
fn existing(model: &Model, edit: &Edit<'_>) -> Result<Option<Defined>> {
    match *edit {
        Edit::DefDim { group, name, len } => {
            let Some(&id) = model.group(group)?.dims.get(&*nfc(name)) else { return Ok(None) };
            let (dim, len) = (model.dim(id)?, len.filter(|&len| len > 0));
            let found = (!dim.unlimited).then(|| dim.len());
            if found == len {
                Ok(Some(Defined::Dim(id)))
            } else {
                Err(different("dimension", name, found, len))
            }
        }
        Edit::DefVar { group, name, xtype, dims } => {
            let Some(&id) = model.group(group)?.vars.get(&*nfc(name)) else { return Ok(None) };
            let var = model.var(id)?;
            // Plain Zarr may find a dimension in another group.
            let named = |dims: &[DimId]| -> Result<Vec<_>> {
                let dims = dims.iter().map(|&id| model.dim(id));
                dims.map(|dim| dim.map(|dim| (dim.name.clone(), (!dim.unlimited).then(|| dim.len()))))
                    .collect()
            };
            let (found, wanted) = ((var.xtype, named(&var.dims)?), (xtype, named(dims)?));
            if found == wanted {
                Ok(Some(Defined::Var(id)))
            } else {
                Err(different("variable", name, found, wanted))
            }
        }
        Edit::DefGroup { parent, name } => {
            Ok(model.group(parent)?.groups.get(&*nfc(name)).map(|&id| Defined::Group(id)))
        }
        Edit::PutAtt { group, var, name, values } => {
            let same = model.atts(group, var)?.get(&*nfc(name)) == Some(values);
            Ok(same.then_some(Defined::Nothing))
        }
        Edit::DefCompound { group, name, size } => {
            same_type(model, group, name, &TypeClass::Compound { size, fields: Vec::new() })
        }
        Edit::DefVlen { group, name, base } => same_type(model, group, name, &TypeClass::Vlen { base }),
        Edit::DefEnum { group, name, base } => {
            same_type(model, group, name, &TypeClass::Enum { base, members: Vec::new() })
        }
        Edit::DefOpaque { group, name, size } => same_type(model, group, name, &TypeClass::Opaque { size }),
        Edit::InsertField { ty, name, offset, field, shape } => {
            let TypeClass::Compound { fields, .. } = &model.user_type(ty)?.class else { return Ok(None) };
            let Some(found) = fields.iter().find(|found| found.name == *nfc(name)) else { return Ok(None) };
            let (found, wanted) = ((found.offset, found.ty, &*found.shape), (offset, field, shape));
            if found == wanted {
                Ok(Some(Defined::Nothing))
            } else {
                Err(different("field", name, found, wanted))
            }
        }
        Edit::InsertEnum { ty, name, value } => {
            let TypeClass::Enum { members, .. } = &model.user_type(ty)?.class else { return Ok(None) };
            let Some(found) = members.iter().find(|found| found.name == *nfc(name)) else { return Ok(None) };
            if found.value == value {
                Ok(Some(Defined::Nothing))
            } else {
                Err(different("member", name, found.value, value))
            }
        }
        _ => Ok(None),
    }
}

/// Finds a type. Its fields or members are edits of their own, so they are not compared.
fn same_type(model: &Model, group: GroupId, name: &str, wanted: &TypeClass) -> Result<Option<Defined>> {
    let Some(&id) = model.group(group)?.types.get(&*nfc(name)) else { return Ok(None) };
    let found = match &model.user_type(id)?.class {
        TypeClass::Compound { size, .. } => TypeClass::Compound { size: *size, fields: Vec::new() },
        TypeClass::Enum { base, .. } => TypeClass::Enum { base: *base, members: Vec::new() },
        class => class.clone(),
    };
    if found == *wanted { Ok(Some(Defined::Type(id))) } else { Err(different("type", name, found, wanted)) }
}

/// Returns the variable whose layout or fill value an edit changes.
fn layout_of(edit: &Edit<'_>) -> Option<VarId> {
    match *edit {
        Edit::DefVarFill { var, .. }
        | Edit::DefVarUnwritten { var, .. }
        | Edit::DefVarChunking { var, .. }
        | Edit::DefVarShards { var, .. }
        | Edit::DefVarEndian { var, .. }
        | Edit::DefVarFilter { var, .. }
        | Edit::DefVarFilters { var, .. }
        | Edit::DefVarQuantize { var, .. } => Some(var),
        _ => None,
    }
}

/// Checks that an edit leaves a stored variable as it is.
fn same_layout(model: &Model, id: VarId, edit: &Edit<'_>) -> Result<Defined> {
    let mut edited = model.clone();
    edited.apply(edit)?;
    let (found, wanted, shape) = (model.var(id)?, edited.var(id)?, model.shape(id)?);
    let properties = |var: &Var| {
        // Zarr V3 may store a filter as another one, which cannot be compared.
        let is_stored = |id: Option<u32>| found.filters.iter().any(|filter| filter.hdf5_id == id);
        let filters = var.filters.iter().filter(|filter| is_stored(filter.hdf5_id));
        let filters = filters.map(|filter| (filter.hdf5_id, &filter.params));
        let endian = resolved(var.endian, var.xtype);
        [
            format!("fill value {:?}", var.fill),
            format!("chunks {:?}", chunks(var, &shape)),
            format!("filters {:?}", filters.collect::<Vec<_>>()),
            format!("{endian:?}, shards {:?}, quantization {:?}", var.shards, var.quantize),
        ]
    };
    let (found_properties, wanted) = (properties(found), properties(wanted));
    let Some((found_as, wanted)) = found_properties.iter().zip(&wanted).find(|(a, b)| a != b) else {
        return Ok(Defined::Nothing);
    };
    let kind = match edit {
        Edit::DefVarFill { .. } | Edit::DefVarUnwritten { .. } => ErrorKind::LateFill,
        _ => ErrorKind::LateDef,
    };
    Err(kind.context(format!(
        "variable {:?}: it exists with another layout (expected {wanted}, found {found_as}); delete the dataset \
         first, or define the same in every process",
        found.name
    )))
}

fn resolved(endian: Endian, ty: NcType) -> Endian {
    match endian {
        _ if ty.size() == Some(1) => Endian::Native,
        Endian::Native if cfg!(target_endian = "big") => Endian::Big,
        Endian::Native => Endian::Little,
        other => other,
    }
}

/// Returns the chunk shape. A contiguous variable of Zarr is one chunk.
fn chunks(var: &Var, shape: &[u64]) -> Option<Vec<u64>> {
    match &var.chunking {
        Chunking::Default => None,
        Chunking::Chunked(chunks) => Some(chunks.clone()),
        Chunking::Contiguous | Chunking::Compact => Some(shape.to_vec()),
    }
}
