//! Builds the model of a file as netCDF-C shows it: everything is in the root group, and dimensions that no
//! dataset has are left out.

use std::collections::{HashMap, HashSet};

use nczarr_dispatch::Fault;
use nczarr_model::{
    Chunking, DimId, Endian, Error, ErrorKind, FILL_VALUE, GroupId, Model, NcType, Result, Var, VarFill,
    VarId,
};

use crate::data::{UncheckedLocation, VarLocation};
use crate::file::Hdf4File;
use crate::sd::{ScientificData, ScientificDataset};

/// A model, and the place of each variable's data.
#[derive(Debug, Default)]
pub(crate) struct LoadedModel {
    pub(crate) model: Model,
    pub(crate) data: Vec<Option<VarLocation>>,
    pub(crate) faults: Vec<Fault>,
}

/// Builds the model.
///
/// # Errors
/// `NC_EHDFERR`; errors of the model.
pub(crate) fn load(file: &Hdf4File, sd: ScientificData, most_dims: usize) -> Result<LoadedModel> {
    let mut loaded = LoadedModel::default();
    let mut dims = HashMap::new();
    let mut doubtful = HashSet::new();
    for (name, value) in sd.atts {
        loaded.model.group_mut(GroupId::ROOT)?.atts.insert(name, value);
    }
    for mut set in sd.sets {
        if set.dims.len() > most_dims {
            let what = format!("{:?} has {} dimensions; the limit is {most_dims}", set.name, set.dims.len());
            return Err(ErrorKind::MaxDims.context(what));
        }
        let lens: Vec<_> = set.dims.iter().map(|&at| sd.dims.get(at).and_then(|dim| dim.len)).collect();
        let place = UncheckedLocation::find(file, &set, &lens);
        let mut ids = Vec::new();
        let mut shape = Vec::new();
        let counted = place.as_ref().ok().and_then(UncheckedLocation::records);
        for (&at, &len) in set.dims.iter().zip(&lens) {
            // The length that the first visible dataset has for it.
            let id = match dims.get(&at) {
                Some(&id) => id,
                None => {
                    let name = sd.dims.get(at).map(|dim| dim.name.clone()).unwrap_or_default();
                    let id =
                        loaded.model.add_dim(GroupId::ROOT, name, len.or(counted).unwrap_or(0), false)?;
                    dims.insert(at, id);
                    id
                }
            };
            shape.push(loaded.model.dim(id)?.len());
            ids.push(id);
        }
        let here = place.and_then(|place| {
            VarLocation::new(place, &shape).inspect_err(|_| doubtful.extend(ids.iter().copied()))
        });
        set.name = free_name(&loaded.model, set.name, &mut loaded.faults)?;
        let name = set.name.clone();
        let mut var = variable(set, here.as_ref().err().cloned());
        var.dims = ids;
        if let Ok(here) = &here {
            var.chunking = here.chunk_shape().map_or(Chunking::Contiguous, Chunking::Chunked);
        }
        loaded.model.add_var(var).map_err(|error| error.at(name))?;
        loaded.data.push(here.ok());
    }
    check_absent(&mut loaded, &doubtful)?;
    Ok(loaded)
}

/// Marks variables without data whose dimension has contradictory lengths in other datasets.
fn check_absent(loaded: &mut LoadedModel, doubtful: &HashSet<DimId>) -> Result<()> {
    for (at, here) in loaded.data.iter_mut().enumerate() {
        let id = VarId(at as u32);
        let dims = &loaded.model.var(id)?.dims;
        if here.as_ref().is_some_and(VarLocation::is_absent)
            && let Some(&dim) = dims.iter().find(|dim| doubtful.contains(dim))
        {
            let name = loaded.model.dim(dim)?.name.clone();
            let what =
                format!("it has no data, and other datasets contradict the length of its dimension {name:?}");
            loaded.model.var_mut(id)?.problem = Some(ErrorKind::VarMeta.context(what));
            *here = None;
        }
    }
    Ok(())
}

fn variable(set: ScientificDataset, problem: Option<Error>) -> Var {
    let number = set.number.as_ref().ok().copied();
    let mut var = Var { name: set.name, problem, chunking: Chunking::Contiguous, ..Var::default() };
    var.xtype = number.map_or(NcType::Byte, |number| number.ty);
    if let Some(number) = number.filter(|number| number.ty != NcType::Char) {
        var.endian = if number.big_endian { Endian::Big } else { Endian::Little };
    }
    for (name, value) in set.atts {
        if name == FILL_VALUE && value.nc_type() == var.xtype && value.len() == 1 {
            var.fill = VarFill::Value(value.clone());
        }
        var.atts.insert(name, value);
    }
    var
}

/// Returns a free name. Several datasets may have one name, but variables may not: later ones get a number.
fn free_name(model: &Model, name: String, faults: &mut Vec<Fault>) -> Result<String> {
    let root = model.group(GroupId::ROOT)?;
    if !root.vars.contains_key(&name) {
        return Ok(name);
    }
    let free = (2u32..).map(|number| format!("{name}_{number}")).find(|name| !root.vars.contains_key(name));
    let free = free.ok_or_else(|| ErrorKind::NameInUse.context(name.clone()))?;
    faults.push(Fault::unusual(
        format_args!("/{free}"),
        format_args!("is stored as a second dataset named {name:?}"),
    ));
    Ok(free)
}
