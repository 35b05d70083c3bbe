//! The decisions of one opening that hold for all nodes: [`OpenContext`], and the rules for reading
//! documents.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{MountedMap, OpenRequest};
use nczarr_model::{ErrorKind, Result};

use super::discover::DiscoveredRoot;
use crate::dataset::description::{DatasetDescription, Origin};
use crate::flavour::kind::{DimNaming, Flavour};
use crate::flavour::nczarr_lists;
use crate::flavour::properties;
use crate::legacy::{NczarrVersion, WriterBugs};
use crate::metadata::codecs::cache::CodecCache;
use crate::metadata::json::Json;
use crate::metadata::variable::ReadContext;

/// The decisions of one opening that hold for all nodes.
pub(crate) struct OpenContext<'a> {
    pub(super) request: &'a OpenRequest<'a>,
    pub(super) mounted: &'a MountedMap,
    pub(super) description: DatasetDescription,
    /// The NCZarr style of the root, whatever the flavour.
    pub(super) version: Option<NczarrVersion>,
    /// The Zarr version of the documents.
    pub(super) format: ZarrFormat,
    /// Whether arrays of plain Zarr name their dimensions.
    pub(super) use_names: bool,
    /// Whether the store has consolidated metadata.
    pub(super) has_consolidated: bool,
}

impl<'a> OpenContext<'a> {
    /// Decides the flavour and checks that it can be written. Returns the rules for reading documents too.
    ///
    /// # Errors
    /// `NC_EPERM` for a dataset that can only be read, `NC_EINVAL` for an invalid fragment.
    pub(super) fn new(
        request: &'a OpenRequest<'a>,
        mounted: &'a MountedMap,
        found: &mut DiscoveredRoot<'_>,
    ) -> Result<(Self, ReadContext<'a>)> {
        let DiscoveredRoot { root, version, notes, refused, .. } = found;
        let version = *version;
        let target = request.target;
        let pure_asked = target.has_mode("zarr");
        let flavour = if version.is_some() && !pure_asked { Flavour::NcZarr } else { Flavour::Zarr };
        if request.writable {
            if !mounted.map.caps().write {
                return Err(ErrorKind::Perm.context(format!("{target}: the storage is read-only")));
            }
            if version.is_some() && pure_asked {
                return Err(ErrorKind::Perm.context(
                    "an NCZarr dataset cannot be written with mode=zarr, because its NCZarr metadata would become outdated",
                ));
            }
        }
        let origin = match version {
            Some(_) if pure_asked => Origin::NcZarrIgnored,
            Some(style) => {
                let recorded = || {
                    nczarr_lists::superblock(root.attrs.as_ref())
                        .and_then(nczarr_lists::version)
                        .map(str::to_owned)
                };
                Origin::NcZarr(style, root.version.clone().or_else(recorded))
            }
            None => Origin::Plain,
        };
        let properties =
            root.attrs.as_ref().and_then(Json::as_object).and_then(properties).map(str::to_owned);
        let mut description = DatasetDescription::new(mounted, origin, flavour, false, request.writable);
        description.writer_bugs = WriterBugs::of(properties.as_deref(), version);
        description.properties = properties;
        description.zarr = root.format;
        description.notes = std::mem::take(notes);
        let use_names = !target.has_mode("noxarray");
        let reading = ReadContext {
            registry: request.registry,
            format: root.format,
            limits: &request.options.limits,
            growing: &request.options.growing,
            plain_fill: version.is_some(),
            char_mark: version.is_some(),
            nczarr_version: version.unwrap_or(NczarrVersion::Current),
            writer_bugs: description.writer_bugs,
            counted_times: counted_times(target.get("datetime"), request.writable)?,
            naming: match flavour {
                Flavour::NcZarr => DimNaming::References,
                Flavour::Zarr if use_names => DimNaming::Attribute,
                Flavour::Zarr => DimNaming::None,
            },
            keep: request.writable,
            codecs: CodecCache::default(),
            refused: std::mem::take(refused),
        };
        let opening = Self {
            request,
            mounted,
            description,
            version,
            format: root.format,
            use_names,
            has_consolidated: found.has_consolidated,
        };
        Ok((opening, reading))
    }
}

/// Parses the fragment's `datetime`: `cf` shows times as counts with units, `text` (the default) as text.
fn counted_times(asked: Option<&str>, writable: bool) -> Result<bool> {
    match asked {
        None | Some("text") => Ok(false),
        // The units would be stored as an attribute, although the type has them.
        Some("cf") if writable => {
            Err(ErrorKind::Inval.context("datetime=cf needs a dataset that is opened read-only"))
        }
        Some("cf") => Ok(true),
        Some(other) => Err(ErrorKind::Inval
            .context(format!("invalid value of `datetime` (expected text or cf, found {other})"))),
    }
}
