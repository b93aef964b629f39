//! Allows the policy of a repository, and revokes it.

use orange_config::{
    Catalog, Finding, Origin, POLICY_WORKFLOWS, PinnedPolicy, Policy, PolicyWorkflow, Project,
    Source, Value, clock, is_stricter, load_workflow,
};
use orange_engine::names::ProjectName;

use crate::DriverError;
use crate::admin::Admin;
use crate::context::workflows::proof_errors;
use crate::workspaces::policy::CommittedPolicy;

/// How much of a hash the user has to name.
const MIN_HASH_DIGITS: usize = 12;

/// A policy that the user can allow: what it sets, and exactly what would be pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProposal {
    pub project: Project,
    pub committed: CommittedPolicy,
    pub policy: Policy,
    /// The policy that is allowed now.
    pub pinned: Option<PinnedPolicy>,
    /// What that one says, if this version of orange can still read it.
    pub allowed: Option<Policy>,
}

impl PolicyProposal {
    /// Whether the user has already allowed this very policy.
    pub fn is_allowed(&self) -> bool {
        let pinned = self.pinned.as_ref();
        pinned.is_some_and(|pinned| pinned.hash == self.committed.hash)
    }

    /// Fails if this is not the policy that the user has seen; a part of the hash is enough.
    pub fn require_hash(&self, hash: &str) -> Result<(), DriverError> {
        let found = &self.committed.hash;
        if hash.len() >= MIN_HASH_DIGITS && found.starts_with(hash) {
            return Ok(());
        }
        Err(DriverError::PolicyDiffers {
            project: self.project.name.clone(),
            found: found.clone(),
        })
    }

    /// Whether its value of a setting is stricter than this one.
    pub fn is_stricter(&self, key: &str, than: Option<&Value>) -> bool {
        let own = self.policy.values().find(|(name, _)| *name == key);
        own.is_some_and(|(_, own)| is_stricter(key, Some(own), than))
    }
}

impl Admin {
    /// Reads the policy on the default branch of a project, and checks all of it.
    pub fn propose_policy(&self, project: &Project) -> Result<PolicyProposal, DriverError> {
        self.callers.require_user("allow a policy")?;
        let committed = self.workspaces.committed_policy(project)?;
        let committed = committed.ok_or_else(|| DriverError::PolicyMissing {
            project: project.name.clone(),
            branch: project.default_branch.clone(),
        })?;
        let invalid = |problems: Vec<String>| DriverError::PolicyInvalid {
            project: project.name.clone(),
            commit: committed.commit.clone(),
            problems,
        };
        let policy = Policy::parse(&committed.files).map_err(invalid)?;
        let problems = self.policy_problems(&policy)?;
        if !problems.is_empty() {
            return Err(invalid(problems));
        }
        // A pinned policy that cannot be read is replaced.
        let home = &self.context.home;
        let pinned = PinnedPolicy::load(home, &project.name).ok().flatten();
        let allowed = pinned.as_ref().map(|pinned| pinned.policy(home));
        Ok(PolicyProposal {
            project: project.clone(),
            committed,
            policy,
            allowed: allowed.and_then(Result::ok),
            pinned,
        })
    }

    /// Pins the policy that was shown, whatever the repository says by now.
    pub fn allow_policy(&self, proposal: &PolicyProposal) -> Result<PinnedPolicy, DriverError> {
        self.callers.require_user("allow a policy")?;
        let CommittedPolicy {
            commit,
            files,
            hash,
        } = proposal.committed.clone();
        let pinned = PinnedPolicy {
            project: proposal.project.name.clone(),
            branch: proposal.project.default_branch.clone(),
            commit,
            hash,
            allowed_at: clock::now(),
            files,
        };
        pinned.save(&self.context.home)?;
        Ok(pinned)
    }

    /// Forgets the allowed policy of a project; returns whether there was one.
    pub fn revoke_policy(&self, project: &ProjectName) -> Result<bool, DriverError> {
        self.callers.require_user("revoke a policy")?;
        Ok(PinnedPolicy::remove(&self.context.home, project)?)
    }

    /// Everything that is wrong with what a policy names.
    fn policy_problems(&self, policy: &Policy) -> Result<Vec<String>, DriverError> {
        let catalog = Catalog::load_with(&self.context.home, Some(policy))?;
        let mut problems: Vec<String> = Vec::new();
        for workflow in policy.workflows() {
            problems.extend(workflow_problems(workflow));
        }
        if let Some(name) = policy.workflow()
            && catalog.find(name).is_none()
        {
            problems.push(format!("there is no workflow `{name}`"));
        }
        let harnesses = self.context.harnesses()?;
        for harness in policy.harnesses() {
            let unknown = harnesses.require(&harness).err();
            problems.extend(unknown.map(|it| it.to_string()));
        }
        Ok(problems)
    }
}

/// What the load rules and the proofs find wrong with a workflow.
fn workflow_problems(workflow: &PolicyWorkflow) -> Vec<String> {
    let source = Source {
        name: workflow.name.clone(),
        origin: Origin::Policy {
            text: workflow.text.clone(),
            overrides_shipped: false,
        },
    };
    let loaded = load_workflow(&source);
    let path = format!("{POLICY_WORKFLOWS}/{}.yml", workflow.name);
    let describe = |finding: &Finding| {
        let at = finding.at();
        let at = at.map(|at| format!(", line {}, column {}", at.line, at.column));
        format!("{path}{}: {}", at.unwrap_or_default(), finding.message())
    };
    match &loaded.workflow {
        None => loaded.findings.iter().map(describe).collect(),
        Some(workflow) => {
            let errors = proof_errors(workflow).into_iter();
            errors.map(|error| format!("{path}: {error}")).collect()
        }
    }
}
