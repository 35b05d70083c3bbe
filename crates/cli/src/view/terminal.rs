//! A field as text: a heat map of half blocks, two points to a character, or of letters without colours; a
//! line of Braille dots, eight points to a character.

use std::fmt::Write as _;

use super::colors;
use super::field::{Axis, Field, ValueRange};

/// Letters from least to greatest, without colours.
const SHADES: &[u8] = b" .:-=+*#%@";
/// The character for a missing value.
const NONE: char = '?';
/// The dots of a Braille character by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Returns the text of a field. A line has at most `width` characters and `height` lines; points are whole
/// numbers of dots apart.
pub fn draw(field: &Field, [width, height]: [usize; 2], colored: bool) -> String {
    let title = shown(&field.title);
    let mut text = match field.units.as_str() {
        "" => format!("{title}\n"),
        units => format!("{title} [{}]\n", shown(units)),
    };
    let Some(range) = field.range() else {
        text.push_str("no values\n");
        return text;
    };
    match &field.across {
        Some(across) => map(&mut text, field, across, range, colored),
        None => line(&mut text, field, range, [width, height.max(2)]),
    }
    text
}

fn map(text: &mut String, field: &Field, across: &Axis, range: ValueRange, colored: bool) {
    let value = |row: usize, column: usize| {
        (row < field.rows)
            .then(|| field.values[row * field.columns + column])
            .filter(|value| value.is_finite())
    };
    let color = |value: Option<f64>| value.map(|value| colors::at(range.position(value)));
    push_line(
        text,
        format_args!(
            "{} = {} at the top, {} below",
            shown(&across.name),
            short(across.ends[0]),
            short(across.ends[1])
        ),
    );
    let step = if colored { 2 } else { 1 };
    for row in (0..field.rows).step_by(step) {
        for column in 0..field.columns {
            if !colored {
                let shade = value(row, column).map(|value| {
                    let place = range.position(value) * (SHADES.len() - 1) as f64;
                    char::from(SHADES[place.round() as usize])
                });
                text.push(shade.unwrap_or(NONE));
                continue;
            }
            // The upper half is the foreground of one block, the lower one its background.
            match (color(value(row, column)), color(value(row + 1, column))) {
                (None, None) => text.push_str("\x1b[0m "),
                (Some(above), None) => push_color(text, 38, above, "\u{2580}", true),
                (None, Some(below)) => push_color(text, 38, below, "\u{2584}", true),
                (Some(above), Some(below)) => {
                    push_color(text, 48, below, "", false);
                    push_color(text, 38, above, "\u{2580}", false);
                }
            }
        }
        text.push_str(if colored { "\x1b[0m\n" } else { "\n" });
    }
    let along = &field.along;
    push_line(
        text,
        format_args!(
            "{} = {} to {} from left to right",
            shown(&along.name),
            short(along.ends[0]),
            short(along.ends[1])
        ),
    );
    let mut legend = format!("{} ", short(range.least));
    for place in 0..10 {
        let part = f64::from(place) / 9.0;
        if colored {
            push_color(&mut legend, 38, colors::at(part), "\u{2588}", false)
        } else {
            legend.push(char::from(SHADES[place as usize]))
        }
    }
    let end = if colored { "\x1b[0m" } else { "" };
    push_line(text, format_args!("{legend}{end} {}", short(range.greatest)));
}

