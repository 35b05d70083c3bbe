//! The grammar of definitions: parses a text to a [`GroupDef`]. Data sections are skipped here, and read when
//! the types of their variables are known.
//!
//! Source: the CDL chapter of the netCDF user's guide, and the extensions of netCDF's own reader.

use nczarr_model::{ErrorKind, Result};

use super::constant::{self, Constant};
use super::cursor::{CdlCursor, is_blank};
use super::tree::{AttDef, ClassDef, DimDef, FieldDef, GroupDef, TypeDef, TypeRef, VarDef};

/// Most levels of nested groups.
const MAX_DEPTH: usize = 200;

/// The sections of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Types,
    Dimensions,
    Variables,
    Data,
    Group,
}

const SECTIONS: &[(&str, Section)] = &[
    ("types", Section::Types),
    ("dimensions", Section::Dimensions),
    ("variables", Section::Variables),
    ("data", Section::Data),
    ("group", Section::Group),
];

/// Parses the whole text: `netcdf NAME { … }`.
pub(crate) fn dataset(cursor: &mut CdlCursor<'_>) -> Result<GroupDef> {
    let word = cursor.name("\"netcdf\"")?;
    if !word.eq_ignore_ascii_case("netcdf") {
        return Err(ErrorKind::Inval.context(format!("expected \"netcdf\", found {word:?}")));
    }
    let name = dataset_name(cursor);
    let mut root = GroupDef { name, at: cursor.at(), ..GroupDef::default() };
    body(cursor, &mut root, 0)?;
    match cursor.peek() {
        None => Ok(root),
        Some(_) => Err(cursor.unexpected("the end of the text")),
    }
}

