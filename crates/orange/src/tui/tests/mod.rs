//! The dashboard without a terminal: keys, messages and views.

mod diff;
mod drafts;
mod incoming;
mod keys;
mod merge;
mod permission;
mod review;
mod sample;
mod views;
