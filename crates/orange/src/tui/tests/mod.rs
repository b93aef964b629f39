//! The dashboard without a terminal: keys, messages and views.

mod children;
mod demo;
mod diff;
mod drafts;
mod incoming;
mod keys;
mod marks;
mod merge;
mod permission;
mod pull_requests;
mod review;
mod sample;
mod views;
