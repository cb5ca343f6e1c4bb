"""Gemma 4, whose layers differ: configurations, and GGUF files."""

import json
import math
import random
import struct

from seeds_gguf import ARRAY, FLOAT, HEADS, I32, TEXT, TYPES, U32, File, array, blocks, text
from seeds_model import MINIMAL

BOOL = 7
SLIDING, FULL = "sliding_attention", "full_attention"
# Six layers, of which the last three use K and V of the three before them.
SHARED = MINIMAL | {
    "model_type": "gemma4_text", "num_hidden_layers": 6, "layer_types": [SLIDING, FULL] * 3,
    "num_kv_shared_layers": 3, "use_double_wide_mlp": True, "head_dim": 16,
    "global_head_dim": 32, "sliding_window": 40, "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": 2048, "final_logit_softcapping": 30.0,
    "rope_parameters": {
        SLIDING: {"rope_type": "default", "rope_theta": 1e4},
        FULL: {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}}}
# Three layers without inputs of their own, of which the last one makes V of K.
ALIKE = MINIMAL | {
    "model_type": "gemma4_text", "layer_types": [SLIDING, SLIDING, FULL], "head_dim": 16,
    "global_head_dim": 32, "num_key_value_heads": 2, "num_global_key_value_heads": 1,
    "attention_k_eq_v": True, "hidden_size_per_layer_input": 0}
MIXTURE = ALIKE | {"enable_moe_block": True, "num_experts": 8, "top_k_experts": 2,
                   "moe_intermediate_size": 24}


def shared(**keys):
    return json.dumps(SHARED | keys)


def alike(**keys):
    return json.dumps(ALIKE | keys)


def mixture(**keys):
    return json.dumps(MIXTURE | keys)


def by_layer(layers):
    return alike(per_layer_config=layers)


def full_rope(**keys):
    ropes = SHARED["rope_parameters"]
    return shared(rope_parameters=ropes | {FULL: ropes[FULL] | keys})


def in_parts(config):
    return json.dumps({"model_type": "gemma4", "text_config": config, "vision_config": {},
                       "audio_config": None})


def taken():
    return {
        "ok-gemma4-shared": shared(),
        "ok-gemma4-shared-by-most": shared(num_kv_shared_layers=4),
        "ok-gemma4-v-made-of-k": alike(),
        "ok-gemma4-per-layer": by_layer({"2": {"head_dim": 24, "num_key_value_heads": 1}}),
        "ok-gemma4-moe": mixture(),
        "ok-gemma4-of-defaults": json.dumps(MINIMAL | {"model_type": "gemma4_text"}),
        "ok-gemma4-inputs-null": alike(hidden_size_per_layer_input=None),
        "ok-gemma4-last-layer-sliding": alike(layer_types=[SLIDING] * 3),
        "ok-gemma4-sees-ahead-in-images": alike(use_bidirectional_attention="vision"),
        "ok-text-part-of-gemma4": in_parts(SHARED),
        "ok-text-part-of-gemma4-of-defaults": in_parts({}),
    }


