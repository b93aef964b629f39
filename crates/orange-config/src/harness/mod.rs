//! A harness definition: how to start a coding agent.
//!
//! `harnesses/README.md` describes the file; this module reads it.

pub(crate) mod arguments;
pub(crate) mod catalog;
pub(crate) mod death;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod json_location;
pub(crate) mod level;
pub(crate) mod mcp;
pub(crate) mod readiness;
pub(crate) mod result;
pub(crate) mod sandbox;
pub(crate) mod skills;
pub(crate) mod transcript;
pub(crate) mod usage;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use arguments::Values;
use death::Death;
use files::{HarnessFile, RunFileText, validate_files, validate_names};
use level::{Level, Levels, Lists, StartMode, VariableTable};
use mcp::{McpSettings, validate_mcp};
use orange_engine::activity::AgentEventKind;
use orange_engine::death::Rule;
use orange_engine::names::HarnessName;
use result::{ResultLocations, validate_result};
use sandbox::{HarnessSandbox, SandboxTable, validate_sandbox};
use serde::Deserialize;
use skills::validate_skills;
use toml::Spanned;
use transcript::TranscriptError;
use usage::{UsageLocations, validate_usage};

use super::{HarnessError, Readiness, ValueProblem, is_agent_variable};

/// A coding agent and how to start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    /// Its name in workflows and commands.
    pub name: HarnessName,
    /// An absolute path, or a name on the `PATH`.
    pub binary: String,
    interactive: Lists,
    headless: Option<Lists>,
    /// Variables it may see in addition to the usual ones; a trailing `*` matches any ending.
    pub pass: Vec<String>,
    /// Variables that are set for it.
    pub set: BTreeMap<String, String>,
    /// Variables that are set for it only at one level.
    set_at: BTreeMap<Level, BTreeMap<String, String>>,
    /// Files to write into its worktree.
    pub files: Vec<HarnessFile>,
    /// Files that each run gets in its own folder, outside of the worktree.
    pub run_files: Vec<RunFileText>,
    /// How its transcript says that a turn failed.
    pub transcript_error: Option<TranscriptError>,
    /// Where its transcript says what a run used.
    pub usage: Option<UsageLocations>,
    /// Where the output of a headless run says what its result is.
    pub result: Option<ResultLocations>,
    /// What must have happened before it works without asking.
    pub ready: Vec<Readiness>,
    /// Where it keeps skills, as the definition writes it.
    pub(super) skills: Option<String>,
    /// Where it keeps its MCP servers.
    pub(super) mcp: Option<McpSettings>,
    /// What it needs in a sandbox.
    pub sandbox: HarnessSandbox,
    /// What its deaths look like and what they mean; the first match counts.
    pub deaths: Vec<Rule>,
    /// What it reports about itself with `orange agent-event`.
    pub events: Vec<AgentEventKind>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    binary: Spanned<String>,
    args: Spanned<Levels>,
    #[serde(default)]
    environment: Variables,
    #[serde(default)]
    death: Vec<Spanned<Death>>,
    #[serde(default)]
    events: Vec<AgentEventKind>,
    #[serde(default)]
    files: Vec<Spanned<HarnessFile>>,
    #[serde(default)]
    run_files: Vec<Spanned<RunFileText>>,
    transcript_error: Option<TranscriptError>,
    usage: Option<Spanned<UsageLocations>>,
    result: Option<Spanned<ResultLocations>>,
    #[serde(default)]
    ready: Vec<Readiness>,
    skills: Option<Spanned<String>>,
    mcp: Option<Spanned<McpSettings>>,
    #[serde(default)]
    sandbox: SandboxTable,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variables {
    #[serde(default)]
    pass: Vec<Spanned<String>>,
    #[serde(default)]
    set: VariableTable,
    #[serde(default)]
    reduced: VariableTable,
    #[serde(default)]
    review: VariableTable,
}

/// A problem at a position in the text: what is wrong, and how to fix it.
pub(super) type Problem = (Range<usize>, String, String);

