//! The element types that filters receive, and the stored descriptions of filters.

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_codec::{Filter, FilterClass, FilterInfo, Json, ZarrFormat};
use nczarr_dispatch::{Clobber, Registry};
use nczarr_model::{Chunking, Edit, ErrorKind, FilterSpec, GroupId, NcType, Result, Values};
use nczarr_nc_table::NcDispatch;
use nczarr_runtime::OutBuf;
use serde_json::json;

use crate::support::{TestMap, create, create_among, get, get_text, open, put, put_text, registry, var};

const ROOT: GroupId = GroupId::ROOT;
/// `abcd efgh ijkl mnop` as two elements of 8 bytes, shuffled.
const BY_8: &[u8] = b"aibjckdlemfngohp";

fn text_array(filter: &str) -> String {
    format!(
        r#"{{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|S4", "fill_value": "", "order": "C",
            "compressor": null, "filters": [{filter}]}}"#
    )
}

/// netCDF-C shuffles strings of any length as elements of 8 bytes and stores 0.
#[test]
fn shuffled_strings_of_netcdf_c() {
    for (filter, chunk) in [
        (r#"{"id": "shuffle", "elementsize": 0}"#, BY_8),
        (r#"{"id": "shuffle", "elementsize": "0"}"#, BY_8),
        (r#"{"id": "shuffle"}"#, BY_8),
        // An explicit setting is kept.
        (r#"{"id": "shuffle", "elementsize": 8}"#, BY_8),
        (r#"{"id": "shuffle", "elementsize": 4}"#, b"aeimbfjncgkodhlp"),
        (r#"{"id": "shuffle", "elementsize": 1}"#, b"abcdefghijklmnop"),
    ] {
        let map = TestMap::new(&[(".zgroup", r#"{"zarr_format": 2}"#), ("s/.zarray", &text_array(filter))]);
        map.put("s/0", chunk);
        let d = open(&map).unwrap();
        assert_eq!(get_text(&*d, var(&*d, "s")), ["abcd", "efgh", "ijkl", "mnop"], "{filter}");
    }
}

#[test]
fn strings_are_shuffled_as_netcdf_c_does() {
    for modes in ["nczarr", "zarr"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
        let s = d.def_var(ROOT, "s", NcType::String, &[x]).unwrap();
        d.put_att(ROOT, Some(s), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![4])).unwrap();
        d.def_var_filter(s, 2, &[]).unwrap();
        put_text(&*d, s, &[0], &[4], &["abcd", "efgh", "ijkl", "mnop"]).unwrap();
        d.close().unwrap();
        assert_eq!(map.objects()["s/0"], BY_8, "{modes}");
        assert_eq!(
            map.json("s/.zarray")["compressor"]["elementsize"].as_u64().or(elementsize(&map, "s")),
            Some(8)
        );
        let d = open(&map).unwrap();
        assert_eq!(get_text(&*d, var(&*d, "s")), ["abcd", "efgh", "ijkl", "mnop"], "{modes}");
    }
}

/// Zarr's shuffle rejects partial elements.
#[test]
fn strings_in_plain_zarr_are_shuffled_in_whole_elements() {
    for (modes, expected) in [("nczarr", 8), ("zarr", 5)] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(3)).unwrap();
        let s = d.def_var(ROOT, "s", NcType::String, &[x]).unwrap();
        d.put_att(ROOT, Some(s), "_nczarr_maxstrlen", NcType::Int, &Values::Int(vec![5])).unwrap();
        d.def_var_filter(s, 2, &[]).unwrap();
        put_text(&*d, s, &[0], &[3], &["abcde", "fghij", "klmno"]).unwrap();
        d.close().unwrap();
        assert_eq!(
            map.json("s/.zarray")["compressor"]["elementsize"].as_u64().or(elementsize(&map, "s")),
            Some(expected)
        );
        if modes == "zarr" {
            assert_eq!(map.objects()["s/0"], b"afkbglchmdinejo");
        }
        let d = open(&map).unwrap();
        assert_eq!(get_text(&*d, var(&*d, "s")), ["abcde", "fghij", "klmno"], "{modes}");
    }
}

/// A filter for numbers is rejected on other elements before anything is stored.
#[test]
fn szip_refuses_bytes_when_they_are_defined() {
    let map = TestMap::new(&[]);
    let d = create(&map, "zarr");
    let x = d.def_dim(ROOT, "x", Some(64)).unwrap();
    let nczarr_model::Defined::Type(ty) =
        d.edit(&Edit::DefOpaque { group: ROOT, name: "four", size: 4 }).unwrap()
    else {
        panic!("no type")
    };
    let v = d.def_var(ROOT, "v", NcType::User(ty), &[x]).unwrap();
    d.def_var_filter(v, 4, &[32, 16]).unwrap();
    let error = d._enddef(0, 1, 0, 1).unwrap_err();
    assert!(error.kind() == nczarr_model::ErrorKind::Filter && error.to_string().contains("szip"), "{error}");
}

/// Returns the element size of the only filter.
fn elementsize(map: &TestMap, name: &str) -> Option<u64> {
    map.json(&format!("{name}/.zarray"))["filters"][0]["elementsize"].as_u64()
}

/// A description belongs to the chunks of its dataset. A copy gets a new description.
#[test]
fn a_copied_filter_gets_a_new_description() {
    let map = TestMap::new(&[
        (".zgroup", r#"{"zarr_format": 2}"#),
        (
            "v/.zarray",
            &text_array(r#"{"id": "shuffle", "elementsize": 2}"#).replace("|S4", "<i4").replace("\"\"", "0"),
        ),
    ]);
    let from = open(&map).unwrap();
    let filters = from.model().snapshot().var(var(&*from, "v")).unwrap().filters.clone();
    assert!(filters[0].codec.is_some());
    let copy = TestMap::new(&[]);
    let d = create(&copy, "nczarr");
    let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    d.def_var_chunking(v, &Chunking::Chunked(vec![4])).unwrap();
    d.def_var_filter_spec(v, &filters[0]).unwrap();
    // Without an id, the description is the only source.
    let gzip = FilterSpec {
        name: "gzip".into(),
        codec: Some(r#"{"id": "gzip", "level": 3}"#.into()),
        ..Default::default()
    };
    d.def_var_filter_spec(v, &gzip).unwrap();
    put(&*d, v, &[0], &[4], &[1.0, 2.0, 3.0, 4.0]);
    d.close().unwrap();
    assert_eq!(elementsize(&copy, "v"), Some(4));
    assert_eq!(copy.json("v/.zarray")["compressor"]["level"], 3);
    let d = open(&copy).unwrap();
    assert_eq!(get(&*d, var(&*d, "v")), [1.0, 2.0, 3.0, 4.0]);
}

/// netCDF-C opens no dataset with a negative number in a filter. Other readers know signed levels.
#[test]
fn negative_levels_are_spelled_as_the_readers_want_them() {
    for (modes, level) in [("nczarr", 4_294_967_291i64), ("zarr", -5)] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
        let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
        d.def_var_filter(v, 32015, &[5u32.wrapping_neg()]).unwrap();
        put(&*d, v, &[0], &[4], &[1.0, 2.0, 3.0, 4.0]);
        d.close().unwrap();
        assert_eq!(map.json("v/.zarray")["compressor"]["level"], level, "{modes}");
        let d = open(&map).unwrap();
        let v = var(&*d, "v");
        assert_eq!(get(&*d, v), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(d.model().snapshot().var(v).unwrap().filters[0].params, [5u32.wrapping_neg()]);
    }
}

/// Szip's scanlines are as long as the array's last dimension. An unlimited last dimension has no stored
/// length.
#[test]
fn szip_wants_numbers_and_a_last_dimension_that_stays() {
    let shapes: [(&[Option<u64>], Option<&str>); 4] = [
        (&[Some(7), Some(29)], None),
        (&[None, Some(29)], None),
        (&[Some(29), None], Some("fixed length")),
        (&[Some(7), Some(2)], Some("fewer than the 16 pixels")),
    ];
    for modes in ["nczarr", "zarr"] {
        for (shape, refused) in shapes {
            let map = TestMap::new(&[]);
            let d = create(&map, modes);
            let dims: Vec<_> = shape
                .iter()
                .enumerate()
                .map(|(at, &len)| d.def_dim(ROOT, &format!("d{at}"), len).unwrap())
                .collect();
            let v = d.def_var(ROOT, "v", NcType::Short, &dims).unwrap();
            d.def_var_chunking(v, &Chunking::Chunked(vec![3, if shape[1] == Some(2) { 2 } else { 13 }]))
                .unwrap();
            d.def_var_filter(v, 4, &[32, 16]).unwrap();
            assert_eq!(d.inq_var_filter_info(v, 4).unwrap(), [32, 16]);
            let Some(refused) = refused else {
                let data: Vec<f64> = (0..7 * 29).map(|i| f64::from(i / 5)).collect();
                put(&*d, v, &[0, 0], &[7, 29], &data);
                d.close().unwrap();
                let document = map.json("v/.zarray");
                let codec = document["filters"].get(0).unwrap_or(&document["compressor"]);
                assert_eq!(*codec, serde_json::json!({"id": "szip", "mask": 32, "pixels-per-block": 16}));
                let d = open(&map).unwrap();
                let v = var(&*d, "v");
                assert_eq!(get(&*d, v), data);
                assert_eq!(
                    (d.inq_var_filter_ids(v).unwrap(), d.inq_var_filter_info(v, 4).unwrap()),
                    (vec![4], vec![32, 16])
                );
                continue;
            };
            let error = d._enddef(0, 1, 0, 1).unwrap_err();
            assert_eq!(error.kind(), nczarr_model::ErrorKind::Filter, "{error}");
            assert!(error.to_string().contains(refused) && error.to_string().contains("szip"), "{error}");
        }
    }
    // netCDF-C treats strings as pointers, in any stored form.
    let szip = r#"{"id": "szip", "mask": 4, "pixels-per-block": 2}"#;
    let map = TestMap::new(&[(".zgroup", r#"{"zarr_format": 2}"#), ("s/.zarray", &text_array(szip))]);
    let d = open(&map).unwrap();
    let problem = d.model().snapshot().var(var(&*d, "s")).unwrap().problem.clone().unwrap();
    assert!(problem.to_string().contains("works on numbers"), "{problem}");
}

/// Every filter with an HDF5 id is defined, reported and found by its id. Chunks that the filter lengthens
/// are stored.
#[test]
fn filters_by_id_and_chunks_that_do_not_shrink() {
    let noise: Vec<f64> = (0..64u64).map(|i| f64::from((i * i * 2_654_435_761 % (1 << 31)) as u32)).collect();
    for row in nczarr_filters::HDF5_FILTERS.iter().filter(|row| row.codec.is_some()) {
        let params: &[u32] = match row.name {
            "szip" => &[4, 8],
            "blosc" => &[0, 0, 0, 0, 5, 1, 1],
            "deflate" | "bzip2" | "zstd" => &[4],
            "lz4" => &[0, 2],
            _ => &[],
        };
        for modes in ["nczarr", "zarr"] {
            let map = TestMap::new(&[]);
            let d = create(&map, modes);
            let x = d.def_dim(ROOT, "x", Some(64)).unwrap();
            let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
            d.def_var_filter(v, row.id, params).unwrap();
            put(&*d, v, &[0], &[64], &noise);
            d.close().unwrap();
            let d = open(&map).unwrap();
            let v = var(&*d, "v");
            assert_eq!(d.inq_var_filter_ids(v).unwrap(), [row.id], "{modes}");
            let found = d.inq_var_filter_info(v, row.id).unwrap();
            // Blosc computes the first four parameters.
            let visible = if row.name == "blosc" { 4 } else { 0 };
            assert_eq!(found[visible..], params[visible..], "{} {modes}", row.name);
            assert_eq!(get(&*d, v), noise, "{} {modes}", row.name);
        }
    }
}

/// A foreign filter that has a name in only one version of Zarr.
#[derive(Debug, Clone)]
struct Only(ZarrFormat);

/// A filter that can only read data.
struct ReadOnly;

impl FilterClass for ReadOnly {
    fn info(&self) -> &FilterInfo {
        &ONLY
    }

    fn parse_params(&self, _: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Only(ZarrFormat::V2)))
    }

    fn parse_json(&self, _: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Only(ZarrFormat::V2)))
    }

    fn can_encode(&self) -> bool {
        false
    }
}

#[test]
fn read_only_filters_cannot_be_defined() {
    let among = Arc::new(Registry::new().with_filter(ReadOnly));
    let d = create_among(&among, &TestMap::new(&[]), "mode=nczarr,file", Clobber::Refuse, false).unwrap();
    let v = d.def_var(ROOT, "v", NcType::Int, &[]).unwrap();
    assert_eq!(d.def_var_filter(v, 40_000, &[]).unwrap_err().kind(), ErrorKind::NoFilter);
    let filters = [FilterSpec { name: ONLY.name.to_owned(), ..FilterSpec::default() }];
    let outcome = d.editor().unwrap().apply(&Edit::DefVarFilters { var: v, filters: &filters }).map(drop);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::NoFilter);
}

static ONLY: FilterInfo =
    FilterInfo { hdf5_id: Some(40_000), ..FilterInfo::new("example.not", "turns bits over") };

impl FilterClass for Only {
    fn info(&self) -> &FilterInfo {
        &ONLY
    }

    fn parse_params(&self, _: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(self.clone()))
    }

    fn parse_json(&self, _: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(self.clone()))
    }
}

impl Filter for Only {
    fn info(&self) -> &FilterInfo {
        &ONLY
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        match format {
            _ if format != self.0 => Json::Null,
            ZarrFormat::V2 => json!({"id": ONLY.name}),
            ZarrFormat::V3 => json!({"name": ONLY.name, "configuration": {}}),
        }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(&src.iter().map(|byte| !byte).collect::<Vec<_>>())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.encode(src, dst)
    }
}

/// The dataset's Zarr version decides.
#[test]
fn a_filter_may_have_a_name_in_one_generation() {
    for (modes, format) in [
        ("nczarr", ZarrFormat::V2),
        ("nczarr,v3", ZarrFormat::V3),
        ("zarr", ZarrFormat::V2),
        ("zarr,v3", ZarrFormat::V3),
    ] {
        for named in [ZarrFormat::V2, ZarrFormat::V3] {
            let registry = Arc::new(Registry::clone(&registry()).with_filter(Only(named)));
            let map = TestMap::new(&[]);
            let d =
                create_among(&registry, &map, &format!("mode={modes},file"), Clobber::Refuse, false).unwrap();
            let x = d.def_dim(ROOT, "x", Some(4)).unwrap();
            let v = d.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
            let set = d.def_var_filter(v, 40_000, &[]);
            if named != format {
                assert_eq!(set.unwrap_err().kind(), ErrorKind::NoFilter, "{modes}");
                continue;
            }
            set.unwrap();
            put(&*d, v, &[0], &[4], &[1.0, 2.0, 3.0, 4.0]);
            assert_eq!(get(&*d, v), [1.0, 2.0, 3.0, 4.0], "{modes}");
            d.close().unwrap();
            let documents = map.objects().into_values().filter_map(|bytes| String::from_utf8(bytes).ok());
            assert!(documents.filter(|text| text.contains(ONLY.name)).count() > 0, "{modes}");
            let stored: Vec<u8> =
                [1_i32, 2, 3, 4].iter().flat_map(|number| (!number).to_le_bytes()).collect();
            assert!(map.objects().values().any(|bytes| *bytes == stored), "{modes}");
        }
    }
}
