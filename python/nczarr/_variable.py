"""Variables: their description, attributes and data."""
import math

import numpy as np

from . import _index, _types, _zarr_types
from ._attributes import Attributes, value_of


class Variable:
    """A variable of an open dataset. ``variable[index]`` reads and writes as numpy does.

    :param form_of: the function of ``_zarr_types`` that finds types which netCDF lacks; ``None`` for netCDF's model.
    """

    def __init__(self, native, file, form_of=_zarr_types.form_of):
        self._native, self._file = native, file
        #: Its name.
        self.name = native.name()
        #: The native half's description of its type.
        self.nc_type = native.nc_type()
        self._form = form_of and form_of(native)
        #: The numpy type of its values.
        self.dtype = _types.dtype_of(self.nc_type) if self._form is None else self._form.dtype
        self._fixed = _types.is_fixed(self.nc_type)

    @property
    def path(self):
        """Its path from the root, such as ``/g/t``."""
        return self._native.full_name()

    @property
    def file(self):
        """The open dataset."""
        return self._file

    @property
    def dims(self):
        """The names of its dimensions."""
        return tuple(name for name, _, _ in self._native.dimensions())

    @property
    def unlimited(self):
        """Whether each dimension is unlimited."""
        return tuple(unlimited for _, _, unlimited in self._native.dimensions())

    @property
    def shape(self):
        """The lengths of its dimensions."""
        return tuple(self._native.shape())

    @property
    def ndim(self):
        return len(self._native.dimensions())

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def attrs(self):
        """Its attributes, as a mapping."""
        return Attributes(self._native)

    @property
    def chunks(self):
        """The shape of a chunk; ``None`` if the data are contiguous."""
        shape = self._native.chunk_shape()
        return shape and tuple(shape)

    @property
    def shards(self):
        """The shape of a shard; ``None`` without shards."""
        shape = self._native.shard_shape()
        return shape and tuple(shape)

    @property
    def filters(self):
        """``(name, HDF5 id, parameters, JSON)`` of each filter, in the order of encoding."""
        return self._native.filters()

    @property
    def endian(self):
        """The byte order of the stored elements: ``"native"``, ``"little"`` or ``"big"``."""
        return self._native.endian()

    @property
    def quantize(self):
        """The method of quantization and its digits or bits; ``None`` without it."""
        return self._native.quantize()

    @property
    def fill_value(self):
        """The value of elements that were never written; ``None`` if there is none."""
        pair = self._native.fill_value()
        if pair is None:
            return None
        return value_of(*pair) if self._form is None else self._form.value(*pair)

    @property
    def oindex(self):
        """Orthogonal indexing: ``variable.oindex[[1, 5], [2, 3]]`` reads four elements."""
        return _index.OuterIndex(self._get)

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of a variable without dimensions")
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        values = self[...]
        return values if dtype is None else values.astype(dtype)

    def __getitem__(self, key):
        return self._get(key)

    def _get(self, key, outer=False):
        shape = self.shape
        chunks = self.chunks or shape
        return _index.read(key, shape, chunks, self.read, self.dtype, outer)

    def read(self, start, count, stride=None):
        """Reads a regular part into a new array."""
        if self._form is not None:
            out = np.empty(count, self.dtype)
            self._form.read(self._native, (start, count, stride), out)
            return out
        if not self._fixed:
            return self._read_objects((start, count, stride), count)
        out = np.empty(count, self.dtype)
        self._native.read_into((start, count, stride), _bytes_of(out), None)
        return out

    def _read_objects(self, part, count):
        out = np.empty(math.prod(count), self.dtype)
        if self.nc_type == "str":
            out[:] = self._native.read_strings(part)
        elif out.dtype.names is not None:
            out[:] = self._native.read_items(part)
        else:
            for place, element in enumerate(self._native.read_items(part)):
                out[place] = np.asarray(element, self.dtype.metadata["vlen"])
        return out.reshape(count)

    def read_into(self, out, key=...):
        """Reads a regular index (integers and slices with positive steps) into an array, without a copy.

        The array is contiguous and has the shape of the result. Values are converted to its type.

        :raises ValueError: if a value does not fit the type.
        """
        shape = self.shape
        part = _index.Regular([entry for entry in _index.expand(key, shape) if entry is not None], shape)
        if any(isinstance(turn, slice) and turn.step == -1 for turn in part.result):
            raise IndexError("read_into needs positive steps")
        expected = tuple(count for count, turn in zip(part.count, part.result) if isinstance(turn, slice))
        if out.shape != expected:
            raise ValueError(f"the array has the shape {out.shape}, the part {expected}")
        if self._form is not None:
            values = self.read(*part.part).reshape(expected)
            out[...] = _zarr_types.converted(values, out.dtype, self.path)
            return out
        code = None if out.dtype == self.dtype else _types.code_of(out.dtype)
        self._native.read_into(part.part, _bytes_of(out), code)
        return out

    async def get_async(self, key=...):
        """As ``variable[key]``, without blocking the event loop."""
        import asyncio  # Slow to load, and the caller has it already.

        return await asyncio.to_thread(self._get, key)

    def __setitem__(self, key, values):
        is_vlen = not self._fixed and self.dtype.names is None and self.nc_type != "str"
        given = (len(values),) if is_vlen else np.shape(values)
        shape = _index.shape_for_write(key, self.shape, self.unlimited, given)
        entries = [entry for entry in _index.expand(key, shape) if entry is not None]
        if any(isinstance(entry, np.ndarray) for entry in entries):
            self._set_points(entries, shape, values)
            return
        part = _index.Regular(entries, shape)
        turned = [turn for turn in part.result if isinstance(turn, slice)]
        expected = tuple(count for count, turn in zip(part.count, part.result) if isinstance(turn, slice))
        values = self._sequences(values, expected) if is_vlen else self._memory(values)
        values = np.broadcast_to(values, expected)
        if turned:
            values = values[tuple(turned)]
        self.write(values.reshape(part.count), *part.part)

    def _set_points(self, entries, shape, values):
        """Writes to an index with arrays: reads the chunks around, sets the elements and writes them back."""
        arrays = [entry for entry in entries if isinstance(entry, np.ndarray)]
        if not all(array.size for array in arrays):
            return
        box = [slice(int(entry.min()), int(entry.max()) + 1) if isinstance(entry, np.ndarray) else entry for entry in entries]
        part = _index.Regular(box, shape)
        block = self.read(*part.part)
        inner = tuple(
            entry - first if isinstance(entry, np.ndarray) else turn
            for entry, first, turn in zip(entries, part.start, part.result)
        )
        block[inner] = self._memory(values)
        self.write(block, *part.part)

    def _memory(self, values):
        """Converts values to an array that the native half takes."""
        if (self._fixed or self._form is not None) and isinstance(values, np.ma.MaskedArray):
            values = values.filled(values.fill_value if self.fill_value is None else self.fill_value)
        if self._form is not None:
            return self._form.memory(values, self.path)
        if self._fixed:
            array = np.asarray(values)
            if array.dtype == np.float16:
                array = array.astype("f4")
            if array.dtype.kind == "c":
                return self._pairs(array)
            if array.dtype == self.dtype:
                return array
            if isinstance(self.nc_type, str) and array.dtype.kind in "iufSb" and array.dtype.newbyteorder("=") != self.dtype:
                if array.dtype.kind == "b" or self.dtype.kind == "S":
                    return array.astype(self.dtype)
                return array.astype(array.dtype.newbyteorder("=")) if array.dtype.itemsize <= 8 else array.astype(self.dtype)
            return array.astype(self.dtype)
        return np.asarray(values, self.dtype)

    def _pairs(self, array):
        """Converts complex numbers to compounds of two numbers.

        :raises TypeError: if the variable has another type.
        """
        form = _zarr_types.form_of_pairs(self.nc_type)
        if form is None:
            raise TypeError(f"variable {self.path} has the type {self.dtype}, found complex numbers")
        return form.memory(array, self.path).view(self.dtype)

    def _sequences(self, values, shape):
        """Makes an array of the elements of a vlen type: each is a sequence, and so is a single one."""
        if isinstance(values, np.ndarray) and values.dtype == object:
            return values
        out = np.empty(() if not shape else len(values), object)
        if shape:
            out[:] = [np.asarray(element) for element in values]
        else:
            out[()] = np.asarray(values)
        return out

    def write(self, values, start, count, stride=None):
        """Writes an array to a regular part. Numbers are converted to the variable's type.

        :raises ValueError: if a number does not fit; all others are written.
        """
        part = start, count, stride
        if self._form is not None:
            self._form.write(self._native, part, np.ascontiguousarray(self._form.memory(values, self.path)))
        elif self.nc_type == "str":
            self._native.write_strings(part, values.ravel().tolist())
        elif not self._fixed:
            self._native.write_items(part, values.ravel().tolist())
        else:
            code = None if values.dtype == self.dtype else _types.code_of(values.dtype)
            self._native.write(part, _bytes_of(np.ascontiguousarray(values)), code)

    def rename(self, name):
        """Renames it."""
        self._native.rename(name)
        self.name = name

    def __repr__(self):
        dims = ", ".join(f"{name}: {length}" for name, length, _ in self._native.dimensions())
        name = _types.type_name(self.nc_type) if self._form is None else self.dtype
        return f"<nczarr.Variable {self.path!r} ({dims}) {name}>"


def _bytes_of(array):
    """Returns the memory of a contiguous array as bytes."""
    if not array.flags.c_contiguous:
        raise ValueError("the array must be contiguous in C order")
    return array.reshape(-1).view(np.uint8) if array.dtype.itemsize else np.empty(0, np.uint8)
