//! Parses data sections, `variable = values ;`, directly to typed values, and writes them block by block.
//!
//! An unlimited dimension other than the first needs braces around each run along it; its length is that of
//! the longest run. Missing values stay unwritten. Each text is padded to the length of the last dimension.

use std::collections::HashMap;

use nczarr_model::{DimId, FILL_VALUE, GroupId, Model, NcString, NcType, Values, VarFill, VarId};

use super::constant::Constant;
use super::cursor::{CdlCursor, Located};
use super::values::{self, CdlNumber};
use super::var_writer::VarWriter;
use super::{CdlTarget, types};

/// Most bytes written for missing elements of user-defined types.
const MOST_PADDED: u64 = 1 << 28;

/// State shared by the data sections of a text.
pub(super) struct SectionContext {
    /// Lengths of unlimited dimensions in comments of the printer.
    pub(super) lens: HashMap<DimId, u64>,
    /// Bytes that may still be written for missing values.
    padding: u64,
}

impl SectionContext {
    pub(super) fn new() -> Self {
        Self { lens: HashMap::new(), padding: MOST_PADDED }
    }

    /// Reads the length of an unlimited dimension whose definition starts at `at`, from its comment.
    pub(super) fn look(&mut self, text: &[u8], at: usize, dim: DimId) {
        // The longest possible line: a name with all bytes escaped.
        let line = text.get(at..).unwrap_or_default();
        let line = line[..line.len().min(2048)].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let len = || {
            let (_, behind) = std::str::from_utf8(line).ok()?.rsplit_once("; // (")?;
            behind.strip_suffix(" currently)")?.parse().ok()
        };
        if let Some(len) = len() {
            self.lens.insert(dim, len);
        }
    }
}

/// Parses all statements of a section that starts at `at`.
pub(super) fn section(
    text: &[u8],
    at: usize,
    group: GroupId,
    context: &mut SectionContext,
    target: &mut dyn CdlTarget,
) -> Located<()> {
    let mut cursor = CdlCursor::new(text, at);
    loop {
        while cursor.take(b';') {}
        if !cursor.at_name() || at_group(&cursor) {
            return Ok(());
        }
        let at = cursor.at();
        let model = target.model();
        let here = |error| (at, error);
        let path = cursor.path("the name of a variable").map_err(here)?;
        let var = types::var_of(&model, group, &path).map_err(here)?;
        cursor.expect(b'=', "after the name of a variable").map_err(|error| (cursor.at(), error))?;
        if cursor.peek() != Some(b';') {
            variable(&mut cursor, &model, text, context, var, target)?;
        }
        let end = cursor.at();
        cursor.expect(b';', "or ',' after a value").map_err(|error| (end, error))?;
    }
}

/// Whether `group:` is next.
fn at_group(cursor: &CdlCursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let word: Vec<u8> = ahead.rest().iter().copied().take_while(u8::is_ascii_alphabetic).collect();
    ahead.seek(ahead.at() + word.len());
    word.eq_ignore_ascii_case(b"group") && ahead.take(b':')
}

fn variable<'t>(
    cursor: &mut CdlCursor<'t>,
    model: &Model,
    text: &'t [u8],
    context: &mut SectionContext,
    var: VarId,
    target: &mut dyn CdlTarget,
) -> Located<()> {
    let at = cursor.at();
    let here = |error| (at, error);
    let described = model.var(var).map_err(here)?;
    let mut lens = Vec::with_capacity(described.dims.len());
    let mut now = Vec::with_capacity(described.dims.len());
    for &id in &described.dims {
        let dim = model.dim(id).map_err(here)?;
        let len = (!dim.unlimited).then(|| dim.len());
        lens.push(len);
        now.push(len.or_else(|| context.lens.get(&id).copied()));
    }
    let filled = described.fill_value();
    // `_` is the fill value also where nothing is prefilled.
    let fill = filled.clone().or_else(|| described.atts.get(FILL_VALUE).cloned());
    let ty = described.xtype;
    let pads = matches!(ty, NcType::User(_)) && described.fill == VarFill::Default;
    let padding = &mut context.padding;
    let mut run = VarWriter {
        model,
        text,
        var,
        ty,
        target,
        lens: &lens,
        now: &now,
        filled: filled.is_some(),
        pads,
        padding,
    };
    macro_rules! numbers {
        ($t:ty) => {{
            let fill = fill.as_ref().and_then(<$t>::only).unwrap_or_else(<$t>::fill);
            run.all(cursor, &mut |run, cursor, place| run.numbers::<$t>(cursor, place, fill))
        }};
    }
    match ty {
        NcType::Byte => numbers!(i8),
        NcType::Short => numbers!(i16),
        NcType::Int => numbers!(i32),
        NcType::Int64 => numbers!(i64),
        NcType::UByte => numbers!(u8),
        NcType::UShort => numbers!(u16),
        NcType::UInt => numbers!(u32),
        NcType::UInt64 => numbers!(u64),
        NcType::Float => numbers!(f32),
        NcType::Double => numbers!(f64),
        NcType::Char => {
            let fill = match fill {
                Some(Values::Char(bytes)) => bytes.first().copied().unwrap_or(0),
                _ => 0,
            };
            run.all(cursor, &mut |run, cursor, place| run.chars(cursor, place, fill))
        }
        NcType::String => {
            let fill = match &fill {
                Some(Values::String(strings)) => strings.first().cloned().unwrap_or_default(),
                _ => NcString::new(),
            };
            run.all(cursor, &mut |run, cursor, place| {
                run.others(
                    cursor,
                    place,
                    |_, value, budget| match value.constant {
                        Constant::Fill => {
                            budget.again(fill.as_bytes().len());
                            Ok(fill.clone())
                        }
                        _ => values::string(&value.constant).map_err(|error| (value.at, error)),
                    },
                    |_, list| Ok(Values::String(list)),
                )
            })
        }
        NcType::User(_) => {
            let fill = fill.map_or(Ok(Vec::new()), |fill| model.items(&fill)).map_err(here)?;
            let weight = fill.iter().map(values::weight).sum();
            run.all(cursor, &mut |run, cursor, place| {
                run.others(
                    cursor,
                    place,
                    |run, value, budget| match &fill[..] {
                        [fill] if value.constant == Constant::Fill => {
                            budget.again(weight);
                            Ok(fill.clone())
                        }
                        _ => values::item(run.model, run.text, budget, run.ty, value),
                    },
                    |run, items| run.model.values(run.ty, &items),
                )
            })
        }
    }
}
