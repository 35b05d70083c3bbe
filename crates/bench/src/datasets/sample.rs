//! [`Sample`]: the data that every combination writes and reads: a variable, or the start of it, or a
//! generated field.

use std::f64::consts::PI;

use nczarr::dispatch::byte_len;
use nczarr::model::gather_items;
use nczarr::{Buffer, ErrorKind, MemMut, NcType, Result, Slab, Variable};

use crate::datasets::joined;
use crate::datasets::pattern::boxed;

/// The approximate bytes in one chunk of the usual shapes.
const CHUNK: f64 = (1 << 20) as f64;

/// The data, as native elements in C order.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sample {
    /// The name.
    pub name: String,
    /// Its type, of fixed size.
    pub ty: NcType,
    /// Its shape, of at least one dimension.
    pub shape: Vec<u64>,
    /// The elements.
    pub bytes: Vec<u8>,
    /// The chunk shape of the variable it was taken from.
    stored: Option<Vec<u64>>,
    /// The shape of the variable it is the start of, if it is not all of it.
    whole: Option<Vec<u64>>,
}

impl Sample {
    /// Creates a sample of native elements in C order.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if the type is neither a number nor text; `NC_EINVAL` if the bytes do not fill the
    /// shape, or there are none.
    ///
    /// ```
    /// use nczarr::NcType;
    /// let sample = nczarr_bench::Sample::new("counts", NcType::UByte, &[2, 3], vec![1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(sample.about(), "counts: ubyte 2x3, 6 bytes");
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn new(name: impl Into<String>, ty: NcType, shape: &[u64], bytes: Vec<u8>) -> Result<Self> {
        let name = name.into();
        check_kind(&name, ty, shape)?;
        let elements = shape.iter().try_fold(1u64, |product, &len| product.checked_mul(len));
        let size = ty.size().unwrap_or(1) as u64;
        let wanted = elements.and_then(|elements| elements.checked_mul(size));
        if wanted != Some(bytes.len() as u64) {
            let (shape, found) = (joined(shape), bytes.len());
            return Err(ErrorKind::Inval.context(format!(
                "{name}: the bytes do not fill the shape {shape} (expected {size} for each element, found {found} in all)"
            )));
        }
        Ok(Self { name, ty, shape: shape.to_vec(), bytes, stored: None, whole: None })
    }

    /// Reads the start of a variable, up to about `most` bytes.
    ///
    /// # Errors
    /// `NC_EBADTYPE` if its elements are neither numbers nor text; `NC_EINVAL` if there are none; errors of
    /// reading.
    pub fn of(variable: &Variable, most: u64) -> Result<Self> {
        let (name, ty, whole) = (variable.full_name(), variable.nc_type(), variable.shape()?);
        check_kind(&name, ty, &whole)?;
        let item = ty.size().unwrap_or(1);
        let shape = start_of(&whole, most / item as u64);
        let start = vec![0; shape.len()];
        let slab = Slab::new(&start, &shape);
        let len = byte_len(slab.len(), item)?;
        let bytes = Buffer::fill(len, |out| variable.read(&slab, MemMut::Fixed { ty, out }))?.to_vec();
        let stored = variable.chunk_shape()?.filter(|chunks| chunks.len() == shape.len());
        let whole = (whole != shape).then_some(whole);
        Ok(Self { name, ty, shape, bytes, stored, whole })
    }

