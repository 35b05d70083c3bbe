//! Lengths of unlimited dimensions that several writers store: the greater one counts.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use dispatch::{Key, Limits, Payload, WriteJob, WriteTicket, Written, ZMap};
use model::{DimId, ErrorKind, Model, Result};

use crate::attrs::NCZARR_GROUP;
use crate::commit::Document;
use crate::json::{self, Json, Object};

/// Where a document holds lengths that may have grown elsewhere.
#[derive(Debug, Default)]
pub(crate) enum Merge {
    /// Nowhere.
    #[default]
    None,
    /// In `shape`, at the places of these dimensions.
    Shape(Vec<Option<DimId>>),
    /// In the group's `dimensions`, under these names.
    Dims(Vec<(String, DimId)>),
}

impl Merge {
    pub(crate) fn shape(dims: Vec<Option<DimId>>) -> Self {
        if dims.iter().all(Option::is_none) { Self::None } else { Self::Shape(dims) }
    }

    pub(crate) fn dims(dims: Vec<(String, DimId)>) -> Self {
        if dims.is_empty() { Self::None } else { Self::Dims(dims) }
    }

    /// Lets the model's dimensions grow to what a stored document says; answers whether one did.
    ///
    /// # Errors
    /// `NC_EBADDIM` for a dimension the model does not have.
    pub(crate) fn grow(&self, model: &Model, document: &Json) -> Result<bool> {
        let mut grown = false;
        for (dim, len) in self.lengths(document) {
            let dim = model.dim(dim)?;
            grown |= len > dim.len();
            dim.grow(len);
        }
        Ok(grown)
    }

    /// The lengths of unlimited dimensions in a document.
    fn lengths(&self, document: &Json) -> Vec<(DimId, u64)> {
        match self {
            Self::None => Vec::new(),
            Self::Shape(dims) => {
                let shape = document.as_object().and_then(|members| members.get("shape")).and_then(Json::as_array);
                match shape.filter(|shape| shape.len() == dims.len()) {
                    None => Vec::new(),
                    Some(shape) => {
                        dims.iter().zip(shape).filter_map(|(dim, len)| Some(((*dim)?, len.as_u64()?))).collect()
                    }
                }
            }
            Self::Dims(dims) => {
                let declared = document.as_object().and_then(dimensions);
                dims.iter()
                    .filter_map(|(name, dim)| {
                        let size = declared?.get(name)?.as_object()?.get("size")?;
                        Some((*dim, size.as_u64()?))
                    })
                    .collect()
            }
        }
    }

    /// Raises lengths in `document` to those in `other`.
    fn raise(&self, document: &mut Json, other: &Json) {
        let lengths = self.lengths(other);
        let greater = |dim: DimId, len: &Json| {
            let (_, other) = lengths.iter().find(|(id, _)| *id == dim)?;
            (Some(*other) > len.as_u64()).then(|| Json::int(*other))
        };
        let Json::Object(members) = document else { return };
        match self {
            Self::None => {}
            Self::Shape(dims) => {
                if let Some(Json::Array(shape)) = members.get_mut("shape") {
                    for (dim, len) in dims.iter().zip(shape) {
                        if let Some(more) = dim.and_then(|dim| greater(dim, len)) {
                            *len = more;
                        }
                    }
                }
            }
            Self::Dims(dims) => {
                let group = members.get_mut(NCZARR_GROUP);
                let declared = group.and_then(|group| match group {
                    Json::Object(group) => group.get_mut("dimensions"),
                    _ => None,
                });
                let Some(Json::Object(declared)) = declared else { return };
                for (name, dim) in dims {
                    if let Some(Json::Object(declared)) = declared.get_mut(name)
                        && let Some(size) = declared.get_mut("size")
                        && let Some(more) = greater(*dim, size)
                    {
                        *size = more;
                    }
                }
            }
        }
    }
}

fn dimensions(members: &Object) -> Option<&Object> {
    members.get(NCZARR_GROUP)?.as_object()?.get("dimensions")?.as_object()
}

/// The text to store where `old` stands.
///
/// # Errors
/// `NC_ENCZARR` if our own text cannot be read back.
pub(crate) fn merged(document: &Document, old: &[u8], limits: &Limits) -> Result<String> {
    // What cannot be read holds no length: it is replaced.
    let Ok(other) = json::parse(old, limits) else { return Ok(document.text.clone()) };
    let mut ours = json::parse(document.text.as_bytes(), limits).map_err(|error| error.at(&document.key))?;
    document.merge.raise(&mut ours, &other);
    Ok(json::text(&ours))
}

/// Writes documents in one batch, on this thread; one outcome for each.
pub(crate) fn write(map: &dyn ZMap, documents: &[&Document]) -> Vec<Result<()>> {
    let job = Job {
        documents,
        next: AtomicUsize::new(0),
        outcomes: Mutex::new(std::iter::repeat_with(|| None).take(documents.len()).collect()),
    };
    if !documents.is_empty() {
        map.write_batch(&job);
    }
    let outcomes = job.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = |key: &Key| Err(ErrorKind::Internal.context(format!("{key}: the map gave no answer")));
    documents.iter().zip(outcomes).map(|(document, outcome)| outcome.unwrap_or_else(|| lost(&document.key))).collect()
}

struct Job<'a> {
    documents: &'a [&'a Document],
    next: AtomicUsize,
    outcomes: Mutex<Vec<Option<Result<()>>>>,
}

impl WriteJob for Job<'_> {
    fn threads(&self) -> usize {
        1
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        key.set(&self.documents.get(index)?.key);
        Some(WriteTicket { index, expect: None })
    }

    fn value(&self, index: usize, _scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        match self.documents.get(index) {
            Some(document) => Ok(Payload::Caller(document.text.as_bytes())),
            None => Err(ErrorKind::Internal.context(format!("no document {index}"))),
        }
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<Written>) {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = outcomes.get_mut(ticket.index) {
            *place = Some(outcome.map(drop));
        }
    }
}
