//! A scale of colours from dark blue over green to yellow, evenly growing in brightness, so that it reads
//! without colours too.

/// Red, green and blue at even steps.
const STEPS: [[u8; 3]; 6] =
    [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

/// The colour of a place on the scale, from 0 to 1.
pub fn at(part: f64) -> [u8; 3] {
    let place = part.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let step = (place as usize).min(STEPS.len() - 2);
    let between = place - step as f64;
    std::array::from_fn(|i| {
        let (from, to) = (f64::from(STEPS[step][i]), f64::from(STEPS[step + 1][i]));
        (from + (to - from) * between).round() as u8
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ends_and_beyond() {
        assert_eq!(super::at(0.0), [68, 1, 84]);
        assert_eq!(super::at(1.0), [253, 231, 37]);
        assert_eq!(super::at(7.0), super::at(1.0));
        assert_eq!(super::at(0.2), [65, 68, 135]);
    }
}
