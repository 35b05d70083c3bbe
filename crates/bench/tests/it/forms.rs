//! Tables, JSON, the page, and comparisons with saved results.

use nczarr::ErrorKind;
use nczarr_bench::{Baseline, BenchReport, Sample, Verdict};
use serde_json::{Value, json};

use crate::small;

fn report() -> BenchReport {
    small()
        .targets(["mem", "memory://ab"])
        .filters(["none", "shuffle|zstd,1"])
        .threads(1)
        .threads(2)
        .run()
        .unwrap()
}

/// The saved form of a report, with all times of rounds replaced.
fn saved(report: &BenchReport, rounds: &[f64]) -> String {
    let mut value: Value = serde_json::from_str(&report.json()).unwrap();
    for cell in value["cells"].as_array_mut().unwrap() {
        for pattern in cell["patterns"].as_object_mut().unwrap().values_mut() {
            pattern["rounds"] = json!(rounds);
        }
    }
    value["machine"]["waits"] = json!([0.0]);
    value.to_string()
}

fn on_a_quiet_machine() -> BenchReport {
    let mut report = small().rounds(5).targets(["mem"]).run().unwrap();
    let waits = &mut report.machine.waits;
    assert!(waits.len() == 5 && waits.iter().all(|wait| (0.0..=1.0).contains(wait)));
    waits.fill(0.0);
    report
}

#[test]
fn runs_on_a_busy_machine_have_no_verdict() {
    let mut report = on_a_quiet_machine();
    let value: Value = serde_json::from_str(&saved(&report, &[100.0, 101.0, 102.0, 103.0, 104.0])).unwrap();
    for (waits_before, waits_now) in [([0.3; 5], [0.0; 5]), ([0.0; 5], [0.3; 5])] {
        let mut before = value.clone();
        before["machine"]["waits"] = json!(waits_before);
        report.machine.waits = waits_now.to_vec();
        report.compare(&Baseline::parse(&before.to_string()).unwrap());
        for measured in &report.rows[0].measured {
            assert_eq!(measured.verdict, Some(Verdict::CannotTell), "{measured:?}");
        }
        for text in [report.table(), report.html()] {
            assert!(text.contains("Other programs used the processors"), "{text}");
        }
    }
}

#[test]
fn another_speed_of_the_machine_widens_the_margin() {
    let mut report = on_a_quiet_machine();
    let value: Value = serde_json::from_str(&saved(&report, &[100.0, 101.0, 102.0, 103.0, 104.0])).unwrap();
    for part in ["computation", "one_thread", "memory", "files"] {
        let times = value["machine"][part].as_array().unwrap();
        assert!(times.len() == 5 && times.iter().all(|time| time.as_f64() > Some(0.0)), "{part}: {times:?}");
        let mut before = value.clone();
        before["machine"][part] = json!([1e-12, 2e-12, 3e-12, 4e-12, 5e-12]);
        report.compare(&Baseline::parse(&before.to_string()).unwrap());
        assert!(report.margin.is_some_and(|margin| margin > 1e6), "{part}: {:?}", report.margin);
        for text in [report.table(), report.html()] {
            assert!(
                text.contains("The speed of the machine allows to tell differences of more than"),
                "{text}"
            );
        }
    }
}

#[test]
fn saved_results_are_a_baseline() {
    let mut report = on_a_quiet_machine();
    assert!(!report.is_compared());
    for (rounds, want) in [
        (vec![100.0, 101.0, 102.0, 103.0, 104.0], Verdict::Faster),
        (vec![1e-12, 2e-12, 3e-12, 4e-12, 5e-12], Verdict::Slower),
        (vec![100.0, 101.0], Verdict::CannotTell),
    ] {
        let baseline = Baseline::parse(&saved(&report, &rounds)).unwrap();
        report.compare(&baseline);
        for measured in &report.rows[0].measured {
            assert_eq!(measured.verdict, Some(want), "{measured:?}");
        }
        assert!(report.is_compared() && report.table().contains(want.name()));
        assert!(report.html().contains(&format!(">{}</td>", want.name())));
        let value: Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!(value["cells"][0]["patterns"]["read"]["verdict"], want.name());
    }
    // The same results, whatever their times.
    let same = Baseline::parse(&report.json()).unwrap();
    report.compare(&same);
    assert!(report.rows[0].measured.iter().all(|measured| measured.verdict == Some(Verdict::CannotTell)));
}

#[test]
fn a_baseline_of_other_data_or_filters_does_not_compare() {
    let report = report();
    let baseline = Baseline::parse(&report.json()).unwrap();
    let sample = Sample::generated(&[3, 3]).unwrap();
    let error = baseline.check(&sample).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Inval);
    assert!(error.to_string().contains("expected \"generated field\" \"float\" [3,3]"), "{error}");
    let mut other = small().targets(["mem"]).filters(["zstd,9"]).run().unwrap();
    baseline.check(&Sample::generated(&[5, 12, 9]).unwrap()).unwrap();
    other.compare(&baseline);
    assert!(!other.is_compared());
}

#[test]
fn the_page_is_complete_in_itself() {
    let report = report();
    let page = report.html();
    for word in ["http:", "https:", "<script", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("memory://ab"));
    for name in
        ["write MB/s", "read MB/s", "box ms", "element µs", "series ms", "open ms", "list ms", "ratio"]
    {
        assert!(page.contains(&format!("<h2>{name} <small>")), "{name}");
    }
    assert_eq!(page.matches("<svg ").count(), 9);
    assert_eq!(page.matches("<rect ").count(), 9 * report.rows.len());
    assert!(page.contains(">write in MB/s</text>") && page.contains(">element in µs</text>"));
    are_balanced(&page);
}

/// Checks that each element ends where it should.
fn are_balanced(page: &str) {
    let mut open = Vec::new();
    for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !["!DOCTYPE", "meta"].contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn tables_have_a_line_for_every_combination() {
    let report = report();
    let table = report.table();
    let lines: Vec<&str> = table.lines().collect();
    assert!(
        lines[0].starts_with("generated field: float 5x12x9, 2160 bytes; box 5x12x9; medians of 2"),
        "{table}"
    );
    assert!(lines[0].ends_with("threads: 1, 2") && lines[1].starts_with("target       filters"), "{table}");
    assert_eq!(lines.len(), 2 + 8);
    assert_eq!(report.details().lines().count(), 2 + 8 * 7);
    assert!(report.details().lines().nth(1).unwrap().contains("p99"));
    let bars = report.plot().lines().filter(|line| line.starts_with("mem ") && line.contains('█')).count();
    assert!(bars > 4 * 4, "{}", report.plot());
}
