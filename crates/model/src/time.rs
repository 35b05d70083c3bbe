//! Times and durations, as stored counts and as text: [`TimeUnit`].
//!
//! A time is a count of units since 1970-01-01T00:00:00 in the proleptic Gregorian calendar, without leap
//! seconds. Its text is ISO 8601 to the unit's precision, with a sign for negative years (year 0 is 1 BC). A
//! duration is a count of units; its text is an integer and the unit. The least count is `NaT`, a missing
//! time. Arithmetic is exact; text that is not a whole count is rejected.
//!
//! Source: NumPy's `datetime64` and `timedelta64`.

use crate::{ErrorKind, Result};

/// The count of a missing time.
const NAT: i64 = i64::MIN;

/// The text of a missing time.
const NAT_TEXT: &str = "NaT";

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum TimeStep {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Milli,
    Micro,
    Nano,
    Pico,
    Femto,
    Atto,
}

/// The unit of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// Whether it counts a duration rather than a time.
    pub span: bool,
    /// The multiple and the unit; `None`: unknown, and the text is the count.
    pub step: Option<(u32, TimeStep)>,
}

/// Attoseconds per second.
const ATTOS: i128 = 1_000_000_000_000_000_000;
const DAY_SECONDS: i128 = 86_400;

impl TimeStep {
    const ALL: [(Self, &str); 13] = [
        (Self::Year, "Y"),
        (Self::Month, "M"),
        (Self::Week, "W"),
        (Self::Day, "D"),
        (Self::Hour, "h"),
        (Self::Minute, "m"),
        (Self::Second, "s"),
        (Self::Milli, "ms"),
        (Self::Micro, "us"),
        (Self::Nano, "ns"),
        (Self::Pico, "ps"),
        (Self::Femto, "fs"),
        (Self::Atto, "as"),
    ];

    /// Returns the unit code: `Y`, `M`, `W`, `D`, `h`, `m`, `s`, `ms`, `us`, `ns`, `ps`, `fs` or `as`.
    pub fn code(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the unit of a code.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == code).map(|(step, _)| *step)
    }

    /// Returns the digits of fractional seconds; `None` for units of whole seconds.
    fn digits(self) -> Option<u32> {
        match self {
            Self::Milli => Some(3),
            Self::Micro => Some(6),
            Self::Nano => Some(9),
            Self::Pico => Some(12),
            Self::Femto => Some(15),
            Self::Atto => Some(18),
            _ => None,
        }
    }

    /// Returns its length in attoseconds; `None` for years and months, whose length varies.
    fn attos(self) -> Option<i128> {
        Some(match self {
            Self::Year | Self::Month => return None,
            Self::Week => 7 * DAY_SECONDS * ATTOS,
            Self::Day => DAY_SECONDS * ATTOS,
            Self::Hour => 3600 * ATTOS,
            Self::Minute => 60 * ATTOS,
            Self::Second => ATTOS,
            fraction => ATTOS / 10_i128.pow(fraction.digits().unwrap_or(0)),
        })
    }

    /// Returns its name in CF units; `None` for years and months, which are mean years in CF.
    fn cf_name(self) -> Option<&'static str> {
        Some(match self {
            Self::Year | Self::Month => return None,
            Self::Week => "weeks",
            Self::Day => "days",
            Self::Hour => "hours",
            Self::Minute => "minutes",
            Self::Second => "seconds",
            Self::Milli => "milliseconds",
            Self::Micro => "microseconds",
            Self::Nano => "nanoseconds",
            Self::Pico => "picoseconds",
            Self::Femto => "femtoseconds",
            Self::Atto => "attoseconds",
        })
    }
}

/// Returns the days since 1970-01-01; the month is 1 to 12.
fn days_from_civil(year: i128, month: i128, day: i128) -> i128 {
    // Years begin in March, so the leap day is the last. 400 years always have the same number of days.
    let year = year - i128::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i128::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

fn month_days(year: i128, month: i128) -> i128 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_civil(next_year, next, 1) - days_from_civil(year, month, 1)
}

impl TimeUnit {
    /// Returns the CF units attribute of the counts; `None` if CF has no exact unit.
    pub fn cf_units(&self) -> Option<String> {
        let (count, step) = self.step?;
        let name = step.cf_name()?;
        let unit = if count == 1 { name.to_owned() } else { format!("{count} {name}") };
        Some(if self.span { unit } else { format!("{unit} since 1970-01-01 00:00:00") })
    }

