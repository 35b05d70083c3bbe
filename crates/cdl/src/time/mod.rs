//! [`TimeAxis`]: the dates of a time variable by the CF conventions: `units` such as `days since 2000-01-01`,
//! and `calendar`. Only `units` is parsed.
//!
//! There are no leap seconds. The zone of the origin is that of all dates, so it has no effect. Months and
//! years follow the calendar: whole numbers keep the day, and a fraction is that part of the month.

mod calendar;
mod units;

use std::io::Write as _;

use nczarr_model::{Group, Model, Values, Var};

use calendar::{Calendar, Date};
use units::Unit;

const DAY_MICROS: i128 = 86_400_000_000;
/// Dates beyond this are not printed.
const MAX_DAYS: i128 = 300_000_000;

/// Origin, unit and calendar of a time variable.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeAxis {
    unit: Unit,
    calendar: Calendar,
    origin: Date,
    /// Microseconds after midnight of the origin.
    micros: i128,
}

/// A moment: a date of the axis' calendar, and microseconds after its midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    date: Date,
    micros: u64,
}

impl TimeAxis {
    /// Parses `units` and `calendar`; `None` if they are not a time axis, or unknown.
    pub fn parse(units: &str, calendar: Option<&str>) -> Option<Self> {
        let calendar = Calendar::named(calendar.unwrap_or_default())?;
        let (unit, origin, micros) = units::parse(units)?;
        calendar.number(origin)?;
        Some(Self { unit, calendar, origin, micros })
    }

    /// Returns the axis of a variable: its own, or that of the variable whose `bounds` it is.
    pub fn of(model: &Model, var: &Var) -> Option<Self> {
        if !var.xtype.is_numeric() {
            return None;
        }
        Self::own_axis(var).or_else(|| {
            let group: &Group = model.group(var.group).ok()?;
            let bounded = group.vars.iter().filter_map(|(_, &id)| model.var(id).ok());
            bounded.filter(|other| text(other, "bounds") == Some(&var.name)).find_map(Self::own_axis)
        })
    }

    /// Returns the axis in the variable's own attributes.
    pub(crate) fn own_axis(var: &Var) -> Option<Self> {
        var.xtype.is_numeric().then(|| Self::parse(text(var, "units")?, text(var, "calendar"))).flatten()
    }

    /// Returns the moment of a number; `None` if it is not finite, or more than about 800,000 years away.
    pub fn moment(&self, value: f64) -> Option<Moment> {
        let first = i128::from(self.calendar.number(self.origin)?);
        let (days, micros) = match self.unit {
            Unit::Micros(step) => {
                let whole = value.trunc();
                if !value.is_finite() || whole.abs() * step as f64 > (MAX_DAYS * DAY_MICROS) as f64 {
                    return None;
                }
                // Separate parts keep the last digits of large numbers.
                (first, whole as i128 * i128::from(step) + ((value - whole) * step as f64).round() as i128)
            }
            Unit::Months(step) => {
                let months = value * step as f64;
                if !months.is_finite() || months.abs() > 10_000_000.0 {
                    return None;
                }
                let day_of = |months: f64| {
                    self.calendar
                        .number(self.calendar.months_later(self.origin, months as i64)?)
                        .map(i128::from)
                };
                let (start, end) = (day_of(months.floor())?, day_of(months.floor() + 1.0)?);
                let part = (months - months.floor()) * ((end - start) * DAY_MICROS) as f64;
                (start, part.round() as i128)
            }
        };
        let micros = self.micros + micros;
        let day = days + micros.div_euclid(DAY_MICROS);
        let day = i64::try_from(day).ok().filter(|day| i128::from(day.unsigned_abs()) < 2 * MAX_DAYS)?;
        Some(Moment { date: self.calendar.date(day), micros: micros.rem_euclid(DAY_MICROS) as u64 })
    }

