//! `orange task pr`.

use crate::support::forge_stage::{ForgeStage, REPOSITORY};

#[test]
fn a_pull_request_is_opened_and_shown() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let output = it.stage.run_ok(&["task", "pr", id.as_str()]);
    let url = "https://github.com/ada/app/pull/1";
    assert!(output.contains(url), "{output}");
    assert!(it.forge.get(REPOSITORY, 1).pull.is_some());
    let shown = it.stage.run_ok(&["task", "show", id.as_str()]);
    assert!(shown.contains("#1 is a draft"), "{shown}");
    assert!(shown.contains(url), "{shown}");
    let (code, answer) = it.stage.json(&["task", "pr", id.as_str(), "--json"]);
    assert_eq!(code, 0, "{answer}");
    assert_eq!(answer["task"]["pull_request"]["url"], url);
}

#[test]
fn a_browser_shows_it() {
    let it = ForgeStage::new("minimal");
    let id = it.reviewed_task();
    let shown = it.stage.path("shown");
    let browser = format!("#!/bin/sh\necho \"$1\" > {}\n", shown.display());
    let with_browser = it.with_program("xdg-open", &browser);
    let opened = with_browser(&["task", "pr", id.as_str(), "--open"]);
    assert_eq!(opened.status.code(), Some(0), "{opened:?}");
    let url = std::fs::read_to_string(shown).unwrap();
    assert_eq!(url.trim(), "https://github.com/ada/app/pull/1");
}
