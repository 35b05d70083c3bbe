"""The program ``ncz`` from Python: it runs in a process of its own."""
import json
import os
import sys

from .errors import StorageError

#: The words of a URL for the kinds of `nczarr.create`.
_MODES = {
    "nczarr-v2": "nczarr", "nczarr-v3": "nczarr,v3", "zarr-v2": "zarr", "zarr-v3": "zarr,v3", "netcdf4": "netcdf-4",
    "netcdf4-classic": "nc4-classic", "cdf1": "cdf1", "cdf2": "cdf2", "cdf5": "cdf5",
}


def run(arguments, accept=(0,)):
    """Runs ``ncz`` and returns its output as text.

    :raises nczarr.NczarrError: with the program's own message, if the exit code is none of ``accept``.
    """
    import subprocess

    command = [sys.executable, "-m", "nczarr", *map(os.fspath, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode in accept:
        return done.stdout
    raise StorageError(done.stderr.strip() or f"ncz ended with code {done.returncode}")


def copy(source, target, *, kind=None, chunks=None, shards=None, filters=None, deflate=None, shuffle=False,
         variables=None, groups=None, data_of=None, memory=None, jobs=None, resume=False, clobber=False):
    """Copies a dataset into any other format. The copy is read back and compared with the source.

    :param kind: the format of the copy, as in ``nczarr.create``; by default the target's path decides.
    :param chunks: the chunk length of each dimension, such as ``{"time": 1}``.
    :param shards: the shard length of each dimension.
    :param filters: filters as ``ncz copy --filter`` takes them, such as ``"*,zstd,3"``.
    :param deflate: the level of deflate for all variables, and ``shuffle`` before it.
    :param variables: copy only these.
    :param groups: copy only these groups, without the groups in them.
    :param data_of: copy the data of these only; the others are defined without data.
    :param memory: the bytes that the copy may use: an integer, or text such as ``"2GiB"``.
    :param jobs: the number of variables that are copied at once.
    :param resume: continue a copy that was interrupted.
    :raises nczarr.NczarrError: if the copy fails or something would be lost.
    """
    if kind is not None:
        target = _with_kind(os.fspath(target), kind)
    arguments = ["copy", source, target]
    for flag, value in (("--memory", memory), ("--jobs", jobs), ("-d", deflate)):
        if value is not None:
            arguments += [flag, str(value)]
    for flag, lengths in (("--chunks", chunks), ("--shards", shards)):
        if lengths:
            arguments += [flag, ",".join(f"{name}/{length}" for name, length in lengths.items())]
    for text in [filters] if isinstance(filters, str) else filters or ():
        arguments += ["--filter", text]
    for flag, names in (("-V", variables), ("-G", groups)):
        if names is not None:
            arguments += [flag, ",".join(names)]
    if data_of is not None:
        arguments += ["-v", ",".join(data_of)]
    for flag, wanted in (("-s", shuffle), ("--resume", resume), ("--clobber", clobber)):
        arguments += [flag] if wanted else []
    run(arguments)


def _with_kind(target, kind):
    """Returns the URL of a new dataset of a kind."""
    if kind not in _MODES:
        raise ValueError(f"kind={kind!r}: expected one of {', '.join(_MODES)}")
    if "#" in target:
        raise ValueError(f"kind={kind!r}: the target {target} names its format or has a '#' already")
    return f"{target}#mode={_MODES[kind]}"


def diff(first, second):
    """Returns the differences of two datasets of any formats, as a list of ``dict``; empty if they are equal."""
    return json.loads(run(["diff", "--json", first, second], accept=(0, 1)))["differences"]


def validate(place, deep=True):
    """Returns the report about damage of a dataset, as a ``dict``.

    :param deep: read every chunk as well.
    """
    return json.loads(run(["validate", "--json", *(["--deep"] if deep else []), place], accept=(0, 1)))


def main():
    """Runs ``ncz`` with the arguments of this process."""
    from . import _native

    raise SystemExit(_native.ncz(sys.argv[1:]))
