//! Every link in the documentation leads to a file and a heading.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fidelity::anchor;

/// The pages with links that a reader follows.
const FOLDERS: [&str; 3] = ["", "docs", "harnesses"];

/// The lines outside of code fences, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    let lines = page.lines().enumerate();
    lines.filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((at + 1, line))
    })
}

/// The anchors of a page. Headings with the same text get a number from the second one on.
fn anchors(page: &str) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(page).filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        let is_heading = heading.len() < line.len() && heading.starts_with(' ');
        is_heading.then(|| anchor(heading))
    });
    let numbered = headings.map(|name| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        match *count {
            1 => name,
            count => format!("{name}-{}", count - 1),
        }
    });
    numbered.collect()
}

/// The targets of the links in a line, without those in `code`.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    // A link's text may contain code, but its target is never within code.
    for (at, _) in line.match_indices("](") {
        let is_code = line[..at].matches('`').count() % 2 == 1;
        if let Some((target, _)) = line[at + 2..].split_once(')')
            && !is_code
        {
            found.push(target);
        }
    }
    for (_, rest) in line
        .match_indices("src=\"")
        .map(|(at, it)| line.split_at(at + it.len()))
    {
        found.extend(rest.split_once('"').map(|(target, _)| target));
    }
    found
}

/// What is wrong with the links of a page; `root` is the repository.
fn broken(root: &Path, page: &Path, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (number, line) in prose(text) {
        for target in targets(line) {
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            if !is_elsewhere && let Some(problem) = problem(root, page, text, target) {
                broken.push(format!("{}:{number}: {problem}", page.display()));
            }
        }
    }
    broken
}

fn problem(root: &Path, page: &Path, text: &str, target: &str) -> Option<String> {
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (target, None),
    };
    let file = match path {
        "" => root.join(page),
        path => root.join(page).parent()?.join(path),
    };
    if !file.exists() {
        return Some(format!("there is no `{path}`"));
    }
    let fragment = fragment?;
    let read = || fs::read_to_string(&file).unwrap_or_default();
    let text = if path.is_empty() {
        text.to_owned()
    } else {
        read()
    };
    let is_there = anchors(&text).iter().any(|it| it == fragment);
    (!is_there).then(|| format!("`{target}` has no such heading"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages, relative to the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(root().join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            let name = PathBuf::from(entry.file_name());
            if name.extension().is_some_and(|it| it == "md") {
                pages.push(Path::new(folder).join(name));
            }
        }
    }
    pages
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut found = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        count += prose(&text).flat_map(|(_, line)| targets(line)).count();
        found.extend(broken(&root(), &page, &text));
    }
    assert!(count > 100, "only {count} links were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_readme_leads_to_every_page() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let linked: Vec<&str> = prose(&readme)
        .flat_map(|(_, line)| targets(line))
        .filter_map(|it| it.split('#').next())
        .collect();
    let pages = pages().into_iter().filter(|it| it.starts_with("docs"));
    let missing: Vec<PathBuf> = pages
        .filter(|page| !linked.iter().any(|it| Path::new(it) == page))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn broken_links_are_found() {
    let text = "# One `two`\n\n## One two\n[a](#one-two-1) [b](docs/cli.md) [`c`](https://x.org/y)\n\
                [a](#one-two-2) `[b](gone.md)`\n![c](docs/gone.png)\n```\n[d](gone.md)\n```\n\
                [e](docs/glossary.md#no-such-heading) <img src=\"gone.gif\">\n";
    let found = broken(&root(), Path::new("README.md"), text);
    assert_eq!(
        found,
        [
            "README.md:5: `#one-two-2` has no such heading",
            "README.md:6: there is no `docs/gone.png`",
            "README.md:10: `docs/glossary.md#no-such-heading` has no such heading",
            "README.md:10: there is no `gone.gif`",
        ]
    );
}
