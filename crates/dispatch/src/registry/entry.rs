//! Entries of one kind of plugin: their origin, their identity, and which of them are visible.

use std::any::Any;
use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use super::{Origin, PluginKind, Static};
use crate::{Driver, ElementClass, FilterClass, MapFactory};

/// What the four plugin traits have in common.
pub(super) trait Named: Send + Sync + 'static {
    const KIND: PluginKind;

    /// The names it hides lower levels by; the first is *the* name.
    fn names(&self) -> &[&'static str];
    /// The description for people.
    fn about(&self) -> &'static str;
    /// Where its description lies in memory: the same for the same static, however it is reached.
    fn described_at(&self) -> usize;
}

impl Named for dyn Driver {
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

impl Named for dyn MapFactory {
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

impl Named for dyn FilterClass {
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

impl Named for dyn ElementClass {
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

fn address<T: ?Sized>(place: &T) -> usize {
    std::ptr::from_ref(place).cast::<()>().addr()
}

/// One plugin.
pub(super) struct Entry<T: ?Sized> {
    pub origin: Origin,
    pub item: Arc<T>,
    /// Address of the value, 0 if it has no size: two values of a unit struct are the same plugin.
    value_at: usize,
    /// Where its description lies.
    described_at: usize,
    /// Its (first) name.
    name: &'static str,
    /// Whether no entry of a higher level has its (first) name; [`Entries::extend`] keeps it so.
    visible: bool,
}

impl<T: ?Sized> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { item: Arc::clone(&self.item), ..*self }
    }
}

fn place_of<T: ?Sized>(value: &T) -> usize {
    if size_of_val(value) == 0 { 0 } else { address(value) }
}

impl<T: ?Sized + Named> Entry<T> {
    /// An entry that is a static.
    pub fn fixed<'a>(origin: Origin, item: &'static T) -> Self
    where
        &'static T: IntoShared<T>,
    {
        Self::of(origin, place_of(item), item.into_shared())
    }

    /// An entry added at run time; statics and shared values are recognised by what they point to.
    pub fn added<P: 'static>(plugin: P, share: impl FnOnce(P) -> Arc<T>) -> Self {
        let any: &dyn Any = &plugin;
        let value_at = if let Some(item) = any.downcast_ref::<Static<T>>() {
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

    /// Plugins are asked once what they are called: who looks for one compares many.
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

/// A static plugin as a shared one.
pub(super) trait IntoShared<T: ?Sized> {
    fn into_shared(self) -> Arc<T>;
}

macro_rules! into_shared {
    ($($plugin:path),*) => {$(
        impl IntoShared<dyn $plugin> for &'static dyn $plugin {
            fn into_shared(self) -> Arc<dyn $plugin> {
                Arc::new(Static(self))
            }
        }
    )*};
}

into_shared!(Driver, MapFactory, FilterClass, ElementClass);

/// All plugins of one kind, sorted by name; of one name the highest level first.
pub(super) struct Entries<T: ?Sized>(Vec<Entry<T>>);

impl<T: ?Sized> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: ?Sized> Clone for Entries<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized + Named> Entries<T> {
    /// Adds an entry unless it is there at this level already.
    pub fn push(&mut self, entry: Entry<T>) {
        self.extend([entry]);
    }

    /// As [`Entries::push`] of each.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = Entry<T>>) {
        let before = self.0.len();
        for entry in entries {
            if !self.0.iter().any(|other| other.origin == entry.origin && other.same(&entry)) {
                self.0.push(entry);
            }
        }
        if self.0.len() == before {
            return;
        }
        self.0.sort_by(|a, b| a.name.cmp(b.name).then(b.origin.cmp(&a.origin)));
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

    /// With those of others as well, as [`Entries::push`] of each.
    pub fn join(&mut self, others: Self) {
        if self.0.is_empty() {
            *self = others;
        } else {
            self.extend(others.0);
        }
    }

