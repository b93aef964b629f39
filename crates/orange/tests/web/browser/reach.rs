//! Small screens, fingers, keyboards, screen readers.

use serde_json::json;

use super::{Scene, asking, texts};
use crate::support::Stage;

/// A worker that leaves a long line behind, and another one that asks for permission.
const LONG: &str = "
printf 'x%.0s' $(seq 400) > a-file-with-a-name-that-is-as-long-as-the-names-of-generated-files-are.txt
git add -A
git commit -qm one
echo 'DONE: one' | section Handoff
ask task update --status reviewing
";

/// What does not fit: the page itself, or a control that is too small for a finger.
const MISFITS: &str = "const wide = document.documentElement.scrollWidth > innerWidth
    ? [`${document.documentElement.scrollWidth} wide`] : [];
const controls = document.querySelectorAll('button, .button, summary, input, select, textarea, .rows a, .back');
const small = [...controls].filter((it) => it.checkVisibility()).map((it) => {
    // A checkbox is pressed by its label.
    const { width, height } = (it.closest('.check') ?? it).getBoundingClientRect();
    return width < 44 || height < 44 ? `${it.outerHTML}: ${width} x ${height}` : '';
}).filter(Boolean);
const nameless = [...document.querySelectorAll('button, a, input, select, textarea, summary, [tabindex=\"0\"]')]
    .filter((it) => !(it.ariaLabel || it.textContent.trim() || it.labels?.[0]?.textContent.trim()))
    .map((it) => it.outerHTML);
return [...wide, ...small, ...nameless];";

/// The least contrast of a text with what is behind it.
const CONTRAST: &str = "const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((it) => it / 255)
        .map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const back = (it) => {
    const colour = getComputedStyle(it).backgroundColor;
    return /^rgba.*, 0\\)$/.test(colour) && it.parentElement ? back(it.parentElement) : colour;
};
const all = [...document.querySelectorAll('body *')].filter((it) => it.checkVisibility()
    && !it.disabled && [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
return all.map((it) => {
    const [a, b] = [light(getComputedStyle(it).color), light(back(it))].sort((a, b) => b - a);
    return [(a + 0.05) / (b + 0.05), it.outerHTML.slice(0, 200)];
}).filter(([ratio]) => ratio < 4.5).map(String);";

#[test]
fn every_screen_fits_a_small_phone_in_light_and_dark() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", LONG);
    stage.script(
        "worker-2",
        &asking(&"a-very-long-command ".repeat(20), "answer"),
    );
    let id = stage.create(&[&"a-summary-without-a-space-".repeat(8)]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let asks = stage.create(&["Ask for permission"]);
    stage.run_ok(&["task", "spawn", asks.as_str()]);
    stage.create(&["Wait in the queue"]);
    let scene = Scene::new(stage);
    let browser = &scene.browser;
    browser.set_width(360);
    let check = |screen: &str| {
        for is_dark in [false, true] {
            browser.set_dark(is_dark);
            for script in [MISFITS, CONTRAST] {
                let found = browser.run(script, &[]);
                assert_eq!(found, json!([]), "{screen}, dark: {is_dark}");
            }
        }
    };
    browser.wait_for("It asks to use Bash");
    browser.wait_for("Queued 1");
    // Buttons are paler while they are off.
    browser.wait_until("!document.querySelector('button:disabled')");
    check("the list");
    browser.tap("New task");
    browser.wait_for("What should be done?");
    check("a new task");
    browser.open(&format!("{}#/task/{asks}", scene.url()));
    browser.wait_for("It asks to use Bash");
    check("a task that asks");
    browser.open(&format!("{}#/task/{id}", scene.url()));
    browser.wait_for("Read the changes");
    for fold in ["TASK.md", "Timeline", "Screen"] {
        browser.tap(fold);
    }
    check("a task");
    browser.tap("Read the changes");
    browser.wait_for("+xxxx");
    check("the changes");
    scene.tap_line("xxxx");
    browser.wait_for("Comment");
    check("a dialog");
    browser.open("about:blank");
    browser.open(&format!("http://localhost:{}/", scene.api.port));
    browser.wait_for("not paired");
    check("a device that is not paired");
}

/// Keys as `WebDriver` names them.
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
const DOWN: &str = "\u{e015}";

#[test]
fn everything_can_be_done_with_a_keyboard() {
    let stage = Stage::new("minimal");
    stage.script("worker-1", LONG);
    let id = stage.create(&["Add a line"]);
    stage.run_ok(&["task", "spawn", id.as_str()]);
    stage.wait_for_status(&id, "reviewing");
    stage.wait_until_idle(&id);
    let scene = Scene::new(stage);
    let browser = &scene.browser;
    let focused = || {
        let name = "document.activeElement.ariaLabel ?? document.activeElement.textContent";
        browser
            .value(name)
            .as_str()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let tab_to = |name: &str| {
        let mut seen = Vec::new();
        for _ in 0..20 {
            browser.press(TAB);
            seen.push(focused());
            if focused().starts_with(name) {
                return;
            }
        }
        panic!("no way to {name:?}: {seen:?}");
    };
    browser.wait_for("Add a line");
    tab_to("Add a line");
    browser.press(ENTER);
    browser.wait_for("Read the changes");
    tab_to("Read the changes");
    browser.press(ENTER);
    browser.wait_for("+xxxx");
    tab_to("Lines of");
    browser.press(DOWN);
    browser.press(DOWN);
    browser
        .wait_until("document.querySelector('[aria-selected=true]')?.innerText.includes('xxxx')");
    browser.press(ENTER);
    browser.wait_until("document.activeElement.matches('dialog textarea')");
    browser.press("Shorter");
    tab_to("Keep");
    browser.press(ENTER);
    browser.wait_for("Shorter");
    browser.wait_until("!document.querySelector('dialog').open");
    tab_to("Merge");
    browser.press(ENTER);
    browser.wait_for("1 comment will not be sent.");
    // Escape does nothing but close the question.
    browser.press("\u{e00c}");
    browser.wait_until("!document.querySelector('dialog').open");
    assert_eq!(scene.stage.task(&id).status.as_str(), "reviewing");
    tab_to("Merge");
    browser.press(ENTER);
    browser.wait_for("1 comment will not be sent.");
    tab_to("Merge");
    browser.press(ENTER);
    scene.stage.wait_for_status(&id, "done");
    browser.wait_for("Nothing.");
    // Regions and headings have names that screen readers list.
    let named = browser.value(
        "[...document.querySelectorAll('section, nav')].map((it) => it.ariaLabel ?? it.tagName)",
    );
    assert!(texts(&named).contains(&"Needs you"), "{named}");
    scene.assert_quiet(&[]);
}
