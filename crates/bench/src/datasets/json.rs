//! The JSON form of a report, which [`Baseline`](crate::Baseline) reads.

use serde_json::{Map, Value, json};

use crate::{AccessPattern, BenchReport, Measured, Row};

impl BenchReport {
    /// Returns all figures as JSON, in seconds and bytes. [`Baseline::parse`](crate::Baseline::parse) reads
    /// this form.
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(row_value).collect();
        let all = json!({
            "data": self.data, "type": self.ty, "shape": self.shape, "bytes": self.bytes,
            "box": self.boxed, "repeats": self.rounds, "threads": self.threads(),
            "machine": self.machine.json(), "margin": self.margin, "cells": rows,
        });
        format!("{all:#}\n")
    }
}

fn row_value(row: &Row) -> Value {
    let mut value = Map::new();
    let mut put = |key: &str, member: Value| value.insert(key.to_owned(), member);
    put("target", json!(row.target));
    put("map", json!(row.map));
    put("filters", json!(row.filters));
    put("chunks", json!(row.chunks));
    put("threads", json!(row.threads));
    for pattern in AccessPattern::ALL {
        if let Some(measured) = row.get(pattern) {
            put(&format!("{}_seconds", pattern.name()), json!(measured.summary.p50));
        }
    }
    put("stored_bytes", json!(row.stored));
    put("ratio", json!(row.ratio()));
    let all = row.measured.iter().map(|measured| (measured.pattern.name().to_owned(), figures(measured)));
    put("patterns", Value::Object(all.collect()));
    Value::Object(value)
}

fn figures(measured: &Measured) -> Value {
    let summary = &measured.summary;
    let mut value = json!({
        "operations": summary.count, "bytes": measured.bytes,
        "p50": summary.p50, "p95": summary.p95, "p99": summary.p99, "min": summary.min,
        "spread": summary.spread(), "mb_per_second": measured.mb_per_second(), "rounds": measured.rounds,
    });
    if let Some(verdict) = measured.verdict {
        value["verdict"] = json!(verdict.name());
    }
    value
}
