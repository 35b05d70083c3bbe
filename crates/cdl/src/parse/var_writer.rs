//! [`VarWriter`]: writes the values of one variable, block by block.

use nczarr_model::{ErrorKind, Model, NcString, NcType, Values, VarId};

use super::CdlTarget;
use super::constant::{self, Constant, Placed};
use super::cursor::{CdlCursor, Located};
use super::quick_number::quick;
use super::split_rows::joined;
use super::values::{self, CdlNumber, ValueBudget};

/// Bytes of values written at once.
const BLOCK: usize = 4 << 20;
/// Bytes counted for a missing value of an element.
const LEFT_OUT: u64 = 4;

/// Most characters of row padding that are always written.
const FEW_PADDED: u64 = 4096;

/// Most trailing NULs written because of a comment alone.
const MOST_NULS: u64 = 1 << 16;

/// Writes the values of one variable.
pub(super) struct VarWriter<'r, 't> {
    pub(super) model: &'r Model,
    pub(super) text: &'t [u8],
    pub(super) var: VarId,
    pub(super) ty: NcType,
    pub(super) target: &'r mut dyn CdlTarget,
    /// The lengths of the dimensions; `None`: unlimited.
    pub(super) lens: &'r [Option<u64>],
    /// The lengths in comments of the printer; `None` if there are none.
    pub(super) now: &'r [Option<u64>],
    /// Whether unwritten elements have a value.
    pub(super) filled: bool,
    /// Whether missing values are written.
    pub(super) pads: bool,
    /// Bytes of missing values that may still be written.
    pub(super) padding: &'r mut u64,
}

/// Dimensions without braces inside: their position and lengths.
pub(super) struct LeafBlock<'p> {
    /// The indices along the earlier dimensions.
    pub(super) before: Vec<u64>,
    pub(super) lens: &'p [Option<u64>],
}

impl LeafBlock<'_> {
    /// Returns the elements of one index of the first dimension; `None` if they exceed memory.
    fn inner(&self) -> Option<u64> {
        self.lens.iter().skip(1).try_fold(1u64, |product, len| product.checked_mul(len.unwrap_or(0)))
    }

    /// Returns the most elements; `None`: unlimited.
    fn capacity(&self) -> Option<u64> {
        match self.lens.first() {
            None => Some(1),
            Some(None) => None,
            Some(Some(len)) => Some(len.saturating_mul(self.inner().unwrap_or(u64::MAX))),
        }
    }
}

type Leaf<'l, 'r, 't> =
    &'l mut dyn FnMut(&mut VarWriter<'r, 't>, &mut CdlCursor<'t>, &LeafBlock<'_>) -> Located<()>;

impl<'r, 't> VarWriter<'r, 't> {
    pub(super) fn all(&mut self, cursor: &mut CdlCursor<'t>, leaf: Leaf<'_, 'r, 't>) -> Located<()> {
        self.level(cursor, Vec::new(), leaf)
    }

    /// Parses the dimensions from `before.len()` on, up to the next unlimited one. Its elements are lists.
    fn level(&mut self, cursor: &mut CdlCursor<'t>, before: Vec<u64>, leaf: Leaf<'_, 'r, 't>) -> Located<()> {
        let lens: &'r [Option<u64>] = &self.lens[before.len()..];
        let next = lens.iter().skip(1).position(Option::is_none).map(|at| at + 1);
        let Some(next) = next else { return leaf(self, cursor, &LeafBlock { before, lens }) };
        let mut index = vec![0; next];
        loop {
            let at = cursor.at();
            cursor
                .expect(b'{', "around the values along an unlimited dimension")
                .map_err(|error| (at, error))?;
            let more = index.first().zip(lens[0]).is_some_and(|(&first, len)| first >= len);
            if more {
                return Err((at, ErrorKind::Edge.context("more values than the variable has")));
            }
            if cursor.peek() != Some(b'}') {
                let mut inside = before.clone();
                inside.extend(&index);
                self.level(cursor, inside, leaf)?;
            }
            let end = cursor.at();
            cursor.expect(b'}', "or ',' after a value").map_err(|error| (end, error))?;
            if !cursor.take(b',') {
                return Ok(());
            }
            for dim in (0..next).rev() {
                index[dim] += 1;
                if dim == 0 || lens[dim].is_some_and(|len| index[dim] < len) {
                    break;
                }
                index[dim] = 0;
            }
        }
    }

