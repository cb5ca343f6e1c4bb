#!/usr/bin/env python3
"""Writes jinja_cases.json: small templates and what Jinja2 itself makes of them.

Run with a Python that has jinja2 (3.1):  python3 make_jinja_cases.py
Each case is {"template", "context", "output"} or {"template", "context", "error": true}; context
may name one of "contexts". The environment is the one that Hugging Face's apply_chat_template
uses, with the clock fixed.
"""
import copy
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(jinja2.ext.Extension):
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
        trim_blocks=True, lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return environment


CONTEXTS = {
    "none": {},
    "values": {
        "s": "Hello World", "e": "", "u": "Grüße, Ελλάς ΣΑΣ 🙂 ﬁ ß İ", "q": "it's \"quoted\"\\",
        "ws": " \t\u00a0padded\u3000\n", "lines": "a\nb\r\nc\n\nd\u2028e\u000bf\n",
        "csv": "a,b,,c", "n": 7, "neg": -3, "zero": 0, "f": 2.5, "g": -0.5, "one": 1.0,
        "large": 1e22, "small": 1.5e-7, "max": 9223372036854775807,
        "min": -9223372036854775808, "t": True, "no": False, "nil": None,
        "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "mixed": [1, "a", None, 2.5, True, [], {}],
        "d": {"b": 1, "a": 2, "B": 0}, "el": [], "ed": {}, "nest": {"x": {"y": [10, {"z": "deep"}]}},
        "items_dict": {"items": "key", "type": "array", "update": 5},
        "pairs": [["k", 1], ["j", 2]], "html": "<b>&\"'", "ctl": "a\u0007b\u007f\u0000c\u200b",
        "users": [{"name": "Bo", "age": 3, "tags": ["x"]}, {"name": "al", "age": 1, "tags": []},
                  {"name": "Cy", "age": 2}],
    },
    "chat": {
        "bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": True,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi <think>no</think> there"},
            {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!\n",
             "tool_calls": [{"id": "c1", "type": "function",
                             "function": {"name": "f", "arguments": {"x": 1, "y": "é\n"}}}]},
            {"role": "tool", "content": "42"},
            {"role": "user", "content": [{"type": "text", "text": "part"}]},
        ],
        "tools": [{"type": "function",
                   "function": {"name": "f", "description": "does \"f\"",
                                "parameters": {"type": "object", "required": ["x"],
                                               "properties": {"x": {"type": "integer"},
                                                              "y": {"type": ["string", "null"]}}}}}],
    },
}

