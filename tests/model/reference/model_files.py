"""Model files for the reference: safetensors and GGUF, and a tokenizer of the 256 bytes."""

import json
import struct

import numpy as np

GGUF_ALIGNMENT = 32
GGUF_F32, GGUF_BF16 = 0, 30
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5

SPECIAL_TOKENS = ["<|begin|>", "<|end|>"]


def round_to_bf16(values):
    """The nearest bf16 numbers, ties to even, as f32."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)


def bf16_bytes(values):
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()


def write_safetensors(path, tensors):
    """Writes tensors, whose values are bf16 numbers, as BF16."""
    header, data = {}, b""
    for name, values in sorted(tensors.items()):
        raw = bf16_bytes(values)
        header[name] = {
            "dtype": "BF16",
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def byte_spellings():
    """The spelling of each byte in byte-level vocabularies; printable bytes stay as they are."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spellings, extra = {}, 256
    for byte in range(256):
        if byte in plain:
            spellings[byte] = chr(byte)
        else:
            spellings[byte] = chr(extra)
            extra += 1
    return [spellings[byte] for byte in range(256)]


def write_tokenizer(path):
    vocabulary = byte_spellings() + SPECIAL_TOKENS
    document = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 256 + i,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for i, text in enumerate(SPECIAL_TOKENS)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel"},
        "model": {
            "type": "BPE",
            "vocab": {text: i for i, text in enumerate(vocabulary)},
            "merges": [],
        },
    }
    path.write_text(json.dumps(document, ensure_ascii=False, indent=0) + "\n")


class GgufWriter:
    """A GGUF file of version 3 with the keys of a byte tokenizer."""

    def __init__(self, architecture):
        self.architecture = architecture
        self.keys, self.tensors = [], []
        self.text("general.architecture", architecture)
        self.text("tokenizer.ggml.model", "gpt2")
        self.text("tokenizer.ggml.pre", "gpt-2")
        tokens = [self.string(text) for text in byte_spellings() + SPECIAL_TOKENS]
        self.array("tokenizer.ggml.tokens", STRING, tokens)
        types = [1] * 256 + [3] * len(SPECIAL_TOKENS)
        self.array("tokenizer.ggml.token_type", I32, [struct.pack("<i", t) for t in types])
        self.array("tokenizer.ggml.merges", STRING, [])
        self.add("tokenizer.ggml.bos_token_id", U32, struct.pack("<I", 256))
        self.add("tokenizer.ggml.eos_token_id", U32, struct.pack("<I", 257))
        self.add("tokenizer.ggml.add_bos_token", BOOL, b"\0")

    @staticmethod
    def string(text):
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    def add(self, key, kind, raw):
        self.keys.append(self.string(key) + struct.pack("<I", kind) + raw)

    def text(self, key, value):
        self.add(key, STRING, self.string(value))

    def array(self, key, kind, elements):
        head = struct.pack("<IQ", kind, len(elements))
        self.add(key, ARRAY, head + b"".join(elements))

    def whole(self, key, value):
        self.add(f"{self.architecture}.{key}", U32, struct.pack("<I", value))

    def number(self, key, value):
        self.add(f"{self.architecture}.{key}", F32, struct.pack("<f", value))

    def tensor(self, name, values, matrix_type):
        """Writes matrices in `matrix_type` and vectors in F32, as converters do."""
        values = np.asarray(values, np.float32)
        kind = matrix_type if values.ndim == 2 else GGUF_F32
        raw = values.astype("<f4").tobytes() if kind == GGUF_F32 else bf16_bytes(values)
        self.tensors.append((name, values.shape[::-1], kind, raw))

    def write(self, path):
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.keys))
        head += b"".join(self.keys)
        data = b""
        for name, shape, kind, raw in self.tensors:
            head += self.string(name) + struct.pack("<I", len(shape))
            head += b"".join(struct.pack("<Q", n) for n in shape)
            head += struct.pack("<IQ", kind, len(data))
            data += raw + b"\0" * (-len(raw) % GGUF_ALIGNMENT)
        path.write_bytes(head + b"\0" * (-len(head) % GGUF_ALIGNMENT) + data)
