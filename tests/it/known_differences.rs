//! Lines in which netCDF-C's text is wrong, with the right lines and the reasons. The stored documents
//! decide.

/// A correction.
pub struct Right {
    /// The dataset.
    pub dataset: &'static str,
    /// The reference's line without its indentation.
    pub wrong: &'static str,
    /// The replacement for that line. Its first line has the same indentation, and further lines contain
    /// their own.
    pub right: &'static str,
    /// The replacement with 17 digits, if it differs.
    pub exact: Option<&'static str>,
    /// The replacement with special attributes, if it differs.
    pub special: Option<&'static str>,
}

const fn right(dataset: &'static str, wrong: &'static str, right: &'static str) -> Right {
    Right { dataset, wrong, right, exact: None, special: None }
}

/// Numbers without a recorded type. netCDF-C uses the type of the first number for all, so it drops
/// fractions.
pub const FIRST_TYPE: &[Right] = &[
    Right {
        exact: Some(
            "face:av_float = -731., 963.60000000000002, -52., -793.60000000000002, -582.26599999999996 ;",
        ),
        ..right(
            "atts_2",
            "face:av_float = -731, 963, -52, -793, -582 ;",
            "face:av_float = -731., 963.6, -52., -793.6, -582.266 ;",
        )
    },
    Right {
        exact: Some(":av_float = -729., -259., -70.400000000000006 ;"),
        ..right("atts_2", ":av_float = -729, -259, -70 ;", ":av_float = -729., -259., -70.4 ;")
    },
    Right {
        exact: Some("float_big:a = 368., 159.09999999999999, 545.39999999999998 ;"),
        ..right("endian_2", "float_big:a = 368, 159, 545 ;", "float_big:a = 368., 159.1, 545.4 ;")
    },
];

/// A type that is hidden by another type of the same name. netCDF-C prints the name without a path, which
/// names the other type.
pub const HIDDEN_TYPE: &[Right] = &[right("nc4_ut_grouptypes", "cc rootc(y) ;", "/cc rootc(y) ;")];

