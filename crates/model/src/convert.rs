//! Conversion between number types, with the range rule of netCDF.
