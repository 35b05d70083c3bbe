//! Reads files of HDF before 4, without a group of class `CDF0.0`. Each numeric data group is a dataset, or
//! each scientific data group before 3.2. Each of its dimensions is a dataset too.
//!
//! Source: HDF Specification, "Scientific Data Sets"; names and attributes as the HDF library gives them.

use std::collections::HashSet;

use nczarr_model::{ErrorKind, NcType, Result, Values};

use crate::cursor::{ElementCursor, text};
use crate::directory::tag;
use crate::file::{Hdf4File, called};
use crate::number::NumberType;
use crate::sd::{DataLocation, ScientificData, ScientificDataset, SdDim};

/// Reads all data groups.
///
/// # Errors
/// `NC_EHDFERR` with the name of the damaged element.
pub(crate) fn read(file: &Hdf4File) -> Result<ScientificData> {
    let mut sd = ScientificData::default();
    // Scientific data groups that duplicate numeric ones, for older programs.
    let mut twins = HashSet::new();
    for kind in [tag::NDG, tag::SDG] {
        for number in file.directory.numbers(kind) {
            if kind == tag::SDG && twins.contains(&number) {
                continue;
            }
            let group = DataGroup::read(file, kind, number)?;
            twins.extend(group.twin);
            add(file, &group, number, &mut sd)?;
        }
    }
    Ok(sd)
}

/// The members of a data group.
struct DataGroup {
    dims: Vec<u64>,
    number: std::result::Result<NumberType, nczarr_model::Error>,
    scale_types: Vec<std::result::Result<NumberType, nczarr_model::Error>>,
    labels: Option<Vec<u8>>,
    units: Option<Vec<u8>>,
    formats: Option<Vec<u8>>,
    scales: Option<u16>,
    data: DataLocation,
    atts: Vec<(String, Values)>,
    twin: Option<u16>,
}

impl DataGroup {
    fn read(file: &Hdf4File, kind: u16, number: u16) -> Result<Self> {
        let what = called(kind, number);
        let bytes = file.bytes(kind, number)?;
        let members: Vec<_> = bytes
            .chunks_exact(4)
            .map(|pair| (u16::from_be_bytes([pair[0], pair[1]]), u16::from_be_bytes([pair[2], pair[3]])))
            .collect();
        let mut group = Self {
            dims: Vec::new(),
            number: Err(ErrorKind::VarMeta.context(format!("{what}: it has no dimension record"))),
            scale_types: Vec::new(),
            labels: None,
            units: None,
            formats: None,
            scales: None,
            data: DataLocation::Absent,
            atts: Vec::new(),
            twin: None,
        };
        let mut range = None;
        for (tag, number) in members {
            match tag {
                tag::SDD => group.dimensions(file, number)?,
                tag::SDL => group.labels = Some(file.bytes(tag, number)?),
                tag::SDU => group.units = Some(file.bytes(tag, number)?),
                tag::SDF => group.formats = Some(file.bytes(tag, number)?),
                tag::SDS => group.scales = Some(number),
                tag::SD => group.data = DataLocation::Element(number),
                tag::CAL => group.atts.extend(calibrated(&file.bytes(tag, number)?)?),
                tag::SDC => {
                    let name = text(&file.bytes(tag, number)?);
                    group.atts.push(("coordsys".to_owned(), Values::text(&name)));
                }
                tag::SDM => range = Some((group.atts.len(), file.bytes(tag, number)?)),
                tag::SDLNK if kind == tag::NDG => {
                    let bytes = file.bytes(tag, number)?;
                    group.twin = bytes.get(6..8).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                }
                _ => {}
            }
        }
        // The number type may come after the range.
        if let (Some((at, range)), Ok(number)) = (range, &group.number) {
            group.atts.splice(at..at, extremes(&range, *number)?);
        }
        Ok(group)
    }

