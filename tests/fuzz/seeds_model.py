"""safetensors files, indexes of shards, and configurations."""

import json
import struct


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def tensors(table, data=b"", claim=None):
    table = table if isinstance(table, (str, bytes)) else json.dumps(table, separators=(",", ":"))
    table = table if isinstance(table, bytes) else table.encode()
    return struct.pack("<Q", len(table) if claim is None else claim) + table + data


def index(weight_map):
    return json.dumps({"metadata": {"total_size": 8}, "weight_map": weight_map})


def safetensors():
    data = bytes(range(32))
    two = {"__metadata__": {"format": "pt"}, "a": entry("F32", [2, 3], 0, 24),
           "b": entry("BF16", [4], 24, 32)}
    shard = "model-00001-of-00002.safetensors"

    def changed(**entries):
        return tensors(two | entries, data)

    return {
        "ok-two-tensors": tensors(two, data),
        "ok-no-tensors": tensors("{}"),
        "ok-empty-tensor": tensors({"a": entry("F16", [0, 1 << 40], 0, 0)}),
        "ok-types-that-models-lack": tensors({"a": entry("F8_E4M3", [4], 0, 4),
                                              "b": entry("F6_E2M3", [4], 4, 7),
                                              "c": entry("C64", [], 7, 15)}, data[:15]),
        "ok-header-with-spaces-behind": tensors(json.dumps(two) + " " * 40, data),
        "ok-index": index({"a": shard}),
        "empty": "",
        "length-cut": b"\x02\0\0",
        "length-2-64-less-1": tensors("{}", claim=(1 << 64) - 1),
        "length-wraps-with-8": tensors("{}", claim=(1 << 64) - 8),
        "length-beyond-limit": tensors("{}", claim=(1 << 24) + 1),
        "length-beyond-file": tensors("{}", claim=3),
        "length-0": tensors("", claim=0),
        "header-begins-with-space": tensors(" {}"),
        "header-is-an-array": tensors("[]"),
        "header-is-no-utf8": tensors(b'{"\xff":1}'),
        "header-has-a-nul": tensors('{"a\0":1}'),
        "header-of-arrays-20000-deep": tensors('{"a":' + "[" * 20_000),
        "header-of-objects-4-deep": tensors('{"a":{"b":{"c":{}}}}'),
        "name-twice": tensors('{"a":%s,"a":%s}' % ((json.dumps(entry("U8", [1], 0, 1)),) * 2),
                              b"x"),
        "name-empty": tensors({"": entry("U8", [1], 0, 1)}, b"x"),
        "name-of-513-bytes": tensors({"n" * 513: entry("U8", [1], 0, 1)}, b"x"),
        "name-with-line-end": tensors({"a\n": entry("U8", [1], 0, 1)}, b"x"),
        "offsets-negative": changed(b=entry("BF16", [4], -8, 0)),
        "offsets-reversed": changed(b=entry("BF16", [4], 32, 24)),
        "offsets-overlap": changed(b=entry("BF16", [4], 16, 24)),
        "offsets-the-same": changed(c=entry("BF16", [4], 24, 32)),
        "offsets-leave-a-gap": tensors({"a": entry("U8", [1], 1, 2)}, b"xx"),
        "offsets-leave-the-end": tensors(two, data + b"x"),
        "offsets-beyond-file": changed(b=entry("BF16", [8], 24, 40)),
        "offsets-2-63": changed(b=entry("BF16", [4], 1 << 63, (1 << 63) + 8)),
        "offsets-fractions": changed(b=entry("BF16", [4], 24.0, 32.0)),
        "offsets-three": changed(b=entry("BF16", [4], 24, 32) | {"data_offsets": [24, 32, 40]}),
        "shape-wraps-to-0": tensors({"a": entry("F32", [1 << 32, 1 << 32], 0, 0)}),
        "shape-times-bits-wraps": tensors({"a": entry("F32", [1 << 59], 0, 0)}),
        "ok-shape-of-0-times-2-40": tensors({"a": entry("F32", [0, 1 << 40], 0, 0)}),
        "shape-negative": tensors({"a": entry("F32", [-1, -8], 0, 32)}, data),
        "shape-of-9": tensors({"a": entry("U8", [1] * 9, 0, 1)}, b"x"),
        "shape-of-half-a-byte": tensors({"a": entry("F4", [1], 0, 1)}, b"x"),
        "type-unknown": tensors({"a": entry("F128", [1], 0, 16)}, data[:16]),
        "key-more": tensors({"a": entry("U8", [1], 0, 1) | {"path": "x"}}, b"x"),
        "metadata-of-numbers": tensors({"__metadata__": {"a": 1}}),
        "index-path-upwards": index({"a": "../" + shard}),
        "index-path-absolute": index({"a": "/etc/passwd"}),
        "index-path-with-nul": '{"weight_map":{"a":"model\\u0000.safetensors"}}',
        "index-shard-missing": index({"a": "model-00002-of-00002.safetensors"}),
        "index-tensor-missing": index({"b": shard}),
        "index-map-empty": index({}),
        "index-map-of-numbers": index({"a": 1}),
        "index-name-twice": '{"weight_map":{"a":"%s","a":"%s"}}' % (shard, shard),
        "index-60-deep": '{"weight_map":' * 60 + "{}" + "}" * 60,
    }


