//! The map alone that a path means, for who wants to look into it or put something around it: [`Registry::storage`] and
//! [`Registry::new_storage`].

use std::sync::Arc;

use nczarr_model::Result;

use super::{asked, check_name, target_of};
use crate::{Clobber, CreateRequest, OpenRequest, Options, Registry, ZMap, trace};

impl Registry {
    /// Opens the map that `path`, a path or URL, means, whatever lies in it.
    ///
    /// # Errors
    /// As [`Registry::open_map`].
    pub fn storage(self: &Arc<Self>, path: &str, writable: bool, options: &Options) -> Result<Arc<dyn ZMap>> {
        let target = target_of(path)?;
        self.check_words(&target, false)?;
        let options = &*asked::options(&target, options, writable)?;
        let request = OpenRequest { target: &target, writable, options, registry: self, map: None, only: None };
        trace::call("open map", &target, || Ok(self.open_map(&request)?.map))
    }

    /// Makes the empty map that a dataset created at `path`, a path or URL, would lie in.
    ///
    /// # Errors
    /// As [`Registry::create_map`].
    pub fn new_storage(self: &Arc<Self>, path: &str, clobber: Clobber, options: &Options) -> Result<Arc<dyn ZMap>> {
        let target = nczarr_url_infer::parse(path)?;
        self.check_words(&target, true)?;
        let options = &*asked::options(&target, options, true)?;
        if self.driver_of(&target)?.is_none() {
            check_name(&target)?;
        }
        let request = CreateRequest {
            target: &target,
            clobber,
            classic_model: false,
            options,
            registry: self,
            map: None,
            markers: &[],
        };
        trace::call("create map", &target, || Ok(self.create_map(&request)?.map))
    }
}
