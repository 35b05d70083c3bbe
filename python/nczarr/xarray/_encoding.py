"""Encodings of variables, in netCDF4's vocabulary and in Zarr's, as calls of the library.

Keys that the user gave must be known and possible. Keys that came from another dataset are a wish: what this format
cannot do is left out.
"""
import json

import numpy as np
from nczarr.errors import NczarrError

_NETCDF = {
    "zlib", "complevel", "shuffle", "fletcher32", "szip", "bzip2", "blosc", "zstd", "compression", "compression_opts",
    "contiguous", "chunksizes", "endian", "least_significant_digit", "significant_digits", "quantize_mode",
    "blosc_shuffle", "szip_coding", "szip_pixels_per_block",
}
_ZARR = {
    "chunks", "shards", "compressors", "compressor", "filters", "serializer", "codecs", "write_empty_chunks",
    "cache_metadata", "chunk_key_encoding", "order", "fill_value",
}
#: Keys that describe where a variable came from.
_ORIGIN = {"source", "original_shape", "preferred_chunks"}
VALID = _NETCDF | _ZARR | {"dtype", "_FillValue"}

_QUANTIZE = {"BitGroom", "BitRound", "GranularBitRound"}
_BLOSC = {"blosc_blosclz": 0, "blosc_lz": 0, "blosc_lz4": 1, "blosc_lz4hc": 2, "blosc_snappy": 3, "blosc_zlib": 4,
          "blosc_zstd": 5, "blosc": 0}
#: netCDF4's names of Blosc's compressors, by number.
BLOSC_NAMES = {number: name for name, number in _BLOSC.items() if name not in ("blosc_blosclz", "blosc")}
#: Zarr V3's names of Blosc's shuffles, by number.
BLOSC_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")


def extract(variable, is_given, unlimited_dims, is_zarr, name):
    """Returns the encoding that applies to a variable.

    :raises ValueError: for a key that the user gave and that does not exist.
    """
    encoding = {key: value for key, value in variable.encoding.items() if key not in _ORIGIN}
    unknown = [key for key in encoding if key not in VALID]
    if unknown and is_given:
        raise ValueError(
            f"unexpected encoding parameters for 'nczarr' backend: {unknown!r} of variable {name!r}. "
            f"Valid encodings are: {sorted(VALID)!r}"
        )
    encoding = {key: value for key, value in encoding.items() if key in VALID and value is not None}
    chunks = encoding.pop("chunks", None)
    chunks = encoding.pop("chunksizes", None) if chunks is None or chunks == "auto" else chunks
    encoding.pop("chunksizes", None)
    if encoding.get("contiguous") and not is_zarr:
        if is_given and chunks is not None:
            raise ValueError(f"variable {name!r}: contiguous=True and chunks {tuple(chunks)} exclude each other")
        chunks = None
    if chunks is not None:
        chunks = _chunk_shape(chunks, variable, is_given, unlimited_dims, name)
    if chunks is None and variable.chunks is not None and is_zarr:
        chunks = tuple(max(lengths[0], 1) for lengths in variable.chunks)
    encoding["chunks"] = chunks
    shards = encoding.get("shards")
    if shards is not None:
        shards = (shards,) * variable.ndim if isinstance(shards, (int, np.integer)) else tuple(shards)
        is_multiple = chunks and len(shards) == len(chunks) and not any(s % c for s, c in zip(shards, chunks))
        if not is_multiple and not is_given:
            shards = None
        encoding["shards"] = shards
    return encoding


def _chunk_shape(chunks, variable, is_given, unlimited_dims, name):
    """Returns the shape of a chunk; ``None`` if one of another dataset does not fit."""
    chunks = (chunks,) * variable.ndim if isinstance(chunks, (int, np.integer)) else tuple(chunks)
    if not all(isinstance(length, (int, np.integer)) for length in chunks):
        raise TypeError(f"variable {name!r}: the lengths of a chunk must be integers, found {chunks!r}")
    if len(chunks) != variable.ndim:
        if is_given:
            raise ValueError(f"variable {name!r}: the chunk {chunks} must have {variable.ndim} lengths")
        return None
    if is_given:
        return tuple(int(length) for length in chunks)
    if variable.encoding.get("original_shape", variable.shape) != variable.shape:
        if "chunksizes" in variable.encoding:
            return None
    # Chunks of a larger dataset are cut. Along unlimited dimensions, data will follow.
    return tuple(
        max(int(length) if dim in unlimited_dims else min(int(length), size), 1)
        for length, size, dim in zip(chunks, variable.shape, variable.dims)
    )


def apply(native, encoding, is_given, variable, name):
    """Gives a new variable its storage.

    :raises ValueError: if the format cannot do what the user gave.
    """
    for key, step in _steps(encoding, variable, name):
        try:
            step(native)
        except (NczarrError, ValueError) as error:
            if is_given:
                raise ValueError(f"variable {name!r}: encoding {key}={encoding.get(key)!r}: {error}") from error


