//! Opens and changes the pull request of a task.

use orange_config::{LogLevel, Project};
use orange_effects::forge::error::Trouble;
use orange_effects::forge::host::RepositoryAddress;
use orange_effects::git::{Git, GitError, PushResult};
use orange_engine::Task;
use orange_engine::document::SectionName;
use orange_engine::effect::{CreatePr, Effect, EffectOutcome, MergeStrategy};
use orange_engine::forge::issue::IssueLink;
use orange_engine::forge::marker::marker;
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::names::{BranchName, CommitId};
use orange_store::{ImportResult, Pending, Store};
use serde_json::json;

use crate::failure::Failure;
use crate::forge::ForgeFailure;
use crate::forge::open::Opening;
use crate::perform::Performer;

/// The section of TASK.md that says what was done.
const HANDOFF: &str = "Handoff";

/// Where GitHub looks for the template of a pull request, in this order.
const TEMPLATES: [&str; 6] = [
    ".github/pull_request_template.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
    "pull_request_template.md",
    "PULL_REQUEST_TEMPLATE.md",
    "docs/pull_request_template.md",
    "docs/PULL_REQUEST_TEMPLATE.md",
];

impl Performer {
    /// Whether an effect needs a forge token that this process lacks, because an agent's call
    /// started the process without the user's variables. The user's next command or the supervisor
    /// then performs the effect.
    pub(crate) fn is_for_another(&self, pending: &Pending) -> bool {
        let is_on_forge = match &pending.planned.effect {
            Effect::CreatePr(_)
            | Effect::ReadyPr
            | Effect::RerunChecks { .. }
            | Effect::MergePr { .. } => true,
            Effect::Merge(merge) => merge.pull_request.is_some(),
            _ => false,
        };
        is_on_forge && self.forge.lacks_token_of_user(&pending.task)
    }

    /// Pushes exactly the commit, and makes sure that the branch has a pull request.
    pub(crate) fn create_pr(
        &self,
        store: &Store,
        task: &Task,
        create: &CreatePr,
    ) -> Result<EffectOutcome, Failure> {
        // A pull request of others exists already, and others push to its branch.
        if let Some(link) = outside(task) {
            return Ok(EffectOutcome::PullRequest(link.clone()));
        }
        let (project, git, address) = self.repository_on_forge(task)?;
        let branch = &create.branch;
        let head = match create.head.clone() {
            Some(head) => Some(head),
            None => git.branch(branch).map_err(Failure::temporary)?,
        };
        let missing = || Failure::permanent(format!("there is no branch `{branch}`"));
        let head = head.ok_or_else(missing)?;
        self.refuse_secret_name(task, branch)?;
        if let Some(issue) = &task.issue {
            let start = git.start_of_new_branch(branch, &head, &project.default_branch);
            let linked = match start {
                Ok(Some(start)) => self.forge.link_branch(&address, issue, branch, &start),
                Ok(None) => Ok(()),
                Err(error) => Err(error.into()),
            };
            self.log_unlinked(task, branch, linked);
        }
        push_head(store, task, &git, &create.branch, &head)?;
        let settings = self.context.settings(Some(&project));
        let settings = settings.map_err(Failure::temporary)?.forge;
        let mut labels = settings.labels;
        labels.extend(create.labels.iter().cloned());
        labels.dedup();
        let link = self.forge.ensure_pull_request(&Opening {
            address: &address,
            branch: &create.branch,
            base: &project.default_branch,
            title: &create.title,
            body: &body(store, task, &project, &git, settings.issues.close)?,
            draft: create.draft.unwrap_or(settings.draft),
            labels: &labels,
        });
        link.map(EffectOutcome::PullRequest).map_err(failure)
    }

    /// Refuses to push a branch whose name contains a secret. Any other text is redacted before it
    /// is sent, but the forge has to get the name of a branch as it is.
    fn refuse_secret_name(&self, task: &Task, branch: &BranchName) -> Result<(), Failure> {
        let shown = self.context.redactor(None, &[]).redact(branch.as_str());
        if shown == branch.as_str() {
            return Ok(());
        }
        let id = &task.id;
        Err(Failure::permanent(format!(
            "nothing was pushed, because the name of the branch `{shown}` contains a secret; \
             rename it with `orange task update {id} --branch NAME`, then try again"
        )))
    }

    /// Logs that the branch was not linked to the issue. The push continues without the link.
    fn log_unlinked(&self, task: &Task, branch: &BranchName, linked: Result<(), ForgeFailure>) {
        if let Err(error) = linked {
            let more = json!({ "branch": branch, "error": error.to_string() });
            self.context
                .log(LogLevel::Warn, &task.id, "branch.not_linked", more);
        }
    }

    pub(crate) fn ready_pr(&self, task: &Task) -> Result<EffectOutcome, Failure> {
        // Only the author of a pull request decides whether it is ready.
        if outside(task).is_some() {
            return Ok(EffectOutcome::Done);
        }
        let (_, _, address) = self.repository_on_forge(task)?;
        let ready = self.forge.mark_ready(&address, linked(task)?);
        ready.map_err(failure)?;
        Ok(EffectOutcome::Done)
    }

    pub(crate) fn rerun_checks(
        &self,
        task: &Task,
        head: &CommitId,
    ) -> Result<EffectOutcome, Failure> {
        let (_, _, address) = self.repository_on_forge(task)?;
        self.forge.rerun_checks(&address, head).map_err(failure)?;
        Ok(EffectOutcome::Done)
    }

