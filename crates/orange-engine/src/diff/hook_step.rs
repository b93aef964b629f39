//! A hook with everything that was left unsaid, ready to compare.

use std::fmt;

use super::change::{Change, ParameterChange};
use super::words::{command_line, duration, excerpt, the};
use crate::language::Workflow;
use crate::language::defaults;
use crate::language::hooks::{Action, Channel, HarnessChoice, Hook, OnError, SpawnHook};
use crate::language::prompt::Prompt;
use crate::language::workflow::{Permissions, Respawn};
use crate::names::{FieldName, PromptName};
use crate::role::Role;

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookStep {
    name: &'static str,
    /// Whom or what it is about.
    about: Option<String>,
    /// With the name, what makes it the same hook: two ways to write a section are one.
    identity: Option<String>,
    parameters: Vec<Parameter>,
    told: Option<Told>,
    /// The fields that its texts show; none means that this is not known.
    shows: Option<Vec<FieldName>>,
}

/// A parameter of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    name: &'static str,
    value: String,
    /// Whether it is what a file means that does not say.
    is_usual: bool,
}

/// A prompt that an agent gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its name.
    pub(super) name: PromptName,
    /// What it says, limits filled in.
    pub(super) text: String,
}

impl Told {
    /// The prompt of this name; loading refused names that do not exist.
    pub(super) fn of(workflow: &Workflow, name: &PromptName) -> Told {
        let prompt = workflow.prompts.get(name);
        Told {
            name: name.clone(),
            text: prompt.map(|it| text(workflow, it)).unwrap_or_default(),
        }
    }

    /// Whether the difference, if any, is told where prompts are: once, not at every use.
    pub(super) fn is_same(&self, other: &Told) -> bool {
        self.name == other.name || self.text == other.text
    }
}

/// A text with its limits filled in; a line end more or less says nothing.
pub(super) fn text(workflow: &Workflow, prompt: &Prompt) -> String {
    let limit = |name: &str| workflow.limits.get(name).map(ToString::to_string);
    prompt.spelled_out(limit).trim_end().to_owned()
}

impl HookStep {
    pub(super) fn of(workflow: &Workflow, hook: &Hook) -> HookStep {
        let mut step = HookStep::of_action(workflow, &hook.action);
        if let Some(timeout) = hook.timeout {
            step.parameter("timeout", duration(timeout), false);
        }
        let on_error = match hook.on_error {
            OnError::Stop => "stop",
            OnError::Continue => "continue",
        };
        let is_usual = hook.on_error == hook.action.usual_on_error();
        step.parameter("on_error", on_error.to_owned(), is_usual);
        step
    }

    fn of_action(workflow: &Workflow, action: &Action) -> HookStep {
        match action {
            Action::AcquireWorkspace { restore } => {
                let mut step = HookStep::plain("acquire_workspace");
                step.parameter("restore", restore.to_string(), !restore);
                step
            }
            Action::ReleaseWorkspace => HookStep::plain("release_workspace"),
            Action::SpawnAgent(spawn) => HookStep::of_spawn(workflow, spawn),
            Action::KillSession => HookStep::plain("kill_session"),
            Action::KillRole { role } => HookStep::about("kill_agent", format!("of {}", the(role))),
            Action::NotifyWorker { message } => {
                let mut step = HookStep::plain("notify_worker").saying(workflow, message);
                // Whoever is gone is respawned with a prompt that may show any field.
                step.shows = None;
                step
            }
            Action::SpawnNext => HookStep::plain("spawn_next"),
            Action::PushBranch => HookStep::plain("push_branch"),
            Action::CreatePr => HookStep::plain("create_pr"),
            Action::DeleteRemoteBranch => HookStep::plain("delete_remote_branch"),
            Action::SetField(change) => HookStep::about("set_field", change.field.to_string()),
            Action::ArchiveSection { section } => {
                let mut step = HookStep::about("archive_section", format!("`{section}`"));
                step.identity = Some(section.title().to_ascii_lowercase());
                step
            }
            Action::Notify { message, via } => {
                let mut step = HookStep::plain("notify").saying(workflow, message);
                let mut via = via.clone();
                via.sort();
                via.dedup();
                let named = Channel::ALL.iter().filter(|(_, it)| via.contains(it));
                let names: Vec<&str> = named.map(|(name, _)| *name).collect();
                step.parameter("via", names.join(" and "), via == [Channel::Desktop]);
                step
            }
            Action::RunCommand { command } => {
                HookStep::about("run_command", format!("`{}`", command_line(command)))
            }
            Action::Route => HookStep::plain("route"),
            Action::CreateChildren => HookStep::plain("create_children"),
            Action::CommentIssue { message } => {
                HookStep::plain("comment_issue").saying(workflow, message)
            }
            Action::LabelIssue { label } => HookStep::about("label_issue", format!("`{label}`")),
            Action::CloseIssue => HookStep::plain("close_issue"),
        }
    }

    fn of_spawn(workflow: &Workflow, spawn: &SpawnHook) -> HookStep {
        let name = if spawn.headless {
            "run_headless"
        } else {
            "spawn_agent"
        };
        let mut step = HookStep::about(name, format!("of {}", the(&spawn.role)));
        step.told = Some(Told::of(workflow, &spawn.prompt));
        step.parameter(
            "harness",
            harness(spawn.harness).to_owned(),
            spawn.harness == defaults::harness_of(&spawn.role),
        );
        step.parameter(
            "permissions",
            permissions(spawn.permissions).to_owned(),
            spawn.permissions == defaults::permissions(spawn.harness),
        );
        step.parameter(
            "window",
            text(workflow, &spawn.window),
            spawn.window == defaults::window(&spawn.role),
        );
        let prompt = workflow.prompts.get(&spawn.prompt);
        let shown = prompt.into_iter().flat_map(Prompt::variables);
        let shown = shown.chain(spawn.window.variables());
        step.shows = Some(shown.map(FieldName::new).collect());
        step
    }

