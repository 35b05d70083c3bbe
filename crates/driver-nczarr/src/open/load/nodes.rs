//! Reading of nodes (groups and arrays): [`MetadataReader::nodes`] builds arrays while their documents
//! arrive.
//!
//! From a map it is one batch: the thread that receives the last document of an array parses all of them and
//! builds the variable. From consolidated metadata, several threads build arrays in parallel. `tree`
//! interprets the documents of groups and determines the order of nodes.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::batch::{ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, Version};

use crate::flavour::kind::DimNaming;
use crate::legacy::convert::{self, NodeDocuments};
use crate::legacy::{NCZATTR, NCZGROUP, NCZVAR, NczarrVersion, WriterBugs};
use crate::metadata::json::{self, ObjectMembers, Value};
use crate::metadata::members::at_document;
use crate::metadata::parallel;
use crate::metadata::v2::consolidated::{Consolidated, LazyDocument};
use crate::metadata::v2::var::{self};
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3;
use crate::metadata::v3::document::{self, NodeType, ZARR_JSON};
use crate::metadata::variable::{ReadContext, VariableDraft};
use crate::open::load::shared_layout::SharedLayout;
use crate::open::metadata_reader::{Fetched, MetadataReader, read, ticket};

/// A location where a node may be.
#[derive(Debug)]
pub(crate) struct NodeLocation {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) expected: ExpectedNode,
}

/// The kind of node that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedNode {
    /// An array that a list names.
    Array,
    /// A group that a list names.
    Group,
    /// Any node.
    Any,
}

/// The node at a location.
pub(crate) enum FoundNode {
    Array(VariableDraft),
    /// A group with an extension that this library must not ignore.
    MustUnderstand(Error),
    /// A group, a folder, or nothing.
    Other {
        zgroup: Fetched,
        attrs: Fetched,
    },
}

/// The most documents of one node.
const MAX_DOCUMENTS: usize = 4;

/// The number of locations that one thread handles at a time.
const LOCATIONS_PER_STEP: usize = 64;

/// Fewer documents are read on the calling thread: the pool would cost more than it gains.
const PARALLEL_DOCUMENTS: usize = 32;

