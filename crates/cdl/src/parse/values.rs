//! Converts constants to values of a known type: for attributes, and for data other than plain numbers.
//!
//! A number converts to a type that can hold it. It also converts to a type of as many bits, and keeps its
//! bits: `255` is the byte -1, `-2` the ubyte 254. Text becomes bytes of a char, or strings.

use std::cell::Cell;

use nczarr_model::{ErrorKind, Field, Item, Model, NcString, NcType, Result, TypeClass, Values, fill};

use super::constant::{Constant, Placed};
use super::cursor::CdlCursor;

/// A number type of netCDF.
pub(crate) trait CdlNumber: Copy + Default {
    /// Converts an integer, if the type can hold it.
    fn from_int(value: i128) -> Option<Self>;
    /// Converts the text of a float. Integer types accept whole numbers.
    fn from_float(text: &str) -> Option<Self>;
    /// Converts `digits`, with the last `behind` of them after the point, if the result is exact.
    fn from_decimal(_minus: bool, _digits: u64, _behind: usize) -> Option<Self> {
        None
    }
    /// Wraps some of them as values.
    fn values(list: Vec<Self>) -> Values;
    /// Returns the type's default fill value.
    fn fill() -> Self;
    /// Returns the value of a fill value of this type.
    fn only(values: &Values) -> Option<Self>;
}

macro_rules! num {
    ($($t:ty, $variant:ident, $fill:ident, $int:expr, $float:expr $(, $decimal:expr)?;)*) => {$(
        impl CdlNumber for $t {
            fn from_int(value: i128) -> Option<Self> {
                $int(value)
            }

            fn from_float(text: &str) -> Option<Self> {
                $float(text)
            }

            $(
                #[inline]
                fn from_decimal(minus: bool, digits: u64, behind: usize) -> Option<Self> {
                    $decimal(digits, behind).map(|value| if minus { -value } else { value })
                }
            )?

            fn values(list: Vec<Self>) -> Values {
                Values::$variant(list)
            }

            fn fill() -> Self {
                fill::$fill
            }

            fn only(values: &Values) -> Option<Self> {
                match values {
                    Values::$variant(list) => list.first().copied(),
                    _ => None,
                }
            }
        }
    )*};
}

/// Parses a whole number in the text of a float, if it is exact.
fn whole(text: &str) -> Option<i128> {
    let value: f64 = text.parse().ok()?;
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i128)
}

/// Converts an integer by its bits, signed or unsigned.
fn bits<T: TryFrom<i128>, Other: TryFrom<i128>>(value: i128, same: impl Fn(Other) -> T) -> Option<T> {
    T::try_from(value).ok().or_else(|| Other::try_from(value).ok().map(same))
}

num! {
    i8, Byte, BYTE, |value| bits(value, u8::cast_signed), |text| whole(text).and_then(Self::from_int);
    i16, Short, SHORT, |value| bits(value, u16::cast_signed), |text| whole(text).and_then(Self::from_int);
    i32, Int, INT, |value| bits(value, u32::cast_signed), |text| whole(text).and_then(Self::from_int);
    i64, Int64, INT64, |value| bits(value, u64::cast_signed), |text| whole(text).and_then(Self::from_int);
    u8, UByte, UBYTE, |value| bits(value, i8::cast_unsigned), |text| whole(text).and_then(Self::from_int);
    u16, UShort, USHORT, |value| bits(value, i16::cast_unsigned), |text| whole(text).and_then(Self::from_int);
    u32, UInt, UINT, |value| bits(value, i32::cast_unsigned), |text| whole(text).and_then(Self::from_int);
    u64, UInt64, UINT64, |value| bits(value, i64::cast_unsigned), |text| whole(text).and_then(Self::from_int);
    f32, Float, FLOAT, |value| Some(value as f32), finite_f32, short_f32;
    f64, Double, DOUBLE, |value| Some(value as f64), finite_f64, short_f64;
}

/// Powers of ten that a single holds exactly.
const TENS_F32: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
/// Powers of ten that a double holds exactly.
const TENS_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Divides digits by a power of ten. Both are exact, so the quotient is correctly rounded.
fn short_f32(digits: u64, behind: usize) -> Option<f32> {
    let ten = TENS_F32.get(behind).filter(|_| digits <= 1 << f32::MANTISSA_DIGITS)?;
    Some(digits as f32 / ten)
}

