"""The needs of browsers, compressed bodies, kept connections, the log of requests, aliases."""
import gzip
import http.client
import json
import pathlib
import socket
import tempfile
import unittest
import zlib

from daemon import Daemon, make_key, question

CHAT = "/v1/chat/completions"
APP = "https://app.example"


def preflight(daemon, path, origin, method="POST", headers="authorization, content-type"):
    return daemon.ask("OPTIONS", path, headers={
        "Origin": origin, "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": headers})


class Origins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon("--http-origin", APP, "--http-origin", "http://LOCALHOST:3000",
                            "--http-model-alias", "gpt-4o=default",
                            "--http-model-alias", "openai/gpt-4o:mini=demo",
                            "--log-level", "debug")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def test_pages_of_the_sites_that_are_named_may_read_replies(self):
        for origin in (APP, "http://localhost:3000"):
            asked = preflight(self.daemon, CHAT, origin,
                              headers="authorization,content-type,x-stainless-os")
            self.assertEqual((asked.status, asked.text), (204, ""))
            self.assertEqual(asked.headers["Access-Control-Allow-Origin"], origin)
            self.assertIn("POST", asked.headers["Access-Control-Allow-Methods"])
            self.assertIn("x-stainless-os", asked.headers["Access-Control-Allow-Headers"])
            self.assertEqual(asked.headers["Vary"], "Origin")
            for stream in (False, True):
                answer = self.daemon.post(CHAT, question(stream=stream), headers={"Origin": origin})
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin)
                self.assertIn("X-Request-Id", answer.headers["Access-Control-Expose-Headers"])
            # A page can read errors as well.
            for path, body in ((CHAT, {}), ("/v2", {})):
                wrong = self.daemon.post(path, body, headers={"Origin": origin})
                self.assertIn(wrong.status, (400, 404))
                self.assertEqual(wrong.headers["Access-Control-Allow-Origin"], origin)
        methods = preflight(self.daemon, "/v1/chunks/chunk_1", APP, "DELETE").headers
        self.assertEqual(set(methods["Access-Control-Allow-Methods"].split(", ")),
                         {"GET", "PATCH", "DELETE"})

    def test_pages_of_other_sites_are_refused_and_the_error_says_what_allows_them(self):
        for origin in ("https://evil.example", "https://app.example:8443", "http://app.example",
                       "null", "https://app.example.evil"):
            for answer in (self.daemon.get("/v1/models", headers={"Origin": origin}),
                           preflight(self.daemon, CHAT, origin)):
                self.assertEqual((answer.status, answer.error["code"]),
                                 (403, "origin_not_allowed"), origin)
                advises = "--http-origin " + origin in answer.error["message"]
                self.assertEqual(advises, origin != "null")  # every file has this origin
                self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        own = f"localhost:{self.daemon.port}"
        answer = self.daemon.get("/health", headers={"Origin": f"http://{own}", "Host": own})
        self.assertEqual(answer.status, 200)
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
        answer = self.daemon.get("/health", headers={"Host": "evil.example"})
        self.assertIn("--http-host", answer.error["message"])

    def test_a_preflight_repeats_no_header_that_is_none(self):
        asked = preflight(self.daemon, CHAT, APP, headers="x-a\x0b: y")
        self.assertIn(asked.status, (204, 400))
        asked = preflight(self.daemon, CHAT, APP, headers="<script>")
        self.assertNotIn("script", asked.headers["Access-Control-Allow-Headers"])
        # From programs other than browsers, OPTIONS is a method like any other.
        self.assertEqual(self.daemon.ask("OPTIONS", CHAT).status, 405)
        private = self.daemon.ask("OPTIONS", CHAT, headers={
            "Origin": APP, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Private-Network": "true"})
        self.assertEqual(private.headers["Access-Control-Allow-Private-Network"], "true")

    def test_compressed_bodies_are_read(self):
        body = json.dumps(question()).encode()
        for coding, data in (("gzip", gzip.compress(body)), ("GZIP", gzip.compress(body)),
                             ("deflate", zlib.compress(body)), ("identity", body),
                             ("gzip", gzip.compress(body[:10]) + gzip.compress(body[10:]))):
            answer = self.daemon.post(CHAT, data, headers={"Content-Encoding": coding})
            self.assertEqual(answer.status, 200, answer.text)
            self.assertEqual(answer.content(), "The capital of France is Paris.")

    def test_bodies_that_cannot_be_read_are_errors(self):
        whole = gzip.compress(json.dumps(question()).encode())
        for data in (whole[:-5], whole + b"x", b"not gzip", whole[:12]):
            answer = self.daemon.post(CHAT, data, headers={"Content-Encoding": "gzip"})
            self.assertEqual((answer.status, answer.error["code"]), (400, "invalid_http"))
        for coding in ("br", "zstd", "gzip, gzip", "compress"):
            answer = self.daemon.post(CHAT, whole, headers={"Content-Encoding": coding})
            self.assertEqual((answer.status, answer.error["code"]), (415, "unsupported_encoding"))
            self.assertEqual(answer.headers["Accept-Encoding"], "gzip, deflate")
        bomb = gzip.compress(b" " * (64 << 20))
        self.assertLess(len(bomb), 1 << 20)
        answer = self.daemon.post(CHAT, bomb, headers={"Content-Encoding": "gzip"})
        self.assertEqual((answer.status, answer.error["code"]), (413, "request_too_large"))
        self.assertEqual(self.daemon.get("/health").status, 200)

    def test_a_connection_goes_on_behind_what_was_refused(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.daemon.port, timeout=60)
        connection.connect()
        used = connection.sock
        evil = {"Origin": "https://evil.example"}
        for method, path, headers, status in [
                ("GET", "/v2", {}, 404), ("POST", "/v1/chat/completion", {}, 404),
                ("PUT", CHAT, {}, 405), ("GET", CHAT, {}, 405), ("POST", CHAT, evil, 403),
                ("GET", "/v1/models/none", {}, 404), ("POST", CHAT, {"Host": "evil"}, 403),
                ("POST", "/v2", {"Content-Encoding": "br"}, 404),
                ("POST", CHAT, {"Content-Encoding": "br"}, 415), ("GET", "/health", {}, 200)]:
            body = json.dumps(question("x" * 1000)) if method in ("POST", "PUT") else None
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, status, (method, path))
            self.assertNotEqual(answer.headers["Connection"], "close", (method, path))
            self.assertIs(connection.sock, used)
        # A body that is large, or whose size is unknown, is not read needlessly.
        connection.request("POST", "/v2", b"x" * (2 << 20))
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.headers["Connection"]), (404, "close"))
        connection.close()

    def test_models_have_aliases(self):
        models = {m["id"]: m for m in self.daemon.get("/v1/models").json["data"]}
        self.assertEqual(list(models), ["demo", "gpt-4o", "openai/gpt-4o:mini"])
        self.assertEqual(models["gpt-4o"]["root"], "demo")
        self.assertNotIn("root", models["demo"])
        self.assertEqual(self.daemon.get("/v1/models/gpt-4o").json, models["gpt-4o"])
        for name in ("gpt-4o", "openai/gpt-4o:mini"):
            answer = self.daemon.post(CHAT, question(model=name))
            self.assertEqual((answer.status, answer.json["model"]), (200, "demo"))
            quoted = name.replace("/", "%2F").replace(":", "%3A")
            tokens = self.daemon.post("/tokenize?model=" + quoted, {"content": "x"})
            self.assertEqual(tokens.status, 200)
            self.assertEqual(self.daemon.get("/v1/models/" + quoted).status, 200)
        self.assertEqual(self.daemon.post(CHAT, question(model="gpt-4")).status, 404)

    def test_requests_are_logged_without_secrets_and_without_what_a_terminal_obeys(self):
        self.daemon.post(CHAT, question("a secret question"), key="sk-secret-key")
        self.daemon.get("/v1/models?key=secret-query")
        with socket.create_connection(("127.0.0.1", self.daemon.port), 60) as raw:
            raw.sendall(b"GET /\xc2\x9b31mred HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(raw.recv(12), (b"HTTP/1.1 404", b"HTTP/1.1 400"))
        self.daemon.get("/" + "x" * 3000)
        self.daemon.wait_for_log(r"HTTP GET /x{100,220}\.\.\. 404 \d+ ms")
        log = self.daemon.log_path.read_text()
        self.assertRegex(log, r"HTTP POST /v1/chat/completions 200 \d+ ms tenant local")
        self.assertRegex(log, r"HTTP GET /v1/models 200 \d+ ms tenant local")
        self.assertNotIn("secret", log)
        self.assertNotIn("\x9b", log)


class AnyOrigin(unittest.TestCase):
    def test_takes_keys_and_then_every_page_may_ask(self):
        with Daemon() as first:
            key = make_key(first.folder, "alice")
            keys = (first.folder / "keys").read_text()
        with self.assertRaisesRegex(RuntimeError, "http-keys"):
            Daemon("--http-origin", "*", wait=False)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "keys"
            path.write_text(keys)
            path.chmod(0o600)
            with Daemon("--http-origin", "*", "--http-keys", str(path)) as daemon:
                asked = preflight(daemon, CHAT, "https://any.example")
                self.assertEqual(asked.status, 204)
                self.assertEqual(asked.headers["Access-Control-Allow-Origin"], "*")
                answer = daemon.post(CHAT, question(), headers={"Origin": "null"})
                self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]),
                                 (401, "*"))
                answer = daemon.post(CHAT, question(), key=key, headers={"Origin": "https://x.y"})
                self.assertEqual(answer.status, 200)

    def test_without_a_word_no_page_of_another_site_may(self):
        with Daemon() as daemon:
            for answer in (daemon.get("/v1/models", headers={"Origin": APP}),
                           preflight(daemon, CHAT, APP)):
                self.assertEqual(answer.status, 403)


if __name__ == "__main__":
    unittest.main()