    /// Parses numbers up to the end of the list. Outer braces around all numbers are ignored. Inner braces
    /// are errors, because only the order gives a number its position.
    pub(super) fn numbers<T: CdlNumber>(
        &mut self,
        cursor: &mut CdlCursor<'t>,
        place: &LeafBlock<'_>,
        fill: T,
    ) -> Located<()> {
        let most = block_of(BLOCK / size_of::<T>().max(1), place.inner());
        let mut block: Vec<T> = Vec::new();
        let mut done = 0u64;
        let mut depth = 0usize;
        while cursor.take(b'{') {
            depth += 1;
        }
        loop {
            if cursor.peek() == Some(b'{') {
                return Err((cursor.at(), no_list()));
            }
            let at = cursor.at();
            let value = match quick(cursor) {
                Some(value) => value,
                None => {
                    let value = constant::one(cursor).map_err(|error| (cursor.at().max(at), error))?;
                    values::number(&value.constant, fill, self.ty).map_err(|error| (value.at, error))?
                }
            };
            if block.len() == most {
                let count = block.len() as u64;
                self.put(place, done, T::values(std::mem::take(&mut block)), at)?;
                done += count;
                block.reserve_exact(most);
            }
            block.push(value);
            // A comma may end a list in braces.
            let more = cursor.take(b',');
            if more && (depth == 0 || cursor.peek() != Some(b'}')) {
                continue;
            }
            let braced = depth > 0;
            while depth > 0 && cursor.take(b'}') {
                depth -= 1;
            }
            if braced && depth == 0 && cursor.peek() == Some(b',') {
                return Err((cursor.at(), no_list()));
            }
            break;
        }
        if depth > 0 {
            let at = cursor.at();
            return Err((at, cursor.unexpected("'}'")));
        }
        self.put(place, done, T::values(block), cursor.at())
    }

    pub(super) fn chars(
        &mut self,
        cursor: &mut CdlCursor<'t>,
        place: &LeafBlock<'_>,
        fill: u8,
    ) -> Located<()> {
        let start = cursor.at();
        let list = constant::list(cursor).map_err(|error| (cursor.at(), error))?;
        let list = bare(list)?;
        let single = |value: &Placed| !matches!(value.constant, Constant::Text(_));
        // Text fills rows. Single characters, and text along one dimension, are consecutive.
        let row = match place.lens {
            [_, .., Some(last)] if !list.iter().all(single) => Some((*last).max(1)),
            _ => None,
        };
        let list = match (row, &self.now[place.before.len()..]) {
            (Some(row), [rows @ .., _]) => {
                joined(self.text, list, usize::try_from(row).unwrap_or(usize::MAX), rows)
            }
            _ => list,
        };
        let mut bytes = Vec::new();
        // Number of elements written before these.
        let mut done = 0u64;
        for value in &list {
            values::chars(&value.constant, fill, &mut bytes).map_err(|error| (value.at, error))?;
            let empty_row = matches!(&value.constant, Constant::Text(text) if text.is_empty());
            let all = done.saturating_add(bytes.len() as u64);
            if let Some(row) = row.filter(|row| !all.is_multiple_of(*row) || empty_row) {
                let wanted = all.saturating_add(empty_row.into()).checked_next_multiple_of(row);
                let wanted = wanted
                    .ok_or_else(|| (value.at, ErrorKind::NoMem.context("a row of characters too long")))?;
                self.pad_row(place, &mut bytes, &mut done, wanted - all, fill, value.at)?;
            }
            if bytes.len() >= BLOCK && !place.lens.is_empty() {
                self.put_chars(place, &mut bytes, &mut done, value.at)?;
            }
        }
        if place.lens.is_empty() {
            bytes.truncate(1);
        }
        // Along an unlimited dimension the printer omits trailing NULs, and states their number in a comment.
        if let ([None], [Some(len @ ..=MOST_NULS)]) = (place.lens, &self.now[place.before.len()..])
            && matches!(&list[..], [Placed { constant: Constant::Text(_), .. }])
            && done == 0
        {
            bytes.resize(bytes.len().max(*len as usize), 0);
        }
        self.put(place, done, Values::Char(bytes), start)
    }

    fn put_chars(
        &mut self,
        place: &LeafBlock<'_>,
        bytes: &mut Vec<u8>,
        done: &mut u64,
        at: usize,
    ) -> Located<()> {
        let count = bytes.len() as u64;
        self.put(place, *done, Values::Char(std::mem::take(bytes)), at)?;
        *done += count;
        Ok(())
    }

