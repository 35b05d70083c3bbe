//! [`Baseline`]: the saved results of an earlier run.

use std::collections::BTreeMap;

use nczarr::{ErrorKind, Result};
use serde_json::Value;

use crate::datasets::joined;
use crate::{AccessPattern, MachineTimes, Row, Sample};

/// The times of an earlier run, by combination and access pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    rounds: BTreeMap<String, Vec<f64>>,
    machine: MachineTimes,
    data: Vec<Value>,
}

/// The members that describe the data.
const DATA: [&str; 3] = ["data", "type", "shape"];

impl Baseline {
    /// Reads the form that [`BenchReport::json`](crate::BenchReport::json) writes.
    ///
    /// # Errors
    /// `NC_EINVAL` if the text is not of this form.
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |problem: &str| {
            ErrorKind::Inval.context(format!("baseline: {problem} (expected saved results); save them again"))
        };
        let value: Value = serde_json::from_str(text).map_err(|error| invalid("no JSON").caused_by(error))?;
        let cells = value["cells"].as_array().ok_or_else(|| invalid("no list of cells"))?;
        let mut rounds = BTreeMap::new();
        for cell in cells {
            let key = cell_key(cell).ok_or_else(|| invalid("a cell without a name"))?;
            let patterns = cell["patterns"].as_object().ok_or_else(|| invalid("a cell without patterns"))?;
            for (pattern, figures) in patterns {
                let times = numbers(&figures["rounds"]).ok_or_else(|| invalid("a time is no number"))?;
                rounds.insert(format!("{key} {pattern}"), times);
            }
        }
        let machine = &value["machine"];
        let machine = MachineTimes::parse(machine).ok_or_else(|| invalid("no times of the machine"))?;
        Ok(Self { rounds, machine, data: DATA.map(|key| value[key].clone()).to_vec() })
    }

    /// Checks that the earlier run had the same data.
    ///
    /// # Errors
    /// `NC_EINVAL` if it had other data.
    pub fn check(&self, sample: &Sample) -> Result<()> {
        let found = [sample.name.clone().into(), sample.ty.name().into(), sample.shape.clone().into()];
        if self.data == found {
            return Ok(());
        }
        let words = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        Err(ErrorKind::Inval.context(format!(
            "baseline: it is of other data (expected {}, found {}); measure the same data",
            words(&found),
            words(&self.data)
        )))
    }

    /// Returns the name of a combination.
    pub(crate) fn key(row: &Row) -> String {
        format!("{} {} {} {}", row.target, row.filters, joined(&row.chunks), row.threads)
    }

    /// Returns how fast and how busy the machine was.
    pub(crate) fn machine(&self) -> &MachineTimes {
        &self.machine
    }

    /// Returns the times of the rounds.
    pub(crate) fn rounds(&self, key: &str, pattern: AccessPattern) -> Option<&[f64]> {
        self.rounds.get(&format!("{key} {}", pattern.name())).map(Vec::as_slice)
    }
}

fn numbers(list: &Value) -> Option<Vec<f64>> {
    list.as_array()?.iter().map(Value::as_f64).collect()
}

fn cell_key(cell: &Value) -> Option<String> {
    let chunks: Vec<u64> = cell["chunks"].as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
    let (target, filters) = (cell["target"].as_str()?, cell["filters"].as_str()?);
    Some(format!("{target} {filters} {} {}", joined(&chunks), cell["threads"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "[]", "{\"cells\": [{}]}", "{\"cells\": 1}"] {
            assert_eq!(Baseline::parse(text).unwrap_err().kind(), ErrorKind::Inval, "{text}");
        }
    }
}
