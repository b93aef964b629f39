//! Which settings of a repository name programs, and what stands in.
//!
//! Agents can write the configuration that all worktrees share. A program that is named there
//! would run with the person's rights whenever orange looks at the repository. What the person
//! says in their own configuration stays in force.

use std::collections::BTreeSet;

/// One setting: where it stands, what it is called, what it says.
pub(super) struct Setting {
    is_repositorys: bool,
    key: String,
    value: String,
}

/// Keys that name programs, as a beginning and an end, and what stands in when nobody else says.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("filter.", ".clean", ""),
    ("filter.", ".smudge", ""),
    ("filter.", ".process", ""),
    ("filter.", ".required", "false"),
    ("merge.", ".driver", "false"),
    ("diff.", ".textconv", ""),
    ("diff.", ".command", ""),
    ("diff.external", "", ""),
    ("core.sshcommand", "", "ssh -oBatchMode=yes"),
    ("core.gitproxy", "", ""),
    ("core.alternaterefscommand", "", "true"),
    ("core.editor", "", "true"),
    ("sequence.editor", "", "true"),
    ("gpg.", "program", "false"),
    ("remote.", ".uploadpack", "git-upload-pack"),
    ("remote.", ".receivepack", "git-receive-pack"),
    ("remote.", ".vcs", ""),
    ("protocol.", "allow", "user"),
];

