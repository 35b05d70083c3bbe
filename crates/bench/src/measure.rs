//! [`timed`] and [`measure`]: the clock of all measurements.

use std::time::Instant;

/// A result, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Timed<T> {
    /// The result.
    pub value: T,
    /// The time; never 0.
    pub seconds: f64,
}

/// Times one operation.
///
/// # Errors
/// The error of the operation.
pub fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<Timed<T>, E> {
    let clock = Instant::now();
    let value = run()?;
    // A clock may have a coarse resolution.
    Ok(Timed { value, seconds: clock.elapsed().as_secs_f64().max(1e-9) })
}

/// Returns the seconds of some rounds, each after an untimed preparation.
///
/// # Errors
/// The first error of a preparation or a round.
///
/// ```
/// let seconds = nczarr_bench::measure(3, || Ok::<_, String>(vec![3, 1, 2]), |mut numbers| {
///     numbers.sort();
///     Ok(())
/// })?;
/// assert!(nczarr_bench::Summary::of(&seconds).min > 0.0);
/// # Ok::<(), String>(())
/// ```
pub fn measure<T, E>(
    rounds: usize,
    mut prepare: impl FnMut() -> Result<T, E>,
    mut run: impl FnMut(T) -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let mut round = || {
        let prepared = prepare()?;
        Ok(timed(|| run(prepared))?.seconds)
    };
    (0..rounds).map(|_| round()).collect()
}
