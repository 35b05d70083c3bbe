//! [`StaticPlugin`]: a `static` plugin as a value.

use std::ops::Deref;

/// A `static` plugin as a value.
pub struct StaticPlugin<T: ?Sized + 'static>(pub &'static T);

impl<T: ?Sized> Deref for StaticPlugin<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}
