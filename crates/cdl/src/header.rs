//! Prints the header: types, dimensions, variables and attributes of each group; visits the groups.

use std::io::Write;

use nczarr_model::{DimId, Error, Group, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType, VarId};

use crate::output::Output;
use crate::text::push_name;
use crate::value::FloatDigits;
use crate::{DataSource, Facts, Options, PrintedPart};

/// Writes the CDL text of a dataset.
///
/// If the data of a variable cannot be read, the variable is left out of the data section and the rest is
/// printed. The first such error is returned at the end.
///
/// # Errors
/// Errors of the data source and the output.
pub fn print(
    model: &Model,
    facts: &Facts,
    options: &Options,
    source: &mut dyn DataSource,
    sink: &mut dyn Write,
) -> Result<()> {
    let digits = FloatDigits::of(options);
    let mut printer = Printer {
        model,
        facts,
        options,
        digits,
        source,
        out: Output::new(sink, options.width),
        failed: None,
    };
    printer.dataset()?;
    printer.failed.map_or(Ok(()), Err)
}

pub(crate) struct Printer<'a> {
    pub(crate) model: &'a Model,
    pub(crate) facts: &'a Facts,
    pub(crate) options: &'a Options,
    pub(crate) digits: FloatDigits,
    pub(crate) source: &'a mut dyn DataSource,
    pub(crate) out: Output<'a>,
    pub(crate) failed: Option<Error>,
}

