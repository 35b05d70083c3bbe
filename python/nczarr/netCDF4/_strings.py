"""Arrays of strings and arrays of characters."""
import numpy as np

_RAW = ("none", "None", "bytes")


def stringtoarr(string, NUMCHARS, dtype="S"):
    """Returns the characters of a string as an array of ``NUMCHARS`` elements."""
    if dtype not in ("S", "U"):
        raise ValueError("dtype must string or unicode ('S' or 'U')")
    characters = np.zeros(NUMCHARS, dtype + "1")
    characters[: len(string)] = list(string) if isinstance(string, str) else [bytes([byte]) for byte in string]
    return characters


def stringtochar(a, encoding=None, n_strlen=None):
    """Returns an array of strings as characters, in one more dimension of length ``n_strlen``."""
    if a.dtype.kind not in "SU":
        raise ValueError("type must string or unicode ('S' or 'U')")
    if encoding is None:
        encoding = "ascii" if a.dtype.kind == "S" else "utf-8"
    if n_strlen is None:
        n_strlen = a.dtype.itemsize
    if a.dtype.kind == "S":
        encoded = a.ravel().tolist()
    else:
        encoding = "utf-8" if encoding in _RAW else encoding
        encoded = [text.encode(encoding) for text in a.ravel().tolist()]
    rows = b"".join(text[:n_strlen].ljust(n_strlen, b"\0") for text in encoded)
    characters = np.frombuffer(rows, "S1").reshape(a.shape + (n_strlen,)).copy()
    return characters.astype("U1") if a.dtype.kind == "U" and encoding == "ascii" else characters


def chartostring(b, encoding=None):
    """Returns the last dimension of an array of characters as strings."""
    if b.dtype.kind not in "SU":
        raise ValueError("type must be string or unicode ('S' or 'U')")
    if encoding is None:
        encoding = "ascii" if b.dtype.kind == "S" else "utf-8"
    length = int(b.shape[-1])
    if b.dtype.kind == "U":
        texts = ["".join(row) for row in b.reshape(-1, length).tolist()]
        return np.array(texts, f"U{length}").reshape(b.shape[:-1])
    content = b.tobytes()
    rows = [content[start : start + length] for start in range(0, len(content), length or 1)]
    if encoding in _RAW:
        return np.array(rows, f"S{length}").reshape(b.shape[:-1])
    return np.array([row.decode(encoding) for row in rows], f"U{length}").reshape(b.shape[:-1])
