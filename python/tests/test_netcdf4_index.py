"""Indices and growth: ours reads and writes what the package netCDF4 reads and writes."""

import random

import numpy as np
import pytest
from netcdf4_pair import FORMATS, outcome, pair  # noqa: F401

from nczarr.netCDF4 import utils

SHAPE = (7, 5, 6)


def entry(rng, length, beyond=0):
    """Returns a random index along a dimension, often inside of its bounds."""
    kind = rng.choice(["all", "int", "slice", "back", "array", "list", "mask", "numpy"])
    if kind == "all":
        return slice(None)
    if kind == "int":
        return rng.randrange(-length, length + beyond)
    if kind == "numpy":
        return np.int64(rng.randrange(length))
    if kind == "slice":
        ends = [None, *range(-length, length + beyond + 2)]
        return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3]))
    if kind == "back":
        ends = [None, *range(-length, length)]
        return slice(rng.choice(ends), rng.choice(ends), -rng.randrange(1, 4))
    if kind == "mask":
        return np.array([rng.random() < 0.5 for _ in range(length)])
    positions = sorted(rng.sample(range(length + beyond), rng.randrange(1, min(5, length + 1))))
    return positions if kind == "list" else np.array(positions)


def key(rng, shape, beyond=0):
    """Returns a random index, also with an ellipsis, fewer entries, or one entry."""
    entries = [entry(rng, length, beyond if dim == 0 else 0) for dim, length in enumerate(shape)]
    kind = rng.choice(["all", "fewer", "ellipsis", "one"])
    if kind == "fewer":
        return tuple(entries[: rng.randrange(1, len(entries) + 1)])
    if kind == "ellipsis":
        at = rng.randrange(len(entries))
        return (*entries[:at], Ellipsis, *entries[at + rng.randrange(2) :])
    return entries[0] if kind == "one" else tuple(entries)


def filled(module, path, format="NETCDF4"):
    """Returns a dataset with a variable of known values."""
    file = module.Dataset(path, "w", format=format)
    for name, length in zip("zyx", SHAPE):
        file.createDimension(name, length)
    file.createVariable("v", "i4", tuple("zyx"))[:] = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    return file


@pytest.mark.parametrize("seed", range(8))
def test_random_reads(pair, seed):  # noqa: F811
    def program(module, path):
        rng = random.Random(seed)
        keys = [key(rng, SHAPE) for _ in range(60)]
        with filled(module, path) as file:
            return [(repr(one), outcome(lambda: file["v"][one])) for one in keys]

    pair.run(program)


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        -8,
        slice(None, None, 0),
        (0, 0, 0, 0),
        (slice(None),) * 4,
        "x",
        None,
        [7],
        [-8],
        [[[0, 1]]],
        (Ellipsis, Ellipsis),
        np.array([True, False]),
        np.array([0.5]),
        {},
        (0, 5),
        (0, [5]),
    ],
    ids=repr,
)
def test_wrong_indices_raise_index_errors(tmp_path, wrong):
    from nczarr import netCDF4

    with filled(netCDF4, str(tmp_path / "a.nc")) as file:
        with pytest.raises((IndexError, ValueError)):
            file["v"][wrong]


@pytest.mark.parametrize("wrong", [0.8, -0.8, np.float32(0.8), np.array(0.8), np.inf, np.nan], ids=repr)
def test_a_number_between_integers_selects_no_element(tmp_path, wrong):
    from nczarr import netCDF4

    with filled(netCDF4, str(tmp_path / "a.nc")) as file:
        before = file["v"][:]
        with pytest.raises(IndexError):
            file["v"][wrong]
        with pytest.raises(IndexError):
            file["v"][wrong] = -9
        np.testing.assert_array_equal(file["v"][:], before)
        np.testing.assert_array_equal(file["v"][np.float64(1)], before[1])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_random_writes_of_fixed_dimensions(pair, seed, format):  # noqa: F811
    # The other package refuses negative steps beside integers and arrays, which ours writes.
    refused = set()

    def program(module, path):
        rng = random.Random(seed)
        with filled(module, path, format) as file:
            for step in range(25):
                one = key(rng, SHAPE)
                if step in refused or outcome(lambda: file["v"][one])[0] == "raises":
                    continue
                given = np.arange(file["v"][one].size).reshape(file["v"][one].shape) + step if step % 3 else step
                if outcome(lambda: file["v"].__setitem__(one, given))[0] == "raises":
                    refused.add(step)
            return file["v"][:]

    pair.run(program)
    assert len(refused) < 12


