//! A self-contained page: the tree of a dataset with attributes, and a small picture of each array of
//! numbers: a map of its last two dimensions, or a line.

use std::fmt::Write as _;

use nczarr::{File, Group, Variable};
use nczarr_model::{NcType, Result, Values};

use super::colors;
use super::field::{Field, ValueRange};
use super::terminal::short;
use crate::cat::json::base64;

/// The maximum number of rows and columns of a picture.
const MOST: [usize; 2] = [96, 160];
/// The maximum number of pictures.
const PICTURES: usize = 200;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1f24;background:#fff}\
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}code,td{font-family:ui-monospace,monospace;font-size:.86rem}\
section{border-left:3px solid #dde3ea;padding-left:1rem;margin:1rem 0}figure{margin:.6rem 0}\
img{image-rendering:pixelated;max-width:100%;border:1px solid #ccd3da}figcaption{color:#57606a;font-size:.84rem}\
table{border-collapse:collapse}td{padding:.05rem .9rem .05rem 0;vertical-align:top;overflow-wrap:anywhere}td:first-child{color:#57606a}\
@media(prefers-color-scheme:dark){body{color:#e6e9ed;background:#15181c}section{border-color:#39414a}}";

/// Returns the page.
///
/// # Errors
///
/// Errors of the dataset's definitions; the page shows errors of data.
pub fn page(file: &File, name: &str) -> Result<String> {
    let mut page = Page { file, text: String::new(), pictures: 0 };
    let title = escaped(name);
    let _ = write!(
        page.text,
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>\n"
    );
    let info = file.info();
    let facts: Vec<String> = [info.format.name(), &info.flavour, info.map.as_deref().unwrap_or_default()]
        .into_iter()
        .filter(|fact| !fact.is_empty())
        .map(escaped)
        .collect();
    let _ = writeln!(page.text, "<p>{}</p>", facts.join(" · "));
    page.group(&file.root())?;
    page.text.push_str("</html>\n");
    Ok(page.text)
}

struct Page<'a> {
    file: &'a File,
    text: String,
    pictures: usize,
}

impl Page<'_> {
    /// The depth of recursion is that of the group tree.
    fn group(&mut self, group: &Group) -> Result<()> {
        self.text.push_str("<section>\n");
        if group.parent().is_some() {
            let _ = writeln!(self.text, "<h2>group <code>{}</code></h2>", escaped(&group.full_name()));
        }
        let atts: Vec<_> = group.attributes();
        self.table(atts.iter().map(|att| (att.name().to_owned(), value(att.values()))));
        let dims = group.dimensions();
        if !dims.is_empty() {
            self.text.push_str("<h2>dimensions</h2>\n");
            self.table(dims.iter().map(|dim| {
                (dim.name(), format!("{}{}", dim.len(), if dim.is_unlimited() { " (unlimited)" } else { "" }))
            }));
        }
        for var in group.variables() {
            self.var(&var)?;
        }
        for child in group.groups() {
            self.group(&child)?;
        }
        self.text.push_str("</section>\n");
        Ok(())
    }

    fn var(&mut self, var: &Variable) -> Result<()> {
        let dims: Vec<String> =
            var.dimensions().iter().map(|dim| format!("{}={}", dim.name(), dim.len())).collect();
        let ty = match var.nc_type() {
            NcType::User(_) => var.user_type().map_or_else(|| "?".to_owned(), |ty| ty.name),
            ty => ty.name().to_owned(),
        };
        let _ = writeln!(
            self.text,
            "<h2><code>{} {}({})</code></h2>",
            escaped(&ty),
            escaped(&var.name()),
            escaped(&dims.join(", "))
        );
        let atts = var.attributes();
        self.table(atts.iter().map(|att| (att.name().to_owned(), value(att.values()))));
        let drawable = var.nc_type().is_numeric()
            && var.shape().is_ok_and(|shape| !shape.is_empty() && !shape.contains(&0));
        if !drawable || self.pictures == PICTURES {
            return Ok(());
        }
        self.pictures += 1;
        match Field::of(self.file, var, &[], MOST) {
            Ok(field) => self.figure(&field),
            Err(error) => {
                let _ = writeln!(self.text, "<p>{}</p>", escaped(&format!("{error:#}")));
            }
        }
        Ok(())
    }

    fn table(&mut self, rows: impl Iterator<Item = (String, String)>) {
        let rows: String = rows
            .map(|(name, value)| format!("<tr><td>{}<td>{}\n", escaped(&name), escaped(&value)))
            .collect();
        if !rows.is_empty() {
            let _ = writeln!(self.text, "<table>\n{rows}</table>");
        }
    }

    fn figure(&mut self, field: &Field) {
        let Some(range) = field.range() else {
            self.text.push_str("<p>no values</p>\n");
            return;
        };
        let along =
            format!("{} {} … {}", field.along.name, short(field.along.ends[0]), short(field.along.ends[1]));
        let picture = match &field.across {
            Some(_) => map(field, range),
            None => line(field, range),
        };
        let across = field.across.as_ref().map(|axis| {
            format!("{} {} … {} downwards, ", axis.name, short(axis.ends[0]), short(axis.ends[1]))
        });
        let units = if field.units.is_empty() { String::new() } else { format!(" {}", field.units) };
        let values = format!("{} … {}{units}", short(range.least), short(range.greatest));
        let caption = format!("{}: {values}; {}{along}", field.title, across.unwrap_or_default());
        let _ =
            writeln!(self.text, "<figure>{picture}<figcaption>{}</figcaption></figure>", escaped(&caption));
    }
}

/// Draws a picture with a dot for each value; missing ones are grey.
fn map(field: &Field, range: ValueRange) -> String {
    let bytes = bitmap(field, range);
    let scale = (480 / field.columns.max(1)).clamp(1, 24);
    format!(
        "<img alt=\"\" width=\"{}\" height=\"{}\" src=\"data:image/bmp;base64,{}\">",
        field.columns * scale,
        field.rows * scale,
        base64(&bytes)
    )
}

/// Writes a Windows bitmap of 24 bits a dot, the last row first, rows of whole words.
fn bitmap(field: &Field, range: ValueRange) -> Vec<u8> {
    const HEAD: u32 = 54;
    let row = (field.columns * 3).next_multiple_of(4);
    let size = HEAD + (row * field.rows) as u32;
    let mut bytes = b"BM".to_vec();
    for word in [size, 0, HEAD, 40, field.columns as u32, field.rows as u32] {
        bytes.extend(word.to_le_bytes());
    }
    // One plane of 24 bits; the rest is 0: not compressed.
    bytes.extend([1, 0, 24, 0]);
    bytes.resize(HEAD as usize, 0);
    for values in field.values.chunks(field.columns).rev() {
        let start = bytes.len();
        for value in values {
            let [red, green, blue] =
                if value.is_finite() { colors::at(range.position(*value)) } else { [190; 3] };
            bytes.extend([blue, green, red]);
        }
        bytes.resize(start + row, 0);
    }
    bytes
}

fn line(field: &Field, range: ValueRange) -> String {
    let (width, height) = (480.0, 110.0);
    let step = width / (field.columns.max(2) - 1) as f64;
    let mut path = String::new();
    let mut begun = false;
    for (at, value) in field.values.iter().enumerate() {
        if value.is_finite() {
            let y = 4.0 + (1.0 - range.position(*value)) * (height - 8.0);
            let _ = write!(path, "{}{:.1} {y:.1}", if begun { 'L' } else { 'M' }, at as f64 * step);
        }
        begun = value.is_finite();
    }
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\
         <path d=\"{path}\" fill=\"none\" stroke=\"#2a788e\" stroke-width=\"2\" stroke-linecap=\"round\"/></svg>"
    )
}

/// Returns the text of an attribute, shortened if long.
fn value(values: &Values) -> String {
    const MOST: usize = 12;
    match values {
        Values::Char(text) => String::from_utf8_lossy(text).trim_end_matches('\0').to_owned(),
        Values::String(texts) => texts
            .iter()
            .take(MOST)
            .map(|text| String::from_utf8_lossy(text.as_bytes()))
            .collect::<Vec<_>>()
            .join(" | "),
        values => {
            let numbers = (0..values.len().min(MOST)).filter_map(|at| values.scalar(at));
            let mut texts: Vec<String> = numbers
                .map(|number| match number {
                    nczarr_model::Scalar::Int(value) => value.to_string(),
                    nczarr_model::Scalar::Float(value) => value.to_string(),
                })
                .collect();
            if values.len() > MOST {
                texts.push(format!("… ({} values)", values.len()));
            }
            texts.join(", ")
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
