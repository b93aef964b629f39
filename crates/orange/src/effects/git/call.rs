//! Calls git with a known environment and nothing of the repository's own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_engine::time::Timestamp;

use super::planted;
use super::{Git, GitError, Worktree};
use crate::effects::command::{Ending, Finished, Invocation};

/// How much of an answer is read: a listing of some million files.
const LIMIT: usize = 1024 * 1024 * 1024;

/// What every call is told, whatever the repository or the person says.
const SETTINGS: &[(&str, &str)] = &[
    // No program of the repository runs, and none asks anybody anything.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    // A change must not stay unseen.
    ("core.untrackedCache", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    // What is said to be saved survives a loss of power.
    ("core.fsync", "all"),
];

/// Who makes rescues; a person's name must not stand under what no person wrote.
const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "orange"),
    ("GIT_AUTHOR_EMAIL", "orange@localhost"),
    ("GIT_COMMITTER_NAME", "orange"),
    ("GIT_COMMITTER_EMAIL", "orange@localhost"),
];

/// One call of git.
pub(super) struct Call {
    invocation: Invocation,
}

impl Git {
    /// A call about the repository as a whole.
    pub(super) fn call<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Call {
        let variables = self.variables(&self.settings, Some(&self.directory), None, None);
        self.invoke(variables, &self.directory).and(words)
    }

    /// The same, with the attributes of a commit; a git before 2.41 takes those it finds.
    pub(super) fn call_as_of<A: AsRef<OsStr>>(
        &self,
        commit: &str,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.variables(&self.settings, Some(&self.directory), None, None);
        variables.insert("GIT_ATTR_SOURCE".into(), commit.into());
        self.invoke(variables, &self.directory).and(words)
    }

    /// The same, in the name of the person, as the configuration has it, at a given time.
    pub(super) fn call_by_person<A: AsRef<OsStr>>(
        &self,
        at: Timestamp,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.variables(&self.settings, Some(&self.directory), None, None);
        for (name, _) in IDENTITY {
            variables.remove(OsStr::new(name));
        }
        let date = format!("@{} +0000", at.millis().div_euclid(1000));
        for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            variables.insert(name.into(), date.clone().into());
        }
        // A name that is made up of the machine's is nobody's.
        let known = ["-c", "user.useConfigOnly=true"];
        self.invoke(variables, &self.directory)
            .and(known)
            .and(words)
    }

    /// A call that finds out which repository a directory belongs to.
    pub(super) fn discovering(&self, directory: &Path) -> Call {
        let variables = self.variables(&self.settings, None, None, None);
        self.invoke(variables, directory)
    }

    fn invoke(&self, variables: BTreeMap<OsString, OsString>, directory: &Path) -> Call {
        let invocation = Invocation::new(&self.program, variables)
            .directory(directory)
            .timeout(self.local_timeout)
            .limit(LIMIT)
            .arguments(["--literal-pathspecs"]);
        Call { invocation }
    }

    fn variables(
        &self,
        settings: &[(String, String)],
        directory: Option<&Path>,
        worktree: Option<&Path>,
        index: Option<&Path>,
    ) -> BTreeMap<OsString, OsString> {
        let mut variables = self.environment.clone();
        let mut set = |name: &str, value: &OsStr| variables.insert(name.into(), value.into());
        for (name, value) in IDENTITY {
            set(name, value.as_ref());
        }
        set("LC_ALL", "C".as_ref());
        set("GIT_TERMINAL_PROMPT", "0".as_ref());
        set("GIT_OPTIONAL_LOCKS", "0".as_ref());
        set("GIT_NO_REPLACE_OBJECTS", "1".as_ref());
        let places = [
            ("GIT_DIR", directory),
            ("GIT_WORK_TREE", worktree),
            ("GIT_INDEX_FILE", index),
        ];
        for (name, path) in places {
            if let Some(path) = path {
                set(name, path.as_os_str());
            }
        }
        let fixed = SETTINGS.iter().copied();
        let learned = settings.iter().map(|(key, value)| (&**key, &**value));
        let mut count = 0;
        for (key, value) in fixed.chain(learned) {
            set(&format!("GIT_CONFIG_KEY_{count}"), key.as_ref());
            set(&format!("GIT_CONFIG_VALUE_{count}"), value.as_ref());
            count += 1;
        }
        set("GIT_CONFIG_COUNT", count.to_string().as_ref());
        variables
    }

    /// Reads the configuration, and keeps what switches off the programs that it names.
    pub(super) fn learn_settings(&mut self) -> Result<(), GitError> {
        let listing = self.call(["config", "--list", "--show-scope", "-z"]);
        let listing = planted::parse(&listing.bytes()?);
        self.settings = planted::overrides(&listing);
        self.has_worktree_settings = planted::has_worktree_settings(&listing);
        self.remote = planted::remote(&listing);
        self.initial_branch = planted::initial_branch(&listing);
        self.has_plain_files = planted::has_plain_files(&listing);
        self.id_digits = planted::id_digits(&listing);
        Ok(())
    }

    /// A call that talks to the remote, within the bound for the network.
    pub(super) fn call_remote<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
        remote: &str,
        program: &str,
    ) -> Call {
        let call = self.call(words).and(self.their_program(remote, program));
        let call = call.and(["--", remote]).timeout(self.network_timeout());
        // A remote may be a path, which is meant as seen from the checkout.
        let above = self.directory().parent();
        match above.filter(|_| self.directory().ends_with(".git")) {
            Some(above) => call.within(above),
            None => call,
        }
    }

    /// The option that says which program answers at the remote, where the repository names one:
    /// of several settings git takes the first, so that ours alone would not count.
    fn their_program(&self, remote: &str, option: &str) -> Option<String> {
        let key = format!("remote.{remote}.{}", option.replace('-', ""));
        let mut settings = self.settings.iter();
        let (_, program) = settings.find(|(known, _)| *known == key)?;
        Some(format!("--{option}={program}"))
    }

    /// How long the network may take.
    pub(super) fn network_timeout(&self) -> Duration {
        self.network_timeout
    }
}

