//! The values of one variable in two datasets, block by block.

use nczarr::File;
use nczarr_cdl::{Blocks, DataSource as _};
use nczarr_model::{Item, Model, Result, Scalar, Values, VarId};

use super::{Comparison, DiffArgs, Difference};
use crate::cat::json::{push, push_item};
use crate::source::DatasetSource;
use crate::stored::Stored;

/// The usual number of bytes per read and dataset.
const BLOCK_BYTES: u64 = 4 << 20;
/// The maximum number of bytes per read, if larger reads avoid decoding a chunk twice.
const MOST_BYTES: u64 = 64 << 20;

/// Adds the differences of two variables of one shape.
pub(super) fn compare(
    found: &mut Comparison<'_>,
    files: [&File; 2],
    models: [&Model; 2],
    path: &str,
    ids: [VarId; 2],
    shape: &[u64],
) -> Result<()> {
    let mut sources = files.map(|file| DatasetSource::new(file.dataset().as_ref()));
    let size = models[0].type_size(models[0].var(ids[0])?.xtype)?.map_or(64, |size| size.max(1) as u64);
    let chunks = sources[0].chunk_shape(ids[0]);
    let (mut count_of, mut largest) = (0u64, 0f64);
    let stored = stored_in_either(files, models, ids, shape)?;
    let parts: Box<dyn Iterator<Item = _>> = match &stored {
        Some(stored) => Box::new(stored.boxes()),
        None => {
            let (some, most) = ((BLOCK_BYTES / size).max(1), MOST_BYTES / size);
            Box::new(Blocks::by_chunks(shape, chunks.as_deref(), some, most))
        }
    };
    for (start, count) in parts {
        let [one, other] = &mut sources;
        let blocks = match (one.read(ids[0], &start, &count), other.read(ids[1], &start, &count)) {
            (Ok(one), Ok(other)) => [one, other],
            // Nothing was compared, whatever both models contain.
            (Err(error), Err(_)) => {
                found.failed.get_or_insert(error.at(path));
                return Ok(());
            }
            (one, other) => {
                let described = |block: Result<Values>| {
                    Some(block.map_or_else(|error| format!("{error:#}"), |_| "readable".to_owned()))
                };
                found.check("data of", path, [described(one), described(other)]);
                return Ok(());
            }
        };
        if same_bytes(&blocks) {
            continue;
        }
        let [left, right] =
            [DecodedBlock::of(models[0], &blocks[0])?, DecodedBlock::of(models[1], &blocks[1])?];
        let mut texts = [Vec::new(), Vec::new()];
        for flat in 0..left.len().min(right.len()) {
            let numbers = [left.number(flat), right.number(flat)];
            let apart = match numbers {
                [Some(left), Some(right)] => distance(left, right),
                _ => {
                    left.text(flat, &mut texts[0])?;
                    right.text(flat, &mut texts[1])?;
                    (texts[0] != texts[1]).then_some(f64::INFINITY)
                }
            };
            let Some(apart) = apart.filter(|apart| !within(*apart, numbers[0], numbers[1], found.args))
            else {
                continue;
            };
            count_of += 1;
            largest = largest.max(apart);
            if count_of <= found.args.limit {
                left.text(flat, &mut texts[0])?;
                right.text(flat, &mut texts[1])?;
                let sides = texts.each_ref().map(|text| Some(String::from_utf8_lossy(text).into_owned()));
                let index = unflatten(flat as u64, &start, &count);
                found.check("value", &format!("{path}({index})"), sides);
            }
        }
    }
    if count_of > 0 {
        let total: u64 = shape.iter().product();
        let apart = if largest.is_finite() { format!(", at most {largest} apart") } else { String::new() };
        let described = format!("{count_of} of {total} elements{apart}");
        found.all.push(Difference {
            what: "data of",
            path: path.to_owned(),
            sides: [Some(described), Some("differ".to_owned())],
        });
    }
    Ok(())
}

