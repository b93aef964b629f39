//! The files that anyone may read: those of the page.
//!
//! They are in `page/`, as the browser gets them; nothing builds them. Only comments are left out,
//! because they are for readers of the source.
//!
//! The modules name each other, so their names cannot contain a hash of their text. Instead a
//! browser asks each time whether its copy is still current: on the loopback interface that costs
//! nothing, and a new version of orange is never shown with old modules.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

use crate::answer::Answer;
use crate::guard;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

/// A file: its path, its type, its text.
macro_rules! asset {
    ($path:literal, $content_type:ident, $name:literal) => {
        (
            $path,
            $content_type,
            include_str!(concat!("../page/", $name)),
        )
    };
}

const FILES: [(&str, &str, &str); 22] = [
    asset!("/", HTML, "index.html"),
    asset!("/act.js", SCRIPT, "act.js"),
    asset!("/api.js", SCRIPT, "api.js"),
    asset!("/comments.js", SCRIPT, "comments.js"),
    asset!("/create.js", SCRIPT, "create.js"),
    asset!("/device.js", SCRIPT, "device.js"),
    asset!("/dialog.js", SCRIPT, "dialog.js"),
    asset!("/diff.js", SCRIPT, "diff.js"),
    asset!("/draw.js", SCRIPT, "draw.js"),
    asset!("/events.js", SCRIPT, "events.js"),
    asset!("/icon.svg", IMAGE, "icon.svg"),
    asset!("/lit-html.js", SCRIPT, "lit-html.js"),
    asset!("/needs.js", SCRIPT, "needs.js"),
    asset!("/page.js", SCRIPT, "page.js"),
    asset!("/parse.js", SCRIPT, "parse.js"),
    asset!("/permission.js", SCRIPT, "permission.js"),
    asset!("/queue.js", SCRIPT, "queue.js"),
    asset!("/shown.js", SCRIPT, "shown.js"),
    asset!("/steps.js", SCRIPT, "steps.js"),
    asset!("/style.css", STYLE, "style.css"),
    asset!("/task.js", SCRIPT, "task.js"),
    asset!("/text.js", SCRIPT, "text.js"),
];

/// The only file that others wrote, which is served as it is.
const LIBRARY: &str = "/lit-html.js";

/// A file as it is served.
#[derive(Debug)]
struct Asset {
    path: &'static str,
    content_type: &'static str,
    body: Bytes,
    etag: HeaderValue,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let assets = FILES.iter().map(|&(path, content_type, source)| {
        let body = match path {
            LIBRARY => source.to_owned(),
            _ => without_comments(source),
        };
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        Asset {
            path,
            content_type,
            body: body.into(),
            etag: HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("\"\"")),
        }
    });
    assets.collect()
});

/// The answer, if the request is for one of the files.
pub fn find(method: &Method, path: &str, headers: &HeaderMap) -> Option<Answer> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    if method != Method::GET && method != Method::HEAD {
        return None;
    }
    let known = guard::only(headers, &header::IF_NONE_MATCH);
    let is_current = known.is_some_and(|it| it.as_bytes() == asset.etag.as_bytes());
    let mut answer = Response::new(Body::empty());
    if is_current {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *answer.body_mut() = Body::from(asset.body.clone());
    }
    let fields = answer.headers_mut();
    fields.insert(header::ETAG, asset.etag.clone());
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    fields.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    Some(answer)
}

