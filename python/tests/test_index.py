"""Indices: every index gives numpy's result or numpy's kind of error."""
import random

import numpy as np
import pytest

import nczarr

SHAPE = (7, 5, 6)


@pytest.fixture
def pair(place, kind):
    """A variable in small chunks, and the same values in numpy."""
    values = np.arange(np.prod(SHAPE), dtype="i4").reshape(SHAPE)
    with nczarr.create(place, kind) as file:
        for name, length in zip("zyx", SHAPE):
            file.create_dimension(name, length)
        chunks = None if kind == "cdf5" else (3, 2, 4)
        file.create_variable("v", "i4", "zyx", chunks=chunks)[...] = values
    with nczarr.open(place) as file:
        yield file["v"], values


def some_index(rng, length, arrays):
    """Returns a random index along a dimension, inside its bounds."""
    kind = rng.choice(["all", "int", "slice", "back", "array", "mask"] if arrays else ["all", "int", "slice", "back"])
    if kind == "all":
        return slice(None)
    if kind == "int":
        return rng.randrange(-length, length)
    if kind == "slice":
        return slice(rng.choice([None, rng.randrange(-length, length)]), rng.choice([None, rng.randrange(-length, length + 3)]), rng.choice([None, 1, 2, 3]))
    if kind == "back":
        return slice(rng.choice([None, rng.randrange(-length, length)]), rng.choice([None, rng.randrange(-length, length)]), -rng.randrange(1, 4))
    if kind == "mask":
        return np.array([rng.random() < 0.5 for _ in range(length)])
    return np.array([rng.randrange(-length, length) for _ in range(rng.randrange(0, 6))], dtype=int)


def test_basic_indices_equal_numpy(pair):
    variable, values = pair
    rng = random.Random(1)
    for _ in range(300):
        key = tuple(some_index(rng, length, False) for length in SHAPE[: rng.randrange(1, 4)])
        assert np.array_equal(variable[key], values[key]), key
        assert variable[key].shape == values[key].shape, key


def test_one_array_selects_as_in_numpy(pair):
    variable, values = pair
    rng = random.Random(2)
    for _ in range(200):
        dim = rng.randrange(3)
        key = [some_index(rng, length, False) for length in SHAPE]
        key[dim] = np.array([rng.randrange(-SHAPE[dim], SHAPE[dim]) for _ in range(rng.randrange(0, 6))], dtype=int)
        assert np.array_equal(variable[tuple(key)], values[tuple(key)]), key


def test_arrays_are_broadcast_as_in_numpy(pair):
    variable, values = pair
    rng = random.Random(3)
    for _ in range(200):
        count = rng.randrange(1, 6)
        dims = rng.sample(range(3), rng.randrange(2, 4))
        key = [slice(None, None, rng.choice([1, 2, -1])) for _ in SHAPE]
        for dim in dims:
            key[dim] = np.array([rng.randrange(-SHAPE[dim], SHAPE[dim]) for _ in range(count)])
        assert np.array_equal(variable[tuple(key)], values[tuple(key)]), key
    two = np.array([[0, 6], [3, 3]])
    assert np.array_equal(variable[two, :, two % 5], values[two, :, two % 5])


def test_orthogonal_arrays_select_along_their_own_dimension(pair):
    variable, values = pair
    rng = random.Random(4)
    for _ in range(200):
        key = tuple(some_index(rng, length, True) for length in SHAPE)
        expected = values
        for dim, entry in enumerate(key):
            if isinstance(entry, np.ndarray):
                places = np.nonzero(entry)[0] if entry.dtype == bool else entry
            else:
                places = np.atleast_1d(np.arange(SHAPE[dim])[entry])
            expected = np.take(expected, places, axis=dim)
        expected = expected[tuple(0 if isinstance(entry, int) else slice(None) for entry in key)]
        assert np.array_equal(variable.oindex[key], expected), key


def test_masks_and_new_axes(pair):
    variable, values = pair
    mask = values % 3 == 0
    assert np.array_equal(variable[mask], values[mask])
    assert np.array_equal(variable[:, mask[0]], values[:, mask[0]])
    assert variable[None, 1, ..., 0].shape == values[None, 1, ..., 0].shape
    assert np.array_equal(variable[..., None], values[..., None])


@pytest.mark.parametrize("key", [7, -8, (0, 0, 0, 0), (0, [5]), ([-8],), (slice(None), slice(None), 6), 1.5, "x",
                                 (Ellipsis, Ellipsis), (np.zeros(3, bool),)])
def test_a_wrong_index_is_an_index_error(pair, key):
    variable, values = pair
    with pytest.raises(IndexError):
        values[key]
    with pytest.raises(IndexError):
        variable[key]


def test_writes_equal_numpy(place, kind):
    rng = random.Random(5)
    expected = np.zeros(SHAPE, "f8")
    with nczarr.create(place, kind) as file:
        for name, length in zip("zyx", SHAPE):
            file.create_dimension(name, length)
        variable = file.create_variable("v", "f8", "zyx", chunks=None if kind == "cdf5" else (3, 2, 4))
        variable[...] = expected
        for turn in range(200):
            key = tuple(some_index(rng, length, False) for length in SHAPE)
            expected[key] = turn
            variable[key] = turn
            key = [slice(None)] * 3
            dim = rng.randrange(3)
            key[dim] = np.unique([rng.randrange(SHAPE[dim]) for _ in range(3)])
            block = np.full(expected[tuple(key)].shape, turn + 0.5)
            expected[tuple(key)] = block
            variable[tuple(key)] = block
        assert np.array_equal(variable[...], expected)
    with nczarr.open(place) as file:
        assert np.array_equal(file["v"][...], expected)


def test_each_chunk_is_read_once(tmp_path, monkeypatch):
    """An index with arrays reads every chunk that it touches once."""
    place = str(tmp_path / "a.zarr")
    with nczarr.create(place, "zarr-v3") as file:
        file.create_dimension("x", 1000)
        file.create_variable("v", "i4", ["x"], chunks=(100,))[...] = np.arange(1000)
    with nczarr.open(place) as file:
        variable, reads = file["v"], []
        original = variable.read
        monkeypatch.setattr(variable, "read", lambda *part: reads.append(part) or original(*part))
        points = np.array([5, 905, 7, 903, 5, 906])
        assert np.array_equal(variable[points], points)
        assert len(reads) == 2, reads
