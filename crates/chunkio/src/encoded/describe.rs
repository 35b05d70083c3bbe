//! Describes the stored form of an array's chunks.

use nczarr_codec::{Filter, ZarrFormat};
use nczarr_dispatch::ChunkEncoding;

use crate::array::ArrayKind;
use crate::plan::FilterPlan;
use crate::{ChunkedArray, ElementLayout};

impl ChunkedArray {
    /// Returns the description of the stored form.
    pub(super) fn describe(&self) -> ChunkEncoding {
        let (grid, plan, fill) = match &self.kind {
            ArrayKind::Numbers(engine) => (&engine.grid, &engine.form.plan, engine.form.fill.clone()),
            ArrayKind::Strings(engine) => {
                (&engine.grid, &engine.form.plan, engine.form.fill.as_bytes().to_vec())
            }
        };
        ChunkEncoding::default()
            .chunk_shape(grid.chunk.clone())
            .element(element(&self.element))
            .order(self.order.axes(grid.rank()))
            .filters(filters(plan))
            .fill(fill)
    }
}

fn element(layout: &ElementLayout) -> String {
    match layout {
        // A single byte has no order.
        ElementLayout::Number { ty, big_endian } if ty.size() != Some(1) => {
            format!("{}, {}", ty.name(), if *big_endian { "big-endian" } else { "little-endian" })
        }
        ElementLayout::Number { ty, .. } => ty.name().to_owned(),
        // The number of a user-defined type differs between datasets.
        ElementLayout::Packed { pieces, .. } => format!("{pieces:?}"),
        other => format!("{other:?}"),
    }
}

/// Describes each filter by everything that a dataset stores about it.
fn filters(plan: &FilterPlan) -> Vec<String> {
    let describe = |filter: &dyn Filter| {
        let (name, params) = (filter.info().name, filter.working_params());
        let json = [ZarrFormat::V2, ZarrFormat::V3].map(|format| filter.to_json(format));
        // `Debug` distinguishes forms of one filter, such as LZ4 in HDF5 and in Zarr.
        format!("{name} {params:?} {} {} {filter:?}", json[0], json[1])
    };
    plan.all_filters().map(describe).collect()
}