/// The text without `/** … */`, and without lines that begin with `//`.
fn without_comments(source: &str) -> String {
    let mut text = String::new();
    let mut rest = source;
    while let Some((before, comment)) = rest.split_once("/**") {
        text.push_str(before.trim_end_matches(' '));
        let after = comment.split_once("*/").map_or("", |(_, after)| after);
        rest = after.trim_start_matches(' ');
    }
    text.push_str(rest);
    let is_code = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with("//")
    };
    let lines: Vec<&str> = text.lines().filter(is_code).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    use super::*;

    /// `package/lit-html.js` of the package `lit-html` 3.3.3 in npm's registry; the licence is
    /// BSD-3-Clause, in `page/LICENSE-lit-html`.
    const LIT_HTML: &str = "b878e7f95dec8a9b6e9b217faca6b6a11bad82ebc44c0caa77419ed83edd81f2";

    /// What the first visit may load.
    const MAX_PAGE: usize = 50_000;

    fn text(path: &str) -> &'static str {
        let asset = ASSETS.iter().find(|it| it.path == path).unwrap();
        str::from_utf8(&asset.body).unwrap()
    }

    #[test]
    fn the_library_is_the_published_one() {
        let digest = Sha256::digest(text(LIBRARY));
        let digest: Vec<String> = digest.iter().map(|it| format!("{it:02x}")).collect();
        assert_eq!(digest.concat(), LIT_HTML);
        let licence = include_str!("../page/LICENSE-lit-html");
        assert!(licence.starts_with("BSD 3-Clause License\n\nCopyright (c) 2017 Google LLC."));
        assert!(text(LIBRARY).contains("SPDX-License-Identifier: BSD-3-Clause"));
    }

    #[test]
    fn the_page_is_small() {
        let size: usize = ASSETS.iter().map(|it| it.body.len()).sum();
        assert!(size <= MAX_PAGE, "{size} bytes");
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let names = fs::read_dir(folder).unwrap();
        let names = names.map(|it| it.unwrap().file_name().into_string().unwrap());
        let unserved = ["LICENSE-lit-html", "types.d.ts"];
        let names = names.filter(|it| !unserved.contains(&it.as_str()));
        let paths: BTreeSet<String> = names
            .map(|it| format!("/{}", it.replace("index.html", "")))
            .collect();
        let served: BTreeSet<String> = FILES.iter().map(|it| it.0.to_owned()).collect();
        assert_eq!(served, paths);
    }

    /// The page asks for nothing that is not here.
    #[test]
    fn no_file_names_another_origin() {
        for asset in ASSETS.iter().filter(|it| it.path != LIBRARY) {
            let text = text(asset.path).replace("http://www.w3.org/2000/svg", "");
            for foreign in ["http://", "https://", "src=\"//", "@import", "url("] {
                assert!(!text.contains(foreign), "{}: {foreign}", asset.path);
            }
            for unsafe_way in [
                "innerHTML",
                "unsafe",
                "eval(",
                "document.write",
                "document.cookie",
                "serviceWorker",
                "insertAdjacent",
                "style=",
            ] {
                assert!(!text.contains(unsafe_way), "{}: {unsafe_way}", asset.path);
            }
        }
    }

    #[test]
    fn comments_are_not_served_and_nothing_else_is_left_out() {
        let source =
            "/** A. */\n\nlet a = \"/b\"; // c\n  // d\n/**\n * E.\n */\nf(/** @type {g} */ h);\n";
        assert_eq!(without_comments(source), "let a = \"/b\"; // c\nf(h);");
        assert_eq!(without_comments("a /* b */"), "a /* b */");
        for asset in ASSETS.iter().filter(|it| it.path != LIBRARY) {
            let text = text(asset.path);
            assert!(!text.contains("/**") && !text.contains("\n//"), "{text}");
        }
    }

    #[test]
    fn a_copy_that_is_current_is_not_sent_again() {
        let asset = &ASSETS[0];
        let ask = |etag: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, etag.parse().unwrap());
            find(&Method::GET, "/", &headers).unwrap().status()
        };
        assert_eq!(ask(asset.etag.to_str().unwrap()), StatusCode::NOT_MODIFIED);
        assert_eq!(ask("\"0\""), StatusCode::OK);
        let posted = find(&Method::POST, "/", &HeaderMap::new());
        assert!(posted.is_none(), "only reads need no token");
        assert!(find(&Method::GET, "/index.html", &HeaderMap::new()).is_none());
    }
}
