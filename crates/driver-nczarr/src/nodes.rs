//! The documents of nodes (groups and arrays), and arrays built of them where they were read: [`Source::nodes`].
//!
//! From the map in one batch: whichever thread brings the last document of an array parses all of them and builds the
//! variable. From consolidated metadata in as many pieces as there are threads. What a group's documents mean, and in
//! which order nodes come, is `tree`'s business.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use nczarr_dispatch::{Key, Limits, ReadJob, ReadOutcome, ReadTicket, Version, ZarrFormat};
use nczarr_model::{Error, ErrorKind, Result};

use crate::alike::Pattern;
use crate::consolidated::{Consolidated, Document};
use crate::fetch::{Fetched, Source, read, ticket};
use crate::flavour::Naming;
use crate::json::{self, Members, Value};
use crate::older::today::{self, Documents};
use crate::older::{Defects, Generation, NCZATTR, NCZGROUP, NCZVAR};
use crate::parallel;
use crate::tree::{ZARRAY, ZATTRS, ZGROUP};
use crate::v3;
use crate::v3::document::{self, NodeType, ZARR_JSON};
use crate::var::{Built, Reading, build};

/// A place where a node may be.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) want: Want,
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// An array that a list names.
    Array,
    /// A group that a list names.
    Group,
    /// Whatever is there.
    Any,
}

/// What is there.
pub(crate) enum Node {
    Array(Built),
    /// A group that says that what is below it is only for who understands more than is known here.
    Closed(Error),
    /// No array: a group, a folder, or nothing.
    Other {
        zgroup: Fetched,
        attrs: Fetched,
    },
}

/// The most documents one node has.
const MOST: usize = 4;

/// This many places are looked at by one thread at a time.
const STEP: usize = 64;

/// Fewer documents than this are read on the calling thread: the pool costs more than it gives.
const FEW: usize = 32;

