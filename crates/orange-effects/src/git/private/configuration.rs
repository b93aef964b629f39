//! The configuration of a private repository and of its remote.
//!
//! It is written here, key by key: who commits, how files are stored on this disk, and how the user
//! likes to merge. Nothing that names a program, a file or an address is taken over.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::git::repository::call::split_zero_terminated;
use crate::git::{GitError, Worktree};

/// The keys that are taken over from the user's configuration and from the repository's.
const TAKEN_OVER: &str = "^((user|author|committer)\\.(name|email)\
    |core\\.(autocrlf|eol|safecrlf|filemode|ignorecase|precomposeunicode|symlinks\
    |sparsecheckout|sparsecheckoutcone|abbrev|commentchar)\
    |diff\\.(algorithm|renames)|merge\\.(conflictstyle|ff|renames)|pull\\.(rebase|ff)\
    |rebase\\.(autosquash|autostash|updaterefs)|rerere\\.enabled\
    |i18n\\.commitencoding|init\\.defaultbranch)$";

/// Settings of every private repository, whatever the user's configuration says.
const FIXED: &[(&str, &str)] = &[
    ("core.bare", "false"),
    ("core.logallrefupdates", "true"),
    // The user's keys are outside.
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    // A background process would be killed with the sandbox.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// The last part of the address that git inside pushes to. There is nothing at it, so the name is
/// what the agent reads in git's message.
const NO_PUSH: &str = "nothing-is-pushed-from-a-sandbox";

/// Settings by their full key.
pub(super) type Values = BTreeMap<String, String>;

impl Worktree<'_> {
    /// The settings that a private repository takes over.
    pub(super) fn values_for_private(&self) -> Result<Values, GitError> {
        let call = self.call(["config", "-z", "--get-regexp", TAKEN_OVER]);
        let output = call.answer()?.unwrap_or_default();
        let mut values = Values::new();
        for part in split_zero_terminated(&output) {
            let text = String::from_utf8_lossy(part);
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            values.insert(key.to_owned(), value.to_owned());
        }
        values.extend(self.settings().identity());
        Ok(values)
    }
}

impl Worktree<'_> {
    /// The configuration of the repository without anything that names a program, a file or an
    /// address.
    pub fn configuration_for_sandbox(&self) -> Result<String, GitError> {
        let values = self.values_for_private()?;
        Ok(private(&self.git().settings.format(), &values, None))
    }
}

/// The configuration of a private repository; `format` describes how the real one is stored.
pub(super) fn private(format: &str, values: &Values, remote: Option<(&str, &Path)>) -> String {
    let mut text = format.to_owned();
    for (key, value) in values {
        add(&mut text, key, value);
    }
    for (key, value) in FIXED {
        add(&mut text, key, value);
    }
    if let Some((name, path)) = remote {
        let refspec = format!("+refs/heads/*:refs/remotes/{name}/*");
        let _never_fails = writeln!(text, "[remote \"{}\"]", escape(name));
        let no_push = path.join(NO_PUSH);
        for (key, value) in [
            ("url", path.to_string_lossy().as_ref()),
            ("fetch", &refspec),
            ("pushurl", no_push.to_string_lossy().as_ref()),
        ] {
            let _never_fails = writeln!(text, "\t{key} = \"{}\"", escape(value));
        }
    }
    text
}

/// The configuration of what stands for the remote.
pub(super) fn upstream(format: &str) -> String {
    let mut text = format.to_owned();
    add(&mut text, "core.bare", "true");
    text
}

/// Adds a setting; a value that is no plain text is left out.
fn add(text: &mut String, key: &str, value: &str) {
    if value.contains(char::is_control) {
        return;
    }
    if let Some((section, name)) = key.split_once('.') {
        let _never_fails = writeln!(text, "[{section}]\n\t{name} = \"{}\"", escape(value));
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repository::settings_text::parse;

    #[test]
    fn values_are_written_so_that_git_reads_the_same() {
        let mut values = Values::new();
        values.insert(String::from("user.name"), String::from("A \"B\" \\ #;C "));
        values.insert(
            String::from("user.email"),
            String::from("a\n[alias]\nx = !evil"),
        );
        let upstream = Path::new("/run/up \"stream\"");
        let text = private(
            "[core]\n\trepositoryformatversion = 0\n",
            &values,
            Some(("o\"r", upstream)),
        );
        let found: Values = parse(&text).unwrap().into_iter().collect();
        assert_eq!(found["user.name"], "A \"B\" \\ #;C ");
        assert!(!found.contains_key("user.email") && !text.contains("evil"));
        assert_eq!(found["remote.o\"r.url"], "/run/up \"stream\"");
        assert!(found["remote.o\"r.pushurl"].ends_with(NO_PUSH));
        assert_eq!(found["core.bare"], "false");
    }
}
