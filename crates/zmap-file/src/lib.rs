//! A directory tree as a key to bytes map
