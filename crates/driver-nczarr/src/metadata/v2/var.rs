//! Builds the variable of one array, except for its dimensions, which flavours set.
//!
//! [`build`] turns an array's documents into a [`VariableDraft`]: a [`Var`], and a [`StoredVariable`] for
//! reading its data and writing its documents. Unreadable metadata becomes the variable's `problem`: the
//! variable is listed, and reading its data returns that error. The result depends only on the documents, so
//! any thread can build it.

use std::sync::Arc;

use nczarr_model::{Att, Chunking, Error, ErrorKind, NameHasher, NcType, Result, Values, Var, VarFill};
use nczarr_storage::Key;

use crate::flavour::annotation;
use crate::flavour::dim_refs::dim_refs;
use crate::flavour::kind::DimNaming;
use crate::flavour::nczarr_lists::{self};
use crate::metadata::attributes::{self, FILL_VALUE};
use crate::metadata::base64;
use crate::metadata::codecs::{self};
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::members::at_document;
use crate::metadata::types::dtype::{DType, DTypeKind};
use crate::metadata::types::foreign;
use crate::metadata::v2::array_meta::{self, ArrayMeta};
use crate::metadata::v2::fill::{self, TextFill};
use crate::metadata::v2::{ZARRAY, ZATTRS};
use crate::metadata::variable::{DimRefs, ReadContext, StoredVariable, VariableDraft, set_problem};
use crate::user;

/// Attributes of time variables: the units, and the count that stands for no time.
const UNITS: &str = "units";
const MISSING_VALUE: &str = "missing_value";

/// Builds the variable of the array at `key` from its `.zarray` and `.zattrs`.
pub(crate) fn build_from_documents(
    key: &Key,
    zarray: Result<&Value<'_>>,
    attrs: Result<Option<&Value<'_>>>,
    reading: &ReadContext<'_>,
) -> VariableDraft {
    // A document `null` counts as absent.
    let attrs = attrs.map(|attrs| attrs.filter(|document| !document.is_null()));
    let attrs = attrs.and_then(|attrs| attrs.map(|document| members(document, key)).transpose());
    build(key, zarray, attrs, reading)
}

/// Returns the attributes of the array at `key`.
fn members<'d, 't>(document: &'d Value<'t>, key: &Key) -> Result<&'d ObjectMembers<'t>> {
    document.as_object().ok_or_else(|| {
        let at = if key.is_root() { String::new() } else { format!("{key}/") };
        ErrorKind::NcZarr.context(format!("{at}{ZATTRS}: expected an object, found {}", document.kind()))
    })
}

/// Builds the variable of the array at `key` from its `.zarray` and the members of its `.zattrs`.
pub(crate) fn build(
    key: &Key,
    zarray: Result<&Value<'_>>,
    attrs: Result<Option<&ObjectMembers<'_>>>,
    reading: &ReadContext<'_>,
) -> VariableDraft {
    let mut var = Var { chunking: Chunking::Default, ..Var::default() };
    let mut shared = Arc::<StoredVariable>::default();
    let stored = Arc::make_mut(&mut shared);
    let none = ObjectMembers::new();
    let attrs = match attrs {
        Ok(found) => found.unwrap_or(&none),
        Err(error) => {
            stored.attrs_lost = true;
            set_problem(&mut var, error);
            &none
        }
    };
    let own = |document: &Value<'_>| document.clone().into_owned();
    let read = zarray.and_then(|document| {
        let read = ArrayMeta::read(document, reading.limits.rank, reading.keep);
        read.map(|read| (document, read)).map_err(|error| {
            stored.document = reading.keep.then(|| own(document));
            at_document(error, key, ZARRAY)
        })
    });
    stored.only_unwritten = annotation::is_only_unwritten(attrs);
    let mut links = DimRefs::None;
    if reading.naming == DimNaming::References {
        stored.typed = user::typed_atts(attrs);
    }
    match read {
        Ok((document, read)) => {
            links = dim_refs(reading.naming, attrs, document, read.meta.shape.len());
            stored.meta = Some(fill_in(&mut var, stored, read, attrs, key, reading));
            let named = matches!(&links, DimRefs::Names(names) if names.iter().all(Option::is_some));
            if named && !stored.only_unwritten && var.xtype.is_atomic() {
                stored.implied_fill = imply_fill(&mut var);
            }
        }
        Err(error) => {
            set_problem(&mut var, error);
            var.atts = shown_attributes(attrs, None, 0);
        }
    }
    if reading.keep {
        stored.attrs = attrs.clone().into_owned();
    }
    VariableDraft { var: Arc::new(var), stored: shared, dim_refs: links }
}

