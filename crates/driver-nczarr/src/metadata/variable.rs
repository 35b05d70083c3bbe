//! The variable of an array under construction, and the rules for reading its documents.

use std::sync::Arc;

use nczarr_codec::{ElementCodec, Filter, ZarrFormat};
use nczarr_dispatch::{Limits, Registry};
use nczarr_model::{Error, NcType, Result, Values, Var};

use crate::flavour::kind::DimNaming;
use crate::flavour::nczarr_lists::ArrayReferences;
use crate::legacy::{NczarrVersion, WriterBugs};
use crate::metadata::codecs::cache::CodecCache;
use crate::metadata::json::{Json, Object};
use crate::metadata::v2::array_meta::ArrayMeta;
use crate::metadata::v3::source_type::SourceType;
use crate::open::refused_documents::RefusedDocuments;
use crate::user::names::TypedAttribute;

/// The rules for reading documents.
pub(crate) struct ReadContext<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) format: ZarrFormat,
    pub(crate) limits: &'a Limits,
    /// Names of unlimited dimensions of plain Zarr.
    pub(crate) growing: &'a [String],
    /// Fill values of text have NCZarr's spelling, not the specification's.
    pub(crate) plain_fill: bool,
    /// One-byte text with a mark is char, not string.
    pub(crate) char_mark: bool,
    /// The NCZarr style of the documents; `Current` for plain Zarr.
    pub(crate) nczarr_version: NczarrVersion,
    /// Known bugs of the library that wrote the dataset.
    pub(crate) writer_bugs: WriterBugs,
    /// Times with units are shown as counts, not as text.
    pub(crate) counted_times: bool,
    /// The place of dimension names.
    pub(crate) naming: DimNaming,
    /// Keep the parts that only writing needs.
    pub(crate) keep: bool,
    pub(crate) codecs: CodecCache,
    /// Refused documents that count as absent.
    pub(crate) refused: RefusedDocuments,
}

/// An array's references to dimensions.
#[derive(Debug)]
pub(crate) enum DimRefs {
    /// None, or not requested.
    None,
    /// NCZarr's references.
    References(Result<Option<Box<ArrayReferences>>>),
    /// A name for each dimension, if present.
    Names(Vec<Option<String>>),
}

/// A loaded variable without name, group and dimensions.
#[derive(Debug)]
pub(crate) struct VariableDraft {
    pub(crate) var: Arc<Var>,
    /// Shared with other variables of the same layout.
    pub(crate) stored: Arc<StoredVariable>,
    pub(crate) dim_refs: DimRefs,
}

/// The state of a variable beside the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredVariable {
    /// The contents of its `.zarray`; `None` if unreadable or not planned yet.
    pub(crate) meta: Option<ArrayMeta>,
    /// Its `.zattrs`; empty if the dataset is read-only.
    pub(crate) attrs: Object,
    /// Its `.zattrs` could not be read and so must not be replaced.
    pub(crate) attrs_lost: bool,
    /// Its unreadable `.zarray`, if it may be written back.
    pub(crate) document: Option<Json>,
    /// The loaded names of its dimensions; the stored names stay while these are unchanged. `None` if the
    /// dataset is read-only.
    pub(crate) dim_names: Option<Vec<String>>,
    /// The filters of its chunks, in encoding order.
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// The shards around its chunks, outermost first.
    pub(crate) shards: Vec<nczarr_chunkio::ShardSpec>,
    /// Encodes elements of variable length.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// Whether the annotation says that its fill value is no attribute.
    pub(crate) only_unwritten: bool,
    /// The type of list items, if elements are lists.
    pub(crate) list: Option<NcType>,
    /// The parts of a stored element of a user-defined NCZarr type.
    pub(crate) pieces: Option<Vec<nczarr_chunkio::ElementPiece>>,
    /// Attributes of user-defined types, in stored form.
    pub(crate) typed: Vec<TypedAttribute>,
    /// Whether its document records a true name, which differs from the stored one.
    pub(crate) has_true_name: bool,
    /// The stored value of absent chunks of a no-fill array. Other readers see it there.
    pub(crate) absent_value: Option<Values>,
    /// A fill value that is shown as an attribute although none is stored.
    pub(crate) implied_fill: Option<Values>,
    /// The stored type given at its definition.
    pub(crate) source_type: Option<SourceType>,
}

/// Records the first problem.
pub(crate) fn set_problem(var: &mut Var, error: Error) {
    var.problem.get_or_insert(error);
}