/// Text stored as a bare number, boolean or NaN with the type char. netCDF-C returns its first character.
pub const BARE_TEXT: &[Right] = &[
    right("jsonatts_0", "band:j06 = \"-\" ;", "band:j06 = \"-19.25\" ;"),
    right("jsonatts_0", "band:j14 = \"1\" ;", "band:j14 = \"1.0\" ;"),
    right("jsonatts_0", "band:j16 = \"1\" ;", "band:j16 = \"01\" ;"),
    right("jsonatts_0", "band:j18 = \"1\" ;", "band:j18 = \"tRUE\" ;"),
    right("jsonatts_0", ":j05 = \"1\" ;", ":j05 = \"19\" ;"),
    right("jsonatts_0", ":j07 = \"1\" ;", ":j07 = \"true\" ;"),
    right("jsonatts_0", ":j13 = \"1\" ;", ":j13 = \"12\" ;"),
    right("jsonatts_0", ":j15 = \"n\" ;", ":j15 = \"NaN\" ;"),
    right("jsonatts_1", "z:j06 = \"-\" ;", "z:j06 = \"-51.25\" ;"),
    right("jsonatts_1", "z:j14 = \"1\" ;", "z:j14 = \"1.0\" ;"),
    right("jsonatts_1", "z:j16 = \"1\" ;", "z:j16 = \"01\" ;"),
    right("jsonatts_1", "z:j18 = \"1\" ;", "z:j18 = \"tRUE\" ;"),
    right("jsonatts_1", ":j05 = \"5\" ;", ":j05 = \"51\" ;"),
    right("jsonatts_1", ":j07 = \"1\" ;", ":j07 = \"true\" ;"),
    right("jsonatts_1", ":j13 = \"1\" ;", ":j13 = \"12\" ;"),
    right("jsonatts_1", ":j15 = \"n\" ;", ":j15 = \"NaN\" ;"),
    right("names_1", "\\1.2:paren\\(1\\) = \"1\" ;", "\\1.2:paren\\(1\\) = \"1.2\" ;"),
    right("old492_jsonatts", "obs:j06 = \"-\" ;", "obs:j06 = \"-24.25\" ;"),
    right("old492_jsonatts", "obs:j14 = \"1\" ;", "obs:j14 = \"1.0\" ;"),
    right("old492_jsonatts", "obs:j16 = \"1\" ;", "obs:j16 = \"01\" ;"),
    right("old492_jsonatts", "obs:j18 = \"1\" ;", "obs:j18 = \"tRUE\" ;"),
    right("old492_jsonatts", ":j05 = \"2\" ;", ":j05 = \"24\" ;"),
    right("old492_jsonatts", ":j07 = \"1\" ;", ":j07 = \"true\" ;"),
    right("old492_jsonatts", ":j13 = \"1\" ;", ":j13 = \"12\" ;"),
    right("old492_jsonatts", ":j15 = \"n\" ;", ":j15 = \"NaN\" ;"),
    right("old493_jsonatts", "level:j06 = \"-\" ;", "level:j06 = \"-59.25\" ;"),
    right("old493_jsonatts", "level:j14 = \"1\" ;", "level:j14 = \"1.0\" ;"),
    right("old493_jsonatts", "level:j16 = \"1\" ;", "level:j16 = \"01\" ;"),
    right("old493_jsonatts", "level:j18 = \"1\" ;", "level:j18 = \"tRUE\" ;"),
    right("old493_jsonatts", ":j05 = \"5\" ;", ":j05 = \"59\" ;"),
    right("old493_jsonatts", ":j07 = \"1\" ;", ":j07 = \"true\" ;"),
    right("old493_jsonatts", ":j13 = \"1\" ;", ":j13 = \"12\" ;"),
    right("old493_jsonatts", ":j15 = \"n\" ;", ":j15 = \"NaN\" ;"),
];

/// A list of text in a plain attribute. In netCDF-C its JSON is one text. Other programs, such as xarray and
/// h5netcdf, write and read arrays of strings in this form. A copy of netCDF-C's text would store a text
/// instead of the list.
pub const STRING_LIST: &[Right] = &[
    right(
        "atts_2",
        r#"face:s_vec = "[\"a\",\"\",\"bcd\",\"e f\"]" ;"#,
        r#"string face:s_vec = "a", "", "bcd", "e f" ;"#,
    ),
    right(
        "atts_2",
        r#":s_vec = "[\"a\",\"\",\"bcd\",\"e f\"]" ;"#,
        r#"string :s_vec = "a", "", "bcd", "e f" ;"#,
    ),
];

/// Empty text of a fixed size in plain Zarr. netCDF-C treats it as a null pointer, but other readers of Zarr
/// return text.
pub const EMPTY_TEXT: &[Right] = &[
    right(
        "strings_2",
        "five = \"ab\", NIL, \"exact\", \"toolo\", \"\u{e9}\u{65e5}\" ;",
        "five = \"ab\", \"\", \"exact\", \"toolo\", \"\u{e9}\u{65e5}\" ;",
    ),
    right("missing_2", "NIL, NIL, _, _, _, _, _,", "\"\", \"\", _, _, _, _, _,"),
    right("missing_2", "_, _, _, _, NIL, \"o\", \"o\" ;", "_, _, _, _, \"\", \"o\", \"o\" ;"),
    right("missing_2", "_, _, _, _, NIL, \"Nkg\", \"P\" ;", "_, _, _, _, \"\", \"Nkg\", \"P\" ;"),
];

