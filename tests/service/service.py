"""cascaded as a service manager starts it: notify socket, watchdog, inherited sockets."""
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CASCADE_BIN_DIR", SOURCE / "build/release/bin"))
WAIT_S = 60
# ./check --long asks for all cases, sizes and rounds. Without it there are fewer, in seconds.
LONG = os.environ.get("CASCADE_LONG_TESTS") == "1"
PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
WAITING_CALLS = {7, 202, 232, 281}  # on x86-64: poll, futex, epoll_wait, epoll_pwait
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, folder):
        self.path = folder / "notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.socket.settimeout(WAIT_S)
        self.heard = []

    def next(self):
        """The next message, as a dictionary."""
        text = self.socket.recv(65536).decode()
        message = dict(line.split("=", 1) for line in text.strip().split("\n"))
        self.heard.append(message)
        return message

    def wait_for(self, key, value=None):
        """Waits for the first message from now on that has the key (and the value)."""
        while True:
            message = self.next()
            if key in message and value in (None, message[key]):
                return message

    def drain(self):
        """The messages that have already arrived."""
        self.socket.setblocking(False)
        messages = []
        try:
            while True:
                messages.append(self.next())
        except BlockingIOError:
            pass
        self.socket.settimeout(WAIT_S)
        return messages


def reserved_port():
    """A port of this machine that the kernel gives to nobody else while the socket is open. The
    daemon can still listen there: both sockets set SO_REUSEADDR, and only one of them listens."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held, held.getsockname()[1]


def wait_until(condition, what="it"):
    """Returns the first true value of the condition; waits long, so that only a bug fails."""
    end = time.monotonic() + WAIT_S
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} does not come within {WAIT_S} s")
        time.sleep(0.02)


def is_sanitized():
    """Whether the programs were built with a sanitizer."""
    cache = (BIN.parent / "CMakeCache.txt").read_text()
    return re.search(r"^CASCADE_SANITIZE:STRING=$", cache, re.M) is None


class Service:
    """Starts cascaded. `sockets`: those that it inherits; `watchdog_us`: the manager's timeout;
    `config`: the text of a configuration file, in place of options; `model`: the default model."""

    def __init__(self, *options, sockets=(), watchdog_us=0, config=None, folder=None, wait=True,
                 prefix=(), environment=None, model=SOURCE / "models/demo"):
        self.scratch = None if folder else tempfile.mkdtemp(prefix="cascade-service-")
        self.folder = pathlib.Path(folder or self.scratch)
        (self.folder / "notify").unlink(missing_ok=True)
        self.manager = Manager(self.folder)
        self.endpoint = f"ipc://{self.folder}/run/cascaded.sock"
        self.log_path = self.folder / "log"
        self.config_path = self.folder / "cascaded.toml"
        arguments = ["--model", model, "--run-dir", self.folder / "run",
                     "--threads", "1"]
        if "--state-dir" not in options:
            arguments += ["--state-dir", self.folder / "state"]
        if "--kv-memory" not in options:
            arguments += ["--kv-memory", "64M"]
        if config is not None:
            self.config_path.write_text(config)
            arguments = ["--config", self.config_path] + arguments
        settings = {**os.environ, "NOTIFY_SOCKET": str(self.manager.path), **(environment or {})}
        script = "exec"
        if sockets:
            settings["LISTEN_FDS"] = str(len(sockets))
            script = "export LISTEN_PID=$$; exec"
        if watchdog_us:
            settings["WATCHDOG_USEC"] = str(watchdog_us)
        script += ' "$@"'
        # The sockets are moved by way of numbers that none of them has.
        for i, inherited in enumerate(sockets):
            script += f" {100 + i}<&{inherited.fileno()}"
        for i in range(len(sockets)):
            script += f" {3 + i}<&{100 + i} {100 + i}<&-"
        command = ["bash", "-c", script, "bash", *prefix, BIN / "cascaded", *arguments, *options]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=settings,
                                            pass_fds=[s.fileno() for s in sockets])
        if wait:
            self.manager.wait_for("READY", "1")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_for_log(self, pattern, count=1):
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            found = re.findall(pattern, self.log())
            if len(found) >= count:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"{pattern} is not in the log: " + self.log())

    def http_address(self):
        """The address where it serves HTTP, if it was told to choose the port."""
        return "127.0.0.1", int(self.wait_for_log(r"HTTP at http://127\.0\.0\.1:(\d+)")[0])

    def ctl(self, *arguments, check=True, **more):
        done = subprocess.run([BIN / "cascadectl", "--endpoint", self.endpoint, *arguments],
                              capture_output=True, text=True, timeout=WAIT_S, **more)
        # 4: --max-tokens cut the answer, as tests want.
        if check and done.returncode not in (0, 4):
            raise RuntimeError(f"{arguments}: {done.stderr}\n{self.log()}")
        return done

    def start_ctl(self, *arguments):
        """Starts cascadectl beside the test; the caller waits for its end."""
        return subprocess.Popen([BIN / "cascadectl", "--endpoint", self.endpoint, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def thread(self, name):
        """The number of a thread. Threads name themselves: one may still be about to do so, even
        when the daemon serves."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):  # another thread has ended meanwhile
                for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
                    if (task / "comm").read_text().strip() == name:
                        return int(task.name)
            time.sleep(0.0002)
        raise RuntimeError(f"there is no thread {name}: " + self.log())

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(timeout=WAIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            if self.process.poll() is None:
                self.stop(signal.SIGKILL)
        finally:
            self.manager.socket.close()
            if self.scratch:
                shutil.rmtree(self.scratch, ignore_errors=True)


class Stopped:
    """Stops one thread of a daemon while this lasts; the others continue. The thread is stopped
    in the daemon's own code or while it waits, because libraries hold locks that the other
    threads need, as malloc does."""

    def __init__(self, thread):
        self.thread = thread

    def __enter__(self):
        self.call(PTRACE_SEIZE)
        end = time.monotonic() + WAIT_S
        self.interrupt()
        while not self.may_stand_here():
            if time.monotonic() > end:
                self.call(PTRACE_DETACH)
                raise RuntimeError(f"thread {self.thread} is in libraries all the time")
            self.call(PTRACE_CONT)
            # Without time to move on, the thread would be found at the same place again and again.
            time.sleep(0.001)
            self.interrupt()
        return self

    def interrupt(self):
        self.call(PTRACE_INTERRUPT)
        os.waitpid(self.thread, 0x40000000)  # __WALL

    def may_stand_here(self):
        proc = pathlib.Path(f"/proc/{self.thread}")
        try:
            call, *_, at = (proc / "syscall").read_text().split()
        except ProcessLookupError:
            return True  # the thread has ended
        if int(call) >= 0:
            return int(call) in WAITING_CALLS
        for line in (proc / "maps").read_text().splitlines():
            first, last = (int(end, 16) for end in line.split()[0].split("-"))
            if first <= int(at, 16) < last:
                return line.endswith("/cascaded")
        return False

    def __exit__(self, *unused):
        try:
            self.call(PTRACE_DETACH)
        except ProcessLookupError:  # the process has ended
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.thread, 0x40000000)

    def call(self, request):
        if LIBC.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


def ask(address, method, path, body=None, key=None):
    """Makes one HTTP request; returns (status, JSON)."""
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = "Bearer " + key
    connection = http.client.HTTPConnection(*address, timeout=WAIT_S)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()