    /// Returns the text of a count.
    pub fn format(&self, count: i64) -> String {
        let Some((times, step)) = self.step.filter(|_| count != NAT) else {
            return if count == NAT { NAT_TEXT.to_owned() } else { count.to_string() };
        };
        let count = i128::from(count) * i128::from(times);
        if self.span {
            return format!("{count}{}", step.code());
        }
        let year_text = |year: i128| format!("{}{:04}", if year < 0 { "-" } else { "" }, year.unsigned_abs());
        let date = |days: i128| {
            let (year, month, day) = civil_from_days(days);
            format!("{}-{month:02}-{day:02}", year_text(year))
        };
        match step {
            TimeStep::Year => year_text(1970 + count),
            TimeStep::Month => {
                format!("{}-{:02}", year_text(1970 + count.div_euclid(12)), count.rem_euclid(12) + 1)
            }
            TimeStep::Week => date(count * 7),
            TimeStep::Day => date(count),
            TimeStep::Hour => format!("{}T{:02}", date(count.div_euclid(24)), count.rem_euclid(24)),
            TimeStep::Minute => {
                let (day, of_day) = (count.div_euclid(1440), count.rem_euclid(1440));
                format!("{}T{:02}:{:02}", date(day), of_day / 60, of_day % 60)
            }
            TimeStep::Second
            | TimeStep::Milli
            | TimeStep::Micro
            | TimeStep::Nano
            | TimeStep::Pico
            | TimeStep::Femto
            | TimeStep::Atto => {
                let digits = step.digits().unwrap_or(0);
                let per_second = 10_i128.pow(digits);
                let (seconds, fraction) = (count.div_euclid(per_second), count.rem_euclid(per_second));
                let (day, of_day) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
                let text =
                    format!("{}T{:02}:{:02}:{:02}", date(day), of_day / 3600, of_day / 60 % 60, of_day % 60);
                if digits == 0 { text } else { format!("{text}.{fraction:0width$}", width = digits as usize) }
            }
        }
    }

    /// Parses a text to a count. An empty text is a missing time, like `NaT`.
    ///
    /// A time may have less than the unit's precision, a space for `T`, a final `Z`, and trailing zeros in
    /// the fraction. A duration may use another unit that divides evenly.
    ///
    /// # Errors
    /// `NC_EINVAL` if it is not a time, or not a whole count.
    pub fn parse(&self, text: &str) -> Result<i64> {
        let trimmed = text.trim();
        if trimmed.is_empty() || trimmed.eq_ignore_ascii_case(NAT_TEXT) {
            return Ok(NAT);
        }
        let count = match self.step {
            None => trimmed.parse::<i64>().ok().map(i128::from),
            Some((times, step)) => {
                let steps = if self.span { span(trimmed, step) } else { instant(trimmed, step) };
                let times = i128::from(times.max(1));
                steps.filter(|steps| steps % times == 0).map(|steps| steps / times)
            }
        };
        count.and_then(|count| i64::try_from(count).ok()).filter(|&count| count != NAT).ok_or_else(|| {
            let what = if self.span { "a span" } else { "an instant" };
            let unit = self.step.map_or_else(String::new, |(times, step)| match times {
                1 => format!(" of {}", step.code()),
                times => format!(" of {times}{}", step.code()),
            });
            ErrorKind::Inval.context(format!("{text:?} is not {what} that is a whole count{unit}"))
        })
    }
}

/// Parses a duration in units.
fn span(text: &str, step: TimeStep) -> Option<i128> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (number, unit) = text.split_at(end);
    let number: i128 = number.parse().ok()?;
    let unit = if unit.is_empty() { step } else { TimeStep::from_code(unit.trim())? };
    match (unit, step) {
        _ if unit == step => Some(number),
        (TimeStep::Year, TimeStep::Month) => number.checked_mul(12),
        (TimeStep::Month, TimeStep::Year) => (number % 12 == 0).then_some(number / 12),
        _ => divide(number.checked_mul(unit.attos()?)?, step.attos()?),
    }
}

fn divide(value: i128, by: i128) -> Option<i128> {
    (value.rem_euclid(by) == 0).then(|| value.div_euclid(by))
}

