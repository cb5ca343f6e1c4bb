"""What a delete or an unpin over HTTP gives up, and what it leaves to others."""
import os
import subprocess
import time
import unittest

from daemon import BIN, Daemon, wait_until


class GivingUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def ctl(self, *arguments):
        endpoint = f"ipc://{self.daemon.folder}/run/cascaded.sock"
        done = subprocess.run([BIN / "cascadectl", "--endpoint", endpoint, *arguments],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def made(self, text, **settings):
        chunk = self.daemon.post("/v1/chunks", {"text": text, **settings}).json
        return "/v1/chunks/" + chunk["id"]

    def kinds(self, holders):
        return [(holder["kind"], holder["label"]) for holder in holders]

    def test_a_delete_says_what_ended_and_who_holds_the_chunk_still(self):
        path = self.made("Rome is in Italy.", name="rome")
        self.made("Rome is in Italy.")
        first = self.daemon.ask("DELETE", path).json
        self.assertFalse(first["deleted"])
        self.assertEqual(self.kinds(first["ended"]), [("retention", None)])
        self.assertEqual(self.kinds(first["holders"]), [("name", "rome")])
        last = self.daemon.ask("DELETE", path + "?name=rome").json
        self.assertTrue(last["deleted"])
        self.assertEqual(self.kinds(last["ended"]), [("name", "rome")])
        self.assertNotIn("holders", last)

    def test_the_last_name_of_a_pinned_chunk_stays(self):
        path = self.made("Oslo is in Norway.", name="oslo")
        changed = self.daemon.ask("PATCH", path, {"pinned": True}).json
        self.assertEqual((changed["gone"], changed["ended"]), (False, []))
        for query in ("", "?name=oslo", "?all=true"):
            answer = self.daemon.ask("DELETE", path + query)
            self.assertEqual((answer.status, answer.error["code"]), (409, "conflict"), query)
            self.assertIn("unpin it first", answer.error["message"])
        unpinned = self.daemon.ask("PATCH", path, {"pinned": False}).json
        self.assertEqual(self.kinds(unpinned["ended"]), [("pin", None)])
        self.assertEqual(self.kinds(unpinned["holders"]), [("name", "oslo")])
        self.assertFalse(unpinned["gone"])

    def test_an_unpin_that_ends_the_chunk_says_so(self):
        path = self.made("Lima is in Peru.", name="lima", pinned=True, ttl_ms=1)
        ends_us = self.daemon.get(path).json["expires_us"]
        wait_until(lambda: time.time() * 1e6 > ends_us, "the end of its time")
        unpinned = self.daemon.ask("PATCH", path, {"pinned": False}).json
        self.assertTrue(unpinned["gone"])
        self.assertEqual(self.kinds(unpinned["ended"]), [("name", "lima")])
        self.assertEqual(unpinned["holders"], [])
        self.assertEqual(self.daemon.get(path).status, 404)

    def test_a_turn_of_a_session_is_no_response_to_delete(self):
        self.ctl("generate", "--session", "trip", "--temperature", "0", "What is 2 plus 2?")
        listed = self.daemon.get("/v1/chunks?type=OUTPUT").json["data"]
        output = next(c["id"] for c in listed if ("session", "trip") in self.kinds(c["holders"]))
        path = "/v1/responses/" + output.replace("output_", "resp_")
        for door in (path, "/v1/chunks/" + output):
            answer = self.daemon.ask("DELETE", door)
            self.assertEqual((answer.status, answer.error["code"]), (409, "conflict"))
            self.assertIn('a turn of the session "trip"', answer.error["message"])
        self.assertEqual(self.daemon.get(path).status, 200)
        self.assertEqual(self.ctl("session", "delete", "trip"),
                         f"deleted trip\n{output} stays, held by a retention\n")
        deleted = self.daemon.ask("DELETE", path).json
        self.assertTrue(deleted["deleted"])
        self.assertEqual(self.kinds(deleted["ended"]), [("retention", None)])


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    unittest.main()
