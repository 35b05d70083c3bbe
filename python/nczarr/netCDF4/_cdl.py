"""CDL text, through the program ``ncz`` of the package."""
from pathlib import Path

from .._tool import run
from ._open import FORMATS

_FLAGS = {"cdf1": "-3", "cdf2": "-6", "cdf5": "-5", "netcdf4": "-4", "netcdf4-classic": "-7"}


def to_cdl(place, coordvars, data, outfile):
    """Returns a dataset as CDL text, or writes the text to a file."""
    part = ["-c"] if coordvars else [] if data else ["-h"]
    text = run(["dump", "-s", *part, "--", place])
    if outfile is None:
        return text
    Path(outfile).write_text(text, encoding="utf-8")
    return None


def from_cdl(cdlfilename, ncfilename, format):
    """Makes a dataset from a file of CDL text, and returns its path."""
    source = Path(cdlfilename)
    target = source.with_suffix(".nc") if ncfilename is None else Path(ncfilename)
    if FORMATS.get(format) not in _FLAGS:
        raise ValueError(f"illegal format requested: {format!r}")
    if not source.exists():
        raise FileNotFoundError(source)
    if target.exists():
        raise FileExistsError(target)
    run(["gen", _FLAGS[FORMATS[format]], "-o", target, "--", source])
    return target
