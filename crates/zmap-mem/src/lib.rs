//! Memory as a key to bytes map
