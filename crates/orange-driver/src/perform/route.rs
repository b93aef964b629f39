//! Chooses the harness of a task.

use orange_config::{Decompose, Settings, clock};
use orange_engine::Task;
use orange_engine::budget::Start;
use orange_engine::effect::{EffectId, EffectOutcome};
use orange_engine::language::Workflow;
use orange_engine::names::HarnessName;
use orange_engine::report::MAX_DEPTH;
use orange_engine::routing::{
    Choice, Offer, Offers, Route, RouteSubject, RoutedBy, Split, first_match,
};
use orange_engine::schedule::Wait;
use orange_store::Store;

use super::Performer;
use crate::failure::Failure;
use crate::steps::pinned_workflow;

impl Performer {
    /// Chooses by the rules, else by the router, else takes the default. A router that fails is no
    /// failure of the task: the default is used, and the reason says so.
    pub(crate) fn route(
        &self,
        store: &Store,
        task: &Task,
        effect: EffectId,
    ) -> Result<EffectOutcome, Failure> {
        let settings = self.context.settings(None).map_err(Failure::temporary)?;
        let usable = self.usable_harnesses(store)?;
        let subject = RouteSubject {
            summary: &task.summary,
            labels: &task.routing.labels,
            project: &task.project,
        };
        let mut choice = match first_match(&settings.routes, subject, &usable) {
            Some((number, rule)) => Choice {
                harness: rule.harness.clone(),
                model: rule.model.clone(),
                effort: rule.effort.clone(),
                route: Route {
                    by: RoutedBy::Rule,
                    reason: format!("`[[route]]` number {number} of `config.toml` matches"),
                    ..task.default_choice().route
                },
                split: Split::No,
            },
            None => self.ask_or_default(store, task, effect, &settings, &usable)?,
        };
        if choice.split == Split::Suggested {
            let stored = store.require(&task.id).map_err(Failure::temporary)?;
            let workflow = pinned_workflow(&stored).map_err(Failure::temporary)?;
            match refuse_split(task, &workflow, settings.router.decompose) {
                Some(why) => {
                    let Route { reason, .. } = &mut choice.route;
                    *reason = format!("{reason} It suggests splitting the task, but {why}.");
                    choice.split = Split::Ignored;
                }
                None if settings.router.decompose == Decompose::Auto => {
                    choice.split = Split::Wanted;
                }
                None => {}
            }
        }
        Ok(EffectOutcome::Chosen(Box::new(choice)))
    }

    fn ask_or_default(
        &self,
        store: &Store,
        task: &Task,
        effect: EffectId,
        settings: &Settings,
        usable: &[HarnessName],
    ) -> Result<Choice, Failure> {
        let mut default = task.default_choice();
        let Some(router) = &settings.router.harness else {
            return Ok(default);
        };
        let offers = Offers {
            harnesses: offers(&settings.router.choices, usable),
            skills: self.context.skill_names(task),
        };
        let answer = match offers.harnesses.as_slice() {
            [] => Err(String::from("it can choose nothing: no harness is usable")),
            _ if !usable.contains(router) => {
                Err(format!("its harness `{router}` is parked or not installed"))
            }
            _ => match self.over_budget(store, task, router, settings)? {
                Some(reason) => Err(reason),
                None => self.ask_router(store, task, effect, router, settings, &offers),
            },
        };
        Ok(match answer {
            Ok(choice) => choice,
            Err(reason) => {
                default.route.reason = format!("the router was of no help: {reason}");
                default
            }
        })
    }

    /// Why a budget does not let the router start, if it does not.
    fn over_budget(
        &self,
        store: &Store,
        task: &Task,
        router: &HarnessName,
        settings: &Settings,
    ) -> Result<Option<String>, Failure> {
        let limits = self.steps.current_limits(store);
        let limits = limits.map_err(Failure::temporary)?;
        let start = Start {
            task: &task.id,
            project: &task.project,
            job: task.job.as_ref().map(|link| &link.name),
            harness: router,
            model: settings.router.model.as_deref(),
        };
        let waits = Wait::from_budget(&limits.budget, &start);
        Ok(waits.first().map(ToString::to_string))
    }

    /// Every harness that is installed and not parked.
    fn usable_harnesses(&self, store: &Store) -> Result<Vec<HarnessName>, Failure> {
        let parked = store.parkings(clock::now()).map_err(Failure::temporary)?;
        let installed = self.steps.installed_harnesses();
        let mut usable = installed.map_err(Failure::temporary)?;
        usable.retain(|name| parked.iter().all(|it| it.harness != *name));
        Ok(usable)
    }
}

/// Why a suggested split is ignored, if it is.
fn refuse_split(task: &Task, workflow: &Workflow, decompose: Decompose) -> Option<&'static str> {
    if decompose == Decompose::Off {
        return Some("`router.decompose` is `off`");
    }
    if !workflow.can_plan() {
        return Some("its workflow has no `plan`");
    }
    if task.queueing.ancestors() >= MAX_DEPTH {
        return Some("a child of a child may not delegate");
    }
    (!task.children.is_empty()).then_some("it has child tasks already")
}

/// The configured choices whose harness is usable; without any, every usable harness.
fn offers(choices: &[String], usable: &[HarnessName]) -> Vec<Offer> {
    if choices.is_empty() {
        let every = usable.iter().cloned();
        let every = every.map(|harness| Offer {
            harness,
            model: None,
        });
        return every.collect();
    }
    let offers = choices.iter().map(|choice| {
        let (harness, model) = match choice.split_once(':') {
            Some((harness, model)) => (harness, Some(model.to_owned())),
            None => (choice.as_str(), None),
        };
        let harness = HarnessName::new(harness);
        Offer { harness, model }
    });
    let offers = offers.filter(|offer| usable.contains(&offer.harness));
    offers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_usable_harnesses_are_offered() {
        let usable = ["claude", "codex"].map(HarnessName::new);
        let shown = |choices: &[&str]| {
            let choices: Vec<String> = choices.iter().map(|it| (*it).to_owned()).collect();
            let all = offers(&choices, &usable).into_iter();
            all.map(|it| (it.harness.to_string(), it.model)).collect()
        };
        let expected: Vec<(String, Option<String>)> =
            vec![("claude".into(), None), ("codex".into(), None)];
        let all: Vec<(String, Option<String>)> = shown(&[]);
        assert_eq!(all, expected);
        let chosen: Vec<(String, Option<String>)> = shown(&["claude:a:b", "pi", "codex"]);
        assert_eq!(
            chosen,
            [
                ("claude".into(), Some("a:b".into())),
                ("codex".into(), None)
            ]
        );
    }
}
