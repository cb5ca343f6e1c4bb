"""Messages to the service manager: readiness, status, the watchdog, the end."""
import re
import signal
import unittest

from service import Service, Stopped

# The manager here kills nobody. In this time the daemon checks its actors, and sends its status,
# sixteen times.
WATCHDOG_US = 320_000
LOOKS = 20  # longer than the manager would wait
# It runs longer than any test: it ends when its client ends.
ENDLESS = ("generate", "--ignore-eos", "--max-tokens", "16000", "--temperature", "1", "Count.")


class Notify(unittest.TestCase):
    def test_ready_comes_when_clients_are_served_and_stopping_before_the_end(self):
        with Service(wait=False) as service:
            manager = service.manager
            manager.wait_for("READY", "1")
            states = [m["STATUS"] for m in manager.heard if "STATUS" in m]
            self.assertIn("loading", states[0])
            self.assertEqual(states[-1], "demo: 0 requests running, 0 waiting")
            self.assertEqual(service.ctl("generate", "--temperature", "0", "Hello").returncode, 0)
            self.assertEqual(service.stop(), 0)
            ends = [m for m in manager.drain() if "STOPPING" in m]
            self.assertEqual(len(ends), 1)

    def test_the_status_tells_the_load(self):
        with Service(watchdog_us=WATCHDOG_US) as service:
            busy = service.start_ctl(*ENDLESS)
            service.manager.wait_for("STATUS", "demo: 1 request running, 0 waiting")
            busy.kill()
            busy.communicate()
            service.manager.wait_for("STATUS", "demo: 0 requests running, 0 waiting")

    def test_a_start_that_fails_says_why_and_is_never_ready(self):
        with Service("--kv-memory", "1", wait=False) as service:
            self.assertEqual(service.process.wait(60), 2)
            heard = service.manager.drain()
            self.assertFalse([m for m in heard if "READY" in m])
            self.assertIn("--kv-memory", heard[-1].get("STATUS", ""))

    def test_without_a_manager_nothing_is_said(self):
        with Service(environment={"NOTIFY_SOCKET": ""}, wait=False) as service:
            service.wait_for_log("serving at")
            self.assertEqual(service.stop(), 0)
            self.assertEqual(service.manager.drain(), [])


class Watchdog(unittest.TestCase):
    def feeds_in(self, messages):
        return len([m for m in messages if m.get("WATCHDOG") == "1"])

    def test_is_fed_while_idle_and_while_working(self):
        with Service(watchdog_us=WATCHDOG_US) as service:
            for _ in range(5):
                service.manager.wait_for("WATCHDOG", "1")
            busy = service.start_ctl(*ENDLESS)
            service.manager.wait_for("STATUS", "demo: 1 request running, 0 waiting")
            for _ in range(5):
                service.manager.wait_for("WATCHDOG", "1")
            busy.kill()
            busy.communicate()

    def test_is_not_asked_for_without_a_timeout(self):
        with Service() as service:
            service.ctl("generate", "--temperature", "0", "Hello")
            service.stop()
            self.assertEqual(self.feeds_in(service.manager.heard + service.manager.drain()), 0)

    # Stops the thread: after some checks the manager has heard nothing. Then the thread goes on.
    def starves(self, service, thread, give_work):
        pattern = "not fed because of " + thread
        with Stopped(service.thread(thread)):
            # On a busy machine the thread may have been late before, so only new lines count. The
            # first such line may come from a check before the stop, the second one does not.
            before = len(re.findall(pattern, service.log()))
            work = give_work()
            service.wait_for_log(pattern, count=before + 2)
            service.manager.drain()
            service.wait_for_log(pattern, count=before + 2 + LOOKS)
            self.assertEqual(self.feeds_in(service.manager.drain()), 0)
            self.assertIn(f"{thread} has made no progress", service.log())
        service.manager.wait_for("WATCHDOG", "1")
        if work:
            out, errors = work.communicate(timeout=60)
            self.assertEqual(work.returncode, 0, errors)

    def starved(self, thread, *command):
        with Service("--log-level", "debug", watchdog_us=WATCHDOG_US) as service:
            # After this, all actors work: a client may be served before the last of them starts.
            service.ctl("generate", "--temperature", "0", "--max-tokens", "1", "Hello")
            service.ctl("chunk", "put", "another text")
            give = (lambda: service.start_ctl(*command)) if command else (lambda: None)
            self.starves(service, thread, give)

    def test_starves_when_the_decode_loop_stands_still(self):
        self.starved("decode", "generate", "--temperature", "0", "What is the capital of France?")

    def test_starves_when_prompts_are_not_computed(self):
        self.starved("prefill", "generate", "--temperature", "0", "What is the capital of France?")

    def test_starves_when_the_database_is_not_written(self):
        self.starved("store", "chunk", "put", "a text")

    def test_starves_when_the_scheduler_stands_still(self):
        self.starved("scheduler")

    def test_kill_of_the_manager_loses_nothing_that_was_acknowledged(self):
        with Service(watchdog_us=WATCHDOG_US) as service:
            service.ctl("chunk", "put", "a text that stays", "--json")
            service.process.send_signal(signal.SIGABRT)  # as systemd does
            self.assertEqual(service.process.wait(60), -signal.SIGABRT)
            self.assertFalse(list(service.folder.glob("**/core*")))
            with Service(folder=service.folder, watchdog_us=WATCHDOG_US) as again:
                self.assertIn("a text that stays", again.ctl("chunk", "list").stdout)
                again.manager.wait_for("WATCHDOG", "1")


if __name__ == "__main__":
    unittest.main()
