//! [`NcDispatch`]: every entry of netCDF's dispatch table by its name, on top of any [`Dataset`].
//!
//! The table has 77 entries (version 5). `create` and `open` make a dataset and are [`create`](crate::Registry::create) and
//! [`open`](crate::Registry::open) of the registry; `sync`, `abort` and `close` are the [`Dataset`]'s own; all others are
//! methods here. Inquiries are answered from the model, `def_*` and kin become one [`Edit`] each, data calls check their
//! hyperslab, once, and go to the [`VarData`](crate::VarData). What a pointer argument returns in C is a result here, a
//! `NULL` argument an `Option`, and ids are typed: those of dimensions, variables and types are unique in the dataset.
//!
//! Nothing here knows a format. The helpers in the submodules hold the rules: `define` for define mode, `atts`, `types`,
//! `layout`, `access` and `data`.
//!
//! Source: the dispatch table of `netcdf_dispatch.h` as the interface notes list it.

mod access;
mod atts;
mod copy;
mod data;
mod define;
mod inquire;
mod layout;
mod types;

use nczarr_model::{
    Chunking, Defined, DimId, Edit, Endian, EnumMember, ErrorKind, Field, FillMode, FilterSpec, GroupId, NcType,
    Quantize, Result, Slab, TypeId, UserType, Values, VarId,
};

use crate::{CacheConfig, Dataset, Format, FormatX, MemMut, MemRef, Spacing};

pub use access::VarAccess;
pub use copy::{copy_att, copy_var};
pub use data::{MappedMut, MappedRef};
pub use inquire::{AttInquiry, DimInquiry, GroupInquiry, VarInquiry};

/// Every entry of netCDF's dispatch table. Implemented for every [`Dataset`]; never by hand.
///
/// Names of entries are C's. The five that are not here: `create`, `open` ([`Registry`](crate::Registry)), `sync`, `abort`, `close`
/// ([`Dataset`]).
///
/// Errors have the codes of the C functions. Inquiries: `NC_EBADDIM`, `NC_ENOTVAR`, `NC_ENOTATT`, `NC_EBADGRPID`,
/// `NC_EBADTYPE`, `NC_EBADTYPID`, `NC_ENOGRP` for what is not there. Definitions: what the model and the format forbid;
/// `NC_EPERM` if the dataset is read-only; `NC_ENOTINDEFINE` in data mode of a classic-model dataset.
pub trait NcDispatch: Dataset {
    // The dataset.

    /// Enters define mode. `NC_EINDEFINE` if it is in it, `NC_EPERM` if it is read-only.
    fn redef(&self) -> Result<()> {
        define::redef(self)
    }

    /// Leaves define mode and writes the metadata. `NC_ENOTINDEFINE` if it is in data mode.
    ///
    /// Numbers: bytes to keep free behind the header, alignment of and space behind the fixed part, alignment of
    /// records. Hints for classic formats; the others have no use for them.
    fn _enddef(&self, h_minfree: u64, v_align: u64, v_minfree: u64, r_align: u64) -> Result<()> {
        define::enddef(self, Spacing { h_minfree, v_align, v_minfree, r_align })
    }

    /// Sets what new variables without a fill value do; answers what they did.
    fn set_fill(&self, mode: FillMode) -> Result<FillMode> {
        define::set_fill(self, mode)
    }

    /// The data model and kind of file it presents.
    fn inq_format(&self) -> Result<Format> {
        Ok(self.info().format)
    }

    /// The implementation behind it, and the mode flags of `netcdf.h` it was opened with.
    fn inq_format_extended(&self) -> Result<(FormatX, u32)> {
        Ok(inquire::format_extended(self))
    }

    // A group at a glance, types.

    /// How many dimensions, variables and attributes a group has, and its first unlimited dimension.
    fn inq(&self, group: GroupId) -> Result<GroupInquiry> {
        inquire::group(&self.model().snapshot(), group)
    }

    /// Name and size in memory of a type; a string or vlen has no size.
    fn inq_type(&self, ty: NcType) -> Result<(String, Option<usize>)> {
        types::name_and_size(&self.model().snapshot(), ty)
    }

    // Dimensions.

    /// Defines a dimension; `None` or 0: unlimited.
    fn def_dim(&self, group: GroupId, name: &str, len: Option<u64>) -> Result<DimId> {
        match self.edit(&Edit::DefDim { group, name, len })? {
            Defined::Dim(dim) => Ok(dim),
            other => Err(define::unexpected("a dimension", other)),
        }
    }

