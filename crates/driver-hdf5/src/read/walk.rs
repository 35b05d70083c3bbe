//! [`walk`]: finds all groups, datasets and named types of a file, in netCDF's order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nczarr_dispatch::Fault;
use nczarr_model::Result;

use super::attributes::{self, StoredAttribute};
use super::datatype::{Datatype, DatatypeClass};
use super::external;
use super::file::{HdfFile, WalkBudget};
use super::header::{ObjectHeader, message_type};
use super::links::{self, GroupLink, LinkTarget};
use super::messages::{self, DataLayout, Dataspace, FillMessage, FilterMessage};
use super::paths::{self, ResolvedPath};
use super::shared_messages;
use super::virtual_dataset::{self, Nesting};

/// A group.
#[derive(Debug)]
pub(crate) struct FileGroup {
    pub(crate) name: String,
    /// The number of its parent.
    pub(crate) parent: Option<usize>,
    pub(crate) attributes: Vec<StoredAttribute>,
    pub(crate) datasets: Vec<FileDataset>,
    /// Named types, with their names.
    pub(crate) types: Vec<(String, Datatype)>,
    /// The numbers of its groups, in order.
    pub(crate) groups: Vec<usize>,
}

/// A dataset.
#[derive(Debug)]
pub(crate) struct FileDataset {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) attributes: Vec<StoredAttribute>,
    pub(crate) space: Dataspace,
    /// The other file it is in, if an external link leads there.
    pub(crate) other: Option<Arc<HdfFile>>,
    /// Type, layout and filters, or the error that occurred while reading them.
    pub(crate) stored: Result<DatasetStorage>,
}

/// How a dataset is stored.
#[derive(Debug, Clone)]
pub(crate) struct DatasetStorage {
    pub(crate) ty: Datatype,
    pub(crate) layout: DataLayout,
    pub(crate) filters: Vec<FilterMessage>,
    pub(crate) fill: FillMessage,
    /// The other file it is in, if an external link leads there.
    pub(crate) other: Option<Arc<HdfFile>>,
}

impl DatasetStorage {
    /// Returns the defined fill value, if it has the size of an element.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.fill.value.as_deref().filter(|bytes| bytes.len() == self.ty.size as usize)
    }
}

/// The objects of a file.
#[derive(Debug)]
pub(crate) struct FileTree {
    /// The groups; the root first, each after its parent.
    pub(crate) groups: Vec<FileGroup>,
    /// Objects that were left out, with the reason.
    pub(crate) faults: Vec<Fault>,
    /// Items that netCDF does not show. Rewriting the metadata would lose them.
    pub(crate) hidden_content: Vec<String>,
    pub(crate) oddities: Oddities,
}

/// Properties for which netCDF-C refuses to open a file, or to write it.
#[derive(Debug, Default)]
pub(crate) struct Oddities {
    /// The path of the first link that leads to no object.
    pub(crate) dangling_link: Option<String>,
    /// The path of the first group without an order of creation. netCDF-C does not write to the file.
    pub(crate) unordered_group: Option<String>,
}

impl FileTree {
    /// Returns the path of an object in a group.
    pub(crate) fn path(&self, group: usize, name: &str) -> String {
        let mut path = format!("/{name}");
        let mut here = group;
        while let Some(parent) = self.groups[here].parent {
            path.insert_str(0, &format!("/{}", self.groups[here].name));
            here = parent;
        }
        path
    }
}

/// Assumed size of an object header in bytes, for prefetching.
const LIKELY: u64 = 512;

/// Most levels of groups.
const DEPTH: usize = 200;

/// Finds all objects that can be reached from the root group.
///
/// # Errors
/// `NC_EHDFERR` if the root group is damaged.
pub(crate) fn walk(file: &HdfFile) -> Result<FileTree> {
    let mut tree = FileTree {
        groups: Vec::new(),
        faults: Vec::new(),
        hidden_content: Vec::new(),
        oddities: Oddities::default(),
    };
    let mut walker = FileWalker {
        file,
        budget: WalkBudget::new(file, 8),
        above: Vec::new(),
        met: HashSet::new(),
        nest: Nesting::default(),
        others: HashMap::new(),
        tree: &mut tree,
    };
    let header = ObjectHeader::read(file, file.root)?;
    if header.find(message_type::COMMENT).is_some() {
        walker.note_hidden("\"/\" has a comment".to_owned());
    }
    walker.group("/".to_owned(), None, &header)?;
    Ok(tree)
}

struct FileWalker<'f> {
    file: &'f HdfFile,
    budget: WalkBudget,
    /// The addresses of the groups on the current path.
    above: Vec<u64>,
    /// The addresses of all objects that a link led to.
    met: HashSet<u64>,
    nest: Nesting,
    /// Files that external links lead to, by name.
    others: HashMap<String, Arc<HdfFile>>,
    tree: &'f mut FileTree,
}

