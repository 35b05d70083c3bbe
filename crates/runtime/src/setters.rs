//! [`setters!`](crate::setters): the setters of a `#[non_exhaustive]` struct with public fields.

/// Defines a method for each field that returns the struct with another value of the field.
///
/// Other crates cannot write such a struct as a literal, so they start with its constructor.
#[macro_export]
macro_rules! setters {
    (const $($name:ident: $value:ty,)*) => {$(
        #[doc = concat!("Sets `", stringify!($name), "`.")]
        #[must_use]
        pub const fn $name(mut self, $name: $value) -> Self {
            self.$name = $name;
            self
        }
    )*};
    ($($name:ident: $value:ty,)*) => {$(
        #[doc = concat!("Sets `", stringify!($name), "`.")]
        #[must_use]
        pub fn $name(mut self, $name: $value) -> Self {
            self.$name = $name;
            self
        }
    )*};
}
