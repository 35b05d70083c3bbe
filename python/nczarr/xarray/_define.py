"""Definitions of attributes and variables."""
import json
import warnings

import numpy as np
from nczarr import _types
from nczarr._attributes import pair_of
from nczarr._zarr_types import PAIRS, form_of_dtype
from xarray.coding.strings import is_unicode_dtype

from . import _encoding, _forms

#: The integer that numpy and pandas take for no time.
_NOT_A_TIME = np.iinfo(np.int64).min
_NO_PLACE = (
    "variable {name!r}: encoding fill_value={value!r} needs Zarr V3 and a number that fits the type; "
    "other formats have `_FillValue`"
)


class Definer:
    """Defines what a store writes."""

    def __init__(self, store):
        self.store = store
        self.is_classic = store.format not in ("NETCDF4", "ZARR")

    def attribute(self, native, key, value):
        """Sets an attribute of a native group or variable."""
        if self.store.is_zarr and _is_json_only(value):
            native.put_attribute_json(key, json.dumps(value))
            return
        if self.is_classic:
            from xarray.backends.netcdf3 import encode_nc3_attr_value

            value = encode_nc3_attr_value(value)
            if not isinstance(value, bytes) and value.dtype.kind in "UO":
                raise TypeError(f"attribute {key!r}: {self.store.format} has no lists of strings, found {value!r}")
        elif not isinstance(value, (str, bytes)) and np.ndim(value) > 1:
            raise ValueError(f"attribute {key!r} has {np.ndim(value)} dimensions, and netCDF's attributes have one")
        try:
            pair = pair_of(value)
        except TypeError as error:
            raise TypeError(f"Invalid attribute in Dataset.attrs. {key!r}: {error}") from None
        native.put_attribute(key, *pair)

    def variable(self, name, variable, check_encoding, unlimited_dims):
        """Defines a variable, or sets the attributes of an existing one. Returns its decimal digits, if limited."""
        store, attributes = self.store, dict(variable.attrs)
        fill = attributes.pop("_FillValue", None)
        encoding = _encoding.extract(variable, check_encoding, unlimited_dims, store.is_zarr, name)
        digits = encoding.get("least_significant_digit")
        try:
            native = store.native.variable(name)
        except KeyError:
            native = self.create(name, variable, fill, encoding, check_encoding)
        if digits is not None:
            attributes["least_significant_digit"] = digits
        for key, value in attributes.items():
            self.attribute(native, key, value)
        return digits

    def create(self, name, variable, fill, encoding, is_given):
        """Creates a variable."""
        form = _forms.new_form(self.store, variable.dtype)
        if form is not None:
            info = self.store.handle.file.info()
            native = form.add_variable(self.store.native, name, list(variable.dims), info)
            return self.with_form(form, native, variable, fill, encoding, is_given)
        if self.store.auto_complex and variable.dtype.kind == "c" and not self.is_classic:
            form = form_of_dtype(variable.dtype)
            native = self.store.native.add_variable(name, self.complex_type(variable.dtype), list(variable.dims))
            return self.with_form(form, native, variable, fill, encoding, is_given)
        try:
            code = self.type_of(name, variable)
        except TypeError as error:
            hint = "; NETCDF4 has compounds for them: auto_complex=True" if variable.dtype.kind == "c" else ""
            raise TypeError(f"variable {name!r} in format {self.store.format}: {error}{hint}") from None
        native = self.store.native.add_variable(name, code, list(variable.dims))
        _encoding.apply(native, encoding, is_given, variable, name)
        if fill is not None:
            native.set_fill(code, _fill_payload(code, fill))
        self.unwritten(native, name, variable, (code, fill), encoding.get("fill_value"), is_given)
        return native

    def with_form(self, form, native, variable, fill, encoding, is_given):
        """Completes a new variable of a type that netCDF lacks."""
        name = native.name()
        _encoding.apply(native, encoding, is_given, variable, name)
        if fill is not None:
            native.set_fill(*form.fill_pair(native, fill, name))
        value = encoding.get("fill_value")
        if value is not None and self.can_keep_unwritten(form, name, value, is_given):
            native.set_unwritten(*form.fill_pair(native, value, name))
        return native

    def can_keep_unwritten(self, form, name, value, is_given):
        """Whether the format and the type have a value of elements that nobody has written.

        :raises ValueError: if the user gave one, and they have not.
        """
        try:
            form.memory(value, name)
        except (TypeError, ValueError):
            fits = False
        else:
            fits = self.store.keeps_unwritten
        if not fits and is_given:
            raise ValueError(_NO_PLACE.format(name=name, value=value))
        return fits

    def unwritten(self, native, name, variable, type_and_fill, value, is_given):
        """Sets the value of elements that nobody has written, unless it is the one that masks.

        :raises ValueError: if the user gave one, and the format has no place for it or the type none.
        """
        code, fill = type_and_fill
        if value is not None and not (self.store.keeps_unwritten and _fits(code, value)):
            if is_given:
                raise ValueError(_NO_PLACE.format(name=name, value=value))
            value = None
        if value is None and fill is None and self.store.is_zarr and _is_time(variable):
            # netCDF's default is no date of any calendar: a reader could not open the dataset before the write.
            value = _NOT_A_TIME
        if value is not None:
            native.set_unwritten(code, _fill_payload(code, value))

    def type_of(self, name, variable):
        """Returns the name of the type of a variable; creates a user-defined one.

        :raises TypeError: if there is none.
        """
        dtype = variable.encoding.get("dtype", variable.dtype)
        if dtype is str or is_unicode_dtype(variable.dtype):
            if self.is_classic:
                raise ValueError(
                    f"variable {name!r}: encoding dtype=str for vlen strings is only supported with format='NETCDF4'."
                )
            return "str"
        dtype = variable.dtype
        metadata = dtype.metadata or {}
        if metadata.get("enum") and metadata.get("enum_name"):
            return self.enum(name, dtype, metadata["enum_name"], metadata["enum"])
        if dtype.names is not None:
            return self.compound(f"{name}_t", dtype)
        if dtype.kind == "V" and dtype.itemsize:
            self.add_type(f"{name}_t", ("opaque", f"{name}_t", dtype.itemsize), "add_opaque", dtype.itemsize)
            return f"{name}_t"
        if dtype.kind == "O":
            raise TypeError(f"netCDF has no type for {dtype}")
        return _types.code_of(dtype)

    def enum(self, name, dtype, enum_name, members):
        """Returns the name of an enum type.

        :raises ValueError: if there is another type of its name.
        """
        found = self.visible_types().get(enum_name)
        if found is None:
            listed = [(member, int(value)) for member, value in members.items()]
            self.store.native.add_enum(enum_name, _types.code_of(dtype), listed)
        elif found[0] != "enum" or dict(found[3]) != dict(members):
            raise ValueError(
                f"Cannot save variable `{name}` because an enum `{enum_name}` already exists in the Dataset but has"
                " a different definition."
            )
        return enum_name

    def compound(self, type_name, dtype):
        """Returns the name of a compound type with these fields."""
        for found, described in self.visible_types().items():
            if described[0] == "compound" and _types.dtype_of(described) == dtype:
                return found
        fields = [
            (field, _types.code_of(dtype.fields[field][0].base), list(dtype.fields[field][0].shape))
            for field in dtype.names
        ]
        self.store.native.add_compound(type_name, fields)
        return type_name

    def complex_type(self, dtype):
        """Returns the name of the compound type of complex numbers, by the conventions of the library nc-complex."""
        part, name = PAIRS[dtype.str[1:]]
        if name not in self.visible_types():
            self.store.native.add_compound(name, [("r", part, []), ("i", part, [])])
        return name

    def add_type(self, name, described, method, *arguments):
        """Adds a type unless there is an equal one."""
        if self.visible_types().get(name) != described:
            getattr(self.store.native, method)(name, *arguments)

    def visible_types(self):
        """Returns the descriptions of user-defined types that are visible, by name."""
        group, found = self.store.native, {}
        while group is not None:
            for described in group.types():
                found.setdefault(described[1], described)
            group = group.parent()
        return found


