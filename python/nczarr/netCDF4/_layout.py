"""The layout of stored data: filters, chunks, byte order and quantization."""
from ._errors import translated

_SZIP = {"ec": 4, "nn": 32}
_BLOSC = {"blosc_lz": 0, "blosc_lz4": 1, "blosc_lz4hc": 2, "blosc_snappy": 3, "blosc_zlib": 4, "blosc_zstd": 5}
_COMPRESSIONS = ("zlib", "szip", "zstd", "bzip2", "blosc_lz", "blosc_lz4", "blosc_lz4hc", "blosc_zlib", "blosc_zstd")
_QUANTIZE = ("BitGroom", "GranularBitRound", "BitRound")
#: The HDF5 numbers of filters.
_DEFLATE, _SHUFFLE, _FLETCHER, _SZIP_ID, _BZIP2, _BLOSC_ID, _ZSTD = 1, 2, 3, 4, 307, 32001, 32015


class Layout:
    """The arguments of a new variable about its layout. The classic formats ignore most of them."""

    def __init__(self, compression, complevel, shuffle, szip_coding, szip_pixels, blosc_shuffle, fletcher32,
                 contiguous, chunksizes, endian, digits, quantize_mode):
        if compression is not None and compression not in _COMPRESSIONS:
            raise ValueError(f"compression={compression!r}: expected one of {', '.join(_COMPRESSIONS)}")
        self.compression = compression if complevel else None
        self.complevel, self.shuffle, self.fletcher32 = complevel, shuffle, fletcher32
        self.szip, self.blosc_shuffle = (szip_coding, szip_pixels), blosc_shuffle
        self.contiguous, self.chunksizes, self.endian = contiguous, chunksizes, endian
        self.digits, self.quantize_mode = digits, quantize_mode

    def check(self, grp, dimensions):
        """Checks the arguments against the dimensions.

        :raises ValueError: if they contradict one another.
        """
        if grp.data_model.startswith("NETCDF3"):
            if self.endian != "native":
                raise RuntimeError(f"only endian='native' allowed for NETCDF3 files, got '{self.endian}'")
            return
        if self.endian not in ("little", "big", "native"):
            raise ValueError(f"'endian' keyword argument must be 'little','big' or 'native', got '{self.endian}'")
        if self.digits is not None and self.quantize_mode not in _QUANTIZE:
            raise ValueError(f"'quantize_mode' keyword argument must be one of {_QUANTIZE}, got {self.quantize_mode!r}")
        if self.compression == "szip" and self.szip[0] not in _SZIP:
            raise ValueError("unknown szip coding ('ec' or 'nn' supported)")
        if self.contiguous and dimensions:
            self._check_contiguous(grp, dimensions)
        if self.chunksizes is None or not dimensions:
            return
        if len(self.chunksizes) != len(dimensions):
            raise ValueError("chunksizes must be a sequence with the same length as dimensions")
        for length, dimension in zip(self.chunksizes, dimensions):
            if not dimension.isunlimited() and length > dimension.size:
                raise ValueError("chunksize cannot exceed dimension size")

    def _check_contiguous(self, grp, dimensions):
        if self.chunksizes is not None:
            raise ValueError("cannot specify chunksizes for a contiguous dataset")
        if grp.disk_format != "HDF5":
            raise RuntimeError(f"contiguous=True: the format {grp.disk_format} stores all data in chunks")
        if self.compression or self.fletcher32 or any(dimension.isunlimited() for dimension in dimensions):
            raise RuntimeError("NetCDF: Invalid argument: contiguous=True with filters or an unlimited dimension")

    def apply(self, grp, native, rank):
        """Sets the layout of a new variable."""
        if grp.data_model.startswith("NETCDF3"):
            return
        if self.chunksizes is not None and rank:
            native.set_chunking([int(length) for length in self.chunksizes])
        if self.compression == "zlib" and rank:
            native.set_deflate(self.complevel, bool(self.shuffle))
        elif self.compression is not None and rank:
            native.set_codecs([self._codec()])
        if self.fletcher32 and rank:
            native.set_fletcher32()
        if self.endian != "native":
            native.set_endian(self.endian == "big")
        if self.digits is not None:
            native.set_quantize(self.quantize_mode, int(self.digits))

    def _codec(self):
        if self.compression == "szip":
            return "szip", [_SZIP[self.szip[0]], self.szip[1]]
        if self.compression in _BLOSC:
            return "blosc", [0, 0, 0, 0, self.complevel, self.blosc_shuffle, _BLOSC[self.compression]]
        return self.compression, [self.complevel]


def filters(variable):
    """Returns the filters of a variable as netCDF4 lists them."""
    if variable._grp.data_model.startswith("NETCDF3"):
        return None
    found = {"zlib": False, "szip": False, "zstd": False, "bzip2": False, "blosc": False, "shuffle": False,
             "complevel": 0, "fletcher32": False}
    with translated():
        listed = variable._native.filters()
    for _, number, params, _ in listed:
        if number == _BLOSC_ID and len(params) >= 7:
            compressor = next((name for name, code in _BLOSC.items() if code == params[6]), params[6])
            found["blosc"] = {"compressor": compressor, "shuffle": params[5]}
            found["complevel"] = params[4]
        elif number == _SZIP_ID:
            found["szip"] = {"coding": "ec" if params[0] & _SZIP["ec"] else "nn", "pixels_per_block": params[1]}
        elif number in (_DEFLATE, _BZIP2, _ZSTD):
            found[{_DEFLATE: "zlib", _BZIP2: "bzip2", _ZSTD: "zstd"}[number]] = True
            found["complevel"] = params[0]
        elif number in (_SHUFFLE, _FLETCHER):
            found["shuffle" if number == _SHUFFLE else "fletcher32"] = True
    return found


def chunking(variable):
    """Returns the shape of a chunk of a variable as a list, or ``"contiguous"``."""
    if variable._grp.data_model.startswith("NETCDF3"):
        return None
    with translated():
        shape = variable._native.chunk_shape()
    return list(shape) if shape else "contiguous"


def check_has_chunks(variable):
    """Refuses a variable of a format without chunks."""
    if variable._grp.data_model.startswith("NETCDF3"):
        raise RuntimeError("NetCDF: Attempting netcdf-4 operation on netcdf-3 file")
