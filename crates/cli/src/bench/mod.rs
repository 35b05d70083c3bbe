//! `ncz bench`: [`op`] times one operation for the comparison with other libraries; [`compare`] shows users what maps,
//! filters and chunk shapes cost on their own data.

pub mod compare;
pub mod op;