impl MetadataReader<'_> {
    /// Returns the nodes at these locations, in order.
    ///
    /// If consolidated metadata omits a listed node, the map is searched for it.
    pub(crate) fn nodes(&self, places: &[NodeLocation], reading: &ReadContext<'_>) -> Vec<FoundNode> {
        match &self.consolidated {
            Some(consolidated) => self.consolidated_nodes(consolidated, places, reading),
            None => self.stored_nodes(places, reading),
        }
    }

    /// Returns the documents to request together. A local map is asked for a group only if there is no array;
    /// over a network another round costs more than a wasted request.
    fn documents(&self, want: ExpectedNode, reading: &ReadContext<'_>) -> &'static [&'static str] {
        let generation = reading.nczarr_version;
        match want {
            _ if reading.format == ZarrFormat::V3 => &[ZARR_JSON],
            ExpectedNode::Array if generation == NczarrVersion::SeparateKeys => {
                &[ZARRAY, ZATTRS, NCZVAR, NCZATTR]
            }
            ExpectedNode::Group if generation == NczarrVersion::SeparateKeys => {
                &[ZGROUP, ZATTRS, NCZGROUP, NCZATTR]
            }
            ExpectedNode::Array => &[ZARRAY, ZATTRS],
            ExpectedNode::Group => &[ZGROUP, ZATTRS],
            ExpectedNode::Any if self.map.caps().remote => &[ZARRAY, ZATTRS, ZGROUP],
            ExpectedNode::Any => &[ZARRAY, ZATTRS],
        }
    }

    fn stored_nodes(&self, places: &[NodeLocation], reading: &ReadContext<'_>) -> Vec<FoundNode> {
        let documents: Vec<_> = places.iter().map(|place| self.documents(place.expected, reading)).collect();
        let tickets: usize = documents.iter().map(|names| names.len()).sum();
        let job = NodeJob {
            places,
            reading,
            max_documents: documents.iter().map(|names| names.len()).max().unwrap_or(1),
            documents,
            next: AtomicUsize::new(0),
            threads: if tickets < PARALLEL_DOCUMENTS { 1 } else { usize::MAX },
            slots: std::iter::repeat_with(Mutex::default).take(places.len()).collect(),
        };
        if !places.is_empty() {
            self.map.read_batch(&job);
        }
        let slots =
            job.slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        let lost = |place: &NodeLocation| {
            ErrorKind::Internal.context(format!("{}: the map did not return this ticket", place.key))
        };
        let mut nodes: Vec<FoundNode> = (slots.zip(places))
            .map(|(slot, place)| {
                slot.node.unwrap_or_else(|| FoundNode::Other { zgroup: Err(lost(place)), attrs: Ok(None) })
            })
            .collect();
        if !self.map.caps().remote && reading.format == ZarrFormat::V2 {
            self.groups(places, &mut nodes);
        }
        nodes
    }

    /// Reads the group documents of locations without an array.
    fn groups(&self, places: &[NodeLocation], nodes: &mut [FoundNode]) {
        let (mut keys, mut answers) = (Vec::new(), Vec::new());
        for (place, node) in places.iter().zip(nodes) {
            if let (ExpectedNode::Any, FoundNode::Other { zgroup, .. }) = (place.expected, node) {
                match place.key.join(ZGROUP) {
                    Ok(key) => {
                        keys.push(key);
                        answers.push(zgroup);
                    }
                    Err(error) => *zgroup = Err(error),
                }
            }
        }
        for (answer, found) in answers.into_iter().zip(read(self.map, &keys, self.limits)) {
            *answer = found;
        }
    }

    fn consolidated_nodes(
        &self,
        consolidated: &Consolidated<'_>,
        places: &[NodeLocation],
        reading: &ReadContext<'_>,
    ) -> Vec<FoundNode> {
        let mut near = usize::MAX;
        // Consolidated metadata may be older than the lists.
        let mut omitted = Vec::new();
        for (i, place) in places
            .iter()
            .enumerate()
            .filter(|(_, place)| self.checks_map || place.expected != ExpectedNode::Any)
        {
            for (j, name) in self.documents(place.expected, reading).iter().enumerate() {
                if consolidated.document_near(&place.key, name, &mut near).is_none()
                    && let Ok(key) = place.key.join(name)
                {
                    omitted.push(((i, j), key));
                }
            }
        }
        let keys: Vec<Key> = omitted.iter().map(|(_, key)| key.clone()).collect();
        let read = read(self.map, &keys, self.limits);
        let stored: Vec<((usize, usize), Fetched)> =
            omitted.into_iter().map(|(place, _)| place).zip(read).collect();
        let answer = |i: usize, j: usize| match stored.binary_search_by_key(&(i, j), |(place, _)| *place) {
            Ok(at) => stored[at]
                .1
                .as_ref()
                .map(|document| document.as_ref().map(Cow::Borrowed))
                .map_err(Error::clone),
            Err(_) => Ok(None),
        };
        let steps = parallel::map_indices(places.len().div_ceil(LOCATIONS_PER_STEP), 1, |step| {
            let (mut near, mut last) = (usize::MAX, LastDocument::new());
            let here = (places.iter().enumerate()).skip(step * LOCATIONS_PER_STEP).take(LOCATIONS_PER_STEP);
            here.map(|(i, place)| {
                let names: &[&str] = match place.expected {
                    ExpectedNode::Any if reading.format == ZarrFormat::V2 => &[ZARRAY, ZATTRS, ZGROUP],
                    want => self.documents(want, reading),
                };
                let mut values: [Outcome<Cow<'_, Value<'_>>>; MAX_DOCUMENTS] =
                    [const { Ok(None) }; MAX_DOCUMENTS];
                let mut repeated = None;
                for (j, name) in names.iter().enumerate() {
                    if *name == ZGROUP && place.expected == ExpectedNode::Any && repeated.is_some() {
                        break;
                    }
                    values[j] = match consolidated.document_near(&place.key, name, &mut near) {
                        Some(document) if *name == ZARRAY => last.read(document, self.limits).map(|()| {
                            repeated = Some(j);
                            None
                        }),
                        Some(document) => document.value(self.limits).map(Some),
                        None => answer(i, j),
                    };
                }
                let mut found =
                    values.each_ref().map(|value| value.as_ref().map(Option::as_deref).map_err(Error::clone));
                let Some(j) = repeated else { return node(place, names, found, reading) };
                let attrs =
                    names.iter().position(|name| *name == ZATTRS).and_then(|at| valid_attrs(&found[at]));
                if let Some(built) = attrs.and_then(|attrs| last.build_again(attrs, reading)) {
                    return FoundNode::Array(built);
                }
                found[j] = Ok(Some(&*last.value));
                let node = node(place, names, found, reading);
                if let (FoundNode::Array(built), Some(attrs)) = (&node, attrs) {
                    last.pattern = SharedLayout::of(built, attrs, reading);
                }
                node
            })
            .collect::<Vec<_>>()
        });
        steps.into_iter().flatten().collect()
    }
}

