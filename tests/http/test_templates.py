"""Chat templates: several of one model, damaged ones, one from the operator, calls in them."""
import json
import pathlib
import shutil
import tempfile
import unittest

from daemon import SOURCE, Daemon, question, wait_until

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


# Like gpt-oss's.
HARMONY = ("{% for m in messages %}{% if m.tool_calls %}{% set c = m.tool_calls[0].function %}"
           "<|start|>assistant to=functions.{{ c.name }}<|channel|>commentary json<|message|>"
           "{{ c.arguments | tojson }}<|call|>"
           "{% else %}<|start|>{{ m.role }}"
           "{% if m.role == 'assistant' %}<|channel|>final{% endif %}"
           "<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
           "{% if add_generation_prompt %}<|start|>assistant{% endif %}")
# The demo model's tokens, and what they are called in a model that writes harmony.
MARKS = {"<|endoftext|>": "<|return|>", "<|im_start|>": "<|start|>", "<|im_end|>": "<|end|>",
         "<think>": "<|channel|>", "</think>": "<|message|>", "<tool_response>": "<|constrain|>",
         "</tool_response>": "<|call|>"}

# Like Gemma 4's, with the name of a result's function.
GEMMA = ("{% for m in messages %}<|turn>{{ m.role }}\n{{ m.name or '' }}"
         "{% for c in m.tool_calls or [] %}<|tool_call>call:{{ c.function.name + '{' }}"
         "{% for k, v in c.function.arguments | items %}{{ k }}:<|\"|>{{ v }}<|\"|>{% endfor %}"
         "}<tool_call|>{% endfor %}{{ m.content }}<turn|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|turn>assistant\n{% endif %}")
GEMMA_MARKS = {"<|im_start|>": "<|turn>", "<|im_end|>": "<turn|>", "<think>": "<|channel>",
               "</think>": "<channel|>", "<tool_call>": "<|tool_call>",
               "</tool_call>": "<tool_call|>", "<tool_response>": "<|\"|>"}
# Like Ministral 3's.
MISTRAL = ("{% for m in messages %}[INST]{{ m.role }}{{ m.name or '' }}[/INST]{{ m.content }}"
           "{% for c in m.tool_calls or [] %}[TOOL_CALLS]{{ c.function.name }}[ARGS]"
           "{{ c.function.arguments | tojson }}{% endfor %}</s>{% endfor %}")
MISTRAL_MARKS = {"<|im_start|>": "[INST]", "<tool_response>": "[/INST]", "<|im_end|>": "</s>",
                 "<tool_call>": "[TOOL_CALLS]", "</tool_call>": "[ARGS]"}
# Like Qwen3-Coder's and GLM's, whose marks are text.
NAMED = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.name or '' }}{{ m.content }}"
         "{% for c in m.tool_calls or [] %}CALL{% endfor %}<|im_end|>\n{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
QWEN = NAMED.replace(
    "CALL", "<tool_call>\n<function={{ c.function.name }}>\n"
            "{% for k, v in c.function.arguments | items %}"
            "<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n</tool_call>")
GLM = NAMED.replace(
    "CALL", "<tool_call>{{ c.function.name }}\n"
            "{% for k, v in c.function.arguments | items %}"
            "<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}</tool_call>")


def model_with(folder, template):
    """A copy of the demo model."""
    model = pathlib.Path(folder) / "other"
    shutil.copytree(SOURCE / "models/demo", model)
    path = model / "tokenizer_config.json"
    path.write_text(json.dumps(dict(json.loads(path.read_text()), chat_template=template)))
    return model


