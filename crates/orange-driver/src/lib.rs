//! Joins engine, store and effects: load, decide, record, perform, record.
//!
//! Each part has a folder and a type, and gets the parts below it: `Context`, `Callers`,
//! `Workspaces`, `Forge`, `Steps`, `Agents`, `Scheduler`, `Performer`, `Requests`, `Views`, `Chat`, `Admin`, `Web`. A step
//! holds no transaction and no lock during slow work: facts are gathered between two decisions,
//! effects are performed after the commit, and agents call orange while their effects are
//! performed.

mod admin;
mod agents;
mod callers;
mod chat;
mod context;
mod demo;
mod driver;
mod due;
mod error;
mod failure;
pub mod fleet;
mod forge;
mod jobs;
mod perform;
mod request;
mod schedule;
mod steps;
pub mod supervisor;
mod views;
mod web;
mod workspaces;

pub use admin::checkup::{Checkup, Health};
pub use admin::gc::{GcReport, IgnoredFiles, Problem};
pub use admin::policy::PolicyProposal;
pub use admin::projects::{ProjectSettings, ProjectUsage};
pub use admin::read_log::LogReader;
pub use admin::remove_workspace::RemovedWorkspace;
pub use admin::set_aside::SetAsideWorktree;
pub use admin::skills::{InstallReport, SkillAction, SkillOutcome};
pub use admin::uninstall::{
    ExcludedLines, KeptBranch, LiveAgent, UninstallPlan, UninstallReport, WorktreeToRemove,
};
pub use agents::activity::RunActivity;
pub use agents::attach::AgentTerminal;
pub use agents::events::HookEvent;
pub use agents::observe::TaskCheck;
pub use agents::orphans::Orphan;
pub use agents::output::RunOutput;
pub use agents::permission::PermissionDecision;
pub use agents::results::ResultOfRun;
pub use agents::run_check::RunObservation;
pub use agents::screen::{AgentScreen, ScreenViewer};
pub use callers::identity::Identity;
pub use callers::tool_caller::ToolCaller;
pub use chat::Chat;
pub use context::notes::{Note, NoteState};
pub use context::progress::Progress;
pub use context::supervision::SupervisorLock;
pub use context::{Bounds, Context, GatherPolicy};
pub use demo::Demo;
pub use driver::Driver;
pub use error::{Candidate, DriverError, Kind, NextStep, Report};
pub use forge::posts::PostReport;
pub use forge::snapshot::{
    ChecksOutcome, ChecksSummary, PullRequestHeadline, PullRequestSnapshot, ReviewSummary,
};
pub use forge::status::{ForgeStatus, QuotaStatus};
pub use jobs::JobRunOutcome;
pub use orange_engine::why::Explanation;
pub use perform::PerformResult;
pub use perform::confirm_starts::StartConfirmation;
pub use request::answer::{Answer, ChangeReport, FailedEffect};
pub use request::ask::TaskRequest;
pub use request::delete::DeleteResult;
pub use request::drafts::{DraftsFile, DraftsVersion};
pub use request::issue_task::IssueTaskRequest;
pub use request::issues::{IssueOutcome, IssueReport, IssueText, IssueVerdict};
pub use request::jobs::manage::{JobActivity, JobReport, JobReports, JobRunReport};
pub use request::look::LookReport;
pub use request::permission::AnsweredRequest;
pub use request::recover::{LostAgents, RespawnReport};
pub use request::registration::{Registration, WorkerPermissions};
pub use request::retry::UnblockResult;
pub use request::start::{CreatedTask, Start};
pub use request::wait::WaitPolicy;
pub use schedule::parking::{KnownHarness, UnparkResult};
pub use steps::catch_up::CatchUpError;
pub use steps::create::{NewIssue, NewTaskRequest, can_be_branch};
pub use steps::preview::NewTaskOutlook;
pub use views::attention::{Attention, AttentionEntry};
pub use views::await_status::{WaitResult, WaitTarget};
pub use views::budget::BudgetReport;
pub use views::follow::{Follower, ListChange};
pub use views::group::{GroupMember, new_group_name};
pub use views::list::{AgentState, ListFilter, Overview};
pub use views::queries::{AgentSandbox, Outlook, TaskDetails};
pub use views::summary::{SummaryReader, TaskSummary};
pub use views::watch::{Change, WatchedRun, WatchedTask, Watcher};
pub use web::changes::{ChangedTask, CommitReport, Commits};
pub use web::devices::{Device, DeviceScope, PairedDevice, PairingCode};
pub use web::peer::Peer;
pub use web::requests::RequestWatch;
pub use workspaces::kept::KeptWorktree;
pub use workspaces::list::WorkspaceInfo;
pub use workspaces::merge_forecast::MergeForecast;
pub use workspaces::open::Tool;
pub use workspaces::policy::{CommittedPolicy, PolicyState};
pub use workspaces::rescues::{Destination, RescueInfo};
pub use workspaces::sandbox::attempts::{SandboxTrial, TriedAttempt};
pub use workspaces::sandbox::explain::{SandboxExplanation, SandboxGap, SandboxInside};
pub use workspaces::sandbox::ports::SandboxPort;
pub use workspaces::test_run::TestResult;
pub use workspaces::unread_filters::UnreadFilter;

pub use orange_effects::command::{Invocation, create_session, end_with_caller};
pub use orange_effects::git::{
    BranchDiff, DiffPart, DiffSize, FileDiff, MergeObstacle, MergePreview, Operation,
};
pub use orange_effects::run::exec_run;
pub use orange_effects::sandbox::{
    AgentExit, Attempt, CallPolicy, CallResult, Level, OutputStream, Targets, call_outside,
    confine, is_inside, make_attempts, run_init,
};
pub use orange_effects::tmux::Observation;
pub use orange_store::{
    ChildCount, InboxEntry as Message, RebuildReport, TaskRow, steps as crash_points,
};
