//! [`copy_att`] and [`copy_var`]: copy within a dataset or between datasets.

use nczarr_model::{
    Chunking, DimId, Edit, Endian, Error, ErrorKind, FILL_VALUE, GroupId, Model, NcString, NcType, Result,
    Slab, Values, VarFill, VarId,
};

use crate::{NcDispatch, types};
use nczarr_dispatch::{Dataset, Format, MemMut, MemRef, zeroed};
use nczarr_runtime::OutBuf;

/// The most memory for copying a variable's data, in bytes.
const BUDGET: u64 = 16 << 20;

/// The assumed size of a string of unknown length.
const STRING: u64 = 64;

/// The owner of an attribute: a variable, or a group if `var` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttOwner {
    /// The group, or the group of the variable.
    pub group: GroupId,
    /// The variable.
    pub var: Option<VarId>,
}

/// Copies an attribute of a variable or group. An attribute of that name is replaced.
///
/// # Errors
/// `NC_ENOTATT`; `NC_EBADTYPE` if its type is user-defined and the target has no equal type; otherwise an
/// error of `put_att`.
pub fn copy_att(
    from: &dyn Dataset,
    source: AttOwner,
    name: &str,
    to: &dyn Dataset,
    target: AttOwner,
) -> Result<()> {
    let (values, _) = from.get_att(source.group, source.var, name, None)?;
    let values = carry(&from.model().snapshot(), values, &to.model().snapshot(), target.group)
        .map_err(|error| error.at(format_args!("attribute {name:?}")))?;
    to.put_att(target.group, target.var, name, values.nc_type(), &values)
}

/// Copies a variable: its definition, layout (if the target's format has one), attributes and data. Its
/// dimensions are found by name from the target group. Memory is bounded for any size of data.
///
/// # Errors
/// `NC_EBADDIM` if the target lacks a dimension; `NC_EDIMSIZE` if a dimension has another length;
/// `NC_ENAMEINUSE` if the group has a variable of that name; `NC_EBADTYPE` as for [`copy_att`]; otherwise an
/// error of reading or writing. Earlier definitions remain.
pub fn copy_var(from: &dyn Dataset, var: VarId, to: &dyn Dataset, group: GroupId) -> Result<VarId> {
    let source = from.model().snapshot();
    let path = source.var_path(var)?;
    let at = |error: Error| error.at(format_args!("copy of {path}"));
    let new = define(from, &source, var, to, group).map_err(at)?;
    copy_data(from, &source, var, to, new).map_err(at)?;
    Ok(new)
}

