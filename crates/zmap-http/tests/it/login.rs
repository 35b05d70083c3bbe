//! Credentials go only to their own server, also after a redirect. A login on another server works as with
//! NASA's Earthdata.

use std::path::PathBuf;

use nczarr_model::{ErrorKind, Result};
use nczarr_s3_server::{Asked, Mock, Reply};
use nczarr_storage::source::{ByteSource as _, InitialRead};
use nczarr_storage::{ByteRange, Key, Target, ZMapExt};
use nczarr_zmap_http::{HttpMap, HttpSource, Settings};

use crate::support::{content, patience};

/// The prefix of all secrets.
const HUSH: &str = "HUSH";
/// `user:HUSHword` as sent.
const BASIC: &str = "Basic dXNlcjpIVVNId29yZA==";

/// A home directory with files.
struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(home.path().join(name), text).unwrap();
        }
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the settings for a URL, with these environment variables.
    fn settings(&self, target: &Target, variables: &[(&str, &str)]) -> Result<Settings> {
        Settings::with_variables(target, &|name| match name {
            "HOME" => Some(self.0.path().to_str()?.to_owned()),
            _ => variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
        })
    }

    fn read(&self, url: &str, variables: &[(&str, &str)]) -> Result<Vec<u8>> {
        let target = nczarr_url_infer::parse(url).unwrap();
        let settings = self.settings(&target, variables)?;
        let source = HttpSource::with_settings(&target, InitialRead::Head(10), &patience(), &settings)?;
        let said = format!("{settings:?}{source:?}");
        assert!(!said.contains(HUSH), "{said}");
        source.read(ByteRange::ALL)
    }
}

/// Returns the file, or a range of it.
fn file(asked: &Asked) -> Reply {
    let whole = content(1, 5000);
    let answer = |status, bytes: &[u8]| Reply::new(status, bytes).with("ETag", "\"1\"");
    let range = asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let Some((first, last)) = range else { return answer(200, &whole) };
    let first: usize = first.parse().unwrap();
    let last = last.parse::<usize>().unwrap_or(usize::MAX).min(whole.len() - 1);
    let range = format!("bytes {first}-{last}/{}", whole.len());
    answer(206, &whole[first..=last]).with("Content-Range", range)
}

/// Three servers. The data server redirects clients without a cookie to the login. The login needs a password
/// or token, and redirects back. The third is the redirect target of `/stolen`.
struct Earthdata {
    data: Mock,
    login: Mock,
    other: Mock,
}

impl Earthdata {
    fn start() -> Self {
        let other = Mock::start(file);
        let stolen = other.url();
        // The login's address is known once it listens. The data server gets it from its port.
        let login = Mock::start(move |asked| {
            let lets_in = matches!(asked.header("authorization"), Some(BASIC | "Bearer HUSHtoken"));
            match (lets_in, asked.param("back")) {
                (false, _) => Reply::new(401, "").with("WWW-Authenticate", "Basic realm=\"login\""),
                (true, Some(back)) => {
                    Reply::new(302, "").with("Location", back).with("Set-Cookie", "login=HUSHlogin; Path=/")
                }
                (true, None) => Reply::new(302, "").with("Location", format!("{stolen}/stolen")),
            }
        });
        let at = login.url().replace("127.0.0.1", "localhost");
        let data = Mock::start(move |asked| {
            let here = format!("http://{}", asked.header("host").unwrap());
            let has_cookie =
                asked.header("cookie").is_some_and(|cookies| cookies.contains("session=HUSHsession"));
            match asked.path.as_str() {
                "/back" if asked.param("code") == Some("HUSHcode") => Reply::new(302, "")
                    .with("Set-Cookie", "session=HUSHsession; Path=/; HttpOnly")
                    .with("Location", asked.param("to").unwrap()),
                "/stolen" => Reply::new(302, "").with("Location", format!("{at}/authorize")),
                _ if has_cookie => file(asked),
                path => {
                    let back = format!("{here}/back%3Fcode=HUSHcode%26to={path}");
                    Reply::new(302, "").with("Location", format!("{at}/authorize?client=1&back={back}"))
                }
            }
        });
        Self { data, login, other }
    }

