//! [`Profiles`]: the profiles of Amazon's configuration files.
//!
//! `AWS_CONFIG_FILE` or `~/.aws/config`, then `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`; the
//! later value counts. Only values written there are known here. The SDK handles roles, programs and single
//! sign-on. A member of a nested section, `endpoint_url` indented below `s3 =`, is called `s3.endpoint_url`
//! here.
//!
//! Source: Amazon's description of the shared configuration files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use nczarr_model::{Error, ErrorKind, Result};

use crate::environment::Variables;
use crate::secret::{Credentials, Secret};

/// Largest configuration file in bytes.
const MOST: u64 = 4 << 20;

/// Members that refer to a credential provider.
const INDIRECT: &[&str] = &[
    "role_arn",
    "credential_process",
    "sso_session",
    "sso_start_url",
    "web_identity_token_file",
    "credential_source",
];

/// Members by section name.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// All profiles by name. Values may be secret, so nothing prints them.
#[derive(Default, Clone)]
pub(crate) struct Profiles {
    profiles: Sections,
    /// The sections `[services …]` that profiles refer to.
    services: Sections,
    /// The files: `config`, then `credentials`.
    files: [Option<PathBuf>; 2],
}

impl Profiles {
    /// Reads the files. Missing files are empty.
    ///
    /// # Errors
    /// `NC_ES3` with the name of a file that cannot be read.
    pub(crate) fn load(variables: &Variables<'_>) -> Result<Self> {
        let mut profiles = Self::default();
        let home = variables("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        for (place, variable, name) in
            [(0, "AWS_CONFIG_FILE", "config"), (1, "AWS_SHARED_CREDENTIALS_FILE", "credentials")]
        {
            let named = variables(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
            if let Some(path) = named.or_else(|| Some(home.as_ref()?.join(".aws").join(name))) {
                profiles.add(&read(&path)?, place == 0);
                profiles.files[place] = Some(path);
            }
        }
        Ok(profiles)
    }

    /// Adds the sections of a file. `prefixed`: profile names follow the word `profile`, except `default`.
    fn add(&mut self, text: &str, prefixed: bool) {
        let mut current: Option<(&mut Sections, String)> = None;
        // The last member without a value, which may have nested members.
        let mut above: Option<String> = None;
        for line in text.lines() {
            // Indented lines belong to the member before.
            let is_nested = line.starts_with([' ', '\t']);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) || is_nested && above.is_none() {
                continue;
            }
            if let Some((section, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                let section = section.trim();
                let unquoted = |name: &str| name.trim().trim_matches(['"', '\'']).to_owned();
                above = None;
                current = match section.split_once([' ', '\t']) {
                    Some(("profile", name)) => Some((&mut self.profiles, unquoted(name))),
                    Some(("services", name)) if prefixed => Some((&mut self.services, unquoted(name))),
                    None if !prefixed || section == "default" => {
                        Some((&mut self.profiles, section.to_owned()))
                    }
                    _ => None,
                };
                if let Some((sections, name)) = &mut current {
                    sections.entry(name.clone()).or_default();
                }
            } else if let (Some((sections, name)), Some((key, value))) = (&mut current, line.split_once('='))
            {
                let value = value.split([' ', '\t']).collect::<Vec<_>>();
                // A comment begins after a blank.
                let end = value.iter().position(|word| word.starts_with(['#', ';'])).unwrap_or(value.len());
                let value = value[..end].join(" ").trim().to_owned();
                let mut key = key.trim().to_ascii_lowercase();
                match &above {
                    Some(above) if is_nested => key = format!("{above}.{key}"),
                    _ => above = value.is_empty().then(|| key.clone()),
                }
                sections.entry(name.clone()).or_default().insert(key, value);
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.profiles.contains_key(name)
    }

    /// Returns the files: `config` and `credentials`.
    pub(crate) fn files(&self) -> &[Option<PathBuf>; 2] {
        &self.files
    }

    /// Makes the error for a missing profile.
    pub(crate) fn missing(&self, name: &str) -> Error {
        let files: Vec<String> = self.files.iter().flatten().map(|path| path.display().to_string()).collect();
        let files =
            if files.is_empty() { "there is no home directory".to_owned() } else { files.join(" and ") };
        ErrorKind::Auth.context(format!("profile {name:?} does not exist in {files}"))
    }

    /// Returns the endpoint of a profile for S3, or for all services.
    ///
    /// # Errors
    /// `NC_ES3` if it refers to a missing section of services.
    pub(crate) fn endpoint(&self, name: &str) -> Result<Option<&str>> {
        let of_services = match self.get(name, "services") {
            None => None,
            Some(section) => {
                let missing = || {
                    ErrorKind::S3
                        .context(format!("profile {name:?}: section [services {section}] does not exist"))
                };
                self.services
                    .get(section)
                    .ok_or_else(missing)?
                    .get("s3.endpoint_url")
                    .filter(|url| !url.is_empty())
            }
        };
        Ok(of_services.map(String::as_str).or_else(|| self.get(name, "endpoint_url")))
    }

    /// Returns a member of a profile that is not empty.
    pub(crate) fn get(&self, name: &str, key: &str) -> Option<&str> {
        self.profiles.get(name)?.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the credentials of a profile; `None` if it has none.
    ///
    /// # Errors
    /// `NC_EAUTH` if one key of the pair is missing.
    pub(crate) fn credentials(&self, name: &str) -> Result<Option<Credentials>> {
        let get = |key| self.get(name, key).map(Secret::new);
        if INDIRECT.iter().any(|key| self.get(name, key).is_some()) {
            return Ok(Some(Credentials::Profile(name.to_owned())));
        }
        match (get("aws_access_key_id"), get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => {
                Ok(Some(Credentials::Keys { id, secret, token: get("aws_session_token") }))
            }
            (None, None) => Ok(None),
            _ => Err(ErrorKind::Auth.context(format!(
                "profile {name:?} has only one of aws_access_key_id and aws_secret_access_key"
            ))),
        }
    }
}

impl fmt::Debug for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.profiles.keys()).finish()
    }
}

fn read(path: &Path) -> Result<String> {
    let bad = |what: &str| ErrorKind::S3.context(format!("{}: {what}", path.display()));
    match std::fs::metadata(path) {
        Ok(found) if found.len() > MOST => return Err(bad("longer than 4 MiB")),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(bad("cannot be read").caused_by(error)),
    }
    let bytes = std::fs::read(path).map_err(|error| bad("cannot be read").caused_by(error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_comments_and_overrides() {
        let mut profiles = Profiles::default();
        profiles.add(
            "# c\n[default]\nregion = eu-1 # ours\n[profile work]\nregion=us-2\naws_access_key_id=A\ns3 =\n  endpoint_url = x\n\
             [other]\nregion=no\n[profile \"a b\"]\nrole_arn=arn:x\n",
            true,
        );
        profiles.add(
            "[work]\naws_access_key_id = B\naws_secret_access_key = hush=1\naws_session_token=t\n",
            false,
        );
        assert_eq!(profiles.get("default", "region"), Some("eu-1"));
        assert_eq!(profiles.get("work", "region"), Some("us-2"));
        assert_eq!(
            (profiles.get("work", "endpoint_url"), profiles.get("work", "s3.endpoint_url")),
            (None, Some("x"))
        );
        assert!(!profiles.has("other") && profiles.has("a b"));
        let keys = Credentials::Keys {
            id: Secret::new("B"),
            secret: Secret::new("hush=1"),
            token: Some(Secret::new("t")),
        };
        assert_eq!(profiles.credentials("work").unwrap(), Some(keys));
        assert_eq!(profiles.credentials("a b").unwrap(), Some(Credentials::Profile("a b".to_owned())));
        assert_eq!(profiles.credentials("default").unwrap(), None);
        profiles.add(
            "[profile a]\nservices = one\nendpoint_url = all\n[profile b]\nservices=two\nendpoint_url=all\n\
             [profile c]\nservices = none\n[services one]\nsts =\n  endpoint_url = sts\ns3 = \n\n  # c\n  endpoint_url = own # c\n\
             [services two]\ndynamodb=\n endpoint_url = other\nendpoint_url = no\n",
            true,
        );
        assert_eq!(
            [profiles.endpoint("a").unwrap(), profiles.endpoint("b").unwrap()],
            [Some("own"), Some("all")]
        );
        assert!(profiles.endpoint("c").unwrap_err().to_string().contains("[services none]"));
        profiles.add("[half]\naws_secret_access_key = hush\n", false);
        let error = profiles.credentials("half").unwrap_err();
        assert!(error.kind() == ErrorKind::Auth && !error.to_string().contains("hush"), "{error}");
        assert!(!format!("{profiles:?}").contains("hush"));
    }
}
