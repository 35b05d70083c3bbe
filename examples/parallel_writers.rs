//! Writes one variable from several threads, and then from several handles, as several processes would. At
//! last, several handles append records.
//!
//! `cargo run --example parallel_writers`

use std::thread;

use nczarr::Result;

const WRITERS: u64 = 4;
const ROWS: u64 = 10;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("field.zarr").display().to_string();
    let file = nczarr::create(path)?;
    file.add_dimension("y", WRITERS * ROWS)?;
    file.add_dimension("x", 100)?;
    // A chunk has 16 rows, so that writers of 10 rows share chunks. Their parts are merged.
    for name in ["threads", "handles"] {
        file.add_variable::<i32>(name, &["y", "x"])?.set_chunking(&[16, 100])?;
    }
    file.add_unlimited_dimension("record")?;
    file.add_variable::<i32>("appended", &["record"])?.set_chunking(&[16])?;

    let variable = file.variable("threads")?;
    all(|writer| variable.put(&rows(writer), (range(writer), ..)))?;
    file.close()?;

    all(|writer| {
        let file = nczarr::append(path)?;
        file.variable("handles")?.put(&rows(writer), (range(writer), ..))?;
        file.close()
    })?;

    all(|writer| {
        let file = nczarr::append(path)?;
        // No other writer gets these records.
        let start = file.dimension("record")?.reserve(ROWS)?;
        file.variable("appended")?.put(&[writer as i32; ROWS as usize], start..start + ROWS)?;
        file.close()
    })?;

    let file = nczarr::open(path)?;
    let mut appended = file.variable("appended")?.get_values::<i32>(..)?;
    println!("appended: {appended:?}");
    appended.sort_unstable();
    assert_eq!(appended, (0..WRITERS * ROWS).map(|row| (row / ROWS) as i32).collect::<Vec<_>>());
    for name in ["threads", "handles"] {
        let values = file.variable(name)?.get_values::<i32>((.., 0))?;
        let expected: Vec<i32> = (0..WRITERS * ROWS).map(|row| (row / ROWS) as i32).collect();
        assert_eq!(values, expected);
        println!("{name}: {values:?}");
    }
    Ok(())
}

fn rows(writer: u64) -> Vec<i32> {
    vec![writer as i32; (ROWS * 100) as usize]
}

fn range(writer: u64) -> std::ops::Range<u64> {
    writer * ROWS..(writer + 1) * ROWS
}

/// Runs `write` for each writer on a thread of its own.
fn all(write: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let write = &write;
                    move || write(writer)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no writer panics"))
    })
}
