//! Headless Chromium (Debian), driven through WebDriver (W3C, 2018).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one window and a profile of its own.
pub(crate) struct Browser {
    driver: Child,
    /// URL of the session.
    session: String,
    /// Temporary profile, removed at the end.
    _profile: tempfile::TempDir,
}

/// Time limit for the states that tests wait for; reached only on failure.
const PATIENCE: Duration = Duration::from_secs(60);

impl Browser {
    pub(crate) fn new() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("chromedriver: {error}; apt-get install chromium chromium-driver")
            });
        let mut said = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = said.find_map(|line| {
            let line = line.unwrap();
            Some(line.split_once("successfully on port ")?.1.trim_end_matches('.').to_string())
        });
        let address = format!("http://127.0.0.1:{}", port.expect("chromedriver says its port"));
        let profile = tempfile::tempdir().unwrap();
        let own = format!("--user-data-dir={}", profile.path().display());
        let flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
            &own,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "timeouts": {"script": PATIENCE.as_millis() as u64},
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": flags},
        }}});
        let session = format!("{address}/session");
        let mut browser = Self { driver, session, _profile: profile };
        let made = browser.post("", &wanted);
        browser.session = format!("{address}/session/{}", made["sessionId"].as_str().unwrap());
        browser
    }

    /// Opens a file, at the element with this id if it exists.
    pub(crate) fn open(&self, page: &Path, id: &str) {
        // Opens another document first: a new fragment of the same one would load nothing.
        self.post("/url", &json!({"url": "about:blank"}));
        self.post("/url", &json!({"url": format!("file://{}#{id}", page.display())}));
    }

    /// Opens a URL.
    pub(crate) fn open_url(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// Runs JavaScript and returns its value.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until a JavaScript expression is true.
    #[track_caller]
    pub(crate) fn wait_for(&self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({expression})")) != true {
            assert!(Instant::now() < until, "never true: {expression}\n{:?}", self.messages());
        }
    }

    /// Moves the pointer, and clicks if `press`.
    pub(crate) fn point(&self, x: f64, y: f64, press: bool) {
        let to = json!({"type": "pointerMove", "duration": 0, "x": x.round(), "y": y.round()});
        let mut actions = vec![to];
        if press {
            actions.extend(
                ["pointerDown", "pointerUp"].map(|what| json!({"type": what, "button": 0})),
            );
        }
        let mouse = json!({"type": "pointer", "id": "mouse", "actions": actions});
        self.post("/actions", &json!({"actions": [mouse]}));
    }

    /// Presses a key, by its code point in WebDriver's list (W3C, 2018, 17.4.2) or its character.
    pub(crate) fn press(&self, key: &str) {
        let actions = ["keyDown", "keyUp"].map(|what| json!({"type": what, "value": key}));
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": actions});
        self.post("/actions", &json!({"actions": [keyboard]}));
    }

    /// Serious and critical accessibility violations found by axe-core: rule, element.
    pub(crate) fn violations(&self) -> Vec<String> {
        let packed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/axe.min.js.gz");
        let script = Command::new("gzip").args(["-dc", packed]).output().unwrap();
        let script = String::from_utf8(script.stdout).unwrap();
        assert!(script.starts_with("/*! axe v4.14.1"), "as its makers published it");
        self.run(&script);
        let found = self.run(
            "return axe.run({exclude: ['svg']}, {resultTypes: ['violations']}).then(found => found.violations \
             .filter(one => ['serious', 'critical'].includes(one.impact)) \
             .flatMap(one => one.nodes.map(node => one.id + ': ' + node.html.slice(0, 200))))",
        );
        found.as_array().unwrap().iter().map(Value::to_string).collect()
    }

    /// Sets the viewport's size and the colour scheme.
    pub(crate) fn emulate(&self, width: u32, height: u32, scheme: &str) {
        let command = |name: &str, parameters: Value| {
            self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}));
        };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        command("Emulation.setEmulatedMedia", json!({"features": [feature]}));
        let (scale, mobile) = (1, width < 600);
        command(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}),
        );
    }

    /// Prints the page to A4; returns the PDF in base64.
    pub(crate) fn print(&self) -> String {
        let page = json!({"page": {"width": 21.0, "height": 29.7}});
        self.post("/print", &page).as_str().unwrap().to_string()
    }

    /// New console messages: errors, and requests refused by the page's policy.
    pub(crate) fn messages(&self) -> Vec<String> {
        let said = self.post("/se/log", &json!({"type": "browser"}));
        let text = |one: &Value| format!("{}: {}", one["level"], one["message"]);
        said.as_array().unwrap().iter().map(text).collect()
    }

    #[track_caller]
    fn post(&self, command: &str, body: &Value) -> Value {
        let answer = minreq::post(format!("{}{command}", self.session))
            .with_header("Content-Type", "application/json")
            .with_body(body.to_string())
            .with_timeout(2 * PATIENCE.as_secs())
            .send()
            .unwrap();
        let answered: Value = serde_json::from_str(answer.as_str().unwrap()).unwrap();
        assert_eq!(answer.status_code, 200, "{command}: {}", answered["value"]);
        answered["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser with the session; if there is none, nothing has to end.
        let _ = minreq::delete(self.session.as_str()).with_timeout(10).send();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
