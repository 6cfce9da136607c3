//! A Chromium that a test drives: the protocol of its developer tools over two pipes, a message of
//! JSON and a NUL at a time.
#![allow(dead_code, reason = "each test binary uses a part")]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];

/// The Chromium of this machine: what `GROMA_CHROMIUM` names, or the first on `PATH`.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("GROMA_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).flat_map(|dir| NAMES.map(|name| dir.join(name)));
    named.or_else(|| places.find(|place| place.is_file()))
}

/// A page of a running Chromium.
pub(crate) struct Page {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    _profile: TempDir,
    session: String,
    sent: u64,
    /// What it said unasked, in order.
    pub(crate) events: Vec<Value>,
}

impl Page {
    /// Starts a browser, whose page is empty.
    pub(crate) fn start(program: &Path) -> Page {
        let profile = tempfile::tempdir().expect("a directory");
        // Its pipes are descriptors 3 and 4, which a shell gives it.
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"]).arg(program);
        shell.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ]);
        shell.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut browser = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let (to, from) = (browser.stdin.take().expect("a pipe"), browser.stdout.take().expect("a pipe"));
        let from = BufReader::new(from);
        let mut page =
            Page { browser, to, from, _profile: profile, session: String::new(), sent: 0, events: Vec::new() };
        let target = page.ask("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = page.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        page.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.ask(&format!("{domain}.enable"), json!({}));
        }
        page
    }

    /// Opens a file in a window of so many pixels. What was said of the page before is forgotten.
    pub(crate) fn open(&mut self, file: &Path, [width, height]: [u32; 2]) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("Chromium answers");
        assert_eq!(bytes.pop(), Some(0), "Chromium has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Calls a method; its result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        write!(self.to, "{message}\0").expect("Chromium reads");
        loop {
            let answer = self.read();
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// The value of an expression of JavaScript.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The middle of the element that a selector finds, in the window, after it was brought there.
    fn middle(&mut self, selector: &str) -> [f64; 2] {
        let script = format!(
            "(() => {{ const e = document.querySelector({0}); e.scrollIntoView({{ block: 'center' }}); \
             const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }})()",
            json!(selector)
        );
        // What is far away has no place before it was drawn once.
        self.value(&script);
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
        let place = self.value(&script);
        [0, 1].map(|i| place[i].as_f64().expect("a place"))
    }

    fn mouse(&mut self, kind: &str, [x, y]: [f64; 2], button: &str) {
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.ask("Input.dispatchMouseEvent", params);
    }

    /// Moves the mouse over an element.
    pub(crate) fn hover(&mut self, selector: &str) {
        let place = self.middle(selector);
        self.mouse("mouseMoved", place, "none");
    }

    /// Clicks on an element.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.middle(selector);
        self.mouse("mousePressed", place, "left");
        self.mouse("mouseReleased", place, "left");
    }

    /// Drags from an element to a place that is so far from it.
    pub(crate) fn drag(&mut self, selector: &str, [dx, dy]: [f64; 2]) {
        let [x, y] = self.middle(selector);
        self.mouse("mousePressed", [x, y], "left");
        self.mouse("mouseMoved", [x + dx, y + dy], "left");
        self.mouse("mouseReleased", [x + dx, y + dy], "left");
    }

    /// Presses a key, and lets it go.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "code": key }));
        }
    }

    /// Types a text where the focus is.
    pub(crate) fn insert(&mut self, text: &str) {
        self.ask("Input.insertText", json!({ "text": text }));
    }

    /// What went wrong on the page: exceptions, and errors and warnings of its console.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let is_one = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] != "log",
            _ => false,
        };
        self.events.iter().filter(is_one).collect()
    }

    /// What it asked for.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // It ends by itself when its pipes close; it is ours to wait for.
        let _ = write!(self.to, "{}\0", json!({ "id": 0, "method": "Browser.close" }));
        let _ = self.browser.wait();
    }
}
