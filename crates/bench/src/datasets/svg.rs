//! [`bars`]: a plot of horizontal bars as inline SVG, with an axis, its unit, and a line for the usual range.

use std::fmt::Write as _;

/// One bar.
pub(crate) struct Bar {
    /// The text at its left.
    pub label: String,
    /// The number of its colour.
    pub colour: usize,
    /// Its length. `None`: there is no value.
    pub value: Option<f64>,
    /// The ends of the line over it.
    pub range: [f64; 2],
    /// The text at its right.
    pub figure: String,
    /// A longer text, which browsers show on demand.
    pub about: String,
}

/// The number of colours in the style sheet.
pub(crate) const COLOURS: usize = 8;

/// Sizes in pixels.
const ROW: f64 = 20.0;
const BAR: f64 = 12.0;
const PLOT: f64 = 460.0;
const FIGURE: f64 = 70.0;
const AXIS: f64 = 40.0;
/// The width of a character of labels, which have a fixed width.
const CHARACTER: f64 = 7.3;
/// The space between groups of one colour.
const GAP: f64 = 6.0;

/// Draws bars. `axis` is the text below the axis, `name` the description of the plot.
pub(crate) fn bars(name: &str, axis: &str, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
    let left = longest as f64 * CHARACTER + 14.0;
    let scale = Scale::of(bars);
    let mut rows = String::new();
    let mut top = 4.0;
    let mut colour = bars.first().map_or(0, |bar| bar.colour);
    for bar in bars {
        if bar.colour != colour {
            (top, colour) = (top + GAP, bar.colour);
        }
        row(&mut rows, bar, &scale, left, top);
        top += ROW;
    }
    let (width, height) = (left + PLOT + FIGURE, top + AXIS);
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">",
        escaped(name)
    );
    for tick in scale.ticks() {
        let x = left + scale.at(tick);
        let _ = writeln!(text, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{top:.1}\"/>");
        let label = scale.label(tick);
        let y = top + 14.0;
        let _ = writeln!(text, "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>");
    }
    text += &rows;
    let (end, middle, y) = (left + PLOT, left + PLOT / 2.0, top + 32.0);
    let _ = writeln!(
        text,
        "<line class=\"axis\" x1=\"{left:.1}\" y1=\"{top:.1}\" x2=\"{end:.1}\" y2=\"{top:.1}\"/>"
    );
    let _ = writeln!(text, "<text class=\"unit\" x=\"{middle:.1}\" y=\"{y:.1}\">{}</text>", escaped(axis));
    text + "</svg>\n"
}

fn row(text: &mut String, bar: &Bar, scale: &Scale, left: f64, top: f64) {
    let (baseline, middle) = (top + ROW / 2.0 + 4.0, top + ROW / 2.0);
    let label = escaped(&bar.label);
    let x = left - 8.0;
    let _ = write!(text, "<g><title>{}</title>", escaped(&bar.about));
    let _ = write!(
        text,
        "<text class=\"label\" x=\"{x:.1}\" y=\"{baseline:.1}\" xml:space=\"preserve\">{label}</text>"
    );
    let mut end = left;
    if let Some(value) = bar.value {
        let (y, width, colour) = (top + (ROW - BAR) / 2.0, scale.at(value), bar.colour % COLOURS);
        let _ = write!(
            text,
            "<rect class=\"c{colour}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"1.5\"/>"
        );
        let [from, to] = bar.range.map(|value| left + scale.at(value));
        if (to - from).abs() > 0.5 {
            let _ = write!(
                text,
                "<line class=\"range\" x1=\"{from:.1}\" y1=\"{middle:.1}\" x2=\"{to:.1}\" y2=\"{middle:.1}\"/>"
            );
        }
        end = from.max(to).max(left + width);
    }
    let (x, figure) = (end + 7.0, escaped(&bar.figure));
    let _ = writeln!(text, "<text class=\"figure\" x=\"{x:.1}\" y=\"{baseline:.1}\">{figure}</text></g>");
}

/// The way from values to pixels.
struct Scale {
    /// The distance of the ticks.
    step: f64,
    /// The number of steps.
    steps: u32,
}

impl Scale {
    /// Fits all bars, and lines up to half as long again as the longest bar. Longer lines are cut.
    fn of(bars: &[Bar]) -> Self {
        let longest = bars.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
        let ranges = bars.iter().filter(|bar| bar.value.is_some()).flat_map(|bar| bar.range);
        let most = ranges.fold(longest, f64::max).min(longest * 1.5);
        if !(most > 0.0 && most.is_finite()) {
            return Self { step: 1.0, steps: 1 };
        }
        let rough = most / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|&step| step >= rough * (1.0 - 1e-9)).unwrap_or(10.0 * power);
        Self { step, steps: (most / step - 1e-9).ceil().max(1.0) as u32 }
    }

    fn at(&self, value: f64) -> f64 {
        (value / (self.step * f64::from(self.steps))).clamp(0.0, 1.0) * PLOT
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        (0..=self.steps).map(|tick| f64::from(tick) * self.step)
    }

    /// Prints a tick with the digits that its step needs.
    fn label(&self, tick: f64) -> String {
        let digits = (1.0 - self.step.log10().floor()).clamp(0.0, 9.0) as usize;
        let text = format!("{tick:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}

/// Escapes the marks of HTML and XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            char if char.is_control() => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64) -> Bar {
        let (label, figure) = ("a <b>".to_owned(), value.to_string());
        Bar { label, colour: 0, value: Some(value), range: [value, value], figure, about: String::new() }
    }

    #[test]
    fn ticks_are_round_and_cover_the_bars() {
        for (most, want) in [
            (1.0, "0 0.2 0.4 0.6 0.8 1"),
            (43.0, "0 10 20 30 40 50"),
            (0.0115, "0 0.0025 0.005 0.0075 0.01 0.0125"),
            (2400.0, "0 500 1000 1500 2000 2500"),
        ] {
            let scale = Scale::of(&[bar(most), bar(most / 7.0)]);
            let labels: Vec<String> = scale.ticks().map(|tick| scale.label(tick)).collect();
            assert_eq!(labels.join(" "), want);
            assert!(scale.at(most) <= PLOT && scale.at(most) > PLOT / 2.0);
        }
        assert_eq!(Scale::of(&[bar(0.0)]).ticks().count(), 2);
        assert_eq!(Scale::of(&[]).ticks().count(), 2);
    }

    #[test]
    fn long_lines_are_cut() {
        let mut one = bar(10.0);
        one.range = [9.0, 1000.0];
        let scale = Scale::of(&[one]);
        assert_eq!(scale.ticks().last(), Some(15.0));
        assert_eq!(scale.at(1000.0), PLOT);
    }

    #[test]
    fn texts_are_escaped() {
        let plot = bars("\"x\"", "a & b", &[bar(1.0)]);
        assert!(plot.contains("&quot;x&quot;") && plot.contains("a &amp; b") && plot.contains("a &lt;b&gt;"));
        assert!(!plot.contains("<b>"));
    }
}
