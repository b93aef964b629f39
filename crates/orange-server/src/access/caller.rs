//! The caller of a request, as its token names it.

use std::collections::BTreeSet;

use orange_fleet::capability::Capabilities;
use orange_fleet::ids::{Label, OrgId, PersonId, ProjectId, RunnerId};
use serde::{Deserialize, Serialize};

use crate::access::Roles;

/// Each caller belongs to one organisation, and sees nothing of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    Runner(Runner),
    Person(Person),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    pub org: OrgId,
    pub id: RunnerId,
    pub scope: Scope,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub org: OrgId,
    pub id: PersonId,
    pub roles: Roles,
}

/// What a runner may claim to be able to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The projects whose tasks it may hold; absent for all of its organisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<BTreeSet<ProjectId>>,
    /// The labels that it may have, such as `integrator`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
}

impl Caller {
    pub fn org(&self) -> &OrgId {
        match self {
            Self::Runner(runner) => &runner.org,
            Self::Person(person) => &person.org,
        }
    }
}

impl Scope {
    /// The projects and labels that a runner claims and may not have.
    pub fn excess(&self, claimed: &Capabilities) -> Vec<String> {
        let projects = claimed.projects.iter().filter(|it| {
            let mut allowed = self.projects.iter();
            !allowed.all(|projects| projects.contains(*it))
        });
        let labels = claimed.labels.difference(&self.labels);
        let projects = projects.map(|it| format!("project `{it}`"));
        projects
            .chain(labels.map(|it| format!("label `{it}`")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_claims_only_what_its_token_allows() {
        let claimed = Capabilities {
            projects: [ProjectId::new("coffee"), ProjectId::new("tea")].into(),
            labels: [Label::new("integrator")].into(),
            ..Capabilities::default()
        };
        let scope = |json| serde_json::from_str::<Scope>(json).unwrap();
        let excess = |json| scope(json).excess(&claimed);
        assert_eq!(excess("{}"), ["label `integrator`"]);
        assert_eq!(
            excess(r#"{"projects":["coffee"],"labels":["integrator"]}"#),
            ["project `tea`"]
        );
        let all = excess(r#"{"labels":["integrator","gpu"]}"#);
        assert_eq!(all, Vec::<String>::new());
    }
}