    /// Asks the forge to merge. Whether it has merged is observed, not assumed.
    pub(crate) fn merge_pr(
        &self,
        task: &Task,
        head: &CommitId,
        strategy: MergeStrategy,
    ) -> Result<EffectOutcome, Failure> {
        let (_, _, address) = self.repository_on_forge(task)?;
        let link = linked(task)?;
        if link.is_outside {
            return Err(Failure::permanent(format!(
                "{link} belongs to others, so only you merge it: `orange merge {}`",
                task.id
            )));
        }
        let asked = self
            .forge
            .merge_pull_request(&address, link, head, strategy, false);
        asked.map_err(failure)?;
        Ok(EffectOutcome::Done)
    }

    /// The project of a task, its repository here, and its repository on the forge.
    pub(crate) fn repository_on_forge(
        &self,
        task: &Task,
    ) -> Result<(Project, Git, RepositoryAddress), Failure> {
        let (project, git) = self
            .workspaces
            .repository_of(task)
            .map_err(Failure::temporary)?;
        let address = self
            .forge
            .repository(&project)
            .map_err(Failure::temporary)?;
        if let Some(address) = address {
            return Ok((project, git, address));
        }
        Err(Failure::permanent(format!(
            "project `{}` has no repository on GitHub; set `forge_repository` in `projects.json`, \
             or push to a remote on GitHub",
            project.name
        )))
    }
}

/// Makes the remote's branch point to exactly this commit.
pub(crate) fn push_head(
    store: &Store,
    task: &Task,
    git: &Git,
    branch: &BranchName,
    head: &CommitId,
) -> Result<(), Failure> {
    let known = store.pull_request(&task.id).map_err(Failure::temporary)?;
    let known = known.map(|it| it.head);
    let pushed = git.push_exactly(branch, head, known.as_ref());
    let pushed = pushed.map_err(|error| match error {
        GitError::RemoteChanged { .. } => Failure::permanent(error),
        error => Failure::temporary(error),
    })?;
    match pushed {
        PushResult::Done => Ok(()),
        PushResult::NoRemote => Err(Failure::permanent(format!(
            "`{branch}` cannot be pushed, because the repository has no remote; add one with \
             `git remote add origin URL`"
        ))),
        PushResult::Rejected(message) => Err(Failure::permanent(format!(
            "the push of `{branch}` was rejected: {message}; check with `git fetch` and \
             `git log {branch}..@{{upstream}}`"
        ))),
    }
}

/// The pull request of a task, if its branch belongs to others.
pub(crate) fn outside(task: &Task) -> Option<&PullRequestLink> {
    task.pull_request.as_ref().filter(|it| it.is_outside)
}

/// The pull request of a task; fails if there is none.
pub(crate) fn linked(task: &Task) -> Result<&PullRequestLink, Failure> {
    let missing = || {
        let id = &task.id;
        let reason = format!("the task has no pull request; open one with `orange task pr {id}`");
        Failure::permanent(reason)
    };
    task.pull_request.as_ref().ok_or_else(missing)
}

/// Turns a failure of the forge into a failure of an effect, which is retried if it is temporary.
pub(crate) fn failure(error: ForgeFailure) -> Failure {
    if let ForgeFailure::Request(request) = &error
        && let Trouble::QuotaUsedUp { until, .. } = &request.trouble
    {
        return Failure {
            retry_at: Some(*until),
            ..Failure::temporary(&error)
        };
    }
    if error.is_temporary() {
        Failure::temporary(error)
    } else {
        Failure::permanent(error)
    }
}

/// The text of a new pull request: what was done, then the repository's own template.
fn body(
    store: &Store,
    task: &Task,
    project: &Project,
    git: &Git,
    closes: bool,
) -> Result<String, Failure> {
    let mut parts = Vec::new();
    let document = orange_store::peek(store, &task.id).map_err(Failure::temporary)?;
    if let ImportResult::Read(imported) = &document {
        let name = SectionName::from_title(HANDOFF);
        let section = imported.document.section(&name);
        let content = section.map(|it| imported.document.content(it).trim().to_owned());
        parts.extend(content.filter(|it| !it.is_empty()));
    }
    if parts.is_empty() {
        parts.push(task.summary.clone());
    }
    if let Some(issue) = &task.issue {
        parts.extend(reference(&parts.join("\n"), issue, closes));
    }
    parts.extend(template(project, git).map_err(Failure::temporary)?);
    parts.push(marker(&format!("{}/pull_request", task.id)));
    Ok(parts.join("\n\n"))
}

/// The line that links the pull request with the issue, unless the text has it already. `Closes`
/// makes the forge close the issue when the pull request is merged.
fn reference(text: &str, issue: &IssueLink, closes: bool) -> Option<String> {
    let word = if closes { "Closes" } else { "For" };
    let line = format!("{word} #{}", issue.number);
    let has_line = text.lines().any(|it| it.trim().eq_ignore_ascii_case(&line));
    (!has_line).then_some(line)
}

/// The template for pull requests, as the default branch has it.
fn template(project: &Project, git: &Git) -> Result<Option<String>, GitError> {
    let base = git.base(&project.default_branch)?.commit;
    for path in TEMPLATES {
        if let Some(bytes) = git.read_committed(&base, path)? {
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            return Ok(Some(text).filter(|it| !it.is_empty()));
        }
    }
    Ok(None)
}