    /// Returns the login's host name.
    fn host(&self) -> String {
        self.login.host().replace("127.0.0.1", "localhost")
    }
}

#[test]
fn a_login_on_another_server_grants_access() {
    for kind in [
        "netrc at home",
        "netrc of a variable",
        "netrc of a key",
        "keys",
        "a token of a key",
        "a token of a variable",
    ] {
        let earthdata = Earthdata::start();
        let host = earthdata.host();
        let netrc = "machine localhost login user password HUSHword\n";
        let keys = format!(
            "[http://{host}]HTTP.CREDENTIALS.USER=user\n[http://{host}]HTTP.CREDENTIALS.PASSWORD=HUSHword\n"
        );
        let token = format!("[http://{host}]HTTP.CREDENTIALS.BEARER=HUSHtoken\n");
        let tokens = format!("elsewhere.example=HUSHother,{host}=HUSHtoken");
        let home = match kind {
            "netrc at home" => Home::new(&[(".netrc", netrc)]),
            "netrc of a key" => Home::new(&[("mine", netrc), (".ncrc", "HTTP.NETRC=~/mine\n")]),
            "keys" => Home::new(&[(".ncrc", &keys)]),
            "a token of a key" => Home::new(&[(".ncrc", &token)]),
            _ => Home::new(&[("mine", netrc)]),
        };
        let path = home.path("mine");
        let variables = match kind {
            "netrc of a variable" => vec![("NETRC", path.to_str().unwrap())],
            "a token of a variable" => vec![("NCZARR_BEARER", tokens.as_str())],
            _ => vec![],
        };
        let url = format!("{}/f", earthdata.data.url());
        assert_eq!(home.read(&url, &variables).unwrap(), content(1, 5000), "{kind}");
        let (data, login) = (earthdata.data.log(), earthdata.login.log());
        // One login for all requests, and the file in two: its start and its rest.
        assert_eq!((data.len(), login.len()), (4, 1), "{kind}: {data:?}");
        for asked in &data {
            assert_eq!(asked.header("authorization"), None, "{kind}: the data server gets no password");
            assert!(!asked.header("cookie").unwrap_or_default().contains("login="), "{kind}");
        }
        assert_eq!(login[0].header("cookie"), None, "{kind}");
        // A server that the login redirects to gets nothing.
        home.read(&format!("{}/stolen", earthdata.data.url()), &variables).unwrap();
        let other = earthdata.other.log();
        assert!(!other.is_empty());
        for asked in other {
            for name in ["authorization", "cookie"] {
                assert_eq!(asked.header(name), None, "{kind}: {name}");
            }
        }
    }
}

#[test]
fn a_login_error_names_the_server_and_the_sent_credentials() {
    let wrong = "machine localhost login user password HUSHwrong\n";
    for (netrc, sent) in [("", "sent: no credentials"), (wrong, "; sent: a password")] {
        let earthdata = Earthdata::start();
        let home = Home::new(&[(".netrc", netrc)]);
        let error = home.read(&format!("{}/f", earthdata.data.url()), &[]).unwrap_err();
        let text = format!("{error} {error:?}");
        assert_eq!(error.kind(), ErrorKind::Auth, "{text}");
        assert!(text.contains(&earthdata.host()) && text.contains("401") && text.contains(sent), "{text}");
        assert!(!text.contains(HUSH) && !text.contains("dXNlc"), "{text}");
    }
}