GROWTH = [
    (slice(None), (3,)),
    (slice(None), (3, 5)),
    (0, (5,)),
    (4, (5,)),
    (4, ()),
    (slice(2, 4), (2, 5)),
    (slice(2, None), (3, 5)),
    (slice(None), ()),
    ([0, 3], (2, 5)),
    ([6, 9], (2, 5)),
    ((2, slice(1, 3)), (2,)),
    ((slice(0, 6, 2), 1), (3,)),
    ((slice(None), 0), (4,)),
    ((Ellipsis, 0), (4,)),
    (slice(3, 1, -1), (2, 5)),
    (slice(None), (2, 1)),
    (-1, (5,)),
    ((slice(None), [0, 2]), (3, 2)),
    (slice(None, 4), (4, 5)),
    (slice(None), (0, 5)),
    (np.array([True, False, True]), (2, 5)),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("before", [0, 3])
def test_growth(pair, format, before):  # noqa: F811
    def program(module, path):
        found = []
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("x", 5)
            file.createDimension("t")
            for number, (one, shape) in enumerate(GROWTH):
                if format == "NETCDF4":
                    file.createDimension(f"t{number}")
                variable = file.createVariable(f"v{number}", "i2", (f"t{number}" if format == "NETCDF4" else "t", "x"))
                if before and format == "NETCDF4":
                    variable[0:before] = np.ones((before, 5))
                given = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 10
                found.append((repr(one), outcome(lambda: variable.__setitem__(one, given)), variable.shape))
        return found

    pair.run(program)


def test_growth_of_two_dimensions(pair):  # noqa: F811
    def program(module, path):
        found = []
        with module.Dataset(path, "w") as file:
            file.createDimension("t")
            file.createDimension("s")
            variable = file.createVariable("v", "f4", ("t", "s"))
            steps = [
                ((0, 0), 1),
                ((slice(None), 3), 2),
                ((2, slice(0, 6)), np.arange(6)),
                ((slice(1, 3), slice(2, 4)), 7),
                ((slice(None), slice(None)), np.zeros((2, 2))),
                (([0, 5], [1, 8]), np.ones((2, 2))),
                (Ellipsis, 3),
            ]
            for one, given in steps:
                found.append((repr(one), outcome(lambda: variable.__setitem__(one, given)), variable.shape))
        return found

    pair.run(program)


def test_values_of_other_shapes(pair):  # noqa: F811
    def program(module, path):
        found = []
        with filled(module, path) as file:
            variable = file["v"]
            for one, shape in [
                (slice(None), (6,)),
                (slice(None), (5, 6)),
                (slice(None), (7, 5, 1)),
                (slice(None), (7,)),
                (0, (1, 5, 6)),
                ((0, 0), (6, 1)),
                ((0, slice(None), 0), (1, 5)),
                ((0, 0), (5,)),
                ((0, 0, 0), (1,)),
                ((0, 0, 0), (2,)),
                (slice(0, 2), (5, 6, 2)),
                ([0, 2], (5, 6)),
                ([0, 3, 4], (3, 5, 6)),
            ]:
                given = np.arange(np.prod(shape)).reshape(shape)
                found.append((repr(one), shape, outcome(lambda: variable.__setitem__(one, given))))
            found.append(outcome(lambda: variable.__setitem__((0, 0), [1, 2, 3, 4, 5, 6])))
            found.append(outcome(lambda: variable.__setitem__((0, 0, 0), 2.9)))
        return found

    pair.run(program)


@pytest.mark.parametrize("seed", range(4))
def test_the_parts_of_an_index_cover_it(seed):
    rng = random.Random(seed)
    values = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    for _ in range(30):
        entries = tuple(entry(rng, length) for length in SHAPE)
        start, count, stride, places = utils._StartCountStride(entries, SHAPE)
        out = np.full(utils._out_array_shape(count), -1)
        flat = [part.reshape(-1, 3) for part in (start, count, stride, places)]
        for first, number, step, place in zip(*flat):
            pieces = [np.arange(n) * s + f for f, n, s in zip(first, number, step)]
            shape = out[tuple(place)].shape
            out[tuple(place)] = values[np.ix_(*pieces)].reshape(shape)
        whole = np.ix_(*(np.atleast_1d(np.arange(length)[one]) for one, length in zip(entries, SHAPE)))
        assert (out == values[whole]).all()
