//! Helpers shared by the tests of the commands and the driver.

pub mod around;
pub mod forge_stage;
pub mod gates;
pub mod json_server;
pub mod matrix_server;
pub mod program;
pub mod reporting_agent;
pub mod repository;
pub mod scripts;
pub mod stage;
pub mod supervisor;
pub mod synapse;
pub mod telegram_server;
pub mod terminal;
pub mod transcript;

pub use gates::{COUNTED, start_with_gate};
pub use reporting_agent::ReportingAgent;
pub use scripts::{FIX, PASS, PLAN_AND_WORK, log, way};
pub use stage::{SOON, Stage, environment, wait_for};
pub use supervisor::RunningSupervisor;
pub use terminal::Terminal;
