//! [`CredentialSources`]: the credentials in URL, rc files, profiles and environment. No request is sent.
//!
//! Keys written there are used. The SDK later gets those of a role, a program or single sign-on.

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::Target;

use crate::environment::Variables;
use crate::location::percent_decoded;
use crate::profiles::Profiles;
use crate::secret::{Credentials, Secret};

/// The sources, without the URL.
pub(crate) struct CredentialSources<'s> {
    pub(crate) target: &'s Target,
    /// The name of the chosen profile.
    pub(crate) named: Option<&'s str>,
    pub(crate) profiles: &'s Profiles,
    pub(crate) said: &'s dyn Fn(&str) -> Option<String>,
    pub(crate) variables: &'s Variables<'s>,
}

impl CredentialSources<'_> {
    /// Returns the credentials for requests.
    ///
    /// # Errors
    /// `NC_EAUTH` if one key of a pair is missing; `NC_EURL` if a switch in the URL is neither on nor off.
    pub(crate) fn credentials(&self) -> Result<Credentials> {
        let by_url = self.target.get("aws.no_sign_request");
        if switch(self.target, "aws.no_sign_request", by_url)? == Some(true) {
            return Ok(Credentials::Unsigned);
        }
        if let Some(keys) = self.user_info()? {
            return Ok(keys);
        }
        let said = (self.said)("AWS.NO_SIGN_REQUEST").or_else(|| (self.variables)("AWS_NO_SIGN_REQUEST"));
        let is_off = by_url.is_some_and(|text| !text.is_empty());
        if !is_off && switch(self.target, "AWS_NO_SIGN_REQUEST", said.as_deref())? == Some(true) {
            return Ok(Credentials::Unsigned);
        }
        self.configured()
    }

    /// Returns the credentials if the URL has none.
    fn configured(&self) -> Result<Credentials> {
        match self.named {
            Some("no") => return Ok(Credentials::Unsigned),
            Some(name) => {
                if let Some(found) = self.of_profile(name)? {
                    return Ok(found);
                }
            }
            None => {}
        }
        for (names, from, place) in [
            (["AWS.ACCESS_KEY_ID", "AWS.SECRET_ACCESS_KEY", "AWS.SESSION_TOKEN"], self.said, "the rc files"),
            (
                ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
                self.variables,
                "the environment",
            ),
        ] {
            let [id, secret, token] = names.map(|name| from(name).map(Secret::new));
            match (id, secret) {
                (Some(id), Some(secret)) => return Ok(Credentials::Keys { id, secret, token }),
                (None, None) => {}
                _ => {
                    let what = format!("{}: only one of key id and secret key in {place}", self.target);
                    return Err(ErrorKind::Auth.context(what));
                }
            }
        }
        if let Some(found) = self.of_profile("default")? {
            return Ok(found);
        }
        let has = |name: &str| (self.variables)(name).is_some();
        if has("AWS_WEB_IDENTITY_TOKEN_FILE") && has("AWS_ROLE_ARN") {
            return Ok(Credentials::WebIdentity);
        }
        if has("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || has("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            return Ok(Credentials::Container);
        }
        Ok(Credentials::Anonymous)
    }

    fn of_profile(&self, name: &str) -> Result<Option<Credentials>> {
        self.profiles.credentials(name).map_err(|error| error.at(self.target))
    }

    /// Returns the keys in the URL: `id:secret@`.
    fn user_info(&self) -> Result<Option<Credentials>> {
        let Some(text) = &self.target.user_info else { return Ok(None) };
        let what = "the user information is not a pair of key id and secret key";
        let bad = || ErrorKind::Url.context(format!("{}: {what}", self.target));
        let (id, secret) = text.split_once(':').ok_or_else(bad)?;
        let decoded = |text: &str| {
            percent_decoded(text).filter(|text| !text.is_empty()).map(Secret::new).ok_or_else(bad)
        };
        Ok(Some(Credentials::Keys { id: decoded(id)?, secret: decoded(secret)?, token: None }))
    }
}

/// Parses a switch, on or off.
///
/// # Errors
/// `NC_EURL` if it is neither.
pub(crate) fn switch(target: &Target, name: &str, text: Option<&str>) -> Result<Option<bool>> {
    match text.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "1" | "true" | "yes" | "on" => Ok(Some(true)),
        "0" | "false" | "no" | "off" => Ok(Some(false)),
        _ => Err(ErrorKind::Url.context(format!("{target}: {name} is neither true nor false"))),
    }
}
