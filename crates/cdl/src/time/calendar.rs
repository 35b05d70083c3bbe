//! [`Calendar`]: conversion between dates and day numbers. Day 0 is the calendar's own 1 January of year 0.

/// The calendars of the CF conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calendar {
    /// Julian up to 4 October 1582, Gregorian from the next day on, which is the 15th.
    Standard,
    /// Gregorian, before its introduction too.
    ProlepticGregorian,
    /// A leap year every four years.
    Julian,
    /// 365 days each year.
    NoLeap,
    /// 366 days each year.
    AllLeap,
    /// Twelve months of 30 days.
    Days360,
}

/// A date: year, month from 1, day from 1.
pub(crate) type Date = (i64, u8, u8);

/// Days before each month of a year without a leap day.
const BEFORE: [i64; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
/// Days from 1 January 0 in the Julian calendar to that in the Gregorian one.
const GREGORIAN_LATER: i64 = 2;
/// 15 October 1582, counted in the Julian calendar.
const REFORM: i64 = 578_103;

impl Calendar {
    /// Returns the calendar of a name, in any case; `None` if it is unknown.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "standard" | "gregorian" | "" => Self::Standard,
            "proleptic_gregorian" => Self::ProlepticGregorian,
            "julian" => Self::Julian,
            "noleap" | "no_leap" | "365_day" => Self::NoLeap,
            "all_leap" | "allleap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            _ => return None,
        })
    }

    /// Returns the number of a day; `None` if the calendar does not have it.
    pub(crate) fn number(self, date: Date) -> Option<i64> {
        let (year, month, day) = date;
        if !(1..=12).contains(&month) || !(-1_000_000..=1_000_000).contains(&year) {
            return None;
        }
        let number = match self {
            Self::Days360 => year * 360 + i64::from(month - 1) * 30 + i64::from(day) - 1,
            Self::Standard => {
                let gregorian = Self::ProlepticGregorian.number(date).map(|number| number + GREGORIAN_LATER);
                match gregorian {
                    Some(number) if number >= REFORM => number,
                    _ => Self::Julian.number(date).filter(|number| *number < REFORM)?,
                }
            }
            _ => {
                let leap = i64::from(month > 2 && self.is_leap(year));
                self.new_year(year) + BEFORE[usize::from(month) - 1] + leap + i64::from(day) - 1
            }
        };
        (self.date(number) == date).then_some(number)
    }

    /// Returns the date of a day number.
    pub(crate) fn date(self, number: i64) -> Date {
        match self {
            Self::Days360 => {
                let rest = number.rem_euclid(360);
                (number.div_euclid(360), (rest / 30) as u8 + 1, (rest % 30) as u8 + 1)
            }
            Self::Standard if number >= REFORM => Self::ProlepticGregorian.date(number - GREGORIAN_LATER),
            Self::Standard => Self::Julian.date(number),
            _ => {
                // The mean length gives the year with an error of at most one.
                let mut year = (number * 400).div_euclid(self.new_year(400));
                while self.new_year(year) > number {
                    year -= 1;
                }
                while self.new_year(year + 1) <= number {
                    year += 1;
                }
                let rest = number - self.new_year(year);
                let leap = |month: usize| i64::from(month > 1 && self.is_leap(year));
                let month = (0..12).rev().find(|&month| BEFORE[month] + leap(month) <= rest).unwrap_or(0);
                (year, month as u8 + 1, (rest - BEFORE[month] - leap(month)) as u8 + 1)
            }
        }
    }

    /// Returns the date a number of months later. A missing day becomes the last of its month.
    pub(crate) fn months_later(self, (year, month, day): Date, months: i64) -> Option<Date> {
        let count = year.checked_mul(12)?.checked_add(i64::from(month) - 1)?.checked_add(months)?;
        let (year, month) = (count.div_euclid(12), count.rem_euclid(12) as u8 + 1);
        (1..=day).rev().map(|day| (year, month, day)).find(|&date| self.number(date).is_some())
    }

    fn is_leap(self, year: i64) -> bool {
        match self {
            Self::NoLeap | Self::Days360 => false,
            Self::AllLeap => true,
            Self::Julian | Self::Standard => year.rem_euclid(4) == 0,
            Self::ProlepticGregorian => {
                year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
            }
        }
    }

    /// Returns the number of the first day of a year.
    fn new_year(self, year: i64) -> i64 {
        let before = year - 1;
        // Year 0 is a leap year where every fourth is. Its days come before year 1.
        let leaps = |period: i64| before.div_euclid(period) + 1;
        year * 365
            + match self {
                Self::NoLeap | Self::Days360 => 0,
                Self::AllLeap => year,
                Self::Julian | Self::Standard => leaps(4),
                Self::ProlepticGregorian => leaps(4) - leaps(100) + leaps(400),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Calendar; 6] = [
        Calendar::Standard,
        Calendar::ProlepticGregorian,
        Calendar::Julian,
        Calendar::NoLeap,
        Calendar::AllLeap,
        Calendar::Days360,
    ];

    /// Compares the dates with a count day by day.
    #[test]
    fn dates_follow_one_another() {
        for calendar in ALL {
            let mut date: Date = (-401, 1, 1);
            let mut number = calendar.number(date).expect("there is such a day");
            while date.0 < 2450 {
                assert_eq!(calendar.date(number), date, "{calendar:?} {number}");
                assert_eq!(calendar.number(date), Some(number), "{calendar:?} {date:?}");
                date = next(calendar, date);
                number += 1;
            }
        }
    }

    fn next(calendar: Calendar, (year, month, day): Date) -> Date {
        if calendar == Calendar::Standard && (year, month, day) == (1582, 10, 4) {
            return (1582, 10, 15);
        }
        let gregorian =
            calendar == Calendar::ProlepticGregorian || (calendar == Calendar::Standard && year > 1582);
        let fourth = year.rem_euclid(4) == 0;
        let leap = match calendar {
            Calendar::AllLeap => true,
            Calendar::NoLeap => false,
            _ if gregorian => fourth && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0),
            _ => fourth,
        };
        let length = match month {
            _ if calendar == Calendar::Days360 => 30,
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        match (month, day) {
            (12, day) if day == length => (year + 1, 1, 1),
            (month, day) if day == length => (year, month + 1, 1),
            _ => (year, month, day + 1),
        }
    }

    #[test]
    fn invalid_dates_have_no_day_number() {
        assert_eq!(Calendar::Standard.number((1582, 10, 10)), None);
        assert_eq!(Calendar::ProlepticGregorian.number((1900, 2, 29)), None);
        assert!(Calendar::Julian.number((1900, 2, 29)).is_some());
        assert_eq!(Calendar::NoLeap.number((2000, 2, 29)), None);
        assert_eq!(Calendar::Days360.number((2000, 1, 31)), None);
        assert!(Calendar::Days360.number((2000, 2, 30)).is_some());
    }

    #[test]
    fn months_keep_the_day_if_possible() {
        let later = |date, months| Calendar::Standard.months_later(date, months);
        assert_eq!(later((2000, 1, 31), 1), Some((2000, 2, 29)));
        assert_eq!(later((2000, 3, 15), -4), Some((1999, 11, 15)));
    }
}
