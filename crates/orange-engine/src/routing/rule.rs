//! The rules of the settings that choose a harness.

use crate::names::{HarnessName, ProjectName};

/// A rule: all conditions it names must hold. Of each list, one entry is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRule {
    /// Labels of the task.
    pub labels: Vec<String>,
    /// Words of its summary.
    pub words: Vec<String>,
    /// Its project.
    pub projects: Vec<String>,
    pub harness: HarnessName,
    pub model: Option<String>,
    pub effort: Option<String>,
}

/// What the rules look at.
#[derive(Clone, Copy, Debug)]
pub struct RouteSubject<'a> {
    pub summary: &'a str,
    pub labels: &'a [String],
    pub project: &'a ProjectName,
}

impl RouteRule {
    fn matches(&self, subject: RouteSubject<'_>) -> bool {
        let is_one_of = |wanted: &[String], found: &str| wanted.iter().any(|it| is_same(it, found));
        let labels = subject.labels.iter().map(String::as_str);
        let words = subject
            .summary
            .split(|it: char| !it.is_alphanumeric() && it != '-' && it != '_');
        let holds = |wanted: &[String], mut found: Box<dyn Iterator<Item = &str> + '_>| {
            wanted.is_empty() || found.any(|it| is_one_of(wanted, it))
        };
        holds(&self.labels, Box::new(labels))
            && holds(&self.words, Box::new(words))
            && holds(
                &self.projects,
                Box::new(std::iter::once(subject.project.as_str())),
            )
    }
}

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// The first rule that matches and whose harness can be used, with its number, counted from 1.
pub fn first_match<'a>(
    rules: &'a [RouteRule],
    subject: RouteSubject<'_>,
    usable: &[HarnessName],
) -> Option<(usize, &'a RouteRule)> {
    let mut numbered = (1..).zip(rules);
    numbered.find(|(_, rule)| usable.contains(&rule.harness) && rule.matches(subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(labels: &[&str], words: &[&str], projects: &[&str], harness: &str) -> RouteRule {
        let all = |them: &[&str]| them.iter().map(|it| (*it).to_owned()).collect();
        RouteRule {
            labels: all(labels),
            words: all(words),
            projects: all(projects),
            harness: HarnessName::new(harness),
            model: None,
            effort: None,
        }
    }

    #[test]
    fn the_first_rule_whose_conditions_all_hold_decides() {
        let rules = [
            rule(&["docs"], &["typo", "spelling"], &[], "pi"),
            rule(&["Docs"], &[], &[], "codex"),
            rule(&[], &[], &["web"], "gemini"),
            rule(&[], &[], &[], "claude"),
        ];
        let all = ["pi", "codex", "gemini", "claude"].map(HarnessName::new);
        let (app, web) = (ProjectName::new("app"), ProjectName::new("web"));
        let docs = [String::from("docs")];
        for (summary, labels, project, expected) in [
            ("Fix a Typo.", &docs[..], &app, (1, "pi")),
            ("Fix typography", &docs[..], &app, (2, "codex")),
            ("Fix a typo", &[][..], &web, (3, "gemini")),
            ("Fix a typo", &[][..], &app, (4, "claude")),
        ] {
            let subject = RouteSubject {
                summary,
                labels,
                project,
            };
            let (number, found) = first_match(&rules, subject, &all).unwrap();
            assert_eq!((number, found.harness.as_str()), expected, "{summary}");
        }
        // A rule whose harness cannot be used is passed over.
        let subject = RouteSubject {
            summary: "Fix a typo",
            labels: &docs,
            project: &app,
        };
        let (number, _) = first_match(&rules, subject, &all[1..]).unwrap();
        assert_eq!(number, 2);
        assert!(first_match(&rules, subject, &[]).is_none());
    }
}
