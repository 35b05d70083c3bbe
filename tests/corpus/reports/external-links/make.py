"""External links to datasets, to a group, to nothing, and soft links through them (h5py)."""

import h5py
import numpy

with h5py.File("part.h5", "w") as file:
    data = file.create_dataset("deep/data", data=numpy.arange(4.0), chunks=(2,), compression=1)
    data.attrs["units"] = "metres"
    data.attrs["names"] = numpy.array(["a", "b c"], h5py.string_dtype())
    file["deep/words"] = numpy.array(["one", "two"], h5py.string_dtype())
    file["deep/pairs"] = numpy.array([(1, 2.5)], [("n", "i4"), ("x", "f8")])
with h5py.File("in.h5", "w") as file:
    file["here"] = numpy.arange(3)
    file["far"] = h5py.ExternalLink("part.h5", "/deep/data")
    file["words"] = h5py.ExternalLink("part.h5", "deep/words")
    file["pairs"] = h5py.ExternalLink("part.h5", "deep/pairs")
    file["soft"] = h5py.SoftLink("/far")
    file["group"] = h5py.ExternalLink("part.h5", "/deep")
    file["through"] = h5py.SoftLink("/group/data")
    file["missing"] = h5py.ExternalLink("none.h5", "/x")
    file["nothing"] = h5py.ExternalLink("part.h5", "/deep/nothing")
    file["outside"] = h5py.ExternalLink("../part.h5", "/deep/data")