    /// Generates a field of floats as in geoscience: waves, and noise, rounded to 1/128. The last dimensions
    /// are y and x.
    ///
    /// # Errors
    /// `NC_ENOMEM` if it does not fit the memory.
    pub fn generated(shape: &[u64]) -> Result<Self> {
        let elements = shape.iter().try_fold(1u64, |product, &len| product.checked_mul(len));
        let no_memory = || ErrorKind::NoMem.context(format!("a field of {} elements", joined(shape)));
        let len = byte_len(elements.ok_or_else(no_memory)?, size_of::<f32>())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|error| no_memory().caused_by(error))?;
        let mut shape3 = [1; 3];
        for (dim, &len) in shape.iter().rev().enumerate() {
            shape3[2 - dim.min(2)] *= len;
        }
        let [layers, ys, xs] = shape3;
        let (mut noise, wave) = (1u64, |n: f64, at: f64| (n * PI * at).sin());
        for t in 0..layers {
            let phase = t as f64 / 48.5;
            for y in 0..ys {
                let at_y = y as f64 / 512.0;
                let row = 273.15 + 25.0 * wave(1.0, at_y) + 6.0 * wave(1.0, phase);
                for x in 0..xs {
                    let at_x = x as f64 / 512.0;
                    noise = noise.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let value = row
                        + 4.0 * wave(6.0, at_x)
                        + 3.0 * wave(4.0, at_x + 0.5 * at_y + 0.25 * phase)
                        + (noise >> 40) as f64 / (1u64 << 27) as f64;
                    let rounded = (value * 128.0).round() / 128.0;
                    bytes.extend((rounded as f32).to_ne_bytes());
                }
            }
        }
        let name = "generated field".to_owned();
        Ok(Self { name, ty: NcType::Float, shape: shape.to_vec(), bytes, stored: None, whole: None })
    }

    /// Returns the chunk shape it has already, a cube and a slab.
    pub fn usual_chunks(&self) -> Vec<Vec<u64>> {
        let side =
            (CHUNK / self.item() as f64).powf(1.0 / self.shape.len() as f64).log2().round().exp2() as u64;
        let mut slab = self.shape.clone();
        if slab.len() > 1 {
            slab[0] = 1;
        }
        let mut shapes = Vec::new();
        for shape in
            [self.stored.clone(), Some(vec![side.max(1); self.shape.len()]), Some(slab)].into_iter().flatten()
        {
            let fitting: Vec<u64> =
                shape.iter().zip(&self.shape).map(|(&len, &most)| len.clamp(1, most)).collect();
            if !shapes.contains(&fitting) {
                shapes.push(fitting);
            }
        }
        shapes
    }

    /// Returns the shape of the boxes that are read.
    pub fn boxed(&self) -> Vec<u64> {
        boxed(&self.shape)
    }

    /// Returns the bytes of one element.
    pub fn item(&self) -> usize {
        self.ty.size().unwrap_or(1)
    }

    /// Returns a part of the data, found without the library that is measured.
    ///
    /// # Errors
    /// `NC_EINVAL` if it is no part.
    pub fn part(&self, start: &[u64], count: &[u64]) -> Result<Vec<u8>> {
        let item = self.item();
        let mut steps = vec![item as i64; self.shape.len()];
        for dim in (1..steps.len()).rev() {
            steps[dim - 1] = steps[dim] * self.shape[dim] as i64;
        }
        let first: i64 = start.iter().zip(&steps).map(|(&start, &step)| start as i64 * step).sum();
        let mut part = vec![0; byte_len(count.iter().product(), item)?];
        let (count, steps) = ([count, &[item as u64]].concat(), [&steps[..], &[1]].concat());
        gather_items(&count, &steps, &self.bytes[first as usize..], &mut part)?;
        Ok(part)
    }

    /// Returns a description in one line.
    pub fn about(&self) -> String {
        let part =
            self.whole.as_ref().map_or(String::new(), |whole| format!(", the start of {}", joined(whole)));
        let (name, ty, shape, bytes) = (&self.name, self.ty.name(), joined(&self.shape), self.bytes.len());
        format!("{name}: {ty} {shape}{part}, {bytes} bytes")
    }
}

/// Checks that the data are numbers or text, with at least one element.
fn check_kind(name: &str, ty: NcType, shape: &[u64]) -> Result<()> {
    if shape.is_empty() || shape.contains(&0) {
        return Err(ErrorKind::Inval.context(format!("{name}: an array with elements is needed")));
    }
    if !ty.is_numeric() && ty != NcType::Char {
        let problem = format!("{name}: numbers or text are needed, not type {}", ty.name());
        return Err(ErrorKind::BadType.context(problem));
    }
    Ok(())
}

/// Returns the shape of the start of an array in C order, up to about `most` elements.
fn start_of(shape: &[u64], most: u64) -> Vec<u64> {
    let mut start = shape.to_vec();
    for dim in 0..start.len() {
        let rest = start[dim + 1..].iter().fold(1u64, |product, &len| product.saturating_mul(len));
        start[dim] = start[dim].min((most / rest).max(1));
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_an_array_is_cut_along_the_slowest_dimensions() {
        for (shape, most, want) in [
            (vec![10, 20, 30], 6000, vec![10, 20, 30]),
            (vec![10, 20, 30], 5999, vec![9, 20, 30]),
            (vec![10, 20, 30], 90, vec![1, 3, 30]),
            (vec![10, 20, 30], 0, vec![1, 1, 1]),
            (vec![u64::MAX, u64::MAX], 7, vec![1, 7]),
        ] {
            assert_eq!(start_of(&shape, most), want, "{shape:?} {most}");
        }
    }

    #[test]
    fn parts_hold_the_elements_of_their_places() {
        let bytes = (0..2 * 3 * 4u16).flat_map(u16::to_ne_bytes).collect();
        let sample = Sample {
            name: String::new(),
            ty: NcType::UShort,
            shape: vec![2, 3, 4],
            bytes,
            stored: Some(vec![9, 1, 1]),
            whole: None,
        };
        let want: Vec<u8> = [17u16, 18, 21, 22].into_iter().flat_map(u16::to_ne_bytes).collect();
        assert_eq!(sample.part(&[1, 1, 1], &[1, 2, 2]).unwrap(), want);
        assert_eq!(sample.part(&[0, 0, 0], &[2, 3, 4]).unwrap(), sample.bytes);
        assert!(sample.part(&[1, 2, 0], &[1, 2, 1]).is_err());
        assert_eq!(sample.usual_chunks(), [[2, 1, 1], [2, 3, 4], [1, 3, 4]]);
    }

    #[test]
    fn the_generated_field_has_every_element() {
        for shape in [vec![7], vec![2, 3], vec![2, 3, 4, 5]] {
            let sample = Sample::generated(&shape).unwrap();
            assert_eq!(sample.bytes.len() as u64, 4 * shape.iter().product::<u64>());
            for value in sample.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)) {
                assert!((200.0..350.0).contains(&value) && (value * 128.0).fract() == 0.0, "{value}");
            }
        }
        assert_eq!(
            Sample::generated(&[1 << 40, 1 << 40]).err().map(|error| error.kind()),
            Some(ErrorKind::NoMem)
        );
    }
}
