//! The remote, used only at its registered address.
//!
//! Agents can write the configuration that says where the remote is. So we record its address when
//! the project is registered, without passwords; while the configuration says anything else, we
//! neither fetch from the remote nor push to it.

use std::fmt;

use super::settings::Remote;
use crate::git::{Git, GitError};

/// The address of a remote, without passwords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteAddress {
    /// The address to fetch from.
    pub fetch: String,
    /// The address to push to, if it differs.
    pub push: Option<String>,
}

impl fmt::Display for RemoteAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.fetch)?;
        match &self.push {
            Some(push) => write!(formatter, " (pushes to `{push}`)"),
            None => Ok(()),
        }
    }
}

/// The recorded remote of a project.
#[derive(Clone, Debug)]
pub(crate) struct RegisteredRemote {
    project: String,
    address: Option<RemoteAddress>,
}

impl RemoteAddress {
    fn of(remote: &Remote) -> Self {
        Self {
            fetch: without_password(&remote.url),
            push: remote.push_url.as_deref().map(without_password),
        }
    }
}

impl Git {
    /// Sets the recorded remote of a project; `None` if it was registered without a remote.
    #[must_use]
    pub fn with_registered_remote(mut self, project: &str, address: Option<RemoteAddress>) -> Self {
        let project = project.to_owned();
        self.registered = Some(RegisteredRemote { project, address });
        if self.remote().is_err() {
            // git must not fetch missing objects from the changed remote either.
            let settings = &mut self.caller.passed_settings;
            settings.retain(|(key, _)| !key.starts_with("remote."));
        }
        self
    }

    /// The address of the remote in the repository's configuration, without passwords.
    pub fn remote_address(&self) -> Option<RemoteAddress> {
        self.settings.remote().as_ref().map(RemoteAddress::of)
    }

    /// The name of the remote, under which its tracking refs are stored.
    pub(crate) fn remote_name(&self) -> Option<String> {
        self.settings.remote().map(|remote| remote.name)
    }

    /// The remote, if there is one; an error while it differs from the registered one.
    pub(crate) fn remote(&self) -> Result<Option<Remote>, GitError> {
        let remote = self.settings.remote();
        let configured = remote.as_ref().map(RemoteAddress::of);
        let Some(registered) = self
            .registered
            .as_ref()
            .filter(|it| it.address != configured)
        else {
            return Ok(remote);
        };
        let describe = |address: &Option<RemoteAddress>| match address {
            Some(address) => address.to_string(),
            None => String::from("no remote"),
        };
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let mut accept = format!("orange project update {} --remote ", registered.project);
        accept += &quoted(configured.as_ref().map_or("", |it| it.fetch.as_str()));
        if let Some(push) = configured.as_ref().and_then(|it| it.push.as_deref()) {
            accept += " --push-remote ";
            accept += &quoted(push);
        }
        Err(GitError::RemoteChanged {
            configured: describe(&configured),
            registered: describe(&registered.address),
            accept,
        })
    }
}

/// An address without its password; unless it is an ssh address, the user name is removed too,
/// because many tokens are given as names.
pub fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return without_short_password(address);
    };
    let (host, path) = rest.split_at(authority_length(rest));
    let Some((user, host)) = host.rsplit_once('@') else {
        return address.to_owned();
    };
    let name = user.split(':').next().unwrap_or_default();
    if scheme.contains("ssh") && !name.is_empty() {
        return format!("{scheme}://{name}@{host}{path}");
    }
    format!("{scheme}://{host}{path}")
}

/// The length of the part before the path. If what follows its last colon is not a port, the first
/// slash may belong to a password; the part then extends past the last `@`.
fn authority_length(rest: &str) -> usize {
    let end = rest.find('/').unwrap_or(rest.len());
    let early = &rest[..end];
    let is_number = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = early.rsplit_once(':').is_none_or(|it| is_number(it.1));
    if has_port || early.contains(['@', '[']) {
        return end;
    }
    let Some(at) = rest.rfind('@') else {
        return end;
    };
    rest[at..].find('/').map_or(rest.len(), |it| at + it)
}

/// `name:password@host:path` without the password. Git would take `name` for the host, so nothing
/// can be fetched from such an address, but a message must not show the password.
fn without_short_password(address: &str) -> String {
    let end = address.find('/').unwrap_or(address.len());
    let user = address[..end].rfind('@').map(|at| address.split_at(at));
    match user.and_then(|(user, rest)| Some((user.split_once(':')?.0, rest))) {
        Some((name, rest)) => format!("{name}{rest}"),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_kept() {
        for (address, kept) in [
            ("https://ada:secret@host/a.git", "https://host/a.git"),
            ("https://ghp_token@host:8/a", "https://host:8/a"),
            ("https://host/a@b", "https://host/a@b"),
            ("ssh://git:x@host/a", "ssh://git@host/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("ada:secret@host:a/b.git", "ada@host:a/b.git"),
            ("ada:sec@ret@host:a", "ada@host:a"),
            ("https:ada:secret@host/a", "https@host/a"),
            ("https://ada:sec/ret@host/a", "https://host/a"),
            ("https://ada:sec@ret@host/a", "https://host/a"),
            ("https://host:8/a@b", "https://host:8/a@b"),
            ("https://[::1]/a@b", "https://[::1]/a@b"),
            ("host:a/b@c", "host:a/b@c"),
            ("/srv/a.git", "/srv/a.git"),
            ("/srv/a:b@c", "/srv/a:b@c"),
            ("https://host", "https://host"),
        ] {
            assert_eq!(without_password(address), kept);
        }
    }
}
