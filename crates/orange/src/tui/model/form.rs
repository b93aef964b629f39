//! The form that describes a new task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::field::Field;
use super::{Choices, TaskDefaults};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    #[default]
    Summary,
    Context,
    Branch,
    Project,
    Harness,
    Workflow,
    After,
    Start,
}

/// One of several options; the first position means no choice, so the default applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    options: Vec<String>,
    chosen: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub summary: Field,
    pub context: Field,
    pub branch: Field,
    pub project: Choice,
    pub harness: Choice,
    pub workflow: Choice,
    pub after: Field,
    pub starts_later: bool,
    pub focus: Part,
    /// The project of the current directory.
    here: Option<String>,
    defaults: BTreeMap<String, TaskDefaults>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskDraft {
    pub summary: String,
    pub context: Option<String>,
    pub branch: Option<String>,
    pub project: Option<String>,
    pub harness: Option<String>,
    pub workflow: Option<String>,
    pub after: Vec<String>,
    pub starts_now: bool,
}

impl TaskDraft {
    /// Whether the user has typed anything.
    pub fn has_text(&self) -> bool {
        self.has_content() || !self.after.is_empty()
    }

    /// Whether it says anything about the work; an agent asks for the rest.
    pub fn has_content(&self) -> bool {
        !self.summary.is_empty() || self.context.is_some() || self.branch.is_some()
    }
}

impl Part {
    /// Every part, in the order of the form.
    pub const ALL: [Part; 8] = [
        Part::Summary,
        Part::Context,
        Part::Branch,
        Part::Project,
        Part::Harness,
        Part::Workflow,
        Part::After,
        Part::Start,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Part::Summary => "summary",
            Part::Context => "context",
            Part::Branch => "branch",
            Part::Project => "project",
            Part::Harness => "harness",
            Part::Workflow => "workflow",
            Part::After => "after",
            Part::Start => "start",
        }
    }

    pub fn is_text(self) -> bool {
        matches!(
            self,
            Part::Summary | Part::Context | Part::Branch | Part::After
        )
    }

    pub fn is_multiline(self) -> bool {
        matches!(self, Part::Summary | Part::Context)
    }
}

impl Choice {
    pub fn of(options: &[String], chosen: Option<&str>) -> Choice {
        let at = chosen.and_then(|name| options.iter().position(|it| it == name));
        Choice {
            options: options.to_vec(),
            chosen: at.map_or(0, |at| at + 1),
        }
    }

    /// Moves the choice by this many options.
    pub fn step(&mut self, by: isize) {
        let count = self.options.len() + 1;
        let count = isize::try_from(count).unwrap_or(1);
        let at = isize::try_from(self.chosen).unwrap_or(0);
        self.chosen = usize::try_from((at + by).rem_euclid(count)).unwrap_or(0);
    }

    pub fn chosen(&self) -> Option<&str> {
        let at = self.chosen.checked_sub(1)?;
        self.options.get(at).map(String::as_str)
    }
}

impl Form {
    /// An empty form, with this project chosen if there is one.
    pub fn new(choices: &Choices, project: Option<&str>) -> Form {
        Form {
            project: Choice::of(&choices.projects, project),
            harness: Choice::of(&choices.harnesses, None),
            workflow: Choice::of(&choices.workflows, None),
            here: choices.here.clone(),
            defaults: choices.defaults.clone(),
            ..Form::default()
        }
    }

    /// A form that continues a draft.
    pub fn of_draft(choices: &Choices, draft: &TaskDraft) -> Form {
        let text = |text: &Option<String>| Field::of(text.as_deref().unwrap_or_default());
        let choice = |options: &[String], chosen: &Option<String>| {
            let mut options = options.to_vec();
            // Keep the chosen option, even if the options are not loaded yet.
            options.extend(chosen.clone().filter(|it| !options.contains(it)));
            Choice::of(&options, chosen.as_deref())
        };
        Form {
            summary: Field::of(&draft.summary),
            context: text(&draft.context),
            branch: text(&draft.branch),
            project: choice(&choices.projects, &draft.project),
            harness: choice(&choices.harnesses, &draft.harness),
            workflow: choice(&choices.workflows, &draft.workflow),
            after: Field::of(draft.after.join(" ")),
            starts_later: !draft.starts_now,
            focus: Part::default(),
            here: choices.here.clone(),
            defaults: choices.defaults.clone(),
        }
    }

    /// What applies to a part for which nothing is chosen.
    pub fn default_of(&self, part: Part) -> &str {
        let project = self.project.chosen().or(self.here.as_deref());
        let defaults = project.and_then(|it| self.defaults.get(it));
        match part {
            Part::Project => self.here.as_deref().unwrap_or("this repository"),
            Part::Harness => match defaults {
                Some(TaskDefaults { harness: None, .. }) => "no agent is installed",
                Some(TaskDefaults {
                    harness: Some(harness),
                    ..
                }) => harness,
                None => "the first installed agent",
            },
            Part::Workflow => defaults.map_or("default", |it| &it.workflow),
            _ => "",
        }
    }

    /// Takes over the options, which are loaded while the form is open.
    pub fn set_choices(&mut self, choices: &Choices) {
        self.here.clone_from(&choices.here);
        self.defaults.clone_from(&choices.defaults);
        for (choice, options) in [
            (&mut self.project, &choices.projects),
            (&mut self.harness, &choices.harnesses),
            (&mut self.workflow, &choices.workflows),
        ] {
            let chosen = choice.chosen().map(str::to_owned);
            *choice = Choice::of(options, chosen.as_deref());
        }
    }

    pub fn field(&mut self) -> Option<&mut Field> {
        match self.focus {
            Part::Summary => Some(&mut self.summary),
            Part::Context => Some(&mut self.context),
            Part::Branch => Some(&mut self.branch),
            Part::After => Some(&mut self.after),
            Part::Project | Part::Harness | Part::Workflow | Part::Start => None,
        }
    }

    pub fn choice(&mut self) -> Option<&mut Choice> {
        match self.focus {
            Part::Project => Some(&mut self.project),
            Part::Harness => Some(&mut self.harness),
            Part::Workflow => Some(&mut self.workflow),
            _ => None,
        }
    }

    /// Moves the focus by this many parts.
    pub fn move_focus(&mut self, by: isize) {
        let count = Part::ALL.len();
        let at = (self.focus as usize).saturating_add(count);
        self.focus = Part::ALL[at.saturating_add_signed(by) % count];
    }

    pub fn draft(&self) -> TaskDraft {
        let non_blank = |field: &Field| {
            let text = field.text().trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let after = self.after.text().split([',', ' ']);
        let after = after.filter(|it| !it.is_empty()).map(str::to_owned);
        TaskDraft {
            summary: non_blank(&self.summary).unwrap_or_default(),
            context: non_blank(&self.context),
            branch: non_blank(&self.branch),
            project: self.project.chosen().map(str::to_owned),
            harness: self.harness.chosen().map(str::to_owned),
            workflow: self.workflow.chosen().map(str::to_owned),
            after: after.collect(),
            starts_now: !self.starts_later,
        }
    }
}