impl Worktree<'_> {
    /// A call in the worktree, which cannot mean any other.
    pub(super) fn call<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Call {
        self.invoke(None).and(words)
    }

    /// The same, allowed to note in the index what it has found out, if nobody else has it locked.
    pub(super) fn call_noting<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Call {
        let mut variables = self.variables(None);
        variables.insert("GIT_OPTIONAL_LOCKS".into(), "1".into());
        self.git().invoke(variables, self.path()).and(words)
    }

    /// The same, on another index.
    pub(super) fn call_on<A: AsRef<OsStr>>(
        &self,
        index: &Path,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        self.invoke(Some(index)).and(words)
    }

    /// The same, with the attributes of a commit; a git before 2.41 takes those of the worktree.
    pub(super) fn call_as_of<A: AsRef<OsStr>>(
        &self,
        commit: &str,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let mut variables = self.variables(None);
        variables.insert("GIT_ATTR_SOURCE".into(), commit.into());
        self.git().invoke(variables, self.path()).and(words)
    }

    fn invoke(&self, index: Option<&Path>) -> Call {
        self.git().invoke(self.variables(index), self.path())
    }

    fn variables(&self, index: Option<&Path>) -> BTreeMap<OsString, OsString> {
        let (directory, path) = (Some(self.directory()), Some(self.path()));
        let settings = self.settings();
        self.git().variables(settings, directory, path, index)
    }
}

impl Call {
    pub fn and<A: AsRef<OsStr>>(self, words: impl IntoIterator<Item = A>) -> Self {
        let invocation = self.invocation.arguments(words);
        Self { invocation }
    }

    pub fn input(self, input: impl Into<Vec<u8>>) -> Self {
        let invocation = self.invocation.input(input);
        Self { invocation }
    }

    fn within(self, directory: &Path) -> Self {
        let invocation = self.invocation.directory(directory);
        Self { invocation }
    }

    pub fn timeout(self, timeout: Duration) -> Self {
        let invocation = self.invocation.timeout(timeout);
        Self { invocation }
    }

    /// What it printed, if it succeeded.
    pub fn bytes(&self) -> Result<Vec<u8>, GitError> {
        self.whole(self.invocation.require_success()?)
    }

    /// How it ended, whatever that is.
    pub fn finish(&self) -> Result<Finished, GitError> {
        let finished = self.invocation.run()?;
        if finished.stdout.is_cut {
            return Err(GitError::TooLong(self.invocation.to_string()));
        }
        Ok(finished)
    }

    /// The error for an ending that the caller does not accept.
    pub fn failed(&self, finished: Finished) -> GitError {
        self.invocation.failed(finished).into()
    }

    /// What it printed, or nothing if it said no with code 1.
    pub fn answer(&self) -> Result<Option<Vec<u8>>, GitError> {
        let finished = self.invocation.run()?;
        match finished.ending {
            Ending::Code(0) => self.whole(finished).map(Some),
            Ending::Code(1) => Ok(None),
            _ => Err(self.invocation.failed(finished).into()),
        }
    }

    /// Nothing if it succeeded, or its words if it said no with code 1.
    pub fn objection(&self) -> Result<Option<String>, GitError> {
        let finished = self.invocation.run()?;
        match finished.ending {
            Ending::Code(0) => Ok(None),
            Ending::Code(1) => {
                let words = String::from_utf8_lossy(&finished.stderr.bytes);
                Ok(Some(words.trim().to_owned()))
            }
            _ => Err(self.invocation.failed(finished).into()),
        }
    }

    /// Succeeds or fails.
    pub fn succeed(&self) -> Result<(), GitError> {
        self.bytes().map(drop)
    }

    /// The one line it printed.
    pub fn text(&self) -> Result<String, GitError> {
        let bytes = self.bytes()?;
        let text = String::from_utf8(bytes).map_err(|error| self.garbled(error.as_bytes()))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// The path it printed.
    pub fn path(&self) -> Result<PathBuf, GitError> {
        let mut bytes = self.bytes()?;
        if bytes.pop() != Some(b'\n') || bytes.is_empty() {
            return Err(self.garbled(&bytes));
        }
        Ok(OsString::from_vec(bytes).into())
    }

    /// An answer that makes no sense.
    pub fn garbled(&self, answer: &[u8]) -> GitError {
        let answer = String::from_utf8_lossy(answer);
        GitError::Garbled {
            call: self.invocation.to_string(),
            answer: answer.escape_debug().take(200).collect(),
        }
    }

    fn whole(&self, finished: Finished) -> Result<Vec<u8>, GitError> {
        if finished.stdout.is_cut {
            return Err(GitError::TooLong(self.invocation.to_string()));
        }
        Ok(finished.stdout.bytes)
    }
}

/// The parts of an answer in which every part is ended by a zero byte.
pub(super) fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes
        .strip_suffix(b"\0")
        .into_iter()
        .flat_map(|bytes| bytes.split(|byte| *byte == 0))
}

/// A path as git gives it with `-z`.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Paths as git reads them with `-z`.
pub(super) fn zero_ended<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// A path in quotes, for the calls that read one path per line.
pub(super) fn quoted(path: &Path) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                quoted.push(*byte);
            }
            byte => quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    quoted.extend_from_slice(b"\"\n");
    quoted
}
