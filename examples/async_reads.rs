//! Reads many rows at once as futures, with a deadline, on one thread of a runtime. Drops a call.
//!
//! `cargo run --features async --example async_reads`

use std::time::Duration;

use nczarr::Result;
use nczarr::asynchronous::Workers;

async fn read(path: String) -> Result<()> {
    // At most eight calls run at once.
    let workers = Workers::new(8);
    let file = workers.open(path).await?;
    let t = file.variable("t")?;

    // A task for each row. The runtime's thread waits for none of them.
    let rows = (0..100u64).map(|row| tokio::spawn(t.get::<f64>((row, ..)).timeout(Duration::from_secs(30))));
    let mut sum = 0.0;
    for row in rows.collect::<Vec<_>>() {
        let row = row.await.expect("the task ends")?;
        sum += row.iter().sum::<f64>();
    }
    println!("the sum of {} rows is {sum}", t.as_sync().shape()?[0]);
    assert_eq!(sum, (0..100 * 50).map(f64::from).sum::<f64>());

    // A task that is aborted drops its call, which stops.
    let all = tokio::spawn(t.get::<f64>(..));
    all.abort();
    assert!(all.await.is_err_and(|error| error.is_cancelled()));
    file.close().await
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("field.zarr").display().to_string();
    let file = nczarr::create(&path)?;
    file.add_dimension("y", 100)?;
    file.add_dimension("x", 50)?;
    let t = file.add_variable::<f64>("t", &["y", "x"])?;
    t.set_chunking(&[1, 50])?;
    t.put(&(0..100 * 50).map(f64::from).collect::<Vec<_>>(), ..)?;
    file.close()?;

    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(read(path))
}
