//! The members of one object of a long document, read in several pieces: [`members`], and [`around`] them.
//!
//! A piece is read like the whole, from where a member begins to where another one does. That the pieces meet makes the
//! whole the same as if it had been read at once, wherever they were cut: the reader keeps nothing from one member of an
//! object to the next. Of a piece no tree is made: what a long document holds is looked at once, and read where it is
//! needed.

use std::borrow::Cow;

use super::Members;
use super::parse::{Parser, Room};

/// Some members, one after another.
pub(crate) struct Piece<'t> {
    /// With the texts of their values, which are legal.
    pub(crate) members: Vec<(Cow<'t, str>, &'t str)>,
    /// Where the next member begins, or what follows the object.
    pub(crate) end: usize,
    /// Whether the object ends here.
    pub(crate) closed: bool,
    /// How many values there are.
    pub(crate) values: u64,
}

/// The members of an object that begin from `from` on and before `until`; `None` if they are not that.
pub(crate) fn members<'t>(text: &'t str, from: usize, until: usize, room: Room) -> Option<Piece<'t>> {
    let mut parser = Parser { text, at: from, room };
    let mut members = Vec::new();
    // The last two objects, and how many values they are: those of arrays are often the same.
    let mut before: [(&str, u64); 2] = [("", 0); 2];
    loop {
        let name = parser.name().ok()?;
        parser.peek()?;
        let rest = &text[parser.at..];
        let same = before.iter().find(|(same, _)| !same.is_empty() && rest.starts_with(same));
        let value = match same {
            Some(&(same, values)) => {
                parser.again(same, values).ok()?;
                // It may come again, after one that does not.
                if before[0].0 == same {
                    before.swap(0, 1);
                }
                same
            }
            None => {
                let values = parser.room.values;
                let value = parser.skip().ok()?;
                // Where an object ends it says itself, whatever follows.
                if value.starts_with('{') {
                    before = [before[1], (value, parser.room.values - values)];
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
            return Some(Piece { members, end: parser.at, closed, values: parser.room.values });
        }
    }
}

/// The object a document is, with one member, an object that is not empty, left to `inner`: it is told where the first
/// member of that begins, and tells what follows its end.
///
/// `None` if the document is anything else.
pub(crate) fn around<'t>(
    text: &'t str,
    name: &str,
    room: &mut Room,
    mut inner: impl FnMut(usize) -> Option<usize>,
) -> Option<Members<'t>> {
    let mut parser = Parser { text, at: 0, room: room.below(1)? };
    let mut members = Members::new();
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
            *room = parser.room;
            return (parser.take(b'}') && parser.peek().is_none() && found).then_some(members);
        }
    }
}