/// A scalar in a dataset without `_ARRAY_DIMENSIONS`. netCDF-C omits it.
pub const LOST_SCALAR: &[Right] = &[
    Right { special: Some(SPECIAL_CRS), ..right("mode_04_nc-noxarray", "variables:", CRS) },
    right("mode_04_nc-noxarray", "data:", "data:\n\n crs = 0 ;"),
    Right { special: Some(SPECIAL_CRS), ..right("mode_05_noxarray", "variables:", CRS) },
    right("mode_05_noxarray", "data:", "data:\n\n crs = 0 ;"),
    Right { special: Some(SPECIAL_CRS), ..right("mode_11_pz-noxarray", "variables:", CRS) },
    right("mode_11_pz-noxarray", "data:", "data:\n\n crs = 0 ;"),
];

const CRS: &str = "variables:
\tint crs ;
\t\tcrs:grid_mapping_name = \"latitude_longitude\" ;
\t\tcrs:semi_major_axis = 6378140. ;";

const SPECIAL_CRS: &str = "variables:
\tint crs ;
\t\tcrs:grid_mapping_name = \"latitude_longitude\" ;
\t\tcrs:semi_major_axis = 6378140. ;
\t\tcrs:_Storage = \"chunked\" ;
\t\tcrs:_Endianness = \"little\" ;";

/// Scalars by netCDF-C 4.8.0, which stored their fill values. A later version wrote the reference text from
/// the same content.
pub const UNWRITTEN_SCALAR: &[Right] = &[
    right("old480_cf", "crs = 0 ;", "crs = _ ;"),
    right("old480_scalars", "sc_byte = 126 ;", "sc_byte = -127 ;"),
    right("old480_scalars", "sc_char = \"3\" ;", "sc_char = \"\" ;"),
    right("old480_scalars", "sc_short = 32767 ;", "sc_short = _ ;"),
    right("old480_scalars", "sc_float = 0.1 ;", "sc_float = _ ;"),
    right("old480_scalars", "sc_float = 0.100000001 ;", "sc_float = _ ;"),
    right("old480_scalars", "sc_double = 178.331887 ;", "sc_double = _ ;"),
    right("old480_scalars", "sc_double = 178.33188699999999 ;", "sc_double = _ ;"),
    right("old480_scalars", "sc_ubyte = 254 ;", "sc_ubyte = 255 ;"),
    right("old480_scalars", "sc_ushort = 0 ;", "sc_ushort = _ ;"),
    right("old480_scalars", "sc_uint = 1 ;", "sc_uint = _ ;"),
    right("old480_scalars", "sc_int64 = -9223372036854775808 ;", "sc_int64 = _ ;"),
];

/// Different wording of versions up to 4.9.2: the prefix of dataset names, their words, and our words.
pub const OTHER_WORDS: &[(&str, &str, &str)] = &[
    // Dimensions without names.
    ("old480_pure", "_zdim_", "_Anonymous_Dim_"),
    ("old492_noxarray", "_zdim_", "_Anonymous_Dim_"),
    // Plain Zarr has no superblock.
    ("old480_pure", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 0 ;"),
    ("old490_pure", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 0 ;"),
    ("old492_pure", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 0 ;"),
    ("old492_noxarray", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 0 ;"),
    // A later version wrote the text.
    ("old480_cf", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 1 ;"),
    ("old480_scalars", ":_SuperblockVersion = 2 ;", ":_SuperblockVersion = 1 ;"),
    ("old480_cf", "netcdf=4.10.2-development,nczarr=2.0.0", "netcdf=4.8.0,nczarr=1.0.0"),
    ("old480_scalars", "netcdf=4.10.2-development,nczarr=2.0.0", "netcdf=4.8.0,nczarr=1.0.0"),
    ("old490_cf", "netcdf=4.10.2-development", "netcdf=4.9.0"),
    ("old490_scalars", "netcdf=4.10.2-development", "netcdf=4.9.0"),
    // All data are in chunks.
    ("old492_", ":_Storage = \"contiguous\" ;", ":_Storage = \"chunked\" ;"),
];
