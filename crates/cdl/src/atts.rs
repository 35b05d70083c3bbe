//! Prints attributes of variables and groups.

use nczarr_model::{Att, FILL_VALUE, GroupId, NcType, Result, TypeClass, Values, VarId};

use crate::header::Printer;
use crate::text::{Feed, push_name, push_owner, push_quoted, without_nuls};
use crate::time::TimeAxis;
use crate::value::{push_att_value, push_item};

impl Printer<'_> {
    pub(crate) fn var_atts(&mut self, id: VarId) -> Result<()> {
        let var = self.model.var(id)?;
        let times = self.options.times.and_then(|separator| Some((TimeAxis::own_axis(var)?, separator)));
        self.atts(var.group, &var.name, &var.atts, times)?;
        if self.options.special { self.var_specials(id) } else { Ok(()) }
    }

    pub(crate) fn group_atts(&mut self, id: GroupId) -> Result<()> {
        let group = self.model.group(id)?;
        if group.atts.is_empty() && !self.options.special {
            return Ok(());
        }
        self.out.raw("\n")?;
        self.out.margin()?;
        self.out.raw(if id == GroupId::ROOT {
            "// global attributes:\n"
        } else {
            "// group attributes:\n"
        })?;
        self.atts(id, "", &group.atts, None)?;
        if self.options.special && id == GroupId::ROOT { self.root_specials() } else { Ok(()) }
    }

    /// Prints attributes. `times`: the time axis of the numbers, and the separator between date and time.
    fn atts(
        &mut self,
        group: GroupId,
        owner: &str,
        atts: &Att,
        times: Option<(TimeAxis, char)>,
    ) -> Result<()> {
        for (name, values) in atts {
            let mut line = Vec::new();
            // An attribute without values is shown as empty text, whatever its type.
            let is_fill = self.options.fill_types && !owner.is_empty() && name == FILL_VALUE;
            let is_typed = is_fill || matches!(values.nc_type(), NcType::String | NcType::User(_));
            if !values.is_empty() && is_typed {
                self.push_type(&mut line, group, values.nc_type())?;
                line.push(b' ');
            }
            push_owner(&mut line, owner);
            push_name(&mut line, name);
            line.extend_from_slice(b" = ");
            if self.folds(values)? {
                self.folded(&line, values).map_err(|error| error.at(format!("{owner}:{name}")))?;
                continue;
            }
            self.push_values(&mut line, values).map_err(|error| error.at(format!("{owner}:{name}")))?;
            line.extend_from_slice(b" ;");
            if let Some((axis, separator)) = &times {
                push_moments(&mut line, axis, values, *separator, self.options.width.unwrap_or(80));
            }
            line.push(b'\n');
            self.att_line(&line)?;
        }
        Ok(())
    }

    /// Whether long lines of the values are folded, as in data: values of user-defined types except enums.
    fn folds(&self, values: &Values) -> Result<bool> {
        Ok(match values.nc_type() {
            NcType::User(id) => {
                !values.is_empty() && !matches!(self.model.user_type(id)?.class, TypeClass::Enum { .. })
            }
            _ => false,
        })
    }

    /// Writes an attribute with folded values. Columns count from the last preceding value, without the text
    /// before the values.
    fn folded(&mut self, front: &[u8], values: &Values) -> Result<()> {
        self.att_line(front)?;
        let items = self.model.items(values)?;
        for (i, item) in items.iter().enumerate() {
            let mut piece = Vec::new();
            push_item(&mut piece, self.model, values.nc_type(), item, self.digits);
            piece.extend_from_slice(if i + 1 < items.len() { b", " } else { b"" });
            self.out.fold(&piece)?;
        }
        self.out.raw(" ;\n")
    }

    /// Writes one line of an attribute.
    pub(crate) fn att_line(&mut self, line: &[u8]) -> Result<()> {
        self.out.margin()?;
        self.out.raw("\t\t")?;
        self.out.raw(line)
    }

    fn push_values(&self, line: &mut Vec<u8>, values: &Values) -> Result<()> {
        match values {
            _ if values.is_empty() => line.extend_from_slice(b"\"\""),
            Values::Char(text) => {
                // The classic formats have no string attributes, so each line of a text is written on its own
                // line.
                let feed = if self.facts.classic { Feed::Break("\t\t\t") } else { Feed::Escape };
                push_quoted(line, without_nuls(text), feed);
            }
            Values::User(..) | Values::Packed(..) => {
                let ty = values.nc_type();
                for (i, item) in self.model.items(values)?.iter().enumerate() {
                    line.extend_from_slice(if i == 0 { b"" } else { b", " });
                    push_item(line, self.model, ty, item, self.digits);
                }
            }
            values => {
                for i in 0..values.len() {
                    line.extend_from_slice(if i == 0 { b"" } else { b", " });
                    push_att_value(line, values, i, self.digits);
                }
            }
        }
        Ok(())
    }
}

/// Appends a comment with the dates of numbers: up to two on the same line, more on their own lines.
fn push_moments(line: &mut Vec<u8>, axis: &TimeAxis, values: &Values, separator: char, width: usize) {
    const BEGIN: &[u8] = b"\n\t\t  // ";
    // A tabulator takes eight columns.
    const INDENT: usize = 21;
    let mut pieces = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        let mut piece = Vec::new();
        if !values.nc_type().is_numeric() || !axis.push(&mut piece, values, at, separator) {
            return;
        }
        pieces.push(piece);
    }
    if pieces.len() < 3 {
        line.extend_from_slice(b" // ");
        line.extend_from_slice(&pieces.join(&b", "[..]));
        return;
    }
    let last = pieces.len() - 1;
    let mut column = width;
    for (at, piece) in pieces.iter().enumerate() {
        if column + 1 + piece.len() + usize::from(at < last) > width {
            line.extend_from_slice(BEGIN);
            column = INDENT;
        } else {
            line.push(b' ');
            column += 1;
        }
        line.extend_from_slice(piece);
        column += piece.len();
        if at < last {
            line.push(b',');
            column += 1;
        }
    }
}

/// Appends `owner:name = "text" ;`.
pub(crate) fn push_text_att(line: &mut Vec<u8>, owner: &str, name: &str, text: &str) {
    push_name(line, owner);
    line.extend_from_slice(format!(":{name} = ").as_bytes());
    push_quoted(line, text.as_bytes(), Feed::Escape);
    line.extend_from_slice(b" ;\n");
}