    /// Appends value `at` as a quoted date. Returns `false` if it has none.
    pub(crate) fn push(&self, out: &mut Vec<u8>, values: &Values, at: usize, separator: char) -> bool {
        let value = match values.scalar(at) {
            Some(nczarr_model::Scalar::Int(value)) => value as f64,
            Some(nczarr_model::Scalar::Float(value)) => value,
            None => return false,
        };
        let Some(moment) = self.moment(value) else { return false };
        out.push(b'"');
        moment.push(out, separator);
        out.push(b'"');
        true
    }
}

impl Moment {
    /// Appends the date and, unless it is midnight, the time without trailing zeros: `2000-01-01 06`.
    pub(crate) fn push(self, out: &mut Vec<u8>, separator: char) {
        let (year, month, day) = self.date;
        let (seconds, rest) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let year = if year < 0 { format!("-{:04}", -year) } else { format!("{year:04}") };
        let mut put = |text: String| out.write_all(text.as_bytes()).expect("a vector takes everything");
        put(format!("{year}-{month:02}-{day:02}"));
        if self.micros > 0 {
            put(format!("{separator}{hour:02}"));
        }
        if minute > 0 || second > 0 || rest > 0 {
            put(format!(":{minute:02}"));
        }
        if second > 0 || rest > 0 {
            put(format!(":{second:02}"));
        }
        if rest > 0 {
            put(format!(".{rest:06}"));
        }
    }

    /// Returns date and time in ISO 8601.
    pub fn iso(self) -> String {
        let (year, month, day) = self.date;
        let (seconds, rest) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let year = if year < 0 { format!("-{:04}", -year) } else { format!("{year:04}") };
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = if rest > 0 { format!(".{rest:06}") } else { String::new() };
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}")
    }
}

/// Returns the text of an attribute.
fn text<'a>(var: &'a Var, name: &str) -> Option<&'a str> {
    match var.atts.get(name)? {
        Values::Char(text) => std::str::from_utf8(crate::text::without_nuls(text)).ok(),
        Values::String(texts) if texts.len() == 1 => std::str::from_utf8(texts[0].as_bytes()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(units: &str, calendar: &str, value: f64) -> String {
        TimeAxis::parse(units, Some(calendar)).and_then(|axis| axis.moment(value)).map_or(
            "none".to_owned(),
            |moment| {
                let mut out = Vec::new();
                moment.push(&mut out, ' ');
                String::from_utf8(out).expect("it is ASCII")
            },
        )
    }

    #[test]
    fn the_same_day_by_every_calendar() {
        for (calendar, days) in [
            ("standard", 185_900.0),
            ("gregorian", 185_900.0),
            ("proleptic_gregorian", 185_909.0),
            ("noleap", 185_785.0),
            ("366_day", 186_294.0),
            ("360_day", 183_240.0),
            ("julian", 185_913.0),
        ] {
            assert_eq!(at("days since 1500-01-01 00:00:00", calendar, days), "2009-01-01", "{calendar}");
        }
    }

    #[test]
    fn times_print_without_trailing_zero_fields() {
        assert_eq!(at("hours since 2000-01-01", "", 3.0), "2000-01-01 03");
        assert_eq!(at("hours since 2000-01-01", "", 0.1), "2000-01-01 00:06");
        assert_eq!(at("seconds since 2000-01-01", "", 4.44408), "2000-01-01 00:00:04.444080");
        assert_eq!(at("days since 2000-06-15T12:00:00Z", "", -0.5), "2000-06-15");
        assert_eq!(at("days since -5-01-01", "", -1.0), "-0006-12-31");
        assert_eq!(at("days since 1582-10-04", "", 1.0), "1582-10-15");
        assert_eq!(at("months since 2000-01-31", "", 1.0), "2000-02-29");
        assert_eq!(at("months since 2000-02-01", "", 0.5), "2000-02-15 12");
        assert_eq!(at("years since 2000-02-29 06:00", "", 1.0), "2001-02-28 06");
        assert_eq!(at("days since 2000-01-01", "", f64::NAN), "none");
        assert_eq!(at("days since 2000-01-01", "", 1e300), "none");
        assert_eq!(at("days since 2000-01-01", "weird", 1.0), "none");
    }
}
