//! The conformance suite on this project's driver and maps, and on drivers that break one promise each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_conformance::check_driver;
use nczarr_dispatch::{
    CacheConfig, Clobber, CreateRequest, Dataset, DatasetInfo, Driver, DriverInfo, Editor, HeaderPadding,
    MemMut, MemRef, OpenRequest, Registry, VarData,
};
use nczarr_driver_nczarr::NcZarrDriver;
use nczarr_model::{CheckedSlab, Defined, Edit, ErrorKind, ModelCell, Result, Slab, VarId};
use nczarr_zmap_file::FileMaps;
use nczarr_zmap_mem::MemMaps;

fn registry() -> Arc<Registry> {
    let mut registry = Registry::default().with_map(MemMaps).with_map(FileMaps).with_driver(NcZarrDriver);
    for class in nczarr_filters::BUILTIN {
        registry = registry.with_filter(nczarr_dispatch::StaticPlugin(*class));
    }
    Arc::new(registry)
}

static COUNT: AtomicUsize = AtomicUsize::new(0);

fn memory() -> String {
    format!("memory://check{}#mode=nczarr", COUNT.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn nczarr_in_memory_passes() {
    for modes in ["nczarr", "zarr", "nczarr,xarray", "zarr,noxarray"] {
        let place = || memory().replace("mode=nczarr", &format!("mode={modes}"));
        check_driver(&NcZarrDriver, &registry(), &place)
            .unwrap_or_else(|failure| panic!("{modes}: {failure}"));
    }
}

#[test]
fn nczarr_in_directories_passes() {
    let scratch = tempfile::tempdir().unwrap();
    for modes in ["nczarr", "zarr"] {
        let count = || COUNT.fetch_add(1, Ordering::Relaxed);
        let place = || format!("{}/{}#mode={modes},file", scratch.path().display(), count());
        check_driver(&NcZarrDriver, &registry(), &place)
            .unwrap_or_else(|failure| panic!("{modes}: {failure}"));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    OpenCreates,
    AlwaysReplaces,
    AlwaysWritable,
    AbortKeeps,
    CloseForgets,
    SecondCloseFails,
    DataAreShifted,
    PartsAreShifted,
    AdmitsEverything,
    TakesWhatIsLate,
}

/// The driver of this project, with one fault.
struct FaultyDriver(Fault);

impl FaultyDriver {
    fn wrap(&self, inner: Arc<dyn Dataset>) -> Arc<dyn Dataset> {
        Arc::new(FaultyDataset { inner, fault: self.0, closed: AtomicUsize::new(0) })
    }
}

impl Driver for FaultyDriver {
    fn info(&self) -> &DriverInfo {
        NcZarrDriver.info()
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
        let mut request = request.clone();
        request.writable |= self.0 == Fault::AlwaysWritable;
        match NcZarrDriver.open(&request) {
            Err(_) if self.0 == Fault::OpenCreates => {
                let (target, options, registry) = (request.target, request.options, request.registry);
                self.create(&CreateRequest::new(target, options, registry))
            }
            opened => opened.map(|dataset| self.wrap(dataset)),
        }
    }

    fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
        let mut request = request.clone();
        if self.0 == Fault::AlwaysReplaces {
            request.clobber = Clobber::Replace;
        }
        NcZarrDriver.create(&request).map(|dataset| self.wrap(dataset))
    }
}

#[derive(Debug)]
struct FaultyDataset {
    inner: Arc<dyn Dataset>,
    fault: Fault,
    closed: AtomicUsize,
}

impl Dataset for FaultyDataset {
    fn info(&self) -> DatasetInfo {
        self.inner.info()
    }

    fn model(&self) -> &ModelCell {
        self.inner.model()
    }

    fn registry(&self) -> Option<&Arc<Registry>> {
        self.inner.registry()
    }

    fn data(&self, var: VarId) -> Result<Arc<dyn VarData>> {
        Ok(Arc::new(FaultyData { inner: self.inner.data(var)?, fault: self.fault }))
    }

    fn editor(&self) -> Result<&dyn Editor> {
        Ok(self)
    }

    fn close(&self) -> Result<()> {
        let again = self.closed.fetch_add(1, Ordering::Relaxed) > 0;
        match self.fault {
            Fault::SecondCloseFails if again => Err(ErrorKind::BadId.into()),
            Fault::CloseForgets if !again => self.inner.abort(),
            _ => self.inner.close(),
        }
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn abort(&self) -> Result<()> {
        if self.fault == Fault::AbortKeeps { self.inner.close() } else { self.inner.abort() }
    }
}

impl Editor for FaultyDataset {
    fn admit(&self, edit: &Edit<'_>) -> Result<()> {
        if self.fault == Fault::AdmitsEverything { Ok(()) } else { self.inner.editor()?.admit(edit) }
    }

    fn apply(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.admit(edit)?;
        self.inner.model().define(edit)
    }

    fn commit(&self, padding: HeaderPadding) -> Result<()> {
        self.inner.editor()?.commit(padding)
    }
}

/// Returns a slab with other first indices, which are smaller.
fn shifted<'a>(slab: &CheckedSlab<'a>, start: &'a [u64]) -> CheckedSlab<'a> {
    let slab = Slab { start, ..**slab };
    slab.check(&vec![u64::MAX; slab.rank()], |_| false).unwrap()
}

#[derive(Debug)]
struct FaultyData {
    inner: Arc<dyn VarData>,
    fault: Fault,
}

impl VarData for FaultyData {
    fn get(&self, slab: &CheckedSlab<'_>, out: MemMut<'_, '_>) -> Result<()> {
        let mut start = slab.start.to_vec();
        let is_part = slab.count.last().is_some_and(|&count| count == 1);
        let shifts = self.fault == Fault::DataAreShifted || self.fault == Fault::PartsAreShifted && is_part;
        if shifts && let Some(last) = start.last_mut().filter(|last| **last > 0) {
            *last -= 1;
        }
        self.inner.get(&shifted(slab, &start), out)
    }

    fn put(&self, slab: &CheckedSlab<'_>, data: MemRef<'_>) -> Result<()> {
        let mut start = slab.start.to_vec();
        if self.fault == Fault::DataAreShifted
            && let Some(last) = start.last_mut().filter(|last| **last > 0)
        {
            *last -= 1;
        }
        match self.inner.put(&shifted(slab, &start), data) {
            Err(error) if self.fault == Fault::TakesWhatIsLate && error.kind() == ErrorKind::BadId => Ok(()),
            put => put,
        }
    }

    fn set_chunk_cache(&self, cache: CacheConfig) -> Result<()> {
        self.inner.set_chunk_cache(cache)
    }

    fn chunk_cache(&self) -> CacheConfig {
        self.inner.chunk_cache()
    }

    fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.inner.chunk_shape()
    }
}

#[test]
fn every_broken_promise_is_found() {
    check_driver(&FaultyDriver(Fault::None), &registry(), &memory).unwrap();
    let faults = [
        (Fault::OpenCreates, "open of the absent"),
        (Fault::AlwaysReplaces, "without being asked to replace"),
        (Fault::AlwaysWritable, "as writable as asked for"),
        (Fault::AbortKeeps, "aborted definition"),
        (Fault::CloseForgets, "open of"),
        (Fault::SecondCloseFails, "close again"),
        (Fault::DataAreShifted, "start"),
        (Fault::PartsAreShifted, "v_"),
        (Fault::AdmitsEverything, "read-only"),
        (Fault::TakesWhatIsLate, "successful put during close"),
    ];
    for (fault, about) in faults {
        let failure = check_driver(&FaultyDriver(fault), &registry(), &memory)
            .expect_err(&format!("{fault:?} was not found"));
        let message = failure.to_string();
        assert!(message.contains(about), "{fault:?}: {message}");
    }
}
