//! Callers: who presents a token, and what they may do.

mod ask;
mod caller;
mod places;
mod rates;
mod role;
mod secret;

pub use ask::role_for;
pub use caller::{Caller, Person, Runner, Scope};
pub use places::{Place, Places};
pub use rates::{Rate, Rates};
pub use role::{ALL_PROJECTS, Role, Roles};
pub use secret::{Digest, Secret, SecretKind, hexadecimal};