    /// What is linked, but for what is in `known`.
    pub fn linked(plugins: impl Iterator<Item = &'static T>, known: &Self) -> Self
    where
        &'static T: IntoShared<T>,
    {
        let mut linked = Self::default();
        let is_known = |plugin: &T| {
            let (value, description) = (place_of(plugin), plugin.described_at());
            known.0.iter().any(|entry| entry.is_at(value, description))
        };
        linked.extend(plugins.filter(|plugin| !is_known(plugin)).map(|plugin| Entry::fixed(Origin::Linked, plugin)));
        linked
    }

    /// Every entry, hidden ones as well.
    pub fn all(&self) -> &[Entry<T>] {
        &self.0
    }

    /// The visible entries.
    pub fn visible(&self) -> impl Iterator<Item = &Entry<T>> {
        self.0.iter().filter(|entry| entry.visible)
    }

    /// The names of the visible entries, sorted, each once.
    pub fn known_names(&self) -> String {
        let mut names: Vec<_> = self.visible().flat_map(|entry| entry.item.names()).copied().collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Of the visible entries that `is` picks, the one of the highest level: for a name or id.
    pub fn by_name(&self, what: &dyn Fn() -> String, mut is: impl FnMut(&T) -> bool) -> Result<Option<&Arc<T>>> {
        self.highest(what, |entry| is(&entry.item))
    }

    /// As [`Entries::by_name`], for the (first) name.
    pub fn called(&self, what: &dyn Fn() -> String, name: &str) -> Result<Option<&Arc<T>>> {
        self.highest(what, |entry| entry.name == name)
    }

    fn highest(&self, what: &dyn Fn() -> String, is: impl FnMut(&Entry<T>) -> bool) -> Result<Option<&Arc<T>>> {
        Ok(self.first(NAME_ORDER, what, is)?.map(|entry| &entry.item))
    }

    /// Of the visible entries that `is` picks, the one of the level that comes first; two of that level are an error.
    fn first(
        &self,
        order: [Origin; 3],
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&Entry<T>) -> bool,
    ) -> Result<Option<&Entry<T>>> {
        let (mut first, mut found, mut twice) = (usize::MAX, None, None);
        for entry in self.visible() {
            let place = order.iter().position(|origin| *origin == entry.origin).unwrap_or(order.len());
            // Who comes later is not even asked.
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

    /// As [`Entries::by_name`] for a name or alias: at one level a name comes before an alias.
    pub fn by_name_or_alias(
        &self,
        what: &dyn Fn() -> String,
        name: &str,
        alias: impl Fn(&T) -> bool,
    ) -> Result<Option<&Arc<T>>> {
        for origin in NAME_ORDER {
            if let Some(entry) = self.at(origin, what, |entry| entry.name == name)? {
                return Ok(Some(&entry.item));
            }
            if let Some(entry) = self.at(origin, what, |entry| alias(&entry.item))? {
                return Ok(Some(&entry.item));
            }
        }
        Ok(None)
    }

    /// As [`Entries::by_name`] for what a path means: the table, then what was added, then what is linked.
    pub fn by_path(&self, what: &dyn Fn() -> String, mut is: impl FnMut(&T) -> bool) -> Result<Option<&Entry<T>>> {
        self.first(PATH_ORDER, what, |entry| is(&entry.item))
    }

    /// The visible entry of one level that `is` picks; two are an error.
    fn at(
        &self,
        origin: Origin,
        what: &dyn Fn() -> String,
        mut is: impl FnMut(&Entry<T>) -> bool,
    ) -> Result<Option<&Entry<T>>> {
        let mut found = self.visible().filter(|entry| entry.origin == origin && is(entry));
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(conflict(&what(), one, other)),
            (one, _) => Ok(one),
        }
    }
}

/// Who has a name.
const NAME_ORDER: [Origin; 3] = [Origin::Added, Origin::Table, Origin::Linked];

/// Whose word about a path comes first.
const PATH_ORDER: [Origin; 3] = [Origin::Table, Origin::Added, Origin::Linked];

impl Origin {
    /// Whether an entry of this origin has its say about a path before one of the `other`.
    pub(crate) fn is_before(self, other: Self) -> bool {
        let place = |origin| PATH_ORDER.iter().position(|here| *here == origin);
        place(self) < place(other)
    }
}

/// The error for two different entries that answer to the same thing.
pub(super) fn conflict<T: ?Sized + Named>(what: &str, one: &Entry<T>, other: &Entry<T>) -> Error {
    let say = |entry: &Entry<T>| {
        let name = entry.item.names().first().copied().unwrap_or_default();
        match entry.item.about() {
            "" => name.to_owned(),
            about => format!("{name} ({about})"),
        }
    };
    ErrorKind::Plugin.context(format!(
        "{what}: two {}s at one level ({:?}) answer to it: {} and {}",
        T::KIND.name(),
        one.origin,
        say(one),
        say(other),
    ))
}