    /// A dimension by name, in the group or the groups around it.
    fn inq_dimid(&self, group: GroupId, name: &str) -> Result<DimId> {
        inquire::dim_id(&self.model().snapshot(), group, name)
    }

    /// Name and length of a dimension.
    fn inq_dim(&self, dim: DimId) -> Result<DimInquiry> {
        inquire::dim(&self.model().snapshot(), dim)
    }

    /// The group's first unlimited dimension.
    fn inq_unlimdim(&self, group: GroupId) -> Result<Option<DimId>> {
        Ok(self.inq_unlimdims(group)?.first().copied())
    }

    /// Renames a dimension.
    fn rename_dim(&self, dim: DimId, name: &str) -> Result<()> {
        self.edit(&Edit::RenameDim { dim, name }).map(drop)
    }

    // Attributes: of a variable, or of the group if that is `None`.

    /// Type and length of an attribute.
    fn inq_att(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<AttInquiry> {
        atts::inquire(self, group, var, name)
    }

    /// The place of an attribute among its owner's.
    fn inq_attid(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<usize> {
        atts::place(&self.model().snapshot(), group, var, name)
    }

    /// The name of the attribute in a place.
    fn inq_attname(&self, group: GroupId, var: Option<VarId>, place: usize) -> Result<String> {
        atts::name_of(&self.model().snapshot(), group, var, place)
    }

    /// Renames an attribute.
    fn rename_att(&self, group: GroupId, var: Option<VarId>, name: &str, to: &str) -> Result<()> {
        atts::check_reserved(group, var, name)?;
        atts::check_reserved(group, var, to)?;
        self.edit(&Edit::RenameAtt { group, var, name, to }).map(drop)
    }

    /// Deletes an attribute.
    fn del_att(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<()> {
        atts::check_reserved(group, var, name)?;
        self.edit(&Edit::DelAtt { group, var, name }).map(drop)
    }

    /// The values of an attribute as `memtype` (`None`: its own type), and whether one of them did not fit: in C the
    /// values with `NC_ERANGE`.
    fn get_att(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        memtype: Option<NcType>,
    ) -> Result<(Values, bool)> {
        atts::get(self, group, var, name, memtype)
    }

    /// Sets an attribute of type `filetype` from `values`, whose type is the memory type.
    ///
    /// `NC_ERANGE` if a value does not fit; the attribute is set all the same.
    fn put_att(&self, group: GroupId, var: Option<VarId>, name: &str, filetype: NcType, values: &Values) -> Result<()> {
        atts::put(self, group, var, name, filetype, values)
    }

    // Variables and their data.

    /// Defines a variable.
    fn def_var(&self, group: GroupId, name: &str, xtype: NcType, dims: &[DimId]) -> Result<VarId> {
        match self.edit(&Edit::DefVar { group, name, xtype, dims })? {
            Defined::Var(var) => Ok(var),
            other => Err(define::unexpected("a variable", other)),
        }
    }

    /// A variable by name, in the group itself.
    fn inq_varid(&self, group: GroupId, name: &str) -> Result<VarId> {
        inquire::var_id(&self.model().snapshot(), group, name)
    }

    /// Renames a variable.
    fn rename_var(&self, var: VarId, name: &str) -> Result<()> {
        self.edit(&Edit::RenameVar { var, name }).map(drop)
    }

    /// Reads a box. `NC_EINVALCOORDS`, `NC_EEDGE` if it is not in the variable's shape; `NC_ECHAR` between text and
    /// numbers; `NC_ERANGE`, after the whole transfer, if a value did not fit.
    fn get_vara(&self, var: VarId, start: &[u64], count: &[u64], out: MemMut<'_, '_>) -> Result<()> {
        data::get(self, var, &Slab::new(start, count), out)
    }

    /// Writes a box; along an unlimited dimension it may reach beyond the length, which then grows.
    fn put_vara(&self, var: VarId, start: &[u64], count: &[u64], data: MemRef<'_>) -> Result<()> {
        data::put(self, var, &Slab::new(start, count), data)
    }

    /// Reads every `stride`-th element of a box. `NC_ESTRIDE` if a stride is 0.
    fn get_vars(&self, var: VarId, start: &[u64], count: &[u64], stride: &[u64], out: MemMut<'_, '_>) -> Result<()> {
        data::get(self, var, &Slab { start, count, stride: Some(stride) }, out)
    }

    /// Writes every `stride`-th element of a box.
    fn put_vars(&self, var: VarId, start: &[u64], count: &[u64], stride: &[u64], data: MemRef<'_>) -> Result<()> {
        data::put(self, var, &Slab { start, count, stride: Some(stride) }, data)
    }

    /// Reads to places `imap` elements apart in memory (`None`: one after another); what lies between is left alone.
    ///
    /// `NC_EMAPTYPE` for a user-defined type, `NC_EINVAL` if a place lies outside the memory.
    fn get_varm(&self, var: VarId, slab: &Slab<'_>, imap: Option<&[i64]>, out: MappedMut<'_>) -> Result<()> {
        data::get_mapped(self, var, slab, imap, out)
    }

    /// Writes from places `imap` elements apart in memory, as [`NcDispatch::get_varm`].
    fn put_varm(&self, var: VarId, slab: &Slab<'_>, imap: Option<&[i64]>, data: MappedRef<'_>) -> Result<()> {
        data::put_mapped(self, var, slab, imap, data)
    }

    /// All there is to know of a variable but its attributes' values.
    fn inq_var_all(&self, var: VarId) -> Result<VarInquiry> {
        layout::inquire(self, var)
    }

    /// `NC_ENOPAR`: no dataset here is opened by several processes in common.
    fn var_par_access(&self, var: VarId, _collective: bool) -> Result<()> {
        let path = self.model().snapshot().var_path(var)?;
        Err(ErrorKind::NoPar.context(format!("{path}: the dataset was not opened for parallel access")))
    }

    /// Sets a variable's fill value (`None`: its type's default), or that it is not filled.
    fn def_var_fill(&self, var: VarId, no_fill: bool, value: Option<&Values>) -> Result<()> {
        self.edit(&Edit::DefVarFill { var, no_fill, value }).map(drop)
    }

    // The tree.

    /// The metadata as text, for debugging; its form is not fixed.
    fn show_metadata(&self) -> Result<String> {
        Ok(inquire::show(self))
    }

    /// The group's unlimited dimensions, in the order of definition.
    fn inq_unlimdims(&self, group: GroupId) -> Result<Vec<DimId>> {
        inquire::unlimited(&self.model().snapshot(), group)
    }

    /// A group by name, in the group itself. `NC_ENOGRP` if there is none.
    fn inq_ncid(&self, group: GroupId, name: &str) -> Result<GroupId> {
        inquire::group_id(&self.model().snapshot(), group, name)
    }

    /// The groups in a group.
    fn inq_grps(&self, group: GroupId) -> Result<Vec<GroupId>> {
        Ok(self.model().snapshot().group(group)?.groups.values().copied().collect())
    }

    /// The name of a group; the root's is `/`.
    fn inq_grpname(&self, group: GroupId) -> Result<String> {
        Ok(self.model().snapshot().group(group)?.name.clone())
    }

    /// The names from the root to a group, each after a `/`.
    fn inq_grpname_full(&self, group: GroupId) -> Result<String> {
        self.model().snapshot().fqn(group, "")
    }

    /// The group a group lies in. `NC_ENOGRP` for the root.
    fn inq_grp_parent(&self, group: GroupId) -> Result<GroupId> {
        let root = || ErrorKind::NoGrp.context("the root group lies in no other");
        self.model().snapshot().group(group)?.parent.ok_or_else(root)
    }

    /// A group by its path, from the given one unless it starts with `/`. `NC_ENOGRP` if there is none.
    fn inq_grp_full_ncid(&self, group: GroupId, path: &str) -> Result<GroupId> {
        self.model().snapshot().group_at(group, path)
    }

    /// The variables of a group.
    fn inq_varids(&self, group: GroupId) -> Result<Vec<VarId>> {
        Ok(self.model().snapshot().group(group)?.vars.values().copied().collect())
    }

    /// The dimensions of a group, and of those around it if asked for; sorted.
    fn inq_dimids(&self, group: GroupId, include_parents: bool) -> Result<Vec<DimId>> {
        inquire::dims(&self.model().snapshot(), group, include_parents)
    }

    /// The user-defined types of a group.
    fn inq_typeids(&self, group: GroupId) -> Result<Vec<TypeId>> {
        Ok(self.model().snapshot().group(group)?.types.values().copied().collect())
    }

    /// Whether a type here and one there have the same name and are made of the same.
    fn inq_type_equal(&self, ty: NcType, other: &dyn Dataset, other_ty: NcType) -> Result<bool> {
        types::equal(&self.model().snapshot(), ty, &other.model().snapshot(), other_ty)
    }

    /// Defines a group.
    fn def_grp(&self, parent: GroupId, name: &str) -> Result<GroupId> {
        match self.edit(&Edit::DefGroup { parent, name })? {
            Defined::Group(group) => Ok(group),
            other => Err(define::unexpected("a group", other)),
        }
    }

    /// Renames a group; not the root.
    fn rename_grp(&self, group: GroupId, name: &str) -> Result<()> {
        self.edit(&Edit::RenameGroup { group, name }).map(drop)
    }

    // User-defined types.

    /// All there is to know of a user-defined type.
    fn inq_user_type(&self, ty: TypeId) -> Result<UserType> {
        Ok(self.model().snapshot().user_type(ty)?.clone())
    }

    /// A type by name: an atomic one; a path from the root; or a user-defined one of the group, of those around it, or
    /// else the first in the dataset.
    fn inq_typeid(&self, group: GroupId, name: &str) -> Result<NcType> {
        types::by_name(&self.model().snapshot(), group, name)
    }

    /// Defines a compound type of `size` bytes, without fields.
    fn def_compound(&self, group: GroupId, size: usize, name: &str) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefCompound { group, name, size })?)
    }

