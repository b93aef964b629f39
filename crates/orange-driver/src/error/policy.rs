//! Reports for errors of the policy of a repository.

use orange_config::PinnedPolicyError;
use orange_engine::names::{BranchName, CommitId, ProjectName};
use serde_json::json;

use super::report::{Kind, Report};

pub(super) fn missing_policy(project: &ProjectName, branch: &BranchName) -> Report {
    Report::new(Kind::NotFound, "policy-missing")
        .hint(format!(
            "commit `.orange/policy.toml` or `.orange/workflows/NAME.yml` to `{branch}`; orange \
             reads them only there"
        ))
        .details(json!({ "project": project, "branch": branch }))
}

pub(super) fn invalid_policy(
    project: &ProjectName,
    commit: &CommitId,
    problems: &[String],
) -> Report {
    Report::new(Kind::Refused, "policy-invalid")
        .hint(
            "nothing was changed; correct the files, commit them to the default branch, and run \
             `orange allow` again",
        )
        .details(json!({ "project": project, "commit": commit, "problems": problems }))
}

pub(super) fn other_policy(project: &ProjectName, found: &str) -> Report {
    Report::new(Kind::Refused, "policy-differs")
        .hint(format!("run `orange allow --project {project}` to see it"))
        .details(json!({ "project": project, "hash": found }))
}

pub(super) fn pinned_policy(error: &PinnedPolicyError) -> Report {
    let (project, path) = (&error.project, error.path.to_string_lossy());
    Report::new(Kind::Refused, "policy-unusable")
        .hint(format!(
            "run `orange allow --project {project}` to allow the policy of its repository again, or \
             `orange allow --revoke --project {project}` to do without"
        ))
        .details(json!({ "project": project, "path": path, "reason": error.reason }))
}
