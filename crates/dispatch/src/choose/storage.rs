//! Opens or creates only the map of a path, for callers that inspect or wrap it: [`Registry::open_storage`]
//! and [`Registry::create_storage`].

use std::sync::Arc;

use nczarr_model::Result;

use super::create::check_name;
use super::{parse_target, url_options};
use crate::{Clobber, CreateRequest, OpenRequest, Options, Registry, trace};
use nczarr_storage::ZMap;
use nczarr_url_infer::Place;

impl Registry {
    /// Opens the map at `path`, a path or URL, with any content.
    ///
    /// # Errors
    /// As [`Registry::open_map`].
    pub fn open_storage(
        self: &Arc<Self>,
        place: &Place,
        writable: bool,
        options: &Options,
    ) -> Result<Arc<dyn ZMap>> {
        let target = parse_target(place)?;
        self.check_words(&target, false)?;
        let options = &*url_options::options(&target, options, writable)?;
        let request = OpenRequest::new(&target, options, self).writable(writable);
        trace::call("open map", &target, || Ok(self.open_map(&request)?.map))
    }

    /// Creates the empty map of a dataset at `path`, a path or URL.
    ///
    /// # Errors
    /// As [`Registry::create_map`].
    pub fn create_storage(
        self: &Arc<Self>,
        place: &Place,
        clobber: Clobber,
        options: &Options,
    ) -> Result<Arc<dyn ZMap>> {
        let target = place.target()?;
        self.check_words(&target, true)?;
        let options = &*url_options::options(&target, options, true)?;
        if self.driver_of(&target)?.is_none() {
            check_name(&target)?;
        }
        let request = CreateRequest::new(&target, options, self).clobber(clobber);
        trace::call("create map", &target, || Ok(self.create_map(&request)?.map))
    }
}