def _steps(encoding, variable, name):
    """Yields pairs of a key and the call that applies it, in the order that the library needs."""
    if variable.ndim == 0:
        return
    chunks, shards = encoding.get("chunks"), encoding.get("shards")
    if chunks is not None:
        yield "chunks", lambda native: native.set_chunking(list(chunks))
    if shards is not None:
        yield "shards", lambda native: native.set_shards(list(shards))
    codecs = zarr_codecs(encoding)
    if codecs:
        yield "compressors", lambda native: native.set_codecs(codecs)
    else:
        yield from _netcdf_filters(encoding, variable)
    if encoding.get("fletcher32"):
        yield "fletcher32", lambda native: native.set_fletcher32()
    digits, mode = encoding.get("significant_digits"), encoding.get("quantize_mode", "BitGroom")
    if digits:
        if mode not in _QUANTIZE:
            raise ValueError(f"variable {name!r}: quantize_mode={mode!r}: expected one of {sorted(_QUANTIZE)}")
        yield "significant_digits", lambda native: native.set_quantize(mode, int(digits))
    endian = encoding.get("endian", "native")
    if endian != "native":
        yield "endian", lambda native: native.set_endian(endian == "big")


def _netcdf_filters(encoding, variable):
    compression, settings = encoding.get("compression"), {}
    for flag in ("zlib", "szip", "bzip2", "blosc", "zstd"):
        if encoding.get(flag) and compression is None:
            compression = flag
            if isinstance(encoding[flag], dict):
                # The settings of a variable of another file, by the names of netCDF4.
                settings = encoding[flag]
                compression = settings.get("compressor", flag)
    level = encoding.get("complevel", encoding.get("compression_opts"))
    shuffle = encoding.get("shuffle")
    if compression in (None, False):
        # netCDF-C shuffles only what is compressed, unless chunks are asked for.
        return
    if compression in ("zlib", "gzip"):
        level = 4 if level is None else int(level)
        # netCDF4-python treats level 0 as no compression.
        yield "zlib", lambda native: native.set_deflate(level, True if shuffle is None else bool(shuffle))
        return
    codecs = [("shuffle", [variable.dtype.itemsize])] if shuffle and compression not in _BLOSC else []
    if compression == "szip":
        mask = {"nn": 32, "ec": 4}.get(settings.get("coding", encoding.get("szip_coding", "nn")), 32)
        pixels = settings.get("pixels_per_block", encoding.get("szip_pixels_per_block", 8))
        codecs.append(("szip", [mask, int(pixels)]))
    elif compression == "zstd":
        codecs.append(("zstd", [4 if level is None else int(level)]))
    elif compression == "bzip2":
        codecs.append(("bzip2", [4 if level is None else max(int(level), 1)]))
    elif compression in _BLOSC:
        turn = int(settings.get("shuffle", encoding.get("blosc_shuffle", 1)))
        codecs.append(("blosc", [0, 0, 0, 0, 4 if level is None else int(level), turn, _BLOSC[compression]]))
    else:
        raise ValueError(f"compression={compression!r}: expected zlib, szip, zstd, bzip2 or blosc_*")
    yield "compression", lambda native: native.set_codecs(codecs)


def zarr_codecs(encoding):
    """Returns the codecs of an encoding in Zarr's vocabulary, in the order of encoding."""
    found = []
    for key in ("filters", "codecs", "compressors", "compressor"):
        value = encoding.get(key)
        if value is None or isinstance(value, str) and value == "auto":
            continue
        found += list(value) if isinstance(value, (list, tuple)) else [value]
    return [(codec_json(codec), None) for codec in found]


def codec_json(codec):
    """Returns the JSON of a codec: a name, a dict, or an object of zarr-python or numcodecs."""
    if isinstance(codec, str):
        return codec
    for method in ("to_dict", "get_config"):
        if hasattr(codec, method):
            codec = getattr(codec, method)()
            break
    if not isinstance(codec, dict):
        raise ValueError(f"a codec is a name, a dict or a codec object, found {codec!r}")
    settings = codec.get("configuration") or {}
    if codec.get("name") == "blosc" and _plain(settings.get("shuffle")) in BLOSC_SHUFFLES:
        # In this form, every format takes it.
        settings = {key: _plain(value) for key, value in settings.items() if key in ("cname", "clevel", "blocksize")}
        codec = {"id": "blosc", **settings, "shuffle": BLOSC_SHUFFLES.index(_plain(codec["configuration"]["shuffle"]))}
    return json.dumps(codec, default=_plain)


def _plain(value):
    """Returns the value of a member of an enumeration; other values as they are, or else as text."""
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
