//! [`LossReport`]: the objects that a copy lost or changed, by kind of loss.

use nczarr_model::{GroupId, Model};

/// Kinds of losses, each with the objects that it concerns.
#[derive(Debug, Default, Clone)]
pub struct LossReport(Vec<(String, Vec<String>)>);

impl LossReport {
    /// Adds an object.
    pub fn add(&mut self, kind: impl Into<String>, object: impl Into<String>) {
        let kind = kind.into();
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, objects)) => objects.push(object.into()),
            None => self.0.push((kind, vec![object.into()])),
        }
    }

    /// Returns one line per kind, which names every object.
    pub fn lines(self) -> Vec<String> {
        self.0.into_iter().map(|(kind, objects)| format!("{kind}: {}", objects.join(", "))).collect()
    }
}

/// Returns an object's name for messages: its path in the form that commands accept. Without a name: the
/// group itself.
pub fn path(model: &Model, group: GroupId, name: &str) -> String {
    let group = model.group_path(group).unwrap_or_default();
    let separator = if name.is_empty() || group == "/" { "" } else { "/" };
    format!("{group}{separator}{}", nczarr_model::name::escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_one_kind_are_one_line() {
        let mut lost = LossReport::default();
        lost.add("groups", "/g");
        (0..3).for_each(|i| lost.add("attributes", format!("/:a{i}")));
        assert_eq!(lost.lines(), ["groups: /g", "attributes: /:a0, /:a1, /:a2"]);
    }
}