impl Harness {
    /// Reads a definition; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, HarnessError> {
        let invalid = |(at, message, hint): Problem| HarnessError::Invalid {
            file: file.to_owned(),
            line: line(text, at.start),
            message,
            hint,
        };
        let definition: File = toml::from_str(text).map_err(|error| {
            let message = error.message().trim().replace('\n', ", ");
            let hint = "a definition has `name`, `binary`, and `[args]` with `full` or `reduced`; \
                        `[environment]` may hold `pass` and `set`, `[[files]]` a `path` and a \
                        `text`, and each `[[death]]` says what it `means`";
            invalid((error.span().unwrap_or(0..0), message, hint.to_owned()))
        })?;
        Self::validate(definition).map_err(invalid)
    }

    fn validate(definition: File) -> Result<Self, Problem> {
        if !is_name(definition.name.get_ref()) {
            let message = format!(
                "`{}` is not a valid harness name",
                definition.name.get_ref()
            );
            let hint = "a name has lower-case letters, digits, `-` and `_`, and begins with a \
                        letter or a digit";
            return Err((definition.name.span(), message, hint.to_owned()));
        }
        let binary = definition.binary.get_ref();
        if binary.is_empty() || binary.contains('\0') || is_relative(binary) {
            let message = format!(
                "`{}` is neither an absolute path nor a program name",
                binary.escape_debug()
            );
            let hint = "write an absolute path, or a name without `/` that is on the PATH";
            return Err((definition.binary.span(), message, hint.to_owned()));
        }
        let (interactive, headless) = Levels::read(definition.args)?;
        let result = definition
            .result
            .map(|it| validate_result(it, headless.is_some()));
        let variables = definition.environment;
        let set_at = BTreeMap::from([
            (Level::Reduced, validate_variables(variables.reduced)?),
            (Level::Review, validate_variables(variables.review)?),
        ]);
        let mut pass = Vec::new();
        for name in variables.pass {
            check_variable(&name, true)?;
            pass.push(name.into_inner());
        }
        Ok(Self {
            name: HarnessName::new(definition.name.get_ref()),
            binary: definition.binary.into_inner(),
            interactive,
            headless,
            pass,
            set: validate_variables(variables.set)?,
            set_at,
            files: validate_files(definition.files)?,
            run_files: validate_names(definition.run_files)?,
            transcript_error: definition.transcript_error,
            usage: definition.usage.map(validate_usage).transpose()?,
            result: result.transpose()?,
            ready: definition.ready,
            skills: definition.skills.map(validate_skills).transpose()?,
            mcp: definition.mcp.map(validate_mcp).transpose()?,
            sandbox: validate_sandbox(definition.sandbox)?,
            deaths: definition
                .death
                .into_iter()
                .map(death::rule)
                .collect::<Result<_, _>>()?,
            events: definition.events,
        })
    }

    /// The program's arguments.
    pub fn arguments(
        &self,
        mode: StartMode,
        level: Level,
        values: &Values<'_>,
    ) -> Result<Vec<OsString>, HarnessError> {
        let arguments = self.lists(mode).of(level);
        let arguments = arguments.map_err(|(level, table)| HarnessError::LevelMissing {
            harness: self.name.clone(),
            level,
            table,
        })?;
        let filled = values.fill(arguments);
        filled.map_err(|(what, problem)| HarnessError::ValueRefused {
            harness: self.name.clone(),
            what,
            problem,
        })
    }

    /// Variables that are set for it at this level; those of the level override the general ones.
    pub fn variables(&self, level: Level) -> BTreeMap<&str, &str> {
        let own = self.set_at.get(&level).into_iter().flatten();
        let all = self.set.iter().chain(own);
        all.map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    /// Whether it can be started for one prompt, after which it exits.
    pub fn can_be_headless(&self) -> bool {
        self.headless.is_some()
    }

    /// Whether reduced permissions start it in another way than full ones.
    pub fn can_be_restricted(&self) -> bool {
        let lists = [Some(&self.interactive), self.headless.as_ref()];
        let mut lists = lists.into_iter().flatten();
        lists.any(Lists::has_reduced)
            || self.variables(Level::Full) != self.variables(Level::Reduced)
    }

    fn lists(&self, mode: StartMode) -> &Lists {
        let own = self
            .headless
            .as_ref()
            .filter(|_| mode == StartMode::Headless);
        own.unwrap_or(&self.interactive)
    }

    /// Whether the arguments for this mode have a placeholder with this name at every level.
    pub fn accepts(&self, mode: StartMode, what: &str) -> bool {
        self.lists(mode).all_take(what)
    }

    /// Rejects a setting that lacks a placeholder at any level, and a value that cannot be an
    /// argument.
    pub fn require_setting(&self, what: &'static str, value: &str) -> Result<(), HarnessError> {
        let harness = self.name.clone();
        let accepts = |mode| self.accepts(mode, what);
        if !accepts(StartMode::Interactive) || !accepts(StartMode::Headless) {
            return Err(HarnessError::NoSetting { harness, what });
        }
        let problem = if value.contains('\0') {
            ValueProblem::HasNul
        } else if value.starts_with('-') {
            ValueProblem::LooksLikeFlag
        } else {
            return Ok(());
        };
        Err(HarnessError::ValueRefused {
            harness,
            what,
            problem,
        })
    }

    /// Finds the program on the given `PATH`, unless `binary` is an absolute path.
    pub fn locate(&self, path: Option<&OsStr>) -> Result<PathBuf, HarnessError> {
        let missing = |reason| HarnessError::ProgramMissing {
            harness: self.name.clone(),
            binary: self.binary.clone(),
            reason,
        };
        let binary = Path::new(&self.binary);
        if binary.is_absolute() {
            let found = is_program(binary).then(|| binary.to_owned());
            return found.ok_or_else(|| missing("is not an executable file"));
        }
        let folders = std::env::split_paths(path.unwrap_or_default());
        // A relative folder on the PATH would mean a different program in every directory.
        let mut candidates = folders
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(binary));
        let found = candidates.find(|candidate| is_program(candidate));
        found.ok_or_else(|| missing("is not on the PATH"))
    }
}

