//! A plugin that fails in any way costs one call an error, and nothing else.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use nczarr_codec::FilterClass as _;
use nczarr_filter_plugins::PluginClass;
use nczarr_model::ErrorKind;
use nczarr_runtime::StopSignal;

use super::{class, decode, filter, host, plugin};

#[test]
fn a_fault_is_an_error_and_the_next_call_works() {
    let class = class();
    let faults = [
        (1001, ErrorKind::Plugin, "signal"),
        (1003, ErrorKind::Filter, "could not decode"),
        (1004, ErrorKind::Filter, "5 bytes in a buffer of 4"),
        (1005, ErrorKind::Filter, "expected at most 4 bytes, found 8"),
        (1007, ErrorKind::Plugin, "ended"),
    ];
    for (key, kind, part) in faults {
        let fault = class.parse_params(&[key]).unwrap();
        let error = decode(&*fault, b"data", 4).unwrap_err();
        assert_eq!(error.kind(), kind, "{key}: {error}");
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("libxor-"), "{key}: {text}");
        let good = class.parse_params(&[1]).unwrap();
        assert_eq!(decode(&*good, b"data", 4).unwrap(), b"e`u`", "after {key}");
    }
}

/// The caller compares the length with the declared one.
#[test]
fn a_short_result_stays_short() {
    assert_eq!(decode(&*filter(1006), b"data", 4).unwrap(), b"da");
}

#[test]
fn a_call_that_hangs_can_be_stopped() {
    let signal = StopSignal::default();
    let hanging = filter(1002);
    thread::scope(|scope| {
        let call = scope.spawn(|| StopSignal::run(Some(&signal), || decode(&*hanging, b"data", 4)));
        signal.stop();
        assert_eq!(call.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    });
}

#[test]
fn threads_have_a_process_each() {
    let class = class();
    let filter = class.parse_params(&[255]).unwrap();
    thread::scope(|scope| {
        for number in 0..8_u8 {
            let filter = &*filter;
            scope.spawn(move || {
                for len in [0, 1, 1000, 1 << 20] {
                    let data = vec![number; len];
                    // A filter of HDF5 cannot return nothing.
                    if len == 0 {
                        decode(filter, &data, 0).unwrap_err();
                    } else {
                        assert_eq!(decode(filter, &data, len).unwrap(), vec![number ^ 255; len]);
                    }
                }
            });
        }
    });
}

#[test]
fn other_files_are_no_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    let error = PluginClass::describe(host(), &text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Filter, "{error}");
    assert!(error.to_string().contains("text.so"), "{error}");
    let error = PluginClass::describe(folder.path(), plugin()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin, "{error}");

    // A host of another kind.
    for answer in [
        "exit 3",
        "printf '\\011garbage' >&0; cat",
        "printf '\\000\\377\\377\\377\\377\\377\\377\\377\\377' >&0; cat",
    ] {
        let other = folder.path().join("host");
        let mut file = std::fs::File::create(&other).unwrap();
        writeln!(file, "#!/bin/sh\n{answer}").unwrap();
        drop(file);
        std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = PluginClass::describe(&other, plugin()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Plugin | ErrorKind::Filter), "{answer}: {error}");
        std::fs::remove_file(&other).unwrap();
    }
}
