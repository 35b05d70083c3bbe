//! Every form of values that a program has, as an argument of a write.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use nczarr::{File, Variable};

fn create(name: &str) -> (File, Variable) {
    let file = nczarr::create(format!("memory://put-forms-{name}")).unwrap();
    file.add_dimension("x", 3).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    (file, v)
}

/// `put` takes a slice, so that all owners of one can be borrowed. `impl AsRef<[T]>` would refuse some of them,
/// and would take text for numbers.
#[test]
fn numbers() {
    let (_file, v) = create("numbers");
    let check = |written: nczarr::Result<()>| {
        written.unwrap();
        assert_eq!(v.get_values::<f32>(..).unwrap(), [1.0, 2.0, 3.0]);
        v.put(&[0; 3], ..).unwrap();
    };
    let vector = vec![1.0f32, 2.0, 3.0];
    // Literals without a type are `i32` and `f64`.
    check(v.put(&[1, 2, 3], ..));
    check(v.put(&[1.0, 2.0, 3.0], ..));
    check(v.put::<f64>(&[1.0, 2.0, 3.0], ..));
    check(v.put(&vector, ..));
    check(v.put(&vector[..], ..));
    check(v.put(&(1..4).collect::<Vec<i64>>(), ..));
    check(v.put(&vector.clone().into_boxed_slice(), ..));
    check(v.put(&Arc::<[f32]>::from(vector.clone()), ..));
    check(v.put(&Arc::new(vector.clone()), ..));
    check(v.put(&Mutex::new(vector.clone()).lock().unwrap(), ..));
    check(v.put(&Cow::Borrowed(&vector[..]), ..));
    v.put(&vector, ..).unwrap();
    let (read, values) = (v.get::<f64>(..).unwrap(), v.get_values::<i16>(..).unwrap());
    check(v.put(&read, ..));
    check(v.put(&values, ..));
}

#[test]
fn text() {
    let (file, _) = create("text");
    let chars = file.add_variable_with_type("c", nczarr::NcType::Char, &["x"]).unwrap();
    let owned = String::from("abc");
    let check = |written: nczarr::Result<()>| {
        written.unwrap();
        assert_eq!(chars.get_chars(..).unwrap().as_slice(), b"abc");
        chars.put_chars("xyz", ..).unwrap();
    };
    check(chars.put_chars("abc", ..));
    check(chars.put_chars(b"abc", ..));
    check(chars.put_chars([b'a', b'b', b'c'], ..));
    check(chars.put_chars(owned.as_bytes(), ..));
    check(chars.put_chars(&owned, ..));
    check(chars.put_chars(owned.clone().into_bytes(), ..));
    check(chars.put_chars(owned, ..));
    // The result of a read serves as text again.
    let read = chars.get_chars(..).unwrap();
    chars.put_chars(read, ..).unwrap();
    assert!(chars.put_chars("ä!", ..).is_ok(), "three bytes");
    assert!(chars.put_chars("ab", ..).is_err());
}

/// The results of reads go to any function that takes `impl AsRef<[T]>`.
#[test]
fn results_are_slices() {
    fn sum(values: impl AsRef<[f32]>) -> f32 {
        values.as_ref().iter().sum()
    }
    let (_file, v) = create("results");
    v.put(&[1, 2, 3], ..).unwrap();
    assert_eq!(sum(v.get::<f32>(..).unwrap()), 6.0);
    assert_eq!(sum(v.get_values::<f32>(..).unwrap()), 6.0);
}