/// As [`short_f32`].
fn short_f64(digits: u64, behind: usize) -> Option<f64> {
    let ten = TENS_F64.get(behind).filter(|_| digits <= 1 << f64::MANTISSA_DIGITS)?;
    Some(digits as f64 / ten)
}

/// Parses a float that is infinite only if the text says so.
fn finite_f32(text: &str) -> Option<f32> {
    let value: f32 = text.parse().ok()?;
    (value.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit())).then_some(value)
}

fn finite_f64(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    if value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
        largest(text)
    } else {
        Some(value)
    }
}

/// Returns the largest double with its sign, if the text is that number rounded up to the 15 printed digits.
fn largest(text: &str) -> Option<f64> {
    let (mantissa, power) = text.split_once(['e', 'E'])?;
    let power: i32 = power.parse().ok()?;
    let tenth: f64 = format!("{mantissa}e{}", power.checked_sub(1)?).parse().ok()?;
    (tenth.abs() <= f64::MAX / 10.0 * (1.0 + 1e-14)).then_some(f64::MAX.copysign(tenth))
}

/// Converts a constant to a number.
///
/// # Errors
/// `NC_ERANGE` if the type cannot hold it; `NC_ECHAR` for text; `NC_EBADTYPE` for other constants.
pub(crate) fn number<T: CdlNumber>(constant: &Constant, fill: T, ty: NcType) -> Result<T> {
    let out_of_range = |text: &dyn std::fmt::Display| {
        ErrorKind::Range.context(format!("{text} is no value of type {}", ty.name()))
    };
    match constant {
        Constant::Int { value, .. } => T::from_int(*value).ok_or_else(|| out_of_range(value)),
        Constant::Float { text, .. } => T::from_float(text).ok_or_else(|| out_of_range(text)),
        Constant::Char(byte) => T::from_int((*byte).into()).ok_or_else(|| out_of_range(byte)),
        Constant::Fill => Ok(fill),
        Constant::Text(_) | Constant::Nil => {
            Err(ErrorKind::Char.context(format!("expected a value of type {}, found text", ty.name())))
        }
        Constant::Opaque(_) | Constant::Name(_) | Constant::List(_) => Err(wrong(ty.name(), constant)),
    }
}

fn wrong(expected: &str, constant: &Constant) -> nczarr_model::Error {
    let found = match constant {
        Constant::Name(path) => format!("the name {:?}", path.join("/")),
        Constant::List(_) => "a list between braces".to_owned(),
        Constant::Opaque(bytes) => format!("{} bytes", bytes.len()),
        Constant::Int { value, .. } => value.to_string(),
        Constant::Float { text, .. } => text.clone(),
        Constant::Char(_) | Constant::Text(_) => "text".to_owned(),
        Constant::Fill => "_".to_owned(),
        Constant::Nil => "NIL".to_owned(),
    };
    ErrorKind::BadType.context(format!("expected a value of type {expected}, found {found}"))
}

/// Returns the common type of untyped values.
pub(crate) fn common_type(values: &[Placed]) -> NcType {
    let mut common: Option<NcType> = None;
    for value in values {
        let own = match &value.constant {
            Constant::Int { ty: Some(ty), .. } | Constant::Float { ty, .. } => *ty,
            Constant::Int { value, ty: None } => match *value {
                value if i32::try_from(value).is_ok() => NcType::Int,
                value if i64::try_from(value).is_ok() => NcType::Int64,
                _ => NcType::UInt64,
            },
            // Single characters are numbers unless marked as text.
            Constant::Char(_) => NcType::Byte,
            Constant::Text(_) | Constant::Nil => NcType::Char,
            Constant::Fill | Constant::Opaque(_) | Constant::Name(_) | Constant::List(_) => continue,
        };
        common = Some(common.map_or(own, |before| wider(before, own)));
    }
    common.unwrap_or(NcType::Char)
}

/// Returns the type that holds the values of two; the first one if there is none.
fn wider(a: NcType, b: NcType) -> NcType {
    let rank = |ty| match ty {
        NcType::Byte => 1,
        NcType::UByte => 2,
        NcType::Short => 3,
        NcType::UShort => 4,
        NcType::Int => 5,
        NcType::UInt => 6,
        NcType::Int64 => 7,
        NcType::UInt64 => 8,
        NcType::Float => 9,
        NcType::Double => 10,
        _ => 0,
    };
    match (rank(a), rank(b)) {
        (0, _) | (_, 0) => a,
        (first, second) => {
            if first >= second {
                a
            } else {
                b
            }
        }
    }
}

