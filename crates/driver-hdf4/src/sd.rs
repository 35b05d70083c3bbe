//! [`ScientificData`]: dimensions, scientific datasets and attributes of a file, as HDF4 stores them.
//!
//! They are members of the group of class `CDF0.0`: groups of dimensions (`Dim0.0`, `UDim0.0`) and of
//! datasets (`Var0.0`), and tables that are attributes (`Attr0.0`).
//!
//! Source: HDF Specification, "Scientific Data Sets"; the HDF library's SD interface.

use std::collections::HashMap;

use nczarr_model::{Error, ErrorKind, Result, Values};

use crate::directory::tag;
use crate::file::{Hdf4File, called};
use crate::number::NumberType;
use crate::vdata::Vdata;
use crate::vgroup::Vgroup;

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct ScientificData {
    pub(crate) dims: Vec<SdDim>,
    pub(crate) sets: Vec<ScientificDataset>,
    pub(crate) atts: Vec<(String, Values)>,
}

/// A dimension.
#[derive(Debug)]
pub(crate) struct SdDim {
    pub(crate) name: String,
    /// The length; `None`: each dataset with this dimension has its own.
    pub(crate) len: Option<u64>,
}

/// A scientific dataset.
#[derive(Debug)]
pub(crate) struct ScientificDataset {
    pub(crate) name: String,
    /// Its number type, or the error that occurred while reading it.
    pub(crate) number: std::result::Result<NumberType, Error>,
    /// Its dimensions, slowest first, as positions in the list.
    pub(crate) dims: Vec<usize>,
    pub(crate) atts: Vec<(String, Values)>,
    pub(crate) data: DataLocation,
}

/// The place of a dataset's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataLocation {
    /// Nothing was written.
    Absent,
    /// In the "data" element with this number.
    Element(u16),
    /// In the scales with this number, from this byte on.
    Scale(u16, u64),
}

const CDF: &str = "CDF0.0";
const VARIABLE: &str = "Var0.0";
const DIMENSION: &str = "Dim0.0";
const UNLIMITED: &str = "UDim0.0";
const LENGTH: &str = "DimVal0.1";
const OLD_LENGTH: &str = "DimVal0.0";
const ATTRIBUTE: &str = "Attr0.0";

/// Reads the content. `None`: there is no such group.
///
/// # Errors
/// `NC_EHDFERR` with the name of the damaged element.
pub(crate) fn read(file: &Hdf4File) -> Result<Option<ScientificData>> {
    let mut root = None;
    for number in file.directory.numbers(tag::VG) {
        let group = Vgroup::read(file, number)?;
        if group.class == CDF {
            root = Some(group);
            break;
        }
    }
    let Some(root) = root else { return Ok(None) };
    let mut sd = ScientificData::default();
    let mut groups = HashMap::new();
    for &(_, number) in root.members.iter().filter(|member| member.0 == tag::VG) {
        groups.insert(number, Vgroup::read(file, number)?);
    }
    let mut by_name = HashMap::new();
    let in_order = || {
        root.members.iter().filter(|member| member.0 == tag::VG).filter_map(|(_, number)| groups.get(number))
    };
    for group in in_order().filter(|group| is_dimension(group)) {
        // Of two with one name the first counts, as in the HDF library.
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

/// Returns the length of a dimension.
fn dimension(file: &Hdf4File, group: &Vgroup) -> Result<Option<u64>> {
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
            let what = format!("dimension {:?}: contradictory lengths {len} and another", group.name);
            return Err(ErrorKind::DimMeta.context(what));
        }
        found = Some(len);
    }
    match found {
        Some(len) => Ok(Some(len)),
        None => Err(ErrorKind::DimMeta.context(format!("dimension {:?}: its length is missing", group.name))),
    }
}

/// Returns the only number of a table.
fn first_number(table: &Vdata, file: &Hdf4File) -> Result<u64> {
    let number = match table.fields.first() {
        Some(field) => NumberType::of_code(field.ty)?,
        None => return Err(ErrorKind::DimMeta.context(format!("table {:?} has no columns", table.name))),
    };
    let mut bytes = table.data(file)?;
    bytes.truncate(number.size());
    let found = number.values(bytes)?.scalar(0);
    match found {
        Some(nczarr_model::Scalar::Int(len)) if (0..=i128::from(i32::MAX)).contains(&len) => Ok(len as u64),
        other => Err(ErrorKind::DimMeta.context(format!("table {:?}: invalid length {other:?}", table.name))),
    }
}

fn set(
    file: &Hdf4File,
    group: &Vgroup,
    groups: &HashMap<u16, Vgroup>,
    dims: &HashMap<String, usize>,
) -> Result<ScientificDataset> {
    let mut found = ScientificDataset {
        name: group.name.clone(),
        number: Err(ErrorKind::VarMeta.context("it has no number type")),
        dims: Vec::new(),
        atts: atts(file, group)?,
        data: DataLocation::Absent,
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
                            .context(format!("dimension {:?} is not listed in the file", member.name))
                    })?);
                }
            }
            tag::NT => found.number = NumberType::of_element(&file.bytes(tag::NT, number)?),
            tag::SD => found.data = DataLocation::Element(number),
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the attributes in a group.
fn atts(file: &Hdf4File, group: &Vgroup) -> Result<Vec<(String, Values)>> {
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

/// Returns the values of an attribute. Text is one record; numbers are one record each.
fn attribute(file: &Hdf4File, table: &Vdata) -> Result<Values> {
    let field = table.fields.first();
    let field = field.ok_or_else(|| {
        ErrorKind::AttMeta.context(format!("{} has no columns", called(tag::VH, table.number)))
    })?;
    let number = NumberType::of_code(field.ty)?;
    let count = if number.text { field.order } else { table.records };
    let mut bytes = table.data(file)?;
    let expected = count.saturating_mul(number.size());
    if bytes.len() < expected {
        let what = format!(
            "attribute: wrong size (expected {count} values of type {}, found {} bytes)",
            number.ty.name(),
            bytes.len()
        );
        return Err(ErrorKind::AttMeta.context(what));
    }
    bytes.truncate(expected);
    number.values(bytes)
}