    fn dimensions(&mut self, file: &Hdf4File, number: u16) -> Result<()> {
        let what = called(tag::SDD, number);
        let bytes = file.bytes(tag::SDD, number)?;
        let mut cursor = ElementCursor::new(&bytes, &what);
        let rank = cursor.u16()?;
        for _ in 0..rank {
            self.dims.push(cursor.count()?.into());
        }
        let mut number = || {
            let (tag, number) = (cursor.u16()?, cursor.u16()?);
            Ok::<_, nczarr_model::Error>(NumberType::of_element(&file.bytes(tag, number)?))
        };
        self.number = number()?;
        for _ in 0..rank {
            self.scale_types.push(number()?);
        }
        Ok(())
    }
}

impl DataGroup {
    /// Returns the texts of the data (0) or of a dimension.
    fn texts(&self, index: usize) -> Vec<(String, Values)> {
        let texts = [("long_name", &self.labels), ("units", &self.units), ("format", &self.formats)];
        let text = |(name, all): (&str, &Option<Vec<u8>>)| {
            Some((name.to_owned(), Values::text(&nth(all.as_ref(), index)?)))
        };
        texts.into_iter().filter_map(text).collect()
    }
}

/// Returns the text with number `index`; each text ends with a zero.
fn nth(bytes: Option<&Vec<u8>>, index: usize) -> Option<String> {
    let piece = bytes?.split(|&byte| byte == 0).nth(index).filter(|piece| !piece.is_empty())?;
    Some(text(piece))
}

fn add(file: &Hdf4File, group: &DataGroup, number: u16, sd: &mut ScientificData) -> Result<()> {
    let present = match group.scales {
        Some(scales) => file.bytes(tag::SDS, scales)?,
        None => Vec::new(),
    };
    let mut offset = group.dims.len() as u64;
    let mut places = Vec::new();
    for (at, (&len, ty)) in group.dims.iter().zip(&group.scale_types).enumerate() {
        let place = sd.dims.len();
        let name = format!("fakeDim{place}");
        let scale = group.scales.filter(|_| present.get(at).is_some_and(|&byte| byte != 0));
        let data = scale.map_or(DataLocation::Absent, |scales| DataLocation::Scale(scales, offset));
        if scale.is_some() {
            let size = ty.as_ref().map_or(1, |number| number.size()) as u64;
            offset = offset.saturating_add(len.saturating_mul(size));
        }
        places.push(place);
        sd.dims.push(SdDim { name: name.clone(), len: Some(len) });
        sd.sets.push(ScientificDataset {
            name,
            number: ty.clone(),
            dims: vec![place],
            atts: group.texts(at + 1),
            data,
        });
    }
    let mut atts = group.atts.clone();
    atts.extend(group.texts(0));
    let (name, number) = (format!("Data-Set-{number}"), group.number.clone());
    sd.sets.push(ScientificDataset { name, number, dims: places, atts, data: group.data });
    Ok(())
}

/// Parses the calibration: scale and offset with their errors, of 8 or 4 bytes, and the uncalibrated type.
fn calibrated(bytes: &[u8]) -> Result<Vec<(String, Values)>> {
    const NAMES: [&str; 4] = ["scale_factor", "scale_factor_err", "add_offset", "add_offset_err"];
    let ty = if bytes.len() == 36 { NcType::Double } else { NcType::Float };
    let number = NumberType { ty, big_endian: true, text: false };
    let piece = |(name, piece): (&&str, &[u8])| Ok(((*name).to_owned(), number.values(piece.to_vec())?));
    let mut atts: Vec<_> =
        NAMES.iter().zip(bytes.chunks_exact(number.size())).map(piece).collect::<Result<_>>()?;
    if let Some(&[a, b, c, d]) = bytes.get(4 * number.size()..) {
        atts.push(("calibrated_nt".to_owned(), Values::Int(vec![i32::from_be_bytes([a, b, c, d])])));
    }
    Ok(atts)
}

/// Parses the largest and the smallest value.
fn extremes(bytes: &[u8], number: NumberType) -> Result<Vec<(String, Values)>> {
    let piece = |(name, piece): (&&str, &[u8])| Ok(((*name).to_owned(), number.values(piece.to_vec())?));
    ["valid_max", "valid_min"].iter().zip(bytes.chunks_exact(number.size())).map(piece).collect()
}