# The smallest configuration that is accepted.
MINIMAL = {"model_type": "llama", "hidden_act": "silu", "num_hidden_layers": 3, "hidden_size": 64,
           "intermediate_size": 160, "num_attention_heads": 4, "vocab_size": 2048,
           "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 10000.0}


def config():
    minimal = MINIMAL
    v5 = {key: value for key, value in minimal.items() if key != "rope_theta"} | {
        "model_type": "qwen3", "head_dim": 16, "num_key_value_heads": 2, "dtype": "bfloat16",
        "rope_parameters": {"rope_theta": 1e6, "rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 1024},
        "layer_types": ["full_attention"] * 3, "sliding_window": None}
    llama3 = minimal | {"rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024}}
    generation = {"eos_token_id": [2, 3], "bos_token_id": 1, "do_sample": True,
                  "temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05}

    def changed(**keys):
        return json.dumps(minimal | keys)

    def scaled(**keys):
        return json.dumps(minimal | {"rope_scaling": llama3["rope_scaling"] | keys})

    def in_parts(text, model_type="mistral3"):
        return json.dumps({"model_type": model_type, "text_config": text, "vision_config": {}})

    ministral = minimal | {"model_type": "ministral3", "rope_scaling": {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024,
        "llama_4_scaling_beta": 0.1}}
    small_gemma = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    olmo3 = v5 | {"model_type": "olmo3", "sliding_window": 64, "rope_parameters": {
        "full_attention": v5["rope_parameters"], "sliding_attention": {"rope_theta": 1e6}}}

    def with_beta(beta):
        rope = ministral["rope_scaling"] | {"llama_4_scaling_beta": beta}
        return json.dumps(ministral | {"rope_scaling": rope})

    return {
        "ok-minimal": json.dumps(minimal),
        "ok-ministral3": json.dumps(ministral),
        "ok-olmo3": json.dumps(olmo3),
        "ok-text-part-of-mistral3": in_parts(ministral),
        "ok-text-part-of-gemma3": in_parts(small_gemma, "gemma3"),
        "text-part-a-list": in_parts([minimal]),
        "text-part-of-another-model": in_parts(minimal, "qwen2_vl"),
        "text-part-in-a-text-part": in_parts({"model_type": "mistral3", "text_config": minimal}),
        "text-part-of-gemma3-without-sizes": in_parts({}, "gemma3"),
        "query-scale-a-text": with_beta("0.1"),
        "query-scale-1e9": with_beta(1e9),
        "query-scale-negative": with_beta(-0.1),
        "ok-dialect-of-v5": json.dumps(v5) + "\0" + json.dumps(generation),
        "ok-llama3-scaling": json.dumps(llama3),
        "ok-window": changed(model_type="mistral", sliding_window=128),
        "empty": "",
        "an-array": "[]",
        "no-theta": json.dumps({k: v for k, v in minimal.items() if k != "rope_theta"}),
        "heads-0": changed(num_attention_heads=0),
        "heads-negative": changed(num_attention_heads=-4),
        "heads-2-32": changed(num_attention_heads=1 << 32),
        "heads-shared-by-0": changed(num_key_value_heads=0),
        "layers-1e9": changed(num_hidden_layers=1_000_000_000),
        "hidden-a-text": changed(hidden_size="64"),
        "hidden-a-fraction": changed(hidden_size=64.5),
        "vocabulary-2-31": changed(vocab_size=1 << 31),
        "context-2-63": changed(max_position_embeddings=1 << 63),
        "epsilon-nan": json.dumps(minimal).replace("1e-06", "NaN"),
        "epsilon-1e999": json.dumps(minimal).replace("1e-06", "1e999"),
        "epsilon-0": changed(rms_norm_eps=0),
        "theta-negative": changed(rope_theta=-1),
        "factor-0": scaled(factor=0),
        "frequencies-equal": scaled(high_freq_factor=1.0),
        "type-of-rope-unknown": scaled(rope_type="dynamic"),
        "type-of-model-unknown": changed(model_type="bert"),
        "layer-types-too-many": changed(model_type="qwen3", layer_types=["full_attention"] * 600),
        "generation-ends-beyond-vocabulary": json.dumps(minimal) + '\0{"eos_token_id":4294967298}',
        "generation-temperature-negative":
            json.dumps(minimal) + '\0{"do_sample":true,"temperature":-1}',
        "generation-an-array": json.dumps(minimal) + "\0[]",
    }
