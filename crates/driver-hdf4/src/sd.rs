//! [`Sd`]: what a file holds, as the format has it: dimensions, scientific datasets, attributes. Read from the group of
//! class `CDF0.0`, whose members are groups of dimensions (`Dim0.0`, `UDim0.0`) and of datasets (`Var0.0`) and tables that are
//! attributes (`Attr0.0`).
//!
//! Source: HDF Specification, "Scientific Data Sets"; the HDF library's SD interface.

use std::collections::HashMap;

use nczarr_model::{Error, ErrorKind, Result, Values};

use crate::directory::tag;
use crate::file::{HdfFile, called};
use crate::number::Number;
use crate::vdata::Vdata;
use crate::vgroup::Vgroup;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Sd {
    pub(crate) dims: Vec<SdDim>,
    pub(crate) sets: Vec<Set>,
    pub(crate) atts: Vec<(String, Values)>,
}

/// A dimension.
#[derive(Debug)]
pub(crate) struct SdDim {
    pub(crate) name: String,
    /// `None`: each dataset that has it knows how long it is.
    pub(crate) len: Option<u64>,
}

/// A scientific dataset.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    /// Its number type, or why it has none.
    pub(crate) number: std::result::Result<Number, Error>,
    /// Its dimensions, slowest first, by their places in the list.
    pub(crate) dims: Vec<usize>,
    pub(crate) atts: Vec<(String, Values)>,
    pub(crate) data: Data,
}

/// Where the data of a dataset are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Nothing was written.
    Absent,
    /// In an element of the kind "data" with this number.
    Element(u16),
    /// So many bytes into the scales with this number.
    Scale(u16, u64),
}

const CDF: &str = "CDF0.0";
const VARIABLE: &str = "Var0.0";
const DIMENSION: &str = "Dim0.0";
const UNLIMITED: &str = "UDim0.0";
const LENGTH: &str = "DimVal0.1";
const OLD_LENGTH: &str = "DimVal0.0";
const ATTRIBUTE: &str = "Attr0.0";

/// Reads it. `None`: there is no such group.
///
/// # Errors
/// `NC_EHDFERR` for what is damaged, naming it.
pub(crate) fn read(file: &HdfFile) -> Result<Option<Sd>> {
    let mut root = None;
    for number in file.directory.numbers(tag::VG) {
        let group = Vgroup::read(file, number)?;
        if group.class == CDF {
            root = Some(group);
            break;
        }
    }
    let Some(root) = root else { return Ok(None) };
    let mut sd = Sd::default();
    let mut groups = HashMap::new();
    for &(_, number) in root.members.iter().filter(|member| member.0 == tag::VG) {
        groups.insert(number, Vgroup::read(file, number)?);
    }
    let mut by_name = HashMap::new();
    let in_order =
        || root.members.iter().filter(|member| member.0 == tag::VG).filter_map(|(_, number)| groups.get(number));
    for group in in_order().filter(|group| is_dimension(group)) {
        // Of two that are called the same the first counts, as in the HDF library.
        if !by_name.contains_key(&group.name) {
            by_name.insert(group.name.clone(), sd.dims.len());
            sd.dims.push(SdDim { name: group.name.clone(), len: dimension(file, group)? });
        }
    }
    for group in in_order().filter(|group| group.class == VARIABLE) {
        sd.sets.push(set(file, group, &groups, &by_name).map_err(|error| error.at(&group.name))?);
    }
    sd.atts = atts(file, &root)?;
    Ok(Some(sd))
}

fn is_dimension(group: &Vgroup) -> bool {
    group.class == DIMENSION || group.class == UNLIMITED
}

/// The length of a dimension.
fn dimension(file: &HdfFile, group: &Vgroup) -> Result<Option<u64>> {
    if group.class == UNLIMITED {
        return Ok(None);
    }
    let mut found = None;
    for &(_, number) in group.members.iter().filter(|member| member.0 == tag::VH) {
        let table = Vdata::read(file, number)?;
        let len = match &*table.class {
            LENGTH => first_number(&table, file)?,
            OLD_LENGTH => table.records as u64,
            _ => continue,
        };
        if found.is_some_and(|found| found != len) {
            let what = format!("dimension {:?} is {len} long, and something else as well", group.name);
            return Err(ErrorKind::DimMeta.context(what));
        }
        found = Some(len);
    }
    match found {
        Some(len) => Ok(Some(len)),
        None => Err(ErrorKind::DimMeta.context(format!("dimension {:?}: its length is not there", group.name))),
    }
}

/// The one number of a table.
fn first_number(table: &Vdata, file: &HdfFile) -> Result<u64> {
    let number = match table.fields.first() {
        Some(field) => Number::of_code(field.ty)?,
        None => return Err(ErrorKind::DimMeta.context(format!("table {:?} has no columns", table.name))),
    };
    let mut bytes = table.data(file)?;
    bytes.truncate(number.size());
    let found = number.values(bytes)?.scalar(0);
    match found {
        Some(nczarr_model::Scalar::Int(len)) if (0..=i128::from(i32::MAX)).contains(&len) => Ok(len as u64),
        other => Err(ErrorKind::DimMeta.context(format!("table {:?}: a length of {other:?}", table.name))),
    }
}

fn set(file: &HdfFile, group: &Vgroup, groups: &HashMap<u16, Vgroup>, dims: &HashMap<String, usize>) -> Result<Set> {
    let mut found = Set {
        name: group.name.clone(),
        number: Err(ErrorKind::VarMeta.context("it has no number type")),
        dims: Vec::new(),
        atts: atts(file, group)?,
        data: Data::Absent,
    };
    for &(kind, number) in &group.members {
        match kind {
            tag::VG => {
                let own;
                let member = match groups.get(&number) {
                    Some(member) => member,
                    None => {
                        own = Vgroup::read(file, number)?;
                        &own
                    }
                };
                if is_dimension(member) {
                    let place = dims.get(&member.name).copied();
                    found.dims.push(place.ok_or_else(|| {
                        ErrorKind::DimMeta
                            .context(format!("dimension {:?} is not among those of the file", member.name))
                    })?);
                }
            }
            tag::NT => found.number = Number::of_element(&file.bytes(tag::NT, number)?),
            tag::SD => found.data = Data::Element(number),
            _ => {}
        }
    }
    Ok(found)
}

/// The attributes in a group.
fn atts(file: &HdfFile, group: &Vgroup) -> Result<Vec<(String, Values)>> {
    let mut atts = Vec::new();
    for &(_, number) in group.members.iter().filter(|member| member.0 == tag::VH) {
        let table = Vdata::read(file, number)?;
        if table.class == ATTRIBUTE {
            let at = |error: Error| error.at(format_args!("attribute {:?} of {:?}", table.name, group.name));
            atts.push((table.name.clone(), attribute(file, &table).map_err(at)?));
        }
    }
    Ok(atts)
}

/// The values of an attribute: text is one record of so many characters, numbers are as many records.
fn attribute(file: &HdfFile, table: &Vdata) -> Result<Values> {
    let field = table.fields.first();
    let field =
        field.ok_or_else(|| ErrorKind::AttMeta.context(format!("{} has no columns", called(tag::VH, table.number))))?;
    let number = Number::of_code(field.ty)?;
    let count = if number.text { field.order } else { table.records };
    let mut bytes = table.data(file)?;
    let expected = count.saturating_mul(number.size());
    if bytes.len() < expected {
        let what = format!("{count} values of type {} in {} bytes", number.ty.name(), bytes.len());
        return Err(ErrorKind::AttMeta.context(what));
    }
    bytes.truncate(expected);
    number.values(bytes)
}
