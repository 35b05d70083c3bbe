"""Turns of writers. A dataset of one file has one writer at a time, and each waits for its turn."""
import contextlib
import hashlib
import os
import tempfile
import time

from ._location import local_path

#: How long a task waits for others that write the same file, in seconds.
_PATIENCE = 600.0


@contextlib.contextmanager
def turn(handle, even_shared=False):
    """Waits until this thread may write. Inside, a dataset of one file is open; others have any number of writers.

    :param even_shared: take turns also at a dataset that many may write.
    """
    path = local_path(handle.place)
    is_file = path is not None and os.path.isfile(path)
    if not is_file and not (even_shared and path is not None):
        yield
        return
    with handle.alone:
        if handle.has_turn:
            yield
            return
        with _lock_file(path):
            handle.has_turn = True
            try:
                if is_file:
                    _open_patiently(handle)
                yield
            finally:
                handle.has_turn = False
                if is_file:
                    handle.release()


@contextlib.contextmanager
def _lock_file(path):
    """Holds a lock that the processes of one machine see."""
    name = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:32]
    user = os.getuid() if hasattr(os, "getuid") else 0
    with open(os.path.join(tempfile.gettempdir(), f"nczarr-{user}-{name}.lock"), "w") as lock:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _open_patiently(handle):
    """Opens a file that a process on another machine may be writing."""
    end, pause = time.monotonic() + _PATIENCE, 0.01
    while True:
        try:
            return handle.file
        except PermissionError:
            if time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(pause * 2, 0.5)
