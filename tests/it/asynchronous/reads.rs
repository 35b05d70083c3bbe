//! Reads and other calls as futures.

use nczarr::asynchronous::{AsyncFile, AsyncVariable, Call, Canceller, Workers};
use nczarr::{Array, ErrorKind, Extent};
use proptest::prelude::*;

use super::block_on;

/// A dataset of 20 by 30 numbers in chunks of 7 by 8; some chunks are absent.
fn dataset(url: &str) -> nczarr::File {
    let file = nczarr::CreateOptions::new().clobber(true).create(url).unwrap();
    file.add_dimension("y", 20).unwrap();
    file.add_dimension("x", 30).unwrap();
    let v = file.add_variable::<i16>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[7, 8]).unwrap();
    v.set_deflate(3, true).unwrap();
    v.put(&(0..14 * 30).collect::<Vec<i16>>(), (..14, ..)).unwrap();
    file.close().unwrap();
    nczarr::open(url).unwrap()
}

fn extent(len: u64) -> impl Strategy<Value = Extent> {
    (0..len, 1..4u64).prop_flat_map(move |(start, stride)| {
        let most = (len - start).div_ceil(stride);
        (0..=most).prop_map(move |count| Extent::Strided { start, count: Some(count), stride })
    })
}

proptest! {
    #[test]
    fn futures_and_calls_read_equal_values(slabs in prop::collection::vec((extent(20), extent(30)), 1..20)) {
        let file = dataset("memory://async-random");
        let expected: Vec<Array<f64>> =
            slabs.iter().map(|(y, x)| file.variable("v").unwrap().get((*y, *x)).unwrap()).collect();
        let found = block_on(async {
            let v = Workers::new(3).attach(file).variable("v").unwrap();
            let calls: Vec<_> = slabs.iter().map(|slab| tokio::spawn(v.get::<f64>(*slab))).collect();
            let mut found = Vec::new();
            for call in calls {
                found.push(call.await.unwrap().unwrap());
            }
            found
        });
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_dataset_is_opened_read_and_closed() {
    drop(dataset("memory://async-opened"));
    block_on(async {
        let file = nczarr::asynchronous::open("memory://async-opened").await.unwrap();
        assert_eq!(file.as_sync().dimension("x").unwrap().len(), 30);
        let v = file.variable("v").unwrap();
        assert_eq!(v.get::<i32>((3, 1..3)).await.unwrap().as_slice(), [91, 92]);
        assert_eq!(v.call(|v| v.get_value::<i32>((13, 29))).await.unwrap(), 419);
        assert_eq!(file.variable("w").unwrap_err().kind(), ErrorKind::NotVar);
        file.close().await.unwrap();
        assert_eq!(v.get::<i32>(..).await.unwrap_err().kind(), ErrorKind::BadId);
        let error = nczarr::asynchronous::open("memory://async-absent").await.unwrap_err();
        assert_eq!(error.kind(), nczarr::open("memory://async-absent").map(drop).unwrap_err().kind());
    });
}

#[test]
fn an_error_of_a_call_is_that_of_the_variable() {
    let v = dataset("memory://async-errors").variable("v").unwrap();
    let expected = v.get::<i16>((0..21, ..)).unwrap_err();
    let file = Workers::new(1).attach(nczarr::open("memory://async-errors").unwrap());
    let found = block_on(file.variable("v").unwrap().get::<i16>((0..21, ..))).unwrap_err();
    assert_eq!((found.kind(), found.to_string()), (expected.kind(), expected.to_string()));
}

#[test]
fn a_panic_is_the_error_of_its_call_alone() {
    let workers = Workers::new(1);
    let error =
        block_on(workers.run(|| -> nczarr::Result<()> { std::panic::panic_any("on purpose") })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("on purpose"), "{error}");
    assert_eq!(block_on(workers.run(|| Ok(7))).unwrap(), 7);
}

/// The last handle writes and closes the dataset on another thread than this one. This one belongs to the
/// runtime.
#[test]
fn the_last_handle_closes_the_dataset() {
    let workers = Workers::new(1);
    let file = nczarr::create("memory://async-last").unwrap();
    file.add_dimension("x", 2).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&[4, 5], ..).unwrap();
    let file = workers.attach(file);
    let v = file.variable("v").unwrap();
    drop(file);
    assert_eq!(block_on(v.get::<i32>(..)).unwrap().as_slice(), [4, 5]);
    drop(v);
    // The only thread closes the dataset before it begins this call.
    block_on(workers.run(|| Ok(()))).unwrap();
    let stored = nczarr::open("memory://async-last").unwrap();
    assert_eq!(stored.variable("v").unwrap().get_values::<i32>(..).unwrap(), [4, 5]);
}

#[test]
fn futures_go_to_any_thread_and_handles_are_shared() {
    fn is_send<T: Send>() {}
    fn is_shared<T: Send + Sync + 'static>() {}
    is_send::<Call<Array<f32>>>();
    is_send::<Call<Array<String>>>();
    is_send::<Call<AsyncFile>>();
    is_shared::<Workers>();
    is_shared::<AsyncFile>();
    is_shared::<AsyncVariable>();
    is_shared::<Canceller>();
}