fn define(from: &dyn Dataset, source: &Model, id: VarId, to: &dyn Dataset, group: GroupId) -> Result<VarId> {
    let var = source.var(id)?;
    let target = to.model().snapshot();
    let xtype = carry_type(source, var.xtype, &target, group)?;
    let mut dims = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        dims.push(matching_dim(source, dim, &target, group)?);
    }
    let new = to.def_var(group, &var.name, xtype, &dims)?;
    if matches!(to.info().format, Format::NetCdf4 | Format::NetCdf4Classic) {
        if !dims.is_empty() {
            match &var.chunking {
                Chunking::Chunked(shape) => to.def_var_chunking(new, &Chunking::Chunked(shape.clone()))?,
                Chunking::Default => {
                    if let Some(shape) =
                        from.data(id)?.chunk_shape().filter(|shape| shape.len() == dims.len())
                    {
                        to.def_var_chunking(new, &Chunking::Chunked(fitting(source, &var.dims, shape)?))?;
                    }
                }
                // A variable with an unlimited dimension cannot be contiguous.
                Chunking::Contiguous | Chunking::Compact => {
                    let grows = |dim: &DimId| target.dim(*dim).is_ok_and(|dim| dim.unlimited);
                    if !dims.iter().any(grows) {
                        to.def_var_chunking(new, &var.chunking)?;
                    }
                }
            }
            match to.def_var_shards(new, var.shards.as_deref()) {
                // Only Zarr V3 has shards.
                Err(error) if error.kind() == ErrorKind::NotNc4 => {}
                outcome => outcome?,
            }
            // Set as one list, so that a filter may occur twice.
            let filters: Vec<_> = var.filters.iter().map(nczarr_model::FilterSpec::anew).collect();
            to.edit(&Edit::DefVarFilters { var: new, filters: &filters })?;
        }
        if var.endian != Endian::Native {
            to.def_var_endian(new, var.endian)?;
        }
        if var.quantize.is_some() {
            to.def_var_quantize(new, var.quantize)?;
        }
    }
    for (name, values) in &var.atts {
        let values = carry(source, values.clone(), &target, group)?;
        to.edit(&Edit::PutAtt { group, var: Some(new), name, values: &values })?;
    }
    match &var.fill {
        VarFill::Value(value) if !var.atts.contains_key(FILL_VALUE) => {
            // An attribute would declare these values as missing. All values are written, so a format may
            // ignore it.
            let value = carry(source, value.clone(), &target, group)?;
            match to.edit(&Edit::DefVarUnwritten { var: new, value: &value }) {
                Err(error) if ![ErrorKind::StrictNc3, ErrorKind::NotNc4].contains(&error.kind()) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        VarFill::NoFill => to.def_var_fill(new, true, None)?,
        VarFill::Value(_) | VarFill::Default => {}
    }
    Ok(new)
}

/// Limits a chunk shape to the lengths of fixed dimensions.
fn fitting(model: &Model, dims: &[DimId], mut shape: Vec<u64>) -> Result<Vec<u64>> {
    for (chunk, &dim) in shape.iter_mut().zip(dims) {
        let dim = model.dim(dim)?;
        if !dim.unlimited && !dim.is_empty() {
            *chunk = (*chunk).min(dim.len());
        }
    }
    Ok(shape)
}

fn matching_dim(source: &Model, id: DimId, target: &Model, group: GroupId) -> Result<DimId> {
    let dim = source.dim(id)?;
    let missing = || ErrorKind::BadDim.context(format!("the target has no dimension {:?}", dim.name));
    let found = target.find_dim(group, &dim.name).ok_or_else(missing)?;
    let there = target.dim(found)?;
    if !there.unlimited && there.len() != dim.len() {
        let (len, wanted) = (there.len(), dim.len());
        return Err(ErrorKind::DimSize.context(format!(
            "dimension {:?}: lengths differ (expected {wanted}, found {len} in the target)",
            dim.name
        )));
    }
    Ok(found)
}

/// Returns the type of the target that equals a type of the source.
fn carry_type(source: &Model, ty: NcType, target: &Model, group: GroupId) -> Result<NcType> {
    let NcType::User(id) = ty else { return Ok(ty) };
    let name = &source.user_type(id)?.name;
    let near = target.find_type(group, name);
    for candidate in near.into_iter().chain(target.user_types().map(|(id, _)| id)) {
        if types::equal(source, ty, target, NcType::User(candidate))? {
            return Ok(NcType::User(candidate));
        }
    }
    Err(ErrorKind::BadType.context(format!("the target has no type equal to {name:?}")))
}

fn carry(source: &Model, values: Values, target: &Model, group: GroupId) -> Result<Values> {
    let ty = carry_type(source, values.nc_type(), target, group)?;
    Ok(match (values, ty) {
        (Values::User(_, bytes), NcType::User(id)) => Values::User(id, bytes),
        (Values::Packed(_, list), NcType::User(id)) => Values::Packed(id, list),
        (values, _) => values,
    })
}

fn copy_data(from: &dyn Dataset, source: &Model, var: VarId, to: &dyn Dataset, new: VarId) -> Result<()> {
    let shape = source.shape(var)?;
    if shape.contains(&0) {
        return Ok(());
    }
    let (ty, new_ty) = (source.var(var)?.xtype, to.model().snapshot().var(new)?.xtype);
    // Strings and packed elements have no size.
    let item = if source.is_fixed(ty)? { source.type_size(ty)? } else { None };
    let chunk = from.data(var)?.chunk_shape().filter(|chunk| chunk.len() == shape.len());
    let block = block_shape(&shape, chunk, item.map_or(STRING, |item| item as u64));
    let mut bytes = Vec::new();
    let mut strings = Vec::new();
    let mut start = vec![0; shape.len()];
    loop {
        let count: Vec<u64> = (0..shape.len()).map(|dim| block[dim].min(shape[dim] - start[dim])).collect();
        let slab = Slab::new(&start, &count);
        match item {
            Some(item) => {
                let len = nczarr_dispatch::byte_len(slab.len(), item)?;
                if bytes.len() < len {
                    bytes = zeroed(len)?;
                }
                let bytes = &mut bytes[..len];
                from.get_vara(
                    var,
                    &start,
                    &count,
                    MemMut::Fixed { ty, out: &mut OutBuf::from_slice(bytes) },
                )?;
                to.put_vara(new, &start, &count, MemRef::Fixed { ty: new_ty, bytes })?;
            }
            None => {
                strings.resize(nczarr_dispatch::byte_len(slab.len(), 1)?, NcString::new());
                from.get_vara(var, &start, &count, MemMut::Strings(&mut strings))?;
                to.put_vara(new, &start, &count, MemRef::Strings(&strings))?;
            }
        }
        if !step(&mut start, &block, &shape) {
            return Ok(());
        }
    }
}

/// Advances to the next block in C order. Returns `false` after the last.
fn step(start: &mut [u64], block: &[u64], shape: &[u64]) -> bool {
    for dim in (0..shape.len()).rev() {
        start[dim] = start[dim].saturating_add(block[dim]);
        if start[dim] < shape[dim] {
            return true;
        }
        start[dim] = 0;
    }
    false
}

/// Returns the largest block of whole chunks within the budget, grown along the fastest dimensions first. It
/// is part of a chunk if a chunk exceeds the budget.
fn block_shape(shape: &[u64], chunk: Option<Vec<u64>>, item: u64) -> Vec<u64> {
    let mut block: Vec<u64> = match chunk {
        Some(chunk) => chunk.iter().zip(shape).map(|(&chunk, &len)| chunk.clamp(1, len)).collect(),
        None => vec![1; shape.len()],
    };
    let bytes = |block: &[u64]| block.iter().fold(item, |product, &len| product.saturating_mul(len));
    for dim in 0..block.len() {
        while bytes(&block) > BUDGET && block[dim] > 1 {
            block[dim] = block[dim].div_ceil(2);
        }
    }
    for dim in (0..block.len()).rev() {
        let times = (BUDGET / bytes(&block).max(1)).max(1);
        block[dim] = block[dim].saturating_mul(times).min(shape[dim]);
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_whole_chunks_within_the_budget() {
        for (shape, chunk, item, block) in [
            (vec![10, 10], Some(vec![3, 4]), 8, vec![10, 10]),
            (vec![1 << 20, 1 << 12], Some(vec![16, 1 << 12]), 8, vec![512, 1 << 12]),
            (vec![1 << 12, 1 << 20], Some(vec![16, 1 << 10]), 4, vec![16, 1 << 18]),
            (vec![1 << 20, 1 << 20], Some(vec![1 << 20, 1 << 20]), 8, vec![2, 1 << 20]),
            (vec![1 << 40], None, 1, vec![BUDGET]),
            (vec![], Some(vec![]), 8, vec![]),
            (vec![5], Some(vec![100]), 8, vec![5]),
        ] {
            assert_eq!(block_shape(&shape, chunk.clone(), item), block, "{shape:?} {chunk:?} {item}");
        }
    }

    #[test]
    fn blocks_cover_every_element_once() {
        let (shape, block) = ([5u64, 3, 4], [2u64, 3, 3]);
        let mut seen = vec![0; 60];
        let mut start = vec![0; 3];
        loop {
            for i in start[0]..(start[0] + block[0]).min(shape[0]) {
                for j in start[1]..(start[1] + block[1]).min(shape[1]) {
                    for k in start[2]..(start[2] + block[2]).min(shape[2]) {
                        seen[((i * 3 + j) * 4 + k) as usize] += 1;
                    }
                }
            }
            if !step(&mut start, &block, &shape) {
                break;
            }
        }
        assert!(seen.iter().all(|&times| times == 1));
        assert!(!step(&mut [], &[], &[]), "a scalar is one block");
    }
}
