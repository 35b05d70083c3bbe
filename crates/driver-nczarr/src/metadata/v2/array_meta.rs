//! The `.zarray` document of Zarr V2 as [`ArrayMeta`]; `render` writes it.
//!
//! It holds only members of the specification; flavours come later. Unknown members are kept and written
//! back. The fill value stays JSON, because its meaning depends on the type and the flavour.
//!
//! Source: Zarr storage specification version 2, with the leniencies of the format notes.

use std::sync::Arc;

use nczarr_chunkio::DimOrder;
use nczarr_codec::AxisEdges;
use nczarr_model::{ErrorKind, Result};

use crate::metadata::json::{Json, Object, Value};
use crate::metadata::members::{bad_member, sizes};
use crate::metadata::types::dtype::DType;

/// The contents of a `.zarray` document, or their equivalent in V3.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArrayMeta {
    pub(crate) shape: Vec<u64>,
    /// Same rank as `shape`, every entry at least 1.
    pub(crate) chunks: Vec<u64>,
    /// The edges along each dimension if chunks, or the outermost shards, differ in shape; `chunks` then has
    /// the longest ones.
    pub(crate) axes: Option<Arc<[AxisEdges]>>,
    /// The shape of the outermost shards, if chunks lie in shards: each a multiple of the chunk's.
    pub(crate) shards: Option<Vec<u64>>,
    pub(crate) dtype: DType,
    /// `null` if absent, or if the dataset is read-only.
    pub(crate) fill: Json,
    pub(crate) order: DimOrder,
    pub(crate) separator: char,
    /// Whether chunk keys begin with `c`, as in V3.
    pub(crate) prefix: bool,
    /// The codecs in encoding order: `filters`, then `compressor`. Empty if the dataset is read-only.
    pub(crate) codecs: Vec<Json>,
    /// The type and codecs of a V3 array; `None` if the dataset is read-only.
    pub(crate) v3: Option<V3Description>,
    /// The parsed document; empty for a new array, or if the dataset is read-only.
    pub(crate) raw: Object,
}

/// The type and codecs of a V3 array.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct V3Description {
    pub(crate) data_type: Json,
    pub(crate) codecs: Json,
}

/// A parsed document, with the parts whose meaning depends on other documents.
#[derive(Debug)]
pub(crate) struct ParsedArrayMeta<'d, 't> {
    pub(crate) meta: ArrayMeta,
    /// The fill value; `null` if absent.
    pub(crate) fill: &'d Value<'t>,
    /// As [`ArrayMeta::codecs`].
    pub(crate) codecs: Vec<&'d Value<'t>>,
}

