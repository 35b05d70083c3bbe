"""The store: a group of a dataset as xarray reads and writes it."""
import errno
import functools
import os

import numpy as np
from xarray.backends.common import ArrayWriter, WritableCFDataStore
from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder
from xarray.core import indexing
from xarray.core.utils import FrozenDict
from xarray.core.variable import Variable

from .._attributes import value_of
from .._handle import Handle
from .._location import local_path, normalize
from . import _create, _encoding, _forms, _guard
from ._array import NczarrArray
from ._define import Definer
from ._describe import attributes_of, dtype_of, encoding_of
from ._target import Target

_OPTIONS = ("threads", "cache_bytes", "missing_chunks", "exclusive", "durability", "growing")


def _without_length(variable):
    """Returns a variable without an encoding as text of a fixed length."""
    if getattr(variable.encoding.get("dtype"), "kind", "") != "U":
        return variable
    variable = variable.copy(deep=False)
    variable.encoding = {key: value for key, value in variable.encoding.items() if key != "dtype"}
    return variable


class _Waiting(list):
    """A writer that only remembers what is to be written."""

    def add(self, source, target):
        self.append((source, target))


@functools.cache
def _whole(rank):
    """Returns xarray's index of a whole array. It is immutable, and slow to make for hundreds of variables."""
    return indexing.BasicIndexer((slice(None),) * rank)


