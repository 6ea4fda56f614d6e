# SPDX-License-Identifier: Apache-2.0
"""A headless browser, controlled through the WebDriver protocol of chromedriver."""
import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--force-device-scale-factor=1")
# A busy machine is slow, not wrong: a browser that hangs fails the test, but no other times are checked here.
ANSWER_S = 900
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in the protocol
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Backspace": "\ue003", "Up": "\ue013", "Down": "\ue015",
        "Left": "\ue012", "Right": "\ue014"}


def missing():
    """What a test in a browser needs and this machine lacks; None: nothing."""
    if not shutil.which("chromedriver"):
        return "needs chromedriver (package chromium-driver)"
    if not binary():
        return "needs chromium or its headless shell (package chromium)"
    return None


def binary():
    return shutil.which("chromium") or shutil.which("chromium-headless-shell")


def proc_bytes(pid, name):
    """The contents of a file of /proc; empty if the process has exited."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as f:
            return f.read()
    except OSError:
        return b""


def descendants(pid):
    parents = {int(p): proc_bytes(p, "stat").rpartition(b") ")[2].split()[1:2]
               for p in os.listdir("/proc") if p.isdigit()}
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == [b"%d" % one])
    return found[1:]


def is_page(pid):
    return b"--type=renderer" in proc_bytes(pid, "cmdline")


def threads(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


class BrowserError(Exception):
    pass


class Browser:
    def __init__(self, width=1440, height=900):
        self.folder = tempfile.TemporaryDirectory(prefix="perf-agent-browser.")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        self.session = None
        try:
            self.port = self.wait_for_port()
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": self.capabilities(width, height)}})
            self.session = answer["sessionId"]
        except BaseException:
            self.close()
            raise

    def wait_for_port(self):
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise BrowserError("chromedriver ended before it listened")

    def capabilities(self, width, height):
        arguments = [*ARGUMENTS, f"--window-size={width},{height}", f"--user-data-dir={self.folder.name}"]
        return {"goog:chromeOptions": {"binary": binary(), "args": arguments},
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "timeouts": {"script": ANSWER_S * 1000, "pageLoad": ANSWER_S * 1000}}

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_S + 60)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json"})
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise BrowserError(f"{path}: {value['error']}: {value.get('message', '').splitlines()[0]}")
        return value

    def ask(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, path):
        self.ask("POST", "/url", {"url": f"file://{path}"})

    def run(self, script, *args):
        """The result of the script, which runs in the page."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def act(self, kind, actions):
        parameters = {"parameters": {"pointerType": "mouse"}} if kind == "pointer" else {}
        self.ask("POST", "/actions", {"actions": [{"type": kind, "id": kind, "actions": actions, **parameters}]})

    def move(self, x, y, clicks=False):
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}] if clicks else []
        self.act("pointer", [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}, *press])

    def press(self, text):
        key = KEYS.get(text, text)
        self.act("key", [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}])

    def click(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{found[ELEMENT]}/click", {})

    def type(self, selector, text):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        self.ask("POST", f"/element/{found[ELEMENT]}/clear", {})
        self.ask("POST", f"/element/{found[ELEMENT]}/value", {"text": text})

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def console(self):
        """What the page has logged since the last call: errors and warnings."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """The addresses that were requested since the last call."""
        messages = (json.loads(entry["message"])["message"]
                    for entry in self.ask("POST", "/se/log", {"type": "performance"}))
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def cpu_s(self):
        """The CPU time that pages have used: that of all threads that lay out, run scripts and draw."""
        pages = [pid for pid in descendants(self.driver.pid) if is_page(pid)]
        times = [proc_bytes(pid, f"task/{tid}/schedstat").split()[:1] for pid in pages for tid in threads(pid)]
        return sum(int(word) for words in times for word in words) / 1e9

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.folder.cleanup()