/// Parses exactly `digits` decimal digits.
fn number(text: &str, digits: usize) -> Option<i128> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Parses a time in units.
fn instant(text: &str, step: TimeStep) -> Option<i128> {
    let (sign, rest) = match text.as_bytes()[0] {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (date, time) = match rest.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (rest, None),
    };
    let mut date = date.split('-');
    // NumPy counts the sign as one of four digits.
    let least = if sign < 0 { 3 } else { 4 };
    let year = date.next().filter(|year| (least..=30).contains(&year.len()))?;
    let year = sign * number(year, year.len())?;
    let (month, day) = (date.next(), date.next());
    if date.next().is_some() || (time.is_some() && day.is_none()) {
        return None;
    }
    let month = month.map_or(Some(1), |month| number(month, 2)).filter(|month| (1..=12).contains(month))?;
    let day = day
        .map_or(Some(1), |day| number(day, 2))
        .filter(|&day| day >= 1 && day <= month_days(year, month))?;
    let (seconds, fraction) = time.map_or(Some((0, 0)), clock)?;
    let months = (year - 1970) * 12 + month - 1;
    match step {
        TimeStep::Year | TimeStep::Month if day != 1 || seconds != 0 || fraction != 0 => None,
        TimeStep::Year => divide(months, 12),
        TimeStep::Month => Some(months),
        _ => {
            // Overflow of 128 bits implies overflow of 64 bits.
            let seconds = days_from_civil(year, month, day) * DAY_SECONDS + seconds;
            let attos = step.attos()?;
            if attos >= ATTOS {
                (fraction == 0).then(|| divide(seconds, attos / ATTOS))?
            } else {
                seconds.checked_mul(ATTOS / attos)?.checked_add(divide(fraction, attos)?)
            }
        }
    }
}