/// Converts the values of an attribute.
///
/// # Errors
/// As [`number`] and [`item`]. The caller adds the position of a single value.
pub(crate) fn attribute(
    model: &Model,
    text: &[u8],
    values: &[Placed],
    ty: NcType,
) -> Result<Values, (usize, nczarr_model::Error)> {
    fn numbers<T: CdlNumber>(
        text: &[u8],
        values: &[Placed],
        ty: NcType,
    ) -> Result<Values, (usize, nczarr_model::Error)> {
        let each = |value: &Placed| {
            // A float keeps the sign of a zero. An integer has none.
            let zero =
                matches!(value.constant, Constant::Int { value: 0, .. }) && text.get(value.at) == Some(&b'-');
            let negative = T::from_float("-0").filter(|_| zero);
            negative
                .map_or_else(|| number(&value.constant, T::fill(), ty), Ok)
                .map_err(|error| (value.at, error))
        };
        Ok(T::values(values.iter().map(each).collect::<Result<_, _>>()?))
    }
    Ok(match ty {
        NcType::Byte => numbers::<i8>(text, values, ty)?,
        NcType::Short => numbers::<i16>(text, values, ty)?,
        NcType::Int => numbers::<i32>(text, values, ty)?,
        NcType::Int64 => numbers::<i64>(text, values, ty)?,
        NcType::UByte => numbers::<u8>(text, values, ty)?,
        NcType::UShort => numbers::<u16>(text, values, ty)?,
        NcType::UInt => numbers::<u32>(text, values, ty)?,
        NcType::UInt64 => numbers::<u64>(text, values, ty)?,
        NcType::Float => numbers::<f32>(text, values, ty)?,
        NcType::Double => numbers::<f64>(text, values, ty)?,
        NcType::Char => {
            let mut bytes = Vec::new();
            for value in values {
                chars(&value.constant, fill::CHAR, &mut bytes).map_err(|error| (value.at, error))?;
            }
            Values::Char(bytes)
        }
        NcType::String => {
            let each = |value: &Placed| string(&value.constant).map_err(|error| (value.at, error));
            Values::String(values.iter().map(each).collect::<Result<_, _>>()?)
        }
        NcType::User(_) => {
            let budget = ValueBudget::default();
            let items = values.iter().map(|value| item(model, text, &budget, ty, value));
            let items: Vec<Item> = items.collect::<Result<_, _>>()?;
            model.values(ty, &items).map_err(|error| (values.first().map_or(0, |value| value.at), error))?
        }
    })
}

/// Appends the bytes of a constant in a char array.
pub(crate) fn chars(constant: &Constant, fill: u8, out: &mut Vec<u8>) -> Result<()> {
    match constant {
        Constant::Text(bytes) => out.extend_from_slice(bytes),
        Constant::Char(byte) => out.push(*byte),
        Constant::Int { value, .. } => match u8::from_int(*value) {
            Some(byte) => out.push(byte),
            None => return Err(ErrorKind::Range.context(format!("{value} is no value of type char"))),
        },
        Constant::Fill => out.push(fill),
        Constant::Nil => {}
        other => return Err(wrong("char", other)),
    }
    Ok(())
}

/// The printer's name for an enumeration value without a member.
const UNDEFINED: &str = "_UNDEFINED";

/// Converts a constant to a string.
pub(crate) fn string(constant: &Constant) -> Result<NcString> {
    match constant {
        Constant::Text(bytes) => Ok(NcString::from(bytes.as_slice())),
        Constant::Char(byte) => Ok(NcString::from([*byte].as_slice())),
        Constant::Nil => Ok(NcString::nil()),
        Constant::Fill => Ok(NcString::new()),
        other => Err(wrong("string", other)),
    }
}

