//! Parallel parsing of one long object: [`read_members`] parses a part of its members, [`read_around`] the
//! rest of the document.
//!
//! Each part starts and ends at a member. The parser keeps no state between members. So if the parts meet,
//! the result equals that of one pass, wherever the cuts were. Values are only checked here and parsed when
//! needed.

use std::borrow::Cow;

use super::parse::{JsonParser, ParseBudget};
use super::value::ObjectMembers;

/// Some consecutive members of an object.
pub(crate) struct MembersPart<'t> {
    /// Names and checked texts of values.
    pub(crate) members: Vec<(Cow<'t, str>, &'t str)>,
    /// The position of the next member, or behind the object.
    pub(crate) end: usize,
    /// Whether the object ends here.
    pub(crate) closed: bool,
    /// The number of values.
    pub(crate) values: u64,
}

/// Parses the members of an object that begin between `from` and `until`; `None` for a syntax error.
pub(crate) fn read_members<'t>(
    text: &'t str,
    from: usize,
    until: usize,
    room: ParseBudget,
) -> Option<MembersPart<'t>> {
    let mut parser = JsonParser { text, at: from, budget: room };
    let mut members = Vec::new();
    // The last two distinct objects and their numbers of values: documents of arrays often repeat.
    let mut before: [(&str, u64); 2] = [("", 0); 2];
    loop {
        let name = parser.name().ok()?;
        parser.peek()?;
        let rest = &text[parser.at..];
        let same = before.iter().find(|(same, _)| !same.is_empty() && rest.starts_with(same));
        let value = match same {
            Some(&(same, values)) => {
                parser.skip_known(same, values).ok()?;
                // The most recent match moves to the back, so that the other one is replaced first.
                if before[0].0 == same {
                    before.swap(0, 1);
                }
                same
            }
            None => {
                let values = parser.budget.values;
                let value = parser.skip().ok()?;
                // Only objects show their own end without the next byte.
                if value.starts_with('{') {
                    before = [before[1], (value, parser.budget.values - values)];
                }
                value
            }
        };
        members.push((name, value));
        let closed = match parser.peek()? {
            b',' => false,
            b'}' => true,
            _ => return None,
        };
        parser.at += 1;
        if !closed {
            parser.peek()?;
        }
        if closed || parser.at >= until {
            return Some(MembersPart { members, end: parser.at, closed, values: parser.budget.values });
        }
    }
}

/// Parses an object except for the member `name`, a non-empty object. `inner` gets the position of its first
/// member and returns the position behind it.
///
/// `None` if the document has another form.
pub(crate) fn read_around<'t>(
    text: &'t str,
    name: &str,
    room: &mut ParseBudget,
    mut inner: impl FnMut(usize) -> Option<usize>,
) -> Option<ObjectMembers<'t>> {
    let mut parser = JsonParser { text, at: 0, budget: room.deeper(1)? };
    let mut members = ObjectMembers::new();
    let mut found = false;
    parser.take(b'{').then_some(())?;
    loop {
        let here = parser.name().ok()?;
        if here == name {
            (!found && parser.take(b'{')).then_some(())?;
            parser.peek()?;
            parser.at = inner(parser.at)?;
            found = true;
        } else if members.contains_key(&here) {
            return None;
        } else {
            members.insert(here, parser.value().ok()?);
        }
        let more = parser.take(b',');
        if !more {
            *room = parser.budget;
            return (parser.take(b'}') && parser.peek().is_none() && found).then_some(members);
        }
    }
}
