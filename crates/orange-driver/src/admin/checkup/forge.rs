//! Checks whether orange can work with GitHub.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;

/// The largest difference to GitHub's clock that is not reported. A larger one makes ages and
/// limits wrong.
const MAX_SKEW_SECONDS: i64 = 60;

/// A quota is reported as low when less than one part in this many of its limit is left.
const LOW_QUOTA_PARTS: u64 = 10;

impl Admin {
    /// Asks GitHub about each project that has a repository there.
    pub(super) fn check_forges(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            let what = format!("GitHub for {}", project.name);
            let status = match self.forge.status(project) {
                Ok(status) => status,
                Err(error) => {
                    found.push(Checkup::new(what, Health::Unknown, error.to_string()));
                    continue;
                }
            };
            let Some(repository) = &status.repository else {
                continue;
            };
            let name = &project.name;
            let fix = format!("run `orange forge status --project {name}`");
            if let Some(problem) = &status.problem {
                found.push(Checkup::new(what, Health::Warning, problem).with_fix(fix));
                continue;
            }
            let is_low = |remaining: u64, limit: u64| remaining < limit / LOW_QUOTA_PARTS;
            let low = status.quotas.iter();
            let low = low.filter(|it| is_low(it.remaining, it.limit)).map(|it| {
                format!(
                    "{} of {} {} requests are left",
                    it.remaining, it.limit, it.kind
                )
            });
            let skew = status.clock_skew.unwrap_or(0);
            let skewed = (skew.abs() > MAX_SKEW_SECONDS)
                .then(|| format!("your clock is {} seconds off", skew.abs()));
            let problems: Vec<String> = low.chain(skewed).collect();
            if problems.is_empty() {
                let token = status.token.as_deref().unwrap_or("no token");
                let mut message = format!("{repository}, token of {token}");
                if let Some(scopes) = status.scopes.filter(|it| !it.is_empty()) {
                    message = format!("{message}, scopes {}", scopes.join(", "));
                }
                found.push(Checkup::new(what, Health::Ok, message));
            } else {
                let warning = Checkup::new(what, Health::Warning, problems.join("; "));
                found.push(warning.with_fix(fix));
            }
        }
    }
}
