//! The entries of one kind of plugin: origin, identity and visibility.

use std::any::Any;
use std::cmp::Reverse;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use super::{Origin, PluginKind};
use crate::{Driver, StaticPlugin};
use nczarr_codec::{ChunkGridClass, DataTypeClass, ElementClass, FilterClass};
use nczarr_storage::MapFactory;

/// The common interface of the plugin traits.
pub(super) trait NamedPlugin: Send + Sync + 'static {
    const KIND: PluginKind;

    /// Returns the names that hide entries of lower levels; the first is *the* name.
    fn names(&self) -> &[&'static str];
    /// Returns the description.
    fn about(&self) -> &'static str;
    /// Returns the address of its description, which identifies a static.
    fn described_at(&self) -> usize;
}

impl NamedPlugin for dyn Driver {
    const KIND: PluginKind = PluginKind::Driver;

    fn names(&self) -> &[&'static str] {
        std::slice::from_ref(&self.info().name)
    }

    fn about(&self) -> &'static str {
        self.info().about
    }

    fn described_at(&self) -> usize {
        address(self.info())
    }
}

impl NamedPlugin for dyn MapFactory {
    const KIND: PluginKind = PluginKind::Map;

    fn names(&self) -> &[&'static str] {
        std::slice::from_ref(&self.info().name)
    }

    fn about(&self) -> &'static str {
        self.info().about
    }

    fn described_at(&self) -> usize {
        address(self.info())
    }
}

impl NamedPlugin for dyn FilterClass {
    const KIND: PluginKind = PluginKind::Filter;

    fn names(&self) -> &[&'static str] {
        std::slice::from_ref(&self.info().name)
    }

    fn about(&self) -> &'static str {
        self.info().about
    }

    fn described_at(&self) -> usize {
        address(self.info())
    }
}

impl NamedPlugin for dyn ElementClass {
    const KIND: PluginKind = PluginKind::Element;

    fn names(&self) -> &[&'static str] {
        ElementClass::names(self)
    }

    fn about(&self) -> &'static str {
        ElementClass::about(self)
    }

    fn described_at(&self) -> usize {
        address(ElementClass::names(self))
    }
}

impl NamedPlugin for dyn DataTypeClass {
    const KIND: PluginKind = PluginKind::DataType;

    fn names(&self) -> &[&'static str] {
        DataTypeClass::names(self)
    }

    fn about(&self) -> &'static str {
        DataTypeClass::about(self)
    }

    fn described_at(&self) -> usize {
        address(DataTypeClass::names(self))
    }
}

impl NamedPlugin for dyn ChunkGridClass {
    const KIND: PluginKind = PluginKind::ChunkGrid;

    fn names(&self) -> &[&'static str] {
        ChunkGridClass::names(self)
    }

    fn about(&self) -> &'static str {
        ChunkGridClass::about(self)
    }

    fn described_at(&self) -> usize {
        address(ChunkGridClass::names(self))
    }
}

fn address<T: ?Sized>(place: &T) -> usize {
    std::ptr::from_ref(place).cast::<()>().addr()
}

/// A plugin in the registry.
pub(super) struct RegistryEntry<T: ?Sized> {
    pub origin: Origin,
    pub item: Arc<T>,
    /// The address of the value; 0 without a size, since two values of a unit struct are the same plugin.
    value_at: usize,
    /// The address of its description.
    described_at: usize,
    /// Its (first) name.
    name: &'static str,
    /// Whether no entry of a higher level has its (first) name; [`RegistryEntries::extend`] maintains this.
    visible: bool,
}

impl<T: ?Sized> Clone for RegistryEntry<T> {
    fn clone(&self) -> Self {
        Self { item: Arc::clone(&self.item), ..*self }
    }
}

fn place_of<T: ?Sized>(value: &T) -> usize {
    if size_of_val(value) == 0 { 0 } else { address(value) }
}