impl ArrayMeta {
    /// Parses the document. `keep`: also keeps the parts that only writing needs.
    ///
    /// # Errors
    /// [`ErrorKind::NcZarr`] with the member, the expected and the found value.
    pub(crate) fn read<'d, 't>(
        document: &'d Value<'t>,
        rank_limit: usize,
        keep: bool,
    ) -> Result<ParsedArrayMeta<'d, 't>> {
        let raw = document.as_object().ok_or_else(|| {
            ErrorKind::NcZarr.context(format!("expected an object, found {}", document.kind()))
        })?;
        match raw.get("zarr_format").map(Value::as_u64) {
            Some(Some(2)) => {}
            Some(_) => return Err(bad_member("zarr_format", "2", raw.get("zarr_format"))),
            None => return Err(bad_member("zarr_format", "2", None)),
        }
        let shape = sizes(raw, "shape", rank_limit)?;
        let mut chunks = sizes(raw, "chunks", rank_limit)?;
        if chunks.len() != shape.len() {
            return Err(ErrorKind::NcZarr.context(format!(
                "member \"chunks\" has {} entries, \"shape\" has {}",
                chunks.len(),
                shape.len()
            )));
        }
        for (chunk, &len) in chunks.iter_mut().zip(&shape) {
            match (*chunk, len) {
                // Some writers give an empty dimension chunks of length 0.
                (0, 0) => *chunk = 1,
                (0, _) => return Err(bad_member("chunks", "sizes of at least 1", raw.get("chunks"))),
                _ => {}
            }
        }
        let dtype = raw.get("dtype").ok_or_else(|| bad_member("dtype", "a type string", None))?;
        let dtype = DType::parse(dtype).map_err(|error| error.at("member \"dtype\""))?;
        let order = match raw.get("order").map(|order| order.as_str()) {
            None | Some(Some("C")) => DimOrder::C,
            Some(Some("F")) => DimOrder::F,
            Some(_) => return Err(bad_member("order", "\"C\" or \"F\"", raw.get("order"))),
        };
        let separator = match raw.get("dimension_separator").and_then(Value::as_str) {
            Some("/") => '/',
            _ => '.',
        };
        let mut codecs = Vec::new();
        match raw.get("filters") {
            Some(Value::Array(filters)) => codecs.extend(filters),
            Some(other) if !other.is_null() => {
                return Err(bad_member("filters", "a list or null", Some(other)));
            }
            _ => {}
        }
        match raw.get("compressor") {
            Some(compressor) if !compressor.is_null() => codecs.push(compressor),
            _ => {}
        }
        for codec in &codecs {
            codec_id(codec)?;
        }
        let fill = raw.get("fill_value").unwrap_or(&Value::Null);
        let mut meta = Self {
            shape,
            chunks,
            axes: None,
            shards: None,
            dtype,
            fill: Json::Null,
            order,
            separator,
            prefix: false,
            codecs: Vec::new(),
            v3: None,
            raw: Object::new(),
        };
        if keep {
            let own = |value: &Value<'_>| value.clone().into_owned();
            meta.fill = own(fill);
            meta.codecs = codecs.iter().map(|codec| own(codec)).collect();
            meta.raw = raw.clone().into_owned();
        }
        Ok(ParsedArrayMeta { meta, fill, codecs })
    }
}

/// Returns the id of a codec description.
pub(crate) fn codec_id<'d>(codec: &'d Value<'_>) -> Result<&'d str> {
    let id = codec.as_object().and_then(|members| members.get("id")).and_then(Value::as_str);
    id.ok_or_else(|| {
        ErrorKind::NcZarr.context(format!(
            "members \"filters\", \"compressor\": expected an object with an \"id\", found {}",
            crate::metadata::json::text(codec)
        ))
    })
}

/// The codecs that compress, and may be the `compressor`. Readers accept any codec among the `filters`.
const COMPRESSORS: &[&str] = &["zlib", "gzip", "zstd", "blosc", "bz2", "lzma", "lz4"];

