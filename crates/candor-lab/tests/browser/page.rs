//! A page in a headless browser, controlled over two pipes with the DevTools protocol.
//!
//! ```text
//!  test ─▶ {"id":1,"method":…}\0 ─▶ pipe ─▶ chromium --remote-debugging-pipe ─▶ pipe ─▶ {"id":1,"result":…}\0 ─▶ test
//! ```
//!
//! # Source
//! [Chrome DevTools Protocol](https://chromedevtools.github.io/devtools-protocol/); with `--remote-debugging-pipe` the
//! pipes are descriptors 3 and 4, and a zero byte ends a message.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::chromium::Chromium;

#[derive(Debug)]
pub(crate) struct Page {
    browser: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    last_id: u64,
    events: Vec<Value>,
    _folder: TempDir,
}

impl Page {
    /// Opens a file in a new browser.
    pub(crate) fn open(chromium: &Chromium, file: &Path) -> Self {
        let mut page = Self::start(chromium);
        let target = page.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = page.ask("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        page.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.ask(&format!("{domain}.enable"), &json!({}));
        }
        page.go(file);
        page
    }

    /// Opens another file and waits until it has loaded. Requests and complaints begin again.
    pub(crate) fn go(&mut self, file: &Path) {
        self.events.clear();
        self.ask("Page.navigate", &json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// A shell opens named pipes as descriptors 3 and 4, which safe Rust cannot.
    fn start(chromium: &Chromium) -> Self {
        let folder = TempDir::new().unwrap();
        let [to, from] = ["to", "from"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let mut browser = Command::new("sh");
        browser.args(["-c", "to=$1 from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\"", "sh"]).args([&to, &from]);
        browser.arg(&chromium.program).args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--remote-debugging-pipe",
            "--window-size=1280,900",
        ]);
        browser.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        browser.envs(chromium.environment.clone()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let browser = browser.spawn().unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        Self { browser, to, from, session: None, last_id: 0, events: Vec::new(), _folder: folder }
    }

    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut question = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            question["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{question}\0").as_bytes()).unwrap();
        loop {
            let message = self.next();
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&message).unwrap()
    }

    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", &json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits for a value that the page sets in a task of its own, for at most 10 s.
    pub(crate) fn becomes(&mut self, expression: &str, expected: &str) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.value(expression) != expected {
            assert!(Instant::now() < deadline, "{expression} is {}, not {expected}", self.value(expression));
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            other => panic!("no code for {other}"),
        };
        let text = match key {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let parameters =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", &parameters);
        }
    }

    /// Emulates screen or print, light or dark.
    pub(crate) fn look(&mut self, media: &str, scheme: &str) {
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", &json!({ "media": media, "features": scheme }));
    }

    pub(crate) fn complaints(&self) -> Vec<&Value> {
        const COMPLAINTS: [&str; 3] = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        let is_complaint = |event: &&Value| event["method"].as_str().is_some_and(|method| COMPLAINTS.contains(&method));
        self.events.iter().filter(is_complaint).collect()
    }

    pub(crate) fn requests(&self) -> Vec<&str> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Its helper processes end with it.
        let _ended_already = self.browser.kill();
        let _status = self.browser.wait();
    }
}
