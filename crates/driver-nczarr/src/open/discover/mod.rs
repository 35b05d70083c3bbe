//! Step 2 of opening, discover: the kind of store, its Zarr version and its NCZarr style.
//!
//! `documents` reads the few documents that show this. [`DiscoveredRoot`] is their meaning. `whole` handles a
//! root whose nodes are all read, `version` legacy styles.

pub(super) mod documents;
mod version;
mod whole;

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{MountedMap, OpenRequest};
use nczarr_model::Result;
use nczarr_storage::{Key, ZMapExt};

use self::documents::RootDocuments;
use super::metadata_reader::{MetadataReader, read_here};
use crate::flavour::{self, annotation, nczarr_lists};
use crate::legacy::{NCZARR, NczarrVersion, WriterBugs};
use crate::metadata::json::{self, Json, Value};
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::{self, NodeType, ZARR_JSON};
use crate::metadata::v3::keys;
use crate::open::refused_documents::{RefusedDocuments, is_refused};
use crate::open::scope::{ReadScope, VariablePath};
use crate::open::tree::RawRoot;

/// The root of a store, as far as a scope needs it.
pub(crate) struct DiscoveredRoot<'a> {
    pub(crate) reader: MetadataReader<'a>,
    /// The root's documents in the current style.
    pub(crate) root: RawRoot,
    /// The NCZarr style of the root; `None` for plain Zarr.
    pub(crate) version: Option<NczarrVersion>,
    /// Whether the store has consolidated metadata, used or not.
    pub(crate) has_consolidated: bool,
    /// Remarks for the user.
    pub(crate) notes: Vec<String>,
    /// Documents of the root that the storage refused and that count as absent.
    pub(crate) refused: RefusedDocuments,
    /// The array's own document, for [`ReadScope::Data`].
    pub(crate) array: &'a [u8],
}

/// Interprets the documents of a scope; `None` if a wider scope is needed.
///
/// # Errors
/// For [`ReadScope::Whole`], the errors of the documents and of the map.
pub(super) fn root<'a>(
    documents: &'a mut RootDocuments,
    request: &'a OpenRequest<'_>,
    mounted: &'a MountedMap,
    scope: ReadScope<'_>,
) -> Result<Option<DiscoveredRoot<'a>>> {
    let refused = std::mem::take(&mut documents.refused);
    let here = DiscoveredRoot {
        reader: MetadataReader {
            map: mounted.for_opening(),
            limits: &request.options.limits,
            consolidated: None,
            checks_map: false,
            prefetched: mounted.prefetched.as_deref(),
        },
        root: RawRoot::default(),
        version: None,
        has_consolidated: false,
        notes: Vec::new(),
        refused,
        array: &[],
    };
    match scope {
        ReadScope::Whole => here.whole(documents, request).map(Some),
        ReadScope::Variable(path) => here.on_path(documents, path, request.target.has_mode("zarr")),
        ReadScope::Data(_) => Ok(here.data(documents)),
    }
}

impl<'a> DiscoveredRoot<'a> {
    /// Interprets the root above a variable, from its attributes only. `is_plain`: the fragment says
    /// `mode=zarr`.
    fn on_path(
        mut self,
        documents: &'a RootDocuments,
        path: &VariablePath<'_>,
        is_plain: bool,
    ) -> Result<Option<Self>> {
        let v3 = match documents.get(ZARR_JSON) {
            Ok(found) => found,
            refused if is_refused(&refused) => None,
            Err(_) => return Ok(None),
        };
        let is_nczarr = match v3 {
            Some(found) => {
                let Some(root) = json::read(found, self.reader.limits).ok().and_then(|found| v3_root(&found))
                else {
                    return Ok(None);
                };
                self.root = root;
                let version = NczarrVersion::of_root(self.root.attrs.as_ref(), None);
                if version.is_some_and(|version| version != NczarrVersion::Current) {
                    return Ok(None);
                }
                version.is_some()
            }
            None if path.format == Some(ZarrFormat::V3) => return Ok(None),
            None => {
                let Ok(found) = documents.get(ZATTRS) else { return Ok(None) };
                let attrs = found.map(|found| json::parse(found, self.reader.limits)).transpose();
                let Ok(attrs) = attrs else { return Ok(None) };
                // If the attributes do not show NCZarr, the dataset may have a legacy style: its writer or
                // the root's `.zgroup` shows that. For plain Zarr this matters only to text.
                let is_nczarr = nczarr_lists::superblock(attrs.as_ref()).is_some();
                let properties = attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
                if !is_nczarr && WriterBugs::of(properties, None).swapped {
                    return Ok(None);
                }
                self.root.attrs = attrs;
                if !is_nczarr && !is_plain && !is_plain_root(&self.reader) {
                    return Ok(None);
                }
                is_nczarr
            }
        };
        // An annotation counts only if it fits all arrays.
        if self.root.attrs.as_ref().and_then(Json::as_object).is_some_and(annotation::exists) {
            return Ok(None);
        }
        self.version = is_nczarr.then_some(NczarrVersion::Current);
        Ok(Some(self))
    }

    /// Takes the array's own document, whose name shows the Zarr version.
    fn data(mut self, documents: &'a RootDocuments) -> Option<Self> {
        let (name, document) = documents.only()?;
        self.root.format = if name == ZARRAY { ZarrFormat::V2 } else { ZarrFormat::V3 };
        self.array = document;
        Some(self)
    }
}

/// Returns the root of a V3 store; `None` if it is an array or not fully understood.
fn v3_root(document: &Value<'_>) -> Option<RawRoot> {
    let attrs = v3_group(document)?;
    let zgroup = Some(Json::Object(document::without_attributes(document)));
    Some(RawRoot { format: ZarrFormat::V3, zgroup, attrs, ..RawRoot::default() })
}

/// Returns the attributes of a V3 group in V2's form; `None` if it is not a group or not fully understood.
pub(crate) fn v3_group(document: &Value<'_>) -> Option<Option<Json>> {
    let is_group = document::node_type(document).is_ok_and(|found| found == NodeType::Group);
    let attrs = keys::group_attributes(document).ok()?;
    (is_group && document::check_group(document).is_ok()).then_some(attrs)
}

/// Whether the root's `.zgroup` has no superblock and the marker of the oldest style does not exist.
pub(crate) fn is_plain_root(reader: &MetadataReader<'_>) -> bool {
    let read = |name| read_here(reader.map, &[Key::new(name).ok()?], reader.limits).pop()?.ok();
    let zgroup: Option<Option<Json>> = read(ZGROUP);
    zgroup.is_some_and(|zgroup| NczarrVersion::of_root(None, zgroup.as_ref()).is_none())
        && match Key::new(NCZARR).and_then(|key| reader.map.exists(&key)) {
            Ok(there) => !there,
            // If the marker is refused: that style also has a superblock in the root's `.zgroup`, which was
            // readable.
            refused => is_refused(&refused),
        }
}
