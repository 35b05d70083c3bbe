//! Expected content of Zarr V3 datasets without a dump by another reader. zarr-python read the values, and
//! the attributes come from the documents.

/// The expected CDL text of a store.
pub fn of(store: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(name, _)| *name == store).map(|(_, text)| *text)
}

const TEXTS: &[(&str, &str)] = &[
    (
        "fork/attrs_json.zarr.zarr",
        r#"netcdf it {
dimensions:
	x = 1 ;
variables:
	int v(x) ;
		v:dict = "{\"a\": 1, \"b\": [1,2.5,\"s\"], \"c\": {\"d\": null, \"e\": true}}" ;
		v:list = 1, 2, 3 ;
		v:listmix = "[1,\"two\",{\"three\": 3}]" ;
		v:emptylist = "" ;
		v:emptydict = "{}" ;
		v:notjson = "{not json]" ;
		v:brackets = "units [m/s]" ;
// global attributes:
		:num = "3.5" ;
		:quoted = "\"quoted\"" ;
		:nulltext = "null" ;
		:crs = "{\"type\": \"ProjectedCRS\", \"id\": {\"authority\": \"EPSG\", \"code\": 32633}}" ;
data:
 v = 1 ;
}
"#,
    ),
    (
        "fork/attrs_types.zarr.zarr",
        r#"netcdf it {
dimensions:
	x = 1 ;
variables:
	int v(x) ;
		v:a_byte = 1 ;
		v:a_ubyte = 200 ;
		v:a_short = -2 ;
		v:a_ushort = 60000 ;
		v:a_int = 3 ;
		v:a_uint = 4000000000U ;
		v:a_int64 = 5000000000LL ;
		v:a_uint64 = 18000000000000000000ULL ;
		v:a_float = 1.5 ;
		v:a_double = 2.25 ;
		v:a_char = "text value" ;
		v:a_string = "one string" ;
// global attributes:
		:g_byte = -1, 2 ;
		:g_ubyte = 1, 255 ;
		:g_short = 1, -2, 3 ;
		:g_ushort = 1, 2 ;
		:g_int = 1, -2, 3 ;
		:g_uint = 1, 2 ;
		:g_int64 = 1LL, -9000000000LL ;
		:g_uint64 = 1, 2 ;
		:g_float = 0.5, -1.25 ;
		:g_double = 0.5, 1.e+300 ;
		:g_string = "[\"a\",\"bc\",\"\"]" ;
		:g_char1 = "x" ;
		:g_empty = "" ;
		:g_nan = "NaN" ;
		:g_nanf = NaN, 1. ;
		:g_inf = "[\"Infinity\",\"-Infinity\"]" ;
		:g_unicode = "grün 日本" ;
		:g_quotes = "say \"hi\" and \\ back" ;
		:g_newline = "l1\nl2\tt" ;
data:
 v = 1 ;
}
"#,
    ),
    (
        "zarr-python/py_bool.zarr",
        r#"netcdf it {
dimensions:
	y = 3 ;
variables:
	ubyte b(y) ;
data:
 b = 1, 0, 1 ;
}
"#,
    ),
    (
        "zarr-python/py_gzip.zarr",
        r#"netcdf it {
dimensions:
	y = 5 ;
variables:
	int i4(y) ;
data:
 i4 = 0, 1, 2, 3, 4 ;
}
"#,
    ),
    (
        "zarr-python/py_partialnames.zarr",
        r#"netcdf it {
dimensions:
	y = 5 ;
	_Anonymous_Dim_4 = 4 ;
variables:
	int i4(y, _Anonymous_Dim_4) ;
data:
 i4 =
  1, 2, 3, 4,
  5, 6, 7, 8,
  9, 10, 11, 12,
  13, 14, 15, 16,
  17, 18, 19, 20 ;
}
"#,
    ),
    (
        "zarr-python/py_strings.zarr",
        r#"netcdf it {
types:
  opaque(3) _Opaque3_t ;
dimensions:
	z = 2 ;
	y = 3 ;
variables:
	string ntb(z) ;
	_Opaque3_t raw(z) ;
	string s(y) ;
data:
 ntb = "ab", "wxyz" ;
 raw = 0X616263, 0X640000 ;
 s = "a", "bb", "cçc" ;
}
"#,
    ),
    (
        "zarr-python/py_uint8.zarr",
        r#"netcdf it {
dimensions:
	y = 5 ;
variables:
	ubyte u1(y) ;
data:
 u1 = 0, 1, 2, 3, 4 ;
}
"#,
    ),
    (
        "zarr-python/py_v2keys.zarr",
        r#"netcdf it {
dimensions:
	y = 5 ;
	x = 4 ;
variables:
	int i4(y, x) ;
data:
 i4 =
  1, 2, 3, 4,
  5, 6, 7, 8,
  9, 10, 11, 12,
  13, 14, 15, 16,
  17, 18, 19, 20 ;
}
"#,
    ),
];