impl<T: ?Sized + NamedPlugin> RegistryEntry<T> {
    /// Creates an entry for a static.
    pub fn fixed<'a>(origin: Origin, item: &'static T) -> Self
    where
        &'static T: IntoShared<T>,
    {
        Self::of(origin, place_of(item), item.into_shared())
    }

    /// Creates an entry at run time. Statics and shared values are identified by their address.
    pub fn added<P: 'static>(plugin: P, share: impl FnOnce(P) -> Arc<T>) -> Self {
        let any: &dyn Any = &plugin;
        let value_at = if let Some(item) = any.downcast_ref::<StaticPlugin<T>>() {
            Some(place_of(item.0))
        } else if let Some(item) = any.downcast_ref::<Arc<T>>() {
            Some(place_of(&**item))
        } else if size_of::<P>() == 0 {
            Some(0)
        } else {
            None
        };
        let item = share(plugin);
        Self::of(Origin::Added, value_at.unwrap_or_else(|| place_of(&*item)), item)
    }

    /// Names are read once, since lookups compare many.
    fn of(origin: Origin, value_at: usize, item: Arc<T>) -> Self {
        let (described_at, name) = (item.described_at(), item.names().first().copied().unwrap_or_default());
        Self { origin, item, value_at, described_at, name, visible: true }
    }

    /// Whether no entry of a higher level has its (first) name.
    pub fn is_visible(&self) -> bool {
        self.visible
    }

    fn same(&self, other: &Self) -> bool {
        self.is_at(other.value_at, other.described_at)
    }

    fn is_at(&self, value: usize, description: usize) -> bool {
        self.value_at == value && self.described_at == description
    }
}

/// Converts a static plugin to a shared one.
pub(super) trait IntoShared<T: ?Sized> {
    fn into_shared(self) -> Arc<T>;
}

macro_rules! into_shared {
    ($($plugin:path),*) => {$(
        impl IntoShared<dyn $plugin> for &'static dyn $plugin {
            fn into_shared(self) -> Arc<dyn $plugin> {
                Arc::new(StaticPlugin(self))
            }
        }
    )*};
}

into_shared!(Driver, MapFactory, FilterClass, ElementClass, DataTypeClass, ChunkGridClass);

/// All plugins of one kind, sorted by name; for equal names the highest level comes first.
pub(super) struct RegistryEntries<T: ?Sized>(Vec<RegistryEntry<T>>);

impl<T: ?Sized> Default for RegistryEntries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ?Sized> Clone for RegistryEntries<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized + NamedPlugin> RegistryEntries<T> {
    /// Adds an entry, unless this level has it already.
    pub fn push(&mut self, entry: RegistryEntry<T>) {
        self.extend([entry]);
    }