type Outcome<T> = Result<Option<T>>;

/// The last document that was parsed: successive arrays often have equal ones.
struct LastDocument<'d, 't> {
    text: &'t str,
    value: Cow<'d, Value<'t>>,
    /// The variable parts that arrays with this document share.
    pattern: Option<SharedLayout>,
}

impl<'d, 't> LastDocument<'d, 't> {
    fn new() -> Self {
        Self { text: "", value: Cow::Owned(Value::Null), pattern: None }
    }

    fn read(&mut self, document: &'d LazyDocument<'t>, limits: &Limits) -> Result<()> {
        match document {
            // A repeated member is usually the same slice.
            LazyDocument::Text(text) if std::ptr::eq(*text, self.text) || *text == self.text => {}
            LazyDocument::Text(text) => {
                (self.value, self.text, self.pattern) = (document.value(limits)?, text, None)
            }
            LazyDocument::Read(_) => {
                (self.value, self.text, self.pattern) = (document.value(limits)?, "", None)
            }
        }
        Ok(())
    }

    /// Builds another array with this document, if its attributes do not affect the layout.
    fn build_again(
        &self,
        attrs: Option<&ObjectMembers<'_>>,
        reading: &ReadContext<'_>,
    ) -> Option<VariableDraft> {
        self.pattern.as_ref()?.build(attrs, &self.value, reading)
    }
}

/// Returns the attributes of an array; `None` if they are not an object.
fn valid_attrs<'d, 't>(found: &Outcome<&'d Value<'t>>) -> Option<Option<&'d ObjectMembers<'t>>> {
    match found {
        Ok(None) => Some(None),
        Ok(Some(attrs)) => attrs.as_object().map(Some),
        Err(_) => None,
    }
}