    /// How a role is brought back: as it is started at first, but for what it is told and may do.
    pub(super) fn of_respawn(workflow: &Workflow, role: &Role, respawn: &Respawn) -> HookStep {
        let first = workflow.first_start(role);
        let usual = defaults::harness_of(role);
        let choice = first.map_or(usual, |hook| hook.harness);
        let window = first.map(|hook| text(workflow, &hook.window));
        let is_headless = first.is_some_and(|hook| hook.headless);
        let mut step = HookStep::plain("respawn");
        step.told = Some(Told::of(workflow, &respawn.prompt));
        let permitted = respawn.permissions;
        let is_usual = permitted == defaults::RESPAWN_PERMISSIONS;
        step.parameter("permissions", permissions(permitted).to_owned(), is_usual);
        step.parameter("harness", harness(choice).to_owned(), true);
        step.parameter("window", window.unwrap_or_else(|| role.to_string()), true);
        step.parameter("headless", is_headless.to_string(), true);
        step
    }

    fn plain(name: &'static str) -> HookStep {
        HookStep {
            name,
            about: None,
            identity: None,
            parameters: Vec::new(),
            told: None,
            shows: Some(Vec::new()),
        }
    }

    fn about(name: &'static str, about: String) -> HookStep {
        HookStep {
            identity: Some(about.clone()),
            about: Some(about),
            ..HookStep::plain(name)
        }
    }

    fn saying(mut self, workflow: &Workflow, message: &Prompt) -> HookStep {
        self.parameter("message", text(workflow, message), false);
        self.shows = Some(message.variables().map(FieldName::new).collect());
        self
    }

    fn parameter(&mut self, name: &'static str, value: String, is_usual: bool) {
        self.parameters.push(Parameter {
            name,
            value,
            is_usual,
        });
    }

    /// Whether its texts would differ with another value of the field.
    pub(super) fn shows(&self, field: &FieldName) -> bool {
        self.shows
            .as_ref()
            .is_none_or(|shown| shown.contains(field))
    }
}

impl HookStep {
    /// Whether one is the other in a changed form.
    pub(super) fn is_alike(&self, other: &HookStep) -> bool {
        self.name == other.name && self.identity == other.identity
    }

    /// What was changed from the other into this.
    pub(super) fn changes(&self, old: &HookStep) -> Vec<ParameterChange> {
        const UNSAID: &str = "not set";
        let value = |step: &HookStep, name: &str| {
            let mut parameters = step.parameters.iter();
            let found = parameters.find(|it| it.name == name);
            found.map_or_else(|| UNSAID.to_owned(), |it| it.value.clone())
        };
        let mut names: Vec<&'static str> = self.parameters.iter().map(|it| it.name).collect();
        let olds = old.parameters.iter().map(|it| it.name);
        names.extend(olds.filter(|name| self.parameters.iter().all(|it| it.name != *name)));
        let mut changes = Vec::new();
        if let (Some(new), Some(old)) = (&self.told, &old.told)
            && !new.is_same(old)
        {
            let shown = |told: &Told| format!("`{}`", told.name);
            changes.push(ParameterChange {
                parameter: "prompt",
                new: shown(new),
                old: shown(old),
            });
        }
        for name in names {
            let (new, old) = (value(self, name), value(old, name));
            if new != old {
                let parameter = name;
                changes.push(ParameterChange {
                    parameter,
                    new,
                    old,
                });
            }
        }
        changes
    }

    /// What an agent is told now under the same name, if it is something else.
    pub(super) fn prompt_change(&self, old: &HookStep) -> Option<Change> {
        let (new, old) = (self.told.as_ref()?, old.told.as_ref()?);
        (new.name == old.name && new.text != old.text).then(|| Change::PromptChanged {
            prompt: new.name.clone(),
            new: new.text.clone(),
            old: old.text.clone(),
        })
    }

    /// What it is called where its parameters do not matter.
    pub(super) fn title(&self) -> String {
        match &self.about {
            Some(about) => format!("`{}` {about}", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

/// A value as a sentence shows it: what an author wrote as a text is quoted and cut short.
pub(super) fn shown(name: &str, value: &str) -> String {
    match name {
        "message" | "window" => excerpt(value),
        _ => value.to_owned(),
    }
}

pub(super) fn harness(choice: HarnessChoice) -> &'static str {
    match choice {
        HarnessChoice::Task => "task",
        HarnessChoice::Review => "review",
    }
}

pub(super) fn permissions(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Full => "full",
        Permissions::Reduced => "reduced",
    }
}

impl HookStep {
    /// What it is told and what is unusual about it.
    pub(super) fn details(&self) -> String {
        let told = self
            .told
            .iter()
            .map(|told| format!("prompt `{}`", told.name));
        let unusual = self.parameters.iter().filter(|it| !it.is_usual);
        let unusual = unusual.map(|it| format!("{} {}", it.name, shown(it.name, &it.value)));
        let words: Vec<String> = told.chain(unusual).collect();
        if words.is_empty() {
            return String::new();
        }
        format!(" ({})", words.join(", "))
    }
}

impl fmt::Display for HookStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.title(), self.details())
    }
}