impl Printer<'_> {
    fn dataset(&mut self) -> Result<()> {
        let mut line = b"netcdf ".to_vec();
        push_name(&mut line, &self.options.name);
        line.extend_from_slice(b" {\n");
        self.out.raw(&line)?;
        self.groups()?;
        self.out.raw("}\n")
    }

    /// Prints all groups, each after the contents of its parent. It uses a list instead of recursion, because
    /// a dataset may have any depth.
    fn groups(&mut self) -> Result<()> {
        let mut open = vec![(GroupId::ROOT, 0)];
        self.contents(GroupId::ROOT)?;
        while let Some((group, next)) = open.last_mut() {
            let here = self.model.group(*group)?;
            if let Some((_, &child)) = here.groups.get_index(*next) {
                *next += 1;
                self.out.raw("\n")?;
                self.group_line("group: ", self.model.group(child)?, " {\n")?;
                self.out.more();
                self.contents(child)?;
                open.push((child, 0));
            } else {
                open.pop();
                if !open.is_empty() {
                    self.group_line("} // group ", here, "\n")?;
                    self.out.less();
                }
            }
        }
        Ok(())
    }

    fn group_line(&mut self, before: &str, group: &Group, after: &str) -> Result<()> {
        let mut line = before.as_bytes().to_vec();
        push_name(&mut line, &group.name);
        line.extend_from_slice(after.as_bytes());
        self.out.margin()?;
        self.out.raw(&line)
    }

    fn contents(&mut self, id: GroupId) -> Result<()> {
        let group = self.model.group(id)?;
        if !group.types.is_empty() {
            self.title("types:\n")?;
            self.out.more();
            for &ty in group.types.values() {
                self.user_type(ty)?;
            }
            self.out.less();
        }
        if !group.dims.is_empty() {
            self.title("dimensions:\n")?;
            for &dim in group.dims.values() {
                self.dim(dim)?;
            }
        }
        if !group.vars.is_empty() {
            self.title("variables:\n")?;
            for &var in group.vars.values() {
                self.var(var)?;
            }
        }
        self.group_atts(id)?;
        let wanted = self.options.groups.is_empty() || self.options.groups.contains(&id);
        if wanted && self.options.part != PrintedPart::Header && !group.vars.is_empty() {
            self.title("data:\n")?;
            for &var in group.vars.values() {
                self.var_data(var)?;
            }
        }
        Ok(())
    }

    fn title(&mut self, title: &str) -> Result<()> {
        self.out.margin()?;
        self.out.raw(title)
    }

    fn dim(&mut self, id: DimId) -> Result<()> {
        let dim = self.model.dim(id)?;
        let mut line = b"\t".to_vec();
        push_name(&mut line, &dim.name);
        let len = dim.len();
        let rest = if dim.unlimited {
            format!(" = UNLIMITED ; // ({len} currently)\n")
        } else {
            format!(" = {len} ;\n")
        };
        line.extend_from_slice(rest.as_bytes());
        self.out.margin()?;
        self.out.raw(&line)
    }

    fn var(&mut self, id: VarId) -> Result<()> {
        let var = self.model.var(id)?;
        let mut line = b"\t".to_vec();
        self.push_type(&mut line, var.group, var.xtype)?;
        line.push(b' ');
        push_name(&mut line, &var.name);
        for (i, &dim) in var.dims.iter().enumerate() {
            line.extend_from_slice(if i == 0 { b"(" } else { b", " });
            self.push_dim(&mut line, var.group, dim)?;
        }
        line.extend_from_slice(if var.dims.is_empty() { b" ;" } else { b") ;" });
        // The stored type has no netCDF counterpart.
        if let (Some(stored), Some(_)) = (&var.stored_type, &var.problem) {
            line.extend_from_slice(b" // stored as ");
            line.extend(stored.bytes().map(|byte| if byte.is_ascii_control() { b'?' } else { byte }));
            line.extend_from_slice(b", which is not read");
        }
        line.push(b'\n');
        self.out.margin()?;
        self.out.raw(&line)?;
        self.var_atts(id)
    }

    /// Appends the simple name of a dimension, or its path if the simple name means another one.
    fn push_dim(&self, line: &mut Vec<u8>, group: GroupId, id: DimId) -> Result<()> {
        let dim = self.model.dim(id)?;
        if self.model.find_dim(group, &dim.name) != Some(id) {
            self.push_path(line, dim.group)?;
        }
        push_name(line, &dim.name);
        Ok(())
    }

    /// Appends the name of a type, with its path if the name alone means another one or none.
    pub(crate) fn push_type(&self, line: &mut Vec<u8>, group: GroupId, ty: NcType) -> Result<()> {
        let NcType::User(id) = ty else {
            line.extend_from_slice(ty.name().as_bytes());
            return Ok(());
        };
        let ty = self.model.user_type(id)?;
        if self.model.find_type(group, &ty.name) != Some(id) {
            self.push_path(line, ty.group)?;
        }
        push_name(line, &ty.name);
        Ok(())
    }

    fn push_path(&self, line: &mut Vec<u8>, group: GroupId) -> Result<()> {
        line.push(b'/');
        for name in self.model.group_names(group)? {
            push_name(line, name);
            line.push(b'/');
        }
        Ok(())
    }

    fn user_type(&mut self, id: TypeId) -> Result<()> {
        let user = self.model.user_type(id)?;
        let mut line = Vec::new();
        match &user.class {
            TypeClass::Opaque { size } => {
                line.extend_from_slice(format!("opaque({size}) ").as_bytes());
                push_name(&mut line, &user.name);
                line.extend_from_slice(b" ;\n");
            }
            TypeClass::Vlen { base } => {
                self.push_type(&mut line, user.group, *base)?;
                line.extend_from_slice(b"(*) ");
                push_name(&mut line, &user.name);
                line.extend_from_slice(b" ;\n");
            }
            TypeClass::Enum { .. } => return self.enum_type(user),
            TypeClass::Compound { .. } => return self.compound_type(user),
        }
        self.out.margin()?;
        self.out.raw(&line)
    }

    fn enum_type(&mut self, user: &UserType) -> Result<()> {
        let TypeClass::Enum { base, members } = &user.class else { return Ok(()) };
        let mut piece = base.name().as_bytes().to_vec();
        piece.extend_from_slice(b" enum ");
        push_name(&mut piece, &user.name);
        piece.extend_from_slice(b" {");
        self.out.margin()?;
        self.out.fold(&piece)?;
        for (i, member) in members.iter().enumerate() {
            piece.clear();
            push_name(&mut piece, &member.name);
            piece.extend_from_slice(format!(" = {}", member.value).as_bytes());
            piece.extend_from_slice(if i + 1 == members.len() { b"} ;\n" } else { b", " });
            self.out.fold(&piece)?;
        }
        if members.is_empty() {
            self.out.raw("} ;\n")?;
        }
        // The next enumeration starts at the right column. The first one, and one after data, count from
        // column 0.
        self.out.set_column(self.out.indent());
        Ok(())
    }

    fn compound_type(&mut self, user: &UserType) -> Result<()> {
        let TypeClass::Compound { fields, .. } = &user.class else { return Ok(()) };
        let mut line = b"compound ".to_vec();
        push_name(&mut line, &user.name);
        line.extend_from_slice(b" {\n");
        self.out.margin()?;
        self.out.raw(&line)?;
        for field in fields {
            line.clear();
            line.extend_from_slice(b"  ");
            self.push_type(&mut line, user.group, field.ty)?;
            line.push(b' ');
            push_name(&mut line, &field.name);
            for (i, len) in field.shape.iter().enumerate() {
                line.extend_from_slice(if i == 0 { b"(" } else { b", " });
                line.extend_from_slice(len.to_string().as_bytes());
            }
            line.extend_from_slice(if field.shape.is_empty() { b" ;\n" } else { b") ;\n" });
            self.out.margin()?;
            self.out.raw(&line)?;
        }
        line.clear();
        line.extend_from_slice(b"}; // ");
        push_name(&mut line, &user.name);
        line.push(b'\n');
        self.out.margin()?;
        self.out.raw(&line)
    }
}