/// Returns the parts of a variable that are stored on either side. `None`: everything must be compared.
///
/// Elsewhere both sides have the same fill value, so they are equal.
fn stored_in_either(
    files: [&File; 2],
    models: [&Model; 2],
    ids: [VarId; 2],
    shape: &[u64],
) -> Result<Option<Stored>> {
    let [left, right] = [models[0].var(ids[0])?, models[1].var(ids[1])?];
    if !left.xtype.is_atomic() || left.xtype != right.xtype || left.fill_value() != right.fill_value() {
        return Ok(None);
    }
    // Comparing the whole variable reports why it cannot be opened.
    let stored = |at: usize| match files[at].dataset().data(ids[at]) {
        Ok(data) => Stored::if_sparse(&*data, shape),
        Err(_) => Ok(None),
    };
    let Some(mut left) = stored(0)? else { return Ok(None) };
    let Some(right) = stored(1)? else { return Ok(None) };
    left.extend(&right);
    Ok(Some(left))
}

/// Returns whether two blocks are equal bit by bit; other blocks may still be equal by value.
fn same_bytes([left, right]: &[Values; 2]) -> bool {
    match (left, right) {
        // Types of two datasets have unrelated ids; elements are compared by content.
        (Values::User(..) | Values::Packed(..), _) => false,
        (left, right) => left == right,
    }
}

/// The elements of a block.
struct DecodedBlock<'a> {
    model: &'a Model,
    values: &'a Values,
    /// Elements of a user-defined type.
    items: Option<Vec<Item>>,
    numeric: bool,
}

impl<'a> DecodedBlock<'a> {
    fn of(model: &'a Model, values: &'a Values) -> Result<Self> {
        let items = match values {
            Values::User(..) | Values::Packed(..) => Some(model.items(values)?),
            _ => None,
        };
        Ok(Self { model, values, items, numeric: values.nc_type().is_numeric() })
    }

    fn len(&self) -> usize {
        self.items.as_ref().map_or(self.values.len(), Vec::len)
    }

    /// Returns an element as a number, if it is one.
    fn number(&self, at: usize) -> Option<Scalar> {
        if self.numeric { self.values.scalar(at) } else { None }
    }

    /// Returns an element in printed form.
    fn text(&self, at: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match &self.items {
            Some(items) => push_item(out, self.model, self.values.nc_type(), &items[at])?,
            None => push(out, self.values, at),
        }
        Ok(())
    }
}

/// Returns the distance of two numbers; `None` if they are equal.
fn distance(left: Scalar, right: Scalar) -> Option<f64> {
    let wide = |scalar: Scalar| match scalar {
        Scalar::Int(value) => value as f64,
        Scalar::Float(value) => value,
    };
    match (left, right) {
        (Scalar::Int(left), Scalar::Int(right)) => {
            (left != right).then(|| (left - right).unsigned_abs() as f64)
        }
        (left, right) => {
            let (left, right) = (wide(left), wide(right));
            if left == right || (left.is_nan() && right.is_nan()) {
                return None;
            }
            let apart = (left - right).abs();
            Some(if apart.is_nan() { f64::INFINITY } else { apart })
        }
    }
}

/// Returns whether the tolerance allows it.
fn within(apart: f64, left: Option<Scalar>, right: Option<Scalar>, args: &DiffArgs) -> bool {
    let size = |scalar: Option<Scalar>| match scalar {
        Some(Scalar::Int(value)) => (value as f64).abs(),
        Some(Scalar::Float(value)) => value.abs(),
        None => 0.0,
    };
    apart.is_finite() && apart <= args.tolerance + args.relative * size(left).max(size(right))
}

fn unflatten(mut flat: u64, start: &[u64], count: &[u64]) -> String {
    let mut index = start.to_vec();
    for dim in (0..count.len()).rev() {
        index[dim] += flat % count[dim];
        flat /= count[dim];
    }
    index.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}