def _fits(code, value):
    """Whether a number can be stored in a type without a change."""
    if code not in _types.ATOMIC or code == "S1" or np.ndim(value) or not isinstance(value, (int, float, np.number)):
        return False
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        stored = np.asarray(value).astype(_types.ATOMIC[code])
    return bool(stored == value or stored != stored and value != value)


def _is_time(variable):
    """Whether the stored integers are times or durations."""
    if variable.dtype != np.int64:
        return False
    units, dtype = variable.attrs.get("units"), variable.attrs.get("dtype")
    return isinstance(units, str) and " since " in units or isinstance(dtype, str) and dtype.startswith("timedelta64")


def _is_json_only(value):
    if value is None or isinstance(value, (dict, bool)):
        return True
    if isinstance(value, (list, tuple)):
        return any(isinstance(part, (dict, bool, list, tuple)) or part is None for part in value)
    return False


def _fill_payload(code, value):
    if code == "str":
        return [value if isinstance(value, (str, bytes)) else str(value)]
    if code == "S1":
        return value.encode() if isinstance(value, str) else bytes(value) or b"\0"
    if code in _types.ATOMIC:
        return np.asarray(value).astype(_types.ATOMIC[code]).tobytes()
    return [value.item() if isinstance(value, np.generic) else value]
