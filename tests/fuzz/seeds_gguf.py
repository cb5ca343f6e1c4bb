"""GGUF files with tensors of every type: whole models, and single tensors.

What breaks readers of the format is in tests/model/data/gguf.
"""

import random
import struct

TEXT, ARRAY, U32, I32, FLOAT = 8, 9, 4, 5, 6
# Type -> its number in the format, and the values and bytes of a block.
TYPES = {
    "f32": (0, 1, 4), "f16": (1, 1, 2), "bf16": (30, 1, 2), "q4_0": (2, 32, 18),
    "q4_1": (3, 32, 20), "q5_0": (6, 32, 22), "q5_1": (7, 32, 24), "q8_0": (8, 32, 34),
    "q2_k": (10, 256, 84), "q3_k": (11, 256, 110), "q4_k": (12, 256, 144),
    "q5_k": (13, 256, 176), "q6_k": (14, 256, 210), "iq4_nl": (20, 32, 18),
    "iq4_xs": (23, 256, 136), "mxfp4": (39, 32, 17),
}
INNER, HEADS, HEAD_DIM, TOKENS = 64, 2, 16, 260


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(value)) + value


def array(kind, elements):
    return struct.pack("<IQ", kind, len(elements)) + b"".join(elements)


class File:
    """Writes keys and tensors in the order in which they were given."""

    def __init__(self):
        self.keys, self.tensors, self.data = [], [], b""

    def key(self, name, kind, value):
        self.keys.append(text(name) + struct.pack("<I", kind) + value)

    def tensor(self, name, dimensions, kind, data):
        self.data += bytes(-len(self.data) % 32)
        self.tensors.append(text(name) + struct.pack("<I", len(dimensions)) +
                            struct.pack(f"<{len(dimensions)}Q", *dimensions) +
                            struct.pack("<IQ", kind, len(self.data)))
        self.data += data

    def bytes(self):
        out = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.keys))
        out += b"".join(self.keys) + b"".join(self.tensors)
        return out + bytes(-len(out) % 32) + self.data


def blocks(kind, values, draw):
    """Values of the type: small plain numbers, or blocks of any bytes with any scales."""
    _, block_values, block_bytes = TYPES[kind]
    if block_values > 1:
        return draw.randbytes(values // block_values * block_bytes)
    code = {"f32": "<f", "f16": "<e"}.get(kind)
    if code:
        return b"".join(struct.pack(code, i % 7 / 64) for i in range(values))
    return b"\x00\x3c" * values


def byte_spellings():
    """The characters that stand for the 256 bytes in byte-level vocabularies."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def describe(out, architecture, hidden):
    out.key("general.architecture", TEXT, text(architecture))
    sizes = {"block_count": 1, "context_length": 256, "embedding_length": hidden,
             "feed_forward_length": INNER, "attention.head_count": HEADS,
             "attention.head_count_kv": 1, "attention.key_length": HEAD_DIM,
             "attention.value_length": HEAD_DIM}
    if architecture == "llama":
        sizes |= {"rope.dimension_count": HEAD_DIM, "vocab_size": TOKENS}
    for name, value in sizes.items():
        out.key(f"{architecture}.{name}", U32, struct.pack("<I", value))
    out.key(f"{architecture}.attention.layer_norm_rms_epsilon", FLOAT, struct.pack("<f", 1e-6))
    out.key(f"{architecture}.rope.freq_base", FLOAT, struct.pack("<f", 1e4))


def byte_level(out):
    tokens = byte_spellings() + ["ab", "abc", "<|im_end|>", "<think>"]
    out.key("tokenizer.ggml.model", TEXT, text("gpt2"))
    out.key("tokenizer.ggml.pre", TEXT, text("qwen2"))
    out.key("tokenizer.ggml.merges", ARRAY, array(TEXT, [text("a b"), text("ab c")]))
    out.key("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text(token) for token in tokens]))
    types = [1] * 258 + [3, 4]
    out.key("tokenizer.ggml.token_type", ARRAY, array(I32, [struct.pack("<i", t) for t in types]))
    out.key("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", 258))


def sentence_piece(out):
    tokens = ["<s>"] + [f"<0x{byte:02X}>" for byte in range(256)] + ["a", "\u2581a", "aa"]
    types = [3] + [6] * 256 + [1] * 3
    out.key("tokenizer.ggml.model", TEXT, text("llama"))
    out.key("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text(token) for token in tokens]))
    scores = [0.0] * 257 + [-1.0, -2.0, -3.5]
    out.key("tokenizer.ggml.scores", ARRAY, array(FLOAT, [struct.pack("<f", s) for s in scores]))
    out.key("tokenizer.ggml.token_type", ARRAY, array(I32, [struct.pack("<i", t) for t in types]))
    for name in ("bos", "eos"):
        out.key(f"tokenizer.ggml.{name}_token_id", U32, struct.pack("<I", 0))


def weights(out, architecture, hidden, kinds, draw):
    """`kinds`: the types of the matrices, which take turns."""
    shapes = {
        "token_embd": (hidden, TOKENS), "output_norm": (hidden,), "blk.0.attn_norm": (hidden,),
        "blk.0.ffn_norm": (hidden,), "blk.0.attn_q": (hidden, HEADS * HEAD_DIM),
        "blk.0.attn_k": (hidden, HEAD_DIM), "blk.0.attn_v": (hidden, HEAD_DIM),
        "blk.0.attn_output": (HEADS * HEAD_DIM, hidden), "blk.0.ffn_gate": (hidden, INNER),
        "blk.0.ffn_up": (hidden, INNER), "blk.0.ffn_down": (INNER, hidden),
    }
    if architecture == "qwen3":
        shapes |= {"blk.0.attn_q_norm": (HEAD_DIM,), "blk.0.attn_k_norm": (HEAD_DIM,)}
    for i, (name, shape) in enumerate(shapes.items()):
        kind = "f32" if len(shape) == 1 else kinds[i % len(kinds)]
        if shape[0] % TYPES[kind][1] != 0:
            kind = "q8_0"
        values = shape[0] * (shape[1] if len(shape) > 1 else 1)
        out.tensor(f"{name}.weight", shape, TYPES[kind][0], blocks(kind, values, draw))


def model(architecture, hidden, kinds, draw):
    out = File()
    describe(out, architecture, hidden)
    (byte_level if architecture == "qwen3" else sentence_piece)(out)
    out.key("tokenizer.chat_template", TEXT, text("{{ messages[0].content }}"))
    weights(out, architecture, hidden, kinds, draw)
    return out.bytes()


def single(kind, data):
    out = File()
    number, block_values, block_bytes = TYPES[kind]
    rows = len(data) // block_bytes
    out.tensor("t", (block_values, rows) if block_values > 1 else (rows,), number, data)
    return out.bytes()


def gguf():
    draw = random.Random(1)
    seeds = {
        "ok-qwen3-of-small-blocks": model("qwen3", 32, ["q4_0", "q4_1", "q5_0", "iq4_nl"], draw),
        "ok-llama-of-small-blocks": model("llama", 32, ["q8_0", "q5_1", "bf16", "f16"], draw),
        "ok-qwen3-of-large-blocks": model(
            "qwen3", 256, ["q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs"], draw),
    }
    for kind, (_, _, block_bytes) in TYPES.items():
        seeds[f"tensor-of-{kind}-any-bits"] = single(kind, draw.randbytes(4 * block_bytes))
        seeds[f"tensor-of-{kind}-all-ones"] = single(kind, b"\xff" * block_bytes)
    return seeds
