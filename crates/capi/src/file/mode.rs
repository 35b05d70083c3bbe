//! Define mode, `nc_sync` and the fill mode.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use nczarr::dispatch::{Dataset, FormatX};
use nczarr::model::{FILL_VALUE, Model, VarId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{ErrorKind, FillMode, Result, Values, VarFill};

use crate::boundary::pointer::OutPtr;
use crate::open_file::Node;
use crate::table;

const NC_FILL: c_int = 0;
const NC_NOFILL: c_int = 0x100;

c_functions! {
    /// Enters define mode.
    fn nc_redef(ncid: c_int) {
        let node = table::find(ncid)?;
        node.forget_accesses();
        if let Some(user) = &node.user {
            return user.redef();
        }
        // Define mode did not end, so that the type can be completed.
        if node.has_unfinished_type.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // In such a file define mode needs no call, and another one changes nothing.
        if node.formatx == FormatX::Hdf5 && !node.is_strict() && node.nc().model().is_defining() {
            return Ok(());
        }
        node.nc_to_edit()?.redef()
    }

    /// Ends define mode.
    fn nc_enddef(ncid: c_int) {
        end_define_mode(ncid, [0; 4])
    }

    /// Ends define mode, with free space and alignments in the header of a classic file.
    fn nc__enddef(ncid: c_int, h_minfree: usize, v_align: usize, v_minfree: usize, r_align: usize) {
        let padding = [h_minfree, v_align, v_minfree, r_align].map(|bytes| bytes as u64);
        end_define_mode(ncid, padding)
    }

    /// Writes all changes.
    fn nc_sync(ncid: c_int) {
        let node = table::find(ncid)?;
        node.to_data_mode()?;
        if node.writable || node.user.is_some() { node.nc().sync() } else { Ok(()) }
    }

    /// Sets the fill mode: of new variables, and in a classic file of all.
    fn nc_set_fill(ncid: c_int, fillmode: c_int, old_modep: OutPtr<c_int>) {
        let node = table::find(ncid)?;
        let mode = match fillmode {
            NC_FILL => FillMode::Fill,
            NC_NOFILL => FillMode::NoFill,
            other => return Err(ErrorKind::Inval.context(format!("fill mode {other}"))),
        };
        let old = node.nc_to_edit()?.set_fill(mode)?;
        if node.is_cdf() && node.user.is_none() {
            switch_variables(&node, mode == FillMode::Fill)?;
        }
        old_modep.set(if old == FillMode::Fill { NC_FILL } else { NC_NOFILL });
        Ok(())
    }
}

fn end_define_mode(ncid: c_int, padding: [u64; 4]) -> Result<()> {
    let node = table::find(ncid)?;
    match &node.user {
        Some(user) => {
            node.forget_accesses();
            user.enddef(padding)
        }
        None => node.end_define_mode_on_request(padding),
    }
}

/// Turns filling on or off for all variables.
fn switch_variables(node: &Node, is_filled: bool) -> Result<()> {
    let differs = |model: &Model| model.vars().any(|(_, var)| (var.fill == VarFill::NoFill) == is_filled);
    if !node.look(|model| Ok(differs(model)))? {
        return Ok(());
    }
    let switch = |nc: &dyn Dataset| {
        nc.model().change(|model| {
            let vars: Vec<VarId> = model.vars().map(|(id, _)| id).collect();
            vars.into_iter().try_for_each(|id| {
                let var = model.var_mut(id)?;
                let is_value = |value: &&Values| value.nc_type() == var.xtype && value.len() == 1;
                var.fill = match var.atts.get(FILL_VALUE).filter(is_value) {
                    _ if !is_filled => VarFill::NoFill,
                    Some(value) => VarFill::Value(value.clone()),
                    None => VarFill::Default,
                };
                Ok(())
            })
        })
    };
    // The layout of the file has the fill values of variables that were filled when it was stored.
    if is_filled { node.edit_in_place(switch) } else { switch(node.nc()) }
}
