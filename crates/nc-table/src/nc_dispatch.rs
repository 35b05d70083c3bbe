//! [`NcDispatch`]: all entries of netCDF's dispatch table by their names, for any [`Dataset`].
//!
//! The table has 77 entries (version 5). `create` and `open` are
//! [`create`](nczarr_dispatch::Registry::create) and [`open`](nczarr_dispatch::Registry::open) of the
//! registry. `sync`, `abort` and `close` are methods of [`Dataset`]. All others are here. The model answers
//! inquiries. Each `def_*` function becomes one [`Edit`]. Data calls check their hyperslab once and call
//! [`VarData`](nczarr_dispatch::VarData). Pointer results of C are return values, `NULL` arguments are
//! `Option`s, and ids are typed: ids of dimensions, variables and types are unique in the dataset.
//!
//! Nothing here knows a format. The rules are in the other modules: `define` for define mode, `atts`,
//! `types`, `layout`, `access` and `data`.
//!
//! Source: the dispatch table in `netcdf_dispatch.h`.

use nczarr_model::{
    Chunking, Defined, DimId, Edit, Endian, EnumMember, ErrorKind, Field, FillMode, FilterSpec, GroupId,
    NcType, Quantize, Result, Slab, TypeId, UserType, Values, VarId,
};

use nczarr_dispatch::{CacheConfig, Dataset, Format, FormatX, HeaderPadding, MemMut, MemRef};

use crate::{
    AttInquiry, DimInquiry, GroupInquiry, MappedMut, MappedRef, VarInquiry, atts, data, define, inquire,
    layout, types,
};

/// All entries of netCDF's dispatch table. Implemented for every [`Dataset`], never by hand.
///
/// Entries have their C names. Five are elsewhere: `create` and `open`
/// ([`Registry`](nczarr_dispatch::Registry)), `sync`, `abort` and `close` ([`Dataset`]).
///
/// Errors have the codes of the C functions. Inquiries return `NC_EBADDIM`, `NC_ENOTVAR`, `NC_ENOTATT`,
/// `NC_EBADGRPID`, `NC_EBADTYPE`, `NC_EBADTYPID` or `NC_ENOGRP` for missing objects. Definitions return the
/// code of the violated rule; `NC_EPERM` for a read-only dataset; `NC_ENOTINDEFINE` in data mode of a
/// classic-model dataset.
pub trait NcDispatch: Dataset {
    // The dataset.

    /// Enters define mode. `NC_EINDEFINE` if the dataset is in define mode, `NC_EPERM` if it is read-only.
    fn redef(&self) -> Result<()> {
        define::redef(self)
    }

    /// Ends define mode and writes the metadata. `NC_ENOTINDEFINE` in data mode.
    ///
    /// The arguments are free bytes after the header, alignment of and free space after the fixed-size
    /// variables, and alignment of records. They are hints for classic formats; others ignore them.
    fn _enddef(&self, h_minfree: u64, v_align: u64, v_minfree: u64, r_align: u64) -> Result<()> {
        define::enddef(self, HeaderPadding { h_minfree, v_align, v_minfree, r_align })
    }

    /// Sets the fill mode of new variables without a fill value. Returns the previous mode.
    fn set_fill(&self, mode: FillMode) -> Result<FillMode> {
        define::set_fill(self, mode)
    }

    /// Returns the data model and kind of file.
    fn inq_format(&self) -> Result<Format> {
        Ok(self.info().format)
    }

    /// Returns the implementation, and the mode flags of `netcdf.h`.
    fn inq_format_extended(&self) -> Result<(FormatX, u32)> {
        Ok(inquire::format_extended(self))
    }

    // Groups and types.

    /// Returns the numbers of dimensions, variables and attributes of a group, and its first unlimited
    /// dimension.
    fn inq(&self, group: GroupId) -> Result<GroupInquiry> {
        inquire::group(&self.model().snapshot(), group)
    }

    /// Returns name and size in memory of a type; strings and vlen types have no size.
    fn inq_type(&self, ty: NcType) -> Result<(String, Option<usize>)> {
        types::name_and_size(&self.model().snapshot(), ty)
    }

    // Dimensions.

    /// Defines a dimension. `None` or 0: unlimited.
    fn def_dim(&self, group: GroupId, name: &str, len: Option<u64>) -> Result<DimId> {
        match self.edit(&Edit::DefDim { group, name, len })? {
            Defined::Dim(dim) => Ok(dim),
            other => Err(define::unexpected("a dimension", other)),
        }
    }

    /// Finds a dimension by name, in the group or its ancestors.
    fn inq_dimid(&self, group: GroupId, name: &str) -> Result<DimId> {
        inquire::dim_id(&self.model().snapshot(), group, name)
    }

