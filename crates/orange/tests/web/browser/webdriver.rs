//! A browser, driven by `WebDriver` over plain HTTP.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use orange_config::clock::Deadline;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long one command of the driver may take, and how long a page may take to look as expected; a
/// loaded machine is slow.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(90);
const PAGE_TIMEOUT: Duration = Duration::from_mins(1);

/// Keeps what a page has done wrong for the test to read.
const WATCH: &str = "window.violations = [];
addEventListener('securitypolicyviolation', (it) =>
    violations.push(`${it.violatedDirective}: ${it.blockedURI} ${it.sample}`));";

/// The `WebDriver` name of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Everything that can be pressed, by its accessible name.
const FIND: &str = "const [name] = arguments;
const all = document.querySelectorAll('a, button, summary, label');
const dialog = document.querySelector('dialog[open]');
const found = [...all].find((it) => (it.ariaLabel ?? it.textContent).trim() === name
    && !it.disabled && it.checkVisibility() && (!dialog || dialog.contains(it)));
// Out of what stays at the top and the bottom.
found?.scrollIntoView({ block: 'center' });
return found ?? null;";

/// A headless browser of a phone's size with a profile of its own. Dropping it ends its processes.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let profile = TempDir::with_prefix("o-browser-").unwrap();
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").current_dir("/");
        command.env("HOME", profile.path()).env("LANG", "C.UTF-8");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let driver = command.stderr(Stdio::null()).spawn();
        let mut driver = driver.unwrap_or_else(|error| {
            panic!(
                "cannot start chromedriver ({error}); these tests need a browser: install it \
                 with `apt-get install chromium chromium-driver`"
            )
        });
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        // What it prints later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Browser {
            driver,
            port: port.unwrap(),
            session: String::new(),
            profile,
        };
        browser.open_session();
        browser
    }

    fn open_session(&mut self) {
        let profile = self.profile.path().join("profile");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 2, "touch": true });
        let options = json!({
            "args": arguments,
            "mobileEmulation": { "deviceMetrics": metrics },
        });
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let body = json!({ "capabilities": { "alwaysMatch": capabilities } });
        let opened = self.request("POST", "/session", &body);
        let id = opened["sessionId"].as_str();
        let id = id.unwrap_or_else(|| {
            panic!(
                "no browser: {opened}; install it with `apt-get install chromium chromium-driver`"
            )
        });
        self.session = format!("/session/{id}");
        self.devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({ "source": WATCH }),
        );
    }

    /// Sends a command to the driver; its value, which may be an error.
    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(COMMAND_TIMEOUT)).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            let line = line.trim_end().to_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut text = vec![0; length];
        answer.read_exact(&mut text).unwrap();
        let answer: Value = serde_json::from_slice(&text).unwrap();
        answer["value"].clone()
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        let value = self.request("POST", &format!("{}{path}", self.session), body);
        assert!(value["error"].is_null(), "{path} {body}: {value}");
        value
    }

    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.command("/goog/cdp/execute", &body)
    }

    pub fn open(&self, url: &str) {
        self.command("/url", &json!({ "url": url }));
    }

    /// Runs a script in the page; what it returns.
    pub fn run(&self, script: &str, arguments: &[Value]) -> Value {
        self.command(
            "/execute/sync",
            &json!({ "script": script, "args": arguments }),
        )
    }

    /// The same for a script that calls its only argument with its answer.
    pub fn run_async(&self, script: &str) -> Value {
        self.command("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// The same for one expression.
    pub fn value(&self, expression: &str) -> Value {
        self.run(&format!("return {expression};"), &[])
    }

    /// Waits until an expression is true.
    pub fn wait_until(&self, expression: &str) {
        let in_time = Deadline::after(PAGE_TIMEOUT).wait_for(|| self.value(expression) == true);
        assert!(in_time, "{expression} is not true of:\n{}", self.text());
    }

    pub fn wait_for(&self, text: &str) {
        let shown = Deadline::after(PAGE_TIMEOUT).wait_for(|| self.text().contains(text));
        assert!(shown, "{text:?} is not in:\n{}", self.text());
    }

    /// The text that is shown.
    pub fn text(&self) -> String {
        let text = self.value("document.body.innerText");
        text.as_str().unwrap_or_default().to_owned()
    }

    fn element(&self, name: &str) -> Option<String> {
        let found = self.run(FIND, &[json!(name)]);
        found[ELEMENT].as_str().map(str::to_owned)
    }

    /// Whether something with this name can be pressed.
    pub fn offers(&self, name: &str) -> bool {
        self.element(name).is_some()
    }

    /// Presses the button, link or fold with this accessible name as soon as it is there.
    pub fn tap(&self, name: &str) {
        let mut refusal = Value::Null;
        let pressed = Deadline::after(PAGE_TIMEOUT).wait_for(|| {
            self.element(name).is_some_and(|element| {
                let path = format!("{}/element/{element}/click", self.session);
                // It may be drawn again or move away in between.
                refusal = self.request("POST", &path, &json!({}));
                refusal.is_null()
            })
        });
        assert!(
            pressed,
            "cannot press {name:?} ({refusal}) in:\n{}",
            self.text()
        );
    }

    /// Presses keys, for example `\u{e004}` for Tab.
    pub fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let actions = json!([{ "type": "key", "id": "keyboard", "actions": actions }]);
        self.command("/actions", &json!({ "actions": actions }));
    }

    /// Writes into the field that has the focus after a click on the first match.
    pub fn write(&self, selector: &str, text: &str) {
        self.wait_until(&format!("document.querySelector({selector:?}) !== null"));
        let found = self.value(&format!("document.querySelector({selector:?})"));
        let element = found[ELEMENT].as_str().unwrap();
        self.command(
            &format!("/element/{element}/value"),
            &json!({ "text": text }),
        );
    }

    pub fn set_width(&self, width: u32) {
        let metrics =
            json!({ "width": width, "height": 740, "deviceScaleFactor": 2, "mobile": true });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    pub fn set_dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [feature] }),
        );
    }

    /// The page as a PNG, in base64.
    pub fn screenshot(&self) -> String {
        let shot = self.devtools("Page.captureScreenshot", &json!({ "format": "png" }));
        shot["data"].as_str().unwrap().to_owned()
    }

    /// What the page has violated of its policy, and every error on its console.
    pub fn complaints(&self) -> Vec<String> {
        let violations = self.value("window.violations");
        let violations = violations.as_array().unwrap().iter().map(Value::to_string);
        let log = self.command("/se/log", &json!({ "type": "browser" }));
        let errors = log.as_array().unwrap().iter();
        let errors = errors.filter(|it| it["level"] == "SEVERE" || it["level"] == "WARNING");
        violations
            .chain(errors.map(|it| it["message"].to_string()))
            .collect()
    }

    /// The processes of this browser, which all name its profile.
    fn processes(&self) -> Vec<String> {
        let profile = self.profile.path().display().to_string();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let own = entries.filter(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(&profile)
        });
        own.map(|it| it.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _gone = self.driver.kill();
        let _reaped = self.driver.wait();
        // A browser does not end with its driver.
        for process in self.processes() {
            let _gone = Command::new("kill").args(["-9", &process]).output();
        }
        let ended = Deadline::after(COMMAND_TIMEOUT).wait_for(|| self.processes().is_empty());
        assert!(
            ended || std::thread::panicking(),
            "the browser has not ended"
        );
    }
}
