//! [`SharedBytes`]: the bytes of a file in memory, which several owners share.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes in memory that several owners share without a copy.
///
/// Any owned bytes become shared bytes without a copy: a vector, a `&'static [u8]`, an `Arc<[u8]>`, the
/// `Bytes` of the crate `bytes`, a file as memory. All clones are the same bytes.
///
/// ```
/// use nczarr_storage::source::SharedBytes;
///
/// let bytes = SharedBytes::from(vec![1, 2, 3]);
/// let other = bytes.clone();
/// assert!(std::ptr::eq(&*bytes, &*other));
/// drop(other);
/// assert_eq!(bytes.into_vec(), [1, 2, 3]);        // the vector from above
/// ```
#[derive(Clone)]
pub struct SharedBytes(Arc<dyn BytesOwner>);

trait BytesOwner: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl<T: AsRef<[u8]> + Send + Sync + 'static> BytesOwner for T {
    fn bytes(&self) -> &[u8] {
        self.as_ref()
    }
}

impl SharedBytes {
    /// Returns the bytes as a vector. If the bytes were made from a vector and no other clone exists, it is
    /// that vector. Otherwise it is a copy.
    pub fn into_vec(self) -> Vec<u8> {
        let owner: Arc<dyn Any + Send + Sync> = Arc::<dyn BytesOwner>::clone(&self.0);
        match owner.downcast::<Vec<u8>>() {
            Ok(vector) => {
                drop(self);
                Arc::unwrap_or_clone(vector)
            }
            Err(_) => self.to_vec(),
        }
    }
}

/// This covers `Vec<u8>` and other owners because `SharedBytes` itself is no `AsRef<[u8]>`.
impl<T: AsRef<[u8]> + Send + Sync + 'static> From<T> for SharedBytes {
    fn from(owner: T) -> Self {
        Self(Arc::new(owner))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.0).bytes()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_comes_back() {
        let vector = Vec::from(*b"the bytes");
        let at = vector.as_ptr();
        let shared = SharedBytes::from(vector);
        assert_eq!((&*shared, shared.as_ptr()), (b"the bytes".as_slice(), at));
        let twin = shared.clone();
        assert_eq!(twin.as_ptr(), at);
        let copy = twin.into_vec();
        assert_eq!(copy, b"the bytes");
        assert_ne!(copy.as_ptr(), at);
        let vector = shared.into_vec();
        assert_eq!(vector.as_ptr(), at);
    }

    #[test]
    fn other_owners_keep_their_memory() {
        static FIXED: &[u8] = b"fixed";
        let shared: SharedBytes = FIXED.into();
        assert_eq!(shared.as_ptr(), FIXED.as_ptr());
        assert_eq!(shared.into_vec(), FIXED);
        let owner: Arc<[u8]> = FIXED.into();
        let shared = SharedBytes::from(Arc::clone(&owner));
        assert_eq!(shared.as_ptr(), owner.as_ptr());
        assert_eq!(&*SharedBytes::from(*b"an array"), b"an array");
        assert_eq!(shared.into_vec(), FIXED);
    }
}
