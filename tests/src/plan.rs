//! [`Plan`] is the content of a dataset as a value. Tests write it through the facade, compare it with an
//! open dataset, and exchange it with other programs as JSON.

use nczarr::model::name;
use nczarr::{Endian, File, Group, MemRef, NcString, NcType, Result, Slab, Values, Variable};
use serde_json::{Value, json};

/// The content of a group and all below it.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Its dimensions.
    pub dims: Vec<Dim>,
    /// Its attributes.
    pub atts: Vec<(String, Values)>,
    /// Its variables.
    pub vars: Vec<Var>,
    /// Its groups.
    pub groups: Vec<(String, Plan)>,
}

/// A dimension.
#[derive(Debug, Clone)]
pub struct Dim {
    /// Its name.
    pub name: String,
    /// Its length after all writes.
    pub len: u64,
    /// Whether it is unlimited.
    pub unlimited: bool,
}

/// A variable with its layout and all of its values.
#[derive(Debug, Clone)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// The names of its dimensions.
    pub dims: Vec<String>,
    /// Its attributes.
    pub atts: Vec<(String, Values)>,
    /// Its values in C order. They also determine its type.
    pub data: Values,
    /// Whether the values are written. Otherwise the elements stay unwritten and read as these values.
    pub written: bool,
    /// Its chunk shape, if not the default.
    pub chunks: Option<Vec<u64>>,
    /// The shape of its shards, if it has shards.
    pub shards: Option<Vec<u64>>,
    /// Its filters by name or id.
    pub filters: Vec<(String, Vec<u32>)>,
    /// Its byte order.
    pub endian: Endian,
    /// Its fill value, if not the default. It is also stored as the attribute `_FillValue`.
    pub fill: Option<Values>,
}

impl Dim {
    /// A dimension of fixed length.
    pub fn fixed(name: &str, len: u64) -> Self {
        Self { name: name.to_owned(), len, unlimited: false }
    }

    /// An unlimited dimension that grows to this length.
    pub fn unlimited(name: &str, len: u64) -> Self {
        Self { name: name.to_owned(), len, unlimited: true }
    }
}

impl Var {
    /// A variable with these values and the default layout.
    pub fn new(name: &str, dims: &[&str], data: Values) -> Self {
        Self {
            name: name.to_owned(),
            dims: dims.iter().map(|dim| (*dim).to_owned()).collect(),
            atts: Vec::new(),
            data,
            written: true,
            chunks: None,
            shards: None,
            filters: Vec::new(),
            endian: Endian::Native,
            fill: None,
        }
    }

    /// Sets the chunk shape.
    #[must_use]
    pub fn chunked(mut self, shape: &[u64]) -> Self {
        self.chunks = Some(shape.to_vec());
        self
    }

    /// Adds a filter.
    #[must_use]
    pub fn filter(mut self, name: &str, params: &[u32]) -> Self {
        self.filters.push((name.to_owned(), params.to_vec()));
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn att(mut self, name: &str, values: impl nczarr::IntoValues) -> Self {
        self.atts.push((name.to_owned(), values.into_values()));
        self
    }
}

impl Plan {
    /// Adds an attribute.
    pub fn att(&mut self, name: &str, values: impl nczarr::IntoValues) {
        self.atts.push((name.to_owned(), values.into_values()));
    }

    /// Puts the chunks of all variables except scalars in shards. A shard has one to three chunks along each
    /// dimension. With the default chunk shape, the shards are small and have one to three elements along
    /// each dimension.
    #[must_use]
    pub fn sharded(&self) -> Self {
        let mut plan = self.clone();
        for (at, var) in plan.vars.iter_mut().enumerate().filter(|(_, var)| !var.dims.is_empty()) {
            let counts = var.dims.iter().enumerate().map(|(dim, _)| [3, 2, 1][(at + dim) % 3]);
            var.shards = Some(match &var.chunks {
                Some(chunks) => chunks.iter().zip(counts).map(|(chunk, count)| chunk * count).collect(),
                None => counts.collect(),
            });
        }
        plan.groups = plan.groups.iter().map(|(name, plan)| (name.clone(), plan.sharded())).collect();
        plan
    }

    /// Creates a dataset of this content and closes it.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn create(&self, path: &str) -> Result<()> {
        let file = nczarr::create(path)?;
        self.write(&file)?;
        file.close()
    }

