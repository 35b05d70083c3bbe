//! Concurrent access to one file: threads in the middle of a write, and readers of a replaced file.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use nczarr_dispatch::{Clobber, Dataset, MemRef, Options, Place, Progress, VarData};
use nczarr_model::{ErrorKind, NcType, Slab, Values, VarId, fill};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{
    ROOT, all, create, dim, enddef, get, open, place, put, registry, try_put, var, with_mode,
};

/// Bytes of the transfers that stop in the middle, after their first piece.
const LONG: u64 = 3 << 20;

/// Stops transfers of [`LONG`] bytes after their first piece. It reports the stop and waits for the signal to
/// continue.
struct Stop {
    here: Mutex<Sender<()>>,
    on: Mutex<Receiver<bool>>,
}

impl Progress for Stop {
    fn advance(&self, done: u64, total: u64) -> bool {
        if total != LONG || done > total / 2 {
            return true;
        }
        self.here.lock().unwrap().send(()).unwrap();
        self.on.lock().unwrap().recv().unwrap_or(true)
    }
}

/// Creates a dataset with long transfers that stop. One channel reports a stop, the other one continues it.
fn stopping(path: &Path) -> (Arc<dyn Dataset>, Receiver<()>, Sender<bool>) {
    let ((here, stopped), (go, on)) = (channel(), channel());
    let mut options = Options::default();
    options.threads = 1;
    options.progress = Some(Arc::new(Stop { here: Mutex::new(here), on: Mutex::new(on) }));
    let ds =
        registry().create(&Place::url(with_mode(path, "cdf2")), Clobber::Refuse, false, &options).unwrap();
    (ds, stopped, go)
}

/// Defines two record variables, a long one and a short one behind it.
fn two(ds: &dyn Dataset) -> (VarId, VarId) {
    let (t, x) = (dim(ds, "t", 0), dim(ds, "x", LONG));
    let (a, b) = (var(ds, "a", NcType::Byte, &[t, x]), var(ds, "b", NcType::Int, &[t]));
    enddef(ds);
    (a, b)
}

fn long() -> Values {
    Values::Byte((0..LONG).map(|i| (i % 120) as i8).collect())
}

/// Opens a copy of the present file, as another process finds it after a crash of this one.
fn found(path: &Path) -> (tempfile::TempDir, Arc<dyn Dataset>) {
    let (folder, copy) = place("copy.nc");
    fs::copy(path, &copy).unwrap();
    (folder, open(&copy, false))
}

/// Checks that every element is the written one or the fill value.
fn is_put_or_fill(found: &Values, put: &Values) -> bool {
    let (Values::Byte(found), Values::Byte(put)) = (found, put) else { return false };
    found.len() == put.len() && found.iter().zip(put).all(|(found, put)| found == put || *found == fill::BYTE)
}

#[test]
fn counted_records_were_filled_or_written() {
    let (_folder, path) = place("x.nc");
    let (ds, stopped, go) = stopping(&path);
    let (a, b) = two(&*ds);
    std::thread::scope(|scope| {
        let go = go;
        let writer = scope.spawn(|| put(&*ds, a, &[0, 0], &[1, LONG], &long()));
        stopped.recv().unwrap();
        put(&*ds, b, &[0], &[1], &Values::Int(vec![7]));
        ds.sync().unwrap();
        let (_copied, killed) = found(&path);
        assert_eq!(all(&*killed, "b"), Values::Int(vec![7]));
        assert!(is_put_or_fill(&all(&*killed, "a"), &long()), "neither zeros nor old bytes");
        // Other threads also read written values or fill values meanwhile.
        assert!(is_put_or_fill(&get(&*ds, a, &[0, LONG - 5], &[1, 5]), &Values::Byte(vec![fill::BYTE; 5])));
        drop(go);
        writer.join().unwrap();
    });
    assert!(all(&*ds, "a") == long(), "the write that was slower than others is whole in the end");
    ds.close().unwrap();
    assert!(all(&*open(&path, false), "a") == long());
}

#[test]
fn a_late_failure_keeps_records_written_in_between() {
    let (_folder, path) = place("x.nc");
    let (ds, stopped, go) = stopping(&path);
    let (a, b) = two(&*ds);
    std::thread::scope(|scope| {
        let go = go;
        let writer = scope.spawn(|| try_put(&*ds, a, &[0, 0], &[1, LONG], &long()));
        stopped.recv().unwrap();
        // The slabs are a part of the same record and a part of a later record.
        put(&*ds, a, &[0, LONG - 2], &[1, 2], &Values::Byte(vec![121, 122]));
        put(&*ds, a, &[2, 0], &[1, 2], &Values::Byte(vec![123, 124]));
        go.send(false).unwrap();
        writer.join().unwrap().unwrap_err();
    });
    put(&*ds, b, &[0], &[1], &Values::Int(vec![7]));
    ds.close().unwrap();
    let ds = open(&path, false);
    assert_eq!(get(&*ds, a, &[0, LONG - 3], &[1, 3]), Values::Byte(vec![fill::BYTE, 121, 122]));
    assert_eq!(get(&*ds, a, &[1, LONG - 3], &[1, 3]), Values::Byte(vec![fill::BYTE; 3]));
    assert_eq!(get(&*ds, a, &[2, 0], &[1, 3]), Values::Byte(vec![123, 124, fill::BYTE]));
    assert_eq!(all(&*ds, "b"), Values::Int(vec![7, fill::INT, fill::INT]));
}