/// Credentials for one server, or for no named server, reach no other by a redirect to another host or port.
#[test]
fn credentials_go_only_to_their_server() {
    let other = Mock::start(file);
    let by_name = other.url().replace("127.0.0.1", "localhost");
    for to in [other.url(), by_name] {
        let leads = Mock::start(move |_| Reply::new(302, "").with("Location", format!("{to}/f")));
        let here = leads.url();
        let netrc = "default login user password HUSHword\n";
        for (rc, variables) in [
            (String::new(), vec![]),
            ("HTTP.CREDENTIALS.USERPASSWORD=user:HUSHword\nHTTP.HEADER.X-Key=HUSHkey\n".to_owned(), vec![]),
            (
                format!("[{here}]HTTP.CREDENTIALS.BEARER=HUSHtoken\n[{here}]HTTP.HEADER.X-Key=HUSHkey\n"),
                vec![],
            ),
            ("[127.0.0.1]HTTP.CREDENTIALS.BEARER=HUSHtoken\n".to_owned(), vec![]),
            (
                String::new(),
                vec![("NCZARR_BEARER", format!("{}=HUSHtoken,127.0.0.1=HUSHtoken", leads.host()))],
            ),
        ] {
            let home = Home::new(&[(".netrc", netrc), (".ncrc", &rc)]);
            let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let before = leads.log().len();
            home.read(&format!("{here}/f"), &variables).unwrap();
            let asked = &leads.log()[before];
            assert!(asked.header("authorization").is_some(), "{rc} {variables:?}");
            assert_eq!(asked.header("x-key").is_some(), rc.contains("X-Key"), "{rc}");
        }
    }
    assert!(other.log().len() >= 10);
    for asked in other.log() {
        for name in ["authorization", "cookie", "x-key"] {
            assert_eq!(asked.header(name), None, "{name}");
        }
    }
}

#[test]
fn a_file_keeps_cookies_from_one_run_to_the_next() {
    let earthdata = Earthdata::start();
    let home = Home::new(&[(".netrc", "machine localhost login user password HUSHword\n")]);
    let jar = home.path("jar");
    std::fs::write(home.path(".ncrc"), format!("HTTP.COOKIEJAR={}\n", jar.display())).unwrap();
    let url = format!("{}/f", earthdata.data.url());
    assert_eq!(home.read(&url, &[]).unwrap(), content(1, 5000));
    assert_eq!(earthdata.login.log().len(), 1);
    let text = std::fs::read_to_string(&jar).unwrap();
    assert!(text.contains("\tsession\tHUSHsession"), "{text}");
    // A new file with the same lines is read as by another process.
    let again = home.path("again");
    std::fs::copy(&jar, &again).unwrap();
    std::fs::write(home.path(".ncrc"), format!("HTTP.COOKIEJAR={}\n", again.display())).unwrap();
    assert_eq!(home.read(&url, &[]).unwrap(), content(1, 5000));
    assert_eq!(earthdata.login.log().len(), 1, "no second login");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&jar).unwrap().permissions().mode() & 0o77, 0, "others may not read it");
    }
}

#[test]
fn fields_and_tokens_of_the_rc_file_go_with_every_request() {
    let server = Mock::start(file);
    let home = Home::new(&[(
        ".ncrc",
        "HTTP.HEADER.X-Api-Key=HUSHkey\nHTTP.HEADER.Accept=application/x-netcdf\nHTTP.CREDENTIALS.BEARER=HUSHtoken\n",
    )]);
    let target = nczarr_url_infer::parse(&format!("{}/x", server.url())).unwrap();
    let settings = home.settings(&target, &[]).unwrap();
    let map = HttpMap::with_settings(&target, &patience(), &settings).unwrap();
    assert!(map.read(&Key::new("a").unwrap(), ByteRange::ALL, &mut Vec::new()).unwrap());
    let asked = &server.log()[0];
    assert_eq!(asked.header("x-api-key"), Some("HUSHkey"));
    assert_eq!(asked.header("accept"), Some("application/x-netcdf"));
    assert_eq!(asked.header("authorization"), Some("Bearer HUSHtoken"));
}
