#!/usr/bin/python3
"""Tiny random models of each family, as folders and GGUF files: make_family_models.py FOLDER.

Needs Debian's python3-numpy. What it writes is committed (tests/model/fixtures): nothing runs this
in a build or a test. What transformers computes for them: transformers_reference.py.
"""

import json
import pathlib
import sys

import numpy as np
from model_files import (
    GGUF_BF16,
    GGUF_F32,
    GgufWriter,
    round_to_bf16,
    write_safetensors,
    write_tokenizer,
)

VOCAB = 260  # two more than the tokenizer's: files are padded

COMMON = {
    "vocab_size": VOCAB,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "bos_token_id": 256,
    "eos_token_id": 257,
    "rope_theta": 10000.0,
    "torch_dtype": "bfloat16",
}

GEMMA = {
    **COMMON,
    "model_type": "gemma3_text",
    "hidden_size": 40,
    "intermediate_size": 40,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "rms_norm_eps": 1e-6,
    "hidden_activation": "gelu_pytorch_tanh",
}
del GEMMA["hidden_act"]

PHI = {
    **COMMON,
    "model_type": "phi3",
    "hidden_size": 24,  # heads of 8: the parts of the fused tensors begin within a panel
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "original_max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}

MODELS = {
    "granite": {
        **COMMON,
        "model_type": "granite",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "tie_word_embeddings": True,
        "embedding_multiplier": 12.0,
        "attention_multiplier": 0.15625,
        "residual_multiplier": 0.22,
        "logits_scaling": 0.8,
    },
    "smollm3": {
        **COMMON,
        "model_type": "smollm3",
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": 5,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "rope_theta": 5000000.0,
        "no_rope_layer_interval": 4,
        "no_rope_layers": [1, 1, 1, 0, 1],
        "use_sliding_window": False,
        "tie_word_embeddings": True,
    },
    "olmo2": {
        **COMMON,
        "model_type": "olmo2",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rope_theta": 500000.0,
        "tie_word_embeddings": False,
    },
    "phi3": {**PHI, "sliding_window": 48},
    "phi3-longrope": {
        **PHI,
        "original_max_position_embeddings": 64,
        "max_position_embeddings": 512,
        "sliding_window": None,
        "tie_word_embeddings": True,
        "partial_rotary_factor": 0.75,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1.0, 1.1, 1.3],
            "long_factor": [1.5, 3.25, 7.7],
        },
    },
    "gemma3": {
        **GEMMA,
        "num_hidden_layers": 7,  # one global layer of the default pattern
        "query_pre_attn_scalar": 16,
        "sliding_window": 24,
        "rope_theta": 1000000.0,
        "rope_local_base_freq": 10000.0,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
    },
    # Keys of Gemma 2 and of the format of transformers 5; GGUF does not have the query scalar.
    "gemma3-caps": {
        **{key: GEMMA[key] for key in GEMMA if key != "rope_theta"},
        "num_hidden_layers": 3,
        "query_pre_attn_scalar": 20,
        "sliding_window": 33,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 2.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0},
        },
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 5.0,
    },
}
WITHOUT_GGUF = {"gemma3-caps"}


def shapes(config):
    """Name -> shape of every tensor, as in checkpoints of the family."""
    family = config["model_type"]
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    q, kv = heads * head_dim, kv_heads * head_dim
    all_shapes = {"model.embed_tokens.weight": (VOCAB, hidden), "model.norm.weight": (hidden,)}
    if config.get("tie_word_embeddings") is False:
        all_shapes["lm_head.weight"] = (VOCAB, hidden)
    layer = {
        "self_attn.o_proj": (hidden, q),
        "mlp.down_proj": (hidden, inner),
        "post_attention_layernorm": (hidden,),
    }
    if family == "phi3":
        layer["self_attn.qkv_proj"] = (q + 2 * kv, hidden)
        layer["mlp.gate_up_proj"] = (2 * inner, hidden)
    else:
        layer["self_attn.q_proj"] = (q, hidden)
        layer["self_attn.k_proj"] = layer["self_attn.v_proj"] = (kv, hidden)
        layer["mlp.gate_proj"] = layer["mlp.up_proj"] = (inner, hidden)
    if family != "olmo2":
        layer["input_layernorm"] = (hidden,)
    if family in ("olmo2", "gemma3_text"):
        layer["post_feedforward_layernorm"] = (hidden,)
        whole = family == "olmo2"
        layer["self_attn.q_norm"] = (q if whole else head_dim,)
        layer["self_attn.k_norm"] = (kv if whole else head_dim,)
    if family == "gemma3_text":
        layer["pre_feedforward_layernorm"] = (hidden,)
    for index in range(config["num_hidden_layers"]):
        for name, shape in layer.items():
            all_shapes[f"model.layers.{index}.{name}.weight"] = shape
    return all_shapes


