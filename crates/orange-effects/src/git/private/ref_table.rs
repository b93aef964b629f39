//! The refs that a private repository gets, as one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use super::commit_id_in;
use crate::git::repository::name::is_ref;
use crate::git::repository::own_directory::read_file;
use crate::git::{Git, GitError};
use crate::safe_directory::{EntryKind, SafeDirectory};

/// The namespaces that an agent sees. Stashes, rescues and the like stay outside.
const SHOWN: [&str; 4] = ["refs/heads", "refs/notes", "refs/remotes", "refs/tags"];

/// Upper bound on the size of a packed file, and of the file of one ref.
const PACKED_LIMIT: u64 = 256 * 1024 * 1024;
const LOOSE_LIMIT: u64 = 1024;

/// Refs by their full names. Symbolic refs are not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RefTable(pub BTreeMap<String, CommitId>);

impl RefTable {
    /// Reads the text of a file with packed refs; a line that is none is left out.
    pub fn from_packed(text: &[u8]) -> Self {
        let mut table = Self::default();
        let digits = |id: &str| matches!(id.len(), 40 | 64).then_some(id.len());
        for line in text.split(|byte| *byte == b'\n') {
            let Some((id, name)) = std::str::from_utf8(line)
                .ok()
                .and_then(|it| it.split_once(' '))
            else {
                continue;
            };
            let id = digits(id).and_then(|digits| commit_id_in(id.as_bytes(), digits));
            if let Some(id) = id.filter(|_| is_shown(name)) {
                table.0.insert(name.to_owned(), id);
            }
        }
        table
    }

    /// The text of a file with packed refs. It does not say what a tag points to, so git looks.
    pub fn to_packed(&self) -> String {
        let mut text = String::from("# pack-refs with: sorted \n");
        for (name, id) in &self.0 {
            let _never_fails = writeln!(text, "{id} {name}");
        }
        text
    }

    /// What the remote would show: its branches as last fetched, and the tags.
    pub fn as_remote(&self, remote: &str) -> Self {
        let prefix = format!("refs/remotes/{remote}/");
        let shown = self.0.iter().filter_map(|(name, id)| {
            let name = match name.strip_prefix(&prefix) {
                Some(branch) => format!("refs/heads/{branch}"),
                None => name.starts_with("refs/tags/").then(|| name.clone())?,
            };
            Some((name, id.clone()))
        });
        Self(shown.collect())
    }

    /// The commands for `git update-ref --stdin` that lead from an older table to this one. The
    /// deletions come before the updates and in a script of their own, because `a` has to be gone
    /// before there can be `a/b`.
    pub fn updates_since(&self, older: &Self, except: &str) -> [String; 2] {
        let (mut deletions, mut updates) = (String::new(), String::new());
        for (name, id) in self.0.iter().filter(|(name, _)| *name != except) {
            if older.0.get(name) != Some(id) {
                let _never_fails = writeln!(updates, "update {name} {id}");
            }
        }
        let gone = older.0.keys().filter(|name| !self.0.contains_key(*name));
        for name in gone.filter(|name| *name != except) {
            let _never_fails = writeln!(deletions, "delete {name}");
        }
        [deletions, updates]
    }
}

impl Git {
    /// The refs that an agent sees, read as files: those with a file of their own first, because
    /// git packs a ref before it removes its file.
    pub(super) fn shown_refs(&self) -> Result<RefTable, GitError> {
        let place = SafeDirectory::open(self.directory());
        let place = place.map_err(GitError::system("open", self.directory()))?;
        let mut loose = BTreeMap::new();
        for namespace in SHOWN {
            let files = place.files(Path::new(namespace));
            let files =
                files.map_err(GitError::system("read", &self.directory().join(namespace)))?;
            for file in files {
                let Some(name) = file.to_str().filter(|name| is_shown(name)) else {
                    continue;
                };
                if let Some(id) = self.id_of_loose(&place, &file) {
                    loose.insert(name.to_owned(), id);
                }
            }
        }
        let packed = self.directory().join("packed-refs");
        let text = read_file(&packed, PACKED_LIMIT).map_err(GitError::system("read", &packed))?;
        let mut table = RefTable::from_packed(&text.unwrap_or_default());
        table.0.extend(loose);
        Ok(table)
    }

