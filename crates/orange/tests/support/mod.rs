//! Helpers shared by the tests of the commands and the driver.

pub mod gates;
pub mod program;
pub mod repository;
pub mod scripts;
pub mod serving;
pub mod stage;
pub mod terminal;
pub mod told;
pub mod transcript;

pub use gates::{COUNTED, staged};
pub use scripts::{FIX, PASS, PLAN_AND_WORK, log, way};
pub use serving::Serving;
pub use stage::{SOON, Stage, environment, wait_for};
pub use terminal::Terminal;
pub use told::Told;
