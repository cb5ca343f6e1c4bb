"""Every route: what it answers, who may ask, and its errors for wrong requests."""
import json
import shutil
import socket
import tempfile
import unittest

from daemon import Daemon, make_key, question

# These routes answer everybody alike.
PAGE = [("GET", "/"), ("GET", "/dashboard.css"), ("GET", "/dashboard.js")]
ROUTES = PAGE + [
    ("GET", "/health"), ("GET", "/v1/health"), ("GET", "/v1/models"), ("GET", "/v1/models/demo"),
    ("POST", "/v1/chat/completions"), ("POST", "/v1/completions"), ("POST", "/v1/responses"),
    ("GET", "/v1/responses/resp_1"), ("DELETE", "/v1/responses/resp_1"),
    ("GET", "/v1/responses/resp_1/input_items"), ("POST", "/v1/embeddings"), ("POST", "/tokenize"),
    ("POST", "/detokenize"), ("POST", "/apply-template"), ("GET", "/metrics"), ("GET", "/version"),
    ("GET", "/v1/status"), ("GET", "/v1/events"),
    ("GET", "/v1/chunks"), ("POST", "/v1/chunks"), ("GET", "/v1/chunks/chunk_1"),
    ("PATCH", "/v1/chunks/chunk_1"), ("DELETE", "/v1/chunks/chunk_1"),
]