class NczarrDataStore(WritableCFDataStore):
    """A group of a dataset. Several stores may share one open dataset."""

    __slots__ = ("_group", "_info", "_mask_fill", "_mode", "auto_complex", "format", "handle")

    def __init__(self, handle, group=None, mode="r", format="NETCDF4", mask_fill=False, auto_complex=False):
        self.auto_complex = bool(auto_complex)
        self.handle, self._group = handle, "/" + (group or "").strip("/")
        self._mode, self.format, self._mask_fill = mode, format, bool(mask_fill)
        self._info = None

    @classmethod
    def open(cls, filename, mode="r", format=None, group=None, clobber=True, autoclose=False, lock=None,
             storage_options=None, kind=None, use_zarr_fill_value_as_mask=None, is_lazy=False,
             auto_complex=None, **options):
        """Opens or creates a dataset.

        :param mode: ``"r"``, ``"a"`` (an existing dataset, or a new one) or ``"w"`` (a new one).
        :param format: netCDF4's name of a format, for a new dataset.
        :param kind: the library's name of a format instead.
        :param is_lazy: open an existing dataset when it is needed.
        :param auto_complex: compounds of two numbers are complex numbers, and complex numbers are written so.
        :raises ValueError: for an option that does not exist.
        """
        unknown = set(options) - set(_OPTIONS)
        if unknown:
            raise ValueError(f"unknown options: {', '.join(sorted(unknown))}")
        if group is not None and not isinstance(group, str):
            raise ValueError(f"group={group!r}: must be a string or None")
        options = {name: value for name, value in options.items() if value is not None and value != []}
        place = normalize(filename)
        if mode == "w" or mode in ("a", "w-", "x") and not _create.exists(place, storage_options):
            clobber = clobber and mode in ("w", "a")
            handle = _create.handle_to_create(place, format, kind, clobber, options, storage_options)
        else:
            if mode in ("w-", "x"):
                raise FileExistsError(f"{place}: a dataset exists")
            if hasattr(place, "read"):
                place = place.read()
            if isinstance(place, (bytearray, memoryview)):
                place = bytes(place)
            handle = Handle(place, "r" if mode == "r" else "a", options, storage_options)
        store = cls(handle, None, mode, format or "NETCDF4", use_zarr_fill_value_as_mask, auto_complex)
        if not isinstance(handle, _create.NewHandle) and not is_lazy:
            # A wrong place is an error now, not at the first read.
            try:
                handle.file
            except FileNotFoundError:
                if local_path(place) is None or os.path.exists(local_path(place)):
                    raise
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place) from None
            store.format = _create.format_name(handle.file)
        return store.get_child_store(group) if group else store

    def get_child_store(self, group):
        """Returns the store of a group in it."""
        path = self._group.rstrip("/") + "/" + group.strip("/") if group.strip("/") else self._group
        child = type(self)(self.handle, path, self._mode, self.format, self._mask_fill, self.auto_complex)
        if not isinstance(self.handle, _create.NewHandle) and self._mode == "r":
            child.native
        return child

    @property
    def native(self):
        """The native group. A writer creates it.

        :raises OSError: if a reader asks for a group that does not exist.
        """
        try:
            return self.handle.group(self._group)
        except KeyError as error:
            if self._mode == "r":
                raise OSError(f"group not found: {self._group} in {self.handle.place}") from error
        group = self.handle.file._native
        for name in self._group.strip("/").split("/"):
            try:
                group = group.group(name)
            except KeyError:
                group = group.add_group(name)
        return group

    @property
    def is_zarr(self):
        """Whether the format is Zarr, NCZarr included."""
        if self._info is None:
            self._info = self.handle.file.info()
        return self._info["driver"] == "nczarr"

    @property
    def keeps_unwritten(self):
        """Whether elements that nobody wrote have a value of their own, beside the one that masks."""
        return self.is_zarr and self._info["version"] == "3" and self._info["flavour"] != "nczarr"

    @property
    def ds(self):
        """The group, as ``nczarr.Group``."""
        from nczarr import Group

        return Group(self.native, self.handle.file)

    def walk(self):
        """Returns the store of each group below, by path relative to this one."""
        found, waiting = {}, [(self.native, "/")]
        while waiting:
            native, path = waiting.pop(0)
            full = self._group.rstrip("/") + path
            found[path] = type(self)(self.handle, full, self._mode, self.format, self._mask_fill, self.auto_complex)
            waiting += [(group, path.rstrip("/") + "/" + group.name()) for group in native.groups()]
        return found

    # Reading.

    def get_variables(self):
        is_zarr, source, group = self.is_zarr, self.source, self._group
        return FrozenDict(
            (native.name(), self._variable(native, is_zarr, source, group)) for native in self.native.variables()
        )

    @property
    def source(self):
        """The place for ``encoding["source"]``."""
        return "<bytes>" if isinstance(self.handle.place, bytes) else str(self.handle.place)

    def _variable(self, native, is_zarr, source, group):
        described, dimensions = native.nc_type(), native.dimensions()
        dims, shape = tuple(dim[0] for dim in dimensions), tuple(dim[1] for dim in dimensions)
        attributes = attributes_of(native, is_zarr)
        form = _forms.form_of(native, described, is_zarr, self.auto_complex)
        dtype = dtype_of(described) if form is None else form.dtype
        version = self._info["version"] if is_zarr else None
        encoding = encoding_of(native, described, form, dims, shape, version, source)
        if form is not None:
            _forms.set_fill(attributes, form)
        fill = attributes.get("_FillValue")
        if dtype.kind == "S" and isinstance(fill, str):
            attributes["_FillValue"] = np.bytes_(fill.encode())
        if fill is None and (self._mask_fill and is_zarr) or not self._mask_fill and self.keeps_unwritten:
            pair = native.fill_value()
            value = None if pair is None else value_of(*pair) if form is None else form.value(*pair)
            if value is not None and self._mask_fill:
                attributes["_FillValue"] = value
            elif dtype.kind in "iufb" and not _forms.is_usual(value, fill, described, form):
                encoding["fill_value"] = value
        if "least_significant_digit" in attributes:
            encoding["least_significant_digit"] = attributes.pop("least_significant_digit")
        array = NczarrArray(self.handle, group, native.name(), dtype, shape)
        data = indexing.LazilyIndexedArray(array, _whole(len(shape)))
        return Variable(dims, data, attributes, encoding, fastpath=True)

    def open_store_variable(self, name):
        """Returns one variable, undecoded."""
        return self._variable(self.native.variable(name), self.is_zarr, self.source, self._group)

    def get_attrs(self):
        return FrozenDict(attributes_of(self.native, self.is_zarr))

    def get_dimensions(self):
        return FrozenDict((name, length) for name, length, _ in self._dimensions(self.native))

    def get_parent_dimensions(self):
        found, group = {}, self.native.parent()
        while group is not None:
            for name, length, _ in self._dimensions(group):
                found.setdefault(name, length)
            group = group.parent()
        return FrozenDict(found)

    @staticmethod
    def _dimensions(native):
        return [dimension.describe() for dimension in native.dimensions()]

    def get_encoding(self):
        unlimited = {name for name, _, unlimited in self._dimensions(self.native) if unlimited}
        return {"unlimited_dims": unlimited, "source": self.source}

    # Writing.

    def store(self, variables, attributes, check_encoding_set=frozenset(), writer=None, unlimited_dims=None):
        _guard.check(variables, self.handle.place, self.format, unlimited_dims)
        if self._mode == "w":
            _guard.check_sources(variables, self.handle.place)
        truths = [name for name, variable in variables.items() if variable.dtype == bool]
        variables, attributes = self.encode(variables, attributes)
        for name in check_encoding_set:
            # An unknown key is an error before the old dataset is cut.
            _encoding.extract(variables[name], True, unlimited_dims or (), False, name)
        writer = ArrayWriter() if writer is None else writer
        variables = _forms.with_truths(self, variables, truths)
        self.set_attributes(attributes)
        self.set_dimensions(variables, unlimited_dims=unlimited_dims)
        self.set_variables(variables, check_encoding_set, writer, unlimited_dims=unlimited_dims)
        self.grow(variables, unlimited_dims)

    def grow(self, variables, unlimited_dims):
        """Gives unlimited dimensions the lengths of the variables: tasks write their parts later."""
        lengths = {}
        for variable in variables.values():
            lengths.update((dim, length) for dim, length in variable.sizes.items() if dim in (unlimited_dims or ()))
        for name, length in lengths.items():
            dimension = self.native.dimension(name)
            now = dimension.describe()[1]
            if now < length:
                self.handle.file.sync()
                dimension.reserve(length - now)

    def encode(self, variables, attributes):
        # The length of strings in another dataset must not cut longer ones.
        return super().encode({name: _without_length(variable) for name, variable in variables.items()}, attributes)

    def encode_variable(self, variable, name=None):
        if variable.dtype.byteorder not in ("=", "|"):
            variable = variable.astype(variable.dtype.newbyteorder("="), keep_attrs=True)
        if self.format in ("NETCDF4", "ZARR"):
            for coder in (EncodedStringCoder(allows_unicode=True), CharacterArrayCoder()):
                variable = coder.encode(variable, name=name)
            return variable
        from xarray.backends.netcdf3 import encode_nc3_variable

        return encode_nc3_variable(variable, name=name)

    def set_dimension(self, name, length, is_unlimited=False):
        _guard.check_name(name)
        self.native.add_dimension(name, None if is_unlimited else length)

    def set_attribute(self, key, value):
        Definer(self).attribute(self.native, key, value)

    def set_variables(self, variables, check_encoding_set, writer, unlimited_dims=None):
        # All definitions come first: a netCDF-4 file stores its metadata when data follow a definition.
        waiting = _Waiting()
        super().set_variables(variables, check_encoding_set, waiting, unlimited_dims)
        for source, target in waiting:
            writer.add(source, target)

    def prepare_variable(self, name, variable, check_encoding=False, unlimited_dims=None):
        _guard.check_name(name)
        digits = Definer(self).variable(name, variable, check_encoding, unlimited_dims or ())
        return Target(self.handle, self._group, name, digits), variable.data

    def sync(self):
        self.handle.file.sync()
        # A delayed write opens the dataset again where its task runs.
        self.handle.detach()

    def close(self):
        self.handle.close()
