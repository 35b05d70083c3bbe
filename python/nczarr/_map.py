"""``Map``: storages that are written in Python."""


class Map:
    """A storage of keys and bytes. A subclass is a place for ``nczarr.open``, ``nczarr.create`` and xarray.

    ``size`` and ``read`` are needed; the other methods are abilities: ``list`` finds datasets without consolidated
    metadata, and ``write`` with ``list`` makes new ones. Any thread may call any method. Rules:

    * ``None`` means that there is no object, and nothing else does. Every exception is an error of the storage.
    * ``write`` replaces the whole object: no reader sees a part of it.
    * Several writers share a dataset only if there are ``read_versioned`` and ``write_if``. Otherwise the only writer
      opens it with ``exclusive=True``.

    A map that is pickled may open anew in another process.
    """

    @property
    def name(self):
        """The name in errors. It must contain no secret."""
        return type(self).__name__

    @property
    def identity(self):
        """A value that is equal for two maps of one storage: a writer must not replace what it reads."""
        return id(self)

    def size(self, key):
        """Returns the length of an object in bytes; ``None`` if there is none."""
        raise NotImplementedError

    def read(self, key, start, stop):
        """Returns the bytes of ``start:stop``, cut at the end of the object; ``None`` if there is no object.

        ``stop`` is ``None`` for all bytes from ``start`` on. Any object with a buffer of bytes will do.
        """
        raise NotImplementedError

    def list(self, prefix):
        """Returns the keys of all objects below a prefix. The key ``ab`` is not below ``a``; all are below ``""``.

        A map with ``children`` alone is asked for one key after another.
        """
        if type(self).children is Map.children:
            raise NotImplementedError
        found, waiting = [], [prefix]
        while waiting:
            above = waiting.pop()
            below = [f"{above}/{name}" if above else name for name in self.children(above)]
            found += [key for key in below if self.size(key) is not None]
            waiting += below
        return found

    def children(self, prefix):
        """Returns the next segments of the keys below a prefix. Override it if the storage knows them without all keys."""
        length = len(prefix) + 1 if prefix else 0
        return {key[length:].partition("/")[0] for key in self.list(prefix) if len(key) > length}

    def write(self, key, data):
        """Replaces an object."""
        raise NotImplementedError

    def delete(self, key):
        """Deletes an object; returns whether there was one."""
        raise NotImplementedError

    def read_versioned(self, key):
        """Returns the bytes of an object and its version, which can be any value; ``None`` if there is no object."""
        raise NotImplementedError

    def write_if(self, key, data, version):
        """Replaces an object that has this version still; ``None`` means that there is no object yet.

        Returns whether it was written: ``False`` if another writer came first.
        """
        raise NotImplementedError

    def sync(self):
        """Makes all writes durable. It is called when a dataset stores its changes."""

    def _abilities(self):
        def has(*names):
            return all(getattr(type(self), name, None) is not getattr(Map, name) for name in names)

        return {
            "write": has("write"), "delete": has("delete"), "list": has("list") or has("children"),
            "conditional": has("read_versioned", "write_if"),
        }


def past_end(store, key, start):
    """Whether a read begins at or behind the end of an object: some storages have no empty range."""
    size = store.size(key) if start else None
    return size is not None and start >= size