    fn id_of_loose(&self, place: &SafeDirectory, file: &Path) -> Option<CommitId> {
        if !matches!(place.kind(file), Ok(EntryKind::Entry(_))) {
            return None;
        }
        let text = read_file(&self.directory().join(file), LOOSE_LIMIT).ok()??;
        commit_id_in(&text, self.id_digits())
    }

    /// The branch that the remote's `HEAD` names, by the full name of its remote-tracking ref.
    pub(super) fn remote_head_target(&self, remote: &str) -> Option<String> {
        let path: PathBuf = self.directory().join(format!("refs/remotes/{remote}/HEAD"));
        let text = read_file(&path, LOOSE_LIMIT).ok()??;
        let text = std::str::from_utf8(&text).ok()?.trim_end();
        let target = text.strip_prefix("ref: ")?;
        let is_own = target.starts_with(&format!("refs/remotes/{remote}/"));
        (is_own && is_shown(target)).then(|| target.to_owned())
    }
}

fn is_shown(name: &str) -> bool {
    let is_below = |namespace: &str| {
        let rest = name.strip_prefix(namespace);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    SHOWN.into_iter().any(is_below) && is_ref(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, char)]) -> RefTable {
        let rows = rows.iter();
        RefTable(
            rows.map(|(name, id)| ((*name).to_owned(), CommitId::new(id.to_string().repeat(40))))
                .collect(),
        )
    }

    #[test]
    fn a_table_is_read_back() {
        let refs = table(&[("refs/heads/a", '1'), ("refs/tags/b/c", 'f')]);
        assert_eq!(RefTable::from_packed(refs.to_packed().as_bytes()), refs);
    }

    #[test]
    fn lines_that_are_no_refs_of_ours_are_left_out() {
        let id = "1".repeat(40);
        let lines = [
            format!("{id} refs/heads/good"),
            format!("^{id}"),
            format!("{id} refs/orange/rescue/t1/1"),
            format!("{id} refs/stash"),
            format!("{id} refs/heads/../../config"),
            format!("{id} refs/heads/a.lock"),
            format!("{id} refs/headsx/a"),
            format!("{} refs/heads/short", "1".repeat(39)),
            format!("{} refs/heads/upper", "A".repeat(40)),
            String::from("# comment"),
        ];
        let found = RefTable::from_packed(lines.join("\n").as_bytes());
        assert_eq!(found, table(&[("refs/heads/good", '1')]));
    }

    #[test]
    fn only_changes_are_told_and_never_the_tasks_branch() {
        let older = table(&[
            ("refs/heads/gone", '1'),
            ("refs/heads/main", '1'),
            ("refs/heads/same", '1'),
            ("refs/heads/task", '1'),
        ]);
        let newer = table(&[
            ("refs/heads/main", '2'),
            ("refs/heads/same", '1'),
            ("refs/heads/task", '2'),
            ("refs/tags/new", '3'),
        ]);
        let [deletions, updates] = newer.updates_since(&older, "refs/heads/task");
        let expected = format!(
            "update refs/heads/main {}\nupdate refs/tags/new {}\n",
            "2".repeat(40),
            "3".repeat(40)
        );
        assert_eq!(updates, expected);
        assert_eq!(deletions, "delete refs/heads/gone\n");
        let nothing = [String::new(), String::new()];
        assert_eq!(newer.updates_since(&newer, "refs/heads/task"), nothing);
    }

    #[test]
    fn the_remote_shows_its_own_branches_and_the_tags() {
        let refs = table(&[
            ("refs/heads/local", '1'),
            ("refs/remotes/origin/main", '2'),
            ("refs/remotes/other/x", '3'),
            ("refs/tags/v1", '4'),
        ]);
        let expected = table(&[("refs/heads/main", '2'), ("refs/tags/v1", '4')]);
        assert_eq!(refs.as_remote("origin"), expected);
    }
}