/// Converts one element of a type, from its text and a budget for missing values.
///
/// # Errors
/// With the position of the value: as [`number`]; `NC_EBADTYPE` for a constant of another type; `NC_ENOMEM`
/// if too much is missing.
pub(super) fn item(
    model: &Model,
    text: &[u8],
    budget: &ValueBudget,
    ty: NcType,
    value: &Placed,
) -> Result<Item, (usize, nczarr_model::Error)> {
    let here = |error: nczarr_model::Error| (value.at, error);
    let NcType::User(id) = ty else {
        if ty == NcType::Char {
            let mut bytes = Vec::new();
            chars(&value.constant, fill::CHAR, &mut bytes).map_err(here)?;
            // A char is one byte of the text.
            return Ok(Item::Char(padded(bytes, 1).map_err(here)?[0]));
        }
        let one = attribute(model, text, std::slice::from_ref(value), ty)?;
        return Item::atomic(&one, 0).ok_or_else(|| here(wrong(ty.name(), &value.constant)));
    };
    let user = model.user_type(id).map_err(here)?;
    let wrong_here = || here(wrong(&user.name, &value.constant));
    if value.constant == Constant::Fill {
        budget.take(leaves(model, ty).map_err(here)?).map_err(here)?;
        let blank = model.blank(ty).and_then(|blank| model.items(&blank)).map_err(here)?;
        return blank.into_iter().next().ok_or_else(wrong_here);
    }
    match &user.class {
        TypeClass::Enum { base, members } => {
            let number = match &value.constant {
                Constant::Name(path) => {
                    let of = |name: &str| members.iter().find(|member| member.name == name);
                    // The name of the type may precede it, with a dot between.
                    let name = path.last().map_or("", String::as_str);
                    let bare = || of(name.strip_prefix(&user.name)?.strip_prefix('.')?);
                    let value = of(name).or_else(bare).map(|member| member.value);
                    // The printer writes this for a value without a member, which was never written.
                    let none =
                        (name == UNDEFINED && members.iter().all(|member| member.value != 0)).then_some(0);
                    value.or(none).ok_or_else(wrong_here)?
                }
                Constant::Int { value, .. } => *value,
                _ => return Err(wrong_here()),
            };
            let placed = Placed { constant: Constant::Int { value: number, ty: None }, at: value.at };
            item(model, text, budget, *base, &placed)
        }
        TypeClass::Opaque { size } => {
            let bytes = match &value.constant {
                Constant::Opaque(bytes) => bytes.clone(),
                // Up to 16 digits look like an integer, so they are taken from the text.
                Constant::Int { .. } => hexadecimal(text, value.at).ok_or_else(wrong_here)?,
                _ => return Err(wrong_here()),
            };
            budget.take(size.saturating_sub(bytes.len()) / size_of::<Item>()).map_err(here)?;
            Ok(Item::Opaque(padded(bytes, *size).map_err(here)?))
        }
        TypeClass::Compound { fields, .. } => {
            let Constant::List(list) = &value.constant else { return Err(wrong_here()) };
            let mut items = list.iter().peekable();
            let mut parts = Vec::with_capacity(fields.len());
            for field in fields {
                let count = field.count().map_err(here)?;
                let mut part = Vec::new();
                let mut items = FieldValues { all: &mut items, inner: None };
                let same = list.len() == fields.len();
                if !field.shape.is_empty() && items.grouped(model, field.ty, count, same).map_err(here)? {
                    items.enter();
                }
                // A text is a whole row of characters.
                let row = field.shape.last().filter(|_| field.ty == NcType::Char).copied();
                while part.len() < count {
                    let Some(next) = items.next() else {
                        let more = count - part.len();
                        budget
                            .take(leaves(model, field.ty).map_err(here)?.saturating_mul(more))
                            .map_err(here)?;
                        part.extend(vec![unwritten(model, field.ty).map_err(here)?; more]);
                        continue;
                    };
                    match (row, &next.constant) {
                        (Some(row), Constant::Text(text)) => {
                            // All remaining rows, if the text is longer than one.
                            let room =
                                if text.len() > row as usize { count - part.len() } else { row as usize };
                            budget.take(room.saturating_sub(text.len())).map_err(here)?;
                            let text = padded(text.clone(), room).map_err(|error| (next.at, error))?;
                            part.extend(text.into_iter().map(Item::Char));
                        }
                        _ => part.push(item(model, text, budget, field.ty, next)?),
                    }
                }
                part.truncate(count);
                if let Some(more) = items.left() {
                    return Err((
                        more.at,
                        ErrorKind::BadType.context(format!("more than {count} values for a field")),
                    ));
                }
                parts.push(part);
            }
            match items.next() {
                None => Ok(Item::Compound(parts)),
                Some(more) => Err((
                    more.at,
                    ErrorKind::BadType.context(format!("{}: more values than fields", user.name)),
                )),
            }
        }
        TypeClass::Vlen { base: NcType::Char } => {
            let mut bytes = Vec::new();
            let list = match &value.constant {
                Constant::List(list) => &list[..],
                _ => std::slice::from_ref(value),
            };
            for value in list {
                chars(&value.constant, fill::CHAR, &mut bytes).map_err(|error| (value.at, error))?;
            }
            Ok(Item::Vlen(bytes.into_iter().map(Item::Char).collect()))
        }
        TypeClass::Vlen { base } => {
            let Constant::List(list) = &value.constant else { return Err(wrong_here()) };
            list.iter()
                .map(|value| item(model, text, budget, *base, value))
                .collect::<Result<_, _>>()
                .map(Item::Vlen)
        }
    }
}

