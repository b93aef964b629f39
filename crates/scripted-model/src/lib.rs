//! A model for tests: follows a script, answers real agents.
//!
//! It listens on loopback and speaks what agents speak: Anthropic Messages, `OpenAI` Responses and
//! Chat Completions, and Gemini, each streaming. Nothing is remembered about a conversation: which
//! line of which script comes next is read from the request itself, which holds all that was said.
//! The prompts under test are therefore exactly the shipped ones. See `script` for the scripts.

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