# Expressions over the context "values", one case each.
EXPRESSIONS = r"""
1
007
1_000
0x1F + 0b101 + 0o17
0xff_ff
1.5
1e3
1.5e-7
1_0.2_5
9223372036854775807
''
'a' "b" 'c'
'it\'s' ~ "\"q\"" ~ '\\' ~ '\n\t\r\a\b\f\v'
'\x41\u00e9\U0001F642\101\0'
'\é\d\🙂'
'a\
b'
true
True
false
none
None
[1, 'a', none, 2.5, true]
[1, 2,]
(1,)
(1, 2)
()
1, 2
1,
{}
{'a': 1, 'b': [1, {'c': none}]}
{'a': 1, 'a': 2}
{1: 'x', true: 'y', 1.0: 'z'}
{(1, 2): 3}
{[1]: 2}
{'a': 1,}
missing
[missing, {'a': missing}]
missing.attr
missing['x']
missing()
missing + 1
1 + missing
missing ~ 'x'
'x' + missing
missing < 1
missing == missing
missing == none
missing != 1
-missing
missing[1:2]
not missing
missing in [1]
1 in missing
n + 1
n - 10
n * 3
n / 2
n // 2
n % 4
n ** 2
neg // 2
neg % 5
neg / 2
7 // -2
7 % -3
-7 // 2
-7 % 3
f * 2
f // 1
f % 1
-2.5 // 1
-2.5 % 1
5 % -2.5
1 / 3
2 ** -1
2 ** 0.5
2 ** 62
2 ** 3 ** 2
-2 ** 2
2 - 3 - 4
2 * 3 + 4 * 5
2 + 3 * 4 ** 2 // 5 % 3
1 // 0
1 % 0
1 / 0
1.0 / 0
0 ** -1
max - 1
min + 1
max * 1.0
+n
-n
- -n
+ - + n
-'a'
-true
true + true
true * 3
'a' + 'b'
'a' + 1
1 + 'a'
'a' * 3
3 * 'ab'
'a' * -1
'a' * 2.0
[1] + [2]
[1] + (2,)
(1,) + (2,)
[1, 2] * 2
2 * (1,)
l + ls
{} + {}
none + 1
'a' - 'b'
[1] - [1]
s ~ n ~ f ~ t ~ nil
1 ~ 2
'a' ~ [1, 'b'] ~ {'c': none}
s ~ missing ~ e
1 < 2
1 < 2 < 3
1 < 3 < 2
3 > 2 >= 2
1 == 1.0
1 == true
0 == false
'a' == 'a'
'a' < 'b'
'B' < 'a'
'a' < 1
none == none
none < 1
[1, 2] < [1, 3]
[1] < [1, 0]
[1, 2] == [1, 2]
[1, 2] == (1, 2)
(1, 2) < (2,)
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{'a': 1} == {'a': 2}
{} < {}
1 != 2
1 in [1, 2]
true in [1]
'a' in 'abc'
'' in 'abc'
1 in 'abc'
'a' in {'a': 1}
'z' in d
[1] in [[1]]
[1] in {'a': 1}
1 not in [2]
not 1 in [2]
'a' in 'abc' in ['abc']
'x' in none
'x' in 5
2 in range(3)
5 in range(3)
1 and 2
0 and missing.x
1 or missing.x
0 or ''
'' or 'x' or missing.y
not 0
not not 1
not 1 == 2
1 if true else 2
1 if false else 2
1 if false
(1 if false) is defined
1 if 0 else 2 if 0 else 3
'a' if t and not no else 'b'
s[0]
s[-1]
s[100]
s[0:5]
s[6:]
s[:-3]
s[::-1]
s[::2]
s[1:8:3]
s[8:1:-3]
s[-3:]
s[:100]
s[100:]
s[5:2]
s[::0]
s['a']
s['upper']()
s[none:3]
s['a':]
u[7]
u[7:12]
u[::-1]
u|length
l[0]
l[-1]
l[3]
l[1:]
l[::-1]
l[-2:]
l[5:]
l[true]
l['x']
l.0
l.1
(1, 2, 3)[1:]
d['a']
d.a
d['missing']
d.missing
d.missing.x
d[1]
d[1:2]
nest.x.y[1].z
nest['x']['y'][0]
nest.x.y.1.z
n.x
n[0]
nil.x
nil['x']
t.x
items_dict['items']
items_dict['type']
items_dict.type
items_dict.get('items')
items_dict['keys'] is defined
items_dict.nope is defined
items_dict.update
items_dict['update']
d['update']
d.update({'x': 1})
d.pop('a')
l.append(1)
l.append is defined
s.__class__
d.__class__
d.keys()
d.values()
d.items()
d.keys() | list
d.items() | list
d.items()|length
d.keys() == d.keys()
d.copy()
l.copy()
d.get('a')
d.get('z')
d.get('z', 5)
d.get('z', none)
d.get()
d.get([1])
l.index(2)
l.index(99)
l.count(1)
[1, 1.0, true, 2].count(1)
(1, 2).index(2)
s.upper()
s.lower()
s.title()
s.capitalize()
u.upper()
u.lower()
u.title()
u.capitalize()
'ὈΔΥΣΣΕΎΣ ΌΣ. Σ aΣ Σa'.lower()
'ᾳ ŉ ǰ ΐ ﬃ ᾼ ǆ ǅ'.upper()
'ᾳ ŉ ǰ ΐ ﬃ ᾼ ǆ ǅ'.title()
"they're bill's friends from the UK".title()
s.strip('Hd')
s.lstrip('He')
s.rstrip('dl')
ws.strip()
ws.lstrip()
ws.rstrip()
ws.strip(none)
'xxhixx'.strip('x')
'мама'.strip('ма')
'<think>a</think>'.split('</think>')[0].split('<think>')[-1]
s.split()
s.split(' ')
s.split('o')
s.split('o', 1)
s.split(none, 1)
s.split('')
s.split(sep='l', maxsplit=2)
csv.split(',')
csv.split(',', 2)
csv.rsplit(',', 1)
csv.rsplit(',')
csv.rsplit(',', 0)
'  a  b  c  '.split()
'  a  b  c  '.split(none, 1)
'  a  b  c  '.split(none, 0)
'  a  b  c  '.split(none, 3)
'  a  b  c  '.rsplit(none, 1)
'  a  b  c  '.rsplit(none, 0)
'  a  b  c  '.rsplit(none, 2)
'aaa'.split('aa')
'aaa'.rsplit('aa')
''.split()
''.split(',')
e.split('x')
lines.splitlines()
lines.splitlines(true)
''.splitlines()
'\n'.splitlines()
s.replace('o', '0')
s.replace('o', '0', 1)
s.replace('', '-')
s.replace('', '-', 3)
s.replace('zz', 'y')
s.replace('l', '')
'aaaa'.replace('aa', 'b')
s.replace('o', 0)
s.find('o')
s.find('o', 5)
s.find('o', 5, 6)
s.find('zz')
s.find('')
s.find('', 50)
s.find('l', -3)
u.find('Ε')
s.rfind('o')
s.rfind('o', 0, 5)
s.index('W')
s.index('zz')
s.rindex('o')
s.count('l')
s.count('')
'aaaa'.count('aa')
s.count('o', 5)
s.startswith('Hello')
s.startswith('World')
s.startswith('World', 6)
s.startswith(('x', 'H'))
s.startswith('')
s.startswith(1)
s.endswith('World')
s.endswith(('x', 'd'))
s.endswith('Hello', 0, 5)
','.join(['a', 'b'])
','.join('abc')
','.join([])
','.join([1])
','.join(d)
'%'.join(s.split())
s.isdigit()
'123'.isdigit()
'١٢'.isdigit()
'²'.isdigit()
'²'.isdecimal()
'½'.isdigit()
''.isdigit()
'abc'.isalpha()
'añЖ中'.isalpha()
'a1'.isalpha()
'a1Ⅷ'.isalnum()
' \t\n'.isspace()
''.isspace()
'abc'.islower()
'aBc'.islower()
'ABC1'.isupper()
'1'.isupper()
'ǅ'.isupper()
'ªabc'.islower()
'abc'.isascii()
'é'.isascii()
''.isascii()
'a'.center(5)
'ab'.center(5, '*')
'abc'.center(6, '*')
'a'.ljust(3, '-')
'a'.rjust(3)
'a'.rjust(3, 'ab')
'-42'.zfill(6)
'42'.zfill(6)
'+é'.zfill(5)
'a-b-c'.partition('-')
'a-b-c'.rpartition('-')
'abc'.partition('-')
'abc'.rpartition('-')
'prefix-x'.removeprefix('prefix-')
'x.suffix'.removesuffix('.suffix')
'x'.removesuffix('')
'x'.removeprefix('y')
'{}-{}'.format(1, 'a')
'{1}-{0}-{1}'.format('a', 'b')
'{a}{b}'.format(a=1, b='x')
'{{}} {0}'.format(1)
'{:>6}|{:<6}|{:^6}|'.format('ab', 'cd', 'ef')
'{:*^7}'.format('ab')
'{:05d}|{:+d}|{: d}|{:,}'.format(42, 7, 7, 1234567)
'{:x} {:X} {:#x} {:o} {:b} {:#b}'.format(255, 255, 255, 8, 5, 5)
'{:.2f} {:8.3f} {:e} {:.3g} {:%} {:.1%}'.format(3.14159, 2.5, 12345.678, 0.00012345, 0.25, 0.256)
'{:,.2f} {:_}'.format(1234567.891, 1234567)
'{:.3} {:.10} {}'.format(3.14159, 100.0, 1e16)
'{:.3}'.format('abcdef')
'{!r} {!s}'.format('a', 'b')
'{} {} {}'.format(none, true, [1])
'{:>5}'.format(true)
'{:5}'.format(none)
'{'.format(1)
'{}'.format()
'{x}'.format(1)
'{:-07.2f}|{:07d}'.format(-3.14159, -42)
'{:05}'.format('ab')
'%s and %s' % ('a', 1)
'%s' % 'x'
'%s' % [1]
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%d %i %5d %-5d| %05d %+d' % (1, 2.9, 3, 4, 5, 6)
'%x %X %o %#x' % (255, 255, 8, 255)
'%.2f %e %g %8.3f %G' % (3.14159, 12345.6789, 0.0001, 2.5, 1e-10)
'%5s|%-5s|%.2s' % ('ab', 'cd', 'efg')
'%r %s' % ('a', none)
'%(a)s %(b)d' % {'a': 1, 'b': 2}
'%%' % ()
'100%' % ()
'%z' % 1
'%d' % 'a'
'%s' % missing
'abc' % []
ws|trim
s|trim('Hd')
'  a '|trim
5|trim
s|length
l|length
d|length
el|count
missing|length
5|length
nil|length
s|upper
s|lower
s|title
'hello wORLD-foo (bar [baz {qux <quux éa'|title
s|capitalize
'éCOLE'|capitalize
nil|upper
5|upper
s|replace('o', '0')
s|replace('l', 'L', 1)
n|replace(7, 8)
s|first
s|last
l|first
l|last
el|first
el|last
el|first is defined
d|first
d|last
s|list
d|list
range(3)|list
5|list
nil|list
l|join
l|join(', ')
ls|join('-')
mixed|join(',')
users|join(', ', attribute='name')
'abc'|join('.')
el|join(',')
missing|join(',')
5|join
l|sort
l|sort(reverse=true)
ls|sort(attribute='nope')
l|indent
ls|sort
ls|sort(case_sensitive=true)
ls|sort(true)
users|sort(attribute='age')|map(attribute='name')|list
users|sort(attribute='name')|map(attribute='name')|list
users|sort(attribute='name', case_sensitive=true, reverse=true)|map(attribute='name')|join(',')
users|sort(attribute='name,age')|map(attribute='age')|list
mixed|sort
[[2, 'b'], [1, 'z'], [2, 'a']]|sort
pairs|sort(attribute=0)
pairs|sort(attribute='1', reverse=true)
d|sort
ls|unique|list
['a', 'A', 'b', 'a']|unique|list
['a', 'A', 'b', 'a']|unique(case_sensitive=true)|list
[1, true, 1.0, 2]|unique|list
users|unique(attribute='tags')|list|length
l|reverse|list
s|reverse
d|reverse|list
l|min
l|max
el|min
ls|min
ls|max
ls|max(case_sensitive=true)
users|max(attribute='age')
users|min(attribute='name')
l|sum
[1, 2.5]|sum
l|sum(start=10)
users|sum(attribute='age')
users|sum('age', 100)
[[1], [2]]|sum(start=[])
ls|sum
el|sum
d|dictsort
d|dictsort(true)
d|dictsort(by='value')
d|dictsort(reverse=true)
d|dictsort(false, 'value', true)
d|items|list
missing|items|list
l|items|list
d.items()|sort
d.items()|first
users|map(attribute='name')|list
users|map(attribute='tags.0')|list
users|map(attribute='tags', default='none')|list
users|map(attribute='nope')|list
users|map(attribute='nope', default=0)|list
ls|map('upper')|list
ls|map('replace', 'a', 'z')|join
ls|map('nofilter')|list
['1', '2.5', 'x']|map('int')|list
['1', 'x']|map('int', default=9)|list
l|map('string')|list
users|selectattr('age')|list|length
users|selectattr('tags')|map(attribute='name')|list
users|selectattr('age', 'gt', 1)|map(attribute='name')|list
users|selectattr('name', 'equalto', 'Bo')|list
users|selectattr('tags', 'defined')|list|length
users|selectattr('name', 'in', ['Bo', 'Cy'])|map(attribute='age')|list
users|rejectattr('age', '>=', 2)|map(attribute='name')|list
users|rejectattr('tags')|map(attribute='name')|list
users|selectattr('age', 'nosuch')|list
users|selectattr()|list
missing|reverse|list
l|select('odd')|list
l|select('gt', 1)|list
l|reject('even')|list
l|select|list
[0, '', 1, none, 'x']|select|list
[0, '', 1, none, 'x']|reject|list
mixed|select('string')|list
mixed|select('none')|list
mixed|reject('none')|list
(l|select('odd'))|first
(l|select('odd'))|last
(el|select) is true
1 if el|select else 2
l|select('odd')|length
(l|map('string'))[0]
[l|select('odd')]|length
2 in (l|select)
l|batch(2)|list
l|batch(2, 'x')|list
l|batch(5)|list
nil|default('x')
missing|default('x')
missing|default
missing|d('y')
''|default('x')
''|default('x', true)
0|default(5, boolean=true)
missing.x|default('y')
d.zzz|default('y')
d.zzz.w|default('y')
missing|default(none)
missing|default(default_value='k')
n|string
f|string ~ 1
'42'|int
' 42 '|int
'4_2'|int
'42.9'|int
'-5'|int
'+5'|int
'x'|int
'x'|int(7)
'x'|int(default=-1)
'0x1f'|int(base=16)
'1f'|int(base=16)
'0b11'|int(0, 0)
'0o17'|int(0, 8)
'010'|int(0, 0)
'z'|int(0, 36)
''|int
nil|int
[]|int
2.9|int
-2.9|int
true|int
missing|int
1e18|int
'3.14'|float
'x'|float
'x'|float(1.5)
' 1e3 '|float
'inf'|float
'-inf'|float
'nan'|float
'Infinity'|float
'1_0.5'|float
'.5'|float
'5.'|float
'.'|float
'1e'|float
'1e400'|float
'1e-400'|float
'0.00000000000000000000001'|float
n|float
true|float
nil|float
missing|float
neg|abs
g|abs
'x'|abs
missing|abs
true|abs
2.5|round
3.5|round
-2.5|round
0.5|round
2.675|round(2)
2.567|round(1)
1e300|round(2)
2.1|round(method='ceil')
2.9|round(method='floor')
2.123|round(2, 'ceil')
-2.123|round(2, 'floor')
7|round
25|round(-1)
35|round(-1)
-25|round(-1)
1234.5|round(-2)
7|round(2)
'x'|round
2.5|round(method='x')
true|round
5|round(method='ceil')
html|e
html|escape
html|e|e
html|safe
html|safe|string
(html|e) + '<'
'<' + (html|safe)
(html|safe) ~ '<'
['<'|safe]
('<'|safe)|upper + '<'
('<'|safe).replace('<', '>')
('<'|safe).join(['<', '>'|safe])
('%s<'|safe) % '<'
('{}<'|safe).format('<')
('a<b'|safe).split('<')
('<'|safe) == '<'
('<'|safe)|tojson
('<'|safe)|length
('<a'|safe)[0] + '<'
('<a'|safe)[0:1] * 2 + '<'
5|safe + '<'
none|e
[1, '<']|e
('a '|safe)|trim + '<'
('a'|safe)|lower + '<'
('a\nb'|safe)|indent(2) + '<'
('a'|safe) is escaped
'a' is escaped
lines|indent
lines|indent(2)
lines|indent(2, true)
lines|indent(width=3, blank=true)
lines|indent('> ')
lines|indent('> ', first=true, blank=true)
''|indent(4, true)
'a'|indent
'a\n'|indent
5|indent
'%s-%s'|format('a', 1)
'%(x)s'|format(x=5)
'ab'|center(7)
'ab'|center
s|tojson
u|tojson
u|tojson(ensure_ascii=true)
q|tojson
ctl|tojson
ctl|tojson(ensure_ascii=true)
html|tojson
n|tojson
f|tojson
one|tojson
large|tojson
small|tojson
1e15|tojson
1e16|tojson
123456789.123456789|tojson
0.1|tojson
1e-5|tojson
0.0001|tojson
-0.0|tojson
5e-324|tojson
1.7976931348623157e308|tojson
'inf'|float|tojson
'nan'|float|tojson
t|tojson
nil|tojson
missing|tojson
[missing]|tojson
l|tojson
(1, 'a')|tojson
el|tojson
ed|tojson
[[], {}]|tojson(indent=2)
d|tojson
d|tojson(sort_keys=true)
d|tojson(indent=2)
d|tojson(indent=0)
d|tojson(indent='--')
d|tojson(indent=none)
nest|tojson(indent=4)
nest|tojson(separators=(',', ':'))
nest|tojson(separators=[' , ', ' : '], indent=1)
nest|tojson(separators=',')
mixed|tojson
users|tojson
{1: 2, true: 3, none: 4, 1.5: 5}|tojson
{(1, 2): 3}|tojson
{2: 'b', 1: 'a'}|tojson(sort_keys=true)
{2: 'b', 'x': 'a'}|tojson(sort_keys=true)
range(3)|tojson
l|select|tojson
namespace(a=1)|tojson
d|tojson|length
missing is defined
missing is undefined
s is defined
d.zzz is defined
d.a is defined
missing.x is defined
nil is none
nil is not none
0 is none
s is string
n is string
d is mapping
l is mapping
l is iterable
s is iterable
d is iterable
n is iterable
missing is iterable
nil is iterable
range(2) is iterable
l is sequence
s is sequence
d is sequence
n is sequence
range(2) is sequence
d.items() is sequence
d.items() is iterable
d.keys() is mapping
n is number
f is number
t is number
s is number
t is boolean
n is boolean
n is integer
t is integer
f is integer
f is float
n is float
t is true
n is true
no is false
nil is false
1 is true
n is odd
n is even
zero is even
f is odd
's' is odd
n is divisibleby 7
n is divisibleby(3)
n is divisibleby 0
n is eq 7
n is equalto 7
n is sameas 7.0
nil is sameas missing
t is sameas true
nil is sameas none
1 is sameas true
n is ne 7
n is lt 10
n is lessthan 10
n is le 7
n is gt 7
n is greaterthan 1
n is ge 7
's' is gt 1
n is in [7]
'a' is in 'abc'
n is not in [7]
's' is lower
'S' is upper
's1' is lower
'1' is lower
n is upper
range is callable
n is callable
s.upper is callable
'upper' is filter
'nope' is filter
'odd' is test
n is not odd
n is odd and n is not even
n is odd or missing.x
not n is even
n is defined|string
(n is defined)|string
range(5)|list
range(2, 5)|list
range(5, 2)|list
range(5, 0, -2)|list
range(0, 10, 3)|list
range(3)
range(1, 3)
range(1, 9, 2)
range(3)[1]
range(3)[-1]
range(3)[5]
range(3)|length
range(3) == range(0, 3)
range(0)|list
range(0) == range(5, 2)
range(1, 2, 0)
range('3')
range(2.0)
range()
range(1, 2, 3, 4)
range(100001)|length
range(99999)|length
dict(a=1, b='x')
dict({'a': 1}, b=2)
dict([['a', 1], ('b', 2)])
dict(d, a=5, **{'z': 1})
dict(1)
dict([1])
namespace(a=1).a
namespace({'a': 2}).a
namespace().x
namespace(a=1)['a']
raise_exception('boom')
raise_exception('a ' ~ n)
strftime_now('%Y-%m-%d %H:%M:%S')
strftime_now('%d %b %Y')
strftime_now('%A, %B %d, %y %I:%M %p %j')
strftime_now('%a %e %-d %-m %-H %-I %-M %-S %-j|%U %W %V %G %u %w %%')
strftime_now('%c|%x|%X|%D|%F|%T|%R|%r|%h|%C|%k|%l|%n|%t|%f|%z|%Z')
strftime_now('é%Yé')
strftime_now()
[*l]
max(1, 2)
"a".nope()
d.items().x
l.count(*[1])
'{}{}'.format(*ls[:2])
'{a}'.format(**{'a': 1})
dict(**d)
dict(**l)
mixed
nest
u
q
[q]
[u]
[ctl]
["'"]
['"']
['\'"']
['\\\n\r\t']
{'é': 'ü', 'a"b': "c'd"}
(1.0, -0.0, 1e100, 1e-7, 123456789012345680.0)
f
one
large
small
max
min
t
no
nil
l
d
ls[0] ~ ls[1:]|string
(ls|join)|length
{'a': 1}.items()|list
{'b': {'c': [1, 2, 3]}}.b.c[1:]|last
users[0].name
users[-1]['name']
users[0].tags[0]
users|length > 2 and users[2].tags is not defined
(users|first).name
users|map(attribute='name')|map('lower')|select('in', ['bo', 'al'])|sort|join('+')
s.split()|map('first')|join
(s|lower).split(' ')|last|upper
'x' if s.startswith('H') and 'World' in s else 'y'
s|replace('o', '0')|upper|list|first
not (n > 5) or (f < 1 and missing.z)
n > 5 == true
(1, 2) in [(1, 2)]
'a' not in 'bcd' and 1 not in [2, 3]
{'k': [1, 2]}['k'][0] + 1
- n|abs
-n ** 2
n is odd if t else 2
1 if t is true else 0
[1, 2, 3][1:][0]
(s)[0]
('a', 'b')|join
{'a': 1}|length
{'a': 1}.a
[{'a': 1}][0].a
"}}" ~ '%}' ~ "{{"
{'x': {'y': {}}}
[[1, 2], [3]][0][1]
n.__add__(1)
''.join(['a', 1|string])
s.format()
"a" if
1 +
(1
[1
{1}
{'a'}
a b
1 2
'abc
x | nofilter
x is notest
x is
x.
x[
f(a=1, a=2)
f(a=1, 2)
f(**a, *b)
1 $ 2
a ! b
a = 1
(
)
}
lambda x: x
x?y
`a`
""".strip("\n")

