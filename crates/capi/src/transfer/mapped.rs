//! Elements that lie apart in memory (`varm`).

use nczarr::{DimVec, ErrorKind, NcType, Result};

/// The distances between elements in memory. They may be negative.
pub struct Distances {
    imap: DimVec<i64>,
}

impl Distances {
    pub fn new(imap: DimVec<i64>) -> Self {
        Self { imap }
    }

    /// Returns the first and the last element of the memory, seen from the element of index 0.
    pub fn extent(&self, count: &[u64]) -> Result<(isize, isize)> {
        if count.contains(&0) {
            return Ok((0, -1));
        }
        let outside = || ErrorKind::Inval.context(format!("imap {:?} for count {count:?}", &*self.imap));
        let (mut first, mut last) = (0isize, 0isize);
        for (&count, &step) in count.iter().zip(self.imap.iter()) {
            let reach = i64::try_from(count - 1).ok().and_then(|steps| steps.checked_mul(step));
            let reach = reach.and_then(|reach| isize::try_from(reach).ok()).ok_or_else(outside)?;
            let end = if reach < 0 { &mut first } else { &mut last };
            *end = end.checked_add(reach).ok_or_else(outside)?;
        }
        Ok((first, last))
    }

    /// Calls `visit` with the place of each element in C order, counted from the first one in memory.
    pub fn visit(&self, count: &[u64], first: isize, mut visit: impl FnMut(usize)) {
        let mut index: DimVec<u64> = std::iter::repeat_n(0, count.len()).collect();
        let mut place = -first;
        if count.contains(&0) {
            return;
        }
        loop {
            visit(place.unsigned_abs());
            let mut dim = count.len();
            loop {
                if dim == 0 {
                    return;
                }
                dim -= 1;
                let step = self.imap[dim] as isize;
                index[dim] += 1;
                place = place.wrapping_add(step);
                if index[dim] < count[dim] {
                    break;
                }
                place = place.wrapping_sub(step.wrapping_mul(count[dim] as isize));
                index[dim] = 0;
            }
        }
    }
}

/// Checks that elements of a type can be apart in memory.
pub fn check_type(ty: NcType) -> Result<()> {
    if ty.is_atomic() {
        return Ok(());
    }
    Err(ErrorKind::MapType.context("mapped access needs an atomic type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: &[u64], imap: &[i64]) -> Vec<usize> {
        let distances = Distances::new(imap.iter().copied().collect());
        let (first, last) = distances.extent(count).unwrap();
        let mut places = Vec::new();
        distances.visit(count, first, |place| places.push(place));
        assert!(places.iter().all(|&place| place as isize <= last - first));
        places
    }

    #[test]
    fn elements_have_their_places() {
        assert_eq!(places(&[2, 3], &[3, 1]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(places(&[2, 3], &[1, 2]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(places(&[3], &[-2]), [4, 2, 0]);
        assert_eq!(places(&[2, 2], &[-2, 1]), [2, 3, 0, 1]);
        assert_eq!(places(&[], &[]), [0]);
        assert!(places(&[2, 0], &[1, 1]).is_empty());
        assert!(Distances::new([i64::MAX].into_iter().collect()).extent(&[5]).is_err());
    }
}
