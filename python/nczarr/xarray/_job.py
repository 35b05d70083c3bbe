"""One write of a dataset into a store: what is created, what is overwritten and what is appended."""
from xarray import conventions
from xarray.backends.common import ArrayWriter
from xarray.backends.locks import get_dask_scheduler

from . import _existing, _guard


class Job:
    """A write. ``prepare`` defines and writes what is in memory; ``finish`` writes what dask computes."""

    def __init__(self, store, mode, append_dim, unlimited_dims, encoding, store_kwargs, compute, writer=None):
        self.store, self.mode, self.append_dim = store, mode, append_dim
        self.unlimited_dims, self.encoding, self.store_kwargs = unlimited_dims, encoding, store_kwargs or {}
        self.compute = compute
        self.writer = writer or ArrayWriter()
        #: The first index of an append.
        self.start = None
        #: The coordinate of an append and its place, if it is stored after the data.
        self.ending = None

    def prepare(self, dataset, region, unique, is_new):
        """Defines variables and writes those in memory.

        :raises ValueError: if the dataset does not fit what is stored; nothing is written then.
        """
        _guard.check_attributes(dataset)
        variables, attributes = conventions.encode_dataset_coordinates(dataset)
        for name, given in self.encoding.items():
            variables[name].encoding = given
        names = set() if is_new else {native.name() for native in self.store.native.variables()}
        existing = {name: variable for name, variable in variables.items() if name in names}
        new = {name: variable for name, variable in variables.items() if name not in names}
        if self.mode == "r+" and new:
            raise ValueError(
                f"dataset contains non-pre-existing variables {list(new)!r}, which is not allowed in to_nczarr() with "
                "``mode='r+'``. To allow writing new variables, set ``mode='a'``."
            )
        twice = [name for name in existing if name in self.encoding]
        if twice and self.mode in ("a", "a-"):
            raise ValueError(f"variable {twice[0]!r} already exists, but encoding was provided")
        if self.append_dim is not None:
            self.append(existing, new, unique, region)
        else:
            existing = _existing.encode(self.store, existing, region, None) if existing else {}
            if self.mode != "r+":
                self.define(new, attributes)
            _existing.add(self.writer, self.store, existing, region)

    def settle(self):
        """Makes the store ready for tasks, after the last ``prepare``."""
        if self.writer.sources and (self.is_elsewhere or _existing.is_one_file(self.store)):
            # Each task opens the dataset for itself and stores its part.
            self.store.sync()

    @property
    def is_elsewhere(self):
        """Whether tasks run later, or in other processes."""
        return not self.compute or get_dask_scheduler() in ("distributed", "multiprocessing")

    def define(self, variables, attributes):
        """Creates variables."""
        if self.store.format == "ZARR" and not self.unlimited_dims:
            # In this order Zarr needs no record of the dimensions, so each of them can still grow.
            variables = dict(sorted(variables.items(), key=lambda item: str(item[0])))
        self.store.store(variables, attributes, set(self.encoding), self.writer, self.unlimited_dims)

    def append(self, existing, new, unique, region):
        """Appends along a dimension. The coordinate is stored last: a record that has it is complete."""
        dim, store = self.append_dim, self.store
        lengths = {**store.get_parent_dimensions(), **store.get_dimensions()}
        if dim not in lengths:
            raise ValueError(f"append_dim={dim!r} does not match any existing dataset dimensions {lengths}")
        along = {name: variable for name, variable in existing.items() if dim in variable.dims}
        rest = {name: variable for name, variable in existing.items() if dim not in variable.dims}
        if not along:
            raise ValueError(f"append_dim={dim!r}: no variable of the dataset has it and is stored already")
        if new and region:
            raise ValueError(f"append_dim={dim!r} and a region: these variables are not stored yet: {list(new)}")
        raw = _existing.encode(store, along, region, dim)
        rest = _existing.encode(store, rest, region, None) if rest and self.mode == "a" else {}
        if unique:
            _existing.check_unique(store, along, dim)
        count = next(variable.sizes[dim] for variable in along.values())
        dimension = store.native.dimension(dim)
        if not dimension.describe()[2]:
            raise ValueError(
                f"{store.handle.place}: append_dim={dim!r} has a fixed length: write the dataset with "
                f"unlimited_dims=[{dim!r}] first"
            )
        self.start = dimension.reserve(count)
        part = {**region, dim: slice(self.start, self.start + count)}
        last = {name: raw.pop(name) for name in list(raw) if raw[name].dims == (dim,) and name == dim}
        if last and self.compute and not _existing.is_one_file(store) and _existing.is_plain_when_unwritten(store, dim):
            self.ending = last, part
        else:
            # Others would not see that the record waits for it, a delayed write may end at any time, and a dataset
            # of one file has one writer at a time.
            self.put(last, part)
            store.handle.file.sync()
        if new:
            self.define(new, {})
        _existing.add(self.writer, store, rest, region)
        _existing.add(self.writer, store, raw, part)

    def put(self, variables, part):
        """Writes variables at once."""
        writer = ArrayWriter()
        _existing.add(writer, self.store, {name: variable.compute() for name, variable in variables.items()}, part)

    def finish(self):
        """Writes what dask computes and returns the first index of an append, or returns the delayed rest."""
        writes = self.writer.sync(compute=self.compute, chunkmanager_store_kwargs=self.store_kwargs)
        if self.compute:
            if self.ending is not None:
                self.store.handle.file.sync()
                self.put(*self.ending)
                self.store.handle.file.sync()
            return self.start
        import dask

        return dask.delayed(_end)(writes, self.store.handle, self.start)


def _end(writes, handle, start):
    """Ends a delayed write."""
    handle.close()
    return start
