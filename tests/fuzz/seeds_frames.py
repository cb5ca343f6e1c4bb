"""Messages that break readers of MessagePack or of frames."""

import struct

PING, GENERATE, CHUNK_PUT, DETOKENIZE = 0, 2, 4, 22
REQUEST_ID = bytes(range(16))


def joined(*frames):
    return b"".join(struct.pack("<I", len(frame)) + frame for frame in frames)


def header(kind, magic=b"CAS1", version=1, flags=0):
    return magic + struct.pack("<BBH", version, kind, flags)


def message(kind, body, *arrays):
    return joined(header(kind), REQUEST_ID, body, *arrays)


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return b"\xda" + struct.pack(">H", len(value)) + value


def mapping(*pairs):
    return bytes([0x80 + len(pairs)]) + b"".join(text(key) + value for key, value in pairs)


def generate(*pairs):
    return message(GENERATE, mapping(("prompt", text("Hi")), *pairs))


def u64(value):
    return b"\xcf" + struct.pack(">Q", value)


def i64(value):
    return b"\xd3" + struct.pack(">q", value)


def double(value):
    return b"\xcb" + struct.pack(">d", value)


def frames():
    ids = struct.pack("<3i", 1, 2, 3)
    nested = text("deep")
    return {
        "ok-ping": message(PING, mapping()),
        "ok-prompt": generate(("max_tokens", b"\x05")),
        "ok-unknown-key": message(PING, mapping(("unheard_of", b"\xc0"))),
        "ok-float-where-whole-is-no-matter": generate(("sampling",
                                                       mapping(("temperature", b"\x01")))),
        "ok-token-ids": message(DETOKENIZE, mapping(("token_ids", b"\x00")), ids),
        "no-frames": b"",
        "one-frame": joined(header(PING)),
        "length-beyond-input": struct.pack("<I", 0xFFFFFFFF) + header(PING),
        "frames-4097": joined(header(PING), REQUEST_ID, mapping(), *[b""] * 4094),
        "header-of-7-bytes": joined(header(PING)[:7], REQUEST_ID, mapping()),
        "magic-of-another": joined(header(PING, magic=b"CAS2"), REQUEST_ID, mapping()),
        "version-0": joined(header(PING, version=0), REQUEST_ID, mapping()),
        "version-255": joined(header(PING, version=255), REQUEST_ID, mapping()),
        "type-255": joined(header(255), REQUEST_ID, mapping()),
        "flags-set": joined(header(PING, flags=0x8000), REQUEST_ID, mapping()),
        "request-id-of-15-bytes": joined(header(PING), REQUEST_ID[:15], mapping()),
        "body-empty": message(PING, b""),
        "body-is-a-number": message(PING, b"\x01"),
        "body-goes-on-behind-map": message(PING, mapping() + b"\x00"),
        "map-of-4-billion": message(PING, b"\xdf\xff\xff\xff\xff"),
        "map-of-65535": message(PING, b"\xde\xff\xff" + b"\xa1a\xc0" * 300),
        "array-of-4-billion": message(PING, mapping(("a", b"\xdd\xff\xff\xff\xff"))),
        "array-of-2-million-nils": message(PING, mapping(("a", b"\xdd\x00\x20\x00\x00"))),
        "string-of-4-gib": message(PING, mapping(("a", b"\xdb\xff\xff\xff\xff"))),
        "bytes-of-4-gib": message(PING, mapping(("a", b"\xc6\xff\xff\xff\xff"))),
        "string-one-beyond-end": message(PING, b"\x81\xa1a\xa5abcd"),
        "ext-of-4-gib": message(PING, mapping(("a", b"\xc9\xff\xff\xff\xff\x01"))),
        "ok-ext-in-unknown-key": message(PING, mapping(("a", b"\xd6\xff\x00\x00\x00\x00"))),
        "reserved-byte-c1": message(PING, mapping(("a", b"\xc1"))),
        "arrays-10000-deep": message(PING, mapping(("a", b"\x91" * 10000 + b"\xc0"))),
        "maps-10000-deep": message(PING, b"\x81\xa1a" * 10000 + b"\xc0"),
        "maps-17-deep": message(PING, (b"\x81" + nested) * 17 + b"\xc0"),
        "key-is-a-number": message(PING, b"\x81\x01\x02"),
        "key-is-an-array": message(PING, b"\x81\x90\x02"),
        "key-twice": message(PING, b"\x82\xa1a\x01\xa1a\x02"),
        "key-that-is-no-utf8-twice": message(PING, b"\x82\xa1\xff\x01\xa1\xff\x02"),
        "prompt-is-no-utf8": message(GENERATE, mapping(("prompt", text(b"\xed\xa0\x80")))),
        "prompt-is-a-number": message(GENERATE, mapping(("prompt", b"\x01"))),
        "max-tokens-2-63": generate(("max_tokens", u64(1 << 63))),
        "max-tokens-minus-1": generate(("max_tokens", b"\xff")),
        "max-tokens-least": generate(("max_tokens", i64(-(1 << 63)))),
        "max-tokens-is-a-fraction": generate(("max_tokens", double(1.5))),
        "temperature-nan": generate(("sampling", mapping(("temperature", double(float("nan")))))),
        "temperature-infinite": generate(("sampling",
                                          mapping(("temperature", double(float("inf")))))),
        "bool-is-2": generate(("stream", b"\x02")),
        "type-name-unknown": message(CHUNK_PUT, mapping(("type", text("CONTEXT\0")),
                                                        ("text", text("x")))),
        "array-number-beyond-frames": message(DETOKENIZE, mapping(("token_ids", b"\x01")), ids),
        "array-number-2-32": message(DETOKENIZE, mapping(("token_ids", u64(1 << 32))), ids),
        "array-number-negative": message(DETOKENIZE, mapping(("token_ids", b"\xff")), ids),
        "array-of-11-bytes": message(DETOKENIZE, mapping(("token_ids", b"\x00")), ids[:11]),
        "grammar-without-kind": generate(("grammar", mapping(("schema", text("{}"))))),
    }
