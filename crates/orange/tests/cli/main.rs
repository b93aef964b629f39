//! Runs the real program in a sealed environment and keeps transcripts.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests start programs: the real `orange`, and tmux around it"
)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set the stage must fail loudly"
)]

#[cfg(target_os = "linux")]
mod agent_ask;
#[cfg(target_os = "linux")]
mod agent_event;
#[cfg(target_os = "linux")]
mod allow;
#[cfg(target_os = "linux")]
mod attention;
mod budget;
mod chat;
#[cfg(target_os = "linux")]
mod completions;
mod config_show;
#[cfg(target_os = "linux")]
mod demo;
#[cfg(target_os = "linux")]
mod deny;
#[cfg(target_os = "linux")]
mod doctor;
mod every_command;
#[cfg(target_os = "linux")]
mod forge_look;
#[cfg(target_os = "linux")]
mod forge_status;
#[cfg(target_os = "linux")]
mod inbox;
#[cfg(target_os = "linux")]
mod install;
#[cfg(target_os = "linux")]
mod issue_approve;
#[cfg(target_os = "linux")]
mod issue_ignore;
#[cfg(target_os = "linux")]
mod issue_list;
#[cfg(target_os = "linux")]
mod issue_show;
#[cfg(target_os = "linux")]
mod job_add;
#[cfg(target_os = "linux")]
mod job_disable;
#[cfg(target_os = "linux")]
mod job_enable;
#[cfg(target_os = "linux")]
mod job_list;
#[cfg(target_os = "linux")]
mod job_next;
#[cfg(target_os = "linux")]
mod job_remove;
#[cfg(target_os = "linux")]
mod job_run;
#[cfg(target_os = "linux")]
mod log;
mod note_accept;
mod note_add;
mod note_list;
mod note_reject;
#[cfg(target_os = "linux")]
mod project_remove;
#[cfg(target_os = "linux")]
mod project_show;
#[cfg(target_os = "linux")]
mod project_update;
#[cfg(target_os = "linux")]
mod rebuild;
mod report;
mod runner_drain;
mod runner_join;
mod runner_leave;
mod runner_run;
mod runner_status;
mod sandbox;
mod schema;
#[path = "../schema_check/mod.rs"]
mod schema_check;
#[cfg(all(target_os = "linux", feature = "server"))]
mod server_run;
#[cfg(target_os = "linux")]
#[path = "../support/mod.rs"]
#[expect(dead_code, reason = "the tests of the driver use the rest")]
mod support;
#[cfg(target_os = "linux")]
mod task_attach;
#[cfg(target_os = "linux")]
mod task_cancel;
#[cfg(target_os = "linux")]
mod task_compare;
mod task_create;
#[cfg(target_os = "linux")]
mod task_delete;
#[cfg(target_os = "linux")]
mod task_diff;
mod task_edit;
#[cfg(target_os = "linux")]
mod task_history;
#[cfg(target_os = "linux")]
mod task_keep;
mod task_list;
#[cfg(target_os = "linux")]
mod task_logs;
#[cfg(target_os = "linux")]
mod task_merge;
mod task_path;
#[cfg(target_os = "linux")]
mod task_pr;
#[cfg(target_os = "linux")]
mod task_reopen;
#[cfg(target_os = "linux")]
mod task_respawn;
#[cfg(target_os = "linux")]
mod task_restart;
#[cfg(target_os = "linux")]
mod task_restore;
#[cfg(target_os = "linux")]
mod task_retry;
mod task_shell;
#[cfg(target_os = "linux")]
mod task_show;
#[cfg(target_os = "linux")]
mod task_spawn;
#[cfg(target_os = "linux")]
mod task_stop;
#[cfg(target_os = "linux")]
mod task_stuck;
#[cfg(target_os = "linux")]
mod task_tell;
#[cfg(target_os = "linux")]
mod task_unblock;
#[cfg(target_os = "linux")]
mod task_update;
#[cfg(target_os = "linux")]
mod task_wait;
#[cfg(target_os = "linux")]
mod task_why;
#[cfg(target_os = "linux")]
mod uninstall;
mod workflow_check;
mod workflow_diff;
mod workflow_graph;
mod workflow_list;
mod workflow_new;
mod workflow_schema;
mod workflow_show;
mod workflow_simulate;
#[cfg(target_os = "linux")]
mod workspace_gc;
#[cfg(target_os = "linux")]
mod workspace_list;
#[cfg(target_os = "linux")]
mod workspace_remove;
