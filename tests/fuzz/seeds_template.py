"""Chat templates: some like those of models, and some that test the sandbox."""

CONTENTS = "{% for m in messages %}{{ m.content }}{% endfor %}"

CHATML = """{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""

THINKING = """{%- set ns = namespace(last_user=-1) -%}
{%- if reasoning_effort is defined %}Reasoning: {{ reasoning_effort }}
{% endif -%}
{%- for message in messages if message.role == 'user' -%}
    {%- set ns.last_user = loop.index0 -%}
{%- endfor -%}
{%- for message in messages %}
    {%- set content = message.content | trim -%}
    {%- if '</think>' in content -%}
        {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1] -%}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') -%}
    {%- elif message.reasoning_content is string -%}
        {%- set thoughts = message.reasoning_content -%}
    {%- endif -%}
    <|im_start|>{{ message.role }}
{% if thoughts is defined and loop.index0 > ns.last_user %}<think>
{{ thoughts }}
</think>
{% endif %}{{ content }}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is false %}<think>

</think>

{% endif %}{% endif -%}
"""

TOOLS = """{%- macro show(tool, depth=0) -%}
    {{- tool.function.name | upper ~ ': ' ~ (tool.function | tojson(indent=2)) -}}
{%- endmacro -%}
{%- if tools %}{% for tool in tools %}{{ show(tool) }}
{% endfor %}{% endif -%}
{%- for message in messages[1:] -%}
    {%- if message.tool_calls is defined and message.tool_calls -%}
        {%- for call in message.tool_calls -%}
            <tool_call>{{ call.function.name }} {{ call.function.arguments | tojson }}</tool_call>
        {%- endfor -%}
    {%- else -%}[{{ message['role'] }}] {{ message.get('content', '') }}{%- endif -%}
    {{- loop.cycle('.', ';') if not loop.last else '' -}}
{%- endfor -%}
"""


def template():
    deep = 400
    return {
        "ok-chatml": CHATML,
        "ok-chatml-with-text": CHATML + "\0<|im_end|>\n<|im_start|>system\n{{ 1 }}",
        "ok-thinking": THINKING + "\0<think>Hm</think>Hi",
        "ok-tools": TOOLS,
        "ok-date": "{{ strftime_now('%Y-%m-%d') }}" + CONTENTS,
        "ok-filters": CONTENTS + "{% for m in messages %}{{ m.role|trim|capitalize|"
                      "replace('a','b')|default('x')|length }}{{ [3,1,2]|sort|join(',') }}"
                      "{{ '%5.2f|%-4s'|format(1.5,'a') }}{% endfor %}",
        "ok-slices": CONTENTS + "{{ messages[::-1][0]['role'][-1:-9:-2] }}{{ (1,2,3)[5:] }}",
        "ok-filter-block": CONTENTS + "{% filter upper %}{% with a = 1 %}{{ a }}{% endwith %}"
                           "{% endfilter %}{% generation %}{{ 7 // -2 }}{% endgeneration %}",
        "range-1e9": "{% for i in range(10**9) %}{% endfor %}",
        "range-list-1e9": "{{ range(10**9)|list|length }}",
        "range-step-0": "{{ range(0, 5, 0)|list }}",
        "loops-nested": "{% for a in range(999) %}" * 8 + "x" + "{% endfor %}" * 8,
        "text-times-1e9": "{{ 'a' * 10**9 }}",
        "list-times-1e9": "{{ ([1] * 10**9)|length }}",
        "text-doubled-60-times": "{% set ns = namespace(t='aa') %}{% for i in range(60) %}"
                                 "{% set ns.t = ns.t ~ ns.t %}{% endfor %}{{ ns.t }}",
        "list-doubled-60-times": "{% set ns = namespace(t=[1]) %}{% for i in range(60) %}"
                                 "{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t }}",
        "replace-with-much": "{% set a = 'x' * 9999 %}{{ a|replace('x', a)|replace('x', a) }}",
        "join-with-much": "{% set a = 'x' * 99999 %}{{ range(99999)|join(a) }}",
        "escapes-in-a-list": "{% set ns = namespace(l=[]) %}{% set q = \"a'\" * 5000 %}"
                             "{% for i in range(99999) %}{% set ns.l = ns.l + [q|e] %}{% endfor %}",
        "marks-printed": "{{ (\"a'\" * 9999)|e }}",
        "upper-of-three-characters": "{{ ('\\u0390' * 99999)|upper|title }}",
        "names-in-a-format": "{{ ('%(b)s' * 9999) % dict(a=1, b=2) }}",
        "width-of-format-1e9": "{{ '%999999999d'|format(1) }}",
        "precision-of-format-1e9": "{{ '%.999999999f'|format(1.5) }}",
        "width-of-star": "{{ '%*d'|format(999999999, 1) }}",
        "format-of-too-few": "{{ '%s %s'|format(1) }}",
        "format-of-attributes": "{{ '{0.__class__}'.format(messages) }}",
        "center-1e9": "{{ 'a'|center(10**9) }}",
        "indent-1e9": "{{ 'a\\nb'|indent(10**9) }}",
        "tojson-indent-1e9": "{{ messages|tojson(indent=10**9) }}",
        "integer-overflow": "{{ 9223372036854775807 + 1 }}",
        "integer-least-by-minus-1": "{{ (-9223372036854775807 - 1) // -1 }}",
        "integer-modulo-0": "{{ 1 % 0 }}",
        "division-by-0": "{{ 1 / 0 }}",
        "power-1e9": "{{ 2 ** 10**9 }}",
        "power-negative-of-0": "{{ 0 ** -1 }}",
        "number-of-500-digits": "{{ " + "9" * 500 + " }}",
        "int-of-1e300": "{{ 1e300|int }}",
        "slice-step-0": "{{ 'abc'[::0] }}",
        "index-beyond": "{{ messages[10**9].content }}",
        "macro-without-end": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "macros-in-a-ring": "{% macro f(x) %}{{ g(x) }}{% endmacro %}"
                            "{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "parentheses-deep": "{{ " + "(" * deep + "1" + ")" * deep + " }}",
        "parentheses-20000-deep": "{{ " + "(" * 20_000,
        "lists-deep": "{{ " + "[" * deep + "]" * deep + " }}",
        "ifs-deep": "{% if 1 %}" * deep + "{% endif %}" * deep,
        "nots-deep": "{{ " + "not " * deep + "1 }}",
        "minuses-deep": "{{ " + "-" * deep + "1 }}",
        "filters-in-a-row": "{{ 'a'" + "|upper" * 5000 + " }}",
        "attributes-in-a-row": "{{ messages" + ".a" * 5000 + " }}",
        "conditions-in-a-row": "{{ " + "1 if 0 else " * deep + "1 }}",
        "powers-in-a-row": "{{ " + "2 ** " * deep + "1 }}",
        "namespace-of-itself": "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}"
                               "{{ ns|tojson }}",
        "class-of-a-text": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "globals-of-a-function": "{{ range.__globals__ }}",
        "init-of-cycler": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "attr-of-filter": "{{ ''|attr('__class__') }}",
        "include": "{% include '/etc/passwd' %}",
        "import": "{% import 'os' as os %}",
        "extends": "{% extends 'x' %}",
        "recursive-loop": "{% for m in messages recursive %}{{ loop(m) }}{% endfor %}",
        "tag-open": "{% for m in messages %}",
        "text-open": "{{ 'a",
        "comment-open": "{# a",
        "raw-open": "{% raw %}{{",
        "end-too-many": "{% endfor %}",
        "tag-unknown": "{% do 1 %}",
        "filter-unknown": "{{ 1|system }}",
        "raises": "{{ raise_exception('no ' + messages[0].role) }}",
        "no-utf8": b"{{ '\xff' }}",
    }
