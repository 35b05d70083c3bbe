//! [`Profiles`]: the profiles of Amazon's configuration files.
//!
//! `AWS_CONFIG_FILE` or `~/.aws/config`, then `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`; what stands later
//! counts. Only what is plainly written there is known here; roles, programs and single sign-on are the SDK's.
//!
//! Source: Amazon's description of the shared configuration files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use model::{ErrorKind, Result};

use crate::access::Variables;
use crate::secret::{Credentials, Secret};

/// A file larger than this is none of these.
const MOST: u64 = 4 << 20;

/// Members that say how keys are come by.
const INDIRECT: &[&str] =
    &["role_arn", "credential_process", "sso_session", "sso_start_url", "web_identity_token_file", "credential_source"];

/// All profiles by name. Values may be secrets: nothing prints them.
#[derive(Default, Clone)]
pub(crate) struct Profiles(BTreeMap<String, BTreeMap<String, String>>);

impl Profiles {
    /// Reads the files. Files that are not there are none.
    ///
    /// # Errors
    /// `NC_ES3` naming a file that is there and cannot be read.
    pub(crate) fn load(variables: &Variables<'_>) -> Result<Self> {
        let mut profiles = Self::default();
        let home = variables("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        for (variable, name, prefixed) in
            [("AWS_CONFIG_FILE", "config", true), ("AWS_SHARED_CREDENTIALS_FILE", "credentials", false)]
        {
            let named = variables(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
            if let Some(path) = named.or_else(|| Some(home.as_ref()?.join(".aws").join(name))) {
                profiles.add(&read(&path)?, prefixed);
            }
        }
        Ok(profiles)
    }

    /// Adds the sections of a file. `prefixed`: names stand behind `profile`, but for `default`.
    fn add(&mut self, text: &str, prefixed: bool) {
        let mut current: Option<String> = None;
        for line in text.lines() {
            // Lines that begin with a blank belong to the member before.
            if line.starts_with([' ', '\t']) {
                continue;
            }
            let line = line.trim_end();
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some((section, _)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
                let section = section.trim();
                let name = match section.split_once([' ', '\t']) {
                    Some(("profile", name)) => Some(name.trim().trim_matches(['"', '\''])),
                    None if !prefixed || section == "default" => Some(section),
                    _ => None,
                };
                current = name.map(str::to_owned);
                if let Some(name) = &current {
                    self.0.entry(name.clone()).or_default();
                }
            } else if let (Some(name), Some((key, value))) = (&current, line.split_once('=')) {
                let value = value.split([' ', '\t']).collect::<Vec<_>>();
                // A comment begins behind a blank.
                let end = value.iter().position(|word| word.starts_with(['#', ';'])).unwrap_or(value.len());
                let value = value[..end].join(" ").trim().to_owned();
                self.0.entry(name.clone()).or_default().insert(key.trim().to_ascii_lowercase(), value);
            }
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A member of a profile that is not empty.
    pub(crate) fn get(&self, name: &str, key: &str) -> Option<&str> {
        self.0.get(name)?.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Who signs for a profile; `None` if it says nothing of it.
    ///
    /// # Errors
    /// `NC_EAUTH` for half a pair of keys.
    pub(crate) fn credentials(&self, name: &str) -> Result<Option<Credentials>> {
        let get = |key| self.get(name, key).map(Secret::new);
        if INDIRECT.iter().any(|key| self.get(name, key).is_some()) {
            return Ok(Some(Credentials::Profile(name.to_owned())));
        }
        match (get("aws_access_key_id"), get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => Ok(Some(Credentials::Keys { id, secret, token: get("aws_session_token") })),
            (None, None) => Ok(None),
            _ => Err(ErrorKind::Auth
                .context(format!("profile {name:?} has only one of aws_access_key_id and aws_secret_access_key"))),
        }
    }
}

impl fmt::Debug for Profiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
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
    fn sections_comments_and_what_overrides() {
        let mut profiles = Profiles::default();
        profiles.add(
            "# c\n[default]\nregion = eu-1 # ours\n[profile work]\nregion=us-2\naws_access_key_id=A\ns3 =\n  endpoint_url = x\n\
             [other]\nregion=no\n[profile \"a b\"]\nrole_arn=arn:x\n",
            true,
        );
        profiles.add("[work]\naws_access_key_id = B\naws_secret_access_key = hush=1\naws_session_token=t\n", false);
        assert_eq!(profiles.get("default", "region"), Some("eu-1"));
        assert_eq!(profiles.get("work", "region"), Some("us-2"));
        assert_eq!(profiles.get("work", "endpoint_url"), None);
        assert!(!profiles.has("other") && profiles.has("a b"));
        let keys =
            Credentials::Keys { id: Secret::new("B"), secret: Secret::new("hush=1"), token: Some(Secret::new("t")) };
        assert_eq!(profiles.credentials("work").unwrap(), Some(keys));
        assert_eq!(profiles.credentials("a b").unwrap(), Some(Credentials::Profile("a b".to_owned())));
        assert_eq!(profiles.credentials("default").unwrap(), None);
        profiles.add("[half]\naws_secret_access_key = hush\n", false);
        let error = profiles.credentials("half").unwrap_err();
        assert!(error.kind() == ErrorKind::Auth && !error.to_string().contains("hush"), "{error}");
        assert!(!format!("{profiles:?}").contains("hush"));
    }
}