#[test]
fn records_of_a_failed_write_read_as_fill_values() {
    let (_folder, path) = place("x.nc");
    let (ds, stopped, go) = stopping(&path);
    let (a, b) = two(&*ds);
    go.send(false).unwrap();
    try_put(&*ds, a, &[0, 0], &[1, LONG], &long()).unwrap_err();
    stopped.recv().unwrap();
    put(&*ds, b, &[1], &[1], &Values::Int(vec![7]));
    ds.close().unwrap();
    let ds = open(&path, false);
    assert!(all(&*ds, "a") == Values::Byte(vec![fill::BYTE; 2 * LONG as usize]));
    assert_eq!(get(&*ds, b, &[0], &[2]), Values::Int(vec![fill::INT, 7]));
}

fn put_kept(data: &dyn VarData, start: &[u64], count: &[u64], values: &Values) -> nczarr_model::Result<()> {
    let bytes = values.to_native_bytes().unwrap();
    let slab = Slab::new(start, count).check(&vec![u64::MAX; start.len()], |_| false)?;
    data.put(&slab, MemRef::Fixed { ty: values.nc_type(), bytes: &bytes })
}

#[test]
fn closing_waits_for_writers() {
    for abort in [false, true] {
        let (_folder, path) = place("x.nc");
        let (ds, stopped, go) = stopping(&path);
        let (a, b) = two(&*ds);
        let kept = ds.data(b).unwrap();
        let (closed, closing) = channel();
        std::thread::scope(|scope| {
            // This drops the sender if a check fails, so that no thread waits forever.
            let go = go;
            let writer = scope.spawn(|| put(&*ds, a, &[0, 0], &[1, LONG], &long()));
            stopped.recv().unwrap();
            let ds = &*ds;
            let closer = scope.spawn(move || {
                let outcome = if abort { ds.abort() } else { ds.close() };
                closed.send(()).unwrap();
                outcome.unwrap();
            });
            // Later writes fail once the close takes effect.
            while put_kept(&*kept, &[0], &[1], &Values::Int(vec![7])).is_ok() {}
            assert!(closing.try_recv().is_err(), "somebody is writing still");
            go.send(true).unwrap();
            writer.join().unwrap();
            closer.join().unwrap();
        });
        let late = put_kept(&*kept, &[1], &[1], &Values::Int(vec![8])).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::BadId);
        let ds = open(&path, true);
        assert!(all(&*ds, "a") == long(), "all data written without an error are there");
        ds.close().unwrap();
    }
}

#[test]
fn closing_during_a_write_is_an_error() {
    /// Closes the dataset during the transfer.
    struct Close(Mutex<Option<Arc<dyn Dataset>>>);
    impl Progress for Close {
        fn advance(&self, _: u64, total: u64) -> bool {
            if total == LONG
                && let Some(ds) = self.0.lock().unwrap().take()
            {
                ds.close().unwrap();
            }
            true
        }
    }
    let (_folder, path) = place("x.nc");
    let close = Arc::new(Close(Mutex::new(None)));
    let mut options = Options::default();
    options.threads = 1;
    options.progress = Some(Arc::clone(&close) as _);
    let ds =
        registry().create(&Place::url(with_mode(&path, "cdf2")), Clobber::Refuse, false, &options).unwrap();
    let (a, b) = two(&*ds);
    put(&*ds, b, &[0], &[1], &Values::Int(vec![7]));
    *close.0.lock().unwrap() = Some(Arc::clone(&ds));
    let error = try_put(&*ds, a, &[1, 0], &[1, LONG], &long()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadId, "a write after closing is an error: {error}");
    assert_eq!(all(&*open(&path, false), "b"), Values::Int(vec![7]));
}

#[test]
fn definitions_come_at_once_and_only_one_dimension_is_unlimited() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let made: usize = std::thread::scope(|scope| {
        let ds = &*ds;
        let makers: Vec<_> =
            (0..4).map(|at| scope.spawn(move || ds.def_dim(ROOT, &format!("t{at}"), None).is_ok())).collect();
        makers.into_iter().map(|maker| usize::from(maker.join().unwrap())).sum()
    });
    assert_eq!(made, 1);
    ds.close().unwrap();
    assert_eq!(open(&path, false).inq_dimids(ROOT, false).unwrap().len(), 1);
}

