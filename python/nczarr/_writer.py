"""``Writer``: writes parts of a variable from any process. It is small, and can be pickled."""
import os

from ._handle import Handle
from ._location import normalize
from ._turn import turn


class Writer:
    """A variable of an existing dataset that tasks write to. Use it with dask, Ray, Spark, or a pool of processes.

    Each assignment stores its part before it returns, so a task that was killed is repeated without loss. Parts may
    share chunks and shards. Writers of a dataset of one file take turns.

    :param place: the dataset, as ``nczarr.open`` takes it.
    :param path: the path of the variable.
    :param storage_options: options of the storage, by fsspec's names.
    :param options: options of ``nczarr.open``.
    """

    def __init__(self, place, path, *, storage_options=None, **options):
        if isinstance(place, os.PathLike):
            place = os.path.abspath(place)
        self._handle, self._path = Handle(normalize(place), "a", options, storage_options), path
        self._handle.is_detached = True

    @property
    def path(self):
        """The path of the variable."""
        return self._path

    def __setitem__(self, index, values):
        with turn(self._handle):
            self._handle.variable("/", self._path)[index] = values
            self._handle.file.sync()

    def append(self, values, dim=None):
        """Appends along an unlimited dimension, by default the first one, and returns the first new index.

        No other writer gets these indices.
        """
        with turn(self._handle):
            variable = self._handle.variable("/", self._path)
            axis = variable.dims.index(dim) if dim is not None else 0
            count = values.shape[axis]
            start = self._group().dimension(variable.dims[axis]).reserve(count)
            index = [slice(None)] * values.ndim
            index[axis] = slice(start, start + count)
            variable[tuple(index)] = values
            self._handle.file.sync()
        return start

    def _group(self):
        return self._handle.group(self._path.strip("/").rpartition("/")[0])

    def close(self):
        """Closes the dataset in this process. The next assignment opens it again."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<nczarr.Writer of {self._path} in {self._handle.place}>"

    def __dask_tokenize__(self):
        return "nczarr-writer", self._handle.token, self._path
