//! The dashboard without a terminal: keys, messages and views.

mod incoming;
mod keys;
mod merge;
mod sample;
mod views;
