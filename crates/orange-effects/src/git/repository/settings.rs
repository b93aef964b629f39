//! Which settings of a repository's configuration are passed to git.
//!
//! Agents can write that configuration, so git itself never reads it (see `own_directory.rs`). We
//! read it here, as data: one file without its includes, and we use only settings that describe the
//! repository. Nothing that names a program, a URL rewrite or another file is passed on.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use super::own_directory::read_file;
use super::remote::without_password;
use super::settings_text::parse;
use crate::git::GitError;

/// Upper bound on a configuration's size.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Settings that describe how files are stored on this disk, and nothing else.
const PASSED_KEYS: &[&str] = &[
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
];

/// Settings for the author and committer.
const IDENTITY: &[&str] = &[
    "author.email",
    "author.name",
    "committer.email",
    "committer.name",
    "user.email",
    "user.name",
];

/// A setting: `section.key` or `section.subsection.key`, and its value.
pub(crate) type Setting = (String, String);

/// The content of a repository's configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    all: Vec<Setting>,
}

/// A remote, as the repository's configuration defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub name: String,
    pub url: String,
    /// The address to push to, if it differs.
    pub push_url: Option<String>,
    /// For a partial clone, the filter: missing objects can be fetched from this remote.
    pub partial_clone_filter: Option<String>,
}

impl Remote {
    /// The settings about this remote that are passed to git, and nothing else.
    pub fn settings(&self) -> Vec<Setting> {
        let name = &self.name;
        let refspec = format!("+refs/heads/*:refs/remotes/{name}/*");
        let mut settings = vec![("url", self.url.clone()), ("fetch", refspec)];
        settings.extend(self.push_url.clone().map(|it| ("pushurl", it)));
        if let Some(filter) = self.partial_clone_filter.clone() {
            settings.push(("promisor", String::from("true")));
            settings.push(("partialclonefilter", filter));
        }
        let settings = settings.into_iter();
        settings
            .map(|(key, value)| (format!("remote.{name}.{key}"), value))
            .collect()
    }

    /// Its name and the address to push to.
    pub fn name_and_address(&self) -> String {
        let address = self.push_url.as_ref().unwrap_or(&self.url);
        format!("{} ({})", self.name, without_password(address))
    }

    /// Whether git may use ssh to reach it.
    pub fn uses_ssh(&self) -> bool {
        let is_ssh = |url: &str| {
            let is_known = ["http://", "https://", "file://", "git://", "/", "."]
                .iter()
                .any(|start| url.starts_with(start));
            !is_known && url.contains(':')
        };
        is_ssh(&self.url) || self.push_url.as_deref().is_some_and(is_ssh)
    }
}

impl Settings {
    /// Reads a configuration file; a missing one is empty.
    pub fn read(path: &Path) -> Result<Self, GitError> {
        let bytes = read_file(path, LIMIT).map_err(GitError::system("read", path))?;
        let text = bytes.unwrap_or_default();
        let all = parse(&String::from_utf8_lossy(&text));
        let all = all.map_err(|line| GitError::Configuration {
            path: path.to_owned(),
            line,
        })?;
        Ok(Self { all })
    }

    /// Adds the settings of another file, which take precedence.
    pub fn and(mut self, other: Self) -> Self {
        self.all.extend(other.all);
        self
    }

    fn last(&self, key: &str) -> Option<&str> {
        let mut found = self.all.iter().rev().filter(|(it, _)| it == key);
        found.next().map(|(_, value)| value.as_str())
    }

