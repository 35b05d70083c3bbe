//! [`walk`]: all groups, datasets and named types of a file, in netCDF's order; nothing is made of them yet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nczarr_dispatch::Fault;
use nczarr_model::Result;

use super::attributes::{self, Attribute};
use super::datatype::{Class, Datatype};
use super::external;
use super::file::{Budget, Hdf};
use super::header::{Header, kind};
use super::links::{self, Goal, Link};
use super::messages::{self, Fill, FilterMessage, Layout, Space};
use super::paths::{self, Reached};
use super::shared;
use super::sources::{self, Nest};

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The group it lies in.
    pub(crate) parent: Option<usize>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) datasets: Vec<Dataset>,
    /// Names and what they mean.
    pub(crate) types: Vec<(String, Datatype)>,
    /// Groups in it, in order.
    pub(crate) groups: Vec<usize>,
}

/// A dataset.
#[derive(Debug)]
pub(crate) struct Dataset {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) space: Space,
    /// The file that it is in, if an external link leads there.
    pub(crate) other: Option<Arc<Hdf>>,
    /// What elements, layout and filters are, or why that cannot be told.
    pub(crate) stored: Result<Stored>,
}

/// How a dataset is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) ty: Datatype,
    pub(crate) layout: Layout,
    pub(crate) filters: Vec<FilterMessage>,
    pub(crate) fill: Fill,
    /// The file that it is in, if an external link leads there.
    pub(crate) other: Option<Arc<Hdf>>,
}

impl Stored {
    /// The fill value that somebody set, if it is one element.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        self.fill.value.as_deref().filter(|bytes| bytes.len() == self.ty.size as usize)
    }
}

/// What is in a file.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The root first, each after the group it lies in.
    pub(crate) groups: Vec<Group>,
    /// What was left out, and why.
    pub(crate) faults: Vec<Fault>,
    /// What netCDF does not show, and would be gone with the metadata of a file that is written anew.
    pub(crate) unshown: Vec<String>,
}

impl Tree {
    /// The path of an object in a group.
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

/// Bytes of an object's header, more or less.
const LIKELY: u64 = 512;

/// Groups in groups, at most.
const DEPTH: usize = 200;

/// Looks at everything that can be reached from the root group.
///
/// # Errors
/// `NC_EHDFERR` if a group is damaged.
pub(crate) fn walk(file: &Hdf) -> Result<Tree> {
    let mut tree = Tree { groups: Vec::new(), faults: Vec::new(), unshown: Vec::new() };
    let mut walker = Walker {
        file,
        budget: Budget::new(file, 8),
        above: Vec::new(),
        met: HashSet::new(),
        nest: Nest::default(),
        others: HashMap::new(),
        tree: &mut tree,
    };
    let header = Header::read(file, file.root)?;
    if header.find(kind::COMMENT).is_some() {
        walker.unshown("\"/\" has a comment".to_owned());
    }
    walker.group("/".to_owned(), None, &header)?;
    Ok(tree)
}

struct Walker<'f> {
    file: &'f Hdf,
    budget: Budget,
    /// The groups that are being looked at, by address.
    above: Vec<u64>,
    /// All objects that a link led to, by address.
    met: HashSet<u64>,
    nest: Nest,
    /// Files that external links lead to, by name.
    others: HashMap<String, Arc<Hdf>>,
    tree: &'f mut Tree,
}

