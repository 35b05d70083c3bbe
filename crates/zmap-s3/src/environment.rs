//! [`Variables`]: the environment, which tests replace.

/// Looks up an environment variable by name.
pub(crate) type Variables<'v> = dyn Fn(&str) -> Option<String> + 'v;
