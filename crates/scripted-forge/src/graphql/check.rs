//! The rollup of a commit: check runs and statuses.

use apollo_compiler::resolvers::{ObjectValue, ResolveInfo};

use super::actor::actor;
use super::object::{Object, Record, Resolved, View, connection, leaf, number, object, text};
use crate::world::check::{Check, Status};
use crate::world::issue::Issue;
use crate::world::node::node_id;
use crate::world::repository::Repository;
use crate::world::{World, stamp};

/// The rollup; null when nothing has reported yet.
pub fn rollup<'w>(view: View<'w>, repository: &'w Repository, sha: &str) -> Option<Object<'w>> {
    let state = repository.rollup(sha)?;
    Some(Box::new(Rollup {
        world: view.world,
        repository,
        sha: sha.to_owned(),
        state,
    }))
}

struct Rollup<'w> {
    repository: &'w Repository,
    sha: String,
    state: &'static str,
    world: &'w World,
}

impl ObjectValue for Rollup<'_> {
    fn type_name(&self) -> &'static str {
        "StatusCheckRollup"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        Ok(match info.field_name() {
            "id" => leaf(format!("SCR_{}", self.sha)),
            "state" => leaf(self.state),
            "contexts" => {
                let checks = self.repository.latest_checks(&self.sha);
                let checks = checks.into_iter().map(|check| -> Object<'a> {
                    Box::new(CheckObject {
                        repository: self.repository,
                        check,
                    })
                });
                let statuses = self.repository.latest_statuses(&self.sha);
                let statuses = statuses.into_iter().map(|status| -> Object<'a> {
                    let (repository, world) = (self.repository, self.world);
                    Box::new(StatusObject {
                        repository,
                        world,
                        status,
                    })
                });
                let all: Vec<Object> = checks.chain(statuses).collect();
                let name = "StatusCheckRollupContextConnection";
                object(Some(connection(name, all, info.arguments(), |it| it)))
            }
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

/// Whether the check is required for the pull request that the field's arguments name.
fn is_required(repository: &Repository, name: &str, info: &ResolveInfo) -> bool {
    let id = text(info.arguments(), "pullRequestId");
    let wanted = number(info.arguments(), "pullRequestNumber");
    let is_meant = |it: &&Issue| {
        it.pull.is_some() && (Some(it.node_id().as_str()) == id || Some(it.number) == wanted)
    };
    let pull = repository
        .issues
        .iter()
        .find(is_meant)
        .and_then(|it| it.pull.as_ref());
    pull.is_some_and(|it| {
        let protection = repository.protection(&it.base_ref);
        protection.all_checks().any(|it| it == name)
    })
}

struct CheckObject<'w> {
    repository: &'w Repository,
    check: &'w Check,
}

impl ObjectValue for CheckObject<'_> {
    fn type_name(&self) -> &'static str {
        "CheckRun"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let check = self.check;
        let page = || {
            let web = format!("https://github.com/{}", self.repository.full_name());
            format!(
                "{web}/actions/runs/{}/job/{}",
                check.run.unwrap_or(0),
                check.id
            )
        };
        Ok(match info.field_name() {
            "id" => leaf(node_id("CR", check.id)),
            "databaseId" => leaf(check.id),
            "name" => leaf(check.name.as_str()),
            "status" => leaf(check.status.to_uppercase()),
            "conclusion" => leaf(check.conclusion.as_ref().map(|it| it.to_uppercase())),
            "startedAt" => leaf(stamp(check.started_at)),
            "completedAt" => leaf(check.completed_at.map(stamp)),
            "detailsUrl" | "url" => leaf(page()),
            "title" => leaf(check.failed_step.clone()),
            "summary" | "text" => leaf(None::<String>),
            "isRequired" => leaf(is_required(self.repository, &check.name, info)),
            "checkSuite" => object(Some(self.suite())),
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}

impl CheckObject<'_> {
    fn suite<'a>(&self) -> Object<'a> {
        let run = self
            .repository
            .runs
            .iter()
            .find(|it| Some(it.id) == self.check.run);
        let (name, slug) = match run {
            Some(_) => ("GitHub Actions", "github-actions"),
            None => ("Another App", "another-app"),
        };
        let app = Record::new("App")
            .leaf("id", slug)
            .leaf("name", name)
            .leaf("slug", slug);
        let suite = run.map_or(self.check.id, |it| it.id);
        let run = run.map(|it| {
            let web = format!("https://github.com/{}", self.repository.full_name());
            let workflow = Record::new("Workflow")
                .leaf("id", node_id("W", it.workflow.id))
                .leaf("name", it.workflow.name.clone());
            Record::new("WorkflowRun")
                .leaf("id", node_id("WFR", it.id))
                .leaf("databaseId", it.id)
                .leaf("runNumber", it.number)
                .leaf("event", "pull_request")
                .leaf("url", format!("{web}/actions/runs/{}", it.id))
                .object("workflow", Some(workflow.boxed()))
                .boxed()
        });
        Record::new("CheckSuite")
            .leaf("id", node_id("CS", suite))
            .leaf("databaseId", suite)
            .object("app", Some(app.boxed()))
            .object("workflowRun", run)
            .boxed()
    }
}

struct StatusObject<'w> {
    repository: &'w Repository,
    world: &'w World,
    status: &'w Status,
}

impl ObjectValue for StatusObject<'_> {
    fn type_name(&self) -> &'static str {
        "StatusContext"
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Resolved<'a> {
        let status = self.status;
        Ok(match info.field_name() {
            "id" => leaf(node_id("SC", status.id)),
            "context" => leaf(status.context.as_str()),
            "state" => leaf(status.state.to_uppercase()),
            "description" => leaf(status.description.clone()),
            "targetUrl" => leaf(None::<String>),
            "createdAt" => leaf(stamp(status.at)),
            "creator" => object(actor(self.world, &status.creator)),
            "isRequired" => leaf(is_required(self.repository, &status.context, info)),
            _ => return Err(self.unknown_field_error(info)),
        })
    }
}