    /// As [`RegistryEntries::push`] of each.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = RegistryEntry<T>>) {
        let before = self.0.len();
        for entry in entries {
            if !self.0.iter().any(|other| other.origin == entry.origin && other.same(&entry)) {
                // An insertion: a sort would be compiled once for each kind of plugin.
                let rank = |entry: &RegistryEntry<T>| (entry.name, Reverse(entry.origin));
                let at = self.0.partition_point(|other| rank(other) <= rank(&entry));
                self.0.insert(at, entry);
            }
        }
        if self.0.len() == before {
            return;
        }
        let mut last = None;
        for entry in &mut self.0 {
            let highest = match last {
                Some((same, highest)) if same == entry.name => highest,
                _ => entry.origin,
            };
            entry.visible = entry.origin == highest;
            last = Some((entry.name, highest));
        }
    }

    /// Adds the entries of `others`.
    pub fn join(&mut self, others: Self) {
        if self.0.is_empty() {
            *self = others;
        } else {
            self.extend(others.0);
        }
    }

    /// Returns the linked plugins that are not in `known`.
    pub fn linked(plugins: impl Iterator<Item = &'static T>, known: &Self) -> Self
    where
        &'static T: IntoShared<T>,
    {
        let mut linked = Self::default();
        let is_known = |plugin: &T| {
            let (value, description) = (place_of(plugin), plugin.described_at());
            known.0.iter().any(|entry| entry.is_at(value, description))
        };
        linked.extend(
            plugins
                .filter(|plugin| !is_known(plugin))
                .map(|plugin| RegistryEntry::fixed(Origin::Linked, plugin)),
        );
        linked
    }

    /// Returns all entries, including hidden ones.
    pub fn all(&self) -> &[RegistryEntry<T>] {
        &self.0
    }

    /// Returns the visible entries.
    pub fn visible(&self) -> impl Iterator<Item = &RegistryEntry<T>> {
        self.0.iter().filter(|entry| entry.visible)
    }

    /// Returns the sorted names of the visible entries, each once.
    pub fn known_names(&self) -> String {
        let mut names: Vec<_> = self.visible().flat_map(|entry| entry.item.names()).copied().collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Returns the visible entry of the highest level that `is` accepts: for a name or id.
    pub fn by_name(
        &self,
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&T) -> bool,
    ) -> Result<Option<&Arc<T>>> {
        self.highest(what, |entry| is(&entry.item))
    }

    /// As [`RegistryEntries::by_name`], for the (first) name.
    pub fn called(&self, what: &dyn Fn() -> String, name: &str) -> Result<Option<&Arc<T>>> {
        self.highest(what, |entry| entry.name == name)
    }

    fn highest(
        &self,
        what: &dyn Fn() -> String,
        is: impl FnMut(&RegistryEntry<T>) -> bool,
    ) -> Result<Option<&Arc<T>>> {
        Ok(self.first(NAME_ORDER, what, is)?.map(|entry| &entry.item))
    }

    /// Returns the visible entry that `is` accepts, of the level that comes first in `order`. Two of one
    /// level are an error.
    fn first(
        &self,
        order: [Origin; 3],
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&RegistryEntry<T>) -> bool,
    ) -> Result<Option<&RegistryEntry<T>>> {
        let (mut first, mut found, mut twice) = (usize::MAX, None, None);
        for entry in self.visible() {
            let place = order.iter().position(|origin| *origin == entry.origin).unwrap_or(order.len());
            // Entries of later levels are not tested.
            if place > first || !is(entry) {
                continue;
            }
            if place < first {
                (first, found, twice) = (place, Some(entry), None);
            } else {
                twice = twice.or(Some(entry));
            }
        }
        match (found, twice) {
            (Some(one), Some(other)) => Err(conflict(&what(), one, other)),
            (found, _) => Ok(found),
        }
    }

    /// As [`RegistryEntries::by_name`] for a name or alias: within a level a name comes before an alias.
    /// `accepts` may refuse an entry of this name.
    pub fn by_name_or_alias(
        &self,
        what: &dyn Fn() -> String,
        name: &str,
        accepts: impl Fn(&T) -> bool,
        alias: impl Fn(&T) -> bool,
    ) -> Result<Option<&Arc<T>>> {
        for origin in NAME_ORDER {
            if let Some(entry) = self.at(origin, what, |entry| entry.name == name && accepts(&entry.item))? {
                return Ok(Some(&entry.item));
            }
            if let Some(entry) = self.at(origin, what, |entry| alias(&entry.item))? {
                return Ok(Some(&entry.item));
            }
        }
        Ok(None)
    }

    /// As [`RegistryEntries::by_name`] for the meaning of a path: the table, then added plugins, then linked
    /// ones.
    pub fn by_path(
        &self,
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&T) -> bool,
    ) -> Result<Option<&RegistryEntry<T>>> {
        self.first(PATH_ORDER, what, |entry| is(&entry.item))
    }

    /// Returns the visible entry of one level that `is` accepts. Two are an error.
    fn at(
        &self,
        origin: Origin,
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&RegistryEntry<T>) -> bool,
    ) -> Result<Option<&RegistryEntry<T>>> {
        let mut found = self.visible().filter(|entry| entry.origin == origin && is(entry));
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(conflict(&what(), one, other)),
            (one, _) => Ok(one),
        }
    }
}

/// The order of levels for a name.
const NAME_ORDER: [Origin; 3] = [Origin::Added, Origin::Table, Origin::Linked];

/// The order of levels for the meaning of a path.
const PATH_ORDER: [Origin; 3] = [Origin::Table, Origin::Added, Origin::Linked];

impl Origin {
    /// Whether this level comes before `other` for the meaning of a path.
    pub(crate) fn is_before(self, other: Self) -> bool {
        let place = |origin| PATH_ORDER.iter().position(|here| *here == origin);
        place(self) < place(other)
    }
}

/// Returns the error for two different entries with the same name.
pub(super) fn conflict<T: ?Sized + NamedPlugin>(
    what: &str,
    one: &RegistryEntry<T>,
    other: &RegistryEntry<T>,
) -> Error {
    let say = |entry: &RegistryEntry<T>| {
        let name = entry.item.names().first().copied().unwrap_or_default();
        match entry.item.about() {
            "" => name.to_owned(),
            about => format!("{name} ({about})"),
        }
    };
    ErrorKind::Plugin.context(format!(
        "{what}: two {}s of one level ({:?}) have this name: {} and {}",
        T::KIND.name(),
        one.origin,
        say(one),
        say(other),
    ))
}