    /// Fills a row of characters. If very many are missing, only the last one is written. The others then
    /// read as the fill value.
    fn pad_row(
        &mut self,
        place: &LeafBlock<'_>,
        bytes: &mut Vec<u8>,
        done: &mut u64,
        count: u64,
        fill: u8,
        at: usize,
    ) -> Located<()> {
        let mut count = count;
        if count > FEW_PADDED {
            match self.padding.checked_sub(count) {
                Some(left) => *self.padding = left,
                None => {
                    self.put_chars(place, bytes, done, at)?;
                    *done += count - 1;
                    count = 1;
                }
            }
        }
        while count > 0 {
            let now = count.min(BLOCK as u64);
            bytes.resize(bytes.len() + now as usize, fill);
            count -= now;
            if bytes.len() >= BLOCK {
                self.put_chars(place, bytes, done, at)?;
            }
        }
        Ok(())
    }

    /// Parses values that are made one by one.
    pub(super) fn others<T>(
        &mut self,
        cursor: &mut CdlCursor<'t>,
        place: &LeafBlock<'_>,
        each: impl Fn(&Self, &Placed, &ValueBudget) -> Located<T>,
        values: impl Fn(&Self, Vec<T>) -> nczarr_model::Result<Values>,
    ) -> Located<()> {
        let start = cursor.at();
        let mut all = Vec::new();
        let list = constant::list(cursor).map_err(|error| (cursor.at(), error))?;
        // Fill values are left unwritten, where nothing depends on them.
        if self.filled
            && place.before.is_empty()
            && place.lens.iter().all(Option::is_some)
            && list.iter().all(|value| value.constant == Constant::Fill)
            && place.capacity().is_some_and(|capacity| list.len() as u64 <= capacity)
        {
            return Ok(());
        }
        let mut budget = ValueBudget::default();
        let mut done = 0;
        for value in &list {
            all.push(each(self, value, &budget)?);
            if budget.is_used() {
                let left = self.padding.checked_sub(budget.left_out() as u64 * LEFT_OUT);
                let much = || (value.at, ErrorKind::NoMem.context("a text that leaves out too many values"));
                *self.padding = left.ok_or_else(much)?;
                let count = all.len() as u64;
                let block = values(self, std::mem::take(&mut all)).map_err(|error| (value.at, error))?;
                self.put(place, done, block, value.at)?;
                (done, budget) = (done + count, ValueBudget::default());
            }
        }
        let count = all.len() as u64;
        let values = values(self, all).map_err(|error| (start, error))?;
        self.put(place, done, values, start)?;
        self.pad(place, done + count, start)
    }

    /// Writes missing values of user-defined elements: numbers become the fill values of their types, where
    /// the storage would have zeros. Along an unlimited dimension, the last row is completed. If very many
    /// values are missing, they stay unwritten, so that a short text cannot fill a disk.
    fn pad(&mut self, place: &LeafBlock<'_>, done: u64, at: usize) -> Located<()> {
        let here = |error| (at, error);
        let row = place.inner().unwrap_or(0);
        let end = place.capacity().or_else(|| done.checked_next_multiple_of(row.max(1))).unwrap_or(done);
        if !self.pads || done >= end || !values::can_be_left_out(self.model, self.ty).map_err(here)? {
            return Ok(());
        }
        let unwritten = values::unwritten(self.model, self.ty).map_err(here)?;
        let one = self.model.values(self.ty, std::slice::from_ref(&unwritten)).map_err(here)?;
        if one == self.model.blank(self.ty).map_err(here)? {
            return Ok(());
        }
        let size = match &one {
            Values::Packed(_, list) => {
                list.iter().map(|one| size_of::<NcString>() + one.as_bytes().len()).sum()
            }
            one => one.len(),
        };
        let left = (end - done).checked_mul(size as u64).and_then(|bytes| self.padding.checked_sub(bytes));
        let Some(left) = left else { return Ok(()) };
        *self.padding = left;
        let most = (BLOCK / size.max(1)).max(1) as u64;
        let mut done = done;
        while done < end {
            let count = most.min(end - done);
            let block = match &one {
                Values::User(id, bytes) => Values::User(*id, bytes.repeat(count as usize)),
                Values::Packed(id, list) => {
                    Values::Packed(*id, list.iter().cycle().take(count as usize).cloned().collect())
                }
                _ => return Err(here(ErrorKind::Internal.context("an element of a user-defined type"))),
            };
            self.put(place, done, block, at)?;
            done += count;
        }
        Ok(())
    }