    /// The content of an open dataset, with its layout.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn of(file: &File) -> Result<Self> {
        Self::of_group(&file.root())
    }

    fn of_group(group: &Group) -> Result<Self> {
        let dims = group.dimensions();
        let dims =
            dims.iter().map(|dim| Dim { name: dim.name(), len: dim.len(), unlimited: dim.is_unlimited() });
        let groups = group.groups();
        Ok(Self {
            dims: dims.collect(),
            atts: pairs(group.attributes()),
            vars: group.variables().iter().map(Var::of).collect::<Result<_>>()?,
            groups: groups
                .iter()
                .map(|group| Ok((group.name(), Self::of_group(group)?)))
                .collect::<Result<_>>()?,
        })
    }

    /// Writes the content into a group: all definitions, then all values.
    ///
    /// # Errors
    /// Returns the library's error.
    pub fn write(&self, group: &Group) -> Result<()> {
        self.define(group)?;
        self.fill_in(group)
    }

    fn define(&self, group: &Group) -> Result<()> {
        for dim in &self.dims {
            match dim.unlimited {
                true => group.add_unlimited_dimension(&dim.name)?,
                false => group.add_dimension(&dim.name, dim.len)?,
            };
        }
        for (name, values) in &self.atts {
            group.put_attribute(name, values)?;
        }
        for var in &self.vars {
            let dims: Vec<&str> = var.dims.iter().map(String::as_str).collect();
            let variable = group.add_variable_with_type(&var.name, var.data.nc_type(), &dims)?;
            if let Some(shape) = &var.chunks {
                variable.set_chunking(shape)?;
            }
            if let Some(shape) = &var.shards {
                variable.set_shards(shape)?;
            }
            if var.endian != Endian::Native {
                variable.set_endian(var.endian)?;
            }
            if let Some(fill) = &var.fill {
                variable.set_fill(fill)?;
            }
            for (name, params) in &var.filters {
                variable.set_filter(name, params)?;
            }
            for (name, values) in &var.atts {
                variable.put_attribute(name, values)?;
            }
        }
        for (name, plan) in &self.groups {
            plan.define(&group.add_group(name)?)?;
        }
        Ok(())
    }

    fn fill_in(&self, group: &Group) -> Result<()> {
        for var in self.vars.iter().filter(|var| var.written) {
            put(&group.variable(&name::escape(&var.name))?, &self.shape_of(var, group), &var.data)?;
        }
        for (name, plan) in &self.groups {
            plan.fill_in(&group.group(&name::escape(name))?)?;
        }
        Ok(())
    }

    /// The shape that a variable will have, from the dimensions of this plan or of the enclosing groups.
    fn shape_of(&self, var: &Var, group: &Group) -> Vec<u64> {
        let len = |name: &String| match self.dims.iter().find(|dim| dim.name == *name) {
            Some(dim) => dim.len,
            None => group.dimension(name).map_or(0, |dim| dim.len()),
        };
        var.dims.iter().map(len).collect()
    }

    /// The differences of an open dataset from this plan, one line each. The order of items counts.
    pub fn differences(&self, file: &File) -> Vec<String> {
        let mut found = Vec::new();
        self.compare(&file.root(), &mut found);
        found
    }

    fn compare(&self, group: &Group, found: &mut Vec<String>) {
        let place = group.full_name();
        let mut check = |what: &str, is: String, expected: String| {
            if is != expected {
                found.push(format!("{place}: {what}: {is}, expected {expected}"));
            }
        };
        let dims = group.dimensions();
        let dims = dims.iter().map(|dim| (dim.name(), dim.len(), dim.is_unlimited())).collect::<Vec<_>>();
        let expected =
            self.dims.iter().map(|dim| (dim.name.clone(), dim.len, dim.unlimited)).collect::<Vec<_>>();
        check("dimensions", format!("{dims:?}"), format!("{expected:?}"));
        check("attributes", format!("{:?}", pairs(group.attributes())), format!("{:?}", self.atts));
        let names = |names: Vec<String>| format!("{names:?}");
        let vars = group.variables();
        check(
            "variables",
            names(vars.iter().map(Variable::name).collect()),
            names(self.vars.iter().map(|var| var.name.clone()).collect()),
        );
        let groups = group.groups();
        check(
            "groups",
            names(groups.iter().map(Group::name).collect()),
            names(self.groups.iter().map(|(name, _)| name.clone()).collect()),
        );
        for (variable, var) in vars.iter().zip(&self.vars) {
            var.compare(variable, found);
        }
        for (group, (_, plan)) in groups.iter().zip(&self.groups) {
            plan.compare(group, found);
        }
    }

    /// Converts the content to JSON for other programs.
    pub fn to_json(&self) -> Value {
        let dims =
            self.dims.iter().map(|dim| json!({"name": dim.name, "len": dim.len, "unlimited": dim.unlimited}));
        let vars = self.vars.iter().map(|var| {
            json!({
                "name": var.name,
                "type": var.data.nc_type().name(),
                "dims": var.dims,
                "endian": format!("{:?}", var.endian),
                "atts": atts_to_json(&var.atts),
                "fill": var.fill.as_ref().map(values_to_json),
                "values": values_to_json(&var.data),
            })
        });
        let groups = self.groups.iter().map(|(name, plan)| json!({"name": name, "content": plan.to_json()}));
        json!({
            "dims": dims.collect::<Vec<_>>(),
            "atts": atts_to_json(&self.atts),
            "vars": vars.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
        })
    }

    /// The inverse of [`Plan::to_json`]. The layout is not kept.
    ///
    /// # Errors
    /// Names the first member that is not valid.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let list = |name: &str| value[name].as_array().ok_or_else(|| format!("{name} is no list"));
        let text =
            |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| format!("{value} is no text"));
        let mut plan = Self { atts: atts_from_json(&value["atts"])?, ..Self::default() };
        for dim in list("dims")? {
            plan.dims.push(Dim {
                name: text(&dim["name"])?,
                len: dim["len"].as_u64().ok_or("len is no length")?,
                unlimited: dim["unlimited"].as_bool().ok_or("unlimited is no boolean")?,
            });
        }
        for var in list("vars")? {
            let dims = var["dims"]
                .as_array()
                .ok_or("dims is no list")?
                .iter()
                .map(text)
                .collect::<Result<Vec<_>, _>>()?;
            let data = values_from_json(&var["type"], &var["values"])?;
            let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
            plan.vars.push(Var {
                atts: atts_from_json(&var["atts"])?,
                ..Var::new(&text(&var["name"])?, &dims, data)
            });
        }
        for group in list("groups")? {
            plan.groups.push((text(&group["name"])?, Self::from_json(&group["content"])?));
        }
        Ok(plan)
    }
}

