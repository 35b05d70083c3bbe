"""Makes ocean.zarr: a small CF dataset as netCDF-C stores it.

usage: pip install netCDF4==1.7.5.1.post1 numpy==2.4.6 && python make.py
"""

import shutil
from pathlib import Path

import netCDF4
import numpy

path = Path(__file__).resolve().parent / "ocean.zarr"
shutil.rmtree(path, ignore_errors=True)
ocean = netCDF4.Dataset(f"file://{path}#mode=nczarr,file", "w")
ocean.setncatts({
    "Conventions": "CF-1.10",
    "title": "A small ocean",
    "institution": "made up for the examples",
    "history": "made by make.py",
})

months, depths, lats, lons = 12, 5, 24, 36
ocean.createDimension("time", None)
ocean.createDimension("depth", depths)
ocean.createDimension("lat", lats)
ocean.createDimension("lon", lons)


def coordinate(name, dtype, values, **attributes):
    variable = ocean.createVariable(name, dtype, (name,))
    variable.setncatts(attributes)
    variable[:] = values
    return variable[:]


time = coordinate("time", "f8", 15.0 + 30.0 * numpy.arange(months), standard_name="time", axis="T",
                  units="days since 2020-01-01 00:00:00", calendar="360_day")
depth = coordinate("depth", "f4", [5, 20, 50, 100, 200], standard_name="depth", axis="Z", units="m", positive="down")
lat = coordinate("lat", "f4", -57.5 + 5.0 * numpy.arange(lats), standard_name="latitude", axis="Y",
                 units="degrees_north")
lon = coordinate("lon", "f4", 5.0 + 10.0 * numpy.arange(lons), standard_name="longitude", axis="X",
                 units="degrees_east")

t, z, y, x = numpy.meshgrid(time, depth, numpy.radians(lat), numpy.radians(lon), indexing="ij")
land = (numpy.abs(numpy.degrees(y) - 20) < 20) & (numpy.degrees(x) < 60)

temp = ocean.createVariable("temp", "i2", ("time", "depth", "lat", "lon"), zlib=True, complevel=5, shuffle=True,
                            fill_value=-32768, chunksizes=(4, 5, 12, 18))
temp.setncatts({
    "standard_name": "sea_water_potential_temperature", "long_name": "temperature", "units": "degC",
    "scale_factor": 0.0078125, "add_offset": 10.0, "grid_mapping": "crs",
    "valid_min": numpy.int16(-2000), "valid_max": numpy.int16(3200),
})
season = numpy.cos(2 * numpy.pi * t / 360) * numpy.sign(y) * -2
values = 26 * numpy.cos(y) ** 2 * numpy.exp(-z / 300) + season + 0.5 * numpy.sin(3 * x)
temp[:] = numpy.ma.array(values, mask=land)

ssh = ocean.createVariable("ssh", "f4", ("time", "lat", "lon"), compression="zstd", complevel=3,
                           fill_value=numpy.float32("nan"), chunksizes=(6, 24, 36))
ssh.setncatts({"standard_name": "sea_surface_height_above_geoid", "units": "m", "grid_mapping": "crs"})
height = numpy.round((0.25 * numpy.sin(2 * x + t / 50) * numpy.cos(y))[:, 0] * 512) / 512
ssh[:] = numpy.where(land[:, 0], numpy.nan, height).astype("f4")

crs = ocean.createVariable("crs", "i4", ())
crs.setncatts({"grid_mapping_name": "latitude_longitude", "earth_radius": 6371000.0})
crs[...] = 0

stations = ocean.createGroup("stations")
stations.setncattr("featureType", "timeSeries")
stations.createDimension("station", 4)
stations.createDimension("code_len", 5)
names = stations.createVariable("name", str, ("station",))
names.setncattr("_nczarr_maxstrlen", numpy.int32(16))
names[:] = numpy.array(["Helgoland", "Tórshavn", "Reykjavík", "Santa Cruz"], object)
code = stations.createVariable("code", "S1", ("station", "code_len"))
code[:] = numpy.array([list("HELGO"), list("TORSH"), list("REYKJ"), list("SCRUZ")], "S1")
level = stations.createVariable("sea_level", "f4", ("time", "station"), zlib=True, complevel=1, fletcher32=True,
                                chunksizes=(12, 4))
level.setncatts({"units": "m", "coordinates": "name"})
level[:] = numpy.round(numpy.sin(numpy.outer(time / 57, numpy.arange(1, 5))) * 128) / 128

stations.createGroup("quality").createVariable("flag", "u1", ("station",))[:] = [0, 1, 0, 2]
ocean.close()
