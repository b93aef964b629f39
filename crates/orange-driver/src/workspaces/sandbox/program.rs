//! Runs programs without a terminal in a sandbox: git, and commands.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use orange_effects::command::Invocation;
use orange_effects::git::Worktree;
use orange_effects::run::RawText;
use orange_effects::sandbox::{
    DescribeRequest, Description, Mount, Network, StartedProxy, describe, program_in_sandbox,
    trusted_bwrap,
};

use crate::DriverError;
use crate::workspaces::Workspaces;

/// A sandbox around a worktree for one program.
pub(crate) struct ProgramSandbox {
    pub(super) description: Description,
    pub(super) variables: BTreeMap<OsString, OsString>,
    pub(super) directory: PathBuf,
    /// The proxy for the hosts of its list.
    pub(super) proxy: Option<StartedProxy>,
}

impl ProgramSandbox {
    /// The command that runs a program inside.
    pub(super) fn command<A: AsRef<OsStr>>(&self, program: &OsStr, words: &[A]) -> Invocation {
        let words: Vec<RawText> = words.iter().map(RawText::from).collect();
        program_in_sandbox(
            &self.description,
            program,
            &words,
            &self.variables,
            &self.directory,
            self.proxy.as_ref(),
        )
    }

    pub(crate) fn git(&self, words: &[&str]) -> Invocation {
        self.command("git".as_ref(), words)
    }
}

impl Workspaces {
    /// The sandbox in which git runs on what an agent wrote: no home, no network.
    pub(crate) fn git_sandbox(
        &self,
        worktree: &Worktree<'_>,
        repository: Vec<Mount>,
    ) -> Result<ProgramSandbox, DriverError> {
        let environment = &self.context.environment;
        let worktrees = self.context.home.workspaces();
        let bwrap = trusted_bwrap(environment, &[&worktrees]);
        let bwrap = bwrap.ok_or_else(|| DriverError::NoSandbox {
            reason: String::from("bwrap is not installed, and what an agent wrote needs one"),
            fix: String::from("install bubblewrap"),
        })?;
        let home = environment.home.as_deref();
        let home = home.ok_or_else(DriverError::home_not_set)?;
        let path = environment.variable("PATH");
        let description = describe(&DescribeRequest {
            bwrap: Some(&bwrap),
            orange: &self.context.orange,
            user_home: home,
            orange_home: self.context.home.path(),
            private_home: None,
            temporary: None,
            program: Path::new("/usr/bin/git"),
            path,
            read: Vec::new(),
            own: Vec::new(),
            given: Vec::new(),
            copy: Vec::new(),
            share: Vec::new(),
            writable: vec![worktree.path().to_owned()],
            worktree: Some(worktree.path()),
            others: repository,
            network: Network::None,
            login: None,
        })?;
        let variables: [(&str, &OsStr); 5] = [
            ("PATH", path.unwrap_or_default()),
            ("HOME", home.as_os_str()),
            ("LC_ALL", "C".as_ref()),
            ("GIT_EDITOR", "true".as_ref()),
            ("GIT_TERMINAL_PROMPT", "0".as_ref()),
        ];
        let variables = variables.map(|(name, value)| (OsString::from(name), value.to_owned()));
        Ok(ProgramSandbox {
            description,
            variables: variables.into(),
            directory: worktree.path().to_owned(),
            proxy: None,
        })
    }
}
