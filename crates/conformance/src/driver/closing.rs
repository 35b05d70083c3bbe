//! Checks closing while other threads write: successful writes are stored, and all others fail.

use std::sync::Barrier;

use nczarr_dispatch::{Clobber, Dataset, MemRef, VarData};
use nczarr_model::{ErrorKind, GroupId, NcType, Slab, Values, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_url_infer::Target;

use super::DriverSuite;
use super::data::{DecodedElements, read};
use crate::failure::{Outcome, broken, ok, same};

const LEN: usize = 64;
/// The number of races between writers and the closing thread.
const ROUNDS: usize = 8;

pub(super) fn check(suite: &DriverSuite<'_>, place: &dyn Fn() -> Outcome<Target>) -> Outcome {
    (0..ROUNDS).try_for_each(|round| meet(suite, &place()?, round % 2 == 1))
}

/// `late`: writers open the data only when the dataset is about to be closed.
fn meet(suite: &DriverSuite<'_>, target: &Target, late: bool) -> Outcome {
    let dataset = ok("create", suite.create(target, Clobber::Refuse))?;
    let x = ok("def_dim", dataset.def_dim(GroupId::ROOT, "x", Some(LEN as u64)))?;
    let all = ok("def_var", dataset.def_var(GroupId::ROOT, "all", NcType::Int, &[x]))?;
    let half = ok("def_var", dataset.def_var(GroupId::ROOT, "half", NcType::Int, &[x]))?;
    ok("enddef", dataset._enddef(0, 4, 0, 4))?;
    let begin = &Barrier::new(3);
    let dataset = &*dataset;
    let (written, closed) = std::thread::scope(|scope| {
        let writers = [(all, LEN), (half, LEN / 2)].map(|(var, len)| {
            let early = (!late).then(|| dataset.data(var));
            scope.spawn(move || {
                begin.wait();
                match early.unwrap_or_else(|| dataset.data(var)) {
                    // It was closed before.
                    Err(error) if late && error.kind() == ErrorKind::BadId => Ok(0),
                    data => data.map(|data| last_written(&*data, len)),
                }
            })
        });
        begin.wait();
        let closed = dataset.close();
        (writers.map(|writer| writer.join()), closed)
    });
    ok("close while other threads write", closed)?;
    let again = ok(format!("open of {target}"), suite.open(target, false))?;
    for ((name, len), last) in [("all", LEN), ("half", LEN / 2)].into_iter().zip(written) {
        let last = last.map_err(|_| broken("a put during close", "an error", "a panic"))?;
        came_back(&*again, name, len, ok("data", last)?)?;
    }
    ok("close", again.close())
}

/// Writes 1, 2, 3 … to the first elements until a write fails; returns the last written number.
fn last_written(data: &dyn VarData, len: usize) -> i32 {
    let put = |value: i32| {
        let bytes = vec![value; len].into_iter().flat_map(i32::to_ne_bytes).collect::<Vec<_>>();
        let memory = MemRef::Fixed { ty: NcType::Int, bytes: &bytes };
        data.put(&Slab::new(&[0], &[len as u64]).check(&[LEN as u64], |_| false)?, memory)
    };
    // A driver that never refuses writes after the end.
    (1..100_000).take_while(|&value| put(value).is_ok()).last().unwrap_or(0)
}

fn came_back(dataset: &dyn Dataset, name: &str, len: usize, last: i32) -> Outcome {
    let var: VarId = ok("inq_varid", dataset.inq_varid(GroupId::ROOT, name))?;
    let fill = i32::MIN + 1;
    let mut expected = vec![fill; LEN];
    expected[..len].fill(if last == 0 { fill } else { last });
    let bytes = Values::Int(expected).to_native_bytes().unwrap_or_default();
    let found = ok("get", read(dataset, var, &[0], &[LEN as u64], None))?;
    let guarantee = "data of a successful put during close is stored";
    same(guarantee, DecodedElements::Fixed { item: 4, bytes }, found)
}