fn line(text: &mut String, field: &Field, range: ValueRange, [most, height]: [usize; 2]) {
    let steps = field.columns.saturating_sub(1).max(1);
    // The number of dots from one point to the next.
    let apart = ((2 * most).saturating_sub(1) / steps).max(1);
    let width = (field.columns.saturating_sub(1) * apart + 1).div_ceil(2);
    let mut dots = vec![0u8; width * height];
    let mut last: Option<f64> = None;
    for (point, value) in field.values.iter().enumerate() {
        if !value.is_finite() {
            last = None;
            continue;
        }
        let place = (1.0 - range.position(*value)) * (height * 4 - 1) as f64;
        let begin = last.unwrap_or(place);
        let mut from = begin;
        // Also steep parts stay connected.
        for step in if last.is_some() { 1..=apart } else { apart..=apart } {
            let to = begin + (place - begin) * step as f64 / apart as f64;
            let column = (point * apart + step) - apart;
            for row in from.min(to).round() as usize..=from.max(to).round() as usize {
                dots[row / 4 * width + column / 2] |= DOTS[row % 4][column % 2];
            }
            from = to;
        }
        last = Some(place);
    }
    let labels = [short(range.greatest), short(range.least)];
    let margin = labels.iter().map(String::len).max().unwrap_or(0);
    for row in 0..height {
        let label = match row {
            0 => &labels[0],
            row if row + 1 == height => &labels[1],
            _ => "",
        };
        let _ = write!(text, "{label:>margin$} \u{2502}");
        text.extend(
            dots[row * width..][..width]
                .iter()
                .map(|&dot| char::from_u32(0x2800 + u32::from(dot)).unwrap_or(' ')),
        );
        text.push('\n');
    }
    let along = &field.along;
    push_line(
        text,
        format_args!(
            "{:>margin$} {} = {} to {}",
            "",
            shown(&along.name),
            short(along.ends[0]),
            short(along.ends[1])
        ),
    );
}

fn push_line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{line}");
}

fn push_color(text: &mut String, what: u8, [red, green, blue]: [u8; 3], shown: &str, fresh: bool) {
    let reset = if fresh { "\x1b[0m" } else { "" };
    let _ = write!(text, "{reset}\x1b[{what};2;{red};{green};{blue}m{shown}");
}

/// Text of a dataset without what a terminal would obey: control characters as numbers, as in CDL.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            letter.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                let _ = write!(shown, "\\{byte:03o}");
            })
        } else {
            shown.push(letter)
        }
    }
    shown
}

/// A number in few digits.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{value:.4}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    format!("{value:.3e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(rows: usize, columns: usize, values: Vec<f64>) -> Field {
        let axis = |name: &str| Axis { name: name.to_owned(), ends: [0.0, 1.0], points_up: false };
        let across = (rows > 1).then(|| axis("y"));
        Field {
            title: "/v(y, x)".to_owned(),
            units: "K".to_owned(),
            rows,
            columns,
            values,
            across,
            along: axis("x"),
        }
    }

    #[test]
    fn a_map_without_colours() {
        let drawn = draw(&field(2, 3, vec![0.0, 1.0, 2.0, f64::NAN, 9.0, 4.5]), [3, 2], false);
        let expected = "/v(y, x) [K]\ny = 0 at the top, 1 below\n .:\n?@+\nx = 0 to 1 from left to right\n0  .:-=+*#%@ 9\n";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn two_rows_in_one_line_of_colours() {
        let drawn = draw(&field(2, 1, vec![0.0, 1.0]), [1, 2], true);
        assert!(drawn.contains("\x1b[48;2;253;231;37m\x1b[38;2;68;1;84m\u{2580}\x1b[0m\n"), "{drawn:?}");
    }

    #[test]
    fn a_line_is_connected() {
        let drawn = draw(&field(1, 4, vec![0.0, 0.0, 1.0, f64::NAN]), [2, 2], false);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[1], "1 \u{2502}\u{2800}\u{2847}");
        assert_eq!(lines[2], "0 \u{2502}\u{28c0}\u{2847}");
        assert!(draw(&field(1, 2, vec![f64::NAN; 2]), [2, 2], false).ends_with("no values\n"));
    }

    #[test]
    fn a_line_of_few_points_is_as_wide_as_there_is_room() {
        let drawn = draw(&field(1, 3, vec![0.0, 1.0, 0.0]), [4, 2], false);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[1], "1 \u{2502}\u{2800}\u{287c}\u{28a7}\u{2800}");
        assert_eq!(lines[2], "0 \u{2502}\u{28f0}\u{2803}\u{2818}\u{2846}");
        assert_eq!(
            draw(&field(1, 1, vec![1.0]), [4, 2], false).lines().nth(1).map(|line| line.chars().count()),
            Some(4)
        );
    }

    #[test]
    fn numbers_are_short() {
        let texts = [0.0, 1.0, -2.5, 1234.56789, 1e6, 1e-9].map(short);
        assert_eq!(texts, ["0", "1", "-2.5", "1234.5679", "1.000e6", "1.000e-9"]);
    }
}
