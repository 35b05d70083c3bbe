//! Checks attributes by the netCDF and CF conventions: dangling references, values of another type than the
//! data, invalid units of time. All findings are warnings: the data can be read.

use nczarr_cdl::TimeAxis;
use nczarr_model::{Model, Result, Values, Var};

use super::Report;

/// Attributes that name other variables.
const NAMES: &[&str] = &["coordinates", "bounds", "climatology", "ancillary_variables", "grid_mapping"];
/// Attributes with the type of the stored data.
const OF_THE_TYPE: &[&str] = &["_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"];

/// Checks the attributes of all variables.
///
/// # Errors
///
/// A model that was read gives no errors.
pub fn look(model: &Model, report: &mut Report) -> Result<()> {
    for (id, var) in model.vars() {
        let path = model.var_path(id)?;
        for name in OF_THE_TYPE {
            if let Some(values) =
                var.atts.get(*name).filter(|values| values.nc_type() != var.xtype && var.xtype.is_atomic())
            {
                let text = format!(
                    "is of type {}, the variable of type {}",
                    values.nc_type().name(),
                    var.xtype.name()
                );
                report.warning("attribute", format!("{path}:{name}"), text);
            }
        }
        for name in NAMES {
            let Some(text) = text(var, name) else { continue };
            // `key: name` pairs of extended forms name attributes or parts of a formula before the colon.
            for word in text.split_whitespace().filter(|word| !word.ends_with(':')) {
                if find(model, var, word).is_none() {
                    let problem = format!("names {word}, which is not a variable");
                    report.warning("attribute", format!("{path}:{name}"), problem);
                }
            }
        }
        let since = text(var, "units").filter(|units| {
            units.split_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since"))
        });
        if let Some(units) = since
            && var.xtype.is_numeric()
            && TimeAxis::parse(units, text(var, "calendar")).is_none()
        {
            let calendar = text(var, "calendar")
                .map(|calendar| format!(" in the calendar {calendar:?}"))
                .unwrap_or_default();
            report.warning(
                "attribute",
                format!("{path}:units"),
                format!("{units:?} is not a valid unit of time{calendar}"),
            );
        }
        for name in ["scale_factor", "add_offset"] {
            if var.atts.get(name).is_some_and(|values| !values.nc_type().is_numeric() || values.len() != 1) {
                report.warning("attribute", format!("{path}:{name}"), "is not one number");
            }
        }
    }
    Ok(())
}

/// Returns the variable for a name in another variable's group.
fn find<'m>(model: &'m Model, var: &Var, name: &str) -> Option<&'m Var> {
    if name.contains('/') {
        return model.var_at(var.group, name).ok().and_then(|id| model.var(id).ok());
    }
    let mut group = Some(var.group);
    while let Some(id) = group {
        let here = model.group(id).ok()?;
        if let Some(&found) = here.vars.get(name) {
            return model.var(found).ok();
        }
        group = here.parent;
    }
    None
}

fn text<'a>(var: &'a Var, name: &str) -> Option<&'a str> {
    match var.atts.get(name)? {
        Values::Char(text) => std::str::from_utf8(text).ok(),
        Values::String(texts) if texts.len() == 1 => std::str::from_utf8(texts[0].as_bytes()).ok(),
        _ => None,
    }
}
