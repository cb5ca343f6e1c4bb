#!/usr/bin/env python3
"""Writes jinja_cases.json: small templates and what Jinja2 itself makes of them.

Run with a Python that has jinja2 3.1:  python3 make_jinja_cases.py

In:  jinja_contexts.json     variables, by name
     jinja_expressions.txt   one expression per line, over the variables "values"
     jinja_templates.jsonl   [name of the variables, template] per line
Out: jinja_cases.json        {"contexts", "cases": [{"template", "context", "output"}]}; a template
                             that fails has "error": true instead of "output", and "message" if it
                             raised its own

The environment is that of Hugging Face's apply_chat_template, with the clock fixed.
"""
import copy
import datetime
import itertools
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

FOLDER = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(jinja2.ext.Extension):
    """{% generation %} prints its block, in its own scope."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_support")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _support(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def make_environment():
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = NOW.strftime
    return environment


def cased_letters():
    """Every letter that some case mapping changes."""
    letters = (chr(c) for c in range(0x20000) if not 0xD800 <= c < 0xE000)
    return "".join(c for c in letters
                   if c.isalpha() and {c.lower(), c.upper(), c.title()} != {c})


def whitespace_templates():
    """Every sign on both sides of a tag, in several surroundings."""
    for open_sign, close_sign in itertools.product(["", "-", "+"], repeat=2):
        for before in ["x\n  ", "x  ", "  ", "\n\n "]:
            for after in ["\n  y", "  \n y", " y", "\n\n\ny\n"]:
                yield f"{before}{{%{open_sign} if true {close_sign}%}}{after}{{% endif %}}"
                yield f"{before}{{#{open_sign} c {close_sign}#}}{after}"
                if close_sign != "+":
                    yield f"{before}{{{{{open_sign} 1 {close_sign}}}}}{after}"
                    yield f"{before}{{%{open_sign} raw {close_sign}%}}{after}{{% endraw %}}"


def read_sources():
    """Pairs of the name of the variables and a template."""
    for line in (FOLDER / "jinja_expressions.txt").read_text().splitlines():
        yield "values", "{{ " + line + " }}"
    for line in (FOLDER / "jinja_templates.jsonl").read_text().splitlines():
        yield tuple(json.loads(line))
    for template in whitespace_templates():
        yield "none", template


def render(environment, template, name, context):
    case = {"template": template, "context": name}
    try:
        # A copy, because some filters change their subject.
        case["output"] = environment.from_string(template).render(**copy.deepcopy(context))
    except Exception as error:  # whatever the kind, our result must be an error, too
        case["error"] = True
        if type(error) is jinja2.exceptions.TemplateError:
            case["message"] = str(error)
    return case


def main():
    environment = make_environment()
    contexts = json.loads((FOLDER / "jinja_contexts.json").read_text())
    contexts["letters"] = {"cased": cased_letters()}
    cases = [render(environment, template, name, contexts[name])
             for name, template in read_sources()]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (FOLDER / "jinja_cases.json").write_text(
        f'{{"contexts": {json.dumps(contexts)},\n"cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} cases, {sum('error' in case for case in cases)} of them errors")


if __name__ == "__main__":
    main()