/// Splits a codec chain into `filters` and `compressor`.
pub(crate) fn split_codecs(codecs: &[Json]) -> (Vec<Json>, Option<Json>) {
    match codecs.split_last() {
        Some((last, before)) if codec_id(last).is_ok_and(|id| COMPRESSORS.contains(&id)) => {
            (before.to_vec(), Some(last.clone()))
        }
        _ => (codecs.to_vec(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::parse;
    use nczarr_dispatch::Limits;

    fn read(document: &str) -> Result<ArrayMeta> {
        Ok(ArrayMeta::read(&parse(document.as_bytes(), &Limits::default())?, 1024, true)?.meta)
    }

    #[test]
    fn a_document_is_read() {
        let document = r#"{"zarr_format": 2, "shape": [7,10], "dtype": "<i4", "chunks": [4,3], "fill_value": 0, "order": "F", "compressor": {"id": "zlib", "level": 5}, "filters": [{"id": "shuffle", "elementsize": 0}], "dimension_separator": "/", "extra": [1]}"#;
        let meta = read(document).unwrap();
        assert_eq!((meta.shape.as_slice(), meta.chunks.as_slice()), ([7, 10].as_slice(), [4, 3].as_slice()));
        assert_eq!((meta.order, meta.separator), (DimOrder::F, '/'));
        let ids: Vec<_> = meta.codecs.iter().map(|codec| codec_id(codec).unwrap()).collect();
        assert_eq!(ids, ["shuffle", "zlib"]);
    }

    #[test]
    fn only_compressors_stand_as_the_compressor() {
        let meta = |ids: &[&str]| {
            let codecs: Vec<_> = ids
                .iter()
                .map(|id| Json::Object([("id", Json::string(*id))].into_iter().collect()))
                .collect();
            let (filters, compressor) = split_codecs(&codecs);
            let ids =
                |codecs: &[Json]| codecs.iter().map(|c| codec_id(c).unwrap().to_owned()).collect::<Vec<_>>();
            (ids(&filters), compressor.map(|c| codec_id(&c).unwrap().to_owned()))
        };
        assert_eq!(meta(&["shuffle", "zlib"]), (vec!["shuffle".into()], Some("zlib".into())));
        assert_eq!(meta(&["zlib", "fletcher32"]), (vec!["zlib".into(), "fletcher32".into()], None));
        assert_eq!(meta(&["shuffle"]), (vec!["shuffle".into()], None));
        assert_eq!(meta(&[]), (vec![], None));
    }

    #[test]
    fn lenient_where_writers_are_sloppy() {
        let meta = read(r#"{"zarr_format":2,"shape":[],"chunks":[],"dtype":"<f4"}"#).unwrap();
        assert_eq!(
            (meta.fill, meta.order, meta.separator, meta.codecs.len()),
            (Json::Null, DimOrder::C, '.', 0)
        );
        let meta = read(
            r#"{"zarr_format":2,"shape":[0,2.0],"chunks":[0,2],"dtype":"<f4","filters":[],"dimension_separator":"x"}"#,
        )
        .unwrap();
        assert_eq!((meta.chunks.as_slice(), meta.separator), ([1, 2].as_slice(), '.'));
    }

    #[test]
    fn wrong_members_are_named() {
        let good = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","order":"C","filters":null,"compressor":null}"#;
        assert!(read(good).is_ok());
        for (from, to, member) in [
            ("\"zarr_format\":2", "\"zarr_format\":3", "zarr_format"),
            ("\"zarr_format\":2,", "", "zarr_format"),
            ("\"shape\":[4]", "\"shape\":4", "shape"),
            ("\"shape\":[4]", "\"shape\":[-1]", "shape"),
            ("\"shape\":[4]", "\"shape\":[\"4\"]", "shape"),
            ("\"shape\":[4]", "\"shape\":[1.5]", "shape"),
            ("\"shape\":[4]", "\"shape\":[18446744073709551616]", "shape"),
            ("\"shape\":[4]", "\"shape\":null", "shape"),
            ("\"chunks\":[2]", "\"chunks\":[0]", "chunks"),
            ("\"chunks\":[2]", "\"chunks\":[2,2]", "chunks"),
            ("\"chunks\":[2]", "\"chunks\":null", "chunks"),
            ("\"dtype\":\"<i4\"", "\"dtype\":4", "dtype"),
            ("\"dtype\":\"<i4\",", "", "dtype"),
            ("\"order\":\"C\"", "\"order\":\"A\"", "order"),
            ("\"filters\":null", "\"filters\":{}", "filters"),
            ("\"filters\":null", "\"filters\":[3]", "filters"),
            ("\"compressor\":null", "\"compressor\":[]", "compressor"),
            ("\"compressor\":null", "\"compressor\":{\"level\":1}", "compressor"),
        ] {
            let error = read(&good.replace(from, to)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NcZarr);
            assert!(error.what().contains(&format!("\"{member}\"")), "{to}: {error}");
        }
        assert_eq!(read("[]").unwrap_err().kind(), ErrorKind::NcZarr);
        let huge = read(&good.replace("[4]", "[18446744073709551615]")).unwrap();
        assert_eq!(huge.shape, [u64::MAX]);
        let many = good.replace("[4]", &format!("[{}1]", "1,".repeat(2000)));
        assert_eq!(read(&many).unwrap_err().kind(), ErrorKind::MaxDims);
    }
}