fn validate_variables(variables: VariableTable) -> Result<BTreeMap<String, String>, Problem> {
    let mut set = BTreeMap::new();
    for (name, value) in variables {
        check_variable(&name, false)?;
        if value.get_ref().contains('\0') {
            let message = format!("the value of `{}` contains a NUL character", name.get_ref());
            let hint = "remove it: it cannot be passed to a program".to_owned();
            return Err((value.span(), message, hint));
        }
        set.insert(name.into_inner(), value.into_inner());
    }
    Ok(set)
}

fn check_variable(name: &Spanned<String>, may_be_pattern: bool) -> Result<(), Problem> {
    let text = name.get_ref().as_str();
    let stem = match text.strip_suffix('*') {
        Some(stem) if may_be_pattern => stem,
        _ => text,
    };
    let is_letter = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if stem.is_empty() || !stem.chars().all(is_letter) {
        let message = format!("`{}` is not a valid variable name", text.escape_debug());
        let hint = "write a name of letters, digits and `_`; in `pass`, a `*` may end it";
        return Err((name.span(), message, hint.to_owned()));
    }
    // A harness may set its own agent's variables itself, but never pass them on from another
    // agent.
    let is_own = !may_be_pattern && !text.starts_with("ORANGE_") && !text.starts_with("TMUX");
    if is_agent_variable(OsStr::new(text)) && !is_own {
        let message = format!("`{text}` is set by orange or by agents, and never passed on");
        return Err((name.span(), message, format!("remove `{text}`")));
    }
    Ok(())
}

fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

fn is_relative(binary: &str) -> bool {
    binary.contains('/') && !binary.starts_with('/')
}

/// Names become parts of file names, so only characters that every system supports are allowed.
fn is_name(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    name.starts_with(is_letter) && name.chars().all(|it| is_letter(it) || "-_".contains(it))
}

fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}
