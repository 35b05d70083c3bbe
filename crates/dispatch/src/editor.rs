//! Changes of a dataset's metadata.

use std::fmt;

use nczarr_model::{Defined, DimId, Edit, ErrorKind, GroupId, Result, Values, VarId};

/// Free space requested when define mode ends, in bytes. Hints for formats with a header before the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderPadding {
    /// Free space after the header.
    pub h_minfree: u64,
    /// The alignment of the fixed-size variables; 0: the default of the format.
    pub v_align: u64,
    /// Free space after the fixed-size variables.
    pub v_minfree: u64,
    /// The alignment of the records; 0: the default of the format.
    pub r_align: u64,
}

/// The methods of a dataset that change its metadata.
///
/// [`Dataset::editor`](crate::Dataset::editor) returns them.
///
/// A format checks an edit, changes the model, and stores the metadata when define mode ends:
///
/// ```
/// use nczarr_dispatch::{Editor, HeaderPadding};
/// use nczarr_model::{Defined, Edit, ErrorKind, GroupId, ModelCell, Result};
///
/// /// A dataset that stores nothing and has no groups.
/// #[derive(Debug, Default)]
/// struct Flat(ModelCell);
///
/// impl Editor for Flat {
///     fn admit(&self, edit: &Edit<'_>) -> Result<()> {
///         match edit {
///             Edit::DefGroup { name, .. } => Err(ErrorKind::StrictNc3.context(format!("group {name}"))),
///             _ => Ok(()),
///         }
///     }
///     fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
///         self.admit(edit)?;
///         self.0.define(edit)
///     }
///     fn commit(&self, _padding: HeaderPadding) -> Result<()> {
///         Ok(())
///     }
/// }
///
/// let dataset = Flat::default();
/// let group = Edit::DefGroup { parent: GroupId::ROOT, name: "g" };
/// assert_eq!(dataset.apply(&group).unwrap_err().kind(), ErrorKind::StrictNc3);
/// ```
pub trait Editor: Send + Sync + fmt::Debug {
    /// Checks whether the format supports an edit, and prepares the storage before the model changes.
    ///
    /// # Errors
    /// The netCDF code of the violated rule; nothing has changed then.
    fn admit(&self, edit: &Edit<'_>) -> Result<()>;

    /// Admits an edit and applies it to the model ([`ModelCell::define`](nczarr_model::ModelCell::define)).
    ///
    /// A format whose [`Editor::admit`] depends on changes by other threads makes both steps atomic.
    ///
    /// # Errors
    /// As [`Editor::admit`] and [`Model::apply`](nczarr_model::Model::apply); nothing has changed then.
    fn apply(&self, edit: &Edit<'_>) -> Result<Defined>;

    /// As [`Editor::apply`] of [`Edit::PutAtt`]. It may move the values, which saves a copy.
    ///
    /// # Errors
    /// As [`Editor::apply`]; `values` is unchanged then.
    fn apply_att(&self, group: GroupId, var: Option<VarId>, name: &str, values: &mut Values) -> Result<()> {
        self.apply(&Edit::PutAtt { group, var, name, values }).map(drop)
    }

    /// Writes the metadata (`enddef`). Formats with a header leave the free space `padding`.
    ///
    /// Lengths of unlimited dimensions never count unstored data. Either the format stores the data first, or
    /// it writes the lengths of the last [`Dataset::sync`](crate::Dataset::sync).
    ///
    /// # Errors
    /// Errors of the storage.
    fn commit(&self, padding: HeaderPadding) -> Result<()>;

    /// Ends define mode before a write of data.
    ///
    /// By default it is [`Editor::commit`]. A format with a single writer may store the metadata later: with
    /// the next commit, [`Dataset::sync`](crate::Dataset::sync) or [`Dataset::close`](crate::Dataset::close).
    ///
    /// # Errors
    /// As [`Editor::commit`].
    fn commit_before_data(&self) -> Result<()> {
        self.commit(HeaderPadding::default())
    }

    /// Reserves `count` new indices at the end of an unlimited dimension, and returns the first one.
    ///
    /// The dataset is in data mode. No other call of any thread, handle or process returns one of these
    /// indices. The model has the new length afterwards, and unwritten elements read as fill values. If
    /// others can write to the storage, the new length is stored before the call returns.
    ///
    /// A dataset whose storage has a single writer calls [`Dim::reserve`](nczarr_model::Dim::reserve).
    ///
    /// # Errors
    /// [`ErrorKind::Perm`] if the dataset is read-only, or the format or storage cannot reserve indices;
    /// `NC_EINVAL` for a fixed dimension; `NC_EDIMSIZE` for a length beyond the limit of the format; the
    /// storage's error, after which some indices may remain unused.
    fn reserve(&self, _dim: DimId, _count: u64) -> Result<u64> {
        Err(ErrorKind::Perm.context("the format cannot reserve indices of a dimension"))
    }

    /// Returns the free space of the layout, for [`Editor::commit`]. Formats without a header return zeros.
    ///
    /// The original alignment is unknown: the sizes count, and the alignment preserves the offsets.
    fn header_padding(&self) -> HeaderPadding {
        HeaderPadding::default()
    }
}