# Fragments of templates, each with the name of its context.
TEMPLATES = [
    # Text, newlines, whitespace control.
    ("none", ""), ("none", "\n"), ("none", "a\n"), ("none", "a\n\n"), ("none", "a\r\nb\rc\r\n"),
    ("none", "  a  "), ("none", "{"), ("none", "{ {"), ("none", "}}"), ("none", "%}"),
    ("none", "#}"), ("none", "a { b } c % d # e"), ("none", "{{{'a':1}}}"),
    ("none", "{{ {'a': {'b': 1}} }}"), ("none", "{{ '}}' }}"), ("none", "{{ '{{' }}"),
    ("none", "{{'a'}}\n"), ("none", "{{'a'}}\nb"), ("none", "  {{'a'}}  \n b"),
    ("none", "a {{- 'b' -}} c"), ("none", "a\n {{- 'b' -}} \n c"), ("none", "a {{+ 1 }} b"),
    ("none", "a {{-1}} b"), ("none", "a {{- -1 -}} b"), ("none", "a {{ 1 -}}\n\n b"),
    ("none", "a {{ 1 +}} b"), ("none", "{{ 1 }"), ("none", "{{ 1"), ("none", "{{"),
    ("none", "{% if true %}"), ("none", "{%"), ("none", "{% %}"), ("none", "{{ }}"),
    ("none", "{{}}"),
    ("none", "{# c #}a"), ("none", "a{# c #}b"), ("none", "a {#- c -#} b"), ("none", "{# c #}\nx"),
    ("none", "  {# c #}\nx"), ("none", "  {# c #}  \nx"), ("none", "a\n  {# c #}\n  b"),
    ("none", "a\n  {#+ c +#}\n  b"), ("none", "{# {{ 1 }} {% if %} #}x"), ("none", "{# a"),
    ("none", "{#-#}x"), ("none", "{#}x"), ("none", "{##}x"), ("none", "{#--#}x"),
    ("none", "{#+-#} \n x"), ("none", "a {#-+#}\nx"), ("none", "a{# - #}b"),
    ("none", "{% if true %}\nx\n{% endif %}\ny"), ("none", "{% if true %}  \nx{% endif %}  \ny"),
    ("none", "  {% if true %}\n  x\n  {% endif %}\ny"), ("none", "a  {% if true %}  x  {% endif %}  y"),
    ("none", "a\n  {%- if true -%}\n  x\n  {%- endif -%}\n  y"),
    ("none", "a\n  {%+ if true %}\n  x\n  {%+ endif %}\n  y"),
    ("none", "a\n  {% if true +%}\n  x\n  {% endif +%}\n  y"),
    ("none", "\t {% if true %}x{% endif %}"), ("none", "\u00a0{% if true %}x{% endif %}"),
    ("none", "a\u2003\n\u3000{%- if true %}x{% endif %}"),
    ("none", "x\n\n\n{%- if true %}\n\n\ny{% endif %}"), ("none", "{% if true %}\n\n\nx{% endif %}"),
    ("none", "{{ 1 }}\n{% if true %}a\n{% endif %}\n"), ("none", "{{ 1 }} {% if true %}a{% endif %}"),
    ("none", "{% if true %} {{ 1 }}\n {% endif %}"), ("none", "a\n{% if true %}{% endif %}  {% if true %}{% endif %}\nb"),
    ("none", "  {% if true %}{% endif %}  {{ 1 }}"), ("none", "\n  {% if true %}\n  {% endif %}\n\n"),
    ("none", "{% if true -%}   \n\n  {% if true %} x {% endif %}{% endif %}"),
    ("none", "{% if true -%}\n  {% if true %} x {% endif %}{% endif %}"),
    ("none", "{% raw %}{{ x }}{% endraw %}"), ("none", "{% raw %}\na\n{% endraw %}\nb"),
    ("none", "a\n  {% raw %}\n  b\n  {% endraw %}\n  c"), ("none", "a {%- raw -%} b {%- endraw -%} c"),
    ("none", "a {%+ raw %} b {%+ endraw +%}\n c"), ("none", "{%raw%}{% if %}{%endraw%}"),
    ("none", "{% raw %}x"), ("none", "{% raw x %}{% endraw %}"), ("none", "{% raw +%}x{% endraw %}"),
    ("none", "{% raw %}{% raw %}{% endraw %}"), ("none", "{% endraw %}"),
    ("none", "{{ 1\n+\n2 }}"), ("none", "{%\nif true\n%}x{%\nendif\n%}"), ("none", "{%if true%}x{%endif%}"),
    ("none", "{{'a'}}{{'b'}}"), ("none", "{{ 'a'\n'b' }}"), ("none", "{{\t'a'\u00a0}}"),
    ("none", "line {{ '\r\n' }}|"), ("none", "{% set x = 'a\r\nb' %}{{ x|length }}"),
    # if
    ("values", "{% if n == 7 %}a{% elif n == 8 %}b{% else %}c{% endif %}"),
    ("values", "{% if n == 8 %}a{% elif n == 7 %}b{% else %}c{% endif %}"),
    ("values", "{% if n == 9 %}a{% elif n == 8 %}b{% else %}c{% endif %}"),
    ("values", "{% if e %}a{% elif el %}b{% elif ed %}c{% elif nil %}d{% elif zero %}e{% elif missing %}f{% endif %}"),
    ("values", "{% if l: %}a{% endif %}"), ("values", "{% if n, %}a{% endif %}"),
    ("values", "{% if 1 if 2 else 3 %}a{% endif %}"), ("values", "{% if (1 if 2 else 3) %}a{% endif %}"),
    ("values", "{% if %}a{% endif %}"), ("values", "{% if n %}a{% else %}b{% else %}c{% endif %}"),
    ("values", "{% if n %}a{% endfor %}"), ("values", "{% if n %}a"), ("values", "{% endif %}"),
    ("values", "{% else %}"), ("values", "{% if n }}a{% endif %}"),
    ("values", "{% if not missing is defined %}a{% endif %}"),
    ("values", "{% if t and (no or not nil) and l|length == 3 %}a{% endif %}"),
    # for
    ("values", "{% for x in l %}{{ x }},{% endfor %}"), ("values", "{% for x in el %}a{% else %}b{% endfor %}"),
    ("values", "{% for x in l %}{{ x }}{% else %}b{% endfor %}"), ("values", "{% for k in d %}{{ k }}{% endfor %}"),
    ("values", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}"),
    ("values", "{% for k, v in d|dictsort %}{{ k }}={{ v }};{% endfor %}"),
    ("values", "{% for (a, b) in pairs %}{{ a }}{{ b }}{% endfor %}"),
    ("values", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}"),
    ("values", "{% for a, b in [[1, 2, 3]] %}x{% endfor %}"), ("values", "{% for a, b in [[1]] %}x{% endfor %}"),
    ("values", "{% for a, b in l %}x{% endfor %}"), ("values", "{% for a, in [[1]] %}{{ a }}{% endfor %}"),
    ("values", "{% for a, b in ['xy', 'zw'] %}{{ b }}{{ a }}{% endfor %}"),
    ("values", "{% for c in s %}{{ c }}.{% endfor %}"), ("values", "{% for c in u %}{{ c }}.{% endfor %}"),
    ("values", "{% for x in missing %}a{% else %}none{% endfor %}"), ("values", "{% for x in n %}a{% endfor %}"),
    ("values", "{% for x in nil %}a{% endfor %}"), ("values", "{% for x in 1, 2 %}{{ x }}{% endfor %}"),
    ("values", "{% for x in range(3) %}{{ x }}{% endfor %}"),
    ("values", "{% for x in l|select('odd') %}{{ x }}{{ loop.last }}{% endfor %}"),
    ("values", "{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} {% endfor %}"),
    ("values", "{% for x in l if x > 9 %}a{% else %}none{% endfor %}"),
    ("values", "{% for x in l if x > 1 %}{{ loop.length }}{{ loop.last }}{{ loop.revindex }} {% endfor %}"),
    ("values", "{% for k, v in d.items() if v %}{{ k }}{% if not loop.last %}, {% endif %}{% endfor %}"),
    ("values", "{% for x in l if loop.index %}a{% endfor %}"),
    ("values", "{% for x in (l if t else el) %}{{ x }}{% endfor %}"),
    ("values", "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.depth }}{{ loop.depth0 }}|{% endfor %}"),
    ("values", "{% for x in l %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }}|{% endfor %}"),
    ("values", "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}"),
    ("values", "{% for x in l if x != 1 %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }}|{% endfor %}"),
    ("values", "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}"),
    ("values", "{% for x in l %}{{ loop.cycle() }}{% endfor %}"),
    ("values", "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }}{% endfor %}"),
    ("values", "{% for x in [1, 1, 2] %}{{ loop.changed(x, 1) }}{{ loop.nope }}{% endfor %}"),
    ("values", "{% for x in l %}{{ loop['index'] }}{{ loop is defined }}{% endfor %}{{ loop is defined }}"),
    ("values", "{% for x in l %}{{ loop|length }}{% endfor %}"),
    ("values", "{% for x in l %}{% for y in ls %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}"),
    ("values", "{% for x in l %}{% set outer = loop %}{% for y in 'ab' %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}"),
    ("values", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}"),
    ("values", "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}"),
    ("values", "{% for x in l %}{% for y in ls %}{% break %}{% endfor %}{{ x }}{% endfor %}"),
    ("values", "{% for x in l %}{% break %}{% else %}none{% endfor %}"),
    ("values", "{% for x in l %}{% continue %}{% else %}none{% endfor %}"),
    ("values", "{% break %}"), ("values", "{% continue %}"), ("values", "{% if t %}{% break %}{% endif %}"),
    ("values", "{% for x in l %}a{% else %}{% break %}{% endfor %}"),
    ("values", "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}"),
    ("values", "{% for x in l %}x{% endif %}"), ("values", "{% for x in l %}x"), ("values", "{% for x l %}x{% endfor %}"),
    ("values", "{% for in l %}x{% endfor %}"), ("values", "{% for loop in l %}x{% endfor %}"),
    ("values", "{% for true in l %}x{% endfor %}"), ("values", "{% for x.y in l %}x{% endfor %}"),
    ("values", "{% for x in l %}\n{{ x }}\n{% endfor %}\n"), ("values", "{% for x in l -%}\n{{ x }}\n{%- endfor %}\n"),
    ("values", "{%- for x in l %}\n  - {{ x }}\n{%- endfor %}\n."),
    ("values", "{% for m in users %}{{ m.name }}{% for t in m.tags %}{{ t }}{% endfor %}{% endfor %}"),
    ("values", "{% set it = l|select %}{% for x in it %}{{ x }}{% endfor %}{% for x in it %}{{ x }}{% else %}used{% endfor %}"),
    ("values", "{% set ns = namespace(last=none) %}{% for x in [1, 1, 2, 2, 3] if x != ns.last %}{{ x }}{% set ns.last = x %}{% endfor %}"),
    ("values", "{% set ns = namespace(seen=[]) %}{% for x in [1, 1, 2, 1] if x not in ns.seen %}{{ x }}{% set ns.seen = ns.seen + [x] %}{% endfor %}"),
    # set, scopes, namespaces
    ("values", "{% set x = 1 %}{{ x }}"), ("values", "{% set x = 1, 2 %}{{ x }}"), ("values", "{% set a, b = 1, 2 %}{{ b }}{{ a }}"),
    ("values", "{% set a, b = [1] %}"), ("values", "{% set (a, b) = 'xy' %}{{ a }}{{ b }}"),
    ("values", "{% set a, (b, c) = 1, (2, 3) %}{{ a }}{{ b }}{{ c }}"),
    ("values", "{% set x = 1 if t else 2 %}{{ x }}"), ("values", "{% set x %}a{{ n }}b{% endset %}{{ x }}{{ x|length }}"),
    ("values", "{% set x | upper %}a{{ s }}{% endset %}{{ x }}"), ("values", "{% set x | upper | replace('A', 'b') %}a{% endset %}{{ x }}"),
    ("values", "{% set x %}\n  a\n{% endset %}\n[{{ x }}]"), ("values", "{% set x %}{% set y = 1 %}{% endset %}{{ y is defined }}"),
    ("values", "{% set n = n + 1 %}{{ n }}"), ("values", "{{ x }}{% set x = 1 %}{{ x }}"),
    ("values", "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }}|{% endfor %}{{ x }}"),
    ("values", "{% for i in l %}{{ y is defined }}{% set y = i %}{% endfor %}{{ y is defined }}"),
    ("values", "{% if t %}{% set y = 5 %}{% endif %}{{ y }}"),
    ("values", "{% for i in [1] %}{% if no %}{% set s = 5 %}{% endif %}{{ s }}{% endfor %}"),
    ("values", "{% for i in [1, 2] %}{% if i == 2 %}{{ s }}{% else %}{% set s = 5 %}{{ s }}{% endif %}{% endfor %}"),
    ("values", "{% for n in l %}{{ n }}{% endfor %}{{ n }}"), ("values", "{% for x in l %}{% endfor %}{{ x is defined }}"),
    ("values", "{% set ns = namespace(a=1) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}"),
    ("values", "{% set ns = namespace() %}{% set ns.x = 1 %}{{ ns.x }}{{ ns.y }}{{ ns.y is defined }}"),
    ("values", "{% set ns = namespace(a=1, b=[]) %}{% set ns.b = ns.b + [ns.a] %}{{ ns.b }}"),
    ("values", "{% set ns = namespace(d) %}{{ ns.a }}{{ ns.b }}"), ("values", "{% set d.a = 1 %}"), ("values", "{% set nope.a = 1 %}"),
    ("values", "{% set ns = namespace() %}{% set ns.x %}cap{{ n }}{% endset %}{{ ns.x }}"),
    ("values", "{% set ns = namespace(a=1) %}{% set other = ns %}{% set other.a = 2 %}{{ ns.a }}"),
    ("values", "{% set a = [1] %}{% set b = a %}{% set b = b + [2] %}{{ a }}{{ b }}"),
    ("values", "{% set true = 1 %}"), ("values", "{% set none = 1 %}"), ("values", "{% set 1 = 2 %}"), ("values", "{% set x %}"),
    ("values", "{% set x = %}"), ("values", "{% set x.y.z = 1 %}"), ("values", "{% set x[0] = 1 %}"), ("values", "{% set = 1 %}"),
    ("values", "{% set x = 1 %}{% set x %}{{ x }}2{% endset %}{{ x }}"),
    ("values", "{% set range = 5 %}{{ range }}"), ("values", "{% set x = x|default('dd') %}{{ x }}"),
    ("values", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}"),
    ("values", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}"), ("values", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}"),
    ("values", "{% with a = 1 %}{% set n = 3 %}{{ n }}{% endwith %}{{ n }}"), ("values", "{% for x in l %}{% with y = x %}{% if y == 1 %}{% break %}{% endif %}{{ y }}{% endwith %}{% endfor %}"),
    ("values", "{% filter upper %}a{{ s }}{% endfilter %}"), ("values", "{% filter replace('a', 'b')|upper %}aXa{% endfilter %}"),
    ("values", "{% filter trim %}\n  a \n{% endfilter %}|"), ("values", "{% filter nofilter %}a{% endfilter %}"),
    ("values", "{% filter upper %}{% set q = 1 %}{% endfilter %}{{ q is defined }}"),
    ("values", "{% for x in l %}{% set c %}{{ x }}{% if x == 1 %}{% continue %}{% endif %}{% endset %}{{ c }}{% endfor %}"),
    ("values", "{% generation %}a{{ n }}{% endgeneration %}b"), ("values", "{% for x in l %}{% generation %}{{ x }}{{ loop.index }}{% set x = 9 %}{% endgeneration %}{{ x }}{% endfor %}"),
    ("values", "{% generation %}\n  a\n{% endgeneration %}\nb"), ("values", "{%- generation -%} a {%- endgeneration -%} b"),
    ("values", "{% generation %}a"), ("values", "{% for x in l %}{% generation %}{% break %}{% endgeneration %}{% endfor %}"),
    # macros
    ("values", "{% macro m() %}x{% endmacro %}{{ m() }}{{ m() }}"), ("values", "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=5, a=4) }}"),
    ("values", "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m() }}"), ("values", "{% macro m(a) %}{{ a.x }}{% endmacro %}{{ m() }}"),
    ("values", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}"), ("values", "{% macro m(a) %}{% endmacro %}{{ m(z=2) }}"),
    ("values", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}"), ("values", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(3) }}"),
    ("values", "{% macro m(a=n) %}{{ a }}{% endmacro %}{% set n = 8 %}{{ m() }}"), ("values", "{% macro m() %}{{ y }}{% endmacro %}{% set y = 1 %}{{ m() }}{% set y = 2 %}{{ m() }}"),
    ("values", "{% macro m() %}{% set n = 1 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}"), ("values", "{{ m() }}{% macro m() %}x{% endmacro %}"),
    ("values", "{% macro m(k) %}{% if k > 0 %}{{ k }}{{ m(k - 1) }}{% endif %}{% endmacro %}{{ m(5) }}"),
    ("values", "{% macro show(v, i=0) %}{% if v is mapping %}{% for k, w in v.items() %}{{ ' ' * i }}{{ k }}:\n{{ show(w, i + 1) }}{% endfor %}{% else %}{{ ' ' * i }}{{ v }}\n{% endif %}{% endmacro %}{{ show(nest) }}"),
    ("values", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}"),
    ("values", "{% macro m(x) %}{{ x }}{% endmacro %}{% for x in l %}{{ m(x * 2) }}{% endfor %}"),
    ("values", "{% macro m() %}  x  {% endmacro %}{{ m()|trim }}{{ m()|length }}"), ("values", "{% macro m() %}<{% endmacro %}{{ m() + '<' }}"),
    ("values", "{% macro m() %}x{% endmacro %}{{ m is callable }}{{ m is string }}"), ("values", "{% macro m(a, a) %}{% endmacro %}"),
    ("values", "{% macro m(a=1, b) %}{% endmacro %}"), ("values", "{% macro m %}{% endmacro %}"), ("values", "{% macro m( %}{% endmacro %}"), ("values", "{% macro m() %}"),
    ("values", "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(5, **{'b': 6}) }}"),
    ("values", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, **{'a': 2}) }}"),
    ("values", "{% set ns = namespace(c=0) %}{% macro m() %}{% set ns.c = ns.c + 1 %}{% endmacro %}{{ m() }}{{ m() }}{{ ns.c }}"),
    ("values", "{% for x in l %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}"),
    ("values", "{% macro outer() %}{% macro inner(q) %}<{{ q }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}{{ inner is defined }}"),
    ("values", "{%- macro m(a) -%}\n  {{ a }}\n{%- endmacro -%}\n{{ m(1) }}"), ("values", "{% macro m() %}{% for x in l %}{{ loop.index }}{% endfor %}{% endmacro %}{{ m() }}"),
    ("values", "{% macro m(a, b='x', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1, c=2) }}"),
    ("values", "{% macro m(a) %}{% if a is defined %}d{% else %}u{% endif %}{% endmacro %}{{ m() }}{{ m(none) }}{{ m(missing) }}"),
    ("values", "{% macro m(a=5) %}{{ a }}{% endmacro %}{{ m(missing) }}|{{ m(none) }}"),
    # unknown and malformed tags
    ("values", "{% nope %}"), ("values", "{% 1 %}"), ("values", "{% 'a' %}"), ("values", "{% if t %}{% endif x %}"), ("values", "{% for x in l %}{% endfor x %}"),
    ("values", "{% endmacro %}"), ("values", "{{ n"), ("values", "{{ n }} {{"), ("values", "{% set x = 1 }}"), ("values", "{% endset %}"),
    ("values", "{{ (1 }} ) }}"), ("values", "{{ [1) }}"), ("values", "{{ n }} }} %} #}"), ("values", "{% do l.append(1) %}"),
    ("values", "{% if n %}{% for x in l %}{% endif %}{% endfor %}"),
    # run-time errors after output; unused branches
    ("values", "a{{ missing.x }}"), ("values", "{% if no %}{{ missing.x }}{% endif %}ok"), ("values", "{% if no %}{{ raise_exception('x') }}{% endif %}ok"),
    ("values", "{{ raise_exception('stop') if t }}"), ("values", "{{ t or raise_exception('stop') }}"), ("values", "{% if no %}{{ l.append(1) }}{% endif %}ok"),
    # chats
    ("chat", "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content if m.content is string else m.content[0].text }}{{ eos_token }}\n{% endfor %}"),
    ("chat", "{%- for message in messages -%}\n{{ '<|im_start|>' + message['role'] + '\n' + (message['content']|string) + '<|im_end|>' + '\n' }}\n{%- endfor -%}"),
    ("chat", "{% for m in messages %}{% if m['content'] is string %}{{ m['content'].split('</think>')[-1].lstrip('\n') }}{% else %}{% for p in m['content'] %}{{ p['text'] }}{% endfor %}{% endif %}|{% endfor %}"),
    ("chat", "{% for m in messages if m.role == 'user' %}{{ loop.index }}/{{ loop.length }} {% endfor %}"),
    ("chat", "{% set ns = namespace(i=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.i = loop.index0 %}{% endif %}{% endfor %}{{ ns.i }}"),
    ("chat", "{% for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.name }}({{ c.function.arguments|tojson }}){% endfor %}{% endif %}{% endfor %}"),
    ("chat", "{% for t in tools %}{{ t|tojson(indent=2) }}\n{% endfor %}"), ("chat", "{{ tools|map(attribute='function')|map(attribute='name')|join(', ') }}"),
    ("chat", "{% for t in tools %}{% set f = t.function %}{{ f.name }}: {{ f.description }}\n{% for k, p in f.parameters.properties.items() %}- {{ k }} ({{ p.type if p.type is string else p.type|join(' or ') }}){{ ' required' if k in f.parameters.required }}\n{% endfor %}{% endfor %}"),
    ("chat", "{% if messages[0].role == 'system' %}{% set sys = messages[0].content %}{% set messages = messages[1:] %}{% endif %}{{ sys }}{{ messages|length }}"),
    ("chat", "{% if (messages|length % 2 == 0) != (messages[-1].role == 'user') %}{{ raise_exception('Roles must alternate') }}{% endif %}ok"),
    ("chat", "{% if messages[-1].role != 'assistant' %}{{ raise_exception('Expected an assistant, got ' + messages[-1].role) }}{% endif %}"),
    ("chat", "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = message['content'] %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"),
    ("chat", "{% for m in messages %}{% if loop.previtem and loop.previtem.role == 'tool' %}T{% endif %}{% if not loop.last and loop.nextitem.role == 'tool' %}N{% endif %}{{ m.role[0] }}{% endfor %}"),
    ("chat", "{% set u = messages|selectattr('role', 'equalto', 'user')|list %}{{ u|length }}{{ u[-1] == messages[-1] }}{{ (messages|rejectattr('tool_calls', 'defined')|list)|length }}"),
    ("chat", "{{ messages|map(attribute='role')|unique|join(',') }}"), ("chat", "{{ messages }}"), ("chat", "{{ tools[0].function.parameters }}"),
    ("chat", "{% if tools is defined and tools is not none and tools|length > 0 %}{{ '\n'.join(tools|map('tojson')|list) }}{% endif %}"),
    ("chat", "{%- if not date_string is defined -%}{%- set date_string = strftime_now('%d %b %Y') -%}{%- endif -%}{{ date_string }}"),
    ("chat", "{{ '%s: %d' % (messages[0].role, messages|length) }}"), ("chat", "{{ messages[1].content.split('<think>')[1].split('</think>')[0] }}"),
    ("chat", "{% macro render(c) %}{% if c is string %}{{ c|trim }}{% elif c is iterable and c is not mapping %}{% for p in c %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endmacro %}{% for m in messages %}{{ render(m.content) }};{% endfor %}"),
]