    /// Returns name and length of a dimension.
    fn inq_dim(&self, dim: DimId) -> Result<DimInquiry> {
        inquire::dim(&self.model().snapshot(), dim)
    }

    /// Returns the group's first unlimited dimension.
    fn inq_unlimdim(&self, group: GroupId) -> Result<Option<DimId>> {
        Ok(self.inq_unlimdims(group)?.first().copied())
    }

    /// Renames a dimension.
    fn rename_dim(&self, dim: DimId, name: &str) -> Result<()> {
        self.edit(&Edit::RenameDim { dim, name }).map(drop)
    }

    // Attributes: of a variable, or of the group if that is `None`.

    /// Returns type and length of an attribute.
    fn inq_att(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<AttInquiry> {
        atts::inquire(self, group, var, name)
    }

    /// Returns the number of an attribute within its owner.
    fn inq_attid(&self, group: GroupId, var: Option<VarId>, name: &str) -> Result<usize> {
        atts::place(&self.model().snapshot(), group, var, name)
    }

    /// Returns the name of the attribute with this number.
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

    /// Returns the values of an attribute as `memtype` (`None`: its own type), and whether one did not fit.
    /// In C that is the values with `NC_ERANGE`.
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
    fn put_att(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        filetype: NcType,
        values: &Values,
    ) -> Result<()> {
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

    /// Finds a variable by name, in the group itself.
    fn inq_varid(&self, group: GroupId, name: &str) -> Result<VarId> {
        inquire::var_id(&self.model().snapshot(), group, name)
    }

    /// Renames a variable.
    fn rename_var(&self, var: VarId, name: &str) -> Result<()> {
        self.edit(&Edit::RenameVar { var, name }).map(drop)
    }

    /// Reads a box. `NC_EINVALCOORDS` or `NC_EEDGE` if it exceeds the variable's shape; `NC_ECHAR` between
    /// text and numbers; `NC_ERANGE`, after the whole transfer, if a value did not fit.
    fn get_vara(&self, var: VarId, start: &[u64], count: &[u64], out: MemMut<'_, '_>) -> Result<()> {
        data::get(self, var, &Slab::new(start, count), out)
    }

    /// Writes a box. It may exceed the length of an unlimited dimension, which then grows.
    fn put_vara(&self, var: VarId, start: &[u64], count: &[u64], data: MemRef<'_>) -> Result<()> {
        data::put(self, var, &Slab::new(start, count), data)
    }

    /// Reads every `stride`-th element of a box. `NC_ESTRIDE` if a stride is 0.
    fn get_vars(
        &self,
        var: VarId,
        start: &[u64],
        count: &[u64],
        stride: &[u64],
        out: MemMut<'_, '_>,
    ) -> Result<()> {
        data::get(self, var, &Slab { start, count, stride: Some(stride) }, out)
    }

    /// Writes every `stride`-th element of a box.
    fn put_vars(
        &self,
        var: VarId,
        start: &[u64],
        count: &[u64],
        stride: &[u64],
        data: MemRef<'_>,
    ) -> Result<()> {
        data::put(self, var, &Slab { start, count, stride: Some(stride) }, data)
    }

    /// Reads to addresses `imap` elements apart in memory (`None`: adjacent). Memory between them is
    /// unchanged.
    ///
    /// `NC_EMAPTYPE` for a user-defined type, `NC_EINVAL` if an address is outside the memory.
    fn get_varm(&self, var: VarId, slab: &Slab<'_>, imap: Option<&[i64]>, out: MappedMut<'_>) -> Result<()> {
        data::get_mapped(self, var, slab, imap, out)
    }

    /// Writes from addresses `imap` elements apart in memory, as [`NcDispatch::get_varm`].
    fn put_varm(&self, var: VarId, slab: &Slab<'_>, imap: Option<&[i64]>, data: MappedRef<'_>) -> Result<()> {
        data::put_mapped(self, var, slab, imap, data)
    }

    /// Returns all properties of a variable, except attribute values.
    fn inq_var_all(&self, var: VarId) -> Result<VarInquiry> {
        layout::inquire(self, var)
    }

    /// Always `NC_ENOPAR`: a dataset is never opened collectively by several processes.
    fn var_par_access(&self, var: VarId, _collective: bool) -> Result<()> {
        let path = self.model().snapshot().var_path(var)?;
        Err(ErrorKind::NoPar.context(format!("{path}: the dataset was not opened for parallel access")))
    }

    /// Sets a variable's fill value (`None`: its type's default), or turns filling off.
    fn def_var_fill(&self, var: VarId, no_fill: bool, value: Option<&Values>) -> Result<()> {
        self.edit(&Edit::DefVarFill { var, no_fill, value }).map(drop)
    }

    // The tree.

    /// Returns the metadata as text for debugging. The form may change.
    fn show_metadata(&self) -> Result<String> {
        Ok(inquire::show(self))
    }

    /// Returns the group's unlimited dimensions, in the order of definition.
    fn inq_unlimdims(&self, group: GroupId) -> Result<Vec<DimId>> {
        inquire::unlimited(&self.model().snapshot(), group)
    }

    /// Finds a group by name, in the group itself. `NC_ENOGRP` if there is none.
    fn inq_ncid(&self, group: GroupId, name: &str) -> Result<GroupId> {
        inquire::group_id(&self.model().snapshot(), group, name)
    }

    /// Returns the child groups.
    fn inq_grps(&self, group: GroupId) -> Result<Vec<GroupId>> {
        Ok(self.model().snapshot().group(group)?.groups.values().copied().collect())
    }

    /// Returns the name of a group; that of the root is `/`.
    fn inq_grpname(&self, group: GroupId) -> Result<String> {
        Ok(self.model().snapshot().group(group)?.name.clone())
    }

    /// Returns the path of a group: the names from the root, each after a `/`.
    fn inq_grpname_full(&self, group: GroupId) -> Result<String> {
        self.model().snapshot().fqn(group, "")
    }

    /// Returns the parent of a group. `NC_ENOGRP` for the root.
    fn inq_grp_parent(&self, group: GroupId) -> Result<GroupId> {
        let root = || ErrorKind::NoGrp.context("the root group lies in no other");
        self.model().snapshot().group(group)?.parent.ok_or_else(root)
    }

    /// Finds a group by its path, relative to the given one unless it starts with `/`. `NC_ENOGRP` if there
    /// is none.
    fn inq_grp_full_ncid(&self, group: GroupId, path: &str) -> Result<GroupId> {
        self.model().snapshot().group_at(group, path)
    }

    /// Returns the variables of a group.
    fn inq_varids(&self, group: GroupId) -> Result<Vec<VarId>> {
        Ok(self.model().snapshot().group(group)?.vars.values().copied().collect())
    }

    /// Returns the sorted dimensions of a group, and of its ancestors if `include_parents`.
    fn inq_dimids(&self, group: GroupId, include_parents: bool) -> Result<Vec<DimId>> {
        inquire::dims(&self.model().snapshot(), group, include_parents)
    }

    /// Returns the user-defined types of a group.
    fn inq_typeids(&self, group: GroupId) -> Result<Vec<TypeId>> {
        Ok(self.model().snapshot().group(group)?.types.values().copied().collect())
    }

    /// Returns whether two types have the same name and structure.
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

    /// Returns a user-defined type.
    fn inq_user_type(&self, ty: TypeId) -> Result<UserType> {
        Ok(self.model().snapshot().user_type(ty)?.clone())
    }

    /// Finds a type by name: an atomic type; a path from the root; a user-defined type of the group or its
    /// ancestors; else the first in the dataset.
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
    fn insert_array_compound(
        &self,
        ty: TypeId,
        name: &str,
        offset: usize,
        field: NcType,
        shape: &[u32],
    ) -> Result<()> {
        self.edit(&Edit::InsertField { ty, name, offset, field, shape }).map(drop)
    }

    /// Returns a field of a compound type by number. `NC_EBADFIELD` if there is none.
    fn inq_compound_field(&self, ty: TypeId, place: usize) -> Result<Field> {
        types::field(&self.model().snapshot(), ty, place)
    }

    /// Returns the number of a field by name. `NC_EBADFIELD` if there is none.
    fn inq_compound_fieldindex(&self, ty: TypeId, name: &str) -> Result<usize> {
        types::field_place(&self.model().snapshot(), ty, name)
    }

    /// Defines a vlen type.
    fn def_vlen(&self, group: GroupId, name: &str, base: NcType) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefVlen { group, name, base })?)
    }

    /// Sets the content of one element of a vlen type, in memory only.
    fn put_vlen_element(&self, ty: TypeId, element: &mut Values, values: &Values) -> Result<()> {
        types::check_vlen(&self.model().snapshot(), ty, values)?;
        *element = values.clone();
        Ok(())
    }

    /// Returns the content of one element of a vlen type, in memory only.
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

    /// Returns a member of an enum type by number. `NC_EINVAL` if there is none.
    fn inq_enum_member(&self, ty: TypeId, place: usize) -> Result<EnumMember> {
        types::member(&self.model().snapshot(), ty, place)
    }

    /// Returns the name of an enum value. `NC_EINVAL` if no member has it.
    fn inq_enum_ident(&self, ty: TypeId, value: i128) -> Result<String> {
        types::ident(&self.model().snapshot(), ty, value)
    }

    /// Defines an opaque type.
    fn def_opaque(&self, group: GroupId, size: usize, name: &str) -> Result<TypeId> {
        define::a_type(self.edit(&Edit::DefOpaque { group, name, size })?)
    }

    // Layout. `NC_ELATEDEF` once data exist.

    /// Adds the filters shuffle, deflate, or both. Deflate with level 0 is not added. Filters are applied in
    /// the order of definition. `NC_EINVAL` for a level beyond 0 to 9.
    fn def_var_deflate(&self, var: VarId, shuffle: bool, deflate: bool, level: u32) -> Result<()> {
        layout::deflate(self, var, shuffle, deflate, level)
    }

    /// Adds the Fletcher-32 checksum. `false` changes nothing.
    fn def_var_fletcher32(&self, var: VarId, on: bool) -> Result<()> {
        if on { self.def_var_filter(var, layout::FLETCHER32, &[]) } else { Ok(()) }
    }

    /// Sets the chunk shape.
    fn def_var_chunking(&self, var: VarId, chunking: &Chunking) -> Result<()> {
        self.edit(&Edit::DefVarChunking { var, chunking }).map(drop)
    }

    /// Stores the chunks in shards of this shape, in elements; `None`: each chunk is an object. A shard is a
    /// whole number of chunks along each dimension (`NC_EBADCHUNK`). If the format chooses the chunk shape,
    /// the shard shape is rounded up. `NC_ENOTNC4` in formats other than Zarr V3.
    fn def_var_shards(&self, var: VarId, shards: Option<&[u64]>) -> Result<()> {
        self.edit(&Edit::DefVarShards { var, shards }).map(drop)
    }

    /// Sets the byte order.
    fn def_var_endian(&self, var: VarId, endian: Endian) -> Result<()> {
        layout::endian(self, var, endian)
    }

    /// Adds a filter by its HDF5 id, or changes its parameters. `NC_ENOFILTER` if the filter is unknown;
    /// `NC_EFILTER` or `NC_EINVAL` for wrong parameters.
    fn def_var_filter(&self, var: VarId, id: u32, params: &[u32]) -> Result<()> {
        layout::filter(self, var, id, params)
    }

    /// Sets the variable's chunk cache.
    fn set_var_chunk_cache(&self, var: VarId, cache: CacheConfig) -> Result<()> {
        cache.check()?;
        self.data(var)?.set_chunk_cache(cache)
    }

    /// Returns the settings of the variable's chunk cache.
    fn get_var_chunk_cache(&self, var: VarId) -> Result<CacheConfig> {
        Ok(self.data(var)?.chunk_cache())
    }

    /// Returns the HDF5 ids of a variable's filters, in the order of encoding. Filters without an id are left
    /// out.
    fn inq_var_filter_ids(&self, var: VarId) -> Result<Vec<u32>> {
        Ok(self.model().snapshot().var(var)?.filters.iter().filter_map(|filter| filter.hdf5_id).collect())
    }

    /// Returns the parameters of a variable's filter. `NC_ENOFILTER` if the variable lacks it.
    fn inq_var_filter_info(&self, var: VarId, id: u32) -> Result<Vec<u32>> {
        Ok(layout::find_filter(&self.model().snapshot(), var, id)?.params.clone())
    }

    /// Sets the quantization of a float variable; `None` removes it.
    fn def_var_quantize(&self, var: VarId, quantize: Option<Quantize>) -> Result<()> {
        self.edit(&Edit::DefVarQuantize { var, quantize }).map(drop)
    }

    /// Returns the quantization of a variable.
    fn inq_var_quantize(&self, var: VarId) -> Result<Option<Quantize>> {
        Ok(self.model().snapshot().var(var)?.quantize)
    }

    /// Checks that a filter of this HDF5 id exists: `NC_ENOFILTER`, or `NC_ENOTBUILT` with the missing
    /// feature, if not.
    fn inq_filter_avail(&self, id: u32) -> Result<()> {
        define::registry_of(self)?.filter_by_id(id).map(drop)
    }

    // Shared by the entries above.

    /// Makes one edit: enters define mode if needed, asks the format, and changes the model.
    fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        define::edit(self, edit)
    }

    /// As [`NcDispatch::edit`] of [`Edit::PutAtt`], but moves the values if it succeeds.
    fn edit_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        define::edit_att(self, group, var, name, values)
    }

    /// Adds a filter by name, for filters without an HDF5 id. As [`NcDispatch::def_var_filter`]. A filter of
    /// another dataset is adapted by [`FilterSpec::anew`].
    fn def_var_filter_spec(&self, var: VarId, filter: &FilterSpec) -> Result<()> {
        self.edit(&Edit::DefVarFilter { var, filter: &filter.anew() }).map(drop)
    }
}

impl<T: Dataset + ?Sized> NcDispatch for T {}