/// Parses seconds and attoseconds of a time of day.
fn clock(text: &str) -> Option<(i128, i128)> {
    let (text, fraction) = match text.split_once('.') {
        Some((text, fraction)) => (text, Some(fraction)),
        None => (text, None),
    };
    let mut parts = text.split(':');
    let mut part = |limit: i128| match parts.next() {
        Some(part) => number(part, 2).filter(|&part| part < limit).map(Some),
        None => Some(None),
    };
    let (hour, minute, second) = (part(24)??, part(60)?, part(60)?);
    if parts.next().is_some() || (fraction.is_some() && second.is_none()) {
        return None;
    }
    let attos = match fraction {
        None => 0,
        Some(digits) => {
            let kept = digits.trim_end_matches('0');
            if digits.is_empty() || kept.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            number(&format!("{kept:0<18}"), 18)?
        }
    };
    Some((hour * 3600 + minute.unwrap_or(0) * 60 + second.unwrap_or(0), attos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn instant_unit(times: u32, code: &str) -> TimeUnit {
        TimeUnit { span: false, step: TimeStep::from_code(code).map(|step| (times, step)) }
    }

    #[test]
    fn text_of_counts() {
        for (times, code, count, text) in [
            (1, "Y", 31, "2001"),
            (1, "Y", -1970, "0000"),
            (1, "Y", -1971, "-0001"),
            (1, "Y", 1_000_000_000, "1000001970"),
            (1, "Y", i64::MAX, "9223372036854777777"),
            (1, "M", 0, "1970-01"),
            (1, "M", -1, "1969-12"),
            (1, "W", 1, "1970-01-08"),
            (1, "D", 11_016, "2000-02-29"),
            (1, "D", -719_528, "0000-01-01"),
            (1, "D", -719_529, "-0001-12-31"),
            (1, "D", i64::MAX, "25252734927768524-07-27"),
            (1, "h", -1, "1969-12-31T23"),
            (1, "m", 61, "1970-01-01T01:01"),
            (1, "s", 981_173_106, "2001-02-03T04:05:06"),
            (1, "s", i64::MAX, "292277026596-12-04T15:30:07"),
            (1, "ms", -1, "1969-12-31T23:59:59.999"),
            (25, "us", 3, "1970-01-01T00:00:00.000075"),
            (1, "ns", i64::MAX, "2262-04-11T23:47:16.854775807"),
            (1, "ns", i64::MIN + 1, "1677-09-21T00:12:43.145224193"),
            (1, "ps", 1, "1970-01-01T00:00:00.000000000001"),
            (1, "fs", 1, "1970-01-01T00:00:00.000000000000001"),
            (1, "as", -1, "1969-12-31T23:59:59.999999999999999999"),
            (1, "s", i64::MIN, "NaT"),
            (1, "?", 7, "7"),
        ] {
            let unit = instant_unit(times, code);
            assert_eq!(unit.format(count), text, "{count} {times}{code}");
            assert_eq!(unit.parse(text).unwrap(), count, "{text}");
        }
        let span = |times, code| TimeUnit { span: true, ..instant_unit(times, code) };
        for (times, code, count, text) in [
            (1, "us", 25, "25us"),
            (25, "us", -1, "-25us"),
            (1, "Y", 3, "3Y"),
            (1, "D", i64::MIN, "NaT"),
            (1, "?", -7, "-7"),
            (1000, "W", i64::MAX, "9223372036854775807000W"),
        ] {
            assert_eq!(span(times, code).format(count), text);
            assert_eq!(span(times, code).parse(text).unwrap(), count, "{text}");
        }
        for (code, text, count) in
            [("ms", "3s", 3000), ("M", "2Y", 24), ("Y", "-24M", -2), ("h", "1D", 24), ("s", " 5 s ", 5)]
        {
            assert_eq!(span(1, code).parse(text).unwrap(), count, "{text}");
        }
        for (code, text) in [
            ("s", "3ms"),
            ("D", "1M"),
            ("Y", "1M"),
            ("s", "s"),
            ("s", "1.5s"),
            ("s", "1 parsec"),
            ("s", "9223372036854775808s"),
        ] {
            assert_eq!(span(1, code).parse(text).unwrap_err().kind(), ErrorKind::Inval, "{text}");
        }
    }

    #[test]
    fn other_spellings_parse() {
        for (code, text, expected) in [
            ("s", "2001-02-03", "2001-02-03T00:00:00"),
            ("s", "2001", "2001-01-01T00:00:00"),
            ("D", "-001-12-31", "-0001-12-31"),
            ("s", "2001-02-03 04:05:06Z", "2001-02-03T04:05:06"),
            ("s", "+2001-02-03T04", "2001-02-03T04:00:00"),
            ("s", "2001-02-03T04:05:06.000", "2001-02-03T04:05:06"),
            ("D", "2001-02-03T00:00", "2001-02-03"),
            ("W", "1970-01-08T00:00:00.0", "1970-01-08"),
            ("M", "2001-02-01", "2001-02"),
            ("Y", "2001-01-01T00", "2001"),
            ("s", "", "NaT"),
            ("s", "nat", "NaT"),
        ] {
            let unit = instant_unit(1, code);
            assert_eq!(unit.format(unit.parse(text).unwrap()), expected, "{text}");
        }
        for (code, text) in [
            ("s", "2001-02-29"),
            ("s", "2001-13-01"),
            ("s", "2001-02-03T24"),
            ("s", "2001-02-03T04:60"),
            ("s", "2001-02-03T04:05:60"),
            ("s", "2001-02-03T04:05:06.5"),
            ("s", "2001-02-03T04.5"),
            ("s", "2001-02-03T"),
            ("s", "2001-02T04"),
            ("s", "2001-2-3"),
            ("s", "201-02-03"),
            ("s", "-01-02-03"),
            ("s", "2001-02-03-04"),
            ("s", "tomorrow"),
            ("s", "-"),
            ("s", "\u{e4}001"),
            ("W", "1970-01-02"),
            ("D", "2001-02-03T04"),
            ("M", "2001-02-03"),
            ("Y", "2001-02"),
            ("ns", "2262-04-11T23:47:16.854775808"),
            ("ns", "1677-09-21T00:12:43.145224192"),
            ("as", "1970-01-01T00:00:00.0000000000000000001"),
            ("s", "99999999999999999999999999999999"),
        ] {
            assert_eq!(
                instant_unit(1, code).parse(text).map_err(|error| error.kind()),
                Err(ErrorKind::Inval),
                "{text}"
            );
        }
        assert!(instant_unit(25, "us").parse("1970-01-01T00:00:00.000026").is_err());
    }

    #[test]
    fn units_of_cf() {
        assert_eq!(instant_unit(1, "s").cf_units().unwrap(), "seconds since 1970-01-01 00:00:00");
        assert_eq!(instant_unit(25, "us").cf_units().unwrap(), "25 microseconds since 1970-01-01 00:00:00");
        assert_eq!(TimeUnit { span: true, ..instant_unit(1, "D") }.cf_units().unwrap(), "days");
        assert!(instant_unit(1, "M").cf_units().is_none() && instant_unit(1, "?").cf_units().is_none());
    }

    #[test]
    fn day_after_day() {
        // The loop counts the days by the leap year rule itself.
        let (mut year, mut month, mut day) = (-401_i128, 1, 1);
        for days in days_from_civil(-401, 1, 1)..=days_from_civil(2401, 12, 31) {
            assert_eq!(
                (civil_from_days(days), days_from_civil(year, month, day)),
                ((year, month, day), days)
            );
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length =
                [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            (day, month, year) = match (day < length, month < 12) {
                (true, _) => (day + 1, month, year),
                (false, true) => (1, month + 1, year),
                (false, false) => (1, 1, year + 1),
            };
        }
        assert_eq!(days_from_civil(1970, 1, 1), 0);
    }

    proptest! {
        #[test]
        fn formatted_times_parse_back(count: i64, step in 0..13_usize, times in 1..2000_u32, span: bool) {
            let unit = TimeUnit { span, step: Some((times, TimeStep::ALL[step].0)) };
            prop_assert_eq!(unit.parse(&unit.format(count)).unwrap(), count);
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "[-+T:. 0-9Zäh]{0,40}", step in 0..13_usize) {
            let unit = TimeUnit { span: false, step: Some((1, TimeStep::ALL[step].0)) };
            let _ = unit.parse(&text);
        }
    }
}
