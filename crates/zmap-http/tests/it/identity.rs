//! A client certificate is shown only to its own server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use nczarr_model::ErrorKind;
use nczarr_s3_server::{Mock, Reply};
use nczarr_storage::{ByteRange, Key, ZMapExt};
use nczarr_zmap_http::{HttpMap, Settings};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::support::patience;

const TRUST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/trust");

/// A server with a fixed response that records whether each client showed a certificate.
fn server(answer: String) -> (String, Arc<Mutex<Vec<bool>>>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(include_bytes!("trust/client.pem")).unwrap()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = verifier.allow_unauthenticated().build().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(include_bytes!("trust/server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("trust/server-key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (url, seen) =
        (format!("https://{}", listener.local_addr().unwrap()), Arc::<Mutex<Vec<bool>>>::default());
    let recorded = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            let (mut head, mut piece) = (Vec::new(), [0; 1024]);
            while !head.ends_with(b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(len) if len > 0 => head.extend_from_slice(&piece[..len]),
                    // A client that does not trust the server closes the connection.
                    _ => break,
                }
            }
            recorded.lock().unwrap().push(stream.conn.peer_certificates().is_some());
            drop(stream.write_all(answer.as_bytes()));
            drop(stream.flush());
        }
    });
    (url, seen)
}

fn read(url: &str, rc: &str) -> nczarr_model::Result<bool> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rc");
    std::fs::write(&path, rc.replace("TRUST", TRUST)).unwrap();
    let target = nczarr_url_infer::parse(url).unwrap();
    let variable = |name: &str| (name == "NCRCENV_RC").then(|| path.to_str().unwrap().to_owned());
    let settings = Settings::with_variables(&target, &variable)?;
    assert!(!format!("{settings:?}").contains("tests-only"));
    let map = HttpMap::with_settings(&target, &patience(), &settings)?;
    map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut Vec::new())
}

#[test]
fn a_client_certificate_goes_only_to_its_server() {
    let file = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n01";
    let (other, others) = server(file.to_owned());
    let away =
        format!("HTTP/1.1 302 F\r\nLocation: {other}/b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let (url, seen) = server(away);
    let ca = "HTTP.SSL.CAINFO=TRUST/server.pem\n";
    let certificate = "HTTP.SSL.CERTIFICATE=TRUST/client.pem\n";
    let encrypted = "HTTP.SSL.KEY=TRUST/client-key-encrypted.pem\n";
    for (more, shown) in [
        (String::new(), false),
        (format!("{certificate}HTTP.SSL.KEY=TRUST/client-key.pem\n"), true),
        (format!("{certificate}{encrypted}HTTP.SSL.KEYPASSWORD=tests-only\n"), true),
        (format!("{certificate}{encrypted}SSL.KEYPASSWORD=tests-only\n"), true),
    ] {
        assert!(read(&format!("{url}/x"), &format!("{ca}{more}")).unwrap(), "{more}");
        assert_eq!(seen.lock().unwrap().last(), Some(&shown), "{more}");
    }
    // A redirect may lead from a plain to an encrypted server.
    let plain = Mock::start(move |_| Reply::new(302, "").with("Location", format!("{other}/b")));
    assert!(read(&format!("{}/x", plain.url()), &format!("{ca}{certificate}{encrypted}")).unwrap());
    assert_eq!(others.lock().unwrap().as_slice(), [false; 5]);
    for (more, part) in [
        (format!("{certificate}{encrypted}"), "set HTTP.SSL.KEYPASSWORD"),
        (format!("{certificate}{encrypted}HTTP.SSL.KEYPASSWORD=tests-only-wrong\n"), "does not decrypt"),
        ("HTTP.SSL.CERTIFICATE=TRUST/client-key.pem\n".to_owned(), "no certificate"),
        (format!("{certificate}HTTP.SSL.KEY=TRUST/server.pem\n"), "the file has no key"),
        (format!("{certificate}HTTP.SSL.KEY=TRUST/server-key.pem\n"), "do not match"),
    ] {
        let error = read(&format!("{url}/x"), &format!("{ca}{more}")).unwrap_err();
        let text = format!("{error} {error:?}");
        assert_eq!(error.kind(), ErrorKind::RcFile, "{more}: {text}");
        assert!(text.contains(part) && !text.contains("tests-only"), "{more}: {text}");
    }
}
