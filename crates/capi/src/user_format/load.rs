//! Builds the model of a dataset from the inquiries of its table.

use std::ffi::{CString, c_int};

use nczarr::dispatch::{byte_len, zeroed};
use nczarr::model::{GroupId, Model, Var, VarFill};
use nczarr::{ErrorKind, Result, Values};

use super::c_memory::take_values;
use super::load_types::load_types;
use super::numbers::{NewObject, Numbers};
use super::storage::load_storage;
use super::text;
use crate::boundary::dispatch_table::TablePtr;
use crate::open_file::NC_GLOBAL;
use crate::type_space::TypeSpace;

const FILL_VALUE: &str = "_FillValue";

/// Reads all groups with their dimensions, types, attributes and variables.
///
/// # Errors
/// Those of the table; `NC_EINTERNAL` if two objects have one number.
pub fn load(table: TablePtr, ncid: c_int) -> Result<(Model, Numbers)> {
    let mut loader = Loader { table, model: Model::default(), numbers: Numbers::of_root(ncid) };
    loader.load_groups()?;
    let groups: Vec<_> = loader.model.groups().map(|(group, _)| group).collect();
    loader.in_each(&groups, Loader::load_dims)?;
    load_types(table, &groups, &mut loader.model, &mut loader.numbers)?;
    loader.in_each(&groups, Loader::load_atts)?;
    loader.in_each(&groups, Loader::load_vars)?;
    Ok((loader.model, loader.numbers))
}

struct Loader {
    table: TablePtr,
    model: Model,
    numbers: Numbers,
}

impl Loader {
    /// Finds all groups, parents before children.
    fn load_groups(&mut self) -> Result<()> {
        let mut next = 0;
        while next < self.model.groups().len() {
            let parent = GroupId(next as u32);
            for child in self.table.inq_grps(self.numbers.group(parent)?)?.unwrap_or_default() {
                // A group that is its own ancestor has a number twice.
                self.numbers.add(NewObject::Group(child))?;
                self.model.add_group(parent, &text(self.table.inq_grpname(child)?)?)?;
            }
            next += 1;
        }
        Ok(())
    }

    fn in_each(
        &mut self,
        groups: &[GroupId],
        load: impl Fn(&mut Self, GroupId, c_int) -> Result<()>,
    ) -> Result<()> {
        for &group in groups {
            let ncid = self.numbers.group(group)?;
            load(self, group, ncid).map_err(|error| match self.model.group_path(group) {
                Ok(path) if group != GroupId::ROOT => error.at(format_args!("group {path}")),
                _ => error,
            })?;
        }
        Ok(())
    }

    fn load_dims(&mut self, group: GroupId, ncid: c_int) -> Result<()> {
        let [ndims, _, _, unlimited] = self.table.inq(ncid)?;
        let dims = self.table.inq_dimids(ncid)?.unwrap_or_else(|| (0..ndims).collect());
        let unlimited = self.table.inq_unlimdims(ncid)?.unwrap_or_else(|| vec![unlimited]);
        for dim in dims {
            let (name, len) =
                self.table.inq_dim(ncid, dim).map_err(|error| error.at(format_args!("dimension {dim}")))?;
            self.numbers.add(NewObject::Dim(dim))?;
            self.model.add_dim(group, text(name)?, len as u64, unlimited.contains(&dim))?;
        }
        Ok(())
    }

    fn load_atts(&mut self, group: GroupId, ncid: c_int) -> Result<()> {
        let [_, _, natts, _] = self.table.inq(ncid)?;
        for place in 0..natts {
            let (name, values) = self.attribute(ncid, NC_GLOBAL, place)?;
            self.model.group_mut(group)?.atts.insert(name, values);
        }
        Ok(())
    }

    fn load_vars(&mut self, group: GroupId, ncid: c_int) -> Result<()> {
        let [_, nvars, _, _] = self.table.inq(ncid)?;
        for number in self.table.inq_varids(ncid)?.unwrap_or_else(|| (0..nvars).collect()) {
            let var = self.variable(ncid, number);
            let var = var.map_err(|error| error.at(format_args!("variable {number}")))?;
            self.numbers.add(NewObject::Var(ncid, number))?;
            self.model.add_var(Var { group, ..var })?;
        }
        Ok(())
    }

    fn variable(&self, ncid: c_int, number: c_int) -> Result<Var> {
        let found = self.table.inq_var(ncid, number)?;
        let mut var = Var {
            xtype: self.numbers.find_type(found.xtype)?,
            dims: found.dims.iter().map(|&dim| self.numbers.find_dim(dim)).collect::<Result<_>>()?,
            ..Var::default()
        };
        load_storage(self.table, (ncid, number), &found, &mut var)?;
        var.name = text(found.name)?;
        for place in 0..found.natts as c_int {
            let (name, values) = self.attribute(ncid, number, place)?;
            if name == FILL_VALUE && values.nc_type() == var.xtype && values.len() == 1 {
                var.fill = VarFill::Value(values.clone());
            }
            var.atts.insert(name, values);
        }
        if found.no_fill {
            var.fill = VarFill::NoFill;
        }
        Ok(var)
    }

    /// Reads the attribute at a place.
    fn attribute(&self, ncid: c_int, owner: c_int, place: c_int) -> Result<(String, Values)> {
        let name = self.table.inq_attname(ncid, owner, place);
        let name = text(name.map_err(|error| error.at(format_args!("attribute {place}")))?)?;
        let values = self.values(ncid, owner, &name);
        let values = values.map_err(|error| error.at(format_args!("attribute {name:?}")))?;
        Ok((name, values))
    }

    fn values(&self, ncid: c_int, owner: c_int, name: &str) -> Result<Values> {
        let key = CString::new(name).map_err(|_| ErrorKind::BadName.context("a zero byte"))?;
        let (code, len) = self.table.inq_att(ncid, owner, &key)?;
        let ty = self.numbers.find_type(code)?;
        let types = TypeSpace::as_stored(&self.model);
        let mut bytes = zeroed(byte_len(len as u64, types.size(ty)?)?)?;
        if len > 0 {
            self.table.get_att(ncid, owner, &key, code, &mut bytes)?;
        }
        take_values(types, ty, &mut bytes)
    }
}
