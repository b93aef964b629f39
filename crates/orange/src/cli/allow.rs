//! `orange allow`.

mod page;
pub(super) mod policy;

use orange_config::Environment;
use orange_engine::permission::PermissionOutcome;

use self::policy::PolicyOptions;
use super::request::permission;
use crate::cli::{Error, Exit};
use crate::output::Output;

/// Allow an agent's request, or a repository's policy.
///
/// An agent with reduced permissions asks before it does something that it has no permission for.
/// `orange attention` shows each request in full, with its id. When you allow a request, the agent
/// continues immediately; it asks again the next time. If the request is not answered within
/// `permissions.wait`, the agent asks in its own terminal.
///
/// Without a request, the policy of the project's repository is shown in full, and used from then
/// on if you allow it: `.orange/policy.toml` and `.orange/workflows/*.yml` of the default branch.
/// orange keeps a copy of what you allowed. Later changes in the repository are not used before you
/// run this again. Only you can allow a policy, never an agent.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The request's id [default: the policy of the project].
    #[arg(value_name = "REQUEST")]
    pub request: Option<String>,
    /// The project [default: that of this directory, else the only registered one].
    #[arg(long, value_name = "NAME", conflicts_with = "request")]
    pub project: Option<String>,
    /// Allow the policy without asking.
    #[arg(long, conflicts_with = "request")]
    pub yes: bool,
    /// Fail unless the policy has this hash.
    #[arg(long, value_name = "HASH", conflicts_with_all = ["request", "revoke"])]
    pub hash: Option<String>,
    /// Forget the policy that you allowed.
    #[arg(long, conflicts_with_all = ["request", "yes"])]
    pub revoke: bool,
}

pub fn run(args: &Args, environment: &Environment, output: &mut Output) -> Result<Exit, Error> {
    if let Some(request) = &args.request {
        return permission::answer(request, &PermissionOutcome::Allowed, environment, output);
    }
    let options = PolicyOptions {
        project: args.project.as_deref(),
        is_confirmed: args.yes,
        hash: args.hash.as_deref(),
        revokes: args.revoke,
    };
    policy::run(options, environment, output)
}