/// Makes a node from the documents `found` at a location, which have these names.
fn node(
    place: &NodeLocation,
    names: &[&str],
    mut found: [Outcome<&Value<'_>>; MAX_DOCUMENTS],
    reading: &ReadContext<'_>,
) -> FoundNode {
    // A writer must not overwrite a refused document.
    if !reading.keep {
        // An NCZarr group needs its lists.
        let is_listed =
            reading.naming == DimNaming::References && reading.nczarr_version == NczarrVersion::Current;
        let needs_attrs = is_listed && place.expected == ExpectedNode::Group;
        reading.refused.treat_as_absent(&place.key, names, &mut found, needs_attrs);
    }
    if reading.format == ZarrFormat::V3 {
        let [found, ..] = found;
        return v3_node(place, found, reading);
    }
    let (mut zarray, mut attrs, mut zgroup) = (Ok(None), Ok(None), Ok(None));
    let (mut own, mut types) = (Ok(None), Ok(None));
    for (name, found) in names.iter().zip(found) {
        match *name {
            ZARRAY => zarray = found,
            ZATTRS => attrs = found,
            NCZVAR | NCZGROUP => own = found,
            NCZATTR => types = found,
            _ => zgroup = found,
        }
    }
    if reading.nczarr_version != NczarrVersion::Current {
        return legacy_node(place, (zarray, zgroup), (attrs, own, types), reading);
    }
    current_node(place, zarray, zgroup, attrs, reading)
}

/// Makes a node from its V3 document.
fn v3_node(place: &NodeLocation, found: Outcome<&Value<'_>>, reading: &ReadContext<'_>) -> FoundNode {
    let at = |error: Error| at_document(error, &place.key, ZARR_JSON);
    let array = |found| FoundNode::Array(v3::var::build(&place.key, found, reading));
    match found.transpose() {
        None if place.expected == ExpectedNode::Array => array(Err(ErrorKind::NoObject.context(format!(
            "{}/{ZARR_JSON}: the group lists this array, but it does not exist",
            place.key
        )))),
        None => FoundNode::Other { zgroup: Ok(None), attrs: Ok(None) },
        Some(Err(error)) if place.expected == ExpectedNode::Array => array(Err(error)),
        Some(Err(error)) => FoundNode::Other { zgroup: Err(error), attrs: Ok(None) },
        Some(Ok(document)) => match document::node_type(document) {
            Ok(NodeType::Array) => array(Ok(document)),
            Ok(NodeType::Group) if place.expected != ExpectedNode::Array => {
                match document::check_group(document) {
                    Ok(()) => FoundNode::Other {
                        zgroup: Ok(Some(Value::Object(document::without_attributes(document)))),
                        attrs: v3::keys::group_attributes(document).map_err(at),
                    },
                    Err(error) => FoundNode::MustUnderstand(at(error)),
                }
            }
            Ok(NodeType::Group) => array(Ok(document)),
            Err(error) if place.expected == ExpectedNode::Group => {
                FoundNode::Other { zgroup: Err(at(error)), attrs: Ok(None) }
            }
            Err(_) => array(Ok(document)),
        },
    }
}

/// Makes a node from V2 documents in the current style.
fn current_node(
    place: &NodeLocation,
    zarray: Outcome<&Value<'_>>,
    zgroup: Outcome<&Value<'_>>,
    attrs: Outcome<&Value<'_>>,
    reading: &ReadContext<'_>,
) -> FoundNode {
    let zarray = match (zarray.transpose(), place.expected) {
        (Some(zarray), _) => zarray,
        (None, ExpectedNode::Array) => Err(ErrorKind::NoObject
            .context(format!("{}/{ZARRAY}: the group lists this array, but it does not exist", place.key))),
        (None, _) => {
            let own = |document: Outcome<&Value<'_>>| {
                document.map(|found| found.map(|value| value.clone().into_owned()))
            };
            return FoundNode::Other { zgroup: own(zgroup), attrs: own(attrs) };
        }
    };
    FoundNode::Array(var::build_from_documents(&place.key, zarray, attrs, reading))
}

/// Makes a node from V2 documents in a legacy style: the marker, the attributes, and the documents beside
/// them.
fn legacy_node<'d, 't>(
    place: &NodeLocation,
    (zarray, zgroup): (Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>),
    (attrs, own, types): (Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>),
    reading: &ReadContext<'_>,
) -> FoundNode {
    let is_array = matches!(zarray, Ok(Some(_)));
    // Errors of the marker are reported when it is parsed.
    let marker = if is_array { &zarray } else { &zgroup }.as_ref().ok().copied().flatten();
    let attrs = attrs.and_then(|attrs| {
        let documents = NodeDocuments { marker, attrs, own: own?, types: types? };
        Ok(if is_array {
            convert::array(documents)
        } else {
            convert::group(documents, reading.nczarr_version, false)
        })
    });
    let (zarray, zgroup) = (legacy_marker(zarray), legacy_marker(zgroup));
    current_node(place, borrowed(&zarray), borrowed(&zgroup), borrowed(&attrs), reading)
}

