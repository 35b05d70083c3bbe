//! Tables and properties of the model's pure functions, against slow and obvious versions of the same.

mod convert;
