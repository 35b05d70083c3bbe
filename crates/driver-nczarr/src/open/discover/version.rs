//! Detection of the NCZarr style of a V2 root.

use nczarr_model::Result;
use nczarr_storage::{Key, ZMapExt};

use super::DiscoveredRoot;
use crate::flavour;
use crate::legacy::{self, NczarrVersion, WriterBugs};

impl DiscoveredRoot<'_> {
    /// Detects the NCZarr style and converts the root's documents to the current one.
    ///
    /// A root without superblock is listed, which plain Zarr needs in any case; the names show the marker of
    /// the oldest style.
    ///
    /// # Errors
    /// Errors of the map and of legacy documents.
    pub(super) fn find_version(&mut self) -> Result<()> {
        let (reader, root) = (&self.reader, &mut self.root);
        let version = NczarrVersion::of_root(root.attrs.as_ref(), root.zgroup.as_ref());
        let version = match version {
            Some(NczarrVersion::Current) => {
                self.version = version;
                return Ok(());
            }
            None if root.zarray.is_some() => return Ok(()),
            Some(older) => older,
            // Consolidated metadata has no marker of that style, but its writer left its name.
            None if reader.consolidated.is_some() => {
                let properties =
                    root.attrs.as_ref().and_then(|attrs| flavour::properties(attrs.as_object()?));
                if !WriterBugs::of(properties, None).swapped
                    || !reader.map.exists(&Key::new(legacy::NCZARR)?)?
                {
                    return Ok(());
                }
                NczarrVersion::SeparateKeys
            }
            None => {
                let names = match reader.list(&Key::root()) {
                    Ok(names) => names,
                    // The marker of the oldest style may be readable without a listing.
                    Err(error) => match reader.map.exists(&Key::new(legacy::NCZARR)?) {
                        Ok(true) => vec![legacy::NCZARR.to_owned()],
                        _ => return Err(error),
                    },
                };
                let is_older = names.iter().any(|name| name == legacy::NCZARR);
                root.names = Some(names);
                if !is_older {
                    return Ok(());
                }
                NczarrVersion::SeparateKeys
            }
        };
        legacy::convert::root(reader, root, version)?;
        self.version = Some(version);
        Ok(())
    }
}
