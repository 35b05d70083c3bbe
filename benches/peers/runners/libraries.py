"""One adapter per library. It writes and reads the array `v`, and many small variables.

An adapter has the methods that its library supports, out of these: write(data), open(cache) -> handle,
read(handle, selection) -> array, append_all(data, count), list_keys(), meta_write(), meta_open(). The job is
the parsed command line, with the element types on disk (`stored`) and in memory (`native`).
"""
import os
import warnings


class Skip(Exception):
    """An operation that this library or its adapter lacks."""


def dims(shape):
    return ["d%d" % i for i in range(len(shape))]


def attributes(i):
    return {"units": "K", "long_name": "variable %d" % i, "scale_factor": 0.5, "add_offset": float(i),
            "_ARRAY_DIMENSIONS": ["x"]}


def is_chunk(key):
    name = key.rsplit("/", 1)[-1]
    return not name.startswith(".") and name != "zarr.json"


class ZarrPython:
    """zarr-python with its own codec pipeline, or with that of zarrs."""

    def __init__(self, job):
        if job.format not in ("v2", "v3", "v3s"):
            raise Skip("format")
        import zarr
        if job.peer == "zarr-zarrs":
            import zarrs  # noqa: F401 (registers the pipeline)
            zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
                             "threading.max_workers": job.threads or None})
        warnings.simplefilter("ignore")
        self.zarr, self.job, self.version = zarr, job, 2 if job.format == "v2" else 3
        self.filters, self.compressors = self.codecs()
        self.zipped = job.store == "zip"

    def target(self, mode):
        """Returns the store for zarr: the path of a directory, or an archive of uncompressed members."""
        return self.zarr.storage.ZipStore(self.job.path, mode=mode, compression=0) if self.zipped else self.job.path

    def codecs(self):
        codec, item = self.job.codec, self.job.stored.itemsize
        if self.version == 2:
            import numcodecs
            shuffle = [numcodecs.Shuffle(item)]
            return {"none": (None, None), "zlib5": (None, numcodecs.Zlib(5)), "deflate5s": (shuffle, numcodecs.Zlib(5)),
                    "zstd3": (None, numcodecs.Zstd(3)), "zstd3s": (shuffle, numcodecs.Zstd(3)),
                    "blosclz4": (None, numcodecs.Blosc("lz4", 5, 1)),
                    "blosczstdbit": (None, numcodecs.Blosc("zstd", 3, 2))}[codec]
        from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
        from zarr.codecs.numcodecs import Shuffle
        shuffle, gzip, zstd = Shuffle(elementsize=item), GzipCodec(level=5), ZstdCodec(level=3)
        return None, {"none": None, "zlib5": [gzip], "deflate5s": [shuffle, gzip], "zstd3": [zstd],
                      "zstd3s": [shuffle, zstd],
                      "blosclz4": [BloscCodec(typesize=item, cname="lz4", clevel=5, shuffle="shuffle")],
                      "blosczstdbit": [BloscCodec(typesize=item, cname="zstd", clevel=3, shuffle="bitshuffle")]}[codec]

    def create(self, shape):
        extra = {"filters": self.filters} if self.filters else {}
        if self.job.format == "v3s":
            extra["shards"] = self.job.shards
        if self.version == 3:
            extra["dimension_names"] = dims(shape)
        else:
            extra["attributes"] = {"_ARRAY_DIMENSIONS": dims(shape)}
        self.store = self.target("w")
        root = self.zarr.create_group(store=self.store, zarr_format=self.version, overwrite=not self.zipped)
        return root.create_array("v", shape=shape, chunks=self.job.chunks, dtype=self.job.stored, fill_value=0,
                                 compressors=self.compressors, **extra)

    def write(self, data):
        self.create(self.job.shape)[...] = data
        if self.zipped:
            # The archive gets its directory when it is closed.
            self.store.close()

    def open(self, cache=0):
        if self.zipped:
            return self.zarr.open_array(self.target("r"), path="v", mode="r", zarr_format=self.version)
        return self.zarr.open_array(os.path.join(self.job.path, "v"), mode="r", zarr_format=self.version)

    def read(self, array, selection):
        return array[selection]

    def append_all(self, data, count):
        if self.zipped:
            raise Skip("members of an archive are not replaced")
        array = self.create((0,) + self.job.shape[1:])
        for i in range(count):
            array.append(data[i:i + 1])

    def list_keys(self):
        import asyncio
        group = self.zarr.open_group(self.target("r"), mode="r", zarr_format=self.version)

        async def count():
            return sum([is_chunk(key) async for key in group.store.list_prefix("v/")])
        return asyncio.run(count())

    def meta_write(self):
        store = self.target("w")
        root = self.zarr.create_group(store=store, zarr_format=self.version, overwrite=not self.zipped)
        for i in range(self.job.nvars):
            extra = {"dimension_names": ["x"]} if self.version == 3 else {}
            root.create_array("v%05d" % i, shape=(10,), chunks=(10,), dtype="f4", fill_value=0, compressors=None,
                              attributes=attributes(i), **extra)
        if self.job.consolidated:
            self.zarr.consolidate_metadata(store, zarr_format=self.version)
        if self.zipped:
            store.close()

    def meta_open(self):
        group = self.zarr.open_group(self.target("r"), mode="r", zarr_format=self.version,
                                     use_consolidated=self.job.consolidated)
        return sum(len(array.attrs) * 1000 + array.shape[0] for _, array in group.arrays())