fn legacy_marker<'t>(found: Outcome<&Value<'t>>) -> Outcome<Value<'t>> {
    found.map(|found| found.map(|document| convert::marker(document, WriterBugs::default())))
}

fn borrowed<'d, 't>(found: &'d Outcome<Value<'t>>) -> Outcome<&'d Value<'t>> {
    found.as_ref().map(Option::as_ref).map_err(Error::clone)
}

/// Reads the documents of all locations.
struct NodeJob<'a> {
    places: &'a [NodeLocation],
    reading: &'a ReadContext<'a>,
    documents: Vec<&'static [&'static str]>,
    /// The most documents of any location of this job.
    max_documents: usize,
    /// The next ticket: the index of the location times `max_documents`, plus the index of the document.
    next: AtomicUsize,
    threads: usize,
    slots: Vec<Mutex<NodeSlot>>,
}

/// The state of one location.
#[derive(Default)]
struct NodeSlot {
    documents: [Option<Outcome<Vec<u8>>>; MAX_DOCUMENTS],
    node: Option<FoundNode>,
}

impl NodeJob<'_> {
    /// Makes the node of location `i` from its documents.
    fn node(&self, i: usize, found: [Outcome<&[u8]>; MAX_DOCUMENTS]) -> FoundNode {
        let (place, names) = (&self.places[i], self.documents[i]);
        let mut values: [Outcome<Value<'_>>; MAX_DOCUMENTS] = [const { Ok(None) }; MAX_DOCUMENTS];
        for ((value, found), name) in values.iter_mut().zip(found).zip(names) {
            let parse = |bytes| json::read(bytes, self.reading.limits);
            *value = found.and_then(|bytes| {
                bytes.map(parse).transpose().map_err(|error| at_document(error, &place.key, name))
            });
        }
        node(
            place,
            names,
            values.each_ref().map(|value| value.as_ref().map(Option::as_ref).map_err(Error::clone)),
            self.reading,
        )
    }
}

impl ReadJob for NodeJob<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (i, j) = (index / self.max_documents, index % self.max_documents);
            let names = self.documents.get(i)?;
            if let Some(name) = names.get(j) {
                key.set(&self.places[i].key);
                // Names of documents are legal keys.
                key.push(name).ok()?;
                return Some(ticket(index, self.reading.limits));
            }
        }
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let (i, j) = (ticket.index / self.max_documents, ticket.index % self.max_documents);
        let here = crate::open::metadata_reader::bytes(found, || {
            format!("{}/{}", self.places[i].key, self.documents[i][j])
        });
        if self.threads > 1 && ticket.index.is_multiple_of(LOCATIONS_PER_STEP / 4 * self.max_documents) {
            parallel::reserve_memory();
        }
        let lock = || self.slots[i].lock().unwrap_or_else(PoisonError::into_inner);
        let mut slot = lock();
        let others = (0..self.documents[i].len()).filter(|&other| other != j);
        if others.clone().any(|other| slot.documents[other].is_none()) {
            // The buffer belongs to the map, so the document is copied until the others arrive.
            slot.documents[j] = Some(here.map(|bytes| bytes.map(<[u8]>::to_vec)));
            return;
        }
        let kept = std::mem::take(&mut slot.documents);
        drop(slot);
        let mut found: [Outcome<&[u8]>; MAX_DOCUMENTS] = [const { Ok(None) }; MAX_DOCUMENTS];
        for other in others {
            if let Some(document) = &kept[other] {
                found[other] = document.as_ref().map(|bytes| bytes.as_deref()).map_err(Error::clone);
            }
        }
        found[j] = here;
        let node = self.node(i, found);
        lock().node = Some(node);
    }
}
