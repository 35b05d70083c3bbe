//! The layouts of variables that have none yet, before metadata are written: decided, and told to the model.
//!
//! How one is decided is `plan`'s business. That takes as long as defining a variable, so that several threads do it for many:
//! threads made for it, since who writes metadata holds a lock. A variable that is defined like the one before has its layout
//! in common with it.

use std::sync::{Arc, Mutex, PoisonError};

use nczarr_dispatch::run_on_new_threads;
use nczarr_model::{Chunking, Endian, Error, Model, NcType, Result, Var, VarId};

use crate::dataset::{VarState, ZarrDataset};
use crate::json::text;
use crate::meta::ArrayMeta;
use crate::store::{NODES_PER_THREAD, lock};
use crate::var::Stored;

impl ZarrDataset {
    /// Decides the layouts that are not decided yet, and tells the model; answers the model that knows them all.
    pub(crate) fn plan_new(&self) -> Result<Arc<Model>> {
        let mut state = self.write_state();
        let model = self.model.snapshot();
        state.extend(&model)?;
        let mut news = Vec::new();
        let blank = Arc::clone(&state.blank);
        self.plan_all(&model, &blank, &mut state.vars)?;
        for ((id, var), here) in model.vars().zip(&state.vars) {
            // Also those whose layout was decided when data first moved.
            if (here.planned || var.quantize.is_some())
                && var.problem.is_none()
                && here.stored.meta.as_ref().is_some_and(|meta| !is_decided(var, meta))
            {
                news.push(id);
            }
        }
        if news.is_empty() {
            return Ok(model);
        }
        // Nothing is copied that nobody else holds.
        drop(model);
        self.model.change(|model| {
            for id in news {
                if let Ok(var) = model.var_mut(id)
                    && let Some(meta) = state.vars.get(id.index()).and_then(|here| here.stored.meta.as_ref())
                {
                    decide(var, meta);
                }
            }
        });
        Ok(self.model.snapshot())
    }

    /// Decides the layouts of those variables that are to have another; several threads do if they are many. All are tried; the
    /// error is that of the first in the model's order.
    fn plan_all(&self, model: &Model, blank: &Arc<Stored>, vars: &mut [VarState]) -> Result<()> {
        let mut todo: Vec<(VarId, &mut VarState)> =
            model.vars().map(|(id, _)| id).zip(vars).filter(|(_, here)| here.replan).collect();
        let (threads, planning) = (self.threads(todo.len()), self.planning());
        let (turn, failed) = (Mutex::new(todo.chunks_mut(NODES_PER_THREAD)), Mutex::new(None::<(VarId, Error)>));
        run_on_new_threads(threads, &|| {
            // The last new variable that was planned here.
            let mut last: Option<(&Var, Arc<Stored>)> = None;
            loop {
                let Some(part) = lock(&turn).next() else { return };
                for (id, here) in part {
                    let new = model.var(*id).ok().filter(|_| Arc::ptr_eq(&here.stored, blank));
                    if let Some((_, stored)) = last.as_ref().filter(|(last, _)| new.is_some_and(|new| alike(last, new)))
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
}

/// Whether two new variables of one dataset get the same layout. Of attributes only those of strings say something of it,
/// beside the fill value.
fn alike(a: &Var, b: &Var) -> bool {
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

/// Whether a variable says what its layout decided: chunk shape, byte order, codec descriptions, and the attribute that
/// tells how values are rounded.
fn is_decided(var: &Var, meta: &ArrayMeta) -> bool {
    let described = meta.v3.is_some() || var.filters.iter().all(|filter| filter.codec.is_some());
    matches!(var.chunking, Chunking::Chunked(_))
        && var.shards == meta.shards
        && is_ordered(var, meta)
        && described
        && rounding(var).is_none()
}

fn is_ordered(var: &Var, meta: &ArrayMeta) -> bool {
    var.endian != Endian::Native || meta.dtype.endian() == Endian::Native
}

/// The attribute that tells how values are rounded, if it is not there.
fn rounding(var: &Var) -> Option<(&'static str, nczarr_model::Values)> {
    var.quantize.map(nczarr_chunkio::quantize_attribute).filter(|(name, values)| var.atts.get(*name) != Some(values))
}

/// Lets a variable say what its layout decided.
fn decide(var: &mut Var, meta: &ArrayMeta) {
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
    if let Some((name, values)) = rounding(var) {
        var.atts.insert(name.to_owned(), values);
    }
}