def refused():
    wide = {"head_dim": 24}
    return {
        "kv-shared-by-all": shared(num_kv_shared_layers=6),
        "kv-shared-negative": shared(num_kv_shared_layers=-1),
        "kv-shared-2-63": shared(num_kv_shared_layers=1 << 63),
        "kv-shared-a-text": shared(num_kv_shared_layers="3"),
        "kv-shared-without-a-source": shared(layer_types=[SLIDING] * 3 + [FULL, SLIDING, FULL]),
        "wide-mlp-a-number": shared(use_double_wide_mlp=2),
        "global-head-dim-0": shared(global_head_dim=0),
        "global-head-dim-20": shared(global_head_dim=20),
        "global-head-dim-520": shared(global_head_dim=520),
        "global-heads-0": alike(num_global_key_value_heads=0),
        "global-heads-3-of-4": alike(num_global_key_value_heads=3),
        "global-heads-8-of-4": alike(num_global_key_value_heads=8),
        "v-made-of-k-a-text": alike(attention_k_eq_v="true"),
        "per-layer-a-list": by_layer([wide]),
        "per-layer-a-number": by_layer({"2": 24}),
        "per-layer-3-of-3": by_layer({"3": wide}),
        "per-layer-negative": by_layer({"-1": wide}),
        "per-layer-2-64": by_layer({str(1 << 64): wide}),
        "per-layer-a-text": by_layer({"last": wide}),
        "per-layer-empty": by_layer({"": wide}),
        "per-layer-more-than-heads": by_layer({"2": {"sliding_window": 8}}),
        "per-layer-heads-of-12": by_layer({"2": {"head_dim": 12}}),
        "per-layer-unlike-in-a-type": by_layer({"0": wide}),
        "layer-inputs-negative": shared(hidden_size_per_layer_input=-8),
        "layer-inputs-of-12": shared(hidden_size_per_layer_input=12),
        "layer-inputs-2-31": shared(hidden_size_per_layer_input=1 << 31),
        "layer-inputs-fewer-than-tokens": shared(vocab_size_per_layer_input=2047),
        "layer-inputs-of-2-40-tokens": shared(vocab_size_per_layer_input=1 << 40),
        "moe-block-a-number": mixture(enable_moe_block=1),
        "moe-block-without-experts": mixture(num_experts=None),
        "moe-block-top-k-missing": mixture(top_k_experts=None),
        "moe-block-top-k-9-of-8": mixture(top_k_experts=9),
        "moe-block-size-missing": mixture(moe_intermediate_size=None),
        "proportional-share-0": full_rope(partial_rotary_factor=0),
        "proportional-share-2": full_rope(partial_rotary_factor=2),
        "proportional-factor-0": full_rope(factor=0),
        "sees-ahead": alike(use_bidirectional_attention=True),
        "sees-ahead-in-all": alike(use_bidirectional_attention="all"),
    }


def config():
    return taken() | refused()


HIDDEN, INNER, INPUT, TOKENS = 32, 64, 32, 262
SLIDING_DIM, FULL_DIM = 16, 32
EXPERTS, EXPERT_INNER = 2, 32


def u32(value):
    return U32, struct.pack("<I", value)


def f32(value):
    return FLOAT, struct.pack("<f", value)


def whole_numbers(*values):
    return ARRAY, array(I32, [struct.pack("<i", value) for value in values])


def flags(*values):
    return ARRAY, array(BOOL, [bytes([value]) for value in values])


# Three layers; the last one uses K and V of the second, and has an MLP of twice the width.
KEYS = {
    "block_count": u32(3), "context_length": u32(256), "embedding_length": u32(HIDDEN),
    "feed_forward_length": whole_numbers(INNER, INNER, 2 * INNER),
    "attention.head_count": u32(HEADS), "attention.head_count_kv": whole_numbers(1, 1, 1),
    "attention.key_length": u32(FULL_DIM), "attention.value_length": u32(FULL_DIM),
    "attention.key_length_swa": u32(SLIDING_DIM), "attention.value_length_swa": u32(SLIDING_DIM),
    "rope.dimension_count": u32(FULL_DIM), "rope.dimension_count_swa": u32(SLIDING_DIM),
    "rope.freq_base": f32(1e6), "rope.freq_base_swa": f32(1e4),
    "attention.layer_norm_rms_epsilon": f32(1e-6), "attention.sliding_window": u32(8),
    "attention.sliding_window_pattern": flags(1, 0, 0), "attention.shared_kv_layers": u32(1),
    "embedding_length_per_layer_input": u32(INPUT), "final_logit_softcapping": f32(30),
}
# One layer, of full attention.
MIXTURE_KEYS = KEYS | {
    "block_count": u32(1), "feed_forward_length": u32(INNER), "attention.head_count_kv": u32(1),
    "attention.sliding_window_pattern": flags(0), "attention.shared_kv_layers": u32(0),
    "embedding_length_per_layer_input": u32(0), "expert_count": u32(EXPERTS),
    "expert_used_count": u32(1), "expert_feed_forward_length": u32(EXPERT_INNER),
}


