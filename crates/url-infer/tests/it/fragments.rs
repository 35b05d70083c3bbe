//! Every form of fragment, with the resulting `modes` and `fragment`.

use nczarr_url_infer::parse;

/// The fragment after `https://h.example/p`, the modes, and the other pairs as `key=value`.
const FORMS: &[(&str, &[&str], &[&str])] = &[
    ("", &[], &[]),
    ("#", &[], &[]),
    ("#&&", &[], &[]),
    // Words alone.
    ("#zarr", &["zarr", "nczarr"], &[]),
    ("#nczarr", &["nczarr"], &[]),
    ("#xarray", &["xarray", "zarr", "nczarr"], &[]),
    ("#noxarray", &["noxarray", "nczarr"], &[]),
    ("#s3", &["s3"], &[]),
    ("#gs3", &["gs3"], &[]),
    ("#zip", &["zip"], &[]),
    ("#file", &["file"], &[]),
    ("#bytes", &["bytes"], &[]),
    ("#consolidated", &["consolidated"], &[]),
    ("#v3", &["v3"], &[]),
    ("#classic", &["classic"], &[]),
    ("#udf3", &["udf3"], &[]),
    ("#unheard-of", &["unheard-of"], &[]),
    ("#zarr,zip", &["zarr", "zip", "nczarr"], &[]),
    ("#log", &[], &["log="]),
    ("#LOG", &[], &["log="]),
    ("#mode", &[], &[]),
    ("#zarr&s3", &["zarr", "s3", "nczarr"], &[]),
    ("#zarr&log&s3", &["zarr", "s3", "nczarr"], &["log="]),
    // `mode` lists.
    ("#mode=", &[], &[]),
    ("#mode=nczarr", &["nczarr"], &[]),
    ("#mode=zarr", &["zarr", "nczarr"], &[]),
    ("#mode=nczarr,zarr", &["nczarr", "zarr"], &[]),
    ("#mode=nczarr,file", &["nczarr", "file"], &[]),
    ("#mode=,nczarr,,file,", &["nczarr", "file"], &[]),
    ("#mode=nczarr, file", &["nczarr", "file"], &[]),
    ("#mode=nczarr&mode=file", &["nczarr", "file"], &[]),
    ("#mode=nczarr&mode=file&mode=nczarr,zip", &["nczarr", "file", "zip"], &[]),
    ("#mode=nczarr&zip", &["nczarr", "zip"], &[]),
    ("#mode=nczarr,nczarr", &["nczarr"], &[]),
    ("#MODE=NCZARR,File", &["nczarr", "file"], &[]),
    ("#Mode=ZARR", &["zarr", "nczarr"], &[]),
    ("#mode=null,mine", &["null", "mine"], &[]),
    ("#mode=netcdf-3", &["netcdf-3"], &[]),
    ("#mode=netcdf-4", &["netcdf-4"], &[]),
    ("#mode=enhanced", &["enhanced"], &[]),
    // Inferences and negations.
    ("#mode=xarray", &["xarray", "zarr", "nczarr"], &[]),
    ("#mode=xarray,zarr", &["xarray", "zarr", "nczarr"], &[]),
    ("#mode=noxarray", &["noxarray", "nczarr"], &[]),
    ("#mode=nczarr,noxarray", &["nczarr", "noxarray"], &[]),
    ("#mode=zarr,noxarray", &["zarr", "noxarray", "nczarr"], &[]),
    ("#mode=noxarray,xarray", &["noxarray", "zarr", "nczarr"], &[]),
    ("#mode=bytes,zarr", &["bytes"], &[]),
    ("#mode=zarr,bytes", &["bytes"], &[]),
    ("#mode=bytes,xarray,noxarray,nczarr", &["bytes"], &[]),
    ("#mode=consolidated,nczarr", &["consolidated", "nczarr"], &[]),
    // Other keys.
    ("#mode=zarr&log=1", &["zarr", "nczarr"], &["log=1"]),
    ("#show=fetch", &[], &["show=fetch"]),
    ("#datetime=cf", &[], &["datetime=cf"]),
    ("#AWS.PROFILE=p&AWS.REGION=r", &[], &["aws.profile=p", "aws.region=r"]),
    ("#aws.profile=p&Aws.Region=r", &[], &["aws.profile=p", "aws.region=r"]),
    ("#awsprofile=unidata&awsregion=us-west-1", &[], &["aws.profile=unidata", "aws.region=us-west-1"]),
    ("#endpoint=http://localhost:9000", &[], &["endpoint=http://localhost:9000"]),
    ("#Endpoint=http://h/?a=b", &[], &["endpoint=http://h/?a=b"]),
    ("#mine=Some Value", &[], &["mine=Some Value"]),
    ("#k=a&k=b", &[], &["k=a", "k=b"]),
    ("#k=", &[], &["k="]),
    ("#k=a=b", &[], &["k=a=b"]),
    ("#k=a#b", &[], &["k=a#b"]),
    ("# mode = zarr & k = v ", &["zarr", "nczarr"], &["k=v"]),
    // Some shells leave this form.
    ("\\#mode=nczarr&awsprofile=unidata", &["nczarr"], &["aws.profile=unidata"]),
    ("\\#zarr", &["zarr", "nczarr"], &[]),
];

