//! A small random number generator. One seed gives one case.

use nczarr_chunkio::DimOrder;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Returns a random number less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }

    /// Returns a random order of `rank` dimensions. C order and Fortran order are frequent.
    pub fn order(&mut self, rank: usize) -> DimOrder {
        let mut axes: Vec<usize> = (0..rank).collect();
        match self.below(3) {
            0 => {}
            1 => axes.reverse(),
            _ => (1..rank).for_each(|last| axes.swap(last, self.below(last as u64 + 1) as usize)),
        }
        DimOrder::of(&axes).unwrap()
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