    /// Writes values from element `done` of a block on.
    fn put(&mut self, place: &LeafBlock<'_>, done: u64, values: Values, at: usize) -> Located<()> {
        let count = self.model.count(&values).map_err(|error| (at, error))?;
        if count == 0 {
            return Ok(());
        }
        let (size, count) = (values.len() / count, count as u64);
        if place.capacity().is_some_and(|capacity| done.checked_add(count).is_none_or(|end| end > capacity)) {
            let what = format!("more than {} values", place.capacity().unwrap_or(0));
            return Err((at, ErrorKind::Edge.context(what)));
        }
        if place.inner() == Some(0) && !place.lens.is_empty() {
            return Err((at, ErrorKind::Edge.context("values for a variable without elements")));
        }
        let mut parts = ValueBuffer { size, values, used: 0, at };
        let mut start = place.before.clone();
        self.rectangles(&mut start, place.lens, done, count, &mut parts)
    }

    /// Writes `count` elements from element `first` on, in few hyperslabs: a part of a row, whole rows, a
    /// part of a row.
    fn rectangles(
        &mut self,
        start: &mut Vec<u64>,
        lens: &[Option<u64>],
        first: u64,
        count: u64,
        parts: &mut ValueBuffer,
    ) -> Located<()> {
        if lens.len() <= 1 {
            let (mut from, mut counts) = (start.clone(), vec![1; start.len()]);
            if !lens.is_empty() {
                from.push(first);
                counts.push(count);
            }
            return parts.write(self, &from, &counts, count);
        }
        let row: u64 = lens[1..].iter().map(|len| len.unwrap_or(0)).product::<u64>().max(1);
        let (mut first, mut count) = (first, count);
        while count > 0 {
            let inside = first % row;
            let here = if inside == 0 && count >= row {
                let rows = count / row;
                let (mut from, mut counts) = (start.clone(), vec![1; start.len()]);
                from.push(first / row);
                counts.push(rows);
                for len in &lens[1..] {
                    from.push(0);
                    counts.push(len.unwrap_or(0));
                }
                parts.write(self, &from, &counts, rows * row)?;
                rows * row
            } else {
                let here = count.min(row - inside);
                start.push(first / row);
                self.rectangles(start, &lens[1..], inside, here, parts)?;
                start.pop();
                here
            };
            (first, count) = (first + here, count - here);
        }
        Ok(())
    }
}

/// Values that are written piece by piece.
struct ValueBuffer {
    /// Vector entries per element: bytes for a user-defined type of fixed size, else 1.
    size: usize,
    values: Values,
    used: usize,
    at: usize,
}

impl ValueBuffer {
    fn write(
        &mut self,
        run: &mut VarWriter<'_, '_>,
        start: &[u64],
        count: &[u64],
        elements: u64,
    ) -> Located<()> {
        let end = self.used + elements as usize * self.size;
        let piece = match (self.used, &mut self.values) {
            // Most are written in one piece.
            (0, all) if end == all.len() => std::mem::replace(all, Values::Char(Vec::new())),
            (from, all) => cut(all, from..end),
        };
        self.used = end;
        run.target.put(run.var, start, count, piece).map_err(|error| (self.at, error))
    }
}

/// Returns the number of elements in a block of about `most`: whole rows of the first dimension, if one fits.
fn block_of(most: usize, row: Option<u64>) -> usize {
    let row = row.and_then(|row| usize::try_from(row).ok()).filter(|row| (1..=most).contains(row));
    row.map_or(most, |row| most - most % row)
}

/// Returns some of the values.
fn cut(values: &Values, range: std::ops::Range<usize>) -> Values {
    macro_rules! cut {
        ($($variant:ident)*) => {
            match values {
                $(Values::$variant(list) => Values::$variant(list[range].to_vec()),)*
                Values::User(id, bytes) => Values::User(*id, bytes[range].to_vec()),
                Values::Packed(id, list) => Values::Packed(*id, list[range].to_vec()),
                other => other.clone(),
            }
        };
    }
    cut!(Byte Char Short Int Float Double UByte UShort UInt Int64 UInt64 String)
}

/// Removes the braces around all values.
fn bare(list: Vec<Placed>) -> Located<Vec<Placed>> {
    let mut list = list;
    while let [Placed { constant: Constant::List(inner), .. }] = &mut list[..] {
        list = std::mem::take(inner);
    }
    match list.iter().find(|value| matches!(value.constant, Constant::List(_))) {
        Some(value) => Err((value.at, no_list())),
        None => Ok(list),
    }
}

/// Makes the error for braces among plain values, whose order alone gives their positions.
fn no_list() -> nczarr_model::Error {
    ErrorKind::Inval.context("braces inside the values along a dimension that is not unlimited")
}