/// Parses the dataset's name, which may contain anything but a brace, escaped or not.
fn dataset_name(cursor: &mut CdlCursor<'_>) -> String {
    cursor.skip();
    let mut name = Vec::new();
    while let Some(byte) = cursor.byte().filter(|&byte| byte != b'{' && !is_blank(byte)) {
        cursor.bump();
        name.push(match byte {
            b'\\' => {
                let escaped = cursor.byte().unwrap_or(b'\\');
                cursor.bump();
                escaped
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// Parses the `{ … }` of a group.
fn body(cursor: &mut CdlCursor<'_>, group: &mut GroupDef, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(ErrorKind::Inval.context(format!("groups nested deeper than {MAX_DEPTH}")));
    }
    cursor.expect(b'{', "before what a group holds")?;
    let mut section = None;
    loop {
        while cursor.take(b';') {}
        if cursor.take(b'}') {
            return Ok(());
        }
        if let Some(next) = next_section(cursor, group) {
            match next {
                Section::Group => {
                    cursor.skip();
                    let at = cursor.at();
                    let mut child =
                        GroupDef { name: cursor.name("the name of a group")?, at, ..GroupDef::default() };
                    body(cursor, &mut child, depth + 1)?;
                    group.groups.push(child);
                    section = None;
                }
                Section::Data => {
                    group.data.push(cursor.at());
                    pass_data(cursor, group)?;
                    section = None;
                }
                other => section = Some(other),
            }
            continue;
        }
        match section {
            Some(Section::Types) if !at_attribute(cursor) => group.types.push(type_def(cursor)?),
            Some(Section::Dimensions) if !at_attribute(cursor) => dimensions(cursor, group)?,
            section => statement(cursor, group, section == Some(Section::Variables))?,
        }
    }
}

/// Skips the start of a section. A variable may have the same name; then an attribute follows the colon.
fn next_section(cursor: &mut CdlCursor<'_>, group: &GroupDef) -> Option<Section> {
    cursor.skip();
    let mut ahead = cursor.clone();
    let word: Vec<u8> = ahead.rest().iter().copied().take_while(u8::is_ascii_alphabetic).collect();
    let (name, section) =
        SECTIONS.iter().find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(&word)).copied()?;
    ahead.seek(ahead.at() + word.len());
    if !ahead.take(b':') {
        return None;
    }
    let close = ahead.byte().is_some_and(|byte| !is_blank(byte) && byte != b'/' && byte != b'}');
    if close && group.vars.iter().any(|var| var.name.eq_ignore_ascii_case(name)) {
        return None;
    }
    *cursor = ahead;
    Some(section)
}

/// Whether `[type] [variable] : name` is next.
fn at_attribute(cursor: &mut CdlCursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    for _ in 0..2 {
        if ahead.peek() == Some(b':') {
            return true;
        }
        if ahead.path("").is_err() {
            return false;
        }
    }
    ahead.peek() == Some(b':')
}

fn type_ref(cursor: &mut CdlCursor<'_>) -> Result<TypeRef> {
    cursor.skip();
    let at = cursor.at();
    Ok(TypeRef { path: cursor.path("a type")?, at })
}

/// Parses a whole number from 0 on.
fn count(cursor: &mut CdlCursor<'_>, what: &str) -> Result<u64> {
    match constant::one(cursor)?.constant {
        Constant::Int { value, .. } if u64::try_from(value).is_ok() => Ok(value as u64),
        Constant::Float { text, .. }
            if text.parse::<f64>().is_ok_and(|v| v.fract() == 0.0 && (0.0..1e15).contains(&v)) =>
        {
            Ok(text.parse::<f64>().unwrap_or(0.0) as u64)
        }
        _ => Err(ErrorKind::Inval.context(format!("expected {what}"))),
    }
}

fn type_def(cursor: &mut CdlCursor<'_>) -> Result<TypeDef> {
    cursor.skip();
    let at = cursor.at();
    let first = type_ref(cursor)?;
    let word = match first.path.as_slice() {
        [word] => word.to_ascii_lowercase(),
        _ => String::new(),
    };
    let (name, class) = match word.as_str() {
        "compound" => compound(cursor)?,
        "opaque" => {
            cursor.expect(b'(', "after \"opaque\"")?;
            let size = count(cursor, "the size of an opaque type, in bytes")?;
            cursor.expect(b')', "after the size of an opaque type")?;
            let size =
                usize::try_from(size).map_err(|_| ErrorKind::BadType.context(format!("{size} bytes")))?;
            (cursor.name("the name of a type")?, ClassDef::Opaque { size })
        }
        "enum" => members(cursor, TypeRef { path: vec!["int".to_owned()], at })?,
        _ if cursor.peek() == Some(b'(') => {
            for byte in *b"(*)" {
                cursor.expect(byte, "in \"(*)\"")?;
            }
            (cursor.name("the name of a type")?, ClassDef::Vlen { base: first })
        }
        _ => {
            if !cursor.name("\"enum\" or \"(*)\"")?.eq_ignore_ascii_case("enum") {
                return Err(ErrorKind::Inval.context("expected \"enum\" after the type of its values"));
            }
            members(cursor, first)?
        }
    };
    // netCDF's own reader does not require it here.
    cursor.take(b';');
    Ok(TypeDef { name, at, class })
}

/// `NAME { A = 0, B = 1 }`.
fn members(cursor: &mut CdlCursor<'_>, base: TypeRef) -> Result<(String, ClassDef)> {
    let name = cursor.name("the name of a type")?;
    cursor.expect(b'{', "before the members of an enum")?;
    let mut members = Vec::new();
    loop {
        let member = cursor.name("the name of a member")?;
        cursor.expect(b'=', "after the name of a member")?;
        match constant::one(cursor)?.constant {
            Constant::Int { value, .. } => members.push((member, value)),
            Constant::Char(byte) => members.push((member, byte.into())),
            _ => return Err(ErrorKind::Inval.context(format!("member {member:?}: expected an integer"))),
        }
        if !cursor.take(b',') || cursor.peek() == Some(b'}') {
            break;
        }
    }
    cursor.expect(b'}', "after the members of an enum")?;
    Ok((name, ClassDef::Enum { base, members }))
}

/// `NAME { type field, field(2, 3) ; … }`.
fn compound(cursor: &mut CdlCursor<'_>) -> Result<(String, ClassDef)> {
    let name = cursor.name("the name of a type")?;
    cursor.expect(b'{', "before the fields of a compound")?;
    let mut fields = Vec::new();
    while !cursor.take(b'}') {
        let ty = type_ref(cursor)?;
        loop {
            let name = cursor.name("the name of a field")?;
            let mut shape = Vec::new();
            if cursor.take(b'(') {
                loop {
                    let len = count(cursor, "the length of a field")?;
                    shape.push(
                        u32::try_from(len).map_err(|_| ErrorKind::Inval.context(format!("{len} values")))?,
                    );
                    if !cursor.take(b',') {
                        break;
                    }
                }
                cursor.expect(b')', "after the shape of a field")?;
            }
            fields.push(FieldDef { ty: ty.clone(), name, shape });
            if !cursor.take(b',') {
                break;
            }
        }
        if !cursor.take(b';') && cursor.peek() != Some(b'}') {
            return Err(cursor.unexpected("';' after a field"));
        }
    }
    Ok((name, ClassDef::Compound { fields }))
}

/// `a = 1, b = unlimited ;`.
fn dimensions(cursor: &mut CdlCursor<'_>, group: &mut GroupDef) -> Result<()> {
    loop {
        cursor.skip();
        let at = cursor.at();
        let name = cursor.name("the name of a dimension")?;
        cursor.expect(b'=', "after the name of a dimension")?;
        let unlimited = cursor.peek().is_some_and(|byte| byte.is_ascii_alphabetic());
        let len = if unlimited {
            let word = cursor.name("a length")?;
            if !word.eq_ignore_ascii_case("unlimited") {
                return Err(
                    ErrorKind::Inval.context(format!("expected a length or \"unlimited\", found {word:?}"))
                );
            }
            None
        } else {
            Some(count(cursor, "a length")?)
        };
        group.dims.push(DimDef { name, at, len });
        if !cursor.take(b',') {
            return cursor.expect(b';', "after a dimension");
        }
    }
}

/// Parses an attribute, or variables.
fn statement(cursor: &mut CdlCursor<'_>, group: &mut GroupDef, variables: bool) -> Result<()> {
    cursor.skip();
    let at = cursor.at();
    if cursor.take(b':') {
        return attribute(cursor, group, None, None, at);
    }
    let first = type_ref(cursor)?;
    if cursor.take(b':') {
        let is_var = |path: &[String]| match path {
            [name] => group.vars.iter().any(|var| var.name == *name),
            _ => true,
        };
        return if is_var(&first.path) {
            attribute(cursor, group, None, Some(first.path), at)
        } else {
            attribute(cursor, group, Some(first), None, at)
        };
    }
    if at_attribute(cursor) {
        let var = cursor.path("a variable")?;
        cursor.expect(b':', "before the name of an attribute")?;
        return attribute(cursor, group, Some(first), Some(var), at);
    }
    if !variables {
        cursor.seek(at);
        return Err(
            cursor.unexpected("a section (types:, dimensions:, variables:, data:, group:) or an attribute")
        );
    }
    loop {
        cursor.skip();
        let at = cursor.at();
        let name = cursor.name("the name of a variable")?;
        let mut dims = Vec::new();
        if cursor.take(b'(') && !cursor.take(b')') {
            loop {
                dims.push(cursor.path("the name of a dimension")?);
                if !cursor.take(b',') {
                    break;
                }
            }
            cursor.expect(b')', "after the dimensions of a variable")?;
        }
        group.vars.push(VarDef { ty: first.clone(), name, at, dims });
        if !cursor.take(b',') {
            return cursor.expect(b';', "after a variable");
        }
    }
}

fn attribute(
    cursor: &mut CdlCursor<'_>,
    group: &mut GroupDef,
    ty: Option<TypeRef>,
    var: Option<Vec<String>>,
    at: usize,
) -> Result<()> {
    let name = cursor.name("the name of an attribute")?;
    cursor.expect(b'=', "after the name of an attribute")?;
    let values = if cursor.peek() == Some(b';') { Vec::new() } else { constant::list(cursor)? };
    cursor.expect(b';', "after an attribute")?;
    group.atts.push(AttDef { var, ty, name, at, values });
    Ok(())
}

/// Skips a data section: to the next group, or the end of this one.
fn pass_data(cursor: &mut CdlCursor<'_>, group: &GroupDef) -> Result<()> {
    loop {
        if matches!(cursor.peek(), None | Some(b'}')) || next_section(&mut cursor.clone(), group).is_some() {
            return Ok(());
        }
        loop {
            let rest = cursor.rest();
            let Some(stop) = stop(rest) else {
                return Err(ErrorKind::Inval.context("data without a ';' at its end"));
            };
            cursor.seek(cursor.at() + stop);
            match rest[stop] {
                b';' => {
                    cursor.bump();
                    break;
                }
                b'"' => drop(cursor.quoted()?),
                b'\'' => drop(cursor.character()?),
                b'/' if cursor.comment()? => {}
                b'/' => cursor.bump(),
                _ => cursor.seek(cursor.at() + 2),
            }
        }
    }
}

/// Returns the first byte of values that may be their end, or may hide it.
fn stop(text: &[u8]) -> Option<usize> {
    let is_stop = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b'/' | b';');
    // Whole blocks at once: a block has no such byte, or is examined byte by byte.
    let blocks = text.as_chunks::<64>().0.iter();
    let clean =
        64 * blocks.take_while(|block| !block.iter().fold(false, |any, &byte| any | is_stop(byte))).count();
    text[clean..].iter().position(|&byte| is_stop(byte)).map(|at| clean + at)
}
