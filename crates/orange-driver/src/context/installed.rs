//! Finds installed harnesses.

use orange_config::Harnesses;
use orange_engine::names::HarnessName;

use crate::context::Context;

impl Context {
    /// The first harness, in the order of their names, whose program is installed.
    pub(crate) fn first_installed(&self, harnesses: &Harnesses) -> Option<HarnessName> {
        let path = self.environment.variable("PATH");
        let mut usable = harnesses
            .all()
            .iter()
            .filter_map(|(_, it)| it.as_ref().ok());
        let first = usable.find(|harness| harness.locate(path).is_ok());
        first.map(|harness| harness.name.clone())
    }
}