fn check(text: &str, modes: &[&str], pairs: &[&str]) {
    let target = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(target.modes, modes, "{text}");
    let found: Vec<String> = target.fragment.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(found, pairs, "{text}");
    for pair in pairs {
        let (key, _) = pair.split_once('=').unwrap();
        let last = pairs.iter().rev().find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        assert_eq!(target.get(key), last, "{text}: {key}");
    }
}

#[test]
fn forms_behind_a_url() {
    for (fragment, modes, pairs) in FORMS {
        check(&format!("https://h.example/p{fragment}"), modes, pairs);
        check(&format!("file:///p{fragment}"), modes, pairs);
    }
}

#[test]
fn the_path_ends_before_the_fragment() {
    for (fragment, ..) in FORMS {
        assert_eq!(parse(&format!("https://h.example/p{fragment}")).unwrap().path_text(), "/p", "{fragment}");
        assert_eq!(parse(&format!("file://p{fragment}")).unwrap().path_text(), "p", "{fragment}");
    }
}

#[test]
fn brackets_are_a_fragment_in_front() {
    for (text, modes, pairs) in [
        ("[mode=zarr]https://h.example/p", &["zarr", "nczarr"][..], &[][..]),
        ("[zarr][log]https://h.example/p", &["zarr", "nczarr"], &["log="]),
        ("[mode=zarr&log=2]file:///p", &["zarr", "nczarr"], &["log=2"]),
        ("[show=fetch]https://h.example/p#mode=s3", &["s3"], &["show=fetch"]),
        ("[]https://h.example/p", &[], &[]),
    ] {
        check(text, modes, pairs);
    }
    // This prefix counts only before a URL. Elsewhere it is part of a name.
    for path in ["[mode=zarr]dir/x", "[x", "[x]", "[a]C:/x"] {
        let target = parse(path).unwrap();
        assert_eq!((&*target.path_text(), target.modes.len()), (path, 0));
    }
}

#[test]
fn schemes_and_hosts_bring_modes() {
    for (text, modes) in [
        ("s3://bucket/key", &["s3"][..]),
        ("s3://bucket/key#mode=zarr", &["zarr", "s3", "nczarr"]),
        ("s3://bucket/key#mode=s3,zarr", &["s3", "zarr", "nczarr"]),
        ("S3://bucket/key", &["s3"]),
        ("gs3://bucket/key", &["gs3"]),
        ("https://bucket.s3.us-west-2.amazonaws.com/key", &["s3"]),
        ("https://S3.AMAZONAWS.COM/bucket/key#zarr", &["zarr", "s3", "nczarr"]),
        ("https://s3.amazonaws.com:443/bucket/key#zarr", &["zarr", "s3", "nczarr"]),
        ("https://storage.googleapis.com/bucket/key", &["gs3"]),
        ("https://s3.amazonaws.com/bucket/key#bytes", &["bytes"]),
        ("https://s3.amazonaws.com/bucket/key#mode=http,zarr", &["http", "zarr", "nczarr"]),
        ("https://amazonaws.com.example/key", &[]),
        ("http://h.example/x", &[]),
        ("mem://x", &[]),
    ] {
        assert_eq!(parse(text).unwrap().modes, modes, "{text}");
    }
}

#[test]
fn every_applied_rule_is_listed() {
    for (text, lines) in [
        ("file:///x", 0),
        ("file:///x#mode=nczarr", 0),
        ("file:///x#zarr", 2),
        ("s3://b/k#xarray", 4),
        ("x.zarr#mode=zarr", 2),
        ("[mode=nczarr]file:///x", 1),
        ("file:///x#mode=noxarray,xarray,nczarr", 2),
    ] {
        let steps = parse(text).unwrap().steps;
        assert_eq!(steps.len(), lines, "{text}: {steps:?}");
    }
}
