//! The exported functions: `nc_get_var`, `nc_put_vara_float` and so on.

use std::ffi::c_int;

use super::get::get;
use super::put::put;
use super::region::Region;
use crate::boundary::pointer::{InPtr, SourcePtr, TargetPtr};
use crate::memory_type::MemoryType;

/// Exports the ten functions of each type of memory.
macro_rules! transfers {
    ($($ending:literal => $memory:expr,)*) => {$(
        export!(
            concat!("nc_get_var", $ending),
            (ncid: c_int, varid: c_int, ip: TargetPtr),
            get(ncid, varid, &Region::Whole, $memory, &ip)
        );
        export!(
            concat!("nc_put_var", $ending),
            (ncid: c_int, varid: c_int, op: SourcePtr),
            put(ncid, varid, &Region::Whole, $memory, &op)
        );
        export!(
            concat!("nc_get_var1", $ending),
            (ncid: c_int, varid: c_int, indexp: InPtr<usize>, ip: TargetPtr),
            get(ncid, varid, &Region::Element(indexp), $memory, &ip)
        );
        export!(
            concat!("nc_put_var1", $ending),
            (ncid: c_int, varid: c_int, indexp: InPtr<usize>, op: SourcePtr),
            put(ncid, varid, &Region::Element(indexp), $memory, &op)
        );
        export!(
            concat!("nc_get_vara", $ending),
            (ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>, ip: TargetPtr),
            get(ncid, varid, &Region::Block(startp, countp), $memory, &ip)
        );
        export!(
            concat!("nc_put_vara", $ending),
            (ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>, op: SourcePtr),
            put(ncid, varid, &Region::Block(startp, countp), $memory, &op)
        );
        export!(
            concat!("nc_get_vars", $ending),
            (
                ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>,
                stridep: InPtr<isize>, ip: TargetPtr,
            ),
            get(ncid, varid, &Region::Strided(startp, countp, stridep), $memory, &ip)
        );
        export!(
            concat!("nc_put_vars", $ending),
            (
                ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>,
                stridep: InPtr<isize>, op: SourcePtr,
            ),
            put(ncid, varid, &Region::Strided(startp, countp, stridep), $memory, &op)
        );
        export!(
            concat!("nc_get_varm", $ending),
            (
                ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>,
                stridep: InPtr<isize>, imapp: InPtr<isize>, ip: TargetPtr,
            ),
            get(ncid, varid, &Region::Mapped(startp, countp, stridep, imapp), $memory, &ip)
        );
        export!(
            concat!("nc_put_varm", $ending),
            (
                ncid: c_int, varid: c_int, startp: InPtr<usize>, countp: InPtr<usize>,
                stridep: InPtr<isize>, imapp: InPtr<isize>, op: SourcePtr,
            ),
            put(ncid, varid, &Region::Mapped(startp, countp, stridep, imapp), $memory, &op)
        );
    )*};
}

for_each_memory_type!(transfers);
transfers!("" => MemoryType::Own,);
