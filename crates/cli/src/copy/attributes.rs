//! Defines attributes, in the form that the target can hold.

use nczarr::dispatch::FormatX;
use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{Edit, ErrorKind, FILL_VALUE, GroupId, NcType, Result, Values, Var, VarId};

use super::define::{Definer, unless_refused};
use super::defined::{NewVar, VariableForm};
use super::fit;
use super::max_length::{GIVEN_LEN, MAX_LEN};
use super::names::Namespace;
use super::string_length::NOT_GIVEN;
use super::var::is_of_type;
use crate::json_atts;

const NO_ATTS: &str = "attributes left out";
const JOINED: &str = "string lists of attributes, stored as lines of one text";

impl Definer<'_> {
    /// Copies the attributes of a group.
    ///
    /// # Errors
    ///
    /// Errors of writing.
    pub fn group_atts(&mut self, id: GroupId, atts: &nczarr_model::Att) -> Result<()> {
        let json = json_atts::stored(self.from, id, None)?;
        for (name, values) in atts {
            let (group, new) = self.name(Namespace::Atts, id, name)?;
            let path = format!("{}:{name}", self.path(id, ""));
            self.att(group, None, &new, values, None, path)?;
            self.keep_json(group, None, &new, json.as_ref().and_then(|json| of(json, name)))?;
            if new != *name {
                self.copied.atts.insert((id, name.clone()), new);
            }
        }
        Ok(())
    }

    pub(super) fn var_atts(&mut self, group: GroupId, var: &Var, new: &NewVar, path: &str) -> Result<()> {
        // A target with unlimited strings gets the original value back.
        let id = self.source.group(var.group)?.vars.get(&var.name).copied();
        let json = json_atts::stored(self.from, var.group, id)?;
        let given = var.atts.get(GIVEN_LEN).filter(|_| self.to.info().formatx == FormatX::Hdf5);
        for (name, values) in &var.atts {
            let path = format!("{path}:{name}");
            let values = match given {
                Some(_) if name == GIVEN_LEN => continue,
                Some(given) if name == MAX_LEN && *given == *NOT_GIVEN => continue,
                Some(given) if name == MAX_LEN => given,
                _ => values,
            };
            let is_fill = name == FILL_VALUE && fit::apparent_fill(var).as_ref() == Some(values);
            match &new.form {
                VariableForm::Numbers(change) if is_fill => {
                    let fill = change.fill().unwrap_or(values).clone();
                    self.att(group, Some(new.id), name, &fill, None, path)?;
                }
                VariableForm::Numbers(change) => {
                    self.att(group, Some(new.id), name, values, Some(change.to), path)?
                }
                // The string attributes do not hold for text.
                VariableForm::Text { .. } if [MAX_LEN, GIVEN_LEN].contains(&name.as_str()) => {}
                VariableForm::Text { .. } if name == FILL_VALUE => {
                    self.no_att(path, "text is filled byte by byte")
                }
                VariableForm::Text { .. } | VariableForm::Same => {
                    self.att(group, Some(new.id), name, values, None, path)?
                }
            }
            self.keep_json(group, Some(new.id), name, json.as_ref().and_then(|json| of(json, name)))?;
        }
        Ok(())
    }

    /// Defines an attribute with its own type, or else with `other` or one that can hold it.
    pub(super) fn att(
        &mut self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        values: &Values,
        other: Option<NcType>,
        path: String,
    ) -> Result<()> {
        let put = |values: &Values| unless_refused(self.to.edit(&Edit::PutAtt { group, var, name, values }));
        let why = match self.copied.values(values) {
            None => ErrorKind::BadTypId.context("its type was left out"),
            Some(values) => match put(&values)? {
                Ok(_) => return Ok(()),
                Err(why) => why,
            },
        };
        // Text may contain bytes that a string may not.
        let is_cut = why.kind() == ErrorKind::Char && self.to.info().formatx == FormatX::Hdf5;
        if is_of_type(&why) || is_cut {
            for to in other.into_iter().chain(fit::wider(values.nc_type()).iter().copied()) {
                if let Some(same) = fit::exactly(values, to)
                    && put(&same)?.is_ok()
                {
                    return Ok(());
                }
            }
            if let Values::String(list) = values
                && put(&Values::Char(fit::lines(list)))?.is_ok()
            {
                if list.len() != 1 {
                    self.copied.lost.add(JOINED, path);
                }
                return Ok(());
            }
        }
        self.no_att(path, why);
        Ok(())
    }

    /// Stores an attribute as the source's JSON, if both datasets are Zarr.
    pub(super) fn keep_json(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        json: Option<&str>,
    ) -> Result<()> {
        let model = self.to.model().snapshot();
        let there = match var {
            Some(id) => model.var(id)?.atts.contains_key(name),
            None => model.group(group)?.atts.contains_key(name),
        };
        match (json, self.to.json_metadata()) {
            (Some(json), Some(to)) if there => to.set_attribute(group, var, name, json),
            _ => Ok(()),
        }
    }

    pub(super) fn no_att(&mut self, path: String, why: impl std::fmt::Display) {
        self.left_out(NO_ATTS, path.clone(), why);
        self.copied.left.insert(path);
    }
}

/// Returns the JSON of an attribute.
fn of<'j>(json: &'j [(String, String)], name: &str) -> Option<&'j str> {
    json.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}
