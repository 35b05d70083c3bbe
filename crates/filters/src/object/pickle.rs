//! Pickled objects (codec id `pickle`): refused.
//!
//! Unpickling executes code in the data. The codec exists only to refuse it by name.

use nczarr_codec::{ElementClass, ElementCodec, ElementPlugin, Json, inventory};
use nczarr_model::{ErrorKind, Result};

/// The class of `pickle`.
pub struct PickleClass;

inventory::submit! { ElementPlugin(&PickleClass) }

impl ElementClass for PickleClass {
    fn names(&self) -> &'static [&'static str] {
        static NAMES: [&str; 2] = ["pickle", "numcodecs.pickle"];
        &NAMES
    }

    fn about(&self) -> &'static str {
        "Python objects: always refused, because reading them runs code"
    }

    fn parse(&self, _codec: &Json) -> Result<Box<dyn ElementCodec>> {
        Err(ErrorKind::BadType.context("codec \"pickle\" is refused: reading a pickle can run any code"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pickle_is_refused_by_name() {
        let error = PickleClass.parse(&json!({"id": "pickle", "protocol": 4})).unwrap_err();
        assert!(
            error.kind() == ErrorKind::BadType && error.to_string().contains("\"pickle\" is refused"),
            "{error}"
        );
    }
}
