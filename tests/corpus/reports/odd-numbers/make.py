"""Half floats, bfloat16, HDF5's own complex numbers, and references (h5py with HDF5 2.0)."""

import h5py
import numpy

with h5py.File("in.h5", "w") as file:
    file["big"] = numpy.array([1.5, -2, 65504], ">f2")
    some = file.create_dataset("some", (6,), "f2", chunks=(2,), fillvalue=numpy.float16(2.5), compression=1)
    some[2] = 7
    some.attrs["valid_max"] = numpy.float16(3)
    space, everything = h5py.h5s.create_simple((3,)), h5py.h5s.ALL
    brain = h5py.h5t.IEEE_F32LE.copy()
    brain.set_fields(15, 7, 8, 0, 7)
    brain.set_precision(16)
    brain.set_size(2)
    brain.set_ebias(127)
    made = h5py.h5d.create(file.id, b"brain", brain, space)
    made.write(everything, everything, numpy.array([1.5, -2, 3e38], "f4"), h5py.h5t.NATIVE_FLOAT)
    own = h5py.h5t.COMPLEX_IEEE_F32LE
    made = h5py.h5d.create(file.id, b"complex", own, space)
    made.write(everything, everything, numpy.arange(1, 7, dtype="f4").view("c8"), own)
    file["reference"] = numpy.array([file["big"].ref], dtype=h5py.ref_dtype)
