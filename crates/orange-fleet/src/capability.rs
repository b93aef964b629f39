//! What a runner can do, and what a task needs from one.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{Format, HarnessName, Label, ProjectId};

/// What a runner can work on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Capabilities {
    /// The newest format of events that it reads.
    pub format: Format,
    pub projects: BTreeSet<ProjectId>,
    pub harnesses: BTreeSet<HarnessName>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
}

/// What a task needs from the runner that works on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Needs {
    /// The newest format among its events.
    pub format: Format,
    pub project: ProjectId,
    pub harnesses: BTreeSet<HarnessName>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
}

impl Capabilities {
    /// A runner is never offered a task that it cannot read or work on.
    pub fn meet(&self, needs: &Needs) -> bool {
        self.format >= needs.format
            && self.projects.contains(&needs.project)
            && needs.harnesses.is_subset(&self.harnesses)
            && needs.labels.is_subset(&self.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_part_excludes_a_runner() {
        let needs = Needs {
            format: Format(2),
            project: ProjectId::new("coffee"),
            harnesses: [HarnessName::new("claude")].into(),
            labels: [Label::new("integrator")].into(),
        };
        let able = Capabilities {
            format: Format(3),
            projects: [ProjectId::new("coffee"), ProjectId::new("tea")].into(),
            harnesses: [HarnessName::new("claude"), HarnessName::new("codex")].into(),
            labels: [Label::new("integrator")].into(),
        };
        assert!(able.meet(&needs));
        let mut unable = vec![able.clone(), able.clone(), able.clone(), able];
        unable[0].format = Format(1);
        unable[1].projects = [ProjectId::new("tea")].into();
        unable[2].harnesses = [HarnessName::new("codex")].into();
        unable[3].labels.clear();
        for unable in unable {
            assert!(!unable.meet(&needs), "{unable:?}");
        }
    }
}
