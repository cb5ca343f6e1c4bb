"""Bodies of HTTP requests, and schemas of answers."""

import json

HI = [{"role": "user", "content": "Hi"}]


def body(**members):
    return json.dumps(members, separators=(",", ":"))


def chat(**members):
    return body(messages=HI, **members)


def tool(name="weather", **parameters):
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def schema_format(schema):
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}}


def accepted_bodies():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    conversation = [{"role": "developer", "content": "Be brief."},
                    {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
                    {"role": "assistant", "content": None, "tool_calls": [call],
                     "reasoning_content": "Hm"},
                    {"role": "tool", "tool_call_id": "c", "content": "1"}]
    sampling = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "min_p": 0.1, "seed": -1,
                "presence_penalty": 1, "frequency_penalty": -1, "logit_bias": {"5": -100},
                "stop": ["a", "b"], "max_tokens": 7, "logprobs": True, "top_logprobs": 3,
                "stream": True, "stream_options": {"include_usage": True}}
    items = [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
             {"type": "reasoning", "id": "rs", "summary": [{"type": "x", "text": "Hm"}]},
             {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
             {"type": "function_call_output", "call_id": "c", "output": "1"}]
    answer = '<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call> <tool_call>{</tool_call>'
    tagged = ('<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n'
              '</tool_call> '
              '<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>')
    harmony = ('<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary '
               'to=functions.f <|constrain|>json<|message|>{}<|call|>')
    others = ('<|tool_call>call:f{a:<|"|>1<|"|>,b:[2,{c:null}]}<tool_call|>'
              '[TOOL_CALLS]f[ARGS]{"a":1}[TOOL_CALLS]f[CALL_ID]c[ARGS]{}[TOOL_CALLS][{"name":"f"}]'
              '<function_calls>f(a="1", b=[True, None])\nf()</function_calls>'
              "<|tool_call_start|>[f(a='1'), f()]<|tool_call_end|>"
              '<|tool_call|>[{"name":"f","arguments":{}}]<|python_tag|>f.call(a="1")')
    return {
        "ok-response-of-other-calls": body(input=others),
        "ok-response-of-tagged-calls": body(input=tagged),
        "ok-response-of-messages": body(input=harmony),
        "ok-conversation": body(messages=conversation, **sampling),
        "ok-tools": chat(tools=[tool(type="object", properties={"a": {"type": "string"}})],
                         tool_choice="required", parallel_tool_calls=False),
        "ok-format": chat(response_format=schema_format({"type": "object"})),
        "ok-thinking": chat(chat_template_kwargs={"enable_thinking": False},
                            reasoning_effort="none", cache_control={"type": "ephemeral"}),
        "ok-attention": chat(attention="window:4096:64"),
        "ok-completion": body(prompt="Once", max_tokens=4, logprobs=2, echo=False, n=1),
        "ok-response": body(input=items, instructions="Be brief.", store=True,
                            metadata={"a": "b"}, reasoning={"effort": "low"}, top_logprobs=2,
                            text={"format": {"type": "json_object"}}),
        "ok-response-of-calls": body(input=answer, tools=[
            {"type": "function", "name": "f", "parameters": {"type": "object"}}]),
        "ok-response-of-strings-that-never-end": body(input='<tool_call>\\"</tool_call>' * 1000),
        "ok-response-of-1200-calls": body(input=[
            {"type": "function_call", "call_id": "c", "name": "f"}] * 1200 + items[3:],
            store=False),
        "ok-tokens": body(tokens=[1, 2, 2147483647], content="x", with_pieces=True),
        "ok-chunk": body(type="context", text="x", name="n", pinned=True, ttl_ms=1, priority=5),
        # This is not our data, but any client may have kept it with an output.
        "kept-with-an-output": body(input="x", items=[
            {"type": "message", "id": "m", "role": "user", "content": [{"text": "Hi"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
            echo={"id": "e"}, previous="resp_1", tools=True, parallel=False),
    }


def kept(**members):
    return body(**{"items": [], "echo": {}, **members})


def openai():
    many = {f"k{i}": 0 for i in range(1100)}
    return accepted_bodies() | {
        "empty": "",
        "no-object": "[1]",
        "nul-behind-object": '{"prompt":"x"}\0{',
        "no-utf8": b'{"prompt":"\xff"}',
        "surrogate-alone": '{"prompt":"\\ud800"}',
        "arrays-20000-deep": "[" * 20_000,
        "objects-65-deep": '{"a":' * 65 + "1" + "}" * 65,
        "number-1e999": '{"messages":[{"role":"user","content":"x"}],"temperature":1e999}',
        "number-of-4000-digits": '{"prompt":"x","max_tokens":' + "9" * 4000 + "}",
        "max-tokens-negative": chat(max_tokens=-2),
        "max-tokens-a-fraction": chat(max_tokens=1.5),
        "max-tokens-a-text": chat(max_tokens="5"),
        "members-1100": body(messages=HI, **many),
        "messages-empty": body(messages=[]),
        "message-is-a-text": body(messages=["Hi"]),
        "role-unknown": body(messages=[{"role": "root", "content": "Hi"}]),
        "content-is-an-image": body(messages=[{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]),
        "call-without-function": body(messages=[{"role": "assistant", "tool_calls": [1]}]),
        "logit-bias-negative": chat(logit_bias={"-1": 1}),
        "logit-bias-2-32": chat(logit_bias={"4294967296": 1}),
        "stop-of-5000": chat(stop=["x"] * 5000),
        "top-logprobs-2-31": chat(logprobs=True, top_logprobs=1 << 31),
        "tool-without-name": chat(tools=[{"type": "function", "function": {}}]),
        "tools-1025": chat(tools=[tool(f"t{i}") for i in range(1025)]),
        "choice-of-no-tool": chat(tools=[tool()], tool_choice={
            "type": "function", "function": {"name": "other"}}),
        "format-unknown": chat(response_format={"type": "regex"}),
        "input-item-is-null": body(input=[None]),
        "input-type-unknown": body(input=[{"type": "image_generation_call"}]),
        "metadata-of-numbers": body(input="x", metadata={"a": 1}),
        "tokens-negative": body(tokens=[-1]),
        "tokens-1e300": body(tokens=[1e300]),
        "tokens-2-64": '{"tokens":[18446744073709551615]}',
        "kept-items-are-numbers": kept(items=[1, None, "x"]),
        "kept-previous-is-a-number": kept(previous=5),
        "kept-tools-is-a-text": kept(tools="x", parallel=1),
        "kept-content-is-a-text": kept(items=[{"role": "user", "content": "x"}]),
        "kept-content-is-an-object": kept(items=[{"role": "assistant", "content": {"text": 1}}]),
        "kept-parts-are-numbers": kept(items=[{"type": "reasoning", "content": [1, {"text": 2}]}]),
        "kept-call-of-numbers": kept(items=[
            {"type": "function_call", "call_id": 1, "name": 2, "arguments": 3}]),
        "kept-output-is-a-number": kept(items=[{"type": "function_call_output", "output": 1}]),
        "kept-type-is-a-number": kept(items=[{"type": 1, "id": 2, "role": 3}]),
    }


def part(value):
    """An input that the target reads as parts and not as a schema."""
    return "parts " + json.dumps(value, ensure_ascii=False)


def doubling_definitions(count):
    """Each schema refers twice to the next: written out, they are 2^count schemas."""
    definitions = {f"d{i}": {"type": "object", "properties": {
        "a": {"$ref": f"#/$defs/d{i + 1}"}, "b": {"$ref": f"#/$defs/d{i + 1}"}},
        "additionalProperties": False} for i in range(count)}
    definitions[f"d{count}"] = {"type": "null"}
    return json.dumps({"$ref": "#/$defs/d0", "$defs": definitions})


def accepted_schemas():
    person = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
              "properties": {"name": {"type": "string", "maxLength": 20},
                             "age": {"type": "integer", "minimum": 0, "maximum": 150},
                             "tags": {"type": "array", "items": {"enum": ["a", "b", 1, None]},
                                      "minItems": 1, "maxItems": 3}}}
    tree = {"type": "object", "properties": {"children": {
        "type": "array", "items": {"$ref": "#"}}}}
    parts = {"sequence": [{"text": "<a>"}, {"repeat": {"pattern": "^[a-c]+$"}, "min": 1, "max": 3,
                                            "separator": ", "},
                          {"any_of": [{"json_schema": {"type": "boolean"}}, {"text": "no"}]}]}
    return {
        "ok-person": json.dumps(person),
        "ok-person-with-choices": json.dumps(person).encode() + b"\0" + bytes(range(0, 250, 7)),
        "ok-tree": json.dumps(tree).encode() + b"\0" + bytes([5, 200, 13, 0, 99, 7] * 9),
        "ok-anything": "{}\0abcdefghijklmnop",
        "ok-parts": part(parts) + "\0zyxw",
        "ok-combined": json.dumps({"anyOf": [
            {"allOf": [{"type": "number", "minimum": -1.5}, {"maximum": 1e3}]},
            {"oneOf": [{"const": [1, {"a": "b"}]}, {"type": "null"}]}]}) + "\0qwerty",
        "ok-formats": json.dumps({"type": "array", "prefixItems": [
            {"type": "string", "format": name} for name in ("date-time", "uuid", "email", "ipv4")
        ]}) + "\x00" + "k" * 60,
        "ok-pattern": json.dumps({"type": "string",
                                  "pattern": "^(\\+?[0-9]{1,3}|[\\u00e9x]\\\\.)*$"}) + "\0a",
        "ok-pattern-catastrophic-elsewhere": json.dumps(
            {"type": "string", "pattern": "^(a+)+$|^(a|aa)*b$"}) + "\0" + "\1" * 60,
        "ok-look-ahead": json.dumps({"type": "string", "pattern":
                                     "^(?=.*[0-9])(?!.*ab)(?:(?!x).)*\\b[\\p{L}\\P{Nd}]{1,3}$"}) +
                         "\0\1\5\2\7\3\1\4",
        "ok-format-and-patterns": json.dumps({"type": "string", "format": "email", "maxLength": 40,
            "allOf": [{"pattern": "@example\\.com$"}, {"pattern": "^[a-z]"}]}) + "\0" + "k" * 40,
        "ok-multiples": json.dumps({"type": "array", "prefixItems": [
            {"type": "number", "multipleOf": step, "minimum": -9, "exclusiveMaximum": 99}
            for step in (0.01, 2.5, 7, 64, 1e-5)]}) + "\0" + "\7" * 60,
        "ok-distinct-items": json.dumps({"uniqueItems": True, "minItems": 1, "items": {
            "enum": ["a", 1, None, {"a": 1, "b": 2}]}}) + "\0\1\2\1\2\1",
        "ok-names-of-properties": json.dumps({
            "type": "object", "propertyNames": {"anyOf": [{"maxLength": 2}, {"enum": ["abc"]}]},
            "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}},
            "additionalProperties": {"type": "null"}, "minProperties": 1, "maxProperties": 3,
        }) + "\0" + "\2\1\7\4" * 15,
        "ok-names-that-are-listed": json.dumps({
            "propertyNames": {"enum": ["a", "b", 3]}, "additionalProperties": True,
            "required": ["b"], "minProperties": 2}) + "\0" + "\1\2" * 20,
        "ok-denials": json.dumps({"not": {"anyOf": [
            {"type": "string", "pattern": "^x"}, {"enum": [1, 2.5, None, "y"]},
            {"required": ["a", "b"]}, {"not": {"not": {"type": "array"}}}]},
            "properties": {"a": {"not": {}}}}) + "\0" + "\3\1\4\1\5\7" * 9,
        "ok-one-of-that-overlaps": json.dumps({"type": "object", "properties": {
            "a": {"type": "integer"}, "b": {"type": "null"}}, "oneOf": [
                {"required": ["a"]}, {"required": ["b"]},
                {"properties": {"a": {"const": 3}}, "required": ["a", "b"]}]}) + "\0\1\1\2",
        "ok-definitions-doubling": doubling_definitions(6) + "\0\3\1\4\1\5",
    }


def grammar():
    def pattern(text):
        return json.dumps({"type": "string", "pattern": text})

    return accepted_schemas() | {
        "empty": "",
        "schema-is-a-number": "1",
        "nothing-holds": "false",
        "ref-to-itself": json.dumps({"$ref": "#"}),
        "refs-in-a-ring": json.dumps({"$ref": "#/$defs/a", "$defs": {
            "a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
        "ref-to-nowhere": json.dumps({"$ref": "#/$defs/none"}),
        "ref-to-the-network": json.dumps({"$ref": "http://localhost/x.json"}),
        "ref-that-needs-itself": json.dumps({"type": "object", "required": ["a"],
                                             "properties": {"a": {"$ref": "#"}}}),
        "all-of-doubling-2-30": json.dumps({"$ref": "#/$defs/d0", "$defs": {
            f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}],
                      "allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(30)}}),
        "any-ofs-multiplied": json.dumps({"allOf": [
            {"anyOf": [{"required": [f"{i}{j}"]} for j in range(9)]} for i in range(9)]}),
        "schemas-100-deep": '{"items":' * 100 + "{}" + "}" * 100,
        "not-itself": json.dumps({"not": {"$ref": "#"}}),
        "not-what-cannot-be-denied": json.dumps({"not": {"items": {"type": "null"}}}),
        "denials-multiplied": json.dumps({"allOf": [
            {"not": {"required": [f"a{i}", f"b{i}", f"c{i}"]}} for i in range(60)]}),
        "alternatives-that-all-overlap": json.dumps({"oneOf": [
            {"required": [f"a{i}"]} for i in range(300)]}),
        "distinct-items-of-any-kind": json.dumps({"uniqueItems": True, "items": True}),
        "distinct-items-too-many": json.dumps({"uniqueItems": True, "minItems": 200,
                                               "items": {"enum": list(range(250))}}),
        "multiple-of-zero": json.dumps({"multipleOf": 0}),
        "multiple-of-a-prime": json.dumps({"type": "integer", "multipleOf": 999983}),
        "multiples-multiplied": json.dumps({"allOf": [
            {"multipleOf": step} for step in (7, 11, 13, 1e-9, 17)]}),
        "patterns-multiplied": json.dumps({"allOf": [
            {"pattern": f"^(a{{{n}}})+b?$"} for n in (29, 31, 37, 41, 43)], "type": "string"}),
        "patterns-of-names-overlapping": json.dumps({"patternProperties": {
            letter: True for letter in "abcdefghij"}}),
        "ok-pattern-look-aheads-repeated": pattern("^(?:(?=.*a.{0,99}b)(?!.*c.{0,99}d)[a-d])*$"),
        "ok-pattern-look-aheads-40-deep": pattern("(?!.*b" * 40 + "a" + ")" * 40),
        "pattern-property-unknown": pattern("\\p{Nothing=Nothing}"),
        "pattern-property-open": pattern("\\p{L"),
        "pattern-of-a-million-states": pattern("^(a|b)*a(a|b){20}$"),
        "pattern-repeats-multiplied": pattern("((((a{1,99}){1,99}){1,99}){1,99}){1,99}"),
        "pattern-repeats-2-31": pattern("a{2147483648}"),
        "pattern-repeats-reversed": pattern("a{3,2}"),
        "pattern-open": pattern("("),
        "pattern-parentheses-10000-deep": pattern("(" * 10_000 + ")" * 10_000),
        "pattern-backreference": pattern("(a)\\1"),
        "pattern-lookbehind": pattern("(?<=a)b"),
        "pattern-ends-in-backslash": pattern("a\\"),
        "pattern-range-reversed": pattern("[z-a]"),
        "ok-min-length-1e9": json.dumps({"type": "string", "minLength": 1_000_000_000}),
        "ok-max-length-2-64": '{"type":"string","maxLength":18446744073709551616}',
        "ok-min-items-1e9": json.dumps({"type": "array", "minItems": 1_000_000_000}),
        "min-items-negative": json.dumps({"type": "array", "minItems": -1}),
        "minimum-1e308": '{"type":"integer","minimum":1e308}',
        "minimum-above-maximum": json.dumps({"type": "integer", "minimum": 2, "maximum": 1}),
        "ok-multiple-of": json.dumps({"type": "integer", "multipleOf": 3}),
        "enum-empty": json.dumps({"enum": []}),
        "type-unknown": json.dumps({"type": "date"}),
        "ok-required-of-1100": json.dumps({"type": "object",
                                        "required": [f"k{i}" for i in range(1100)]}),
        "parts-repeat-2-32": part({"repeat": {"text": "a"}, "min": 4294967296}),
        "ok-parts-repeats-multiplied": part({"repeat": {"repeat": {"repeat": {
            "text": "abcdefgh"}, "min": 4000000}, "min": 4000000}, "min": 4000000}),
        "parts-name-cut-in-a-character": part({"x" * 19 + "\u00e9": 1}),
        "schema-name-cut-in-a-character": json.dumps(
            {"properties": {"x" * 199 + "\u00e9": 1}}, ensure_ascii=False),
        "ok-schema-keyword-cut-in-a-character": json.dumps(
            {"x" * 199 + "\u00e9": 1}, ensure_ascii=False),
        "parts-text-empty": part({"text": ""}),
        "parts-60-deep": "parts " + '{"sequence":[' * 60 + '{"text":1}' + "]}" * 60,
    }