impl Source<'_> {
    /// What is at these places, in order.
    ///
    /// Listed nodes that consolidated metadata omits are looked for in the map.
    pub(crate) fn nodes(&self, places: &[Place], reading: &Reading<'_>) -> Vec<Node> {
        match &self.consolidated {
            Some(consolidated) => self.consolidated_nodes(consolidated, places, reading),
            None => self.stored_nodes(places, reading),
        }
    }

    /// Which documents are asked for at once. A local map is asked for a group only where there is no array; over a network
    /// one more round costs more than a request in vain.
    fn documents(&self, want: Want, reading: &Reading<'_>) -> &'static [&'static str] {
        let generation = reading.generation;
        match want {
            _ if reading.format == ZarrFormat::V3 => &[ZARR_JSON],
            Want::Array if generation == Generation::Keys => &[ZARRAY, ZATTRS, NCZVAR, NCZATTR],
            Want::Group if generation == Generation::Keys => &[ZGROUP, ZATTRS, NCZGROUP, NCZATTR],
            Want::Array => &[ZARRAY, ZATTRS],
            Want::Group => &[ZGROUP, ZATTRS],
            Want::Any if self.map.caps().remote => &[ZARRAY, ZATTRS, ZGROUP],
            Want::Any => &[ZARRAY, ZATTRS],
        }
    }

    fn stored_nodes(&self, places: &[Place], reading: &Reading<'_>) -> Vec<Node> {
        let documents: Vec<_> = places.iter().map(|place| self.documents(place.want, reading)).collect();
        let tickets: usize = documents.iter().map(|names| names.len()).sum();
        let job = Job {
            places,
            reading,
            most: documents.iter().map(|names| names.len()).max().unwrap_or(1),
            documents,
            next: AtomicUsize::new(0),
            threads: if tickets < FEW { 1 } else { usize::MAX },
            slots: std::iter::repeat_with(Mutex::default).take(places.len()).collect(),
        };
        if !places.is_empty() {
            self.map.read_batch(&job);
        }
        let slots = job.slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        let lost = |place: &Place| ErrorKind::Internal.context(format!("{}: the map gave no answer", place.key));
        let mut nodes: Vec<Node> = (slots.zip(places))
            .map(|(slot, place)| slot.node.unwrap_or_else(|| Node::Other { zgroup: Err(lost(place)), attrs: Ok(None) }))
            .collect();
        if !self.map.caps().remote && reading.format == ZarrFormat::V2 {
            self.groups(places, &mut nodes);
        }
        nodes
    }

    /// Asks for the groups of places that hold no array.
    fn groups(&self, places: &[Place], nodes: &mut [Node]) {
        let (mut keys, mut answers) = (Vec::new(), Vec::new());
        for (place, node) in places.iter().zip(nodes) {
            if let (Want::Any, Node::Other { zgroup, .. }) = (place.want, node) {
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
        places: &[Place],
        reading: &Reading<'_>,
    ) -> Vec<Node> {
        let mut near = usize::MAX;
        // What lists name and the consolidated document omits: it may be older.
        let mut omitted = Vec::new();
        for (i, place) in places.iter().enumerate().filter(|(_, place)| self.looks_behind || place.want != Want::Any) {
            for (j, name) in self.documents(place.want, reading).iter().enumerate() {
                if consolidated.document_near(&place.key, name, &mut near).is_none()
                    && let Ok(key) = place.key.join(name)
                {
                    omitted.push(((i, j), key));
                }
            }
        }
        let keys: Vec<Key> = omitted.iter().map(|(_, key)| key.clone()).collect();
        let read = read(self.map, &keys, self.limits);
        let stored: Vec<((usize, usize), Fetched)> = omitted.into_iter().map(|(place, _)| place).zip(read).collect();
        let answer = |i: usize, j: usize| match stored.binary_search_by_key(&(i, j), |(place, _)| *place) {
            Ok(at) => stored[at].1.as_ref().map(|document| document.as_ref().map(Cow::Borrowed)).map_err(Error::clone),
            Err(_) => Ok(None),
        };
        let steps = parallel::each(places.len().div_ceil(STEP), 1, |step| {
            let (mut near, mut last) = (usize::MAX, Last::new());
            let here = (places.iter().enumerate()).skip(step * STEP).take(STEP);
            here.map(|(i, place)| {
                let names: &[&str] = match place.want {
                    Want::Any if reading.format == ZarrFormat::V2 => &[ZARRAY, ZATTRS, ZGROUP],
                    want => self.documents(want, reading),
                };
                let mut values: [Outcome<Cow<'_, Value<'_>>>; MOST] = [const { Ok(None) }; MOST];
                let mut repeated = None;
                for (j, name) in names.iter().enumerate() {
                    if *name == ZGROUP && place.want == Want::Any && repeated.is_some() {
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
                let attrs = names.iter().position(|name| *name == ZATTRS).and_then(|at| legal(&found[at]));
                if let Some(built) = attrs.and_then(|attrs| last.again(attrs, reading)) {
                    return Node::Array(built);
                }
                found[j] = Ok(Some(&*last.value));
                let node = node(place, names, found, reading);
                if let (Node::Array(built), Some(attrs)) = (&node, attrs) {
                    last.pattern = Pattern::of(built, attrs, reading);
                }
                node
            })
            .collect::<Vec<_>>()
        });
        steps.into_iter().flatten().collect()
    }
}

type Outcome<T> = Result<Option<T>>;

/// The document that was read last: those of arrays are often the same, one after another.
struct Last<'d, 't> {
    text: &'t str,
    value: Cow<'d, Value<'t>>,
    /// What the arrays of that document have in common.
    pattern: Option<Pattern>,
}

impl<'d, 't> Last<'d, 't> {
    fn new() -> Self {
        Self { text: "", value: Cow::Owned(Value::Null), pattern: None }
    }

    fn read(&mut self, document: &'d Document<'t>, limits: &Limits) -> Result<()> {
        match document {
            // What repeats is mostly the very same text.
            Document::Text(text) if std::ptr::eq(*text, self.text) || *text == self.text => {}
            Document::Text(text) => (self.value, self.text, self.pattern) = (document.value(limits)?, text, None),
            Document::Read(_) => (self.value, self.text, self.pattern) = (document.value(limits)?, "", None),
        }
        Ok(())
    }

    /// The variable of another array with the document, if the attributes have no part in what it is.
    fn again(&self, attrs: Option<&Members<'_>>, reading: &Reading<'_>) -> Option<Built> {
        self.pattern.as_ref()?.build(attrs, &self.value, reading)
    }
}

/// The attributes of an array, `None` if they are not what they should be.
fn legal<'d, 't>(found: &Outcome<&'d Value<'t>>) -> Option<Option<&'d Members<'t>>> {
    match found {
        Ok(None) => Some(None),
        Ok(Some(attrs)) => attrs.as_object().map(Some),
        Err(_) => None,
    }
}

/// What the documents of a place make, the ones of these names.
fn node(place: &Place, names: &[&str], mut found: [Outcome<&Value<'_>>; MOST], reading: &Reading<'_>) -> Node {
    // A writer would write over what is taken for absent.
    if !reading.keep {
        // A group of NCZarr has its lists there.
        let is_listed = reading.naming == Naming::References && reading.generation == Generation::Today;
        let needs_attrs = is_listed && place.want == Want::Group;
        reading.refused.settle(&place.key, names, &mut found, needs_attrs);
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
    if reading.generation != Generation::Today {
        return older_node(place, (zarray, zgroup), (attrs, own, types), reading);
    }
    today_node(place, zarray, zgroup, attrs, reading)
}

/// What a node is in the one document it has in V3.
fn v3_node(place: &Place, found: Outcome<&Value<'_>>, reading: &Reading<'_>) -> Node {
    let at = |error: Error| error.at(format_args!("{}/{ZARR_JSON}", place.key));
    let array = |found| Node::Array(v3::var::build(&place.key, found, reading));
    match found.transpose() {
        None if place.want == Want::Array => array(Err(ErrorKind::NoObject
            .context(format!("{}/{ZARR_JSON}: the group lists this array, but there is none", place.key)))),
        None => Node::Other { zgroup: Ok(None), attrs: Ok(None) },
        Some(Err(error)) if place.want == Want::Array => array(Err(error)),
        Some(Err(error)) => Node::Other { zgroup: Err(error), attrs: Ok(None) },
        Some(Ok(document)) => match document::node_type(document) {
            Ok(NodeType::Array) => array(Ok(document)),
            Ok(NodeType::Group) if place.want != Want::Array => match document::check_group(document) {
                Ok(()) => Node::Other {
                    zgroup: Ok(Some(Value::Object(document::without_attributes(document)))),
                    attrs: v3_attributes(document).map_err(at),
                },
                Err(error) => Node::Closed(at(error)),
            },
            Ok(NodeType::Group) => array(Ok(document)),
            Err(error) if place.want == Want::Group => Node::Other { zgroup: Err(at(error)), attrs: Ok(None) },
            Err(_) => array(Ok(document)),
        },
    }
}

/// The attributes of a group of V3, in V2's form.
pub(crate) fn v3_attributes(document: &Value<'_>) -> Fetched {
    let attrs = document::attributes(document)?;
    attrs.map(|attrs| Ok(Value::Object(v3::keys::group(attrs)?.into_owned()))).transpose()
}

/// What a node is in today's documents.
fn today_node(
    place: &Place,
    zarray: Outcome<&Value<'_>>,
    zgroup: Outcome<&Value<'_>>,
    attrs: Outcome<&Value<'_>>,
    reading: &Reading<'_>,
) -> Node {
    let zarray = match (zarray.transpose(), place.want) {
        (Some(zarray), _) => zarray,
        (None, Want::Array) => Err(ErrorKind::NoObject
            .context(format!("{}/{ZARRAY}: the group lists this array, but there is none", place.key))),
        (None, _) => {
            let own =
                |document: Outcome<&Value<'_>>| document.map(|found| found.map(|value| value.clone().into_owned()));
            return Node::Other { zgroup: own(zgroup), attrs: own(attrs) };
        }
    };
    Node::Array(array(&place.key, zarray, attrs, reading))
}

/// What a node is in documents of an older style: its marker, and its attributes with what stands beside them.
fn older_node<'d, 't>(
    place: &Place,
    (zarray, zgroup): (Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>),
    (attrs, own, types): (Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>, Outcome<&'d Value<'t>>),
    reading: &Reading<'_>,
) -> Node {
    let is_array = matches!(zarray, Ok(Some(_)));
    // What is wrong with the marker is said where it is looked at.
    let marker = if is_array { &zarray } else { &zgroup }.as_ref().ok().copied().flatten();
    let attrs = attrs.and_then(|attrs| {
        let documents = Documents { marker, attrs, own: own?, types: types? };
        Ok(match is_array {
            true => today::array(documents),
            false => today::group(documents, reading.generation, false),
        })
    });
    let (zarray, zgroup) = (older_marker(zarray), older_marker(zgroup));
    today_node(place, borrowed(&zarray), borrowed(&zgroup), borrowed(&attrs), reading)
}

fn older_marker<'t>(found: Outcome<&Value<'t>>) -> Outcome<Value<'t>> {
    found.map(|found| found.map(|document| today::marker(document, Defects::default())))
}

fn borrowed<'d, 't>(found: &'d Outcome<Value<'t>>) -> Outcome<&'d Value<'t>> {
    found.as_ref().map(Option::as_ref).map_err(Error::clone)
}

/// The variable of the array at `key`, from its documents.
pub(crate) fn array(key: &Key, zarray: Result<&Value<'_>>, attrs: Outcome<&Value<'_>>, reading: &Reading<'_>) -> Built {
    // A document of nothing but null tells of none.
    let attrs = attrs.map(|attrs| attrs.filter(|document| !document.is_null()));
    let attrs = attrs.and_then(|attrs| attrs.map(|document| members(document, key)).transpose());
    build(key, zarray, attrs, reading)
}

/// The attributes of the array at `key`.
fn members<'d, 't>(document: &'d Value<'t>, key: &Key) -> Result<&'d Members<'t>> {
    document.as_object().ok_or_else(|| {
        let at = if key.is_root() { String::new() } else { format!("{key}/") };
        ErrorKind::NcZarr.context(format!("{at}{ZATTRS}: expected an object, found {}", document.kind()))
    })
}

/// Reads the documents of all places.
struct Job<'a> {
    places: &'a [Place],
    reading: &'a Reading<'a>,
    documents: Vec<&'static [&'static str]>,
    /// As many as the most that one place has here.
    most: usize,
    /// In multiples of `most` the place, with the number of its document.
    next: AtomicUsize,
    threads: usize,
    slots: Vec<Mutex<Slot>>,
}

/// What came of one place so far.
#[derive(Default)]
struct Slot {
    documents: [Option<Outcome<Vec<u8>>>; MOST],
    node: Option<Node>,
}

impl Job<'_> {
    /// What the documents of place `i` make.
    fn node(&self, i: usize, found: [Outcome<&[u8]>; MOST]) -> Node {
        let (place, names) = (&self.places[i], self.documents[i]);
        let mut values: [Outcome<Value<'_>>; MOST] = [const { Ok(None) }; MOST];
        for ((value, found), name) in values.iter_mut().zip(found).zip(names) {
            let parse = |bytes| json::read(bytes, self.reading.limits);
            *value = found.and_then(|bytes| bytes.map(parse).transpose().map_err(|error| named(error, place, name)));
        }
        node(
            place,
            names,
            values.each_ref().map(|value| value.as_ref().map(Option::as_ref).map_err(Error::clone)),
            self.reading,
        )
    }
}

fn named(error: Error, place: &Place, name: &str) -> Error {
    match place.key.join(name) {
        Ok(key) => error.at(key),
        Err(_) => error.at(name),
    }
}

impl ReadJob for Job<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (i, j) = (index / self.most, index % self.most);
            let names = self.documents.get(i)?;
            if let Some(name) = names.get(j) {
                key.set(&self.places[i].key);
                // The names of documents are legal.
                key.push(name).ok()?;
                return Some(ticket(index, self.reading.limits));
            }
        }
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let (i, j) = (ticket.index / self.most, ticket.index % self.most);
        let here = crate::fetch::bytes(found, || format!("{}/{}", self.places[i].key, self.documents[i][j]));
        if self.threads > 1 && ticket.index.is_multiple_of(STEP / 4 * self.most) {
            parallel::stock_up();
        }
        let lock = || self.slots[i].lock().unwrap_or_else(PoisonError::into_inner);
        let mut slot = lock();
        let others = (0..self.documents[i].len()).filter(|&other| other != j);
        if others.clone().any(|other| slot.documents[other].is_none()) {
            // Its memory is the map's: a copy waits for the others.
            slot.documents[j] = Some(here.map(|bytes| bytes.map(<[u8]>::to_vec)));
            return;
        }
        let kept = std::mem::take(&mut slot.documents);
        drop(slot);
        let mut found: [Outcome<&[u8]>; MOST] = [const { Ok(None) }; MOST];
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
