//! Locks between writers that create, replace or delete one file, and symbolic links.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::thread;

use nczarr_dispatch::{Clobber, Dataset, Options, Place};
use nczarr_model::{ErrorKind, NcType, Result, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{ROOT, all, dim, enddef, files, open, place, put, registry, try_open, var, with_mode};

fn try_create(path: &Path, clobber: Clobber) -> Result<Arc<dyn Dataset>> {
    registry().create(&Place::url(with_mode(path, "cdf1")), clobber, false, &Options::default())
}

fn in_memory(path: &Path, clobber: Clobber) -> Result<Arc<dyn Dataset>> {
    registry().create_in_memory(
        &Place::url(with_mode(path, "cdf1")),
        clobber,
        false,
        &Options::default(),
        true,
    )
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

/// Writes a variable of `len` values that all equal `value`, and closes the dataset.
fn fill(ds: &dyn Dataset, len: u64, value: i32) -> Result<()> {
    let x = dim(ds, "x", len);
    let v = var(ds, "v", NcType::Int, &[x]);
    enddef(ds);
    put(ds, v, &[0], &[len], &Values::Int(vec![value; len as usize]));
    ds.close()
}

fn value(path: &Path) -> Values {
    all(&*open(path, false), "v")
}

#[test]
fn a_replaced_file_belongs_to_one_writer() {
    let (folder, path) = place("x.nc");
    fill(&*try_create(&path, Clobber::Refuse).unwrap(), 3, 1).unwrap();
    let access = Some(ErrorKind::Access);
    let writer = open(&path, true);
    let taken = || {
        let text = path.display().to_string();
        for outcome in [
            kind(try_create(&path, Clobber::Replace)),
            kind(in_memory(&path, Clobber::Replace)),
            kind(registry().open_in_memory(&Place::url(&text), true, &Options::default(), true)),
            kind(try_open(&path, true)),
            kind(registry().delete(&Place::url(&text))),
        ] {
            assert_eq!(outcome, access);
        }
        assert_eq!(kind(try_create(&path, Clobber::Refuse)), Some(ErrorKind::Exist));
        assert_eq!(value(&path), Values::Int(vec![1; 3]));
    };
    taken();
    writer.close().unwrap();
    let new = try_create(&path, Clobber::Replace).unwrap();
    taken();
    fill(&*new, 5, 2).unwrap();
    assert_eq!(value(&path), Values::Int(vec![2; 5]));
    fill(&*try_create(&path, Clobber::Replace).unwrap(), 3, 1).unwrap();
    let new = in_memory(&path, Clobber::Replace).unwrap();
    taken();
    fill(&*new, 5, 3).unwrap();
    assert_eq!(value(&path), Values::Int(vec![3; 5]));
    fill(&*try_create(&path, Clobber::Replace).unwrap(), 3, 1).unwrap();
    // An aborted create leaves the old file unchanged and unlocked.
    try_create(&path, Clobber::Replace).unwrap().abort().unwrap();
    in_memory(&path, Clobber::Replace).unwrap().abort().unwrap();
    open(&path, true).close().unwrap();
    assert_eq!(files(folder.path()), ["x.nc"]);
    registry().delete(&Place::url(path.display().to_string())).unwrap();
}

#[test]
fn a_file_that_appeared_in_between_is_not_overwritten() {
    for (clobber, expected) in [(Clobber::Refuse, ErrorKind::Exist), (Clobber::Replace, ErrorKind::Access)] {
        let (folder, path) = place("x.nc");
        let late = in_memory(&path, clobber).unwrap();
        fill(&*try_create(&path, Clobber::Refuse).unwrap(), 3, 1).unwrap();
        let writer = open(&path, true);
        assert_eq!(kind(fill(&*late, 5, 2)), Some(expected), "{clobber:?}");
        assert!(!late.image().unwrap().is_empty(), "it is still in memory");
        assert_eq!(value(&path), Values::Int(vec![1; 3]));
        writer.close().unwrap();
        assert_eq!(files(folder.path()), ["x.nc"]);
        let late = in_memory(&path, Clobber::Replace).unwrap();
        fs::remove_file(&path).unwrap();
        fill(&*late, 5, 2).unwrap();
        assert_eq!(value(&path), Values::Int(vec![2; 5]));
        fs::remove_file(&path).unwrap();
        let late = in_memory(&path, Clobber::Replace).unwrap();
        fs::write(&path, "a text").unwrap();
        assert_eq!(kind(fill(&*late, 5, 2)), Some(ErrorKind::Exist));
        assert_eq!(fs::read(&path).unwrap(), b"a text");
    }
}

#[test]
fn concurrent_creators_get_the_file_or_an_error() {
    const EACH: u64 = 4;
    for round in 0..40 {
        let (folder, path) = place("x.nc");
        if round % 2 == 0 {
            fill(&*try_create(&path, Clobber::Refuse).unwrap(), 3, 99).unwrap();
        }
        let start = Barrier::new(3 * EACH as usize);
        let done: Vec<(i32, Option<ErrorKind>)> = thread::scope(|scope| {
            let creators: Vec<_> = (0..3 * EACH)
                .map(|number| {
                    let (path, start) = (&path, &start);
                    scope.spawn(move || {
                        start.wait();
                        let ds = match number / EACH {
                            0 => try_create(path, Clobber::Refuse),
                            1 => try_create(path, Clobber::Replace),
                            _ => in_memory(path, Clobber::Replace),
                        };
                        (number as i32, kind(ds.and_then(|ds| fill(&*ds, 1000 + number, number as i32))))
                    })
                })
                .collect();
            creators.into_iter().map(|creator| creator.join().unwrap()).collect()
        });
        let allowed = [None, Some(ErrorKind::Exist), Some(ErrorKind::Access)];
        assert!(done.iter().all(|(_, kind)| allowed.contains(kind)), "{done:?}");
        let Values::Int(found) = value(&path) else { panic!("of type int") };
        let last = found[0];
        assert!(found.len() as i32 == 1000 + last && found.iter().all(|&value| value == last), "a mixture");
        assert!(done.contains(&(last, None)), "{last} is there: {done:?}");
        assert_eq!(files(folder.path()), ["x.nc"]);
    }
}

#[test]
fn cleanup_never_removes_a_file_in_creation() {
    let (folder, path) = place("x.nc");
    fill(&*try_create(&path, Clobber::Refuse).unwrap(), 3, 0).unwrap();
    let start = Barrier::new(4);
    thread::scope(|scope| {
        let replacing = |number: i32| {
            let (path, start) = (&path, &start);
            move || {
                start.wait();
                let outcomes = (0..60).map(|round| {
                    let value = number * 1000 + round;
                    kind(try_create(path, Clobber::Replace).and_then(|ds| fill(&*ds, 500, value)))
                });
                assert!(outcomes.into_iter().all(|kind| matches!(kind, None | Some(ErrorKind::Access))));
            }
        };
        let writing = || {
            start.wait();
            for _ in 0..120 {
                let outcome = try_open(&path, true).and_then(|ds| ds.close());
                assert!(matches!(kind(outcome), None | Some(ErrorKind::Access)));
            }
        };
        scope.spawn(replacing(1));
        scope.spawn(replacing(2));
        scope.spawn(writing);
        scope.spawn(writing);
    });
    assert_eq!(files(folder.path()), ["x.nc"]);
    let Values::Int(found) = value(&path) else { panic!("of type int") };
    assert!(found.iter().all(|value| value == &found[0]));
}

#[cfg(unix)]
#[test]
fn links_stay_links_and_their_targets_are_replaced() {
    let (folder, path) = place("x.nc");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let real = data.join("real.nc");
    // The target is a link to a file that may not exist yet.
    std::os::unix::fs::symlink("between.nc", &path).unwrap();
    std::os::unix::fs::symlink("data/real.nc", folder.path().join("between.nc")).unwrap();
    assert_eq!(kind(try_create(&path, Clobber::Refuse)), Some(ErrorKind::Exist));
    assert_eq!(kind(in_memory(&path, Clobber::Refuse)), Some(ErrorKind::Exist));
    let edit = |path: &Path| {
        let ds = registry().open_in_memory(
            &Place::url(path.display().to_string()),
            true,
            &Options::default(),
            true,
        )?;
        ds.redef()?;
        ds.put_att(ROOT, None, "n", NcType::Int, &Values::Int(vec![1]))?;
        ds.close()
    };
    let make: [&dyn Fn(i32); 4] = [
        &|value| fill(&*in_memory(&path, Clobber::Replace).unwrap(), 3, value).unwrap(),
        &|value| fill(&*try_create(&path, Clobber::Replace).unwrap(), 3, value).unwrap(),
        &|value| {
            fill(&*try_create(&real, Clobber::Replace).unwrap(), 3, value).unwrap();
            edit(&path).unwrap();
        },
        &|value| {
            fs::remove_file(&real).unwrap();
            fill(&*try_create(&path, Clobber::Replace).unwrap(), 3, value).unwrap();
        },
    ];
    for (number, make) in make.into_iter().enumerate() {
        make(number as i32);
        assert!(path.is_symlink() && !real.is_symlink(), "{number}");
        assert_eq!(value(&real), Values::Int(vec![number as i32; 3]), "{number}");
        assert_eq!(files(&data), ["real.nc"]);
    }
    let round = folder.path().join("round.nc");
    std::os::unix::fs::symlink("round.nc", &round).unwrap();
    assert!(try_create(&round, Clobber::Replace).is_err() && in_memory(&round, Clobber::Replace).is_err());
}
