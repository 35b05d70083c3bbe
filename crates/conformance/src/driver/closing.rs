//! Closing while others write: what they were told is written is there afterwards, the rest they are told of.

use std::sync::Barrier;

use nczarr_dispatch::{Clobber, Dataset, MemRef, NcDispatch, VarData};
use nczarr_model::{ErrorKind, GroupId, NcType, Slab, Values, VarId};
use nczarr_url_infer::Target;

use super::Suite;
use super::data::{Elements, read};
use crate::failure::{Outcome, broken, ok, same};

const LEN: usize = 64;
/// How often writers and the one who closes meet.
const ROUNDS: usize = 8;

pub(super) fn check(suite: &Suite<'_>, place: &dyn Fn() -> Outcome<Target>) -> Outcome {
    (0..ROUNDS).try_for_each(|round| meet(suite, &place()?, round % 2 == 1))
}

/// `late`: writers ask for the data only when the dataset is about to be closed.
fn meet(suite: &Suite<'_>, target: &Target, late: bool) -> Outcome {
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
    ok("close while others write", closed)?;
    let again = ok(format!("open of {target}"), suite.open(target, false))?;
    for ((name, len), last) in [("all", LEN), ("half", LEN / 2)].into_iter().zip(written) {
        let last = last.map_err(|_| broken("a put while a dataset is closed", "an error", "a panic"))?;
        came_back(&*again, name, len, ok("data", last)?)?;
    }
    ok("close", again.close())
}

/// Writes 1, 2, 3 … into the first elements until that is refused; what was written last.
fn last_written(data: &dyn VarData, len: usize) -> i32 {
    let put = |value: i32| {
        let bytes = vec![value; len].into_iter().flat_map(i32::to_ne_bytes).collect::<Vec<_>>();
        let memory = MemRef::Fixed { ty: NcType::Int, bytes: &bytes };
        data.put(&Slab::new(&[0], &[len as u64]), memory)
    };
    // One that never ends writes after the end.
    (1..100_000).take_while(|&value| put(value).is_ok()).last().unwrap_or(0)
}

fn came_back(dataset: &dyn Dataset, name: &str, len: usize, last: i32) -> Outcome {
    let var: VarId = ok("inq_varid", dataset.inq_varid(GroupId::ROOT, name))?;
    let fill = i32::MIN + 1;
    let mut expected = vec![fill; LEN];
    expected[..len].fill(if last == 0 { fill } else { last });
    let bytes = Values::Int(expected).to_native_bytes().unwrap_or_default();
    let found = ok("get", read(dataset, var, &[0], &[LEN as u64], None))?;
    let guarantee = "what was written while the dataset was closed is there, unless the put failed";
    same(guarantee, Elements::Fixed { item: 4, bytes }, found)
}
