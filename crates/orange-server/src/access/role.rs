//! What a person may do in a project.

use std::collections::BTreeMap;

use orange_fleet::ids::ProjectId;
use serde::{Deserialize, Serialize};

/// A role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read tasks, their logs and the runners that work on them.
    View,
    /// Create tasks, and ask anything of them but what needs a review.
    Operate,
    /// Merge and approve.
    Review,
    /// Drain runners of the project.
    Maintain,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Review => "review",
            Self::Maintain => "maintain",
        }
    }
}

/// What a person may do in one organisation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Everything in every project, and tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// The role in each project; `*` stands for the projects that are not named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub projects: BTreeMap<ProjectId, Role>,
}

impl Roles {
    pub fn admin() -> Self {
        Self {
            admin: true,
            projects: BTreeMap::new(),
        }
    }

    /// `None` when the person may not even know the project.
    pub fn of(&self, project: &ProjectId) -> Option<Role> {
        if self.admin {
            return Some(Role::Maintain);
        }
        let named = self.projects.get(project);
        let role = named.or_else(|| self.projects.get(&ProjectId::new(ALL_PROJECTS)));
        role.copied()
    }

    /// The projects that the person may read; `None` for all of them.
    pub fn visible(&self) -> Option<Vec<ProjectId>> {
        let all = ProjectId::new(ALL_PROJECTS);
        if self.admin || self.projects.contains_key(&all) {
            return None;
        }
        Some(self.projects.keys().cloned().collect())
    }
}

pub const ALL_PROJECTS: &str = "*";

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(json: &str) -> Roles {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_project_that_is_not_named_is_unknown() {
        let (coffee, tea) = (ProjectId::new("coffee"), ProjectId::new("tea"));
        let one = roles(r#"{"projects":{"coffee":"review"}}"#);
        assert_eq!(one.of(&coffee), Some(Role::Review));
        assert_eq!(one.of(&tea), None);
        assert_eq!(one.visible(), Some(vec![coffee.clone()]));
        let all = roles(r#"{"projects":{"coffee":"view","*":"operate"}}"#);
        assert_eq!(all.of(&coffee), Some(Role::View), "its own name counts");
        assert_eq!(all.of(&tea), Some(Role::Operate));
        assert_eq!(all.visible(), None);
        assert_eq!(Roles::admin().of(&tea), Some(Role::Maintain));
        assert_eq!(Roles::default().of(&tea), None);
        assert_eq!(Roles::default().visible(), Some(Vec::new()));
    }

    #[test]
    fn roles_are_ordered() {
        assert!(Role::View < Role::Operate && Role::Operate < Role::Review);
        assert!(Role::Review < Role::Maintain);
    }
}
