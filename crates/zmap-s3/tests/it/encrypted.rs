//! TLS: a server with the tests' own certificate (`trust`), in a process that trusts it.
//!
//! A process reads its trusted certificates once, from the environment. So each case runs this test in
//! another process.

use std::net::TcpListener as StdListener;
use std::process::Command;
use std::sync::Arc;

use nczarr::ErrorKind;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use s3_server::{Config, Fault, Op, Rule, Server};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

const AT: &str = "NCZ_S3_ENCRYPTED_AT";
const WHAT: &str = "NCZ_S3_ENCRYPTED_WHAT";
const TRUSTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/trust/certificate.pem");
const ANOTHER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/trust/another.pem");
/// Chunks of 80 kB, which may wait in the system, and one of 2.4 MB, which may not.
const SHAPES: [(&str, u64, u64); 2] = [("short", 300_000, 10_000), ("long", 300_000, 300_000)];

/// Decrypts connections for a server until the test ends. Returns the address.
fn in_front_of(host: String) -> String {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("trust/certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("trust/key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let here = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, host) = (acceptor.clone(), host.clone());
                tokio::spawn(async move {
                    // A client that does not trust the certificate closes the connection.
                    let Ok(mut inside) = acceptor.accept(stream).await else { return };
                    let mut server = TcpStream::connect(host).await.unwrap();
                    let _ = copy_bidirectional(&mut inside, &mut server).await;
                });
            }
        });
    });
    here
}

fn value(at: u64) -> f64 {
    at as f64 * 0.25
}

fn write(at: &str) -> nczarr::Result<()> {
    let file = nczarr::create(at)?;
    for (name, len, chunk) in SHAPES {
        file.add_dimension(name, len)?;
        let v = file.add_variable::<f64>(name, &[name])?;
        v.set_chunking(&[chunk])?;
        v.put(&(0..len).map(value).collect::<Vec<_>>(), ..)?;
    }
    file.close()
}

/// Reads everything, and single elements.
fn read(at: &str) -> nczarr::Result<()> {
    let file = nczarr::open(at)?;
    for (name, len, _) in SHAPES {
        let v = file.variable(name)?;
        for at in [0, 77_777, len - 1] {
            assert_eq!(v.get_value::<f64>(at as usize)?, value(at), "{name} {at}");
        }
        let all = v.get::<f64>(..)?;
        assert!(all.iter().copied().eq((0..len).map(value)), "{name}");
    }
    Ok(())
}

/// Runs a step in a process that trusts the certificates of a file.
fn in_a_process(what: &str, at: &str, trusted: &str) {
    in_a_process_with(what, at, &[("SSL_CERT_FILE", trusted)]);
}

fn in_a_process_with(what: &str, at: &str, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "encrypted::data_round_trip_over_tls", "--nocapture"]);
    child.env_remove("SSL_CERT_DIR").env_remove("AWS_CA_BUNDLE");
    child.envs([(AT, at), (WHAT, what)]).envs(variables.iter().copied());
    let done = child.output().unwrap();
    assert!(done.status.success(), "{what}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The step in the other process.
fn work(what: &str, at: &str) {
    match what {
        "write" => write(at).unwrap(),
        "read" => read(at).unwrap(),
        _ => {
            for done in [write(at), read(at)] {
                let error = done.unwrap_err();
                let message = error.to_string();
                assert!(error.kind() != ErrorKind::NotFound && message.contains("certificate"), "{message}");
            }
        }
    }
}

#[test]
fn data_round_trip_over_tls() {
    if let (Ok(what), Ok(at)) = (std::env::var(WHAT), std::env::var(AT)) {
        return work(&what, &at);
    }
    let server = Server::start(Config::default());
    let at = format!("https://key:secret@{}/bucket/x#mode=zarr,s3", in_front_of(server.host()));
    in_a_process("not trust", &at, ANOTHER);
    assert!(server.keys("bucket").is_empty() && server.counts().total() == 0, "not even asked");
    in_a_process("write", &at, TRUSTED);
    in_a_process("read", &at, TRUSTED);
    // The certificates of the variable replace the system's.
    in_a_process_with("read", &at, &[("SSL_CERT_FILE", ANOTHER), ("AWS_CA_BUNDLE", TRUSTED)]);
    in_a_process_with("not trust", &at, &[("SSL_CERT_FILE", TRUSTED), ("AWS_CA_BUNDLE", ANOTHER)]);
    // A body that ends early is requested once more.
    for fault in [Fault::CutBody, Fault::ResetBody, Fault::Reset, Fault::Close] {
        server.clear_log();
        in_a_process("read", &at, TRUSTED);
        let quiet = server.counts().of(Op::Get);
        server.clear_log();
        server.fault(Rule::new(fault.clone()).on(Op::Get).key("/0").times(3));
        in_a_process("read", &at, TRUSTED);
        server.no_faults();
        assert!(server.counts().of(Op::Get) > quiet, "{fault:?}");
    }
}
