"""The daemon and its clients look in the same places, whoever starts them and whatever is set: each
case has its own /run."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from service import BIN, SOURCE, WAIT_S

ALONE = ("unshare", "--mount", sys.executable, __file__, "--inside")
USER, SERVICE_USER = 21_000 + os.getpid() % 5_000, 27_000


def in_a_namespace(case):
    """Runs as root, with its own empty /run and /tmp: makes folders, starts the daemon as `user`,
    and lets cascadectl ask for its status with the given environments. Prints the results."""
    for place in ("/run", "/tmp"):
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    os.chmod("/tmp", 0o1777)
    for path, owner in case["folders"].items():
        os.makedirs(path, mode=0o755)
        os.chown(path, owner, owner)
        os.chmod(path, 0o700 if owner == case["user"] else 0o750)

    def start(program, *arguments, user=None, **environment):
        user = case["user"] if user is None else user
        return subprocess.Popen(
            [f"{case['programs']}/{program}", *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, user=user, group=user, extra_groups=[], cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment})

    results = []
    daemon = start("cascaded", "--model", f"{case['programs']}/demo", "--state-dir", "",
                   "--threads", "1", "--kv-memory", "64M", *case.get("options", ()),
                   **case["environment"])
    log = []
    for line in daemon.stderr:
        log.append(line)
        if "serving at" in line:
            break
    for user, environment in case["clients"]:
        out, errors = start("cascadectl", "status", user=user, **environment).communicate()
        results.append(["serving" in out, errors])
    daemon.send_signal(signal.SIGTERM)
    daemon.communicate()
    print(json.dumps({"log": "".join(log), "seen": results}))


@unittest.skipUnless(os.geteuid() == 0, "becomes other users: run it as root")
class Places(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("no mount namespace can be made here")
        # Not in /tmp or /run, because each case has its own.
        cls.scratch = tempfile.TemporaryDirectory(prefix="cascade-places-", dir="/var/tmp")
        folder = pathlib.Path(cls.scratch.name)
        shutil.copytree(SOURCE / "models/demo", folder / "demo")
        for name in ("cascaded", "cascadectl"):
            shutil.copy(BIN / name, folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        cls.programs = str(folder)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_case(self, user, folders=(), environment=(), clients=(), options=()):
        case = {"programs": self.programs, "user": user, "folders": dict(folders),
                "environment": dict(environment), "options": list(options),
                "clients": list(clients) or [[user, dict(environment)]]}
        done = subprocess.run([*ALONE, json.dumps(case)], capture_output=True, text=True,
                              timeout=4 * WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertIn("serving at", result["log"])
        for (client, settings), (serving, errors) in zip(case["clients"], result["seen"]):
            self.assertTrue(serving, (client, settings, errors, result["log"]))
        return result["log"]

    def test_root(self):
        log = self.run_case(0, clients=[[0, {}], [0, {"XDG_RUNTIME_DIR": "/run/user/0"}]])
        self.assertIn("ipc:///run/cascaded/cascaded.sock", log)

    def test_root_who_is_logged_in(self):
        log = self.run_case(0, {"/run/user/0": 0}, {"XDG_RUNTIME_DIR": "/run/user/0"},
                            [[0, {}], [0, {"XDG_RUNTIME_DIR": "/run/user/0"}]])
        self.assertIn("ipc:///run/cascaded/cascaded.sock", log)

    def test_root_where_the_service_is_installed(self):
        log = self.run_case(0, {"/run/cascaded": SERVICE_USER})
        self.assertIn("ipc:///tmp/cascaded-0/cascaded.sock", log)
        log = self.run_case(0, {"/run/cascaded": SERVICE_USER, "/run/user/0": 0})
        self.assertIn("ipc:///run/user/0/cascaded/cascaded.sock", log)

    def test_root_with_the_folder_of_the_readme(self):
        folder = "/run/user/0/cascaded"
        self.run_case(0, options=["--run-dir", folder])
        self.run_case(0, {"/run/cascaded": SERVICE_USER}, options=["--run-dir", folder])

    def test_root_by_su_from_a_user(self):
        log = self.run_case(0, {f"/run/user/{USER}": USER, "/run/cascaded": SERVICE_USER},
                            {"XDG_RUNTIME_DIR": f"/run/user/{USER}"},
                            [[0, {"XDG_RUNTIME_DIR": f"/run/user/{USER}"}], [0, {}]])
        self.assertIn("ipc:///tmp/cascaded-0/cascaded.sock", log)

    def test_a_user(self):
        log = self.run_case(USER)
        self.assertIn(f"ipc:///tmp/cascaded-{USER}/cascaded.sock", log)

    def test_a_user_who_is_logged_in(self):
        runtime = f"/run/user/{USER}"
        with_and_without = [[USER, {"XDG_RUNTIME_DIR": runtime}], [USER, {}]]
        for environment in ({"XDG_RUNTIME_DIR": runtime}, {}):
            for more in ({}, {"/run/cascaded": SERVICE_USER}):
                log = self.run_case(USER, {runtime: USER, **more}, environment, with_and_without)
                self.assertIn(f"ipc://{runtime}/cascaded/cascaded.sock", log)

    def test_a_user_with_the_variable_of_another(self):
        other = "/run/user/20999"
        log = self.run_case(USER, {other: 20_999}, {"XDG_RUNTIME_DIR": other},
                            [[USER, {"XDG_RUNTIME_DIR": other}], [USER, {}]])
        self.assertIn(f"ipc:///tmp/cascaded-{USER}/cascaded.sock", log)

    def test_the_service_and_who_asks_it(self):
        # With systemd's variable; root, the service's user, and a member of its group may ask.
        log = self.run_case(SERVICE_USER, {"/run/cascaded": SERVICE_USER},
                            {"RUNTIME_DIRECTORY": "/run/cascaded"},
                            [[SERVICE_USER, {}], [0, {}],
                             [SERVICE_USER, {"RUNTIME_DIRECTORY": "/run/cascaded"}]])
        self.assertIn("ipc:///run/cascaded/cascaded.sock", log)

    def test_who_may_not_ask_is_told_that(self):
        case = {"programs": self.programs, "user": 0, "folders": {}, "environment": {},
                "clients": [[USER, {}]]}
        done = subprocess.run([*ALONE, json.dumps(case)], capture_output=True, text=True,
                              timeout=4 * WAIT_S)
        (serving, errors), = json.loads(done.stdout)["seen"]
        self.assertFalse(serving)
        self.assertIn("ipc:///run/cascaded/cascaded.sock: permission denied: only the user root "
                      "may connect", errors)
        self.assertNotIn("systemctl", errors)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        in_a_namespace(json.loads(sys.argv[2]))
    else:
        unittest.main()