impl Walker<'_> {
    fn group(&mut self, name: String, parent: Option<usize>, header: &Header) -> Result<()> {
        let number = self.tree.groups.len();
        let (attributes, problem) = attributes::of(self.file, header);
        let group = Group { name, parent, attributes, datasets: Vec::new(), types: Vec::new(), groups: Vec::new() };
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
            // Without its links nothing of a file is there.
            Err(error) if parent.is_none() => return Err(error),
            Err(error) => {
                faults.push(Fault::damaged(path(), format_args!("{error:#}")));
                Vec::new()
            }
            Ok(links) => links,
        };
        self.tree.faults.append(&mut faults);
        self.above.push(header.address);
        let objects = links.iter().filter_map(|link| match link.goal {
            Goal::Object(address) => Some((address, LIKELY)),
            _ => None,
        });
        self.file.expect(objects);
        let (mut groups, mut names) = (Vec::new(), HashSet::new());
        for link in links {
            let name = link.name.clone();
            self.budget.spend("objects")?;
            // Names that are not UTF-8 may look the same when they are shown.
            if !names.insert(name.clone()) {
                self.left_out(number, &link, "another object is shown by this name");
                continue;
            }
            match self.link(number, &link, header.address) {
                Ok(below) => groups.extend(below.map(|header| (name, header))),
                // One that is damaged is no reason to read none of the others.
                Err(error) => self.left_out(number, &link, &format!("{error:#}")),
            }
        }
        for (name, header) in groups {
            self.group(name.clone(), Some(number), &header).map_err(|error| error.at(name))?;
        }
        self.above.pop();
        Ok(())
    }

    /// One is enough to tell.
    fn unshown(&mut self, what: String) {
        if self.tree.unshown.is_empty() {
            self.tree.unshown.push(what);
        }
    }

    fn left_out(&mut self, group: usize, link: &Link, why: &str) {
        let path = self.tree.path(group, &link.name);
        self.tree.faults.push(Fault::left_out(path, why));
    }

    /// Takes what a link leads to; a group is answered, for later.
    fn link(&mut self, group: usize, link: &Link, here: u64) -> Result<Option<Header>> {
        let address = match &link.goal {
            Goal::Object(address) => Some(*address),
            Goal::Path(path) => match paths::follow(self.file, path, here, &mut self.budget)? {
                Reached::Object(address) => Some(address),
                Reached::External { file, path } => return self.external(group, link, &file, &path).map(|()| None),
                Reached::Nothing | Reached::Elsewhere => None,
            },
            Goal::External { file, path } => return self.external(group, link, file, path).map(|()| None),
            Goal::Elsewhere => {
                self.left_out(group, link, "its link is of a kind that only who made it can follow");
                return Ok(None);
            }
        };
        let Some(address) = address else {
            self.left_out(group, link, "its link leads nowhere");
            return Ok(None);
        };
        let header = Header::read(self.file, address)?;
        if matches!(link.goal, Goal::Path(_)) || !self.met.insert(address) {
            self.unshown(format!("link {:?} leads to an object that has another name too", link.name));
        }
        if header.find(kind::COMMENT).is_some() {
            self.unshown(format!("{:?} has a comment", link.name));
        }
        if links::is_group(&header) {
            if self.above.contains(&address) || self.above.len() >= DEPTH {
                let path = self.tree.path(group, &link.name);
                let text = "its link leads back to a group around it, and is not followed";
                self.tree.faults.push(Fault::unusual(path, text));
                return Ok(None);
            }
            return Ok(Some(header));
        }
        if let Some(space) = header.find(kind::DATASPACE) {
            let mut space = Space::parse(self.file, &shared::resolve(self.file, kind::DATASPACE, space)?)?;
            if space.dims.is_none() {
                self.left_out(group, link, "it is a dataset without a shape");
                return Ok(None);
            }
            let stored = stored(self.file, &header)
                .and_then(|stored| sources::extend(self.file, &stored.layout, &mut space, &self.nest).map(|()| stored));
            let (attributes, problem) = attributes::of(self.file, &header);
            // A damaged attribute is not an absent one.
            let stored = problem.map_or(stored, Err);
            let dataset = Dataset { name: link.name.clone(), address, attributes, space, other: None, stored };
            self.tree.groups[group].datasets.push(dataset);
        } else if let Some(message) = header.find(kind::DATATYPE) {
            let ty = Datatype { named: Some(address), ..Datatype::of(self.file, message)? };
            if header.find(kind::ATTRIBUTE).is_some() || header.find(kind::ATTRIBUTE_INFO).is_some() {
                self.note_attributes(&header, link);
            }
            if ty.complex {
                self.unshown(format!("that the type {:?} is one of HDF5's own for complex numbers", link.name));
            }
            match ty.class {
                Class::Compound(_) | Class::Enum { .. } | Class::List(_) | Class::Opaque => {
                    self.tree.groups[group].types.push((link.name.clone(), ty));
                }
                _ => self.left_out(group, link, &format!("it is a name for the type {}", ty.name())),
            }
        } else {
            self.left_out(group, link, "it is an object of an unknown kind");
        }
        Ok(None)
    }

    /// Takes a dataset of another file. It is a variable without its scales, which only its own file has.
    fn external(&mut self, group: usize, link: &Link, file: &str, path: &str) -> Result<()> {
        self.unshown(format!("that link {:?} leads to another file", link.name));
        let other = match self.others.get(file) {
            Some(other) => Arc::clone(other),
            None => {
                let Some(other) = sources::file(self.file, file)? else {
                    self.left_out(
                        group,
                        link,
                        &format!("its link leads to another file, {file:?}, which is not there"),
                    );
                    return Ok(());
                };
                Arc::clone(self.others.entry(file.to_owned()).or_insert(Arc::new(other)))
            }
        };
        let Reached::Object(address) = paths::follow(&other, path, other.root, &mut self.budget)? else {
            let why = format!("its link leads to another file, {file:?}, which has no {path:?} of its own");
            self.left_out(group, link, &why);
            return Ok(());
        };
        let header = Header::read(&other, address)?;
        let Some(space) = header.find(kind::DATASPACE).filter(|_| !links::is_group(&header)) else {
            let why = format!("its link leads to {path:?} of another file, {file:?}; only datasets are followed there");
            self.left_out(group, link, &why);
            return Ok(());
        };
        let mut space = Space::parse(&other, &shared::resolve(&other, kind::DATASPACE, space)?)?;
        if space.dims.is_none() {
            self.left_out(group, link, "it is a dataset without a shape");
            return Ok(());
        }
        let stored = stored(&other, &header)
            .and_then(|stored| sources::extend(&other, &stored.layout, &mut space, &self.nest).map(|()| stored));
        let (mut attributes, problem) = attributes::of(&other, &header);
        // Named types are those of that file.
        let unnamed = |ty: Datatype| Datatype { named: None, ..ty };
        for attribute in &mut attributes {
            attribute.ty = attribute.ty.clone().map(unnamed);
        }
        let stored = problem.map_or(stored, Err);
        let other = Some(other);
        let stored = stored.map(|stored| Stored { ty: unnamed(stored.ty), other: other.clone(), ..stored });
        let dataset = Dataset { name: link.name.clone(), address, attributes, space, other, stored };
        self.tree.groups[group].datasets.push(dataset);
        Ok(())
    }

    /// Types of netCDF have no attributes: who reads needs none of them, whatever they are.
    fn note_attributes(&mut self, header: &Header, link: &Link) {
        let (found, problem) = attributes::of(self.file, header);
        if let Some(attribute) = found.first() {
            self.unshown(format!("attribute {:?} of type {:?}", attribute.name, link.name));
        }
        if let Some(error) = problem {
            self.unshown(format!("attributes of type {:?} that cannot be read: {error:#}", link.name));
        }
    }
}

/// What elements, layout and filters of a dataset are.
///
/// # Errors
/// `NC_EHDFERR` if something is damaged, or missing.
pub(crate) fn stored(file: &Hdf, header: &Header) -> Result<Stored> {
    let missing = |what: &str| super::cursor::bad(format!("the dataset has no {what}"));
    let ty = header.find(kind::DATATYPE).ok_or_else(|| missing("datatype"))?;
    let ty = Datatype::of(file, ty)?;
    let layout = header.find(kind::LAYOUT).ok_or_else(|| missing("layout"))?;
    let mut layout = Layout::parse(file, layout.bytes)?;
    if let Some(files) = header.find(kind::EXTERNAL) {
        layout = Layout::External(external::list(file, files.bytes)?);
    }
    let filters = header.find(kind::PIPELINE).map_or(Ok(Vec::new()), |found| messages::pipeline(file, found))?;
    Ok(Stored { ty, layout, filters, fill: messages::fill(file, header)?, other: None })
}
