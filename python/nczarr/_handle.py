"""Open datasets of a process. Arrays refer to them by location, so they can be pickled.

A handle opens its dataset when it is needed: after ``close`` and in another process too. All copies of a handle in
one process share one open dataset.
"""
import atexit
import collections
import os
import threading
import uuid
import weakref

import nczarr

from ._location import with_storage_options
from ._stamp import Stamp
from ._zarr_types import form_of

#: Handles of this process by their identity.
_HANDLES = weakref.WeakValueDictionary()
_LOCK = threading.Lock()
#: Handles that came by pickle: tasks come and go, and the dataset stays open between them.
_RECENT = collections.OrderedDict()
_MAX_RECENT = 128


class Handle:
    """A dataset by location and options."""

    def __init__(self, place, mode="r", options=None, storage_options=None, token=None, stamp=None):
        self.place, self.mode = place, mode
        self.options, self.storage_options = dict(options or {}), storage_options
        self.token = token or uuid.uuid4().hex
        #: Whether the handle came from another process.
        self.is_copy = False
        #: Whether tasks write to it one by one, and each stores its part.
        self.is_detached = False
        #: Held by the thread that writes to a dataset of one file.
        self.alone = threading.RLock()
        #: Whether that thread may write now.
        self.has_turn = False
        self._stamp = stamp
        self._file, self._variables, self._pid = None, {}, os.getpid()
        self._lock = threading.RLock()
        _HANDLES[self.token] = self

    @property
    def file(self):
        """The open dataset."""
        file = self._file
        if file is not None and not file.closed:
            return file
        with self._lock:
            if self._file is None or self._file.closed:
                self._variables = {}
                self._file = self.open()
            return self._file

    def open(self):
        """Opens the dataset anew.

        :raises OSError: if it is another dataset than at the first time.
        """
        place = with_storage_options(self.place, self.storage_options)
        file = nczarr.open(place, self.mode, **self.options)
        stamp = Stamp.of(self.place, self.mode)
        if self._stamp is None:
            self._stamp = stamp
        elif stamp is None or stamp.identity != self._stamp.identity:
            file.close()
            raise OSError(f"{self.place}: the dataset was replaced or changed since it was opened; open it again")
        return file

    def adopt(self, file):
        """Takes an open dataset, such as one that was created."""
        self._file = file

    def group(self, path):
        """Returns the native group of a path."""
        root = self.file._native
        return root if path in (None, "", "/") else root.group(path.strip("/"))

    def variable(self, group, name, form_of=form_of):
        """Returns a variable, as ``nczarr.Variable`` makes it; it is looked up once."""
        file = self.file
        key = group, name, form_of
        variable = self._variables.get(key)
        if variable is None or variable.file is not file:
            from nczarr import Variable

            variable = self._variables[key] = Variable(self.group(group).variable(name), file, form_of)
        return variable

    def check(self, group, name):
        """Raises an error if another dataset has come to the place of this one."""
        if self._stamp is not None and self._stamp.was_replaced(group, name):
            raise OSError(f"{self.place}: variable {name!r} was replaced since it was opened; open it again")

    @property
    def is_open(self):
        return self._file is not None and not self._file.closed

    def detach(self):
        """Lets tasks write: from now on, each stores its part before it ends."""
        self.is_detached = True
        self.release()

    def release(self):
        """Closes the dataset until the next use."""
        with self._lock:
            file, self._file, self._variables = self._file, None, {}
        if file is not None:
            file.close()

    def close(self):
        """Closes the dataset. A later use opens it again."""
        self.release()
        if self.mode != "r":
            self.is_detached = True
        with _LOCK:
            _RECENT.pop(self.token, None)

    def __reduce__(self):
        return _handle, (self.place, self.mode, self.options, self.storage_options, self.token, self._stamp)

    def __dask_tokenize__(self):
        return "nczarr", self.token

    def __repr__(self):
        place = "bytes" if isinstance(self.place, bytes) else self.place
        return f"<nczarr handle of {place}>"


def _handle(place, mode, options, storage_options, token, stamp):
    """Returns the handle of this process for a pickled one."""
    with _LOCK:
        handle = _HANDLES.get(token)
        if handle is None:
            handle = Handle(place, mode, options, storage_options, token, stamp)
            handle.is_copy, handle.is_detached = True, mode != "r"
        dropped = []
        if handle.is_copy:
            _RECENT[token] = handle
            _RECENT.move_to_end(token)
            while len(_RECENT) > _MAX_RECENT:
                dropped.append(_RECENT.popitem(last=False)[1])
    for old in dropped:
        old.close()
    return handle


@atexit.register
def _close_copies():
    for handle in list(_RECENT.values()):
        handle.close()
