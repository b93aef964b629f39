//! `docs/mcp.md` names every tool and every error.

use orange_mcp::tools::TOOLS;

const PAGE: &str = include_str!("../../../../docs/mcp.md");

#[test]
fn every_tool_and_error_is_explained() {
    for tool in TOOLS {
        let row = format!("| `{}` | `orange {}` |", tool.name, tool.command);
        assert!(PAGE.contains(&row), "the page lacks {row}");
    }
    for code in ["parameter-invalid", "busy", "answer-too-large"] {
        assert!(PAGE.contains(&format!("| `{code}` |")), "{code}");
    }
}

/// Row 42 of the attacks on the web API: there is no MCP over HTTP.
#[test]
fn row_42_there_is_no_mcp_over_http() {
    let manifest = include_str!("../../../orange-mcp/Cargo.toml");
    let line = manifest
        .lines()
        .find(|it| it.starts_with("rmcp = "))
        .unwrap();
    assert!(line.contains("default-features = false"), "{line}");
    assert!(
        line.contains(r#"features = ["server", "transport-io"]"#),
        "{line}"
    );
    let lock = include_str!("../../../../Cargo.lock");
    let package = lock
        .split("[[package]]")
        .find(|it| it.contains("name = \"rmcp\""));
    let package = package.unwrap();
    for http in ["\"http\"", "\"hyper", "\"axum", "\"reqwest", "\"tower"] {
        assert!(!package.contains(http), "{package}");
    }
}
