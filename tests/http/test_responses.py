"""Responses: conversations that the daemon remembers, over restarts too."""
import shutil
import tempfile
import unittest

from daemon import Daemon, wait_until

QUESTIONS = ["What is the capital of France?", "What city did we just discuss?",
             "Please repeat your last answer."]
SYSTEM = "You are a helpful assistant."


def asked(text, **more):
    return {"model": "demo", "input": text, "instructions": SYSTEM, "temperature": 0,
            "max_output_tokens": 60, **more}


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message"
                   for part in item["content"])


def wait_for_kv(daemon, response):
    """The K and V of a turn are made exact in idle time."""
    path = "/v1/chunks/output_" + response["id"].removeprefix("resp_")
    wait_until(lambda: daemon.get(path).json["kv_state"] == "ready", "the K and V of the turn")


class Responses(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cascade-http-")
        self.daemon = Daemon(folder=self.folder)

    def tearDown(self):
        self.daemon.__exit__()
        shutil.rmtree(self.folder)

    def respond(self, **body):
        answer = self.daemon.post("/v1/responses", body)
        self.assertEqual(answer.status, 200, answer.text)
        return answer.json

    def three_turns(self, restart):
        """Turns 2 and 3 compute only what is new."""
        previous = None
        for turn, text in enumerate(QUESTIONS):
            body = asked(text)
            if previous:
                body["previous_response_id"] = previous["id"]
            response = self.respond(**body)
            usage = response["usage"]
            if previous:
                # New are the question with its markup, and the last token's logits.
                own = self.daemon.post("/tokenize", {"content": text}).json["count"]
                new = usage["input_tokens"] - usage["input_tokens_details"]["cached_tokens"]
                self.assertLessEqual(new, own + 12, (turn, usage))
                self.assertEqual(response["timings"]["prompt_n"], new)
                # The same conversation by messages is the same prompt, and the same answer.
                chat = self.daemon.post("/v1/chat/completions", {
                    "messages": messages + [{"role": "user", "content": text}], "temperature": 0,
                    "max_tokens": 60}).json
                self.assertEqual(chat["usage"]["prompt_tokens"], usage["input_tokens"])
                self.assertEqual(chat["choices"][0]["message"]["content"], text_of(response))
            else:
                messages = [{"role": "system", "content": SYSTEM}]
            messages += [{"role": "user", "content": text},
                         {"role": "assistant", "content": text_of(response)}]
            wait_for_kv(self.daemon, response)
            previous = response
            if restart:
                self.assertEqual(self.daemon.stop(), 0)
                self.daemon = Daemon(folder=self.folder)

    def test_three_turns_compute_only_what_is_new(self):
        self.three_turns(restart=False)

    def test_three_turns_compute_only_what_is_new_over_restarts(self):
        self.three_turns(restart=True)

    def test_what_was_stored_comes_back_after_a_restart(self):
        first = self.respond(**asked("What is the capital of Kenya?", metadata={"a": "b"}))
        second = self.respond(**asked(
            [{"role": "user", "content": [{"type": "input_text", "text": "And"}]},
             {"type": "message", "role": "user", "content": "of Italy?"}],
            previous_response_id=first["id"]))
        self.assertEqual(self.daemon.stop(), 0)
        self.daemon = Daemon(folder=self.folder)
        again = self.daemon.get("/v1/responses/" + first["id"]).json
        self.assertEqual(again["output"], first["output"])
        self.assertEqual(again["metadata"], {"a": "b"})
        self.assertEqual(again["status"], first["status"])
        path = "/v1/responses/" + second["id"] + "/input_items"
        items = self.daemon.get(path + "?order=asc").json
        self.assertEqual([i["content"][0]["text"] for i in items["data"]], ["And", "of Italy?"])
        last = self.daemon.get(path + "?limit=1").json
        self.assertTrue(last["has_more"])
        rest = self.daemon.get(path + "?limit=1&after=" + last["last_id"]).json
        self.assertFalse(rest["has_more"])
        self.assertEqual(rest["data"][0]["content"][0]["text"], "And")
        self.assertEqual(self.daemon.get(path + "?limit=0").status, 400)
        self.assertEqual(self.daemon.get(path + "?after=x").status, 404)

    def test_equal_requests_are_two_responses(self):
        first, second = (self.respond(**asked("Hello")) for _ in range(2))
        self.assertEqual(text_of(first), text_of(second))
        self.assertNotEqual(first["id"], second["id"])
        self.assertTrue(self.daemon.ask("DELETE", "/v1/responses/" + first["id"]).json["deleted"])
        self.assertEqual(self.daemon.get("/v1/responses/" + first["id"]).status, 404)
        self.assertEqual(self.daemon.get("/v1/responses/" + second["id"]).status, 200)

    def test_a_conversation_without_one_of_its_turns_is_not_found(self):
        first = self.respond(**asked("Hello"))
        second = self.respond(**asked("Hello again", previous_response_id=first["id"]))
        self.daemon.ask("DELETE", "/v1/responses/" + first["id"])
        answer = self.daemon.post("/v1/responses", asked("x", previous_response_id=second["id"]))
        self.assertEqual((answer.status, answer.error["param"]), (404, "previous_response_id"))

    def test_a_conversation_goes_on_without_the_turns_that_are_gone_if_asked_to(self):
        first = self.respond(**asked("Hello"))
        second = self.respond(**asked("Hello again", previous_response_id=first["id"]))
        third = self.respond(**asked("And again", previous_response_id=second["id"]))
        self.assertEqual(self.daemon.ask("DELETE", "/v1/responses/" + second["id"]).status, 200)
        last = asked("x", previous_response_id=third["id"], on_missing="skip")
        without_second = self.respond(**last)
        missing = without_second["missing"]
        self.assertEqual([turn["id"] for turn in missing], [second["id"]])
        self.assertIn("there is no response", missing[0]["reason"])
        # The turn before it is still there.
        alone = self.respond(**asked("x"))["usage"]["input_tokens"]
        self.assertEqual(self.daemon.ask("DELETE", "/v1/responses/" + first["id"]).status, 200)
        without_both = self.respond(**last)
        self.assertEqual([turn["id"] for turn in without_both["missing"]],
                         [second["id"], first["id"]])
        self.assertGreater(without_second["usage"]["input_tokens"],
                           without_both["usage"]["input_tokens"])
        self.assertGreater(without_both["usage"]["input_tokens"], alone)
        *_, (_, end) = self.daemon.post("/v1/responses", {**last, "stream": True}).events()
        self.assertEqual(end["response"]["missing"], without_both["missing"])
        # The whole conversation is gone.
        self.assertEqual(self.daemon.ask("DELETE", "/v1/responses/" + third["id"]).status, 200)
        nothing = self.respond(**last)
        self.assertEqual([turn["id"] for turn in nothing["missing"]], [third["id"]])
        self.assertEqual(nothing["usage"]["input_tokens"], alone)

    def test_what_is_not_stored_is_not_found(self):
        response = self.respond(**asked("Hello", store=False))
        self.assertFalse(response["store"])
        for answer in (self.daemon.get("/v1/responses/" + response["id"]),
                       self.daemon.post("/v1/responses", asked(
                           "x", previous_response_id=response["id"]))):
            self.assertEqual(answer.status, 404)
            self.assertEqual(answer.error["type"], "invalid_request_error")

    def test_a_stream_says_what_the_whole_says(self):
        answer = self.daemon.post("/v1/responses", asked(QUESTIONS[0], stream=True))
        events = list(answer.events())
        names = [name for name, _ in events]
        self.assertEqual(names[:2], ["response.created", "response.in_progress"])
        self.assertEqual(names[-1], "response.completed")
        self.assertEqual([data["sequence_number"] for _, data in events], list(range(len(events))))
        self.assertTrue(all(name == data["type"] for name, data in events))
        done = events[-1][1]["response"]
        self.assertEqual(done["id"], events[0][1]["response"]["id"])
        deltas = "".join(d["delta"] for n, d in events if n == "response.output_text.delta")
        self.assertEqual(deltas, text_of(done))
        self.assertEqual(self.daemon.get("/v1/responses/" + done["id"]).json["output"],
                         done["output"])

    def test_input_that_is_wrong_names_its_param(self):
        for body, param in [
                ({}, "input"), ({"input": []}, "input"),
                ({"input": [{"type": "x"}]}, "input[0].type"),
                ({"input": [{"role": "user"}]}, "input[0].content"),
                ({"input": [{"type": "function_call_output"}]}, "input[0].call_id"),
                ({"input": "x", "metadata": {"a": 1}}, "metadata"),
                ({"input": "x", "previous_response_id": "resp_" + "0" * 32},
                 "previous_response_id"),
                ({"input": "y" * 300_000}, "input"),
                ({"input": "x", "text": {"format": {"type": "xml"}}}, "text.format.type")]:
            answer = self.daemon.post("/v1/responses", body)
            self.assertIn(answer.status, (400, 404), answer.text)
            self.assertEqual(answer.error["param"], param)


if __name__ == "__main__":
    unittest.main()
