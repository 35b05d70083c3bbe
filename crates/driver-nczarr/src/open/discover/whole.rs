//! The root of a store whose nodes are all read: its own documents, or consolidated metadata.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::OpenRequest;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;

use super::DiscoveredRoot;
use super::documents::RootDocuments;
use crate::legacy::NczarrVersion;
use crate::metadata::json::{self, Json, Value};
use crate::metadata::v2::consolidated::{Consolidated, ZMETADATA};
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3;
use crate::metadata::v3::document::{self, NodeType, ZARR_JSON};
use crate::open::prefetch;
use crate::open::tree::RawRoot;

impl<'a> DiscoveredRoot<'a> {
    /// Interprets the root's documents.
    ///
    /// # Errors
    /// `NC_EZARRMETA` for consolidated metadata of another format, `NC_ENCZARR` with key and member for
    /// invalid documents; errors of the map.
    pub(super) fn whole(self, documents: &'a RootDocuments, request: &OpenRequest<'_>) -> Result<Self> {
        if let Some(found) = documents.get(ZARR_JSON)? {
            let document = json::read(found, self.reader.limits)
                .map_err(|error| error.in_key(ZARR_JSON).at(ZARR_JSON))?;
            let is_v2 = [ZGROUP, ZARRAY].iter().any(|name| matches!(documents.get(name), Ok(Some(_))));
            // A store with documents of both versions counts as V3.
            if !is_v2 || document::node_type(&document).is_ok() {
                return self.whole_v3(document, request);
            }
        }
        self.whole_v2(documents, request)
    }

    fn whole_v2(mut self, documents: &'a RootDocuments, request: &OpenRequest<'_>) -> Result<Self> {
        let limits = self.reader.limits;
        let zmetadata = documents.get(ZMETADATA);
        self.has_consolidated = !matches!(zmetadata, Ok(None));
        match used_consolidated(zmetadata, request).map_err(consolidated_error)? {
            Some(document) => {
                let consolidated = Consolidated::read(document, limits)
                    .map_err(|error| consolidated_error(error.in_key(ZMETADATA).at(ZMETADATA)))?;
                let document = |name: &str| -> Result<_> {
                    let found = consolidated.document(&Key::new(name)?);
                    let read = found.map(|document| document.value(limits)).transpose()?;
                    Ok(read.map(|value| value.into_owned().into_owned()))
                };
                self.root.zgroup = document(ZGROUP)?;
                self.root.attrs = document(ZATTRS)?;
                self.root.zarray = document(ZARRAY)?;
                self.reader.consolidated = Some(consolidated);
                self.notes.push("metadata from .zmetadata".to_owned());
            }
            None => {
                prefetch::prefetch_all(&self.reader);
                let document = |name: &str| {
                    let parse =
                        |bytes| json::parse(bytes, limits).map_err(|error| error.in_key(name).at(name));
                    documents.get(name).and_then(|bytes| bytes.map(parse).transpose())
                };
                self.root.zgroup = document(ZGROUP)?;
                self.root.attrs = document(ZATTRS)?;
                self.root.zarray = document(ZARRAY)?;
            }
        }
        self.find_version()?;
        Ok(self)
    }

    fn whole_v3(mut self, mut document: Value<'a>, request: &OpenRequest<'_>) -> Result<Self> {
        let at = |error: Error| error.in_key(ZARR_JSON).at(ZARR_JSON);
        // The refused documents are those of V2.
        self.refused = Default::default();
        self.root = RawRoot { format: ZarrFormat::V3, ..RawRoot::default() };
        let consolidated = v3::consolidated::take(&mut document, self.reader.limits);
        self.has_consolidated = consolidated.is_some();
        let is_array = document::node_type(&document).map_err(at)? == NodeType::Array;
        if is_array {
            self.root.zarray = Some(document.into_owned());
        } else {
            document::check_group(&document).map_err(at)?;
            self.root.zgroup = Some(Json::Object(document::without_attributes(&document)));
            self.root.attrs = v3::keys::group_attributes(&document).map_err(at)?;
        }
        self.version = NczarrVersion::of_root(self.root.attrs.as_ref(), None);
        match used_consolidated(consolidated.transpose(), request) {
            Ok(Some(found)) => {
                self.reader.consolidated = Some(found);
                self.notes.push(format!("metadata from {ZARR_JSON}"));
            }
            Ok(None) => {}
            Err(error) => self.notes.push(format!("consolidated metadata is not used: {}", at(error))),
        }
        if !is_array && self.reader.consolidated.is_none() {
            prefetch::prefetch_all(&self.reader);
        }
        // Checking the map is cheap if it takes no request.
        self.reader.checks_map = self.reader.prefetched.is_none() && !request.target.has_mode("consolidated");
        Ok(self)
    }
}

/// Returns consolidated metadata if this opening may use it. Writers need the documents themselves: after a
/// crash they may be newer.
fn used_consolidated<T>(found: Result<Option<T>>, request: &OpenRequest<'_>) -> Result<Option<T>> {
    if request.writable || request.target.has_mode("noconsolidated") { Ok(None) } else { found }
}

fn consolidated_error(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NcZarr => ErrorKind::ZarrMeta.context(error.what()),
        _ => error,
    }
}