# Whitespace control: every sign on both sides of a tag, in several surroundings.
for open_sign in ["", "-", "+"]:
    for close_sign in ["", "-", "+"]:
        for before in ["x\n  ", "x  ", "  ", "\n\n "]:
            for after in ["\n  y", "  \n y", " y", "\n\n\ny\n"]:
                TEMPLATES.append(("none", f"{before}{{%{open_sign} if true {close_sign}%}}{after}{{% endif %}}"))
                TEMPLATES.append(("none", f"{before}{{#{open_sign} c {close_sign}#}}{after}"))
                if close_sign != "+":
                    TEMPLATES.append(("none", f"{before}{{{{{open_sign} 1 {close_sign}}}}}{after}"))
                    TEMPLATES.append(("none", f"{before}{{%{open_sign} raw {close_sign}%}}{after}{{% endraw %}}"))


def render(environment, template, context):
    case = {"template": template, "context": context}
    try:
        case["output"] = environment.from_string(template).render(
            **copy.deepcopy(CONTEXTS[context]))  # some filters change their subject
    except Exception as error:  # whatever it is, ours must be an error too
        case["error"] = True
        if type(error) is jinja2.exceptions.TemplateError:
            case["message"] = str(error)
    return case


def main():
    environment = make_environment()
    sources = [("values", "{{ " + line + " }}") for line in EXPRESSIONS.replace("\\\nb'", "\\\0b'").split("\n")]
    sources = [(context, source.replace("\0", "\n")) for context, source in sources]
    cases = [render(environment, template, context) for context, template in sources + TEMPLATES]
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    contexts = json.dumps(CONTEXTS, ensure_ascii=True)
    path = pathlib.Path(__file__).with_name("jinja_cases.json")
    path.write_text(f'{{"contexts": {contexts},\n"cases": [\n{lines}\n]}}\n')
    print(f"{len(cases)} cases, {sum('error' in case for case in cases)} of them errors")


if __name__ == "__main__":
    main()
