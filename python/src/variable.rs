//! The handle of a variable: its description, definition and attributes. `transfer.rs` has its data.

use std::sync::Arc;

use nczarr::{CacheConfig, Codec, Endian, ErrorKind, Quantize};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::IntoPython;
use crate::file::SharedFile;
use crate::values::{self, Pair};
use crate::{calls, types};

/// `(name, HDF5 id, parameters, JSON)` of a filter.
type FilterTuple = (String, Option<u32>, Vec<u32>, Option<String>);

/// A variable of an open dataset.
#[pyclass(frozen)]
pub struct Variable {
    pub file: Arc<SharedFile>,
    pub variable: nczarr::Variable,
}

impl Variable {
    pub fn new(file: Arc<SharedFile>, variable: nczarr::Variable) -> Self {
        Self { file, variable }
    }

    fn group(&self, py: Python<'_>) -> nczarr::Group {
        self.file.look(py, || self.variable.group())
    }
}

#[pymethods]
impl Variable {
    fn name(&self, py: Python<'_>) -> String {
        self.file.look(py, || self.variable.name())
    }

    fn full_name(&self, py: Python<'_>) -> String {
        self.file.look(py, || self.variable.full_name())
    }

    /// The type: see `types.rs`.
    fn nc_type(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        types::describe(py, &*self.file.model(py)?, self.file.look(py, || self.variable.nc_type()))
    }

    /// `(name, length, whether it is unlimited)` of each dimension.
    fn dimensions(&self, py: Python<'_>) -> Vec<(String, u64, bool)> {
        self.file.look(py, || {
            let dimensions = self.variable.dimensions();
            dimensions.iter().map(|dim| (dim.name(), dim.len(), dim.is_unlimited())).collect()
        })
    }

    fn shape(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        calls::run(py, || self.variable.shape())
    }