impl FileWalker<'_> {
    fn group(&mut self, name: String, parent: Option<usize>, header: &ObjectHeader) -> Result<()> {
        let number = self.tree.groups.len();
        let (attributes, problem) = attributes::of(self.file, header);
        let group = FileGroup {
            name,
            parent,
            attributes,
            datasets: Vec::new(),
            types: Vec::new(),
            groups: Vec::new(),
        };
        self.tree.groups.push(group);
        if let Some(parent) = parent {
            self.tree.groups[parent].groups.push(number);
        }
        let path = || match parent {
            Some(parent) => self.tree.path(parent, &self.tree.groups[number].name),
            None => "/".to_owned(),
        };
        let mut faults: Vec<Fault> =
            problem.map(|error| Fault::damaged(path(), format_args!("{error:#}"))).into_iter().collect();
        let links = match links::of(self.file, header) {
            // Without the root's links there is no content.
            Err(error) if parent.is_none() => return Err(error),
            Err(error) => {
                faults.push(Fault::damaged(path(), format_args!("{error:#}")));
                Vec::new()
            }
            Ok(links) => links,
        };
        if !links::has_order(header) {
            let path = path();
            self.tree.oddities.unordered_group.get_or_insert(path);
        }
        self.tree.faults.append(&mut faults);
        self.above.push(header.address);
        let objects = links.iter().filter_map(|link| match link.target {
            LinkTarget::Object(address) => Some((address, LIKELY)),
            _ => None,
        });
        self.file.prefetch(objects);
        let (mut groups, mut names) = (Vec::new(), HashSet::new());
        for link in links {
            let name = link.name.clone();
            self.budget.spend("objects")?;
            // Names that are not UTF-8 may look equal once converted.
            if !names.insert(name.clone()) {
                self.left_out(number, &link, "another object has this name");
                continue;
            }
            match self.link(number, &link, header.address) {
                Ok(below) => groups.extend(below.map(|header| (name, header))),
                // One damaged object does not hide the others.
                Err(error) => self.left_out(number, &link, &format!("{error:#}")),
            }
        }
        for (name, header) in groups {
            self.group(name.clone(), Some(number), &header).map_err(|error| error.at(name))?;
        }
        self.above.pop();
        Ok(())
    }

    /// Records the first item that netCDF does not show.
    fn note_hidden(&mut self, what: String) {
        if self.tree.hidden_content.is_empty() {
            self.tree.hidden_content.push(what);
        }
    }

    fn left_out(&mut self, group: usize, link: &GroupLink, why: &str) {
        let path = self.tree.path(group, &link.name);
        self.tree.faults.push(Fault::left_out(path, why));
    }

    /// Leaves out a link that leads to no object.
    fn dangling(&mut self, group: usize, link: &GroupLink, why: &str) {
        let path = self.tree.path(group, &link.name);
        self.tree.oddities.dangling_link.get_or_insert(path);
        self.left_out(group, link, why);
    }

    /// Takes the target of a link. A group is returned, to be visited later.
    fn link(&mut self, group: usize, link: &GroupLink, here: u64) -> Result<Option<ObjectHeader>> {
        let address = match &link.target {
            LinkTarget::Object(address) => Some(*address),
            LinkTarget::Path(path) => match paths::follow(self.file, path, here, &mut self.budget)? {
                ResolvedPath::Object(address) => Some(address),
                ResolvedPath::External { file, path } => {
                    return self.external(group, link, &file, &path).map(|()| None);
                }
                ResolvedPath::Nothing | ResolvedPath::Elsewhere => None,
            },
            LinkTarget::External { file, path } => {
                return self.external(group, link, file, path).map(|()| None);
            }
            LinkTarget::Elsewhere => {
                self.dangling(group, link, "its link is user-defined and cannot be followed");
                return Ok(None);
            }
        };
        let Some(address) = address else {
            self.dangling(group, link, "its link leads to no object");
            return Ok(None);
        };
        let header = ObjectHeader::read(self.file, address)?;
        if matches!(link.target, LinkTarget::Path(_)) || !self.met.insert(address) {
            self.note_hidden(format!("link {:?} leads to an object that has another name too", link.name));
        }
        if header.find(message_type::COMMENT).is_some() {
            self.note_hidden(format!("{:?} has a comment", link.name));
        }
        if links::is_group(&header) {
            if self.above.contains(&address) || self.above.len() >= DEPTH {
                let path = self.tree.path(group, &link.name);
                let text = "its link leads back to an enclosing group and is not followed";
                self.tree.faults.push(Fault::unusual(path, text));
                return Ok(None);
            }
            return Ok(Some(header));
        }
        if let Some(space) = header.find(message_type::DATASPACE) {
            let mut space = Dataspace::parse(
                self.file,
                &shared_messages::resolve(self.file, message_type::DATASPACE, space)?,
            )?;
            if space.dims.is_none() {
                self.left_out(group, link, "the dataset has a null dataspace");
                return Ok(None);
            }
            let stored = stored(self.file, &header).and_then(|stored| {
                virtual_dataset::extend(self.file, &stored.layout, &mut space, &self.nest).map(|()| stored)
            });
            let (attributes, problem) = attributes::of(self.file, &header);
            // A damaged attribute must not look absent.
            let stored = problem.map_or(stored, Err);
            let dataset =
                FileDataset { name: link.name.clone(), address, attributes, space, other: None, stored };
            self.tree.groups[group].datasets.push(dataset);
        } else if let Some(message) = header.find(message_type::DATATYPE) {
            let ty = Datatype { named: Some(address), ..Datatype::of(self.file, message)? };
            if header.find(message_type::ATTRIBUTE).is_some()
                || header.find(message_type::ATTRIBUTE_INFO).is_some()
            {
                self.note_attributes(&header, link);
            }
            if ty.complex {
                self.note_hidden(format!("that type {:?} is of HDF5's complex class", link.name));
            }
            match ty.class {
                DatatypeClass::Compound(_)
                | DatatypeClass::Enum { .. }
                | DatatypeClass::List(_)
                | DatatypeClass::Opaque => {
                    self.tree.groups[group].types.push((link.name.clone(), ty));
                }
                _ => self.left_out(group, link, &format!("it is a named type {}", ty.name())),
            }
        } else {
            self.left_out(group, link, "it is an unknown kind of object");
        }
        Ok(None)
    }

    /// Takes a dataset of another file. It becomes a variable without scales, which only its own file has.
    fn external(&mut self, group: usize, link: &GroupLink, file: &str, path: &str) -> Result<()> {
        self.note_hidden(format!("that link {:?} leads to another file", link.name));
        let other = match self.others.get(file) {
            Some(other) => Arc::clone(other),
            None => {
                let Some(other) = virtual_dataset::file(self.file, file)? else {
                    self.dangling(
                        group,
                        link,
                        &format!("its link leads to the file {file:?}, which does not exist"),
                    );
                    return Ok(());
                };
                Arc::clone(self.others.entry(file.to_owned()).or_insert(Arc::new(other)))
            }
        };
        let ResolvedPath::Object(address) = paths::follow(&other, path, other.root, &mut self.budget)? else {
            let why = format!("its link leads to {path:?} in the file {file:?}, which has no such object");
            self.dangling(group, link, &why);
            return Ok(());
        };
        let header = ObjectHeader::read(&other, address)?;
        let Some(space) = header.find(message_type::DATASPACE).filter(|_| !links::is_group(&header)) else {
            let why = format!("its link leads to {path:?} in the file {file:?}, which is not a dataset");
            self.left_out(group, link, &why);
            return Ok(());
        };
        let mut space =
            Dataspace::parse(&other, &shared_messages::resolve(&other, message_type::DATASPACE, space)?)?;
        if space.dims.is_none() {
            self.left_out(group, link, "the dataset has a null dataspace");
            return Ok(());
        }
        let stored = stored(&other, &header).and_then(|stored| {
            virtual_dataset::extend(&other, &stored.layout, &mut space, &self.nest).map(|()| stored)
        });
        let (mut attributes, problem) = attributes::of(&other, &header);
        // The address of a named type is valid only in its own file.
        let unnamed = |ty: Datatype| Datatype { named: None, ..ty };
        for attribute in &mut attributes {
            attribute.ty = attribute.ty.clone().map(unnamed);
        }
        let stored = problem.map_or(stored, Err);
        let other = Some(other);
        let stored =
            stored.map(|stored| DatasetStorage { ty: unnamed(stored.ty), other: other.clone(), ..stored });
        let dataset = FileDataset { name: link.name.clone(), address, attributes, space, other, stored };
        self.tree.groups[group].datasets.push(dataset);
        Ok(())
    }

    /// Records attributes of a type, which netCDF does not show. An unreadable one is no error for a reader.
    fn note_attributes(&mut self, header: &ObjectHeader, link: &GroupLink) {
        let (found, problem) = attributes::of(self.file, header);
        if let Some(attribute) = found.first() {
            self.note_hidden(format!("attribute {:?} of type {:?}", attribute.name, link.name));
        }
        if let Some(error) = problem {
            self.note_hidden(format!("unreadable attributes of type {:?}: {error:#}", link.name));
        }
    }
}

/// Reads type, layout, filters and fill value of a dataset.
///
/// # Errors
/// `NC_EHDFERR` if something is damaged or missing.
pub(crate) fn stored(file: &HdfFile, header: &ObjectHeader) -> Result<DatasetStorage> {
    let missing = |what: &str| super::cursor::damaged(format!("the dataset has no {what}"));
    let ty = header.find(message_type::DATATYPE).ok_or_else(|| missing("datatype"))?;
    let ty = Datatype::of(file, ty)?;
    let layout = header.find(message_type::LAYOUT).ok_or_else(|| missing("layout"))?;
    let mut layout = DataLayout::parse(file, layout.bytes)?;
    if let Some(files) = header.find(message_type::EXTERNAL) {
        layout = DataLayout::External(external::list(file, files.bytes)?);
    }
    let filters = header
        .find(message_type::PIPELINE)
        .map_or(Ok(Vec::new()), |found| messages::pipeline(file, found))?;
    Ok(DatasetStorage { ty, layout, filters, fill: messages::fill(file, header)?, other: None })
}