/// Makes a missing element. A number has its type's default fill value, and so has each field of a compound.
/// Other types have the value of unwritten storage. The caller has checked the size ([`leaves`]).
pub(super) fn unwritten(model: &Model, ty: NcType) -> Result<Item> {
    if let NcType::User(id) = ty
        && let TypeClass::Compound { fields, .. } = &model.user_type(id)?.class
    {
        let part = |field: &Field| Ok(vec![unwritten(model, field.ty)?; field.count()?]);
        return fields.iter().map(part).collect::<Result<_>>().map(Item::Compound);
    }
    let fill = fill::default(ty).map_or_else(|| model.blank(ty), Ok)?;
    let one = model.items(&fill)?.into_iter().next();
    one.ok_or_else(|| ErrorKind::Internal.context("one value"))
}

/// Most numbers, strings and the like in a missing element.
const MOST: usize = 1 << 20;

/// Counts the numbers, strings and the like in an unwritten element. If there are too many, it returns any
/// larger number.
fn leaves(model: &Model, ty: NcType) -> Result<usize> {
    let NcType::User(id) = ty else { return Ok(1) };
    Ok(match &model.user_type(id)?.class {
        TypeClass::Compound { fields, .. } => {
            let mut all = 1usize;
            for field in fields {
                let count = field.count()?.max(1);
                // Nested types are larger than their text, so stop early.
                let enough = all.saturating_add(count) > MOST;
                let each = if enough { 1 } else { leaves(model, field.ty)? };
                all = all.saturating_add(each.saturating_mul(count));
                if all > MOST {
                    break;
                }
            }
            all
        }
        TypeClass::Opaque { size } => 1 + size / size_of::<Item>(),
        _ => 1,
    })
}

/// Whether a missing element is small enough to be made.
pub(super) fn can_be_left_out(model: &Model, ty: NcType) -> Result<bool> {
    Ok(leaves(model, ty)? <= MOST)
}

/// Limits the number of values that no text gives, before their elements are stored.
#[derive(Debug)]
pub(super) struct ValueBudget {
    left: Cell<usize>,
    /// The number of values that no text gave.
    left_out: Cell<usize>,
}

impl Default for ValueBudget {
    fn default() -> Self {
        Self { left: Cell::new(MOST + MOST / 8), left_out: Cell::new(0) }
    }
}

impl ValueBudget {
    /// Counts values to be made.
    ///
    /// # Errors
    /// `NC_ENOMEM` if there are too many.
    fn take(&self, count: usize) -> Result<()> {
        let left = self.left.get().checked_sub(count);
        let left = left
            .ok_or_else(|| ErrorKind::NoMem.context("a text that leaves out too many values of a field"))?;
        self.left.set(left);
        self.left_out.set(self.left_out.get() + count);
        Ok(())
    }

    /// Counts the bytes of a copy.
    pub(super) fn again(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes / size_of::<Item>()));
    }

    /// Whether the elements so far must be stored before the next one.
    pub(super) fn is_used(&self) -> bool {
        self.left.get() <= MOST
    }

    /// Returns the number of values that no text gave.
    pub(super) fn left_out(&self) -> usize {
        self.left_out.get()
    }
}

