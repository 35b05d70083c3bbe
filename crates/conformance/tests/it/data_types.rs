//! [`check_data_type`] on the data types of this project, and on types that break one guarantee each.

use std::sync::Arc;

use nczarr_codec::{DataTypeClass, ExtensionType, ItemKind, ItemType, Json, OutBuf, ShownType};
use nczarr_conformance::{DataTypeSample, check_data_type};
use nczarr_driver_nczarr::Bfloat16;
use nczarr_model::{ErrorKind, NcType, Result};
use serde_json::json;

#[test]
fn the_data_types_of_this_project_pass() {
    let fills =
        [json!(0.0), json!(1.5), json!(-1.7014118e38), json!("NaN"), json!("-Infinity"), json!("0xffc1")];
    let wrong_fills = [json!("x"), json!(null), json!("0x7fc"), json!([1])];
    let sample = DataTypeSample { data_type: json!("bfloat16"), fills: &fills, wrong_fills: &wrong_fills };
    check_data_type(&Bfloat16, &[sample]).unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    ForgetsItsScale,
    PadsElements,
    StopsAtTheRange,
    RoundsTwice,
    ForgetsTheOrder,
    PanicsOnConfigurations,
    TakesAnyFill,
    ZeroIsNoFill,
}

/// 16-bit counts of a step, shown as int.
#[derive(Debug)]
struct Steps {
    scale: i64,
    fault: Fault,
}

struct StepsClass(Fault);

impl DataTypeClass for StepsClass {
    fn names(&self) -> &'static [&'static str] {
        &["steps"]
    }

    fn parse(&self, _: &str, configuration: &Json) -> Result<Arc<dyn ExtensionType>> {
        let scale = configuration.get("scale").and_then(Json::as_i64);
        assert!(self.0 != Fault::PanicsOnConfigurations || scale.is_some(), "no scale");
        let scale = scale.filter(|scale| (1..100).contains(scale));
        let scale = scale.ok_or_else(|| ErrorKind::BadType.context("\"scale\": expected 1 to 99"))?;
        Ok(Arc::new(Steps { scale, fault: self.0 }))
    }
}

impl ExtensionType for Steps {
    fn to_json(&self) -> Json {
        let scale = if self.fault == Fault::ForgetsItsScale { 1 } else { self.scale };
        json!({"name": "steps", "configuration": {"scale": scale}})
    }

    fn item(&self) -> ItemType {
        ItemType { kind: ItemKind::UInt, size: 2, big_endian: false }
    }

    fn word_size(&self) -> usize {
        if self.fault == Fault::ForgetsTheOrder { 1 } else { 2 }
    }

    fn shown(&self) -> ShownType {
        ShownType::Atomic(NcType::Int)
    }

    fn fill_from_json(&self, value: &Json) -> Result<Vec<u8>> {
        match value.as_u64().and_then(|value| u16::try_from(value).ok()) {
            Some(0) if self.fault == Fault::ZeroIsNoFill => Err(ErrorKind::BadType.into()),
            Some(value) => Ok(value.to_le_bytes().to_vec()),
            None if self.fault == Fault::TakesAnyFill => Ok(vec![0; 2]),
            None => Err(ErrorKind::BadType.context("expected a count")),
        }
    }

    fn fill_to_json(&self, item: &[u8]) -> Result<Json> {
        let item = item.try_into().map_err(|_| ErrorKind::BadType.context("expected 2 bytes"))?;
        Ok(u16::from_le_bytes(item).into())
    }

    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        for item in items.as_chunks().0 {
            out.put(&(i32::from(u16::from_le_bytes(*item)) * self.scale as i32).to_ne_bytes())?;
        }
        if self.fault == Fault::PadsElements {
            out.put_zeros(out.remaining())?;
        }
        Ok(())
    }

    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let mut out_of_range = false;
        for element in elements.as_chunks().0 {
            let steps = i64::from(i32::from_ne_bytes(*element)).div_euclid(self.scale);
            let steps = if self.fault == Fault::RoundsTwice { steps - 1 } else { steps };
            let stored = steps.clamp(0, 0xffff);
            out_of_range |= stored != steps;
            if out_of_range && self.fault == Fault::StopsAtTheRange {
                break;
            }
            out.put(&(stored as u16).to_le_bytes())?;
        }
        if out_of_range { Err(ErrorKind::Range.into()) } else { Ok(()) }
    }
}

fn outcome(fault: Fault) -> Result<(), String> {
    let data_type = json!({"name": "steps", "configuration": {"scale": 3}});
    let (fills, wrong_fills) = ([json!(0), json!(65535)], [json!(65536), json!(-1), json!("0")]);
    let fills = if fault == Fault::ZeroIsNoFill { &fills[1..] } else { &fills };
    let sample = DataTypeSample { data_type, fills, wrong_fills: &wrong_fills };
    check_data_type(&StepsClass(fault), &[sample]).map_err(|failure| failure.to_string())
}

#[test]
fn each_broken_guarantee_is_found() {
    outcome(Fault::None).unwrap();
    for (fault, expected) in [
        (Fault::ForgetsItsScale, "comes back"),
        (Fault::PadsElements, "the last one incomplete"),
        (Fault::StopsAtTheRange, "stores all elements"),
        (Fault::RoundsTwice, "reads the same after save"),
        (Fault::ForgetsTheOrder, "is one word"),
        (Fault::PanicsOnConfigurations, "does not panic"),
        (Fault::TakesAnyFill, "is no fill value"),
        (Fault::ZeroIsNoFill, "zero"),
    ] {
        let failure = outcome(fault).expect_err(&format!("{fault:?} is not found"));
        assert!(failure.contains(expected), "{fault:?}: {failure}");
    }
}
