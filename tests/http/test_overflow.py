"""Prompts that do not fit, in the words of OpenAI's API; answers that are cut so that they fit."""
import re
import unittest

from daemon import Daemon, question

CONTEXT = 16_384


class Overflow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def overflows(self, daemon, path, body, param, room):
        answer = daemon.post(path, body)
        self.assertEqual(answer.status, 400, answer.text)
        error = answer.error
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertEqual(error["param"], param)
        # opencode, LangChain and others look for these words.
        self.assertRegex(error["message"], f"maximum context length is {room} tokens")
        self.assertRegex(error["message"], "[Rr]educe the length of the (messages|prompt)")
        return error

    def test_of_the_context_has_the_code_and_param_of_each_route(self):
        text = "word " * 20_000
        ids = [65] * CONTEXT
        for stream in (False, True):
            for path, body, param in [
                    ("/v1/chat/completions", question(text), "messages"),
                    ("/v1/completions", {"prompt": text}, "prompt"),
                    ("/v1/completions", {"prompt": ["short", text]}, "prompt"),
                    ("/v1/completions", {"prompt": ids}, "prompt"),
                    ("/v1/responses", {"input": text, "store": False}, "input"),
                    # This has more bytes than are tokenized at all.
                    ("/v1/chat/completions", question("x" * (3 << 20)), "messages"),
                    ("/v1/responses", {"input": "x" * (3 << 20), "store": False}, "input")]:
                if stream and body.get("prompt") == ["short", text]:
                    continue  # the answer to the first prompt may have begun
                error = self.overflows(self.daemon, path, dict(body, stream=stream), param, CONTEXT)
                self.assertTrue(re.search(r"your \w+ (has|have) \d+", error["message"]), error)

    def test_max_tokens_beyond_the_context_and_the_memory_are_cut(self):
        asked = question(max_tokens=100_000, ignore_eos=True)
        with Daemon("--kv-memory", "1M") as daemon:
            usage = daemon.post("/v1/chat/completions", asked)
            self.assertEqual(usage.status, 200, usage.text)
            self.assertEqual(usage.json["choices"][0]["finish_reason"], "length")
            total = usage.json["usage"]["total_tokens"]
            self.assertEqual(total % 64, 0)
            self.assertLess(total, 1000)
            # A prompt that does not fit is read from disk while it is computed.
            long = daemon.post("/v1/chat/completions", question("word " * 2000, max_tokens=2))
            self.assertEqual(long.status, 200, long.text)
        with Daemon("--kv-memory", "1M", "--state-dir", "") as daemon:  # it must fit
            self.overflows(daemon, "/v1/chat/completions", question("word " * 2000), "messages",
                           total)
            self.overflows(daemon, "/v1/responses", {"input": "word " * 2000, "store": False},
                           "input", total)

    def test_the_oldest_turns_are_left_out_if_the_request_says_so(self):
        def chat(turns, **more):
            asked = [message for turn in range(turns) for message in (
                {"role": "user", "content": f"What do you know about town {turn}?"},
                {"role": "assistant", "content": "It is a town."})]
            return {"messages": [{"role": "system", "content": "Be brief."}, *asked[:-1]],
                    "max_tokens": 8, "temperature": 0, **more}

        with Daemon("--kv-memory", "1M", "--state-dir", "") as daemon:
            path = "/v1/chat/completions"
            self.assertEqual(daemon.post(path, chat(60)).status, 400)
            whole = daemon.post(path, chat(2, on_overflow="drop_oldest")).json
            self.assertNotIn("left_out", whole)
            cut = daemon.post(path, chat(60, on_overflow="drop_oldest"))
            self.assertEqual(cut.status, 200, cut.text)
            left_out = cut.json["left_out"]
            self.assertEqual(left_out["steps"], 0)
            # The answer is that to the turns that stay.
            kept = chat(60)
            del kept["messages"][1:1 + 2 * left_out["turns"]]
            self.assertEqual(daemon.post(path, kept).content(), cut.content())
            # The next turn goes on from there.
            longer = daemon.post(path, chat(61, on_overflow="drop_oldest")).json
            self.assertEqual(longer["left_out"], left_out)
            self.assertLess(longer["timings"]["prompt_n"], 64)
            streamed = daemon.post(path, chat(60, on_overflow="drop_oldest", stream=True))
            ends = [data for _, data in streamed.events() if "left_out" in data]
            self.assertEqual([end["left_out"] for end in ends], [left_out])
            for wrong, field in (({"on_overflow": "forget"}, "on_overflow"),
                                 ({"prompt": "x", "on_overflow": "drop_oldest"}, "on_overflow")):
                route = "/v1/completions" if "prompt" in wrong else path
                answer = daemon.post(route, wrong if "prompt" in wrong else chat(2, **wrong))
                self.assertEqual((answer.status, answer.error["param"]), (400, field))

    def test_what_answers_the_question_is_brought_back(self):
        turns = [("The code of the red box is 4711.", "I see."),
                 *((f"Town {i} is old and lies at a long river.", "I see.") for i in range(60))]
        messages = [{"role": role, "content": text}
                    for turn in turns for role, text in zip(("user", "assistant"), turn)]
        messages.append({"role": "user", "content": "What is the code of the red box?"})
        body = {"messages": messages, "max_tokens": 8, "temperature": 0, "on_overflow": "retrieve"}
        with Daemon("--kv-memory", "2M", "--state-dir", "") as daemon:
            path = "/v1/chat/completions"
            answer = daemon.post(path, body).json
            self.assertGreater(answer["left_out"]["turns"], 0)
            self.assertIn("The code of the red box is 4711.", answer["retrieved_text"])
            self.assertEqual(answer["retrieved"][0]["id"], "")
            self.assertGreater(answer["retrieved"][0]["tokens"], 0)
            # The answer is that to the same text before the question.
            kept = messages[2 * answer["left_out"]["turns"]:-1]
            kept.append({"role": "user",
                         "content": answer["retrieved_text"] + messages[-1]["content"]})
            same = daemon.post(path, {**body, "messages": kept, "on_overflow": "error"})
            self.assertEqual(same.content(), answer["choices"][0]["message"]["content"])
            self.assertNotIn("retrieved", same.json)
            ends = [data for _, data in daemon.post(path, {**body, "stream": True}).events()
                    if "retrieved" in data]
            self.assertEqual([end["retrieved"] for end in ends], [answer["retrieved"]])

    def test_a_response_finds_turns_that_earlier_ones_left_out(self):
        with Daemon("--kv-memory", "2M", "--max-disk", "1M") as daemon:
            last = None
            asked = [f"{i}: What do you know about " + "the old town and " * 20
                     for i in range(14)]
            for text in ["The code of the red box is 4711.", *asked,
                         "What is the code of the red box?"]:
                body = {"input": text, "max_output_tokens": 8, "temperature": 0,
                        "on_overflow": "retrieve"}
                if last:
                    body["previous_response_id"] = last["id"]
                answer = daemon.post("/v1/responses", body)
                self.assertEqual(answer.status, 200, answer.text)
                last = answer.json
            self.assertIn("4711", last["retrieved_text"])
            self.assertEqual(last["truncation"], "auto")
            stored = daemon.get("/v1/responses/" + last["id"]).json
            self.assertEqual(stored["retrieved"], last["retrieved"])
            self.assertEqual(stored["left_out"], last["left_out"])

    def test_a_response_has_summaries_of_turns_that_it_leaves_out(self):
        with Daemon("--kv-memory", "2M", "--max-disk", "1M") as daemon:
            last = None
            for i in range(30):
                body = {"input": f"{i}: What do you know about " + "the old town and " * 20,
                        "max_output_tokens": 8, "temperature": 0, "on_overflow": "summarize"}
                if last:
                    body["previous_response_id"] = last["id"]
                answer = daemon.post("/v1/responses", body)
                self.assertEqual(answer.status, 200, answer.text)
                last = answer.json
                if "left_out" in last:
                    break
                if last["usage"]["input_tokens"] > 600:  # more than half of the room
                    self.wait_for_a_summary(daemon)
            self.assertEqual(last["summarised"]["turns"], last["left_out"]["turns"])
            summary = daemon.get("/v1/chunks/" + last["summarised"]["ids"][0]).json
            self.assertEqual(summary["type"], "SUMMARY")
            self.assertIn("parent_ids", summary)
            stored = daemon.get("/v1/responses/" + last["id"]).json
            self.assertEqual(stored["summarised"], last["summarised"])

    def wait_for_a_summary(self, daemon):
        """Asks again and again: it is written while nobody wants anything else."""
        for _ in range(20_000):
            if daemon.get("/v1/chunks?type=SUMMARY&limit=1").json["data"]:
                return
        self.fail("no summary was written")

    def test_a_response_is_truncated_if_it_says_auto(self):
        with Daemon("--kv-memory", "1M", "--state-dir", "") as daemon:
            text = "What do you know about " + "the old town and " * 20
            last, left_out = None, 0
            for turn in range(8):
                body = {"input": f"{turn}: {text}", "max_output_tokens": 8, "temperature": 0,
                        "truncation": "auto"}
                if last:
                    body["previous_response_id"] = last["id"]
                answer = daemon.post("/v1/responses", body)
                self.assertEqual(answer.status, 200, answer.text)
                last = answer.json
                self.assertEqual(last["truncation"], "auto")
                now = last.get("left_out", {"turns": 0})["turns"]
                self.assertGreaterEqual(now, left_out)
                left_out = now
            self.assertGreater(left_out, 0)
            body["truncation"] = "disabled"
            refused = daemon.post("/v1/responses", dict(body, previous_response_id=last["id"]))
            self.assertEqual(refused.error["code"], "context_length_exceeded")
            for stream in (False, True):
                again = daemon.post("/v1/responses", dict(
                    body, truncation="auto", previous_response_id=last["id"], stream=stream))
                reply = list(again.events())[-1][1]["response"] if stream else again.json
                self.assertGreater(reply["left_out"]["turns"], 0)
            stored = daemon.get("/v1/responses/" + last["id"]).json
            self.assertEqual((stored["truncation"], stored["left_out"]), ("auto", last["left_out"]))

    def test_other_errors_keep_their_codes(self):
        answer = self.daemon.post("/v1/chat/completions", question(temperature=-1))
        self.assertEqual((answer.error["code"], answer.error["param"]),
                         ("invalid_argument", "temperature"))
        answer = self.daemon.post("/tokenize", {"content": "x" * (3 << 20)})
        self.assertEqual((answer.error["code"], answer.error["param"]),
                         ("invalid_argument", "content"))


if __name__ == "__main__":
    unittest.main()
