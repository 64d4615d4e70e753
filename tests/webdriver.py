"""A browser to try pictures in: Chromium, over plain WebDriver requests.

    with Browser(width, height) as page:
        page.open(pathlib.Path("a.svg"))
        page.click(100, 200)

Needs chromedriver and nothing from outside the standard library.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import urllib.error
import urllib.request

KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Tab": "\ue004", "Home": "\ue011", "Left": "\ue012",
        "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Backspace": "\ue003"}
PATIENCE = 300
STARTS = 10


def available():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Browser:
    def __init__(self, width=1300, height=900):
        self.start()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--hide-scrollbars", f"--window-size={width},{height}"]
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                  "goog:chromeOptions": {"args": flags}}
        try:
            session = self.ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except Exception:
            self.close()
            raise
        self.url += "/session/" + session["sessionId"]

    def start(self):
        # It asks for any free port on IPv4 and then wants the same one on IPv6, which some other
        # test's server may have; then it exits, and the next time it is given another one.
        for _ in range(STARTS):
            self.url, said = None, ""
            self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                           stderr=subprocess.DEVNULL, text=True)
            for line in self.driver.stdout:
                said += line
                port = re.search(r"started successfully on port (\d+)", line)
                if port:
                    self.url = f"http://127.0.0.1:{port[1]}"
                    return
            self.close()
        raise RuntimeError(f"chromedriver does not start: {said}")

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    def close(self):
        try:
            if self.url and "/session/" in self.url:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()

    def ask(self, method, path, body=None):
        url = self.url if "/session/" in self.url else self.url + "/session"
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def open(self, what):
        """A file's path, or an address as text."""
        url = what.resolve().as_uri() if isinstance(what, pathlib.Path) else what
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *args):
        """What the JavaScript function body 'script' returns."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(args)})

    def at(self, x, y, *steps):
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self.ask("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "actions": [move, *steps]}]})

    def hover(self, x, y):
        self.at(x, y)

    def click(self, x, y):
        self.at(x, y, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def press(self, *keys):
        """Names of KEYS, or text."""
        steps = []
        for key in keys:
            for c in KEYS.get(key, key):
                steps += [{"type": "keyDown", "value": c}, {"type": "keyUp", "value": c}]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def resize(self, width, height):
        self.ask("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))

    def complaints(self):
        """What the console has to say: errors, refused requests."""
        return [e["message"] for e in self.ask("POST", "/se/log", {"type": "browser"})]

    def dark(self, on):
        self.ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]}})
