//! A model for tests: follows a script, answers real agents.
//!
//! It listens on loopback and speaks the APIs that agents use: Anthropic Messages, `OpenAI`
//! Responses and Chat Completions, and Gemini, each streaming. It keeps no state about a
//! conversation: the request itself, which contains the whole conversation, determines which line
//! of which script comes next. The prompts under test are therefore exactly the shipped ones. See
//! `script` for the scripts.

pub mod conversation;
pub mod script;
pub mod tools;

mod anthropic;
mod api;
mod chat;
mod gemini;
mod http;
mod log;
mod responses;
mod server;

pub use server::Model;