def model_with_marks(folder, template, marks):
    """A copy whose special tokens have these names."""
    model = model_with(folder, template)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        path = model / name
        content = json.loads(path.read_text())
        tokens = content.get("added_tokens") or content["added_tokens_decoder"].values()
        for token in tokens:
            token["special"] = token["special"] or token["content"] in marks
            token["content"] = marks.get(token["content"], token["content"])
        path.write_text(json.dumps(content))
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

    def test_thoughts_that_the_template_opened_are_stored_whole(self):
        file = self.folder / "open.jinja"
        file.write_text(TURNS.replace("assistant\n{%", "assistant\n<think>\n{%"))
        with Daemon("--chat-template", str(file)) as daemon:
            for seed in range(3):
                made = daemon.post("/v1/responses", {"input": "Why?", "max_output_tokens": 12,
                                                     "temperature": 1, "seed": seed}).json
                stored = daemon.get("/v1/responses/" + made["id"]).json
                self.assertEqual(made["output"][0]["type"], "reasoning")
                self.assertEqual(stored["output"], made["output"])

    def test_the_effort_of_reasoning_reaches_the_template(self):
        file = self.folder / "effort.jinja"
        file.write_text("Reasoning: {{ reasoning_effort or 'unset' }}<|im_end|>\n" + TURNS)
        with Daemon("--chat-template", str(file)) as daemon:
            def shown(**more):
                answer = daemon.post("/apply-template", question(**more))
                return answer.json["prompt"].split("Reasoning: ")[1].split("<|im_end|>")[0]
            self.assertEqual(shown(), "unset")
            self.assertEqual(shown(reasoning_effort=None), "unset")
            for effort in ("none", "low", "xhigh"):
                self.assertEqual(shown(reasoning_effort=effort), effort)
            response = {"input": "Hi", "max_output_tokens": 2, "temperature": 0}
            for path, param, asked in (
                    (CHAT, "reasoning_effort", question(reasoning_effort="A lot")),
                    ("/v1/responses", "reasoning.effort",
                     dict(response, reasoning={"effort": "A lot"}))):
                refused = daemon.post(path, asked)
                self.assertEqual((refused.status, refused.error["param"]), (400, param))
                self.assertIn("1 to 32 characters", refused.error["message"])
            # Efforts of different lengths make prompts of different lengths.
            sizes = set()
            for effort in ("low", "a-very-long-name-of-an-effort"):
                prompt = daemon.post("/apply-template", question("Hi", reasoning_effort=effort))
                chat = daemon.post(CHAT, question("Hi", reasoning_effort=effort, max_tokens=2))
                made = daemon.post("/v1/responses", dict(response, reasoning={"effort": effort}))
                self.assertEqual(chat.json["usage"]["prompt_tokens"], prompt.json["count"])
                self.assertEqual(made.json["usage"]["input_tokens"], prompt.json["count"])
                self.assertEqual(made.json["reasoning"]["effort"], effort)
                sizes.add(prompt.json["count"])
            self.assertEqual(len(sizes), 2)

    def test_a_turn_with_the_same_effort_finds_the_answer_before_it(self):
        file = self.folder / "effort.jinja"
        file.write_text("{{ reasoning_effort or 'unset' }}<|im_end|>\n" + TURNS)
        with Daemon("--chat-template", str(file)) as daemon:
            asked = {"input": "What is the capital of France?", "temperature": 0,
                     "max_output_tokens": 30, "reasoning": {"effort": "low"}}
            first = daemon.post("/v1/responses", asked).json
            path = "/v1/chunks/output_" + first["id"].removeprefix("resp_")
            wait_until(lambda: daemon.get(path).json["kv_state"] == "ready", "the K and V")
            kept = daemon.get(path).json["kv_tokens"]
            self.assertGreater(kept, first["usage"]["input_tokens"])
            asked.update(input="Why?", previous_response_id=first["id"])
            second = daemon.post("/v1/responses", asked).json["usage"]
            self.assertEqual(second["input_tokens_details"]["cached_tokens"], kept)
            asked["reasoning"] = {"effort": "high"}
            third = daemon.post("/v1/responses", asked).json["usage"]
            self.assertEqual(third["input_tokens_details"]["cached_tokens"], 0)

    def test_a_model_that_writes_harmony_calls_and_goes_on(self):
        with Daemon(model=model_with_marks(self.folder, HARMONY, MARKS)) as daemon:
            calls = []
            for seed in range(12):  # thoughts may take all tokens
                asked = question(tools=[TOOL], tool_choice="required", max_tokens=200, seed=seed,
                                 store=True, model="other", temperature=1)
                choice = daemon.post(CHAT, asked).json["choices"][0]
                message = choice["message"]
                self.assertNotIn("<tool_call>", message["content"] or "")
                calls += [message] if message.get("tool_calls") else []
                self.assertEqual(choice["finish_reason"], "tool_calls" if calls else "length")
                if calls:
                    break
            self.assertEqual(calls[0]["tool_calls"][0]["function"],
                             {"name": "find", "arguments": '{"place":"here"}'})
            asked["messages"] += [calls[0], {"role": "tool", "content": "done",
                                             "tool_call_id": calls[0]["tool_calls"][0]["id"]}]
            prompt = daemon.post("/apply-template", asked).json["prompt"]
            self.assertIn('to=functions.find<|channel|>commentary json<|message|>{"place": "here"}',
                          prompt)
            made = daemon.post("/v1/responses", {"input": "Why?", "max_output_tokens": 40,
                                                 "temperature": 1, "seed": 1}).json
            stored = daemon.get("/v1/responses/" + made["id"]).json
            self.assertEqual(stored["output"], made["output"])

    def calls_and_goes_on(self, template, marks, written):
        """Demands calls, continues with their results, and finds them as the model wrote them."""
        with Daemon(model=model_with_marks(self.folder, template, marks)) as daemon:
            asked = question(tools=[TOOL], tool_choice="required", max_tokens=200, model="other",
                             temperature=1, seed=1, parallel_tool_calls=False)
            message = daemon.post(CHAT, asked).json["choices"][0]["message"]
            self.assertEqual(message["tool_calls"][0]["function"],
                             {"name": "find", "arguments": '{"place":"here"}'})
            self.assertFalse(message["content"])
            made = daemon.post("/v1/responses", {
                "input": asked["messages"][0]["content"], "tools": [dict(TOOL["function"],
                type="function")], "tool_choice": "required", "max_output_tokens": 200,
                "temperature": 1, "seed": 1, "parallel_tool_calls": False}).json
            call = made["output"][-1]
            self.assertEqual((call["type"], call["arguments"]), ("function_call",
                                                                 '{"place":"here"}'))
            self.assertEqual(daemon.get("/v1/responses/" + made["id"]).json["output"],
                             made["output"])
            asked["messages"] += [message, {"role": "tool", "content": "done",
                                            "tool_call_id": message["tool_calls"][0]["id"]}]
            prompt = daemon.post("/apply-template", asked).json
            self.assertIn(written, prompt["prompt"])
            self.assertIn("toolfind", prompt["prompt"].replace("\n", ""))
            result = {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}
            second = daemon.post("/v1/responses", {
                "input": [result], "previous_response_id": made["id"], "max_output_tokens": 2,
                "tools": [dict(TOOL["function"], type="function")]}).json
            self.assertEqual(second["usage"]["input_tokens"], prompt["count"])

    def test_a_model_that_writes_as_gemma_calls_and_goes_on(self):
        self.calls_and_goes_on(GEMMA, GEMMA_MARKS,
                               '<|tool_call>call:find{place:<|"|>here<|"|>}<tool_call|>')

    def test_a_model_that_writes_as_mistral_calls_and_goes_on(self):
        self.calls_and_goes_on(MISTRAL, MISTRAL_MARKS, '[TOOL_CALLS]find[ARGS]{"place": "here"}')

    def test_a_model_that_writes_as_qwen_calls_and_goes_on(self):
        self.calls_and_goes_on(QWEN, {}, "<tool_call>\n<function=find>\n<parameter=place>\nhere\n"
                                         "</parameter>\n</function>\n</tool_call>")

    def test_a_model_that_writes_as_glm_calls_and_goes_on(self):
        self.calls_and_goes_on(GLM, {}, "<tool_call>find\n<arg_key>place</arg_key>\n"
                                        "<arg_value>here</arg_value>\n</tool_call>")


if __name__ == "__main__":
    unittest.main()
