"""Locations as users of xarray write them: paths, URLs with a fragment, and options of a storage."""
import os
from urllib.parse import quote

from ._mount import Mounted, is_foreign, mount

#: Options of a storage by the names that fsspec and obstore use, and the keys of a URL's fragment for them.
_FRAGMENT = {
    "profile": "aws.profile", "aws.profile": "aws.profile", "region": "aws.region", "region_name": "aws.region",
    "aws.region": "aws.region", "endpoint_url": "endpoint", "endpoint": "endpoint", "aws_endpoint": "endpoint",
    "aws_region": "aws.region",
}
_KEY_NAMES = ("key", "access_key_id", "aws_access_key_id")
_SECRET_NAMES = ("secret", "secret_access_key", "aws_secret_access_key")


def normalize(place):
    """Returns a path without a scheme as an absolute path, or with a fragment as a URL; storages of Python as
    ``Mounted``, and anything else unchanged."""
    if not isinstance(place, str):
        place = mount(place)
    if isinstance(place, os.PathLike):
        return os.path.abspath(os.path.expanduser(os.fspath(place)))
    if not isinstance(place, str) or "://" in place:
        return place
    path, mark, fragment = place.partition("#mode=")
    path = os.path.abspath(os.path.expanduser(path))
    return f"file://{quote(path)}#mode={fragment}" if mark else path


def with_fragment(place, words):
    """Returns a URL of the place with more modes."""
    if isinstance(place, Mounted):
        return place.with_modes(words.split(",") if words else [])
    url = place if "://" in place else f"file://{quote(place)}"
    if not words:
        return url
    base, mark, fragment = url.partition("#")
    return f"{base}#{fragment}&mode={words}" if mark and fragment else f"{base}#mode={words}"


def local_path(place):
    """Returns the path of a local place; ``None`` for others."""
    from urllib.parse import unquote, urlsplit

    if not isinstance(place, str):
        return None
    if place.startswith("file:"):
        return unquote(urlsplit(place.partition("#")[0]).path)
    return None if "://" in place else place


def with_storage_options(place, options):
    """Returns the URL that expresses the options of a storage, which may contain secrets. For a URL of fsspec, returns
    the filesystem's folder.

    :raises ValueError: for an option that has no place in the URL.
    """
    if isinstance(place, str) and is_foreign(place):
        return mount(place, options)
    if not options:
        return place
    if not isinstance(place, str) or "://" not in place:
        raise ValueError(f"storage_options need a URL, found {place!r}")
    pairs, key, secret = [], None, None
    for name, value in _flat(options):
        if name in _KEY_NAMES:
            key = value
        elif name in _SECRET_NAMES:
            secret = value
        elif name == "anon":
            pairs += [("aws.profile", "no")] if value else []
        elif name in _FRAGMENT:
            pairs.append((_FRAGMENT[name], value))
        elif value is not None:
            known = sorted({"anon", *_FRAGMENT, *_KEY_NAMES, *_SECRET_NAMES})
            raise ValueError(f"storage_options: {name!r} is unknown; expected one of {', '.join(known)}")
    if (key is None) != (secret is None):
        raise ValueError("storage_options: a key and its secret belong together")
    base, _, fragment = place.partition("#")
    if key is not None:
        scheme, _, rest = base.partition("://")
        base = f"{scheme}://{quote(key, safe='')}:{quote(secret, safe='')}@{rest}"
    more = "&".join(f"{name}={value}" for name, value in pairs if value is not None)
    fragment = "&".join(part for part in (fragment, more) if part)
    return f"{base}#{fragment}" if fragment else base


def _flat(options):
    for name, value in options.items():
        if name == "client_kwargs":
            yield from value.items()
        else:
            yield name, value


#: Endings that other engines of xarray claim.
_OTHERS = (".nc", ".nc4", ".cdf", ".zarr", ".h5", ".hdf5", ".grib", ".grb", ".grib2", ".tif", ".tiff")
_OWN = (".zip", ".hdf", ".ncz", ".nczarr")


def is_ours(place):
    """Whether no other engine of xarray claims the place, and this one can open it. Asks for one small file."""
    if isinstance(place, os.PathLike):
        place = os.fspath(place)
    if not isinstance(place, str):
        return isinstance(mount(place), Mounted)
    base, mark, fragment = place.partition("#")
    if mark and ("mode=" in fragment or fragment in ("nczarr", "zarr")):
        return True
    ending = os.path.splitext(base.rstrip("/"))[1].lower()
    if ending in _OTHERS:
        return False
    if ending in _OWN:
        return True
    if ending or "://" in base and not base.startswith("file:"):
        return False
    path = local_path(base)
    markers = ("zarr.json", ".zgroup", ".zarray", ".nczarr")
    return os.path.isdir(path) and any(os.path.exists(os.path.join(path, marker)) for marker in markers)