/// Fills in the variable from the array's document; returns the layout.
fn fill_in(
    var: &mut Var,
    stored: &mut StoredVariable,
    read: array_meta::ParsedArrayMeta<'_, '_>,
    attrs: &ObjectMembers<'_>,
    key: &Key,
    reading: &ReadContext<'_>,
) -> ArrayMeta {
    let array_meta::ParsedArrayMeta { mut meta, fill, codecs } = read;
    let at = |error: Error| at_document(error, key, ZARRAY);
    // The variable shows the intended type, even if a writer bug stored another one.
    var.endian = meta.dtype.endian();
    let units = show_times(&mut meta.dtype, reading.counted_times);
    if !reading.char_mark && meta.dtype.kind == DTypeKind::Char {
        meta.dtype.kind = DTypeKind::Text(1);
    }
    if let Some(text) = reading.writer_bugs.true_type(&meta.dtype.text) {
        meta.dtype = DType::from_name(&text);
        // New documents have the true type; plain Zarr has no char.
        if reading.keep && (reading.char_mark || meta.dtype.kind != DTypeKind::Char) {
            var.endian = meta.dtype.endian();
            meta.raw.insert("dtype", Value::String(text.into()));
        }
    }
    let dtype = &meta.dtype;
    // An arbitrary type for unreadable data.
    var.xtype = dtype.xtype().unwrap_or(NcType::Byte);
    var.stored_type = dtype.foreign_name();
    let is_char = !reading.plain_fill && annotation::is_char(attrs, dtype.kind);
    if is_char {
        var.xtype = NcType::Char;
    } else if !reading.plain_fill && matches!(dtype.kind, DTypeKind::Text(_)) {
        // In NCZarr attributes give the length of strings.
        var.stored_type = Some(dtype.text.clone());
    }
    var.chunking = Chunking::Chunked(meta.chunks.clone());
    // By xarray's convention the fill value becomes another attribute.
    let implied =
        reading.naming == DimNaming::Attribute && !fill.is_null() && !attrs.contains_key(FILL_VALUE);
    var.atts = shown_attributes(attrs, Some(dtype), usize::from(implied));
    var.atts.extend(units);
    let char_fill = |value| if is_char { annotation::char_fill(value) } else { value };
    if is_char && let Some(fill) = var.atts.get_mut(FILL_VALUE) {
        *fill = annotation::char_fill(fill.clone());
    }
    var.quantize = nczarr_chunkio::rounding(&var.atts);
    if dtype.kind == DTypeKind::Other {
        set_problem(
            var,
            at(ErrorKind::BadType.context(format!("member \"dtype\": type {} is not supported", dtype.text))),
        );
    }
    if let Err(error) = codecs::read(var, stored, &meta, &codecs, reading) {
        set_problem(var, at(error));
    }
    if stored.list.is_some() {
        var.xtype = foreign::UNDEFINED;
    }
    if dtype.kind != DTypeKind::Other {
        let attribute = attrs.get(FILL_VALUE).and_then(Value::as_str);
        let form = if reading.plain_fill { TextFill::Plain } else { TextFill::Standard(attribute) };
        match fill::parse(fill, dtype, form).map(|fill| fill.map(char_fill)) {
            _ if fill::is_large_zero(fill, dtype) => var.fill = VarFill::Default,
            _ if fill.is_null() && user::is_typed(attrs) => var.fill = VarFill::NoFill,
            Ok(fill) if stored.list.is_some() => {
                match list_fill(fill, stored.list, reading.naming == DimNaming::References) {
                    Some(bytes) => {
                        var.fill = VarFill::Value(Values::Packed(foreign::NO_TYPE, vec![bytes.into()]))
                    }
                    None => set_problem(
                        var,
                        at(ErrorKind::NcZarr.context("member \"fill_value\": the value is not a list")),
                    ),
                }
            }
            Ok(None) => var.fill = VarFill::NoFill,
            Ok(Some(value)) if value.nc_type() == var.xtype && nczarr_model::fill::is_default(&value) => {
                var.fill = VarFill::Default;
            }
            Ok(Some(value)) => var.fill = VarFill::Value(same_nan(value, var.atts.get(FILL_VALUE))),
            Err(error) => set_problem(var, at(error)),
        }
    }
    meta
}

/// Shows a time type as counts, if requested and possible. Returns the attributes that describe the counts;
/// they override stored ones.
pub(crate) fn show_times(dtype: &mut DType, counts: bool) -> Vec<(String, Values)> {
    let DTypeKind::Time { unit, counted } = &mut dtype.kind else { return Vec::new() };
    let Some(units) = unit.cf_units().filter(|_| counts) else { return Vec::new() };
    *counted = true;
    let missing = Values::Int64(vec![i64::MIN]);
    vec![(UNITS.to_owned(), Values::text(&units)), (MISSING_VALUE.to_owned(), missing)]
}

