//! [`Odometer`]: iterates over nested runs, the slowest outermost.

use nczarr_runtime::DimVec;

use crate::project::StridedRun;

/// An iteration over the outer runs of a part.
#[derive(Debug)]
pub(crate) struct Odometer<'a> {
    dims: &'a [StridedRun],
    at: DimVec<usize>,
    chunk: usize,
    mem: usize,
    done: bool,
}

impl<'a> Odometer<'a> {
    /// Starts at the given elements. `dims` is innermost first.
    pub(crate) fn new(dims: &'a [StridedRun], chunk: usize, mem: usize) -> Self {
        Self { dims, at: DimVec::with_len(dims.len()), chunk, mem, done: dims.iter().any(|dim| dim.n == 0) }
    }

    /// Calls `visit` with the position of every element in the chunk and in memory: for masks, strings and
    /// tests.
    pub(crate) fn each(dims: &[StridedRun], chunk: usize, mem: usize, mut visit: impl FnMut(usize, usize)) {
        let Some((inner, outer)) = dims.split_first() else { return visit(chunk, mem) };
        for (chunk, mem) in Odometer::new(outer, chunk, mem) {
            for i in 0..inner.n {
                visit(chunk + i * inner.chunk, mem + i * inner.mem);
            }
        }
    }
}

impl Iterator for Odometer<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        if self.done {
            return None;
        }
        let here = (self.chunk, self.mem);
        for (dim, at) in self.dims.iter().zip(self.at.iter_mut()) {
            *at += 1;
            if *at < dim.n {
                self.chunk += dim.chunk;
                self.mem += dim.mem;
                return Some(here);
            }
            self.chunk -= (*at - 1) * dim.chunk;
            self.mem -= (*at - 1) * dim.mem;
            *at = 0;
        }
        self.done = true;
        Some(here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_turns_fastest() {
        let dims = [StridedRun { n: 2, chunk: 1, mem: 10 }, StridedRun { n: 3, chunk: 5, mem: 100 }];
        let places: Vec<_> = Odometer::new(&dims, 7, 0).collect();
        assert_eq!(places, [(7, 0), (8, 10), (12, 100), (13, 110), (17, 200), (18, 210)]);
        assert_eq!(Odometer::new(&[], 3, 4).collect::<Vec<_>>(), [(3, 4)]);
        assert_eq!(Odometer::new(&[StridedRun { n: 0, chunk: 1, mem: 1 }], 0, 0).count(), 0);
    }
}
