"""Answers in a requested form: schemas, and calls of tools."""
import json
import unittest

from daemon import Daemon, question


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__()

    def test_an_answer_has_the_form_that_was_asked_for(self):
        schema = {"type": "object", "required": ["city", "people"], "additionalProperties": False,
                  "properties": {"city": {"enum": ["Paris", "Rome"]},
                                 "people": {"type": "integer", "minimum": 0, "maximum": 9}}}
        chat, prompt = "/v1/chat/completions", "Which city, and how many people?"
        for stream in (False, True):
            for seed in range(5):
                asked = question(prompt, stream=stream, temperature=1, seed=seed, max_tokens=200,
                                 response_format={"type": "json_schema", "json_schema": {
                                     "name": "n", "schema": schema}})
                text = self.daemon.post(chat, asked).content()
                found = json.loads(text)
                self.assertEqual(sorted(found), ["city", "people"])
                self.assertIn(found["city"], ("Paris", "Rome"))
                self.assertIn(found["people"], range(10))
        # Any object is allowed: a model of this size may continue until it is cut.
        asked = question(prompt, max_tokens=400, response_format={"type": "json_object"},
                         chat_template_kwargs={"enable_thinking": False})
        answer = self.daemon.post(chat, asked)
        self.assertTrue(answer.content().startswith("{"), answer.text)
        if answer.json["choices"][0]["finish_reason"] == "stop":
            self.assertIsInstance(json.loads(answer.content()), dict)
        answer = self.daemon.post("/v1/responses", {
            "input": prompt, "text": {"format": {"type": "json_schema", "name": "n",
                                                 "schema": schema}}}).json
        texts = [part["text"] for item in answer["output"] if item["type"] == "message"
                 for part in item["content"]]
        self.assertEqual(sorted(json.loads(texts[0])), ["city", "people"])

    def test_a_demanded_tool_is_called(self):
        tools = [{"type": "function", "function": {"name": name, "parameters": {
            "type": "object", "required": ["city"], "additionalProperties": False,
            "properties": {"city": {"type": "string", "maxLength": 12}}}}}
            for name in ("weather", "time")]
        chat = "/v1/chat/completions"
        named = {"type": "function", "function": {"name": "time"}}
        for choice, names in [("required", {"weather", "time"}), (named, {"time"})]:
            asked = question("Weather in Rome?", tools=tools, tool_choice=choice, max_tokens=300,
                             parallel_tool_calls=False)
            choice = self.daemon.post(chat, asked).json["choices"][0]
            self.assertEqual(choice["finish_reason"], "tool_calls")
            self.assertIsNone(choice["message"]["content"])
            [call] = choice["message"]["tool_calls"]
            self.assertIn(call["function"]["name"], names)
            self.assertEqual(list(json.loads(call["function"]["arguments"])), ["city"])
            streamed = self.daemon.post(chat, dict(asked, stream=True))
            deltas = [d["choices"][0]["delta"] for _, d in streamed.events() if d != "[DONE]"]
            parts = [c for delta in deltas for c in delta.get("tool_calls", [])]
            self.assertEqual("".join(c["function"].get("arguments", "") for c in parts),
                             call["function"]["arguments"])
            self.assertEqual(parts[0]["function"]["name"], call["function"]["name"])

    def test_one_of_many_tools_is_called(self):
        properties = {"a_name_of_some_length_%d" % i: {"type": "string", "maxLength": 5}
                      for i in range(6)}
        tools = [{"type": "function", "function": {"name": "tool_%d" % i, "parameters": {
            "type": "object", "properties": properties, "additionalProperties": False}}}
            for i in range(30)]
        asked = question("Which?", tools=tools, tool_choice="required", max_tokens=300,
                         parallel_tool_calls=False)
        [call] = self.daemon.post("/v1/chat/completions", asked).json["choices"][0]["message"][
            "tool_calls"]
        self.assertIn(call["function"]["name"], ["tool_%d" % i for i in range(30)])
        self.assertLessEqual(set(json.loads(call["function"]["arguments"])), set(properties))

    def test_numbers_beyond_64_bits_are_taken_and_written(self):
        large = 123456789012345678901234567890
        for number in (2**64 - 1, large):
            tool = {"type": "function", "function": {"name": "f", "parameters": {
                "type": "object", "required": ["x"], "additionalProperties": False,
                "properties": {"x": {"type": "integer", "minimum": number, "maximum": number}}}}}
            asked = question("Which?", tools=[tool], tool_choice="required", max_tokens=200,
                             parallel_tool_calls=False)
            [call] = self.daemon.post("/v1/chat/completions", asked).json["choices"][0]["message"][
                "tool_calls"]
            self.assertEqual(json.loads(call["function"]["arguments"]), {"x": number})
        answer = self.daemon.post("/v1/responses", {
            "input": "Hi", "max_output_tokens": 2,
            "tools": [dict(tool["function"], type="function")]})
        self.assertEqual(answer.json["tools"][0]["parameters"], tool["function"]["parameters"])


if __name__ == "__main__":
    unittest.main()
