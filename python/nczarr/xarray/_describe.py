"""Variables of a store as xarray has them: attributes and encodings. Few native calls, because there may be many."""
import functools
import json

import numpy as np
from nczarr import _types
from nczarr._attributes import value_of
from nczarr.errors import NczarrError

from ._encoding import BLOSC_NAMES, BLOSC_SHUFFLES

_SZIP, _BLOSC = 4, 32001
#: HDF5's identifiers of filters by the flags of netCDF4.
_FLAGS = {1: "zlib", _SZIP: "szip", 307: "bzip2", _BLOSC: "blosc", 32015: "zstd"}
#: Zarr's codecs that make data easier to compress.
_FILTERS = {"shuffle", "delta", "fixedscaleoffset", "quantize", "bitround", "transpose", "packbits"}
#: Codecs that Zarr V3 has by these names.
_V3 = {"blosc", "crc32c", "gzip", "transpose", "zstd"}
_STRING = np.dtype(object, metadata={"element_type": str})


def attributes_of(native, is_zarr):
    """Returns the attributes of a native group or variable."""
    attributes = {name: value_of(described, payload) for name, described, payload in native.attributes()}
    if is_zarr:
        for name, value in attributes.items():
            # Zarr's attributes are JSON; those without a netCDF type come as its text.
            if type(value) is str and value[:1] in ("{", "[", "n") and (text := native.attribute_json(name)):
                attributes[name] = json.loads(text)
    return attributes


def dtype_of(described):
    """Returns xarray's numpy type for a native description."""
    return _STRING if described == "str" else _types.dtype_of(described)


def encoding_of(native, described, form, dims, shape, version, source):
    """Returns the encoding of a variable, in the vocabulary of its format.

    :param version: that of Zarr; ``None`` in other formats.
    """
    is_zarr = version is not None
    encoding = {"source": source, "original_shape": shape}
    # With the type `str`, xarray reads all strings at once and keeps the greatest length as their type.
    if form is not None:
        # xarray encodes times as numbers.
        if form.dtype.kind not in "mM":
            encoding["dtype"] = form.dtype
    elif described != "str" or not is_zarr:
        encoding["dtype"] = str if described == "str" else _types.dtype_of(described)
    try:
        chunks = native.chunk_shape()
    except NczarrError:
        # An unknown codec, for example. Reading the variable raises the error.
        return encoding
    if is_zarr:
        chunks = shape if chunks is None else tuple(chunks)
        shards = native.shard_shape()
        encoding["chunks"] = chunks
        encoding["shards"] = shards and tuple(shards)
        encoding["compressors"], encoding["filters"] = _codecs(tuple(filter[3] for filter in native.filters()), version)
    else:
        encoding.update(_flags(tuple((filter[1], *filter[2]) for filter in native.filters())))
        for name in ("szip", "blosc"):
            # The settings belong to the variable, and the flags to all of them.
            encoding[name] = encoding[name] and dict(encoding[name])
        encoding["contiguous"] = chunks is None
        encoding["chunksizes"] = chunks = chunks and tuple(chunks)
    if chunks:
        encoding["preferred_chunks"] = dict(zip(dims, chunks))
    quantize = native.quantize()
    if quantize is not None:
        encoding["quantize_mode"], encoding["significant_digits"] = quantize
    return encoding


@functools.lru_cache(256)
def _codecs(texts, version):
    """Splits codecs into compressors and filters, in the JSON of the version, as zarr-python does."""
    codecs = [json.loads(text) for text in texts if text]
    if version == "3":
        codecs = [codec if "name" in codec else _of_v3(**codec) for codec in codecs]
    compressors = tuple(codec for codec in codecs if not _is_filter(codec))
    filters = tuple(codec for codec in codecs if _is_filter(codec))
    return compressors, filters


def _of_v3(id, **settings):
    """Returns the JSON of Zarr V3 for a codec in that of V2."""
    if id == "blosc" and settings.get("shuffle") in range(len(BLOSC_SHUFFLES)):
        settings["shuffle"] = BLOSC_SHUFFLES[settings["shuffle"]]
    return {"name": id if id in _V3 else f"numcodecs.{id}", "configuration": settings}


def _is_filter(codec):
    name = codec.get("name") or codec.get("id") or ""
    return name.rpartition(".")[2] in _FILTERS


@functools.lru_cache(256)
def _flags(filters):
    """Returns netCDF4's flags for HDF5's filters."""
    flags = {"zlib": False, "szip": False, "zstd": False, "bzip2": False, "blosc": False, "shuffle": False,
             "complevel": 0, "fletcher32": False}
    for number, *params in filters:
        if number == 2:
            flags["shuffle"] = True
        elif number == 3:
            flags["fletcher32"] = True
        elif number == _SZIP and len(params) > 1:
            flags["szip"] = {"coding": "ec" if params[0] & 4 else "nn", "pixels_per_block": params[1]}
        elif number == _BLOSC and len(params) > 6 and params[6] in BLOSC_NAMES:
            flags["blosc"] = {"compressor": BLOSC_NAMES[params[6]], "shuffle": params[5]}
            flags["complevel"] = params[4]
        elif number in _FLAGS:
            flags[_FLAGS[number]] = True
            if number not in (_SZIP, _BLOSC) and params:
                flags["complevel"] = params[0]
    return flags
