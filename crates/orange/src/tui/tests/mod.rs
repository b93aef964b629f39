//! The dashboard without a terminal: keys, messages and views.

mod arriving;
mod keys;
mod sample;
mod views;
