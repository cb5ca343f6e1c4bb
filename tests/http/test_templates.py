"""Chat templates: several of one model, damaged ones, one from the operator, calls in them."""
import json
import pathlib
import shutil
import tempfile
import unittest

from daemon import SOURCE, Daemon, question

CHAT = "/v1/chat/completions"
TURNS = ("{% for m in messages %}<|im_start|>{{ m.role }}\n"
         "{% for c in m.tool_calls or [] %}CALL{% endfor %}{{ m.content }}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
# Like Mistral's: ids of nine letters and digits. Like Qwen3-Coder's: a walk over the arguments.
STRICT = TURNS.replace(
    "CALL", "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}"
            "{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};{% endfor %}")
TOOL = {"type": "function", "function": {
    "name": "find", "parameters": {"type": "object", "properties": {"place": {"enum": ["here"]}},
                                   "required": ["place"], "additionalProperties": False}}}


def model_with(folder, template):
    """A copy of the demo model."""
    model = pathlib.Path(folder) / "other"
    shutil.copytree(SOURCE / "models/demo", model)
    path = model / "tokenizer_config.json"
    path.write_text(json.dumps(dict(json.loads(path.read_text()), chat_template=template)))
    return model


class TemplatesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_what_the_daemon_gives_out_it_takes_back(self):
        file = self.folder / "strict.jinja"
        file.write_text(STRICT)
        with Daemon("--chat-template", str(file)) as daemon:
            asked = question(tools=[TOOL], tool_choice="required", max_tokens=60,
                             reasoning_effort="none")
            message = daemon.post(CHAT, asked).json["choices"][0]["message"]
            call = message["tool_calls"][0]
            self.assertRegex(call["id"], r"^[0-9A-Za-z]{9}$")
            result = {"role": "tool", "tool_call_id": call["id"], "content": "done"}
            asked["messages"] += [message, result]
            asked["tool_choice"] = "auto"
            self.assertEqual(daemon.post(CHAT, asked).status, 200)
            # Ids of other servers, and calls that a model has damaged, do not end a conversation.
            for damaged in ('{"place": ', "[1]", "", "no"):
                call["id"] = result["tool_call_id"] = "call_0123456789abcdef"
                call["function"]["arguments"] = damaged
                answer = daemon.post("/apply-template", asked)
                self.assertEqual(answer.status, 200, answer.text)
                shown = f"arguments={damaged};" if damaged else "assistant\n"
                self.assertIn(shown, answer.json["prompt"])

    def test_a_model_whose_template_is_damaged_answers_raw_prompts(self):
        with Daemon(model=model_with(self.folder, "{% include 'x' %}")) as daemon:
            daemon.wait_for_log("the chat template \"default\" cannot be used")
            raw = daemon.post("/v1/completions", {"prompt": "The capital", "max_tokens": 2})
            self.assertEqual(raw.status, 200)
            refused = daemon.post(CHAT, question(model="other"))
            self.assertEqual((refused.status, refused.error["param"]), (400, "chat_template"))
            self.assertIn("--chat-template FILE", refused.error["message"])

    def test_requests_with_tools_have_the_template_for_them(self):
        named = [{"name": "default", "template": "plain " + TURNS},
                 {"name": "tool_use", "template": "with {{ tools | length }} " + TURNS}]
        with Daemon(model=model_with(self.folder, named)) as daemon:
            asked = {"messages": [{"role": "user", "content": "Hi"}]}
            plain = daemon.post("/apply-template", asked).json["prompt"]
            self.assertTrue(plain.startswith("plain "))
            asked["tools"] = [TOOL]
            for_tools = daemon.post("/apply-template", asked).json["prompt"]
            self.assertTrue(for_tools.startswith("with 1 "))
            self.assertEqual(daemon.post(CHAT, dict(asked, max_tokens=2)).status, 200)


if __name__ == "__main__":
    unittest.main()
