//! The pictures of the page in `docs/pictures`.

use std::fs;
use std::path::Path;

use super::{Scene, asking};
use crate::support::{PASS, Stage, wait_for};

/// Writes the pictures again if it is set.
const WRITE: &str = "ORANGE_WRITE_PICTURES";

const MAX_BYTES: usize = 60_000;

/// A worker that changes two files.
const WORK: &str = r#"
printf 'APPROACH: read the name from the second argument\nTOUCHING: greet.sh, words/\n' | section Plan
ask task update --status working
cat > greet.sh <<'END'
#!/bin/sh
# Greets: greet.sh LANGUAGE NAME
language=${1:-en}
name=${2:-you}
if [ ! -e "words/$language" ]; then
    echo "There is no word in $language" >&2
    exit 2
fi
echo "$(cat "words/$language"), $name"
END
mkdir -p words
echo Hola > words/es
git add -A
git commit -qm 'Greet by name, and in Spanish'
echo 'DONE: greet by name, and in Spanish' | section Handoff
ask task update --status agent-review
"#;

/// The program that it changes.
const PROGRAM: &str =
    "#!/bin/sh\n# Greets: greet.sh LANGUAGE\nlanguage=${1:-en}\ncat \"words/$language\"\n";

#[test]
fn the_pictures_show_the_page() {
    let stage = Stage::new("default");
    fs::write(stage.path("repo/greet.sh"), PROGRAM).unwrap();
    for call in ["add -A", "commit -qm greet"] {
        assert!(stage.git(call).status.success(), "{call}");
    }
    stage.script("worker-1", WORK);
    stage.script("reviewer-1", PASS);
    stage.script(
        "worker-2",
        &asking("git push origin release-notes", "answer"),
    );
    stage.script("worker-3", "sleep 600\n");
    let review = stage.create(&["Greet by name, and in Spanish"]);
    stage.run_ok(&["task", "spawn", review.as_str()]);
    stage.wait_for_status(&review, "reviewing");
    stage.wait_until_idle(&review);
    for summary in ["Write the release notes", "Show the time of day"] {
        let id = stage.create(&[summary]);
        stage.run_ok(&["task", "spawn", id.as_str()]);
        stage.wait_for_status(&id, "planning");
        wait_for("its turn", || {
            let turn = fs::read_to_string(stage.path("scripts/.worker"));
            turn.is_ok_and(|it| it.trim() == if summary.starts_with('W') { "2" } else { "3" })
        });
    }
    stage.create(&["Translate the words into German"]);
    let scene = Scene::new(stage);
    let browser = &scene.browser;
    browser.devtools(
        "Emulation.setDeviceMetricsOverride",
        &serde_json::json!({
            "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true,
        }),
    );
    browser.wait_for("git push origin release-notes");
    browser.wait_for("Queued 1");
    let settled = "!document.querySelector('button:disabled')";
    let take = |name: &str| {
        browser.wait_until(settled);
        for (theme, is_dark) in [("light", false), ("dark", true)] {
            browser.set_dark(is_dark);
            keep(&format!("web-{name}-{theme}.png"), &browser.screenshot());
        }
    };
    take("tasks");
    browser.tap("Greet by name, and in Spanish");
    browser.wait_for("Read the changes");
    take("task");
    browser.tap("Read the changes");
    scene.tap_line("exit 2");
    browser.write("dialog textarea", "Use 64, as other programs do");
    browser.tap("Keep");
    browser.wait_for("as other programs do");
    take("changes");
    scene.assert_quiet(&[]);
}

fn keep(name: &str, picture: &str) {
    let bytes = decode(picture);
    assert!(bytes.starts_with(b"\x89PNG"), "{name}");
    assert!(bytes.len() <= MAX_BYTES, "{name}: {} bytes", bytes.len());
    if std::env::var_os(WRITE).is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        fs::write(folder.join(name), bytes).unwrap();
    }
}

/// Reads base64.
fn decode(text: &str) -> Vec<u8> {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values = text
        .bytes()
        .filter_map(|letter| letters.iter().position(|it| *it == letter));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_usize, 0);
    for value in values {
        bits = bits << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count).unwrap());
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
