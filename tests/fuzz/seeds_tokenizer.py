"""tokenizer.json files, with texts after a NUL."""

import copy
import json

from seeds_gguf import byte_spellings

SPLIT = r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def added(number, content, **more):
    return {"id": number, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": True} | more


def byte_level():
    vocabulary = {spelling: i for i, spelling in enumerate(byte_spellings())}
    merges = [["l", "l"], ["H", "e"], ["ll", "o"], ["\u0120", "i"]]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [added(300, "<|im_end|>")], "normalizer": {"type": "NFC"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                split(SPLIT), {"type": "ByteLevel", "add_prefix_space": False,
                               "trim_offsets": True, "use_regex": False}]},
            "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}


def sentence_piece():
    vocabulary = {"<unk>": 0, "<s>": 1, "</s>": 2}
    vocabulary |= {f"<0x{byte:02X}>": byte + 3 for byte in range(256)}
    for piece in ["\u2581", "H", "e", "l", "o", "\u2581H", "ll", "llo"]:
        vocabulary[piece] = len(vocabulary)
    return {"version": "1.0",
            "added_tokens": [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Prepend", "prepend": "\u2581"}, replace({"String": " "}, "\u2581")]},
            "pre_tokenizer": None, "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                           {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [], "special_tokens": {
                    "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
            "decoder": {"type": "Sequence", "decoders": [
                replace({"String": "\u2581"}, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True,
                      "byte_fallback": True, "vocab": vocabulary,
                      "merges": ["\u2581 H", "l l", "ll o"]}}


def written(tokenizer):
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


def changed(make, place, value):
    """The tokenizer with another value at "a/b/0"."""
    tokenizer = make()
    *path, last = [int(key) if key.isdigit() else key for key in place.split("/")]
    inner = tokenizer
    for key in path:
        inner = inner[key]
    inner[last] = copy.deepcopy(value)
    return written(tokenizer)


def cut_by(pattern, text="", **more):
    return changed(byte_level, "pre_tokenizer/pretokenizers/0", split(pattern, **more)) + text


def vocabulary_of(*entries):
    return changed(byte_level, "model/vocab", byte_level()["model"]["vocab"] | dict(entries))


def tokenizer():
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first",
                 "split": True}
    seeds = {
        "ok-byte-level": written(byte_level()) + "\0Hello  it's 42\r\n",
        "ok-sentence-piece": written(sentence_piece()) + "\0Hello \u00e9\U0001F600",
        "ok-metaspace": changed(sentence_piece, "pre_tokenizer", metaspace),
        "ok-merged-with-next": cut_by(r"\s", behavior="MergedWithNext"),
        "ok-removed-inverted": cut_by(r"\w+", behavior="Removed", invert=True),
        "ok-added-tokens-of-spaces": changed(byte_level, "added_tokens", [
            added(300, " a", lstrip=True, rstrip=True), added(301, "a a", single_word=True),
            added(302, "\u0301", normalized=True, special=False)]) + "\0 a a  a e\u0301 a",
        "ok-text-of-one-letter": written(byte_level()) + "\0" + "l" * 5000,
        "ok-text-of-marks": written(byte_level()) + "\0e" + "\u0301\u0316" * 2000,
    }
    return seeds | malformed() | hostile()


def malformed():
    return {
        "empty": "",
        "an-array": "[]",
        "objects-65-deep": '{"model":' * 65 + "1" + "}" * 65,
        "model-missing": "{}",
        "field-of-8000-bytes": changed(byte_level, "x" * 8000, 1),
        "model-unknown": changed(byte_level, "model/type", "WordPiece"),
        "ids-negative": vocabulary_of(("new", -1)),
        "ids-2-31": vocabulary_of(("new", 1 << 31)),
        "ids-fractions": vocabulary_of(("new", 1.5)),
        "ids-texts": vocabulary_of(("new", "1")),
        "ids-twice": vocabulary_of(("new", 5)),
        "vocabulary-is-an-array": changed(byte_level, "model/vocab", [["a", -1.0]]),
        "merges-of-unknown": changed(byte_level, "model/merges", [["q", "zz"]]),
        "merges-of-three": changed(byte_level, "model/merges", [["l", "l", "l"]]),
        "merges-without-space": changed(byte_level, "model/merges", ["ll"]),
        "merges-of-two-spaces": changed(byte_level, "model/merges", ["l  l"]),
        "merges-empty-half": changed(byte_level, "model/merges", [["", "l"]]),
        "merges-is-a-number": changed(byte_level, "model/merges", 1),
        "added-id-negative": changed(byte_level, "added_tokens/0/id", -1),
        "added-id-2-21": changed(byte_level, "added_tokens/0/id", 1 << 21),
        "added-id-of-another": changed(byte_level, "added_tokens/0/id", 5),
        "added-content-empty": changed(byte_level, "added_tokens/0/content", ""),
        "added-content-a-number": changed(byte_level, "added_tokens/0/content", 1),
        "ok-unknown-token-missing": changed(sentence_piece, "model/unk_token", "<none>"),
        "byte-token-with-a-sign": changed(
            sentence_piece, "model/vocab",
            {("<0x-1>" if key == "<0x0A>" else key): value
             for key, value in sentence_piece()["model"]["vocab"].items()}) + "\0\n",
        "template-id-beyond": changed(
            sentence_piece, "post_processor/special_tokens/<s>/ids", [1 << 30]),
        "template-token-missing": changed(sentence_piece, "post_processor/special_tokens", {}),
        "decoder-unknown": changed(byte_level, "decoder", {"type": "WordPiece"}),
        "normalizer-charsmap-of-2-bytes": changed(
            byte_level, "normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAA="}),
        "prefix-of-words": changed(byte_level, "model/continuing_subword_prefix", "##"),
        "dropout": changed(byte_level, "model/dropout", 0.5),
    }


def hostile():
    nested = {"type": "NFC"}
    for _ in range(50):
        nested = {"type": "Sequence", "normalizers": [nested]}
    letters = [replace({"String": "a"}, "a" * 100)] * 20
    return {
        "regex-open": cut_by("("),
        "regex-catastrophic": cut_by("(a*)*b|(a+)+c", "\0" + "a" * 3000),
        "regex-backreferences": cut_by(r"(.*)\1\1\1x", "\0" + "ab" * 2000),
        "regex-parentheses-1000-deep": cut_by("(" * 1000 + "a" + ")" * 1000),
        "regex-recursion": cut_by(r"(?R)a|b"),
        "regex-callout": cut_by(r"(?C1)a"),
        "regex-of-commands": cut_by(r"(*LIMIT_MATCH=4294967295)(a*)*b"),
        "regex-repeats-multiplied": cut_by("((a{1,999}){1,999}){1,999}"),
        "regex-of-20000-bytes": cut_by("a|" * 10_000 + "b"),
        "normalizers-nested": changed(byte_level, "normalizer", nested),
        "normalizers-that-multiply": changed(byte_level, "normalizer", {
            "type": "Sequence", "normalizers": letters}) + "\0" + "a" * 100,
        "normalizer-replaces-nothing": changed(
            byte_level, "normalizer", replace({"String": ""}, "aaaa")),
        "ok-normalizer-replaces-regex-of-nothing": changed(
            byte_level, "normalizer", replace({"Regex": "x*"}, "aaaa")),
        "prepends-20000-bytes": changed(
            byte_level, "normalizer", {"type": "Prepend", "prepend": "a" * 20_000}),
        "ok-piece-of-20000-bytes": vocabulary_of(("q" * 20_000, 400)),
    }
