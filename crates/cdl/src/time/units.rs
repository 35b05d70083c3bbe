//! Parses `units`: `UNIT since DATE`, as in `hours since 2000-01-01 06:00:00.5 +1:00`.

use super::calendar::Date;

/// The length of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Microseconds.
    Micros(i64),
    /// Months of the calendar.
    Months(i64),
}

/// Parses unit, date, and microseconds after its midnight.
pub(super) fn parse(text: &str) -> Option<(Unit, Date, i128)> {
    let mut words = text.split_whitespace();
    let unit = unit(words.next()?)?;
    if !words.next()?.eq_ignore_ascii_case("since") {
        return None;
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    let (day, time) = match rest.find(['T', 't', ' ']) {
        Some(at) => (&rest[..at], rest[at + 1..].trim()),
        None => (rest.as_str(), ""),
    };
    Some((unit, date(day)?, clock(time)?))
}

fn unit(word: &str) -> Option<Unit> {
    let word = word.to_ascii_lowercase();
    let second = 1_000_000;
    Some(match word.as_str() {
        "microsecond" | "microseconds" => Unit::Micros(1),
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Unit::Micros(1000),
        "second" | "seconds" | "sec" | "secs" | "s" => Unit::Micros(second),
        "minute" | "minutes" | "min" | "mins" => Unit::Micros(60 * second),
        "hour" | "hours" | "hr" | "hrs" | "h" => Unit::Micros(3600 * second),
        "day" | "days" | "d" => Unit::Micros(86_400 * second),
        "week" | "weeks" => Unit::Micros(7 * 86_400 * second),
        "month" | "months" => Unit::Months(1),
        "season" | "seasons" => Unit::Months(3),
        "year" | "years" | "yr" | "yrs" => Unit::Months(12),
        _ => return None,
    })
}

/// Parses `Y`, `Y-M` or `Y-M-D`; a year may have a sign.
fn date(text: &str) -> Option<Date> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let year: i64 = number(parts.next()?)?;
    let month = parts.next().map_or(Some(1), number)?;
    let day = parts.next().map_or(Some(1), number)?;
    parts.next().is_none().then_some((sign * year, month, day))
}

/// Parses `H`, `H:M`, `H:M:S` or `H:M:S.F`, and a zone; nothing is midnight.
fn clock(text: &str) -> Option<i128> {
    // A zone begins with a sign, a blank or a letter, and is ignored.
    let text = &text[..text.find([' ', '+', '-', 'Z', 'z', 'U', 'u', 'G']).unwrap_or(text.len())];
    if text.is_empty() {
        return Some(0);
    }
    let mut parts = text.split(':');
    let hour: u8 = number(parts.next()?)?;
    let minute: u8 = parts.next().map_or(Some(0), number)?;
    let seconds = parts.next().unwrap_or("0");
    if parts.next().is_some()
        || hour > 24
        || minute > 59
        || !seconds.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    {
        return None;
    }
    let seconds: f64 = seconds.parse().ok().filter(|seconds| *seconds < 61.0)?;
    Some(i128::from(hour) * 3_600_000_000 + i128::from(minute) * 60_000_000 + (seconds * 1e6).round() as i128)
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_origin() {
        let day = 86_400_000_000;
        for (text, expected) in [
            ("days since 2000-3", Some((Unit::Micros(day), (2000, 3, 1), 0))),
            ("DaYs Since 2000", Some((Unit::Micros(day), (2000, 1, 1), 0))),
            ("days since 2000-06-15T12:00:00.5Z", Some((Unit::Micros(day), (2000, 6, 15), 43_200_500_000))),
            ("months since 1-1-1 0:0 -5:00", Some((Unit::Months(1), (1, 1, 1), 0))),
            ("days", None),
            ("days since", None),
            ("days since yesterday", None),
            ("days since 2000-1-1 25:00", None),
            ("days after 2000-1-1", None),
            ("kelvin since 2000-1-1", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
