//! Types of plain Zarr that netCDF lacks. Python names them with numpy's codes, such as `b1` and `M8[s]`.

use nczarr::model::TimeUnit;
use nczarr::{ErrorKind, MemRef, NcString, Result, TimeStep, ZarrType};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::calls;
use crate::error::IntoPython;
use crate::group::Group;
use crate::memory::{Source, Target};
use crate::selection::Part;
use crate::variable::Variable;

/// The unit of a time: whether it counts durations, the multiple, and numpy's code of the step.
type Unit<'a> = (bool, u32, &'a str);

/// The bytes of a count of times.
const COUNT: usize = size_of::<i64>();

#[pymethods]
impl Group {
    /// Adds a variable of a type that only plain Zarr has.
    fn add_zarr_variable(
        &self,
        py: Python<'_>,
        name: &str,
        code: &str,
        dims: Vec<String>,
    ) -> PyResult<Variable> {
        let dims: Vec<_> = dims.iter().map(String::as_str).collect();
        let variable = calls::run(py, || self.group.add_zarr_variable(name, of_code(code)?, &dims))?;
        Ok(self.variable_of(variable))
    }
}

#[pymethods]
impl Variable {
    /// The name of the stored type, if netCDF has no such type.
    fn stored_type(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let model = self.file.model(py)?;
        Ok(model.var(self.variable.id()).into_python(py)?.stored_type.clone())
    }

    /// Reads times as counts of this unit into a writable buffer of 64-bit integers.
    fn read_times(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, unit: Unit<'_>) -> PyResult<()> {
        let mut target = Target::new(&buffer)?;
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let unit = time_unit(unit)?;
            let texts = self.variable.get_nc_strings(part.extents())?;
            let counts = target.memory().as_chunks_mut::<COUNT>().0;
            check_length(texts.len(), counts.len())?;
            for (count, text) in counts.iter_mut().zip(texts.as_slice()) {
                let read = text.to_str().and_then(|text| unit.parse(text));
                *count = read.map_err(|error| error.at(self.variable.full_name()))?.to_ne_bytes();
            }
            Ok(())
        })
    }

    /// Writes times from a buffer of counts, as `read_times` reads them.
    fn write_times(&self, py: Python<'_>, part: Part, buffer: PyBuffer<u8>, unit: Unit<'_>) -> PyResult<()> {
        let source = Source::new(&buffer)?;
        let bytes = buffer.len_bytes();
        calls::transfer(py, bytes, self.file.is_remote(), move || {
            let source = source;
            let unit = time_unit(unit)?;
            let counts = source.memory().as_chunks::<COUNT>().0;
            let texts = counts.iter().map(|count| NcString::from(unit.format(i64::from_ne_bytes(*count))));
            let texts: Vec<_> = texts.collect();
            self.variable.write(&part.slab(), MemRef::Strings(&texts))
        })
    }
}

/// Returns the type of numpy's code.
fn of_code(code: &str) -> Result<ZarrType> {
    let unknown = || ErrorKind::BadType.context(format!("Zarr has no type {code}"));
    Ok(match code {
        "b1" => ZarrType::Bool,
        "f2" => ZarrType::Float16,
        "c8" => ZarrType::Complex64,
        "c16" => ZarrType::Complex128,
        time => {
            let (letter, step) = time.split_once('[').ok_or_else(unknown)?;
            let step = step.strip_suffix(']').and_then(TimeStep::from_code).ok_or_else(unknown)?;
            match letter {
                "M8" => ZarrType::DateTime64(step),
                "m8" => ZarrType::TimeDelta64(step),
                _ => return Err(unknown()),
            }
        }
    })
}

fn time_unit((span, times, code): Unit<'_>) -> Result<TimeUnit> {
    let step = TimeStep::from_code(code);
    let step = step.ok_or_else(|| ErrorKind::Inval.context(format!("{code} is not a unit of time")))?;
    Ok(TimeUnit { span, step: Some((times, step)) })
}

fn check_length(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(ErrorKind::Inval.context(format!("memory for {expected} times, and the part has {found}")))
}
