//! Converts samples to differences, mapped to small numbers for small differences, and back.
//!
//! A difference goes up or down within the range of samples. While both are possible, up by `n` maps to `2n`
//! and down by `n` to `2n - 1`. Where only one is possible, it maps to the remaining numbers. Source: CCSDS
//! 121.0-B-2, section 4 (unit-delay predictor, mapper).

/// Replaces all samples but the first by mapped differences.
pub(super) fn apply(samples: &mut [u16], max: u16) {
    let mut samples = samples.iter_mut();
    let Some(first) = samples.next() else { return };
    let mut before = *first;
    for sample in samples {
        let now = *sample;
        let theta = before.min(max - before);
        *sample = if now >= before {
            let up = now - before;
            if up <= theta { 2 * up } else { theta + up }
        } else {
            let down = before - now;
            if down <= theta { 2 * down - 1 } else { theta + down }
        };
        before = now;
    }
}

/// Restores samples from mapped differences, none above `max`.
pub(super) fn undo(samples: &mut [u16], max: u16) {
    let mut samples = samples.iter_mut();
    let Some(first) = samples.next() else { return };
    let mut before = *first;
    for sample in samples {
        let mapped = *sample;
        let theta = before.min(max - before);
        let half = mapped / 2 + mapped % 2;
        before = if half <= theta {
            if mapped % 2 == 0 { before + half } else { before - half }
        } else if before == theta {
            // There is no more room downwards.
            mapped
        } else {
            max - mapped
        };
        *sample = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers all possible differences in order: nearest first, down before up.
    fn by_counting(before: u8, now: u8) -> u16 {
        let mut number = 0;
        for distance in 0..=255i32 {
            let mut sides = vec![-distance, distance];
            sides.dedup();
            for difference in sides {
                let value = i32::from(before) + difference;
                if (0..=255).contains(&value) {
                    if value == i32::from(now) {
                        return number;
                    }
                    number += 1;
                }
            }
        }
        unreachable!("every byte is some distance away");
    }

    #[test]
    fn differences_are_numbered_by_distance() {
        for before in 0..=255u8 {
            for now in 0..=255u8 {
                let given = [u16::from(before), u16::from(now)];
                let mut samples = given;
                apply(&mut samples, 255);
                assert_eq!(samples, [given[0], by_counting(before, now)], "{before} to {now}");
                undo(&mut samples, 255);
                assert_eq!(samples, given);
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn prediction_is_reversible(samples in proptest::collection::vec(proptest::num::u16::ANY, 0..50)) {
            let mut changed = samples.clone();
            apply(&mut changed, u16::MAX);
            undo(&mut changed, u16::MAX);
            proptest::prop_assert_eq!(&changed, &samples);
            undo(&mut changed, u16::MAX);
            apply(&mut changed, u16::MAX);
            proptest::prop_assert_eq!(changed, samples);
        }
    }
}
