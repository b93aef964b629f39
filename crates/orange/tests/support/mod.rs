//! What the tests of the commands and of the driver share.

pub mod gates;
pub mod program;
pub mod repository;
pub mod scripts;
pub mod serving;
pub mod stage;
pub mod terminal;
pub mod told;
pub mod transcript;
