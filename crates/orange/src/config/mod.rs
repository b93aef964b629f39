//! Reads what a person configured: the environment, the home, the workflows.
//!
//! Precedence, stated once: `ORANGE_HOME`, then `~/orange`; a workflow in the home, then the
//! shipped one of the same name. Reading creates nothing; `new_workflow` is the only file here
//! that writes.

mod catalog;
mod env;
mod examine;
mod home;
mod new_workflow;
mod script;
mod source;

pub use catalog::{Catalog, CatalogError};
pub use env::Environment;
pub use examine::{Examined, Finding, examine};
pub use home::{Home, HomeError};
pub use new_workflow::{NewWorkflowError, new_workflow};
pub use script::{ScriptError, read_script};
pub use source::{Origin, ReadError, Source};

use std::io;

/// What stood in the way, in lower case and without the system's number for it.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Other => error.to_string(),
        // Kinds the library has no name for say less than the system does.
        kind if kind.to_string().starts_with("uncategorized") => error.to_string(),
        kind => kind.to_string(),
    }
}