    /// Adds a field to a compound type.
    fn insert_compound(&self, ty: TypeId, name: &str, offset: usize, field: NcType) -> Result<()> {
        self.insert_array_compound(ty, name, offset, field, &[])
    }

    /// Adds a field that is an array to a compound type.
    fn insert_array_compound(&self, ty: TypeId, name: &str, offset: usize, field: NcType, shape: &[u32]) -> Result<()> {
        self.edit(&Edit::InsertField { ty, name, offset, field, shape }).map(drop)
    }

    /// The field in a place of a compound type. `NC_EBADFIELD` if there is none.
    fn inq_compound_field(&self, ty: TypeId, place: usize) -> Result<Field> {
        types::field(&self.model().snapshot(), ty, place)
    }

    /// The place of a field by name. `NC_EBADFIELD` if there is none.
    fn inq_compound_fieldindex(&self, ty: TypeId, name: &str) -> Result<usize> {
        types::field_place(&self.model().snapshot(), ty, name)
    }

    /// Defines a vlen type.
    fn def_vlen(&self, group: GroupId, name: &str, base: NcType) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefVlen { group, name, base })?)
    }

    /// Makes `values` the contents of one element of a vlen type. Concerns memory only.
    fn put_vlen_element(&self, ty: TypeId, element: &mut Values, values: &Values) -> Result<()> {
        types::check_vlen(&self.model().snapshot(), ty, values)?;
        *element = values.clone();
        Ok(())
    }

    /// The contents of one element of a vlen type. Concerns memory only.
    fn get_vlen_element(&self, ty: TypeId, element: &Values) -> Result<Values> {
        types::check_vlen(&self.model().snapshot(), ty, element)?;
        Ok(element.clone())
    }

    /// Defines an enum type without members.
    fn def_enum(&self, group: GroupId, base: NcType, name: &str) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefEnum { group, name, base })?)
    }

    /// Adds a member to an enum type.
    fn insert_enum(&self, ty: TypeId, name: &str, value: i128) -> Result<()> {
        self.edit(&Edit::InsertEnum { ty, name, value }).map(drop)
    }

    /// The member in a place of an enum type. `NC_EINVAL` if there is none.
    fn inq_enum_member(&self, ty: TypeId, place: usize) -> Result<EnumMember> {
        types::member(&self.model().snapshot(), ty, place)
    }

    /// The name of an enum value. `NC_EINVAL` if no member has it.
    fn inq_enum_ident(&self, ty: TypeId, value: i128) -> Result<String> {
        types::ident(&self.model().snapshot(), ty, value)
    }

    /// Defines an opaque type.
    fn def_opaque(&self, group: GroupId, size: usize, name: &str) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefOpaque { group, name, size })?)
    }

    // Layout. `NC_ELATEDEF` once there are data.

    /// Adds shuffling, deflating, or both. A level of 0 is not applied; without `shuffle` and `deflate` nothing
    /// changes. Filters work in the order of definition. `NC_EINVAL` for a level beyond 0 to 9.
    fn def_var_deflate(&self, var: VarId, shuffle: bool, deflate: bool, level: u32) -> Result<()> {
        layout::deflate(self, var, shuffle, deflate, level)
    }

    /// Adds a checksum. `false` changes nothing.
    fn def_var_fletcher32(&self, var: VarId, on: bool) -> Result<()> {
        if on { self.def_var_filter(var, layout::FLETCHER32, &[]) } else { Ok(()) }
    }

    /// Sets the chunk shape.
    fn def_var_chunking(&self, var: VarId, chunking: &Chunking) -> Result<()> {
        self.edit(&Edit::DefVarChunking { var, chunking }).map(drop)
    }

    /// Lets the chunks lie in shards of this shape, in elements; `None`: each chunk is an object. A shard is a whole number of
    /// chunks along each dimension (`NC_EBADCHUNK`); where the chunk shape is the format's to choose, what is asked for is
    /// rounded up to that. `NC_ENOTNC4` in formats without shards: all but Zarr V3.
    fn def_var_shards(&self, var: VarId, shards: Option<&[u64]>) -> Result<()> {
        self.edit(&Edit::DefVarShards { var, shards }).map(drop)
    }

    /// Sets the byte order.
    fn def_var_endian(&self, var: VarId, endian: Endian) -> Result<()> {
        layout::endian(self, var, endian)
    }

    /// Adds a filter by its HDF5 id, or changes its parameters. `NC_ENOFILTER` if there is none, `NC_EFILTER` or
    /// `NC_EINVAL` for parameters it does not take.
    fn def_var_filter(&self, var: VarId, id: u32, params: &[u32]) -> Result<()> {
        layout::filter(self, var, id, params)
    }

    /// Sets how much of the variable's decoded data is kept.
    fn set_var_chunk_cache(&self, var: VarId, cache: CacheConfig) -> Result<()> {
        crate::settings::check_cache(&cache)?;
        self.data(var)?.tune(cache)
    }

    /// How much of the variable's decoded data is kept.
    fn get_var_chunk_cache(&self, var: VarId) -> Result<CacheConfig> {
        Ok(self.data(var)?.cache())
    }

    /// The HDF5 ids of a variable's filters, in the order of encoding. A filter without an id has none here.
    fn inq_var_filter_ids(&self, var: VarId) -> Result<Vec<u32>> {
        Ok(self.model().snapshot().var(var)?.filters.iter().filter_map(|filter| filter.hdf5_id).collect())
    }

    /// The parameters of one of a variable's filters. `NC_ENOFILTER` if the variable has it not.
    fn inq_var_filter_info(&self, var: VarId, id: u32) -> Result<Vec<u32>> {
        Ok(layout::find_filter(&self.model().snapshot(), var, id)?.params.clone())
    }

    /// Sets the rounding of a float variable; `None` takes it away.
    fn def_var_quantize(&self, var: VarId, quantize: Option<Quantize>) -> Result<()> {
        self.edit(&Edit::DefVarQuantize { var, quantize }).map(drop)
    }

    /// The rounding of a variable.
    fn inq_var_quantize(&self, var: VarId) -> Result<Option<Quantize>> {
        Ok(self.model().snapshot().var(var)?.quantize)
    }

    /// Whether there is a filter of this HDF5 id: `NC_ENOFILTER`, or `NC_ENOTBUILT` naming a feature, if not.
    fn inq_filter_avail(&self, id: u32) -> Result<()> {
        define::registry_of(self)?.filter_by_id(id).map(drop)
    }

    // What the entries above have in common.

    /// Makes one change of the metadata: enters define mode if need be, asks the format, changes the model.
    fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        define::edit(self, edit)
    }

    /// As [`NcDispatch::edit`] of [`Edit::PutAtt`], which copies the values: here they may be taken instead, unless it fails.
    fn edit_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        define::edit_att(self, group, var, name, values)
    }

    /// Adds a filter by name, for those without an HDF5 id. As [`NcDispatch::def_var_filter`].
    /// Of a filter of another dataset it takes what [`FilterSpec::anew`] says.
    fn def_var_filter_spec(&self, var: VarId, filter: &FilterSpec) -> Result<()> {
        self.edit(&Edit::DefVarFilter { var, filter: &filter.anew() }).map(drop)
    }
}

impl<T: Dataset + ?Sized> NcDispatch for T {}
