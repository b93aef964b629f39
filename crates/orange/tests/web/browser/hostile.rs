//! What agents write stays text: in titles, names, diffs, documents and terminals.

use serde_json::json;

use super::Scene;
use crate::support::Stage;

/// Changes a file with a hostile name to hostile lines, and prints what a terminal would obey.
const HOSTILE: &str = r#"
echo "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>" > '<svg onload=alert(1)>.txt'
printf 'let admin = false; \342\200\256 } if admin\n' >> '<svg onload=alert(1)>.txt'
git add -A
git commit -qm '<b>bold</b>'
printf 'DONE: <iframe src=//evil.example></iframe> [x](javascript:alert(1))\n' | section Handoff
printf '\033]52;c;aGk=\007\033]8;;https://evil.example\007click\033]8;;\007\033[31mred\033[0m \342\200\256reversed\n'
ask task update --status reviewing
pause end
"#;

#[test]
fn rows_17_18_19_nothing_that_an_agent_writes_is_obeyed() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", HOSTILE);
    let title = "<img src=x onerror=\"window.hit=1\"> javascript:alert(1)";
    let id = stage.create(&[title]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let scene = Scene::new(stage);
    let browser = &scene.browser;
    browser.wait_for(title);
    browser.tap(title);
    browser.wait_for("<svg onload=alert(1)>.txt");
    browser.tap("TASK.md");
    browser.wait_for("<iframe src=//evil.example></iframe>");
    browser.tap("Timeline");
    browser.tap("Screen");
    browser.wait_for("click");
    browser.tap("Read the changes");
    browser.wait_for("+<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>");
    browser.wait_for("let admin = false; \u{fffd} } if admin");
    // On every screen, only what the page itself makes is there.
    assert!(browser.value("window.hit").is_null());
    let foreign = "document.querySelectorAll('img, iframe, svg, b, main script').length";
    assert_eq!(browser.value(foreign), 0);
    scene.assert_quiet(&[]);
    // Texts are made safe where they arrive, and only addresses of the web become links.
    let safe = browser.run(
        "return import('/text.js').then(({ clean, link }) => [
            clean('\\x1b]52;c;aGk=\\x07\\x1b]8;;https://e.x\\x1b\\\\a\\x1b[31mb\\x1b[0m\\x1bcc\\x9bd'),
            clean('a\\u202eb\\u2066c\\u200bd\\ufeffe\\tf\\ng'),
            ...['javascript:alert(1)', 'data:text/html,x', ' https://e.x', '//e.x', 'file:///e']
                .map((address) => link(address, 'text')),
            typeof link('https://e.x', 'text'),
        ]);",
        &[],
    );
    let expected = json!([
        "abc\u{fffd}d",
        "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\tf\ng",
        "text",
        "text",
        "text",
        "text",
        "text",
        "object",
    ]);
    assert_eq!(safe, expected);
    check_comments(&scene);
    check_diff(&scene);
}

/// Lines are quoted, so that they cannot speak for you.
fn check_comments(scene: &Scene) {
    let sent = scene.browser.run(
        "return import('/comments.js').then(({ message }) => message('Please', [
            { path: 'a`b', number: 3, line: '-In `x`:', text: 'No' },
            { path: 'c', number: 4, line: '+ok', text: 'Yes\\nplease' },
        ]));",
        &[],
    );
    let expected = "Please\n\nComments on the diff; quoted lines (`>`) are from the files:\n\
        \nIn `a'b`, line 3 before the change:\n> -In `x`:\nNo\n\nIn `c`, line 4:\n> +ok\nYes\nplease\n";
    assert_eq!(sent, json!(expected));
}

/// A diff with every kind of header.
fn check_diff(scene: &Scene) {
    let parsed = scene.browser.run(
        "return import('/parse.js').then(({ parse }) => parse({ diff: arguments[0], files: [
            { path: 'a' }, { path: 'b' }, { path: 'c' },
        ] }).map(({ path, note, lines }) =>
            [path, note, ...lines.map(({ kind, text, number }) => `${kind} ${number} ${text}`)]));",
        &[json!(
            "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ fn x()\n one\n\
             -two\n+diff --git\n\\ No newline at end of file\n@@ -9 +9 @@\n-@@ x\n+\ndiff --git a/b \
             b/b\nsimilarity index 100%\nrename from b0\nrename to b\ndiff --git a/c b/c\nnew file \
             mode 100644\nBinary files /dev/null and b/c differ\n"
        )],
    );
    let expected = json!([
        [
            "a",
            "",
            "hunk 0 fn x()",
            " 1 one",
            "remove 2 two",
            "add 2 diff --git",
            "hunk 0 ",
            "remove 9 @@ x",
            "add 9 "
        ],
        ["b", "rename from b0, rename to b"],
        [
            "c",
            "new file mode 100644, Binary files /dev/null and b/c differ"
        ],
    ]);
    assert_eq!(parsed, expected);
}
