//! Whole task lifecycles, from the first command to the end.

mod first_session;
mod headless;
mod lessons;
mod obeying;
mod reports;
mod rounds;
mod scheduling;
mod stories;