/// Returns the approximate size of an element in memory, in bytes.
pub(super) fn weight(item: &Item) -> usize {
    let own = size_of::<Item>();
    own + match item {
        Item::String(text) => text.as_bytes().len(),
        Item::Opaque(bytes) => bytes.len(),
        Item::Vlen(items) => items.iter().map(weight).sum(),
        Item::Compound(parts) => parts.iter().flatten().map(weight).sum(),
        Item::Int(_) | Item::Float(_) | Item::Double(_) | Item::Char(_) => 0,
    }
}

/// The values of one field of a compound. Values of an array field may be in braces, or consecutive.
struct FieldValues<'g, 'v> {
    all: &'g mut std::iter::Peekable<std::slice::Iter<'v, Placed>>,
    /// Values in the current inner braces.
    inner: Option<std::slice::Iter<'v, Placed>>,
}

impl<'v> FieldValues<'_, 'v> {
    /// Whether the next value is the braces around `count` values of a type. `same`: there are as many values
    /// as fields.
    fn grouped(&mut self, model: &Model, ty: NcType, count: usize, same: bool) -> Result<bool> {
        let Some(Placed { constant: Constant::List(inner), .. }) = self.all.peek() else { return Ok(false) };
        let list = |value: &Placed| matches!(value.constant, Constant::List(_));
        let class = match ty {
            NcType::User(id) => Some(&model.user_type(id)?.class),
            _ => None,
        };
        // Values of these types have braces of their own.
        let braced = matches!(class, Some(TypeClass::Compound { .. } | TypeClass::Vlen { .. }));
        Ok(same || !braced || (inner.len() == count && inner.iter().all(list)))
    }

    fn enter(&mut self) {
        if let Some(Placed { constant: Constant::List(inner), .. }) = self.all.next() {
            self.inner = Some(inner.iter());
        }
    }

    fn next(&mut self) -> Option<&'v Placed> {
        match &mut self.inner {
            Some(inner) => inner.next(),
            None => self.all.next(),
        }
    }

    /// Returns the first unused value in the inner braces.
    fn left(&mut self) -> Option<&'v Placed> {
        self.inner.as_mut()?.next()
    }
}

fn padded(mut bytes: Vec<u8>, size: usize) -> Result<Vec<u8>> {
    if bytes.len() > size {
        return Err(ErrorKind::Range.context(format!("{} bytes for a value of {size}", bytes.len())));
    }
    let short = |error| ErrorKind::NoMem.context(format!("a value of {size} bytes")).caused_by(error);
    bytes.try_reserve_exact(size - bytes.len()).map_err(short)?;
    bytes.resize(size, 0);
    Ok(bytes)
}

/// Returns the bytes of a hexadecimal number in the text.
fn hexadecimal(text: &[u8], at: usize) -> Option<Vec<u8>> {
    let token = super::constant::number_token(&mut CdlCursor::new(text, at));
    match token {
        [b'0', b'x' | b'X', digits @ ..] if digits.iter().all(u8::is_ascii_hexdigit) => {
            Some(super::constant::opaque(digits))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers made from digits equal the library's results to the last bit, or are not made.
    #[test]
    fn short_decimals_are_right() {
        let mut random = 7u64;
        let mut made = [0; 2];
        for round in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let digits = random >> (round % 60 + 4);
            let behind = (random >> 20) as usize % 24;
            let minus = random & 1 << 40 == 0;
            let all = format!("{digits:0>width$}", width = behind + 1);
            let (whole, part) = all.split_at(all.len() - behind);
            let text = format!("{}{whole}.{part}", if minus { "-" } else { "" });
            if let Some(value) = f32::from_decimal(minus, digits, behind) {
                assert_eq!(value.to_bits(), text.parse::<f32>().unwrap().to_bits(), "{text}");
                made[0] += 1;
            }
            if let Some(value) = f64::from_decimal(minus, digits, behind) {
                assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
                made[1] += 1;
            }
        }
        assert!(made[0] > 10_000 && made[1] > 10_000, "{made:?}");
        for (digits, behind) in [((1 << 24) + 1, 0), (1, 11)] {
            assert_eq!(f32::from_decimal(false, digits, behind), None);
        }
        for (digits, behind) in [((1 << 53) + 1, 0), (1, 23)] {
            assert_eq!(f64::from_decimal(false, digits, behind), None);
        }
        assert_eq!(i32::from_decimal(false, 1, 0), None);
    }
}