    fn select(&self, keys: &[&str]) -> Vec<Setting> {
        let found = keys.iter().filter_map(|key| Some((*key, self.last(key)?)));
        found
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// The settings about the repository's files that are passed to git.
    pub fn passed_settings(&self) -> Vec<Setting> {
        self.select(PASSED_KEYS)
    }

    /// The author of commits, if the repository sets one.
    pub fn identity(&self) -> Vec<Setting> {
        self.select(IDENTITY)
    }

    /// Whether each worktree may have its own settings.
    pub fn has_worktree_settings(&self) -> bool {
        self.last("extensions.worktreeconfig")
            .is_some_and(|it| it != "false")
    }

    /// Whether it is a sparse checkout.
    pub fn is_sparse(&self) -> bool {
        let value = self.last("core.sparsecheckout");
        value.is_some_and(|it| {
            matches!(
                it.to_ascii_lowercase().as_str(),
                "true" | "yes" | "on" | "1"
            )
        })
    }

    /// Whether objects are fetched only when they are needed.
    pub fn is_partial_clone(&self) -> bool {
        let is_promisor = |(key, value): &Setting| {
            let is_remote = key.starts_with("remote.") && key.ends_with(".promisor");
            key == "extensions.partialclone" || is_remote && value != "false"
        };
        self.all.iter().any(is_promisor)
    }

    /// The length of an object id, which depends on the repository's hash.
    pub fn id_digits(&self) -> usize {
        match self.last("extensions.objectformat") {
            Some("sha256") => 64,
            _ => 40,
        }
    }

    /// The configuration for our own directory: only what describes how the repository is stored.
    pub fn format(&self) -> String {
        let version = self.last("core.repositoryformatversion").unwrap_or("0");
        let version: u32 = version.parse().unwrap_or(u32::MAX);
        let mut text = format!("[core]\n\trepositoryformatversion = {version}\n[extensions]\n");
        for (key, value) in &self.all {
            let Some(name) = key.strip_prefix("extensions.") else {
                continue;
            };
            let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
            // A worktree's own settings are not part of how the repository is stored.
            if name == "worktreeconfig" || !value.chars().all(is_plain) {
                continue;
            }
            let _never_fails = writeln!(text, "\t{name} = \"{value}\"");
        }
        text
    }

    /// Whether the repository stores its refs and worktrees in the files that every git knows: it
    /// uses no newer format, and no setting points elsewhere.
    pub fn has_plain_files(&self) -> bool {
        let is_plain = |(key, value): &Setting| match key.as_str() {
            "core.repositoryformatversion" => matches!(value.as_str(), "0" | "1"),
            "core.bare" => value == "false",
            "core.worktree" => false,
            "extensions.refstorage" => value == "files",
            "extensions.objectformat" => matches!(value.as_str(), "sha1" | "sha256"),
            "extensions.worktreeconfig"
            | "extensions.partialclone"
            | "extensions.preciousobjects"
            | "extensions.noop" => true,
            key => !key.starts_with("extensions."),
        };
        self.last("core.repositoryformatversion").is_some() && self.all.iter().all(is_plain)
    }

    /// The remote to use: `origin`, or the only one.
    pub fn remote(&self) -> Option<Remote> {
        let name = |(key, _): &Setting| {
            let name = key.strip_prefix("remote.")?.strip_suffix(".url")?;
            Some(name.to_owned())
        };
        let names: BTreeSet<String> = self.all.iter().filter_map(name).collect();
        let is_chosen = |name: &&String| *name == "origin" || names.len() == 1;
        let name = names.iter().find(is_chosen)?.clone();
        let first = |key: &str| {
            let key = format!("remote.{name}.{key}");
            let mut found = self.all.iter().filter(|(it, _)| *it == key);
            found.next().map(|(_, value)| value.clone())
        };
        let url = first("url")?;
        Some(Remote {
            push_url: first("pushurl").filter(|it| *it != url),
            partial_clone_filter: first("promisor")
                .filter(|it| it != "false")
                .map(|_| first("partialclonefilter").unwrap_or_default()),
            url,
            name,
        })
    }

    /// Every `NAME` in a key `SECTION.NAME.END` of the repository's configuration, for these
    /// `ends`.
    pub fn names(&self, section: &str, ends: &[&str]) -> BTreeSet<String> {
        let name = |(key, _): &Setting| {
            let rest = key.strip_prefix(section)?.strip_prefix('.')?;
            let name = ends.iter().find_map(|end| rest.strip_suffix(end))?;
            Some(name.to_owned())
        };
        self.all.iter().filter_map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings {
            all: parse(text).unwrap(),
        }
    }

    #[test]
    fn only_settings_that_describe_the_repository_are_copied() {
        let found = settings(
            "[core]\nfilemode = false\nhooksPath = /evil\nfsmonitor = evil\nsshCommand = evil\n\
             excludesFile = /pipe\nattributesFile = /evil\nbigFileThreshold = 1\n\
             [filter \"x\"]\nclean = evil\n[include]\npath = /evil\n[url \"/evil\"]\ninsteadOf = /a\n",
        );
        assert_eq!(
            found.passed_settings(),
            [(String::from("core.filemode"), String::from("false"))]
        );
        assert_eq!(
            found.format(),
            "[core]\n\trepositoryformatversion = 0\n[extensions]\n"
        );
        assert_eq!(found.names("filter", &[".clean"]).len(), 1);
    }

    #[test]
    fn the_repository_format_is_kept() {
        let found = settings(
            "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectFormat = sha256\n\
             worktreeConfig = true\nrefStorage = \"reftable://a b\"\n",
        );
        let expected = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = \
                        \"sha256\"\n";
        assert_eq!(found.format(), expected);
        assert_eq!(found.id_digits(), 64);
        assert!(found.has_worktree_settings());
    }

    #[test]
    fn files_are_trusted_only_without_unknown_settings() {
        let usual = "[core]\nrepositoryformatversion = 0\nbare = false\n";
        assert!(settings(usual).has_plain_files());
        let long = format!("{usual}[extensions]\nobjectformat = sha256\n");
        assert!(settings(&long).has_plain_files());
        assert!(!settings("").has_plain_files());
        assert!(!settings("[core]\nbare = false\n").has_plain_files());
        for odd in [
            "[core]\nrepositoryformatversion = 2",
            "[extensions]\nrefstorage = reftable",
            "[extensions]\ntomorrow = 1",
            "[core]\nworktree = /elsewhere",
            "[core]\nbare = true",
        ] {
            assert!(
                !settings(&format!("{usual}{odd}\n")).has_plain_files(),
                "{odd}"
            );
        }
    }

    #[test]
    fn the_remote_is_origin_or_the_only_one() {
        let two =
            "[remote \"a\"]\nurl = /a\n[remote \"origin\"]\nurl = /o\nurl = /p\npushurl = /q\n";
        let found = settings(two).remote().unwrap();
        assert_eq!((found.name.as_str(), found.url.as_str()), ("origin", "/o"));
        assert_eq!(found.push_url.as_deref(), Some("/q"));
        let only = settings("[remote \"up\"]\nurl = /u\npushurl = /u\n")
            .remote()
            .unwrap();
        assert_eq!((only.name.as_str(), only.push_url), ("up", None));
        let many = "[remote \"a\"]\nurl = /a\n[remote \"b\"]\nurl = /b\n";
        assert_eq!(settings(many).remote(), None);
    }
}