def begun(keys):
    """A file with keys; those that are None are left out."""
    out = File()
    out.key("general.architecture", TEXT, text("gemma4"))
    for name, typed in keys.items():
        if typed is not None:
            out.key(f"gemma4.{name}", *typed)
    return out


def tokenizer(out):
    tokens = ["<bos>", "<eos>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += ["a", "b", "ab", "<turn|>"]
    types = [3, 3] + [6] * 256 + [1, 1, 1, 4]
    out.key("tokenizer.ggml.model", TEXT, text("gemma4"))
    out.key("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text(token) for token in tokens]))
    out.key("tokenizer.ggml.token_type", *whole_numbers(*types))
    out.key("tokenizer.ggml.merges", ARRAY, array(TEXT, [text("a b")]))
    out.key("tokenizer.ggml.bos_token_id", *u32(0))
    out.key("tokenizer.ggml.eos_token_id", *u32(1))
    out.key("tokenizer.chat_template", TEXT, text("{{ messages[0].content }}"))


def layer(index, dim, inner):
    """Name -> shape of what every layer has, the width of rows first."""
    shapes = {
        "attn_q.weight": (HIDDEN, HEADS * dim), "attn_k.weight": (HIDDEN, dim),
        "attn_v.weight": (HIDDEN, dim), "attn_output.weight": (HEADS * dim, HIDDEN),
        "attn_q_norm.weight": (dim,), "attn_k_norm.weight": (dim,),
        "ffn_gate.weight": (HIDDEN, inner), "ffn_up.weight": (HIDDEN, inner),
        "ffn_down.weight": (inner, HIDDEN), "layer_output_scale.weight": (1,),
    }
    for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
        shapes[f"{norm}.weight"] = (HIDDEN,)
    return {f"blk.{index}.{name}": shape for name, shape in shapes.items()}


def tensors_of_layers():
    shapes = {
        "token_embd.weight": (HIDDEN, TOKENS), "output_norm.weight": (HIDDEN,),
        "per_layer_token_embd.weight": (3 * INPUT, TOKENS),
        "per_layer_model_proj.weight": (HIDDEN, 3 * INPUT),
        "per_layer_proj_norm.weight": (INPUT,),
    }
    for index, (dim, inner) in enumerate(
            ((SLIDING_DIM, INNER), (FULL_DIM, INNER), (FULL_DIM, 2 * INNER))):
        shapes |= layer(index, dim, inner) | {
            f"blk.{index}.inp_gate.weight": (HIDDEN, INPUT),
            f"blk.{index}.proj.weight": (INPUT, HIDDEN),
            f"blk.{index}.post_norm.weight": (HIDDEN,),
        }
    return shapes


def tensors_of_mixture():
    shapes = {"token_embd.weight": (HIDDEN, TOKENS), "output_norm.weight": (HIDDEN,)}
    shapes |= layer(0, FULL_DIM, INNER) | {
        "blk.0.attn_v.weight": None,
        "blk.0.ffn_gate_inp.weight": (HIDDEN, EXPERTS), "blk.0.ffn_gate_inp.scale": (HIDDEN,),
        "blk.0.ffn_gate_up_exps.weight": (HIDDEN, 2 * EXPERT_INNER, EXPERTS),
        "blk.0.ffn_down_exps.weight": (EXPERT_INNER, HIDDEN, EXPERTS),
        "blk.0.ffn_down_exps.scale": (EXPERTS,),
    }
    for norm in ("post_ffw_norm_1", "pre_ffw_norm_2", "post_ffw_norm_2"):
        shapes[f"blk.0.{norm}.weight"] = (HIDDEN,)
    return shapes


def values(kind, count, draw):
    """As blocks(), with small scales: other scales may be no numbers, and end the packing early."""
    data = bytearray(blocks(kind, count, draw))
    if kind == "q4_0":
        size = TYPES[kind][2]
        data[1::size] = bytes([0x20]) * (len(data) // size)
    return bytes(data)


def model(keys, shapes, draw, divisors=(1,) * 4 + (1e30,) * 12):
    """Tensors without a shape are left out."""
    out = begun(keys)
    tokenizer(out)
    data = b"".join(struct.pack("<f", divisor) for divisor in divisors)
    out.tensor("rope_freqs.weight", (len(divisors),), TYPES["f32"][0], data)
    for name, shape in shapes.items():
        if shape is None:
            continue
        kind = "f32" if len(shape) == 1 or "ffn_gate_inp" in name else "q4_0"
        out.tensor(name, shape, TYPES[kind][0], values(kind, math.prod(shape), draw))
    return out.bytes()


def described(**changes):
    """A file that ends with the first tensor: its keys must be refused."""
    out = begun(KEYS | {name.replace("__", "."): typed for name, typed in changes.items()})
    kind, _, size = TYPES["q4_0"]
    out.tensor("token_embd.weight", (HIDDEN, 1), kind, bytes(size))
    return out.bytes()


def gguf():
    draw = random.Random(4)
    small = tensors_of_mixture()
    down = "blk.0.ffn_down_exps.weight"
    return {
        "ok-gemma4": model(KEYS, tensors_of_layers(), draw),
        "ok-gemma4-moe": model(MIXTURE_KEYS, small, draw),
        "ok-gemma4-moe-one-expert-too-few": model(
            MIXTURE_KEYS, small | {down: (EXPERT_INNER, HIDDEN, EXPERTS - 1)}, draw),
        "ok-gemma4-without-experts-scales": model(
            MIXTURE_KEYS, small | {"blk.0.ffn_down_exps.scale": None}, draw),
        "ok-gemma4-scale-of-two-numbers": model(
            MIXTURE_KEYS, small | {"blk.0.layer_output_scale.weight": (2,)}, draw),
        "rope-of-gemma4-of-other-divisors": model(MIXTURE_KEYS, small, draw, (1, 2) * 8),
        "rope-of-gemma4-all-still": model(MIXTURE_KEYS, small, draw, (1e30,) * 16),
        "rope-of-gemma4-too-short": model(MIXTURE_KEYS, small, draw, (1, 1e30)),
        "rope-of-gemma4-without-base": described(rope__freq_base_swa=None),
        "rope-of-gemma4-of-a-part": described(rope__dimension_count=u32(16)),
        "pattern-of-gemma4-missing": described(attention__sliding_window_pattern=None),
        "pattern-of-gemma4-a-number": described(attention__sliding_window_pattern=u32(6)),
        "pattern-of-gemma4-too-short": described(attention__sliding_window_pattern=flags(1, 0)),
        "pattern-of-gemma4-ends-sliding": described(
            attention__sliding_window_pattern=flags(1, 0, 1)),
        "kv-heads-of-gemma4-too-many": described(
            attention__head_count_kv=whole_numbers(1, 1, 1, 1)),
        "kv-heads-of-gemma4-negative": described(
            attention__head_count_kv=whole_numbers(1, -1, 1)),
        "kv-heads-of-gemma4-unlike": described(attention__head_count_kv=whole_numbers(1, 1, 2)),
        "kv-shared-by-all-of-gemma4": described(attention__shared_kv_layers=u32(3)),
        "kv-shared-by-2-32-less-1": described(attention__shared_kv_layers=u32(0xFFFFFFFF)),
        "heads-of-gemma4-without-size": described(attention__key_length_swa=None),
        "heads-of-gemma4-of-another-v": described(attention__value_length=u32(16)),
        "widths-of-gemma4-unlike": described(
            feed_forward_length=whole_numbers(INNER, 2 * INNER, 2 * INNER)),
        "widths-of-gemma4-too-few": described(feed_forward_length=whole_numbers(INNER)),
        "layers-of-gemma4-2-32-less-1": described(block_count=u32(0xFFFFFFFF)),
        "layer-inputs-of-gemma4-of-12": described(embedding_length_per_layer_input=u32(12)),
    }
