//! The workflows that come with the program.

/// A workflow that is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedWorkflow {
    pub name: &'static str,
    /// Its text, including comments.
    pub source: &'static str,
}

/// Every workflow that is compiled in, the default one first.
pub const ALL: [ShippedWorkflow; 7] = [
    ShippedWorkflow {
        name: "default",
        source: include_str!("../../../workflows/default.yml"),
    },
    ShippedWorkflow {
        name: "respawn",
        source: include_str!("../../../workflows/respawn.yml"),
    },
    ShippedWorkflow {
        name: "minimal",
        source: include_str!("../../../workflows/minimal.yml"),
    },
    ShippedWorkflow {
        name: "session",
        source: include_str!("../../../workflows/session.yml"),
    },
    ShippedWorkflow {
        name: "github",
        source: include_str!("../../../workflows/github.yml"),
    },
    ShippedWorkflow {
        name: "autopilot",
        source: include_str!("../../../workflows/autopilot.yml"),
    },
    ShippedWorkflow {
        name: "local",
        source: include_str!("../../../workflows/local.yml"),
    },
];

pub fn find(name: &str) -> Option<&'static ShippedWorkflow> {
    ALL.iter().find(|shipped| shipped.name == name)
}
