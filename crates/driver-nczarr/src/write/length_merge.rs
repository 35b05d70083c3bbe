//! [`LengthMerge`]: the lengths in a document that other writers may have extended.

use nczarr_model::{DimId, Model, Result};

use super::merge_lists::{declared, group};
use crate::metadata::attributes::NCZARR_GROUP;
use crate::metadata::json::Json;
use crate::metadata::v3;

/// The place of lengths in a document that other writers may have extended.
#[derive(Debug, Default)]
pub(crate) enum LengthMerge {
    /// No such lengths.
    #[default]
    None,
    /// In `shape`, at the positions of these dimensions.
    Shape(Vec<Option<DimId>>),
    /// In the group's `dimensions`. Other writers may also have added dimensions, variables and groups.
    Group(Vec<UnlimitedDim>),
}

/// An unlimited dimension of a group.
#[derive(Debug)]
pub(crate) struct UnlimitedDim {
    pub(crate) id: DimId,
    /// Its current name.
    pub(crate) name: String,
    /// Its name in the stored document; `None` for a new dimension whose name belonged to another.
    pub(crate) stored_name: Option<String>,
}

impl LengthMerge {
    pub(crate) fn shape(dims: Vec<Option<DimId>>) -> Self {
        if dims.iter().all(Option::is_none) { Self::None } else { Self::Shape(dims) }
    }

    /// Whether lengths may have grown.
    pub(crate) fn has_lengths(&self) -> bool {
        match self {
            Self::None => false,
            Self::Shape(_) => true,
            Self::Group(dims) => !dims.is_empty(),
        }
    }

    /// Extends the model's dimensions to the lengths of a stored document; returns whether one grew.
    /// `joined`: the document is the only one of its node (V3).
    ///
    /// # Errors
    /// `NC_EBADDIM` for a dimension that the model does not have.
    pub(crate) fn grow(&self, model: &Model, document: &Json, joined: bool) -> Result<bool> {
        let mut grown = false;
        let lengths = match (self, joined) {
            (Self::Group(_), true) => v3::keys::group_attributes(document)
                .map(|attrs| attrs.map_or_else(Vec::new, |attrs| self.lengths(&attrs)))
                .unwrap_or_default(),
            _ => self.lengths(document),
        };
        for (dim, len) in lengths {
            let dim = model.dim(dim)?;
            grown |= len > dim.len();
            dim.grow(len);
        }
        Ok(grown)
    }

    /// Returns the lengths of unlimited dimensions in a stored document.
    fn lengths(&self, document: &Json) -> Vec<(DimId, u64)> {
        match self {
            Self::None => Vec::new(),
            Self::Shape(dims) => {
                let shape =
                    document.as_object().and_then(|members| members.get("shape")).and_then(Json::as_array);
                match shape.filter(|shape| shape.len() == dims.len()) {
                    None => Vec::new(),
                    Some(shape) => dims
                        .iter()
                        .zip(shape)
                        .filter_map(|(dim, len)| Some(((*dim)?, len.as_u64()?)))
                        .collect(),
                }
            }
            Self::Group(dims) => {
                let declared = group(document).and_then(declared);
                dims.iter()
                    .filter_map(|dim| {
                        let size = declared?.get(dim.stored_name.as_ref()?)?.as_object()?.get("size")?;
                        Some((dim.id, size.as_u64()?))
                    })
                    .collect()
            }
        }
    }

    /// Raises the lengths in `document`, which is about to be stored, to those in `other`, which is stored.
    pub(crate) fn raise(&self, document: &mut Json, other: &Json) {
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
            Self::Group(dims) => {
                let group = members.get_mut(NCZARR_GROUP);
                let declared = group.and_then(|group| match group {
                    Json::Object(group) => group.get_mut("dimensions"),
                    _ => None,
                });
                let Some(Json::Object(declared)) = declared else { return };
                for dim in dims {
                    if let Some(Json::Object(declared)) = declared.get_mut(&dim.name)
                        && let Some(size) = declared.get_mut("size")
                        && let Some(more) = greater(dim.id, size)
                    {
                        *size = more;
                    }
                }
            }
        }
    }
}
