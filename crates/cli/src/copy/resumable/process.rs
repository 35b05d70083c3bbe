//! [`Process`]: the identity of the process that makes a copy, in a form that other processes can check.
//!
//! A process id is unique only on one machine, until it restarts, and while the process lives. On systems
//! that expose none of this, the state of other processes is unknown.

use std::fs;

use serde_json::{Value, json};

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    id: u32,
    /// Its start time, in the system's ticks.
    began: u64,
    /// The machine's boot id and the process-id namespace.
    machine: String,
    /// The host name.
    host: String,
}

impl Process {
    /// Returns this process, if the system exposes enough.
    pub fn this() -> Option<Self> {
        let id = std::process::id();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        Some(Self { id, began: began(id)?, machine: machine()?, host })
    }

    /// Returns the recorded form.
    pub fn to_json(&self) -> Value {
        json!({ "id": self.id, "began": self.began, "machine": self.machine, "host": self.host })
    }

    /// Parses the recorded form.
    pub fn of(value: &Value) -> Option<Self> {
        let text = |name: &str| Some(value[name].as_str()?.to_owned());
        let id = u32::try_from(value["id"].as_u64()?).ok()?;
        Some(Self { id, began: value["began"].as_u64()?, machine: text("machine")?, host: text("host")? })
    }

    /// Returns whether it is another process of this machine that still runs.
    pub fn is_running(&self) -> bool {
        let here = machine().is_some_and(|machine| machine == self.machine);
        here && self.id != std::process::id() && began(self.id) == Some(self.began)
    }

    /// Returns a description for messages.
    pub fn describe(&self) -> String {
        format!("process {} on {}", self.id, self.host)
    }
}

fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), numbers.display()))
}

/// Returns the start time of a process; `None` if there is none, or only a zombie.
fn began(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name is in parentheses, and may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    fields.get(19)?.parse().ok().filter(|_| !ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_known_by_more_than_its_number() {
        let this = Process::this().unwrap();
        assert_eq!(Process::of(&this.to_json()), Some(this.clone()));
        assert!(!this.is_running(), "this one is no other");
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let other = Process { id: child.id(), began: began(child.id()).unwrap(), ..this };
        assert!(other.is_running());
        for not in [
            Process { began: other.began + 1, ..other.clone() },
            Process { machine: "elsewhere".to_owned(), ..other.clone() },
        ] {
            assert!(!not.is_running(), "{not:?}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!other.is_running());
        assert_eq!(Process::of(&json!({"id": -1})), None);
    }
}
