//! Strings of a fixed size in a file that was opened. The driver never creates them, but it keeps them.
//!
//! The model shows them as strings. New metadata keep their datatype, and unwritten cells keep their bytes.

use std::borrow::Cow;
use std::collections::HashMap;

use nczarr_dispatch::{MemMut, MemRef};
use nczarr_model::{GroupId, NcString, NcType, Result, Values, VarId};

use super::datatype;
use super::header::{AttributeMessage, DataspaceMessage, DatatypeMessage};
use super::nul_check;
use crate::read::{Datatype, DatatypeClass, StoredText};

/// The padding with blanks. The other kinds of padding use zeros.
const BLANKS: u8 = 2;

/// The datatype of strings of a fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FixedText {
    /// Size of a string in bytes.
    pub(super) size: usize,
    /// The bit field of the datatype: padding and character set.
    form: u8,
}

impl FixedText {
    /// Returns the datatype of a stored variable, if its strings have a fixed size.
    pub(super) fn of(stored: &Datatype, xtype: NcType) -> Option<Self> {
        match stored.class {
            DatatypeClass::Text { form } if xtype == NcType::String => {
                Some(Self { size: stored.size as usize, form })
            }
            _ => None,
        }
    }

    pub(super) fn message(self) -> Result<DatatypeMessage> {
        Ok(DatatypeMessage::Own(datatype::text_of(self.size, self.form)?))
    }

    fn pads_with_blanks(self) -> bool {
        self.form & 15 == BLANKS
    }

    /// Returns a text with the blanks that fill a cell of the file.
    fn padded<'t>(self, text: &'t NcString) -> Result<Cow<'t, NcString>> {
        let bytes = nul_check::whole(text.as_bytes())?;
        if !self.pads_with_blanks() || bytes.len() >= self.size {
            return Ok(Cow::Borrowed(text));
        }
        let mut bytes = bytes.to_vec();
        bytes.resize(self.size, b' ');
        Ok(Cow::Owned(bytes.into()))
    }

    /// Returns a fill value as it reads back. Zeros are the default of HDF5.
    ///
    /// # Errors
    /// As [`FixedText::fill_bytes`].
    pub(super) fn fill(self, fill: Option<Values>) -> Result<Option<Values>> {
        match fill {
            Some(Values::String(list)) if list.iter().any(|text| !text.as_bytes().is_empty()) => {
                Ok(Some(Values::String(vec![self.padded(&list[0])?.into_owned()])))
            }
            _ => Ok(None),
        }
    }

    /// Returns the stored form of a fill value.
    ///
    /// # Errors
    /// `NC_ECHAR` if it has a NUL.
    pub(super) fn fill_bytes(self, fill: Option<Values>) -> Result<Vec<u8>> {
        let mut bytes = match self.fill(fill)? {
            Some(Values::String(list)) => list[0].as_bytes().to_vec(),
            _ => Vec::new(),
        };
        bytes.resize(self.size, 0);
        Ok(bytes)
    }

    /// Reads with `get`. A text ends at its first zero, as for readers of the file.
    pub(super) fn get(
        self,
        out: MemMut<'_, '_>,
        get: impl FnOnce(MemMut<'_, '_>) -> Result<()>,
    ) -> Result<()> {
        let MemMut::Strings(strings) = out else { return get(out) };
        get(MemMut::Strings(strings))?;
        for text in strings {
            if let Some(end) = text.as_bytes().iter().position(|&byte| byte == 0) {
                *text = NcString::from(&text.as_bytes()[..end]);
            }
        }
        Ok(())
    }

    /// Writes with `put`.
    ///
    /// # Errors
    /// `NC_ECHAR` for a text with a NUL.
    pub(super) fn put(self, data: MemRef<'_>, put: impl FnOnce(MemRef<'_>) -> Result<()>) -> Result<()> {
        let MemRef::Strings(strings) = data else { return put(data) };
        if !self.pads_with_blanks() {
            strings.iter().try_for_each(|text| nul_check::whole(text.as_bytes()).map(drop))?;
            return put(data);
        }
        let padded = strings.iter().map(|text| self.padded(text).map(Cow::into_owned));
        put(MemRef::Strings(&padded.collect::<Result<Vec<_>>>()?))
    }
}

/// The place of an attribute: its group or variable, and its name.
type AttKey = (GroupId, Option<VarId>, String);

/// The strings of a fixed size in a file.
#[derive(Debug, Default)]
pub(super) struct FixedTexts {
    vars: HashMap<VarId, FixedText>,
    atts: HashMap<AttKey, StoredText>,
}

fn key(group: GroupId, var: Option<VarId>, name: &str) -> AttKey {
    (if var.is_some() { GroupId::ROOT } else { group }, var, name.to_owned())
}

impl FixedTexts {
    /// Makes the table of an opened file.
    pub(super) fn new(atts: Vec<(GroupId, Option<VarId>, StoredText)>) -> Self {
        let atts = atts.into_iter().map(|(group, var, text)| (key(group, var, &text.name), text));
        Self { vars: HashMap::new(), atts: atts.collect() }
    }

    pub(super) fn insert(&mut self, var: VarId, text: FixedText) {
        self.vars.insert(var, text);
    }

    pub(super) fn of_var(&self, id: VarId) -> Option<FixedText> {
        self.vars.get(&id).copied()
    }

    /// Returns the message of an attribute that still has its stored values.
    pub(super) fn attribute(
        &self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        values: &Values,
    ) -> Result<Option<AttributeMessage>> {
        if self.atts.is_empty() {
            return Ok(None);
        }
        let Some(stored) = self.atts.get(&key(group, var, name)).filter(|stored| stored.values == *values)
        else {
            return Ok(None);
        };
        let text = FixedText { size: stored.size as usize, form: stored.form };
        Ok(Some(AttributeMessage {
            name: name.to_owned(),
            datatype: text.message()?,
            space: match &stored.dims {
                None => DataspaceMessage::Null,
                Some(dims) if dims.is_empty() => DataspaceMessage::Scalar,
                Some(dims) => DataspaceMessage::Simple(dims.iter().map(|&len| (len, len)).collect()),
            },
            data: stored.bytes.clone(),
        }))
    }
}
