//! [`Field`]: a slab of a variable, thinned to as many points as can be shown.

use nczarr::{Extent, File, Variable};
use nczarr_model::{ErrorKind, Result};

/// The maximum number of points read along a dimension per displayed one; the display shows their mean.
const DENSITY: u64 = 4;

/// Values of one or two dimensions, row by row; NaN where there is no value. Missing values become NaN; scale
/// and offset are applied.
pub struct Field {
    /// The variable's path, with the displayed part: `/t(time=3, lat, lon)`.
    pub title: String,
    /// The `units` of the variable.
    pub units: String,
    /// Rows and columns; one row for a line.
    pub rows: usize,
    /// See `rows`.
    pub columns: usize,
    /// The values.
    pub values: Vec<f64>,
    /// The labels of the first and the last row: coordinates, or indices.
    pub across: Option<Axis>,
    /// The same for columns.
    pub along: Axis,
}

/// A displayed dimension.
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The coordinates of the first and the last point, or their indices.
    pub ends: [f64; 2],
    /// Whether greater coordinates belong at the top, as for latitudes and heights.
    pub points_up: bool,
}

impl Field {
    /// Reads the last two dimensions of a variable, or its only one, at `indices` along the others; at most
    /// `most` rows and columns.
    ///
    /// # Errors
    ///
    /// `NC_EBADTYPE` for a variable that is not an array of numbers, `NC_EINVALCOORDS` for indices beyond it,
    /// errors of reading.
    pub fn of(file: &File, var: &Variable, indices: &[(String, u64)], most: [usize; 2]) -> Result<Self> {
        let (shape, dims) = (var.shape()?, var.dimensions());
        if !var.nc_type().is_numeric() || shape.is_empty() || shape.contains(&0) {
            return Err(ErrorKind::BadType.context(format!("{}: not an array of numbers", var.full_name())));
        }
        let shown = shape.len().min(2);
        let fixed = shape.len() - shown;
        let mut extents = Vec::with_capacity(shape.len());
        let mut words = Vec::with_capacity(shape.len());
        for (at, dim) in dims.iter().enumerate() {
            let name = dim.name();
            let asked = indices.iter().find(|(asked, _)| *asked == name).map(|(_, index)| *index);
            if at < fixed {
                let index = asked.unwrap_or(0);
                if index >= shape[at] {
                    return Err(ErrorKind::InvalCoords
                        .context(format!("--at {name}={index}: index out of range (length {})", shape[at])));
                }
                extents.push(Extent::Index(index));
                words.push(format!("{name}={index}"));
            } else {
                let points = most[2 - shown + at - fixed] as u64;
                let stride = (shape[at] / (points * DENSITY).max(1)).max(1);
                extents.push(Extent::Strided { start: 0, count: None, stride });
                words.push(name);
            }
        }
        if let Some((name, _)) =
            indices.iter().find(|(asked, _)| !dims[..fixed].iter().any(|dim| dim.name() == *asked))
        {
            return Err(ErrorKind::BadDim.context(format!(
                "--at {name}: expected a dimension of the variable that the picture does not show"
            )));
        }
        let read = var.get_unpacked::<f64>(&extents[..])?;
        let found: Vec<usize> = read.shape().iter().map(|&len| len as usize).collect();
        let (rows, columns) = if shown == 2 { (found[0], found[1]) } else { (1, found[0]) };
        let (to_rows, to_columns) = (rows.min(if shown == 2 { most[0] } else { 1 }), columns.min(most[1]));
        let axis = |at: usize| axis(file, var, &dims[at].name(), shape[at]);
        let mut values = mean(read.as_slice(), [rows, columns], [to_rows, to_columns]);
        let mut across = (shown == 2).then(|| axis(shape.len() - 2));
        if let Some(axis) = across.as_mut().filter(|axis| axis.points_up && axis.ends[0] < axis.ends[1]) {
            axis.ends.reverse();
            values = values.chunks(to_columns).rev().flatten().copied().collect();
        }
        Ok(Self {
            title: format!("{}({})", var.full_name(), words.join(", ")),
            units: var
                .attribute("units")
                .and_then(|units| units.text().map(str::to_owned))
                .unwrap_or_default(),
            values,
            rows: to_rows,
            columns: to_columns,
            across,
            along: axis(shape.len() - 1),
        })
    }

    /// Returns the least and the greatest value; `None` if there is none.
    pub fn range(&self) -> Option<ValueRange> {
        let finite = self.values.iter().copied().filter(|value| value.is_finite());
        finite.fold(None, |range: Option<ValueRange>, value| {
            let range = range.unwrap_or(ValueRange { least: value, greatest: value });
            Some(ValueRange { least: range.least.min(value), greatest: range.greatest.max(value) })
        })
    }
}

/// The least and the greatest of some values.
#[derive(Debug, Clone, Copy)]
pub struct ValueRange {
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
}

impl ValueRange {
    /// Returns the position of a value in the range, from 0 to 1.
    pub fn position(self, value: f64) -> f64 {
        if self.greatest > self.least { (value - self.least) / (self.greatest - self.least) } else { 0.5 }
    }
}

/// Returns the first and last coordinate by the dimension's coordinate variable, if one is near the variable.
fn axis(file: &File, var: &Variable, name: &str, len: u64) -> Axis {
    let indices = [0.0, (len - 1) as f64];
    let mut group = Some(var.group());
    let coordinate = std::iter::from_fn(|| {
        let here = group.take()?;
        group = here.parent();
        Some(here)
    })
    .find_map(|group| group.variable(name).ok())
    .or_else(|| file.root().variable(name).ok());
    let mut axis = Axis { name: name.to_owned(), ends: indices, points_up: false };
    let Some(found) = coordinate
        .filter(|found| found.nc_type().is_numeric() && found.shape().is_ok_and(|shape| shape == [len]))
    else {
        return axis;
    };
    let end =
        |at: u64| found.get_unpacked::<f64>(&[Extent::count(at, 1)][..]).ok()?.as_slice().first().copied();
    if let (Some(first), Some(last)) = (end(0), end(len - 1)) {
        axis.ends = [first, last];
        let says = |name: &str, what: &[&str]| {
            found.attribute(name).is_some_and(|att| att.text().is_some_and(|text| what.contains(&text)))
        };
        axis.points_up =
            says("units", &["degrees_north", "degree_north", "degrees_N"]) || says("positive", &["up"]);
    }
    axis
}

/// Returns means over parts of nearly equal length; NaN does not count.
fn mean(values: &[f64], [rows, columns]: [usize; 2], [to_rows, to_columns]: [usize; 2]) -> Vec<f64> {
    let (mut sums, mut counts) = (vec![0.0; to_rows * to_columns], vec![0u32; to_rows * to_columns]);
    for (at, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let place = (at / columns) * to_rows / rows * to_columns + (at % columns) * to_columns / columns;
        sums[place] += value;
        counts[place] += 1;
    }
    sums.iter()
        .zip(&counts)
        .map(|(sum, &count)| if count == 0 { f64::NAN } else { sum / f64::from(count) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_skip_missing_values() {
        let values = [1.0, 3.0, f64::NAN, 5.0, 7.0, 9.0, f64::NAN, f64::NAN];
        let found = mean(&values, [2, 4], [1, 2]);
        assert_eq!(found[0], 5.0);
        assert_eq!(found[1], 5.0);
        assert!(mean(&[f64::NAN; 4], [2, 2], [1, 1])[0].is_nan());
        assert_eq!(mean(&values[..2], [1, 2], [1, 2]), [1.0, 3.0]);
    }
}
