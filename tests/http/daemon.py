"""A cascaded process with HTTP, for tests: its own folders, a free port, the demo model."""
import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "service"))
from service import BIN, LONG, SOURCE, WAIT_S, wait_until  # noqa: E402, F401


class Daemon:
    """Starts at once and ends with its `with` block. `folder`: one to keep over a restart."""

    def __init__(self, *options, folder=None, wait=True, model=SOURCE / "models/demo"):
        self.scratch = None if folder else tempfile.mkdtemp(prefix="cascade-http-")
        self.folder = pathlib.Path(folder or self.scratch)
        self.log_path = self.folder / "log"
        log = open(self.log_path, "wb")
        self.process = subprocess.Popen(
            [BIN / "cascaded", "--model", model, "--run-dir", self.folder / "run",
             "--http", "127.0.0.1:0", "--threads", "1",
             *([] if "--state-dir" in options else ["--state-dir", self.folder / "state"]),
             *([] if "--kv-memory" in options else ["--kv-memory", "256M"]), *options],
            stdout=log, stderr=log)
        log.close()
        try:
            self.wait_until_it_serves(wait)
        except BaseException:
            self.process.kill()
            raise

    def wait_until_it_serves(self, wait):
        """Waits until it serves, or without `wait` only until it listens."""
        found = self.wait_for_log(r"HTTP at http://127\.0\.0\.1:(\d+)")
        self.port = int(found.group(1))
        if wait:
            self.wait_for_log("serving at")
            while self.get("/health").status != 200:
                time.sleep(0.02)

    def wait_for_log(self, pattern):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = re.search(pattern, self.log_path.read_text())
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError("the daemon does not start: " + self.log_path.read_text())

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=WAIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            self.stop()
        finally:
            if self.scratch:
                shutil.rmtree(self.scratch, ignore_errors=True)

    def ask(self, method, path, body=None, key=None, headers=None):
        """Makes one request on its own connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        sent = dict(headers or {})
        if key:
            sent["Authorization"] = "Bearer " + key
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, sent)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body, **more):
        return self.ask("POST", path, body, **more)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def error(self):
        return self.json["error"]

    def content(self):
        """The text of a chat's answer, streamed or not."""
        if not self.headers["Content-Type"].startswith("text/event-stream"):
            return self.json["choices"][0]["message"]["content"]
        chunks = [data for _, data in self.events() if data != "[DONE]"]
        return "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])

    def events(self):
        """The (name, data) of server-sent events; data is parsed unless it is [DONE]."""
        for block in self.text.split("\n\n"):
            lines = [line for line in block.split("\n") if line[:1] not in ("", ":")]
            fields = dict(line.split(": ", 1) for line in lines)
            if "data" in fields:
                data = fields["data"]
                yield fields.get("event"), data if data == "[DONE]" else json.loads(data)


def question(text="What is the capital of France?", **more):
    return {"model": "demo", "messages": [{"role": "user", "content": text}], "temperature": 0,
            "max_tokens": 40, **more}


def make_key(daemon_folder, tenant):
    """A new key of the tenant; its line is added to the folder's file of keys."""
    path = pathlib.Path(daemon_folder) / "keys"
    made = subprocess.run([BIN / "cascadectl", "key", "new", "--tenant", tenant, "--file", path],
                          capture_output=True, text=True, check=True)
    return made.stdout.strip().splitlines()[0]
