//! The part of HTTP that a forge needs: requests, answers, addresses.

mod answer;
mod request;
mod text;

pub use answer::{Answer, Body};
pub use request::Request;
pub use text::{decode, encode, query};
