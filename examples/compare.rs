//! Compares the numbers of two datasets of any formats.
//!
//! `cargo run --example compare -- x.nc x.zarr`; without arguments it compares two datasets that it makes.
//! `ncz diff` also compares types, attributes and strings.

use nczarr::{Result, Variable};

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if let [left, right] = paths.as_slice() {
        compare(left, right)?;
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (left, right) = (path("a.nc"), path("b.zarr"));
    for (path, last) in [(&left, 3.0), (&right, 3.5)] {
        let file = nczarr::create(path)?;
        file.add_dimension("x", 3)?;
        file.add_variable::<f64>("v", &["x"])?.put(&[1.0, 2.0, last], ..)?;
        file.close()?;
    }
    assert_eq!(compare(&left, &right)?, 1);
    Ok(())
}

/// Prints the differing values of all numeric variables, and returns their number.
fn compare(left: &str, right: &str) -> Result<usize> {
    let (left, right) = (nczarr::open(left)?, nczarr::open(right)?);
    let mut differences = 0;
    for variable in left.variables() {
        let other = right.variable(&variable.full_name())?;
        if variable.shape()? != other.shape()? {
            println!("{}: {:?} and {:?}", variable.full_name(), variable.shape()?, other.shape()?);
            differences += 1;
        } else if variable.nc_type().is_numeric() {
            differences += compare_values(&variable, &other)?;
        }
    }
    Ok(differences)
}

fn compare_values(left: &Variable, right: &Variable) -> Result<usize> {
    let mut differences = 0;
    let pairs = left.get_values::<f64>(..)?.into_iter().zip(right.get_values::<f64>(..)?);
    for (place, (a, b)) in pairs.enumerate().filter(|(_, (a, b))| a != b && !(a.is_nan() && b.is_nan())) {
        println!("{}: element {place}: {a} and {b}", left.full_name());
        differences += 1;
    }
    Ok(differences)
}