class Routes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def refused(self, path, body, status, param, code=None):
        answer = self.daemon.post(path, body)
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.error["param"], param)
        if code:
            self.assertEqual(answer.error["code"], code)
        self.assertTrue(answer.error["message"])
        return answer

    def test_health_models_and_version(self):
        self.assertEqual(self.daemon.get("/health").json, {"status": "ok"})
        models = self.daemon.get("/v1/models").json
        self.assertEqual([m["id"] for m in models["data"]], ["demo"])
        self.assertEqual(self.daemon.get("/v1/models/demo").json, models["data"][0])
        self.assertEqual(self.daemon.get("/v1/models/gpt").status, 404)
        self.assertIn("version", self.daemon.get("/version").json)

    def test_targets_that_are_no_utf_8_are_refused_on_every_route(self):
        for method, path in ROUTES:
            for bad in (b"%ff", b"\xff\xfe", b"%c3", b"%ED%A0%80"):
                # The value takes the place of an id, if there is one, and of a query.
                whole = path.encode()
                for target in (whole.replace(b"_1", bad), whole + b"?after=" + bad):
                    if target == whole:
                        continue
                    with socket.create_connection(("127.0.0.1", self.daemon.port), 60) as raw:
                        raw.sendall(method.encode() + b" " + target + b" HTTP/1.1\r\n"
                                    b"Host: localhost\r\nContent-Length: 0\r\n\r\n")
                        self.assertTrue(raw.recv(20).startswith(b"HTTP/1.1 400"), target)
        self.assertIsNone(self.daemon.process.poll())
        self.assertEqual(self.daemon.get("/health").status, 200)

    def test_head_has_no_body(self):
        answer = self.daemon.ask("HEAD", "/health")
        self.assertEqual((answer.status, answer.text), (200, ""))

    def test_a_chat_whole_and_streamed_say_the_same(self):
        whole = self.daemon.post("/v1/chat/completions", question()).json
        choice = whole["choices"][0]
        self.assertEqual(choice["message"]["content"], "The capital of France is Paris.")
        self.assertEqual(choice["finish_reason"], "stop")
        usage = whole["usage"]
        self.assertEqual(usage["total_tokens"], usage["prompt_tokens"] + usage["completion_tokens"])
        streamed = self.daemon.post("/v1/chat/completions", question(
            stream=True, stream_options={"include_usage": True}))
        self.assertTrue(streamed.headers["Content-Type"].startswith("text/event-stream"))
        chunks = [data for _, data in streamed.events()]
        self.assertEqual(chunks.pop(), "[DONE]")
        last = chunks.pop()
        self.assertEqual(last["choices"], [])
        self.assertEqual(last["usage"]["completion_tokens"], usage["completion_tokens"])
        self.assertEqual(chunks[0]["choices"][0]["delta"]["role"], "assistant")
        self.assertTrue(all(chunk["choices"] for chunk in chunks))
        self.assertTrue(all(chunk["usage"] is None for chunk in chunks))
        text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        self.assertEqual(text, whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "stop")

    def test_cached_tokens_are_what_was_reused(self):
        asked = question("Which city is the capital of Kenya? Please say it in one sentence.")
        first = self.daemon.post("/v1/chat/completions", asked).json["usage"]
        again = self.daemon.post("/v1/chat/completions", asked).json["usage"]
        self.assertEqual(again["prompt_tokens"], first["prompt_tokens"])
        # All tokens except the last, whose logits are wanted.
        cached = again["prompt_tokens_details"]["cached_tokens"]
        self.assertEqual(cached, again["prompt_tokens"] - 1)

    def test_logprobs_are_those_of_the_answer(self):
        asked = question(logprobs=True, top_logprobs=2)
        whole = self.daemon.post("/v1/chat/completions", asked).json["choices"][0]
        tokens = whole["logprobs"]["content"]
        self.assertEqual("".join(t["token"] for t in tokens), whole["message"]["content"])
        for token in tokens:
            self.assertEqual(len(token["top_logprobs"]), 2)
            self.assertEqual(bytes(token["bytes"]).decode(), token["token"])
            self.assertLessEqual(token["logprob"], 0)
        streamed = self.daemon.post("/v1/chat/completions", dict(asked, stream=True))
        parts = [d["choices"][0]["logprobs"] for _, d in streamed.events() if d != "[DONE]"]
        self.assertEqual([t for p in parts if p for t in p["content"]], tokens)

    def test_an_answer_says_which_attention_mode_was_used(self):
        for path, body in (("/v1/chat/completions", question(max_tokens=2)),
                           ("/v1/completions", {"prompt": "Rome is", "max_tokens": 2}),
                           ("/v1/responses", {"input": "Hi", "max_output_tokens": 2})):
            self.assertEqual(self.daemon.post(path, body).json["attention"], "dense", path)
            window = dict(body, attention="window:512")
            self.assertEqual(self.daemon.post(path, window).json["attention"], "window:512:64")
            select = dict(body, attention="select:1000:1")
            self.assertEqual(self.daemon.post(path, select).json["attention"], "select:1024:1")
            streamed = self.daemon.post(path, dict(window, stream=True)).events()
            events = [data.get("response", data) for _, data in streamed if data != "[DONE]"]
            self.assertEqual([event["attention"] for event in events if "attention" in event],
                             ["window:512:64"], path)
            self.assertIn("attention", events[-1])
            wrong = self.refused(path, dict(body, attention="sparse"), 400, "attention")
            self.assertIn('"sparse"', wrong.error["message"])
            longer = self.refused(path, dict(body, attention="w" * 65), 400, "attention")
            self.assertIn("has 65 bytes, more than the limit of 64", longer.error["message"])
            self.assertNotIn("www", longer.text)

    def test_stop_seed_length_and_penalties(self):
        stopped = self.daemon.post("/v1/chat/completions", question(stop=" Paris")).json
        self.assertEqual(stopped["choices"][0]["message"]["content"], "The capital of France is")
        cut = self.daemon.post("/v1/chat/completions", question(max_completion_tokens=2)).json
        self.assertEqual(cut["choices"][0]["finish_reason"], "length")
        self.assertEqual(cut["usage"]["completion_tokens"], 2)
        warm = question(temperature=0.9, seed=7, presence_penalty=0.5, frequency_penalty=0.1)
        answers = [self.daemon.post("/v1/chat/completions", warm).json for _ in range(3)]
        texts = {answer["choices"][0]["message"]["content"] for answer in answers}
        self.assertEqual(len(texts), 1)

    def test_a_deadline_that_passes_is_a_504(self):
        answer = self.daemon.post("/v1/chat/completions", question(
            "Tell me a long story.", timeout_ms=1, max_tokens=2000, ignore_eos=True))
        self.assertEqual(answer.status, 504)
        self.assertEqual(answer.error["code"], "deadline_exceeded")

    def test_a_deadline_that_passes_in_a_stream_is_an_event(self):
        # How soon the first text comes depends on the machine: before it there is no stream.
        for timeout_ms in (300, 1_000, 3_000, 9_000):
            answer = self.daemon.post("/v1/chat/completions", question(
                "Tell me a story.", timeout_ms=timeout_ms, max_tokens=16_000, ignore_eos=True,
                stream=True))
            if answer.status == 200:
                break
            self.assertEqual(answer.error["code"], "deadline_exceeded")
        self.assertEqual(answer.status, 200)
        events = [data for _, data in answer.events()]
        self.assertEqual(events[-1]["error"]["code"], "deadline_exceeded")

    def test_a_completion(self):
        asked = {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0,
                 "logprobs": 1}
        whole = self.daemon.post("/v1/completions", asked).json
        choice = whole["choices"][0]
        self.assertEqual(whole["object"], "text_completion")
        self.assertEqual("".join(choice["logprobs"]["tokens"]), choice["text"])
        streamed = self.daemon.post("/v1/completions", dict(asked, stream=True))
        events = [data for _, data in streamed.events()]
        self.assertEqual(events.pop(), "[DONE]")
        self.assertEqual("".join(e["choices"][0]["text"] for e in events), choice["text"])

    def test_texts_and_tokens(self):
        text = "Grüße, 世界 <|im_end|>"
        tokens = self.daemon.post("/tokenize", {"content": text}).json
        self.assertEqual(tokens["count"], len(tokens["tokens"]))
        self.assertEqual(self.daemon.post("/detokenize", {"tokens": tokens["tokens"]}).json,
                         {"content": text})
        pieces = self.daemon.post("/tokenize", {"content": "Hello you", "with_pieces": True}).json
        self.assertEqual("".join(t["piece"] for t in pieces["tokens"]), "Hello you")
        prompt = self.daemon.post("/apply-template", {"messages": question()["messages"]}).json
        self.assertTrue(prompt["prompt"].startswith("<|im_start|>user\nWhat is"))
        self.assertEqual(self.daemon.post("/detokenize", {"tokens": [99_999_999]}).error["param"],
                         "tokens[0]")

    def test_chunks(self):
        made = self.daemon.post("/v1/chunks", {"text": "Rome is in Italy.", "name": "rome"}).json
        path = "/v1/chunks/" + made["id"]
        self.assertEqual(self.daemon.get(path).json["text"], "Rome is in Italy.")
        changed = self.daemon.ask("PATCH", path, {"pinned": True, "ttl_ms": 3_600_000}).json
        self.assertTrue(changed["pinned"])
        self.assertGreater(changed["expires_us"], 0)
        self.assertEqual(self.daemon.ask("DELETE", path).status, 409)
        self.daemon.ask("PATCH", path, {"pinned": False})
        listed = self.daemon.get("/v1/chunks?type=CONTEXT&limit=1000").json
        self.assertIn(made["id"], [c["id"] for c in listed["data"]])
        self.assertTrue(self.daemon.ask("DELETE", path).json["deleted"])
        self.assertEqual(self.daemon.get(path).status, 404)

    def test_embeddings_are_not_implemented(self):
        answer = self.daemon.post("/v1/embeddings", {"input": "x"})
        self.assertEqual((answer.status, answer.error["type"]), (501, "not_implemented_error"))

    def test_tools_reach_the_template_and_calls_come_back_in(self):
        tools = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
        call = {"id": "call_1", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}}
        messages = [{"role": "user", "content": "Weather in Rome?"},
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "sunny"}]
        answer = self.daemon.post("/v1/chat/completions", question(messages=messages, tools=tools))
        self.assertEqual(answer.status, 200, answer.text)

    def test_what_cannot_be_done_is_refused_by_name(self):
        chat = "/v1/chat/completions"
        image = [{"type": "image_url", "image_url": {"url": "x"}}]
        for more, param in [
                ({"messages": [{"role": "user", "content": image}]}, "messages[0].content[0].type"),
                ({"functions": [{"name": "f"}]}, "functions"), ({"cache_salt": "x"}, "cache_salt"),
                ({"modalities": ["audio"]}, "modalities")]:
            self.refused(chat, question(**more), 400, param, "unsupported")
        self.refused("/v1/completions", {"prompt": "x", "echo": True, "logprobs": 1}, 400, "echo",
                     "unsupported")
        self.refused("/v1/responses", {"input": "x", "background": True}, 400, "background")

    def test_schemas_that_cannot_be_held_are_refused_by_the_field_that_has_them(self):
        schema = {"type": "object", "if": {}}
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        for path, more, param in [
                ("/v1/chat/completions", {"response_format": {
                    "type": "json_schema", "json_schema": {"name": "n", "schema": schema}}},
                 "response_format.json_schema.schema"),
                ("/v1/chat/completions", {"tools": [tool], "tool_choice": "required"},
                 "tools[0].function.parameters"),
                ("/v1/chat/completions", {"tools": [tool], "tool_choice": "required",
                                          "stream": True}, "tools[0].function.parameters"),
                ("/v1/responses", {"text": {"format": {
                    "type": "json_schema", "name": "n", "schema": schema}}},
                 "text.format.schema")]:
            body = question(**more)
            if path == "/v1/responses":
                body = {"input": "Hi", **more}
            self.refused(path, body, 400, param, "invalid_argument")

    def test_wrong_requests_name_their_param(self):
        chat = "/v1/chat/completions"
        for more, param in [
                ({"messages": []}, "messages"), ({"messages": "hi"}, "messages"),
                ({"messages": [{"role": "pope", "content": "x"}]}, "messages[0].role"),
                ({"messages": [{"role": "user"}]}, "messages[0].content"),
                ({"temperature": -1}, "temperature"), ({"temperature": "hot"}, "temperature"),
                ({"top_p": 2}, "top_p"), ({"max_tokens": 0}, "max_tokens"),
                ({"logit_bias": {"x": 1}}, "logit_bias"),
                ({"logit_bias": {"1": 101}}, "logit_bias"),
                ({"logit_bias": {"999999": 1}}, "logit_bias"),
                ({"top_logprobs": 3}, "top_logprobs"), ({"stop": ["a", 1]}, "stop"),
                ({"stop": ["a"] * 17}, "stop"), ({"stream": 1}, "stream"),
                ({"tools": [{"type": "function"}]}, "tools[0].function"),
                ({"cache_control": {"ttl": "soon"}}, "cache_control.ttl"),
                ({"timeout_ms": -1}, "timeout_ms"), ({"stream_options": 3}, "stream_options")]:
            self.refused(chat, question(**more), 400, param)
        self.refused(chat, question(model="gpt-4o"), 404, "model", "model_not_found")
        self.refused(chat, "{", 400, "body")
        self.refused(chat, "[]", 400, "body")
        self.refused(chat, "[" * 100, 400, "body")
        self.refused(chat, question("word " * 20_000), 400, "messages")

    def test_paths_and_methods(self):
        self.assertEqual(self.daemon.get("/v2").error["code"], "unknown_url")
        wrong = self.daemon.get("/v1/chat/completions")
        self.assertEqual((wrong.status, wrong.headers["Allow"]), (405, "POST"))
        self.assertEqual(self.daemon.ask("OPTIONS", "/v1/models").status, 405)

    def test_hosts_and_origins(self):
        for host, status in [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200),
                             ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 200)]:
            self.assertEqual(self.daemon.get("/health", headers={"Host": host}).status, status)
        # Browsers always send the name; health checks of proxies may leave it out.
        for what in (b"GET /health", b"HEAD /health", b"GET /metrics", b"HEAD /"):
            self.assertEqual(self.raw(what + b" HTTP/1.0\r\n\r\n"), 200)
        alien = {"Host": "", "Origin": "http://evil"}
        self.assertEqual(self.daemon.get("/health", headers=alien).status, 403)
        own = f"localhost:{self.daemon.port}"
        for origin, status in [(f"http://{own}", 200), ("http://localhost:3000", 403),
                               ("http://evil.example", 403), ("null", 403)]:
            answer = self.daemon.get("/health", headers={"Origin": origin, "Host": own})
            self.assertEqual(answer.status, status, origin)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])

    def test_the_dashboard_runs_nothing_but_its_own_script(self):
        for (_, path), kind in zip(PAGE, ("html", "css", "javascript")):
            answer = self.daemon.get(path)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["Content-Type"], f"text/{kind}; charset=utf-8")
            policy = answer.headers["Content-Security-Policy"].split("; ")
            for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'",
                         "connect-src 'self'", "frame-ancestors 'none'"):
                self.assertIn(rule, policy)
            for outside in ("http:", "//cdn", "innerHTML", "insertAdjacentHTML", "eval("):
                text = answer.text.replace("http://www.w3.org/2000/svg", "")
                self.assertNotIn(outside, text)
        page = self.daemon.get("/").text
        self.assertNotRegex(page, r"<script>|<style|\son\w+=|\sstyle=")

    def test_status(self):
        self.daemon.post("/v1/chunks", {"text": "Oslo is in Norway."})
        answer = self.daemon.get("/v1/status").json
        self.assertEqual((answer["object"], answer["tenant"]), ("status", "local"))
        self.assertEqual(answer["status"]["model"], "demo")
        self.assertEqual(answer["status"]["state"], "serving")
        self.assertIn("tokens_generated", answer["status"])
        self.assertGreater(answer["stats"]["cache"]["pages_max"], 0)
        [contexts] = [g for g in answer["stats"]["groups"]
                      if (g["tenant"], g["type"]) == ("local", "CONTEXT")]
        self.assertGreater(contexts["chunks"], 0)

    def test_events(self):
        before = self.daemon.get("/v1/events?after=%d" % (2**63 - 1)).json
        made = self.daemon.post("/v1/chunks", {"text": "Bern is in Switzerland."}).json["id"]
        path = "/v1/events?after=%d&boot_id=%s" % (before["last"], before["boot_id"])
        after = self.daemon.get(path).json
        self.assertFalse(after["gap"])
        stored = [e for e in after["data"] if e["id"] == made]
        self.assertEqual([e["kind"] for e in stored], ["chunk_stored"])
        self.assertEqual(stored[0]["sequence"], before["last"] + 1)
        self.assertTrue(self.daemon.get(path + "x").json["gap"])
        self.assertEqual(len(self.daemon.get("/v1/events?after=0&limit=1").json["data"]), 1)
        for query, param in [("after=-1", "after"), ("after=x", "after"), ("limit=0", "limit"),
                             ("limit=1e3", "limit"), ("after=9223372036854775808", "after")]:
            answer = self.daemon.get("/v1/events?" + query)
            self.assertEqual((answer.status, answer.error["param"]), (400, param), query)

    def test_metrics(self):
        self.daemon.post("/v1/chat/completions", question())
        text = self.daemon.get("/metrics").text
        values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
        self.assertGreaterEqual(
            float(values['cascaded_requests_total{code="ok",finish_reason="stop"}']), 1)
        self.assertIn("cascaded_time_to_first_token_seconds_count", values)
        self.assertNotIn("France", text)

    def raw(self, data):
        """Sends the bytes unchanged; returns the status of the answer."""
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30) as connection:
            connection.sendall(data)
            answer = b""
            while b"\r\n\r\n" not in answer:
                more = connection.recv(4096)
                if not more:
                    break
                answer += more
        return int(answer.split(b" ")[1]) if answer else None

    def test_bytes_that_a_proxy_may_read_in_another_way_are_refused(self):
        post = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
        for head in [b"Content-Length: 2\r\nContent-Length: 3\r\n",
                     b"Content-Length: 2\r\nContent-Length: 2\r\n",
                     b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                     b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                     b"Content-Length: -1\r\n", b"Content-Length: 1e3\r\n",
                     b"Content-Length: 99999999999999999999\r\n", b"X: a\r\n b\r\n", b"X: a\n\r\n",
                     b"X : a\r\n", b"X: \x00\r\n", b"Host: other\r\n"]:
            self.assertEqual(self.raw(post + head + b"\r\n{}"), 400, head)
        self.assertEqual(self.raw(post + b"Transfer-Encoding: gzip\r\n\r\n"), 501)
        self.assertEqual(self.raw(post + b"Transfer-Encoding: gzip, chunked\r\n\r\n"), 501)
        self.assertEqual(self.raw(post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n"), 400)
        absolute = b"GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        self.assertEqual(self.raw(absolute), 400)
        self.assertEqual(self.raw(b"nonsense\r\n\r\n"), 400)
        self.assertEqual(self.raw(b"GET /health HTTP/1.1\r\nX: " + b"a" * 20_000), 431)
        body = b"Content-Length: %d\r\n\r\n" % (17 << 20)
        self.assertEqual(self.raw(post + body), 413)
        # A client that sends everything before it reads also gets the answer.
        body = b"Content-Length: %d\r\n\r\n" % (40 << 20)
        self.assertEqual(self.raw(post + body + b"a" * (40 << 20)), 413)
        chunks = b'd\r\n{"content":"a\r\n2\r\n"}\r\n0\r\n\r\n'
        self.assertEqual(self.raw(post + b"Transfer-Encoding: chunked\r\n\r\n" + chunks), 200)

    def test_requests_on_one_connection_in_one_piece(self):
        both = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
        with socket.create_connection(("127.0.0.1", self.daemon.port), timeout=30) as connection:
            connection.sendall(both)
            answer = b""
            while answer.count(b'{"status":"ok"}') < 2:
                more = connection.recv(4096)
                self.assertTrue(more)
                answer += more


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="cascade-http-")
        cls.local = make_key(cls.folder, "local")
        cls.alice = make_key(cls.folder, "alice")
        cls.bob = make_key(cls.folder, "bob")
        cls.daemon = Daemon("--http-keys", cls.folder + "/keys", folder=cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()
        shutil.rmtree(cls.folder)

    def test_every_route_but_health_and_the_empty_page_needs_a_key(self):
        for method, path in ROUTES:
            for key in (None, "sk-cascade-wrong"):
                answer = self.daemon.ask(method, path, {} if method in ("POST", "PATCH") else None,
                                         key=key)
                if path.endswith("/health") or (method, path) in PAGE:
                    self.assertEqual(answer.status, 200)
                    continue
                self.assertEqual(answer.status, 401, path)
                self.assertEqual(answer.error["code"], "invalid_api_key")
        self.assertEqual(self.daemon.get("/v1/models", key=self.alice).status, 200)
        self.assertEqual(self.daemon.get("/v1/models", headers={"X-Api-Key": self.bob}).status, 200)

    def test_another_tenants_ids_are_not_found(self):
        response = self.daemon.post("/v1/responses", {"input": "Hi", "max_output_tokens": 4},
                                    key=self.alice).json["id"]
        chunk = self.daemon.post("/v1/chunks", {"text": "secret"}, key=self.alice).json["id"]
        output = "output_" + response.removeprefix("resp_")
        for key, status in ((self.bob, 404), (self.local, 404)):
            for method, path, body in [
                    ("GET", "/v1/responses/" + response, None),
                    ("GET", "/v1/responses/" + output, None),
                    ("GET", "/v1/responses/" + response + "/input_items", None),
                    ("DELETE", "/v1/responses/" + response, None),
                    ("POST", "/v1/responses", {"input": "x", "previous_response_id": response}),
                    ("GET", "/v1/chunks/" + chunk, None), ("GET", "/v1/chunks/" + output, None),
                    ("PATCH", "/v1/chunks/" + chunk, {"pinned": True}),
                    ("DELETE", "/v1/chunks/" + chunk, None),
                    ("DELETE", "/v1/chunks/" + output, None)]:
                answer = self.daemon.ask(method, path, body, key=key)
                self.assertEqual(answer.status, status, (method, path, answer.text))
            listed = self.daemon.get("/v1/chunks", key=key).json["data"]
            self.assertNotIn(chunk, [c["id"] for c in listed])
        self.assertEqual(self.daemon.get("/v1/chunks/" + chunk, key=self.alice).status, 200)
        self.assertEqual(self.daemon.get("/v1/responses/" + response, key=self.alice).status, 200)

    def test_a_tenant_is_told_of_its_own_only(self):
        for key, text in ((self.alice, "alice's"), (self.bob, "bob's")):
            self.daemon.post("/v1/chunks", {"text": text}, key=key)
        self.daemon.post("/v1/chat/completions", question(), key=self.bob)
        told = self.daemon.get("/v1/status", key=self.alice).json
        self.assertEqual(told["tenant"], "alice")
        self.assertEqual({g["tenant"] for g in told["stats"]["groups"]}, {"alice"})
        self.assertEqual(sorted(told["stats"]),
                         ["chunks_max", "groups", "pages_of_tenant", "text_bytes_max"])
        self.assertEqual(sorted(told["status"]), [
            "boot_id", "context_tokens_max", "kv_type", "model", "model_type", "state", "version",
            "weight_type"])
        kinds = {e["kind"] for e in self.daemon.get("/v1/events", key=self.alice).json["data"]}
        self.assertNotIn("request_finished", kinds)
        theirs = self.daemon.get("/v1/events", key=self.bob).json["data"]
        self.assertIn("request_finished", {e["kind"] for e in theirs})
        whole = self.daemon.get("/v1/status", key=self.local).json
        self.assertIn("cache", whole["stats"])
        self.assertLessEqual({"alice", "bob"}, {g["tenant"] for g in whole["stats"]["groups"]})

    def test_metrics_are_for_the_owner(self):
        self.assertEqual(self.daemon.get("/metrics", key=self.alice).status, 403)
        self.assertEqual(self.daemon.get("/metrics", key=self.local).status, 200)


if __name__ == "__main__":
    unittest.main()