def random_tensors(config, random):
    """Values large enough for every part of the model to affect the logits."""
    tensors = {}
    for name, shape in shapes(config).items():
        if len(shape) == 1:
            centre = 0.0 if config["model_type"] == "gemma3_text" else 1.0
            values = centre + random.uniform(-0.4, 0.4, shape)
        elif name.endswith(("embed_tokens.weight", "lm_head.weight")):
            values = random.normal(0, 0.5, shape)
        else:
            values = random.normal(0, 1.6 / np.sqrt(shape[1]), shape)
        tensors[name] = round_to_bf16(values)
    return tensors


def interleaved(values, heads):
    """The rows in the order in which converters put them where llama.cpp rotates neighbours."""
    rows, width = values.shape
    halves = values.reshape(heads, 2, rows // heads // 2, width)
    return halves.swapaxes(1, 2).reshape(rows, width)


GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.qkv_proj": "attn_qkv",
    "input_layernorm": "attn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
GGUF_NORMS = {"post_attention_layernorm": "ffn_norm"}
GGUF_OUTPUT_NORMS = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GGUF_MODEL_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}


def gguf_name(name, has_output_norms):
    stem = name.removesuffix(".weight")
    if stem in GGUF_MODEL_NAMES:
        return GGUF_MODEL_NAMES[stem] + ".weight"
    _, _, layer, rest = stem.split(".", 3)
    norms = GGUF_OUTPUT_NORMS if has_output_norms else GGUF_NORMS
    return f"blk.{layer}.{norms.get(rest) or GGUF_NAMES[rest]}.weight"


def write_gguf_sizes(out, config):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = config.get("head_dim") or hidden // heads
    out.whole("block_count", config["num_hidden_layers"])
    out.whole("context_length", config["max_position_embeddings"])
    out.whole("embedding_length", hidden)
    out.whole("feed_forward_length", config["intermediate_size"])
    out.whole("attention.head_count", heads)
    out.whole("attention.head_count_kv", config["num_key_value_heads"])
    out.number("attention.layer_norm_rms_epsilon", config["rms_norm_eps"])
    out.number("rope.freq_base", config["rope_theta"])
    if config.get("head_dim"):
        out.whole("attention.key_length", head_dim)
        out.whole("attention.value_length", head_dim)
    else:
        out.whole("rope.dimension_count", int(head_dim * config.get("partial_rotary_factor", 1)))


def write_gguf_family(out, config):
    family = config["model_type"]
    if family == "granite":
        out.number("attention.scale", config["attention_multiplier"])
        out.number("embedding_scale", config["embedding_multiplier"])
        out.number("residual_scale", config["residual_multiplier"])
        out.number("logit_scale", config["logits_scaling"])
    if family == "gemma3":
        raise ValueError("the family is gemma3_text")
    if family == "gemma3_text":
        out.whole("attention.sliding_window", config["sliding_window"])
        out.text("gemma3.rope.scaling.type", "linear")
        out.number("rope.scaling.factor", config["rope_scaling"]["factor"])
    if family == "phi3":
        out.whole("attention.sliding_window", config["sliding_window"] or 0)
        original = config["original_max_position_embeddings"]
        out.whole("rope.scaling.original_context_length", original)
        if "rope_scaling" in config:
            growth = config["max_position_embeddings"] / original
            factor = np.sqrt(1 + np.log(growth) / np.log(original))
            out.number("rope.scaling.attn_factor", factor)


def write_gguf(path, config, tensors, matrix_type):
    family = config["model_type"]
    out = GgufWriter(family.removesuffix("_text"))
    write_gguf_sizes(out, config)
    write_gguf_family(out, config)
    if family == "phi3" and "rope_scaling" in config:
        for kind in ("long", "short"):
            factors = config["rope_scaling"][kind + "_factor"]
            out.tensor(f"rope_factors_{kind}.weight", factors, matrix_type)
    for name, values in tensors.items():
        if family in ("granite", "smollm3"):
            if "q_proj" in name:
                values = interleaved(values, config["num_attention_heads"])
            if "k_proj" in name:
                values = interleaved(values, config["num_key_value_heads"])
        if family == "gemma3_text" and name.endswith("norm.weight"):
            values = values + np.float32(1)
        has_output_norms = family in ("olmo2", "gemma3_text")
        out.tensor(gguf_name(name, has_output_norms), values, matrix_type)
    out.write(path)


def write_model(folder, name, config):
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.Generator(np.random.PCG64(sum(name.encode())))
    tensors = random_tensors(config, random)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    write_tokenizer(folder / "tokenizer.json")
    write_safetensors(folder / "model.safetensors", tensors)
    if name not in WITHOUT_GGUF:
        write_gguf(folder / "model-bf16.gguf", config, tensors, GGUF_BF16)
        write_gguf(folder / "model-f32.gguf", config, tensors, GGUF_F32)


def main(folder):
    for name, config in MODELS.items():
        write_model(pathlib.Path(folder) / name, name, config)


if __name__ == "__main__":
    main(sys.argv[1])