/// Reads `git config --list --show-scope -z`.
pub(super) fn parse(listing: &[u8]) -> Vec<Setting> {
    let parts: Vec<&[u8]> = super::call::parts(listing).collect();
    let mut settings = Vec::new();
    for pair in parts.chunks_exact(2) {
        let [scope, setting] = pair else { continue };
        let setting = String::from_utf8_lossy(setting);
        let (key, value) = setting.split_once('\n').unwrap_or((&setting, ""));
        settings.push(Setting {
            is_repositorys: matches!(*scope, b"local" | b"worktree"),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    settings
}

/// Whether each worktree may have settings of its own.
pub(super) fn has_worktree_settings(settings: &[Setting]) -> bool {
    let mut settings = settings.iter();
    settings.any(|it| it.key == "extensions.worktreeconfig" && it.value != "false")
}

/// Whether the repository keeps its refs and worktrees in the files that every git knows: nothing
/// about it is newer than they are, and no setting leads elsewhere.
pub(super) fn has_plain_files(settings: &[Setting]) -> bool {
    let mut is_versioned = false;
    for setting in settings {
        let (key, value) = (setting.key.as_str(), setting.value.as_str());
        is_versioned |= key == "core.repositoryformatversion" && matches!(value, "0" | "1");
        let is_plain = match key {
            "core.repositoryformatversion" => matches!(value, "0" | "1"),
            "core.bare" => value == "false",
            "core.worktree" => false,
            "extensions.refstorage" => value == "files",
            "extensions.objectformat" => matches!(value, "sha1" | "sha256"),
            "extensions.worktreeconfig"
            | "extensions.partialclone"
            | "extensions.preciousobjects"
            | "extensions.noop" => true,
            key => !key.starts_with("extensions."),
        };
        if !is_plain {
            return false;
        }
    }
    is_versioned
}

/// How many digits an id has; it depends on the repository's hash.
pub(super) fn id_digits(settings: &[Setting]) -> usize {
    let is_long = |it: &Setting| it.key == "extensions.objectformat" && it.value == "sha256";
    if settings.iter().any(is_long) { 64 } else { 40 }
}

/// The remote that is asked: `origin`, or the only one.
pub(super) fn remote(settings: &[Setting]) -> Option<String> {
    let name = |it: &Setting| {
        let name = it.key.strip_prefix("remote.")?.strip_suffix(".url")?;
        Some(name.to_owned())
    };
    let names: BTreeSet<String> = settings.iter().filter_map(name).collect();
    let is_origin = |name: &String| name == "origin" || names.len() == 1;
    names.iter().find(|name| is_origin(name)).cloned()
}

/// What the first branch of a new repository would be called.
pub(super) fn initial_branch(settings: &[Setting]) -> Option<String> {
    let mut settings = settings.iter().rev();
    let found = settings.find(|it| it.key == "init.defaultbranch")?;
    Some(found.value.clone())
}

/// What overrides the programs that the repository names.
pub(super) fn overrides(settings: &[Setting]) -> Vec<(String, String)> {
    let mut overrides = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for setting in settings.iter().filter(|it| it.is_repositorys) {
        let key = setting.key.as_str();
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let elsewhere = settings
            .iter()
            .filter(|it| !it.is_repositorys && it.key == key);
        let mut elsewhere = elsewhere.map(|it| it.value.clone());
        if is_credential_helper(key) {
            // An empty one forgets those before it.
            overrides.push((key.to_owned(), String::new()));
            overrides.extend(elsewhere.map(|value| (key.to_owned(), value)));
        } else if let Some(neutral) = neutral(key) {
            let value = elsewhere.next_back().unwrap_or_else(|| neutral.to_owned());
            overrides.push((key.to_owned(), value));
        }
    }
    let asks_ssh = settings.iter().any(|it| it.key == "core.sshcommand");
    if !asks_ssh {
        let ssh = ("core.sshCommand", "ssh -oBatchMode=yes");
        overrides.push((ssh.0.to_owned(), ssh.1.to_owned()));
    }
    overrides
}

fn is_credential_helper(key: &str) -> bool {
    key.starts_with("credential.") && key.ends_with(".helper") || key == "credential.helper"
}

fn neutral(key: &str) -> Option<&'static str> {
    let fits = |(begin, end, _): &&(&str, &str, &str)| {
        if end.is_empty() {
            key == *begin
        } else {
            key.len() > begin.len() && key.starts_with(begin) && key.ends_with(end)
        }
    };
    PROGRAMS.iter().find(fits).map(|(_, _, neutral)| *neutral)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overridden(listing: &str) -> Vec<(String, String)> {
        let listing = listing.replace('|', "\0").replace('=', "\n");
        let mut found = overrides(&parse(listing.as_bytes()));
        found.retain(|(key, _)| key != "core.sshCommand");
        found
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn what_the_repository_names_is_switched_off() {
        let found = overridden("local|filter.x.clean=evil|worktree|core.sshcommand=evil|");
        assert_eq!(
            found,
            [
                pair("filter.x.clean", ""),
                pair("core.sshcommand", "ssh -oBatchMode=yes")
            ]
        );
    }

    #[test]
    fn what_the_person_says_stays_in_force() {
        assert_eq!(overridden("global|filter.lfs.clean=lfs|").len(), 0);
        let both = overridden("global|filter.lfs.clean=lfs|local|filter.lfs.clean=evil|");
        assert_eq!(both, [pair("filter.lfs.clean", "lfs")]);
        let helpers = "global|credential.helper=store|local|credential.helper=evil|";
        let expected = [
            pair("credential.helper", ""),
            pair("credential.helper", "store"),
        ];
        assert_eq!(overridden(helpers), expected);
    }

    #[test]
    fn files_are_trusted_only_where_nothing_is_unknown() {
        let plain = |listing: &str| {
            let listing = listing.replace('|', "\0").replace('=', "\n");
            has_plain_files(&parse(listing.as_bytes()))
        };
        let usual = "local|core.repositoryformatversion=0|local|core.bare=false|";
        assert!(plain(usual));
        assert!(plain(&format!(
            "{usual}local|extensions.objectformat=sha256|"
        )));
        assert!(!plain("") && !plain("local|core.bare=false|"));
        for odd in [
            "core.repositoryformatversion=2",
            "extensions.refstorage=reftable",
            "extensions.tomorrow=1",
            "core.worktree=/elsewhere",
            "core.bare=true",
        ] {
            assert!(!plain(&format!("{usual}local|{odd}|")), "{odd}");
        }
    }

    #[test]
    fn other_settings_are_left_alone() {
        assert_eq!(
            overridden("local|core.filemode=true|local|user.name=x|").len(),
            0
        );
        assert_eq!(overridden("").len(), 0);
    }
}