/// Creates a record variable with one record.
fn small(path: &Path) -> VarId {
    let ds = create(path, "cdf1");
    let t = dim(&*ds, "t", 0);
    let v = var(&*ds, "v", NcType::Short, &[t]);
    ds.put_att(ROOT, None, "title", NcType::Char, &Values::text("some")).unwrap();
    enddef(&*ds);
    put(&*ds, v, &[0], &[1], &Values::Short(vec![1]));
    ds.close().unwrap();
    v
}

#[test]
fn a_reader_continues_in_a_rewritten_file() {
    let (folder, path) = place("x.nc");
    let v = small(&path);
    let reader = open(&path, false);
    let kept = reader.data(v).unwrap();
    // The file is rewritten with more room. The new file has the same content.
    let ds = open(&path, true);
    ds.redef().unwrap();
    ds._enddef(4096, 512, 0, 512).unwrap();
    put(&*ds, v, &[1], &[1], &Values::Short(vec![2]));
    assert_eq!(all(&*reader, "v"), Values::Short(vec![1]));
    ds.sync().unwrap();
    reader.sync().unwrap();
    assert_eq!(all(&*reader, "v"), Values::Short(vec![1, 2]));
    put(&*ds, v, &[2], &[1], &Values::Short(vec![3]));
    ds.close().unwrap();
    reader.sync().unwrap();
    assert_eq!(all(&*reader, "v"), Values::Short(vec![1, 2, 3]));
    let mut bytes = [0; 2];
    let out = &mut nczarr_runtime::OutBuf::from_slice(&mut bytes);
    let slab = Slab::new(&[2], &[1]).check(&[3], |_| false).unwrap();
    kept.get(&slab, nczarr_dispatch::MemMut::Fixed { ty: NcType::Short, out }).unwrap();
    assert_eq!(i16::from_ne_bytes(bytes), 3, "also what somebody kept");
    // A reader can continue to use a deleted file.
    fs::remove_file(&path).unwrap();
    reader.sync().unwrap();
    assert_eq!(all(&*reader, "v"), Values::Short(vec![1, 2, 3]));
    drop(folder);
}

#[test]
fn changed_definitions_are_an_error_for_a_reader() {
    type Change = fn(&dyn Dataset);
    let changes: [(&str, Change); 5] = [
        ("a variable", |ds| {
            ds.redef().unwrap();
            let t = ds.inq_dimid(ROOT, "t").unwrap();
            var(ds, "w", NcType::Int, &[t]);
        }),
        ("an attribute that needs room", |ds| {
            ds.redef().unwrap();
            ds.put_att(ROOT, None, "history", NcType::Char, &Values::text(&"x".repeat(900))).unwrap();
        }),
        ("an attribute in place", |ds| {
            ds.put_att(ROOT, None, "title", NcType::Char, &Values::text("else")).unwrap();
        }),
        ("a name in place", |ds| ds.rename_var(ds.inq_varid(ROOT, "v").unwrap(), "u").unwrap()),
        ("a dimension's name", |ds| ds.rename_dim(ds.inq_dimid(ROOT, "t").unwrap(), "s").unwrap()),
    ];
    for (what, change) in changes {
        let (_folder, path) = place("x.nc");
        let v = small(&path);
        let reader = open(&path, false);
        let ds = open(&path, true);
        change(&*ds);
        ds.sync().unwrap();
        put(&*ds, v, &[1], &[1], &Values::Short(vec![2]));
        ds.close().unwrap();
        for _ in 0..2 {
            let error = reader.sync().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::FileMeta, "{what}: {error}");
            assert!(error.to_string().contains("x.nc"), "{what}: {error}");
        }
        assert_eq!(all(&*reader, "v"), Values::Short(vec![1]), "{what}: the known data are unchanged");
    }
}

#[test]
fn a_replaced_file_is_an_error_for_a_reader() {
    let (_folder, path) = place("x.nc");
    small(&path);
    let reader = open(&path, false);
    let other = path.with_file_name("other");
    fs::write(&other, "a text").unwrap();
    fs::rename(&other, &path).unwrap();
    let error = reader.sync().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileMeta, "{error}");
    // The file has the same definitions and fewer records than before.
    let ds = registry()
        .create(&Place::url(with_mode(&other, "cdf1")), Clobber::Refuse, false, &Options::default())
        .unwrap();
    let t = dim(&*ds, "t", 0);
    var(&*ds, "v", NcType::Short, &[t]);
    ds.put_att(ROOT, None, "title", NcType::Char, &Values::text("some")).unwrap();
    enddef(&*ds);
    ds.close().unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(reader.sync().unwrap_err().kind(), ErrorKind::FileMeta);
    assert_eq!(all(&*reader, "v"), Values::Short(vec![1]));
}
