//! Filters that keep their promises, and some that break one each.

use conformance::check_filter;

#[test]
fn the_filters_of_this_project_pass() {
    let samples: &[(&str, &[&[u32]])] = &[
        ("shuffle", &[&[]]),
        ("fletcher32", &[&[]]),
        ("deflate", &[&[1], &[9]]),
        ("gzip", &[&[1]]),
        ("zstd", &[&[3], &[-5_i32 as u32]]),
        ("blosc", &[&[0, 0, 0, 0, 5, 1, 1], &[0, 0, 0, 0, 1, 2, 4]]),
    ];
    for class in filters::BUILTIN {
        let name = class.info().name;
        let samples = samples.iter().find(|(of, _)| *of == name).unwrap_or_else(|| panic!("samples for {name}")).1;
        check_filter(*class, samples).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}
