"""SIGHUP: the settings are read again; those that can change do, and the rest are reported."""
import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from service import BIN, SOURCE, WAIT_S, Service, Stopped, ask, wait_until


class Reload(unittest.TestCase):
    def reload(self, service):
        """Sends SIGHUP and waits until the service says that it is done."""
        before = time.monotonic_ns() // 1000
        service.process.send_signal(signal.SIGHUP)
        reloading = service.manager.wait_for("RELOADING", "1")
        self.assertGreaterEqual(int(reloading["MONOTONIC_USEC"]), before)
        self.assertLessEqual(int(reloading["MONOTONIC_USEC"]), time.monotonic_ns() // 1000)
        service.manager.wait_for("READY", "1")

    def status(self, service):
        return json.loads(service.ctl("status", "--json").stdout)

    def test_limits_change_and_what_takes_a_restart_is_said(self):
        with Service(config="max_waiting = 7\n") as service:
            self.assertEqual(self.status(service)["requests_waiting_max"], 7)
            service.config_path.write_text('max_waiting = 9\nlog_level = "debug"\nkv = "bf16"\n')
            self.reload(service)
            wait_until(lambda: self.status(service)["requests_waiting_max"] == 9)
            self.assertEqual(self.status(service)["kv_type"], "int8")
            log = service.log()
            self.assertIn(f"changed: --max-waiting ({service.config_path}:1: max_waiting)", log)
            self.assertIn("needs a restart: --kv ", log)
            # This is reported again until the restart; applied changes are not.
            self.reload(service)
            service.wait_for_log("needs a restart: --kv ", count=2)
            self.assertEqual(service.log().count("changed: --max-waiting"), 1)

    def test_a_file_with_a_mistake_changes_nothing(self):
        with Service(config="max_waiting = 7\n") as service:
            service.config_path.write_text("max_waiting = 9\nmax_running = 0\n")
            self.reload(service)
            self.assertIn(f"{service.config_path}:2: max_running", service.log())
            self.assertIn("stay as they were", service.log())
            self.assertEqual(self.status(service)["requests_waiting_max"], 7)
            service.config_path.unlink()
            self.reload(service)
            self.assertEqual(self.status(service)["requests_waiting_max"], 7)

    def test_running_requests_go_on(self):
        with Service(config="") as service:
            # Until the decode loop goes on, the request is running and does not end.
            with Stopped(service.thread("decode")):
                running = service.start_ctl("generate", "--ignore-eos", "--max-tokens", "100",
                                            "Count")
                service.manager.wait_for("STATUS", "demo: 1 request running, 0 waiting")
                self.reload(service)
            _, errors = running.communicate(timeout=WAIT_S)
            self.assertEqual(running.returncode, 4, errors)  # cut by --max-tokens

    def new_key(self, tenant, path):
        made = subprocess.run([BIN / "cascadectl", "key", "new", "--tenant", tenant, "--file",
                               path], capture_output=True, text=True, check=True)
        return made.stdout.strip()

    def test_keys_come_and_go(self):
        with tempfile.TemporaryDirectory(prefix="cascade-service-") as folder:
            keys = pathlib.Path(folder) / "keys"
            first = self.new_key("local", keys)
            with Service("--http", "127.0.0.1:0", "--http-keys", str(keys), folder=folder,
                         config="") as serving:
                port = int(serving.wait_for_log(r"HTTP at http://127\.0\.0\.1:(\d+)")[0])

                def status(key):
                    return ask(("127.0.0.1", port), "GET", "/v1/models", key=key)[0]

                self.assertEqual(status(first), 200)
                keys.unlink()
                second, late = self.new_key("local", keys), self.new_key("eve", keys)
                self.assertEqual(status(second), 401)
                self.reload(serving)
                self.assertEqual(status(second), 200)
                self.assertEqual(status(first), 401, "it is not in the file any more")
                self.assertEqual(status(late), 200, "it is of a tenant that is new")
                self.assertEqual(
                    ask(("127.0.0.1", port), "POST", "/v1/completions",
                        {"prompt": "Once", "max_tokens": 3, "model": "demo"}, key=late)[0], 200)
                keys.write_text("# revoked\n")
                self.reload(serving)
                self.assertEqual(status(second), 401, "the last key is revoked")
                self.assertEqual(status(None), 401, "no port is opened to everybody by a reload")
                self.assertIn("nobody may use HTTP", serving.log())
                third = self.new_key("local", keys)
                self.assertNotIn("everybody may write", serving.log())
                keys.chmod(0o666)
                self.reload(serving)
                self.assertEqual(status(third), 200)
                self.assertIn(f"--http-keys: {keys}: everybody may write to it", serving.log())
                keys.write_text(keys.read_text(), encoding="utf-8-sig")
                self.reload(serving)
                self.assertEqual(status(third), 200, "a byte order mark is no part of a tenant")
                keys.write_text(keys.read_text(), encoding="utf-16")
                self.reload(serving)
                self.assertRegex(serving.log(), "keys stay as they were: .*save it as UTF-8")
                self.assertEqual(status(third), 200)
                keys.write_text("nonsense\n")
                self.reload(serving)
                self.assertIn("keys stay as they were", serving.log())
                self.assertEqual(status(third), 200)
                tenants = [f"t{i}" for i in range(201)]
                keys.write_text("".join(f"{tenant} {'0' * 64}\n" for tenant in tenants))
                self.reload(serving)
                self.assertIn("line 201: is of one tenant more than 200 tenants", serving.log())
                self.assertEqual(status(third), 200)

    def test_a_signal_while_it_loads_waits_for_that(self):
        with Service(config="", wait=False) as service:
            service.manager.wait_for("STATUS", f"loading {SOURCE}/models/demo")
            service.process.send_signal(signal.SIGHUP)
            service.manager.wait_for("RELOADING", "1")
            self.assertEqual(service.stop(), 0)


class Foreground(unittest.TestCase):
    def test_without_a_manager_and_a_file_the_signal_stops_it(self):
        with Service(environment={"NOTIFY_SOCKET": ""}, wait=False) as service:
            service.wait_for_log("serving at")
            self.assertEqual(service.stop(signal.SIGHUP), 0)


if __name__ == "__main__":
    unittest.main()