impl Var {
    fn of(variable: &Variable) -> Result<Self> {
        let filters = variable.filters();
        Ok(Self {
            name: variable.name(),
            dims: variable.dimensions().iter().map(nczarr::Dimension::name).collect(),
            atts: pairs(variable.attributes()),
            data: get(variable)?,
            written: true,
            chunks: variable.chunk_shape()?.filter(|shape| !shape.is_empty() && variable.rank() > 0),
            shards: variable.shard_shape(),
            filters: filters.into_iter().map(|filter| (filter.name, filter.params)).collect(),
            endian: variable.endian(),
            fill: None,
        })
    }

    fn compare(&self, variable: &Variable, found: &mut Vec<String>) {
        let place = variable.full_name();
        let mut check = |what: &str, is: String, expected: String| {
            if is != expected {
                found.push(format!("{place}: {what}: {is}, expected {expected}"));
            }
        };
        check("type", format!("{:?}", variable.nc_type()), format!("{:?}", self.data.nc_type()));
        let dims = variable.dimensions().iter().map(nczarr::Dimension::name).collect::<Vec<_>>();
        check("dimensions", format!("{dims:?}"), format!("{:?}", self.dims));
        check("attributes", format!("{:?}", pairs(variable.attributes())), format!("{:?}", self.atts));
        match get(variable) {
            Ok(data) if data == self.data => {}
            Ok(data) => check("values", format!("{data:?}"), format!("{:?}", self.data)),
            Err(error) => check("values", error.to_string(), format!("{:?}", self.data)),
        }
    }
}

fn pairs(attributes: Vec<nczarr::Attribute>) -> Vec<(String, Values)> {
    attributes.into_iter().map(|attribute| (attribute.name().to_owned(), attribute.into_values())).collect()
}

/// Writes all values of a variable, from its first element on.
///
/// # Errors
/// Returns the library's error.
pub fn put(variable: &Variable, shape: &[u64], values: &Values) -> Result<()> {
    let start = vec![0; shape.len()];
    let slab = Slab::new(&start, shape);
    match values {
        Values::String(strings) => variable.write(&slab, MemRef::Strings(strings)),
        other => {
            let bytes = other.to_native_bytes().unwrap_or_default();
            variable.write(&slab, MemRef::Fixed { ty: other.nc_type(), bytes: &bytes })
        }
    }
}

