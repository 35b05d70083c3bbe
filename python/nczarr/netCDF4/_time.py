"""Numbers and dates. The package ``cftime`` does the work; without it these functions raise its error."""
try:
    from cftime import date2index, date2num, num2date
except ImportError:
    def _without_cftime(*_, **__):
        raise ModuleNotFoundError("dates need the package cftime: pip install cftime", name="cftime")

    date2index = date2num = num2date = _without_cftime

__all__ = ["date2index", "date2num", "num2date"]
