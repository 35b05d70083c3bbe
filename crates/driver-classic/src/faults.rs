//! Storage fails during a write. Synced data survive, and a repeated write is complete.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::{CreateRequest, Dataset, MemRef, Options, Place, Registry};
use nczarr_model::{Error, ErrorKind, FillMode, GroupId, NcType, Result, Values, VarId, fill};
use nczarr_nc_table::NcDispatch as _;
use nczarr_runtime::OutBuf;

use crate::store::FileStore;
use crate::{ClassicDriver, create};

/// Memory in which some writes fail after half of their bytes.
#[derive(Debug, Clone)]
pub(crate) struct Failing(Arc<State>);

#[derive(Debug)]
struct State {
    store: FileStore,
    done: AtomicUsize,
    /// The numbers of the writes that fail.
    from: AtomicUsize,
    to: AtomicUsize,
    /// The content before each write.
    before: Mutex<Vec<Vec<u8>>>,
}

impl Failing {
    fn new(from: usize, to: usize) -> Self {
        let (from, to) = (from.into(), to.into());
        Self(Arc::new(State {
            store: FileStore::memory(Vec::new()),
            done: 0.into(),
            from,
            to,
            before: Mutex::default(),
        }))
    }

    fn mend(&self) {
        self.0.to.store(0, Ordering::Relaxed);
    }
}

impl ByteStore for Failing {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        self.0.store.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.before.lock().unwrap().push(self.0.store.image()?);
        let number = self.0.done.fetch_add(1, Ordering::Relaxed);
        let fails =
            self.0.from.load(Ordering::Relaxed) <= number && number < self.0.to.load(Ordering::Relaxed);
        if !fails {
            return self.0.store.write_at(offset, bytes);
        }
        self.0.store.write_at(offset, &bytes[..bytes.len() / 2])?;
        Err(Error::io("storage", std::io::Error::from(std::io::ErrorKind::StorageFull)))
    }

    fn size(&self) -> Result<u64> {
        self.0.store.size()
    }
}

const WIDTH: u64 = 5;
const RECORDS: u64 = 4;

fn dataset(store: &Failing) -> Arc<dyn Dataset> {
    let registry = Arc::new(Registry::new().with_driver(ClassicDriver));
    let (target, options) = (nczarr_url_infer::parse("x.nc#mode=cdf2").unwrap(), Options::default());
    let request = CreateRequest::new(&target, &options, &registry);
    create::start(&request, FileStore::failing(store.clone()), None, None).unwrap()
}

fn put(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &Values) -> Result<()> {
    let bytes = values.to_native_bytes().unwrap();
    ds.put_vara(var, start, count, MemRef::Fixed { ty: values.nc_type(), bytes: &bytes })
}

fn row(record: u64) -> Vec<i16> {
    (0..WIDTH).map(|at| (record * 100 + at) as i16).collect()
}

/// Runs `step`, and once more after a failure, when the storage works again. Returns whether it failed.
fn insist(store: &Failing, mut step: impl FnMut() -> Result<()>) -> bool {
    match step() {
        Ok(()) => false,
        Err(error) => {
            assert!(error.code() == 28 || error.kind() == ErrorKind::Io, "{error}");
            store.mend();
            step().unwrap();
            true
        }
    }
}

/// Checks that a file has all synced data.
fn check(image: Vec<u8>, synced: u64, whole: bool, filling: bool) {
    let registry = Registry::new().with_driver(ClassicDriver);
    let ds =
        Arc::new(registry).open_bytes(&Place::url("x.nc"), image.into(), false, &Options::default()).unwrap();
    let model = ds.model().snapshot();
    let values = |name: &str| {
        let var = ds.inq_varid(GroupId::ROOT, name).unwrap();
        let shape = model.shape(var).unwrap();
        let xtype = model.var(var).unwrap().xtype;
        let mut bytes = vec![0; shape.iter().product::<u64>() as usize * xtype.size().unwrap()];
        let out = &mut OutBuf::from_slice(&mut bytes);
        ds.get_vara(var, &vec![0; shape.len()], &shape, nczarr_dispatch::MemMut::Fixed { ty: xtype, out })
            .unwrap();
        Values::from_native_bytes(xtype, &bytes).unwrap()
    };
    let (Values::Short(a), Values::Byte(b)) = (values("a"), values("b")) else { unreachable!() };
    assert!(a.len() as u64 >= synced * WIDTH, "{} of {synced} records", a.len() as u64 / WIDTH);
    assert!(!whole || b.len() as u64 == RECORDS);
    for (record, row_there) in a.chunks_exact(WIDTH as usize).enumerate() {
        let fills = |value: i16| filling && value == fill::SHORT;
        let ok = row_there == row(record as u64)
            || (!whole
                && record as u64 >= synced
                && row_there
                    .iter()
                    .zip(row(record as u64))
                    .all(|(&is, put)| is == put || fills(is) || !filling));
        assert!(ok, "record {record}, {synced} synced: {row_there:?}");
    }
    for (record, &value) in b.iter().enumerate() {
        let unwritten = if filling { fill::BYTE } else { value };
        assert!(
            if record == 2 { value == 9 || !whole } else { value == unwritten },
            "record {record}: {value}"
        );
    }
}

#[test]
fn any_failed_write_loses_no_data() {
    for filling in [true, false] {
        for lasting in [1, 3] {
            let mut failed = 0;
            for from in 0.. {
                let store = Failing::new(from, from + lasting);
                let ds = dataset(&store);
                if !filling {
                    ds.set_fill(FillMode::NoFill).unwrap();
                }
                let t = ds.def_dim(GroupId::ROOT, "t", None).unwrap();
                let x = ds.def_dim(GroupId::ROOT, "x", Some(WIDTH)).unwrap();
                let a = ds.def_var(GroupId::ROOT, "a", NcType::Short, &[t, x]).unwrap();
                let b = ds.def_var(GroupId::ROOT, "b", NcType::Byte, &[t]).unwrap();
                let mut any = insist(&store, || ds._enddef(0, 0, 0, 0));
                let mut synced_at = vec![(store.0.before.lock().unwrap().len(), 0)];
                for record in 0..RECORDS {
                    // Whole records, and others in parts.
                    any |= insist(&store, || match record % 2 {
                        0 => put(&*ds, a, &[record, 0], &[1, WIDTH], &Values::Short(row(record))),
                        _ => {
                            put(&*ds, a, &[record, 0], &[1, 2], &Values::Short(row(record)[..2].to_vec()))?;
                            put(
                                &*ds,
                                a,
                                &[record, 2],
                                &[1, WIDTH - 2],
                                &Values::Short(row(record)[2..].to_vec()),
                            )
                        }
                    });
                    if record == 2 {
                        any |= insist(&store, || put(&*ds, b, &[2], &[1], &Values::Byte(vec![9])));
                    }
                    any |= insist(&store, || ds.sync());
                    synced_at.push((store.0.before.lock().unwrap().len(), record + 1));
                }
                ds.close().unwrap();
                check(store.0.store.image().unwrap(), RECORDS, true, filling);
                // A process that is killed before any of the writes.
                let before = store.0.before.lock().unwrap();
                for (number, image) in before.iter().enumerate().skip(synced_at[0].0) {
                    let synced =
                        synced_at.iter().rfind(|(from, _)| *from <= number).map_or(0, |&(_, synced)| synced);
                    check(image.clone(), synced, false, filling);
                }
                failed += usize::from(any);
                if !any {
                    assert!(from >= before.len(), "nothing is hidden");
                    break;
                }
            }
            assert!(failed > 8, "{failed}");
        }
    }
}