/// Reads all values of a variable in its own type.
///
/// # Errors
/// Returns the library's error.
pub fn get(variable: &Variable) -> Result<Values> {
    let ty = variable.nc_type();
    if ty == NcType::String {
        return Ok(Values::String(variable.get_nc_strings(..)?.into_vec()));
    }
    let mut bytes = vec![0; variable.len()? as usize * ty.size().unwrap_or(1)];
    variable.get_raw(&mut bytes, ..)?;
    Ok(Values::from_native_bytes(ty, &bytes).expect("whole elements of a fixed type"))
}

fn atts_to_json(atts: &[(String, Values)]) -> Value {
    let items = atts
        .iter()
        .map(|(name, values)| json!({"name": name, "type": values.nc_type().name(), "values": values_to_json(values)}));
    Value::Array(items.collect())
}

fn atts_from_json(value: &Value) -> Result<Vec<(String, Values)>, String> {
    let items = value.as_array().ok_or("atts is no list")?.iter().map(|att| {
        let name = att["name"].as_str().ok_or("an attribute without name")?;
        Ok((name.to_owned(), values_from_json(&att["type"], &att["values"])?))
    });
    items.collect()
}

/// Converts values to JSON: a list of numbers (`"NaN"` and infinities as text), a list of strings, or one
/// text for chars.
fn values_to_json(values: &Values) -> Value {
    let float = |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
    match values {
        Values::Char(bytes) => json!(String::from_utf8_lossy(bytes)),
        Values::String(strings) => strings.iter().map(|string| string.to_text().into_owned()).collect(),
        Values::Float(v) => v.iter().map(|&value| float(value.into())).collect(),
        Values::Double(v) => v.iter().map(|&value| float(value)).collect(),
        Values::Byte(v) => json!(v),
        Values::UByte(v) => json!(v),
        Values::Short(v) => json!(v),
        Values::UShort(v) => json!(v),
        Values::Int(v) => json!(v),
        Values::UInt(v) => json!(v),
        Values::Int64(v) => json!(v),
        Values::UInt64(v) => json!(v),
        other => unreachable!("{other:?} is in no plan"),
    }
}

fn values_from_json(ty: &Value, values: &Value) -> Result<Values, String> {
    let name = ty.as_str().ok_or("a type that is no text")?;
    let ty = NcType::ATOMIC.into_iter().find(|ty| ty.name() == name).ok_or_else(|| format!("type {name}"))?;
    if ty == NcType::Char {
        return Ok(Values::text(values.as_str().ok_or("chars that are no text")?));
    }
    let items = values.as_array().ok_or("values is no list")?;
    macro_rules! integers {
        ($t:ty, $variant:ident) => {{
            let number =
                |item: &Value| item.to_string().parse::<$t>().map_err(|error| format!("{item}: {error}"));
            Values::$variant(items.iter().map(number).collect::<Result<_, _>>()?)
        }};
    }
    let float = |item: &Value| match item {
        Value::String(text) => text.parse::<f64>().map_err(|error| format!("{text}: {error}")),
        number => number.as_f64().ok_or_else(|| format!("{number} is no number")),
    };
    Ok(match ty {
        NcType::Byte => integers!(i8, Byte),
        NcType::UByte => integers!(u8, UByte),
        NcType::Short => integers!(i16, Short),
        NcType::UShort => integers!(u16, UShort),
        NcType::Int => integers!(i32, Int),
        NcType::UInt => integers!(u32, UInt),
        NcType::Int64 => integers!(i64, Int64),
        NcType::UInt64 => integers!(u64, UInt64),
        NcType::Float => Values::Float(
            items.iter().map(|item| float(item).map(|value| value as f32)).collect::<Result<_, _>>()?,
        ),
        NcType::Double => Values::Double(items.iter().map(float).collect::<Result<_, _>>()?),
        _ => {
            let text =
                |item: &Value| item.as_str().map(NcString::from).ok_or_else(|| format!("{item} is no text"));
            Values::String(items.iter().map(text).collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_json() {
        let mut plan = Plan::default();
        plan.att("title", "größe");
        plan.att("none", Values::Int(vec![]));
        plan.dims.push(Dim::unlimited("t", 2));
        plan.vars
            .push(Var::new("a", &["t"], Values::Float(vec![0.1, f32::NEG_INFINITY])).att("u", [u64::MAX]));
        plan.groups.push((
            "g".to_owned(),
            Plan { vars: vec![Var::new("s", &[], Values::Int64(vec![i64::MIN]))], ..Plan::default() },
        ));
        let back = Plan::from_json(&plan.to_json()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{plan:?}"));
    }
}
