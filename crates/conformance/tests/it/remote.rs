//! The conformance suite on remote maps that have only the required methods and the trait's defaults.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_conformance::check_map;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{
    Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, Version, WriteOutcome, ZMap,
};

/// Objects behind requests. A key may be a prefix of another key unless `careful` is set.
#[derive(Debug, Default)]
struct Distant {
    objects: Mutex<BTreeMap<String, (u64, Vec<u8>)>>,
    careful: bool,
    conditional: bool,
    deletes: bool,
}

type Objects<'a> = MutexGuard<'a, BTreeMap<String, (u64, Vec<u8>)>>;

impl Distant {
    fn objects(&self) -> Objects<'_> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, objects: &mut Objects<'_>, key: &Key, value: &[u8]) -> Result<()> {
        if key.is_root() {
            return Err(ErrorKind::Object.context("the root holds nothing"));
        }
        let (key, below) = (key.as_str(), |long: &str, short: &str| long.starts_with(&format!("{short}/")));
        if self.careful && objects.keys().any(|other| below(other, key) || below(key, other)) {
            return Err(ErrorKind::Object.context(format!("{key}: a prefix")));
        }
        let number = objects.values().map(|(number, _)| number + 1).max().unwrap_or(0);
        objects.insert(key.to_owned(), (number, value.to_owned()));
        Ok(())
    }
}

impl ZMap for Distant {
    fn caps(&self) -> MapCaps {
        let (conditional_write, delete) = (self.conditional, self.deletes);
        MapCaps::new()
            .write(true)
            .overwrite(true)
            .delete(delete)
            .list(true)
            .range_read(true)
            .conditional_write(conditional_write)
            .remote(true)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        Ok(self.objects().get(key.as_str()).map(|(_, bytes)| bytes.len() as u64))
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if options.versioned && !self.conditional {
            return Err(ErrorKind::Perm.into());
        }
        out.clear();
        let objects = self.objects();
        let Some((number, bytes)) = objects.get(key.as_str()) else { return Ok(None) };
        out.extend_from_slice(options.range.cut(bytes));
        Ok(Some(ObjectInfo::new(options.versioned.then(|| Version::comparable(*number)))))
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        if mode != ListMode::Children {
            return Ok(None);
        }
        let objects = self.objects();
        let below = |key: &String| match prefix.is_root() {
            true => Some(key.clone()),
            false => key.strip_prefix(prefix.as_str())?.strip_prefix('/').map(str::to_owned),
        };
        let names =
            objects.keys().filter_map(below).filter_map(|rest| rest.split('/').next().map(str::to_owned));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names.dedup();
        Ok(Some(names))
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        match self.deletes {
            true => Ok(self.objects().remove(key.as_str()).is_some()),
            false => Err(ErrorKind::Perm.into()),
        }
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        if !self.conditional {
            expect.require_any(key)?;
        }
        let mut objects = self.objects();
        let found = objects.get(key.as_str()).map(|(number, _)| *number);
        let holds = match expect {
            Precondition::Any => true,
            Precondition::Absent => found.is_none(),
            Precondition::Unchanged(version) => found.is_some() && version.get::<u64>() == found.as_ref(),
        };
        if !holds {
            return Ok(WriteOutcome::Conflict);
        }
        self.put(&mut objects, key, value).map(|()| WriteOutcome::Done(None))
    }
}

#[test]
fn remote_maps_over_the_defaults_pass() {
    for careful in [false, true] {
        for (conditional, deletes) in [(true, true), (false, true), (false, false), (true, false)] {
            let make =
                || Arc::new(Distant { careful, conditional, deletes, ..Distant::default() }) as Arc<dyn ZMap>;
            check_map(&make).unwrap_or_else(|failure| panic!("{careful} {conditional} {deletes}: {failure}"));
        }
    }
}