class TensorStore:
    def __init__(self, job):
        if job.format not in ("v2", "v3", "v3s"):
            raise Skip("format")
        if job.codec in ("deflate5s", "zstd3s"):
            raise Skip("no shuffle filter of its own")
        import tensorstore
        self.ts, self.job = tensorstore, job
        self.driver = "zarr" if job.format == "v2" else "zarr3"

    def context(self, cache):
        """Returns the settings. There is no fsync per chunk by default, because on a disk it would dominate
        the time."""
        settings = {"cache_pool": {"total_bytes_limit": cache}, "file_io_sync": self.job.fsync}
        if self.job.threads:
            settings["data_copy_concurrency"] = settings["file_io_concurrency"] = {"limit": self.job.threads}
        return self.ts.Context(settings)

    def store(self, below):
        if self.job.store == "zip":
            return {"driver": "zip", "base": {"driver": "file", "path": self.job.path}, "path": below}
        if self.job.store == "s3":
            return {"driver": "s3", "bucket": "bench", "path": self.job.path + "/" + below, "endpoint": self.job.url,
                    "aws_region": "us-east-1", "aws_credentials": {"type": "anonymous"}}
        return {"driver": "file", "path": os.path.join(self.job.path, below)}

    def metadata(self, shape):
        job = self.job
        blosc = {"blosclz4": ("lz4", 5, 1, "shuffle"), "blosczstdbit": ("zstd", 3, 2, "bitshuffle")}.get(job.codec)
        if job.format == "v2":
            compressor = {"none": None, "zlib5": {"id": "zlib", "level": 5}, "zstd3": {"id": "zstd", "level": 3}}
            if blosc:
                cname, level, number, _ = blosc
                compressor[job.codec] = {"id": "blosc", "cname": cname, "clevel": level, "shuffle": number, "blocksize": 0}
            return {"shape": list(shape), "chunks": list(job.chunks), "dtype": job.stored.str, "fill_value": 0,
                    "compressor": compressor[job.codec]}
        codecs = [{"name": "bytes", "configuration": {"endian": "big" if job.dtype[0] == ">" else "little"}}]
        if job.codec == "zlib5":
            codecs.append({"name": "gzip", "configuration": {"level": 5}})
        elif job.codec == "zstd3":
            codecs.append({"name": "zstd", "configuration": {"level": 3}})
        elif blosc:
            cname, level, _, shuffle = blosc
            codecs.append({"name": "blosc", "configuration": {"cname": cname, "clevel": level, "shuffle": shuffle,
                                                              "typesize": job.stored.itemsize}})
        grid = job.chunks
        if job.format == "v3s":
            index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
            codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": list(job.chunks), "codecs": codecs,
                                                                     "index_codecs": index}}]
            grid = job.shards
        name = {"f4": "float32", "f8": "float64", "i2": "int16"}[job.dtype.lstrip(">")]
        return {"shape": list(shape), "data_type": name, "fill_value": 0, "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(grid)}}}

    def root(self):
        if self.job.store != "file":
            raise Skip("archives and buckets are only read")
        os.makedirs(self.job.path, exist_ok=True)
        two = self.job.format == "v2"
        with open(os.path.join(self.job.path, ".zgroup" if two else "zarr.json"), "w") as file:
            file.write('{"zarr_format":2}' if two else '{"zarr_format":3,"node_type":"group"}')

    def create(self, shape):
        self.root()
        return self.ts.open({"driver": self.driver, "kvstore": self.store("v/"), "metadata": self.metadata(shape)},
                            create=True, delete_existing=True, context=self.context(0)).result()

    def write(self, data):
        self.create(self.job.shape).write(data).result()

    def open(self, cache=0):
        return self.ts.open({"driver": self.driver, "kvstore": self.store("v/"), "recheck_cached_data": "open",
                             "recheck_cached_metadata": "open"}, open=True, context=self.context(cache)).result()

    def read(self, array, selection):
        return array[selection].read().result()

    def append_all(self, data, count):
        array = self.create((0,) + self.job.shape[1:])
        for i in range(count):
            end = [i + 1] + [None] * (len(self.job.shape) - 1)
            array = array.resize(exclusive_max=end, expand_only=True).result()
            array[i].write(data[i]).result()

    def list_keys(self):
        store = self.ts.KvStore.open(self.store("v/"), context=self.context(0)).result()
        return sum(is_chunk(key.decode()) for key in store.list().result())

    def meta_write(self):
        self.root()
        context, pending = self.context(0), []
        for i in range(self.job.nvars):
            if self.job.format == "v2":
                metadata = {"shape": [10], "chunks": [10], "dtype": "<f4", "compressor": None, "fill_value": 0}
            else:
                metadata = {"shape": [10], "data_type": "float32", "fill_value": 0, "attributes": attributes(i),
                            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
                            "dimension_names": ["x"]}
            pending.append(self.ts.open({"driver": self.driver, "kvstore": self.store("v%05d/" % i),
                                         "metadata": metadata}, create=True, context=context))
        for one in pending:
            one.result()

    def meta_open(self):
        if self.job.consolidated:
            raise Skip("no consolidated metadata")
        context = self.context(64 << 20)
        leaf = b"/.zarray" if self.job.format == "v2" else b"/zarr.json"
        keys = self.ts.KvStore.open(self.store(""), context=context).result().list().result()
        pending = [self.ts.open({"driver": self.driver, "kvstore": self.store(key[:-len(leaf)].decode() + "/")}, open=True,
                                context=context) for key in keys if key.endswith(leaf)]
        total = 0
        for one in pending:
            array = one.result()
            # It reads no attributes in V2. The count includes them, to match other runners.
            count = 5 if self.job.format == "v2" else len(array.spec().to_json()["metadata"].get("attributes", {}))
            total += count * 1000 + array.shape[0]
        return total


class NetCDF4:
    """netcdf-c from Python, for NCZarr V2, netCDF-4 and CDF-5."""

    def __init__(self, job):
        if job.format in ("v3", "v3s"):
            raise Skip("Zarr V2 only")
        if job.store != "file":
            raise Skip("this build of netcdf-c has no map for archives")
        import netCDF4
        self.netcdf, self.job = netCDF4, job

    def dataset(self, mode):
        job, format = self.job, "NETCDF3_64BIT_DATA" if self.job.format == "cdf5" else "NETCDF4"
        url = job.path
        if job.format == "v2":
            url = "file://%s#mode=zarr,file%s" % (job.path, ",consolidated" if job.consolidated else "")
        return self.netcdf.Dataset(url, "r") if mode == "r" else self.netcdf.Dataset(url, mode, format=format)

    def create(self, shape, grows=False):
        job, dataset = self.job, self.dataset("w")
        dataset.set_fill_off()
        for i, (name, length) in enumerate(zip(dims(shape), shape)):
            dataset.createDimension(name, None if grows and i == 0 else length)
        extra = {}
        if job.format != "cdf5":
            filters = {"none": {}, "zlib5": dict(compression="zlib", complevel=5, shuffle=False),
                       "deflate5s": dict(compression="zlib", complevel=5, shuffle=True),
                       "zstd3": dict(compression="zstd", complevel=3, shuffle=False),
                       "zstd3s": dict(compression="zstd", complevel=3, shuffle=True),
                       "blosclz4": dict(compression="blosc_lz4", complevel=5, blosc_shuffle=1, shuffle=False),
                       "blosczstdbit": dict(compression="blosc_zstd", complevel=3, blosc_shuffle=2, shuffle=False)}
            extra = dict(filters[job.codec], chunksizes=job.chunks, fill_value=False,
                         endian="big" if job.dtype[0] == ">" else "little")
        var = dataset.createVariable("v", job.stored, dims(shape), **extra)
        var.set_auto_maskandscale(False)
        return dataset, var

    def write(self, data):
        dataset, var = self.create(self.job.shape)
        var[...] = data
        dataset.close()

    def open(self, cache=0):
        dataset = self.dataset("r")
        dataset.set_auto_maskandscale(False)
        if cache:
            dataset["v"].set_var_chunk_cache(cache, 10007, 0.75)
        return dataset, dataset["v"]

    def read(self, handle, selection):
        return handle[1][selection]

    def append_all(self, data, count):
        dataset, var = self.create((0,) + self.job.shape[1:], True)
        for i in range(count):
            var[i:i + 1] = data[i:i + 1]
        dataset.close()

    def meta_write(self):
        dataset = self.dataset("w")
        dataset.createDimension("x", 10)
        for i in range(self.job.nvars):
            var = dataset.createVariable("v%05d" % i, "f4", ("x",), fill_value=False)
            var.setncatts({name: value for name, value in attributes(i).items() if not name.startswith("_")})
        dataset.close()

    def meta_open(self):
        total = 0
        for var in self.dataset("r").variables.values():
            for name in var.ncattrs():
                var.getncattr(name)
            # The names of the dimensions count as an attribute, because other readers show them as one.
            total += 5000 + var.shape[0]
        return total


class H5py:
    def __init__(self, job):
        if job.format != "h5":
            raise Skip("format")
        import h5py
        self.h5py, self.job = h5py, job

    def write(self, data):
        filters = {"none": {}, "zlib5": dict(compression="gzip", compression_opts=5),
                   "deflate5s": dict(compression="gzip", compression_opts=5, shuffle=True)}[self.job.codec]
        with self.h5py.File(self.job.path, "w", libver="latest") as file:
            file.create_dataset("v", data=data, chunks=self.job.chunks, **filters)

    def open(self, cache=0):
        file = self.h5py.File(self.job.path, "r", **({"rdcc_nbytes": cache, "rdcc_nslots": 10007} if cache else {}))
        return file, file["v"]

    def read(self, handle, selection):
        return handle[1][selection]


class Scipy:
    """scipy. It lacks CDF-5, so it uses CDF-2."""

    def __init__(self, job):
        if job.format != "cdf5":
            raise Skip("format")
        from scipy.io import netcdf_file
        self.netcdf_file, self.job = netcdf_file, job

    def write(self, data):
        file = self.netcdf_file(self.job.path, "w", version=2)
        for name, length in zip(dims(self.job.shape), self.job.shape):
            file.createDimension(name, length)
        file.createVariable("v", self.job.native.str[1:], tuple(dims(self.job.shape)))[:] = data
        file.close()

    def open(self, cache=0):
        file = self.netcdf_file(self.job.path, "r", mmap=True)
        return file, file.variables["v"].data

    def read(self, handle, selection):
        return handle[1][selection].astype(self.job.native)


ADAPTERS = {"zarr-python": ZarrPython, "zarr-zarrs": ZarrPython, "tensorstore": TensorStore, "netcdf4-python": NetCDF4,
            "h5py": H5py, "scipy": Scipy}
