//! Writing: the structures of a new file.