    /// `(name, type, payload)` of each attribute: see `values.rs`.
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let attributes = self.file.look(py, || self.variable.attributes());
        values::attributes(py, &*self.file.model(py)?, &attributes)
    }

    fn put_attribute(
        &self,
        py: Python<'_>,
        name: &str,
        ty: &str,
        payload: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let model = self.file.model(py)?;
        let values = values::of_python(py, &self.group(py), &model, ty, payload)?;
        calls::run(py, || self.variable.put_attribute(name, values))
    }

    fn put_attribute_json(&self, py: Python<'_>, name: &str, json: &str) -> PyResult<()> {
        calls::run(py, || self.variable.put_attribute_json(name, json))
    }

    fn attribute_json(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        calls::run(py, || self.variable.attribute_json(name))
    }

    fn rename_attribute(&self, py: Python<'_>, name: &str, to: &str) -> PyResult<()> {
        calls::run(py, || self.variable.rename_attribute(name, to))
    }

    fn delete_attribute(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        calls::run(py, || self.variable.delete_attribute(name))
    }

    fn rename(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        calls::run(py, || self.variable.rename(name))
    }

    /// The shape of a chunk; `None` if the data are contiguous.
    fn chunk_shape(&self, py: Python<'_>) -> PyResult<Option<Vec<u64>>> {
        self.file.look(py, || self.variable.chunk_shape()).into_python(py)
    }

    /// The shape of a shard; `None` without shards.
    fn shard_shape(&self, py: Python<'_>) -> Option<Vec<u64>> {
        self.file.look(py, || self.variable.shard_shape())
    }

    /// `(name, HDF5 id, parameters, JSON)` of each filter, in the order of encoding.
    fn filters(&self, py: Python<'_>) -> Vec<FilterTuple> {
        let filters = self.file.look(py, || self.variable.filters());
        filters.into_iter().map(|filter| (filter.name, filter.hdf5_id, filter.params, filter.codec)).collect()
    }

    /// The byte order of the stored elements: `"native"`, `"little"` or `"big"`.
    fn endian(&self, py: Python<'_>) -> &'static str {
        match self.file.look(py, || self.variable.endian()) {
            Endian::Little => "little",
            Endian::Big => "big",
            _ => "native",
        }
    }

    /// The pair of the fill value: see `values.rs`. `None` if there is none.
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        let model = self.file.model(py)?;
        let fill = self.file.look(py, || self.variable.fill_value());
        fill.map(|value| values::to_python(py, &model, &value)).transpose()
    }

    /// The method of quantization and its digits or bits.
    fn quantize(&self, py: Python<'_>) -> Option<(&'static str, u32)> {
        match self.file.look(py, || self.variable.quantize())? {
            Quantize::BitGroom(digits) => Some(("BitGroom", digits)),
            Quantize::GranularBitRound(digits) => Some(("GranularBitRound", digits)),
            Quantize::BitRound(bits) => Some(("BitRound", bits)),
        }
    }

    fn set_chunking(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        calls::run(py, || self.variable.set_chunking(&shape))
    }

    fn set_shards(&self, py: Python<'_>, shape: Vec<u64>) -> PyResult<()> {
        calls::run(py, || self.variable.set_shards(&shape))
    }

    fn set_deflate(&self, py: Python<'_>, level: u32, shuffle: bool) -> PyResult<()> {
        calls::run(py, || self.variable.set_deflate(level, shuffle))
    }

    fn set_fletcher32(&self, py: Python<'_>) -> PyResult<()> {
        calls::run(py, || self.variable.set_fletcher32())
    }

    /// Sets the filters. Each is a name with HDF5 parameters, or a JSON description.
    fn set_codecs(&self, py: Python<'_>, codecs: Vec<(String, Option<Vec<u32>>)>) -> PyResult<()> {
        let codecs = codecs.iter().map(|(text, params)| match params {
            Some(params) => Codec::named(text, params),
            None => Codec::json(text),
        });
        let codecs: Vec<_> = codecs.collect();
        calls::run(py, || self.variable.set_codecs(codecs))
    }

    fn set_quantize(&self, py: Python<'_>, method: &str, number: u32) -> PyResult<()> {
        let quantize = match method {
            "BitGroom" => Quantize::BitGroom(number),
            "GranularBitRound" => Quantize::GranularBitRound(number),
            "BitRound" => Quantize::BitRound(number),
            other => {
                let text =
                    format!("quantize_mode={other:?}: expected BitGroom, GranularBitRound or BitRound");
                return Err(ErrorKind::Inval.context(text)).into_python(py);
            }
        };
        calls::run(py, || self.variable.set_quantize(quantize))
    }

    fn set_fill(&self, py: Python<'_>, ty: &str, payload: &Bound<'_, PyAny>) -> PyResult<()> {
        let model = self.file.model(py)?;
        let value = values::of_python(py, &self.group(py), &model, ty, payload)?;
        calls::run(py, || self.variable.set_fill(value))
    }

    /// Sets the value of unwritten elements, and no attribute.
    fn set_unwritten(&self, py: Python<'_>, ty: &str, payload: &Bound<'_, PyAny>) -> PyResult<()> {
        let model = self.file.model(py)?;
        let value = values::of_python(py, &self.group(py), &model, ty, payload)?;
        calls::run(py, || self.variable.set_unwritten(value))
    }

    fn set_no_fill(&self, py: Python<'_>) -> PyResult<()> {
        calls::run(py, || self.variable.set_no_fill())
    }

    fn set_endian(&self, py: Python<'_>, big: bool) -> PyResult<()> {
        calls::run(py, || self.variable.set_endian(if big { Endian::Big } else { Endian::Little }))
    }

    fn set_cache(&self, py: Python<'_>, bytes: usize, slots: usize, preemption: f32) -> PyResult<()> {
        let mut cache = CacheConfig::default();
        (cache.bytes, cache.slots, cache.preemption) = (bytes, slots, preemption);
        calls::run(py, || self.variable.set_chunk_cache(cache))
    }
}
