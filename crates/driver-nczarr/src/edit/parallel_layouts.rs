//! Layouts of new variables: planned before metadata is written, and copied into the model.
//!
//! `plan` decides each layout. For many variables, new threads share the work, not the pool, because the
//! caller holds a lock. Successive variables with equal definitions share one layout.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_model::{Chunking, Endian, Error, Model, NcType, Result, Var, VarId};
use nczarr_runtime::run_on_new_threads;

use crate::dataset::catalog::Catalog;
use crate::dataset::node_states::VarState;
use crate::edit::plan::LayoutPlanner;
use crate::metadata::json::text;
use crate::metadata::v2::array_meta::ArrayMeta;
use crate::metadata::variable::StoredVariable;
use crate::write::threads::{NODES_PER_THREAD, lock, threads};

/// Returns the planner of a dataset.
pub(crate) fn planner(catalog: &Catalog) -> LayoutPlanner<'_> {
    LayoutPlanner {
        registry: &catalog.registry,
        options: &catalog.options,
        flavour: catalog.flavour,
        format: catalog.format,
        separator: catalog.separator,
        forces_little_endian: catalog.description.writer_bugs.swapped,
    }
}

/// Plans all missing layouts and copies them into the model; returns the resulting model.
pub(crate) fn plan_new_layouts(catalog: &Catalog) -> Result<Arc<Model>> {
    let mut state = catalog.write_state();
    let model = catalog.model.snapshot();
    state.extend(&model)?;
    let mut news = Vec::new();
    let blank = state.unplanned();
    plan_all(catalog, &model, &blank, &mut state.vars)?;
    for ((id, var), here) in model.vars().zip(&state.vars) {
        // Includes variables whose layout was planned at their first access.
        if (here.planned || var.quantize.is_some())
            && var.problem.is_none()
            && here.stored.meta.as_ref().is_some_and(|meta| !shows_layout(var, meta))
        {
            news.push(id);
        }
    }
    if news.is_empty() {
        return Ok(model);
    }
    // Releases the snapshot, so that `change` need not copy the model.
    drop(model);
    catalog.model.change(|model| {
        for id in news {
            if let Ok(var) = model.var_mut(id)
                && let Some(meta) = state.vars.get(id.index()).and_then(|here| here.stored.meta.as_ref())
            {
                show_layout(var, meta);
            }
        }
    });
    Ok(catalog.model.snapshot())
}

/// Plans the layouts marked `replan`, in parallel if they are many. Tries all; returns the error of the
/// first failing variable.
fn plan_all(
    catalog: &Catalog,
    model: &Model,
    blank: &Arc<StoredVariable>,
    vars: &mut [VarState],
) -> Result<()> {
    let mut todo: Vec<(VarId, &mut VarState)> =
        model.vars().map(|(id, _)| id).zip(vars).filter(|(_, here)| here.replan).collect();
    let (threads, planning) = (threads(&catalog.options, todo.len()), planner(catalog));
    let (turn, failed) = (Mutex::new(todo.chunks_mut(NODES_PER_THREAD)), Mutex::new(None::<(VarId, Error)>));
    run_on_new_threads(threads, &|| {
        // The last new variable that this thread planned.
        let mut last: Option<(&Var, Arc<StoredVariable>)> = None;
        loop {
            let Some(part) = lock(&turn).next() else { return };
            for (id, here) in part {
                let new = model.var(*id).ok().filter(|_| Arc::ptr_eq(&here.stored, blank));
                if let Some((_, stored)) =
                    last.as_ref().filter(|(last, _)| new.is_some_and(|new| has_same_layout(last, new)))
                {
                    here.stored = Arc::clone(stored);
                    (here.replan, here.planned) = (false, true);
                    continue;
                }
                match planning.plan(model, *id, Arc::make_mut(&mut here.stored)) {
                    Ok(()) => {
                        (here.replan, here.planned) = (false, true);
                        last = new.map(|new| (new, Arc::clone(&here.stored))).or(last);
                    }
                    Err(error) => {
                        let mut failed = lock(&failed);
                        if failed.as_ref().is_none_or(|(first, _)| id.index() < first.index()) {
                            *failed = Some((*id, error));
                        }
                    }
                }
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// Whether two new variables of one dataset get the same layout. Attributes other than the fill value affect
/// only strings.
fn has_same_layout(a: &Var, b: &Var) -> bool {
    let Var {
        name: _,
        group: _,
        xtype,
        dims,
        atts: _,
        chunking,
        shards,
        endian,
        fill,
        filters,
        quantize,
        stored_type,
        problem,
    } = a;
    let plain = xtype.is_atomic() && *xtype != NcType::String && problem.is_none() && b.problem.is_none();
    plain
        && (xtype, dims, chunking, shards) == (&b.xtype, &b.dims, &b.chunking, &b.shards)
        && (endian, fill, filters, quantize) == (&b.endian, &b.fill, &b.filters, &b.quantize)
        && *stored_type == b.stored_type
}

/// Whether the model already shows the layout: chunk shape, byte order, codec descriptions, and the attribute
/// of quantization.
fn shows_layout(var: &Var, meta: &ArrayMeta) -> bool {
    let described = meta.v3.is_some() || var.filters.iter().all(|filter| filter.codec.is_some());
    matches!(var.chunking, Chunking::Chunked(_))
        && var.shards == meta.shards
        && is_ordered(var, meta)
        && described
        && missing_quantize_attribute(var).is_none()
}

fn is_ordered(var: &Var, meta: &ArrayMeta) -> bool {
    var.endian != Endian::Native || meta.dtype.endian() == Endian::Native
}

/// Returns the attribute that describes quantization, if the variable lacks it.
fn missing_quantize_attribute(var: &Var) -> Option<(&'static str, nczarr_model::Values)> {
    var.quantize
        .map(nczarr_chunkio::quantize_attribute)
        .filter(|(name, values)| var.atts.get(*name) != Some(values))
}

/// Copies the layout into the variable of the model.
fn show_layout(var: &mut Var, meta: &ArrayMeta) {
    if !matches!(var.chunking, Chunking::Chunked(_)) {
        var.chunking = Chunking::Chunked(if var.dims.is_empty() { Vec::new() } else { meta.chunks.clone() });
    }
    var.shards.clone_from(&meta.shards);
    if !is_ordered(var, meta) {
        var.endian = meta.dtype.endian();
    }
    if meta.v3.is_none() && var.filters.iter().any(|filter| filter.codec.is_none()) {
        let codecs = meta.codecs.iter().skip(meta.codecs.len().saturating_sub(var.filters.len()));
        for (filter, codec) in var.filters.iter_mut().zip(codecs) {
            filter.codec = Some(text(codec));
        }
    }
    if let Some((name, values)) = missing_quantize_attribute(var) {
        var.atts.insert(name.to_owned(), values);
    }
}
