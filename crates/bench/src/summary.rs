//! [`Summary`]: the figures of repeated measurements.

/// The figures of some times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of times.
    pub count: usize,
    /// The shortest time.
    pub min: f64,
    /// The first quartile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The third quartile.
    pub p75: f64,
    /// 95 % of the times are at most this long.
    pub p95: f64,
    /// 99 % of the times are at most this long.
    pub p99: f64,
}

impl Summary {
    /// Returns the figures of these times. All are NaN if there are none.
    ///
    /// ```
    /// let summary = nczarr_bench::Summary::of(&[3.0, 1.0, 2.0]);
    /// assert_eq!((summary.min, summary.p50, summary.spread()), (1.0, 2.0, 0.5));
    /// ```
    pub fn of(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part| quantile(&sorted, part);
        Self {
            count: sorted.len(),
            min: at(0.0),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p95: at(0.95),
            p99: at(0.99),
        }
    }

    /// Returns the range between the quartiles, divided by the median.
    pub fn spread(&self) -> f64 {
        (self.p75 - self.p25) / self.p50
    }
}

/// Returns the value below which this part of sorted values lies. Interpolates between neighbours.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = part * last as f64;
    let (low, share) = (place.floor() as usize, place.fract());
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_times() {
        let times: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let summary = Summary::of(&times);
        assert_eq!((summary.count, summary.min, summary.p25, summary.p50), (101, 0.0, 25.0, 50.0));
        assert_eq!((summary.p75, summary.p95, summary.p99, summary.spread()), (75.0, 95.0, 99.0, 1.0));
    }

    #[test]
    fn between_two_times_the_figures_are_interpolated() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((summary.p25, summary.p50, summary.p75), (1.75, 2.5, 3.25));
        let one = Summary::of(&[7.0]);
        assert_eq!((one.min, one.p50, one.p99, one.spread()), (7.0, 7.0, 7.0, 0.0));
        assert!(Summary::of(&[]).p50.is_nan());
    }
}