/// Returns the bytes of the list that unwritten elements read as: empty, or from base64 for byte lists and
/// NCZarr.
fn list_fill(fill: Option<Values>, base: Option<NcType>, nczarr: bool) -> Option<Vec<u8>> {
    match fill {
        Some(Values::String(text)) => match text.first().map(|text| text.to_str()) {
            None | Some(Ok("")) => Some(Vec::new()),
            Some(Ok(_)) if base != Some(NcType::UByte) && !nczarr => None,
            Some(Ok(text)) => {
                let size = base.and_then(NcType::size).unwrap_or(1);
                base64::decode(text).filter(|bytes| bytes.len().is_multiple_of(size))
            }
            Some(_) => None,
        },
        _ => Some(Vec::new()),
    }
}

/// Shows the array's fill value as `_FillValue`, by xarray's convention; the attribute is not stored.
fn imply_fill(var: &mut Var) -> Option<Values> {
    let VarFill::Value(value) = &var.fill else { return None };
    if var.atts.contains_key(FILL_VALUE) || is_rounded_default(value) {
        return None;
    }
    let value = value.clone();
    add_fill_attribute(var, Some(&value));
    Some(value)
}

/// Adds a fill value as an attribute.
pub(crate) fn add_fill_attribute(var: &mut Var, value: Option<&Values>) {
    if let Some(value) = value {
        var.atts.insert(FILL_VALUE.to_owned(), value.clone());
    }
}

/// netCDF-C writes the default fill value of a double with six digits.
fn is_rounded_default(value: &Values) -> bool {
    *value == Values::Double(vec![9.96921e36])
}

/// Returns the fill value of an array; for a NaN the attribute's, which has exact bits.
fn same_nan(value: Values, attribute: Option<&Values>) -> Values {
    let is_nan = |values: &Values| match values {
        Values::Float(v) => matches!(v[..], [v] if v.is_nan()),
        Values::Double(v) => matches!(v[..], [v] if v.is_nan()),
        _ => false,
    };
    match attribute.filter(|same| same.nc_type() == value.nc_type() && is_nan(same)) {
        Some(same) if is_nan(&value) => same.clone(),
        _ => value,
    }
}

/// Returns the attributes to show. `_FillValue` has the type `dtype` of the variable, whatever was recorded.
/// `more`: reserve capacity for this many more.
pub(crate) fn shown_attributes(attrs: &ObjectMembers<'_>, dtype: Option<&DType>, more: usize) -> Att {
    let count = attrs.iter().filter(|(name, _)| !attributes::is_reserved(name)).count();
    let mut shown = Att::with_capacity_and_hasher(count + more, NameHasher::default());
    if count == 0 {
        return shown;
    }
    let recorded = RecordedValues::of(attrs);
    for (name, value) in attrs {
        if !attributes::is_reserved(name) {
            shown.insert(name.to_owned(), recorded.present(name, value, dtype));
        }
    }
    shown
}

/// Returns one attribute in the form of [`shown_attributes`].
pub(crate) fn shown_attribute(
    attrs: &ObjectMembers<'_>,
    name: &str,
    value: &Value<'_>,
    dtype: Option<&DType>,
) -> Values {
    RecordedValues::of(attrs).present(name, value, dtype)
}

/// NCZarr's records beside the attributes.
struct RecordedValues<'a, 't> {
    types: Option<&'a ObjectMembers<'t>>,
    kept: [Option<&'a ObjectMembers<'t>>; 2],
    /// The records are an annotation, which other programs may not have updated.
    is_annotation: bool,
}

impl<'a, 't> RecordedValues<'a, 't> {
    fn of(attrs: &'a ObjectMembers<'t>) -> Self {
        Self {
            types: nczarr_lists::recorded_types(attrs),
            kept: nczarr_lists::recorded_exact(attrs),
            is_annotation: !attrs.contains_key(attributes::NCZARR_ATTR),
        }
    }

    fn present(&self, name: &str, value: &Value<'_>, dtype: Option<&DType>) -> Values {
        let fill = dtype
            .filter(|dtype| name == FILL_VALUE && !dtype.is_user())
            .and_then(|dtype| fill::parse(value, dtype, TextFill::Plain).ok()?);
        let ty = || {
            let ty = self.types?.get(name)?.as_str()?;
            (!self.is_annotation || annotation::fits(value, ty)).then_some(ty)
        };
        let values = fill.unwrap_or_else(|| attributes::read(value, ty()));
        attributes::restore(values, name, self.kept)
    }
}
