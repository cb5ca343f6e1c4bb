"""Mixtures of experts: configurations, and GGUF files.

The shapes of tensors are compared when weights are packed. So the GGUF target takes files whose
experts have wrong shapes; packing must refuse them and do no harm.
"""

import json
import math
import random
import struct

from seeds_gguf import FLOAT, HEAD_DIM, HEADS, INNER, TEXT, TOKENS, TYPES, U32
from seeds_gguf import File, blocks, byte_level, describe, text
from seeds_model import MINIMAL

# For all families: 8 experts of 24 channels, of which a token uses 2.
EXPERTS = {"num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
GROUPS = {"n_group": 4, "topk_group": 2}
SLIDING = ["sliding_attention", "full_attention", "sliding_attention"]
BOOL = 7
HIDDEN, EXPERT_COUNT, EXPERT_INNER = 32, 2, 32
ROUTER = "blk.0.ffn_gate_inp.weight"
GATE = "blk.0.ffn_gate_inp_shexp.weight"


def family(model_type):
    """Writes configurations of a family: those keys that are None are left out."""
    def changed(**keys):
        whole = MINIMAL | EXPERTS | {"model_type": model_type} | keys
        return json.dumps({key: value for key, value in whole.items() if value is not None})
    return changed


qwen, mixtral, glm, gpt_oss = map(family, ("qwen3_moe", "mixtral", "glm4_moe", "gpt_oss"))
qwen2, olmoe, granite3, granite, granite4 = map(
    family, ("qwen2_moe", "olmoe", "granitemoe", "granitemoeshared", "granitemoehybrid"))
ATTENTION = ["attention"] * 3


def taken():
    return {
        "ok-qwen3-moe": qwen(norm_topk_prob=True),
        "ok-qwen3-moe-of-two-names": qwen(num_experts=8),
        "ok-qwen3-moe-with-dense-layers": qwen(decoder_sparse_step=2, mlp_only_layers=[1]),
        "ok-qwen3-moe-all-layers-dense": qwen(mlp_only_layers=[0, 1, 2, 2]),
        "ok-qwen3-moe-sparse-step-2-31-less-1": qwen(decoder_sparse_step=(1 << 31) - 1),
        "ok-mixtral": mixtral(moe_intermediate_size=None, sliding_window=128),
        "ok-mixtral-of-4096-experts": mixtral(num_local_experts=4096, num_experts_per_tok=4096),
        "ok-glm4-moe": glm(**GROUPS, n_shared_experts=2, first_k_dense_replace=2,
                           norm_topk_prob=False, routed_scaling_factor=2.5,
                           num_nextn_predict_layers=0, use_qk_norm=True, attention_bias=True),
        "ok-glm4-moe-without-shared": glm(n_shared_experts=0),
        "ok-glm4-moe-all-layers-dense": glm(first_k_dense_replace=(1 << 31) - 1),
        "ok-qwen2-moe": qwen2(shared_expert_intermediate_size=40, qkv_bias=False,
                              use_sliding_window=True, sliding_window=64, max_window_layers=1),
        "ok-olmoe": olmoe(norm_topk_prob=True),
        "ok-granite-moe": granite3(num_local_experts=5, attention_multiplier=0.2),
        "ok-granite-moe-shared": granite(shared_intermediate_size=40),
        "ok-granite-4": granite4(layer_types=ATTENTION, position_embedding_type="rope",
                                 num_local_experts=0, num_experts_per_tok=0),
        "ok-granite-4-moe": granite4(layer_types=["full_attention"] * 3),
        "ok-gpt-oss": gpt_oss(moe_intermediate_size=None, hidden_act="gelu", swiglu_limit=7.0),
        "ok-gpt-oss-of-four-bits": gpt_oss(quantization_config={"quant_method": "mxfp4"}),
        "ok-gpt-oss-of-layer-types": gpt_oss(layer_types=SLIDING, sliding_window=64,
                                             attention_bias=False),
    }


def wrong_counts():
    return {
        "experts-0": qwen(num_local_experts=0),
        "shared-size-0": qwen2(shared_expert_intermediate_size=0),
        "shared-size-missing": qwen2(),
        "shared-size-2-40": granite(shared_intermediate_size=1 << 40),
        "shared-size-0-without-experts": granite4(
            layer_types=ATTENTION, num_local_experts=0, shared_intermediate_size=0),
        "layer-types-missing-in-granite-4": granite4(),
        "positions-of-another-kind": granite4(
            layer_types=ATTENTION, position_embedding_type="alibi"),
        "clipped-queries": olmoe(clip_qkv=8.0),
        "experts-negative": mixtral(num_local_experts=-8),
        "experts-4097": glm(num_local_experts=4097),
        "experts-2-32": gpt_oss(num_local_experts=1 << 32),
        "experts-2-64": mixtral(num_local_experts=1 << 64),
        "experts-a-fraction": gpt_oss(num_local_experts=8.5),
        "experts-a-text": mixtral(num_local_experts="8"),
        "experts-a-list": qwen(num_local_experts=[8]),
        "experts-missing": glm(num_local_experts=None),
        "experts-of-two-numbers": qwen(num_experts=9),
        "experts-of-glm-of-two-numbers": glm(n_routed_experts=16),
        "experts-chosen-0": gpt_oss(num_experts_per_tok=0),
        "experts-chosen-negative": glm(num_experts_per_tok=-1),
        "experts-chosen-9-of-8": mixtral(num_experts_per_tok=9),
        "experts-chosen-5-of-4": gpt_oss(num_local_experts=4, num_experts_per_tok=5),
        "experts-chosen-2-63": qwen(num_experts_per_tok=1 << 63),
        "experts-chosen-missing": gpt_oss(num_experts_per_tok=None),
        "experts-chosen-beyond-groups": glm(**GROUPS, num_experts_per_tok=5),
        "expert-size-0": qwen(moe_intermediate_size=0),
        "expert-size-20": glm(moe_intermediate_size=20),
        "expert-size-2-40": qwen(moe_intermediate_size=1 << 40),
        "expert-size-a-truth": glm(moe_intermediate_size=True),
        "expert-size-missing": qwen(moe_intermediate_size=None),
        "shared-experts-negative": glm(n_shared_experts=-1),
        "shared-experts-65": glm(n_shared_experts=65),
        "shared-experts-of-2-26-channels": glm(n_shared_experts=64,
                                               moe_intermediate_size=1 << 20),
        "groups-0": glm(n_group=0),
        "groups-3-of-8-experts": glm(n_group=3),
        "groups-of-one-expert": glm(n_group=8),
        "groups-2-31": glm(n_group=1 << 31),
        "groups-chosen-0": glm(n_group=4, topk_group=0),
        "groups-chosen-5-of-4": glm(n_group=4, topk_group=5),
    }


def wrong_layers_and_switches():
    return {
        "dense-layers-a-number": qwen(mlp_only_layers=1),
        "dense-layers-an-object": qwen(mlp_only_layers={"0": 1}),
        "dense-layer-3-of-3": qwen(mlp_only_layers=[3]),
        "dense-layer-negative": qwen(mlp_only_layers=[0, -1]),
        "dense-layer-2-64-less-1": qwen(mlp_only_layers=[(1 << 64) - 1]),
        "dense-layer-a-fraction": qwen(mlp_only_layers=[0.5]),
        "dense-layer-a-text": qwen(mlp_only_layers=["0"]),
        "dense-layers-first-negative": glm(first_k_dense_replace=-1),
        "dense-layers-first-2-31": glm(first_k_dense_replace=1 << 31),
        "dense-layers-first-a-fraction": glm(first_k_dense_replace=1.5),
        "sparse-step-0": qwen(decoder_sparse_step=0),
        "sparse-step-2-31": qwen(decoder_sparse_step=1 << 31),
        "draft-layers-negative": glm(num_nextn_predict_layers=-1),
        "draft-layers-65": glm(num_nextn_predict_layers=65),
        "weights-normalised-a-number": glm(norm_topk_prob=1),
        "weights-scale-0": glm(routed_scaling_factor=0),
        "weights-scale-1e300": glm(routed_scaling_factor=1e300),
        "norm-of-queries-a-text": glm(use_qk_norm="true"),
        "swiglu-limit-6": gpt_oss(swiglu_limit=6),
        "swiglu-limit-almost-7": gpt_oss(swiglu_limit=7.0000001),
        "swiglu-limit-negative": gpt_oss(swiglu_limit=-7),
        "swiglu-limit-1e308": gpt_oss(swiglu_limit=1e308),
        "swiglu-limit-a-text": gpt_oss(swiglu_limit="7"),
        "layer-types-of-gpt-oss-too-few": gpt_oss(layer_types=SLIDING[:2]),
        "layer-types-of-gpt-oss-unknown": gpt_oss(layer_types=["chunked_attention"] * 3),
        "layer-types-of-gpt-oss-numbers": gpt_oss(layer_types=[0, 1, 0]),
        "layer-types-without-window": gpt_oss(layer_types=SLIDING).replace(
            "{", '{"sliding_window":null,', 1),
        "window-of-gpt-oss-0": gpt_oss(sliding_window=0),
        "bias-of-gpt-oss-a-number": gpt_oss(attention_bias=1),
        "experts-of-another-method": gpt_oss(quantization_config={"quant_method": "fp8"}),
        "experts-of-no-method": gpt_oss(quantization_config=[]),
        "mxfp4-in-qwen3-moe": qwen(quantization_config={"quant_method": "mxfp4"}),
    }


def config():
    return taken() | wrong_counts() | wrong_layers_and_switches()


def keys_of(architecture):
    """The keys about experts, after the architecture's name: type and value."""
    counts = {"expert_count": EXPERT_COUNT, "expert_used_count": 1}
    if architecture in ("granitemoe", "qwen2moe"):
        counts["expert_shared_feed_forward_length"] = EXPERT_INNER
    if architecture not in ("llama", "granitemoe", "olmoe"):
        counts["expert_feed_forward_length"] = EXPERT_INNER
    if architecture == "glm4moe":
        counts |= {"expert_shared_count": 1, "leading_dense_block_count": 0,
                   "expert_group_count": 1, "expert_group_used_count": 1, "expert_gating_func": 2,
                   "nextn_predict_layers": 0}
    keys = {name: (U32, struct.pack("<I", value)) for name, value in counts.items()}
    if architecture == "gpt-oss":
        keys |= {"attention.sliding_window": u32(8), "rope.scaling.type": (TEXT, text("yarn")),
                 "rope.scaling.factor": (FLOAT, struct.pack("<f", 4)),
                 "rope.scaling.original_context_length": u32(16)}
    if architecture == "glm4moe":
        keys |= {"expert_weights_scale": (FLOAT, struct.pack("<f", 1.5)),
                 "expert_weights_norm": (BOOL, b"\1")}
    return keys


def begun(architecture, changes):
    """A file with the keys of sizes and experts; `changes` to None leave a key out."""
    out = File()
    describe(out, architecture, HIDDEN)
    for name, typed in (keys_of(architecture) | changes).items():
        if typed is not None:
            out.key(f"{architecture}.{name}", *typed)
    return out


def tensors_of(architecture):
    """Name -> shape, the width of rows first."""
    inner = INNER if architecture in ("llama", "granitemoe", "olmoe") else EXPERT_INNER
    shapes = {
        "token_embd.weight": (HIDDEN, TOKENS), "output_norm.weight": (HIDDEN,),
        "blk.0.attn_norm.weight": (HIDDEN,),
        "blk.0.attn_q.weight": (HIDDEN, HEADS * HEAD_DIM),
        "blk.0.attn_k.weight": (HIDDEN, HEAD_DIM), "blk.0.attn_v.weight": (HIDDEN, HEAD_DIM),
        "blk.0.attn_output.weight": (HEADS * HEAD_DIM, HIDDEN),
        ROUTER: (HIDDEN, EXPERT_COUNT),
        "blk.0.ffn_gate_exps.weight": (HIDDEN, inner, EXPERT_COUNT),
        "blk.0.ffn_up_exps.weight": (HIDDEN, inner, EXPERT_COUNT),
        "blk.0.ffn_down_exps.weight": (inner, HIDDEN, EXPERT_COUNT),
    }
    if architecture == "gpt-oss":
        return shapes | {
            "blk.0.post_attention_norm.weight": (HIDDEN,), "blk.0.attn_sinks.weight": (HEADS,),
            "blk.0.attn_q.bias": (HEADS * HEAD_DIM,), "blk.0.attn_k.bias": (HEAD_DIM,),
            "blk.0.attn_v.bias": (HEAD_DIM,), "blk.0.attn_output.bias": (HIDDEN,),
            "blk.0.ffn_gate_inp.bias": (EXPERT_COUNT,),
            "blk.0.ffn_gate_exps.bias": (inner, EXPERT_COUNT),
            "blk.0.ffn_up_exps.bias": (inner, EXPERT_COUNT),
            "blk.0.ffn_down_exps.bias": (HIDDEN, EXPERT_COUNT),
        }
    shared = {
        "blk.0.ffn_gate_shexp.weight": (HIDDEN, EXPERT_INNER),
        "blk.0.ffn_up_shexp.weight": (HIDDEN, EXPERT_INNER),
        "blk.0.ffn_down_shexp.weight": (EXPERT_INNER, HIDDEN),
    }
    if architecture == "olmoe":
        return shapes | {
            "blk.0.ffn_norm.weight": (HIDDEN,),
            "blk.0.attn_q_norm.weight": (HEADS * HEAD_DIM,),
            "blk.0.attn_k_norm.weight": (HEAD_DIM,),
        }
    if architecture == "granitemoe":
        return shapes | shared | {"blk.0.ffn_norm.weight": (HIDDEN,)}
    if architecture == "qwen2moe":
        return shapes | shared | {
            "blk.0.ffn_norm.weight": (HIDDEN,), GATE: (HIDDEN,),
            "blk.0.attn_q.bias": (HEADS * HEAD_DIM,), "blk.0.attn_k.bias": (HEAD_DIM,),
            "blk.0.attn_v.bias": (HEAD_DIM,),
        }
    if architecture != "glm4moe":
        return shapes | {"blk.0.ffn_norm.weight": (HIDDEN,)} | (
            {} if architecture == "llama" else
            {"blk.0.attn_q_norm.weight": (HEAD_DIM,), "blk.0.attn_k_norm.weight": (HEAD_DIM,)})
    return shapes | {
        "blk.0.post_attention_norm.weight": (HIDDEN,),
        "blk.0.exp_probs_b.bias": (EXPERT_COUNT,),
    } | shared


def model(architecture, kinds, draw, shapes=None, types=None):
    """`shapes` and `types`: those of tensors that differ. No shape leaves a tensor out."""
    out = begun(architecture, {})
    byte_level(out)
    out.key("tokenizer.chat_template", TEXT, text("{{ messages[0].content }}"))
    for i, (name, shape) in enumerate((tensors_of(architecture) | (shapes or {})).items()):
        if shape is None:
            continue
        plain = len(shape) == 1 or name == ROUTER or name.endswith(".bias")
        kind = (types or {}).get(name, "f32" if plain else kinds[i % len(kinds)])
        out.tensor(name, shape, TYPES[kind][0], blocks(kind, math.prod(shape), draw))
    return out.bytes()


def described(architecture, **changes):
    """A file that ends with the first tensor: its keys must be refused."""
    out = begun(architecture, changes)
    out.tensor("token_embd.weight", (HIDDEN, 1), TYPES["q4_0"][0], bytes(TYPES["q4_0"][2]))
    return out.bytes()


def u32(value):
    return U32, struct.pack("<I", value)


def wrong_keys():
    wide = (10, struct.pack("<Q", (1 << 64) - 1))
    return {
        "experts-0": described("qwen3moe", expert_count=u32(0)),
        "experts-missing": described("glm4moe", expert_count=None),
        "experts-4097": described("qwen3moe", expert_count=u32(4097)),
        "experts-2-32-less-1": described("llama", expert_count=u32(0xFFFFFFFF)),
        "experts-2-64-less-1": described("llama", expert_count=wide),
        "experts-a-text": described("qwen3moe", expert_count=(TEXT, text("2"))),
        "experts-a-fraction": described("llama", expert_count=(FLOAT, struct.pack("<f", 2.5))),
        "experts-in-architecture-qwen3": described("qwen3", expert_count=u32(2)),
        "experts-chosen-0": described("llama", expert_used_count=u32(0)),
        "experts-chosen-3-of-2": described("qwen3moe", expert_used_count=u32(3)),
        "experts-chosen-missing": described("llama", expert_used_count=None),
        "expert-size-0": described("glm4moe", expert_feed_forward_length=u32(0)),
        "expert-size-2-31": described("qwen3moe", expert_feed_forward_length=u32(1 << 31)),
        "expert-size-missing": described("qwen3moe", expert_feed_forward_length=None),
        "shared-experts-65": described("glm4moe", expert_shared_count=u32(65)),
        "dense-layers-first-2-31": described("glm4moe", leading_dense_block_count=u32(1 << 31)),
        "groups-2-of-2-experts": described("glm4moe", expert_group_count=u32(2)),
        "groups-chosen-2-of-1": described("glm4moe", expert_group_used_count=u32(2)),
        "gating-by-softmax": described("glm4moe", expert_gating_func=u32(1)),
        "weights-scale-nan": described(
            "glm4moe", expert_weights_scale=(FLOAT, struct.pack("<f", float("nan")))),
        "weights-scaled-in-qwen3moe": described(
            "qwen3moe", expert_weights_scale=(FLOAT, struct.pack("<f", 3))),
        "weights-not-normalised-in-llama": described("llama", expert_weights_norm=(BOOL, b"\0")),
        "gating-by-sigmoid-in-qwen3moe": described("qwen3moe", expert_gating_func=u32(2)),
        "groups-in-qwen3moe": described("qwen3moe", expert_group_count=u32(2)),
        "shared-size-2-31-in-qwen2moe": described(
            "qwen2moe", expert_shared_feed_forward_length=u32(1 << 31)),
        "shared-size-20-in-granitemoe": described(
            "granitemoe", expert_shared_feed_forward_length=u32(20)),
        "shared-size-in-olmoe": described("olmoe", expert_shared_feed_forward_length=u32(32)),
        "expert-size-0-in-qwen2moe": described("qwen2moe", expert_feed_forward_length=u32(0)),
        "shared-expert-in-llama": described("llama", expert_shared_count=u32(1)),
        "dense-layer-in-gpt-oss": described("gpt-oss", leading_dense_block_count=u32(1)),
        "window-missing-in-gpt-oss": described("gpt-oss", **{"attention.sliding_window": None}),
        "window-pattern-6-in-gpt-oss": described(
            "gpt-oss", **{"attention.sliding_window_pattern": u32(6)}),
        "weights-normalised-a-number": described("glm4moe", expert_weights_norm=u32(1)),
        "draft-layers-all": described("glm4moe", nextn_predict_layers=u32(1)),
        "draft-layers-2-32-less-1": described("glm4moe", nextn_predict_layers=u32(0xFFFFFFFF)),
    }


def gguf():
    draw = random.Random(2)
    small = ["q4_0"]
    gate, down = "blk.0.ffn_gate_exps.weight", "blk.0.ffn_down_exps.weight"
    seeds = {
        "ok-qwen3moe": model("qwen3moe", ["q4_0", "q4_1", "q5_0"], draw),
        "ok-glm4moe": model("glm4moe", ["q8_0", "iq4_nl", "q4_0"], draw),
        "ok-qwen2moe": model("qwen2moe", ["q8_0", "q4_0"], draw),
        "ok-qwen2moe-of-a-wide-gate": model("qwen2moe", small, draw, {GATE: (HIDDEN, 2)}),
        "ok-qwen2moe-without-gate": model("qwen2moe", small, draw, {GATE: None}),
        "ok-olmoe": model("olmoe", ["q8_0", "q4_0"], draw),
        "ok-granitemoe": model("granitemoe", ["q4_0", "q8_0", "iq4_nl"], draw),
        "ok-llama-of-experts": model("llama", ["q4_0", "q5_1", "q4_0"], draw),
        "ok-gpt-oss": model("gpt-oss", ["mxfp4", "q4_0", "mxfp4"], draw),
        "ok-sinks-too-many": model(
            "gpt-oss", ["mxfp4"], draw, {"blk.0.attn_sinks.weight": (HEADS + 1,)}),
        "ok-experts-of-two-dimensions": model(
            "qwen3moe", small, draw, {gate: (HIDDEN, EXPERT_INNER * EXPERT_COUNT)}),
        "ok-experts-of-four-dimensions": model(
            "qwen3moe", small, draw, {gate: (HIDDEN, EXPERT_INNER, EXPERT_COUNT, 1)}),
        "ok-experts-one-too-few": model(
            "qwen3moe", small, draw, {down: (EXPERT_INNER, HIDDEN, EXPERT_COUNT - 1)}),
        "ok-experts-one-too-many": model(
            "glm4moe", small, draw, {down: (EXPERT_INNER, HIDDEN, EXPERT_COUNT + 1)}),
        "ok-experts-turned": model(
            "llama", small, draw, {gate: (INNER, HIDDEN, EXPERT_COUNT)}),
        "ok-experts-of-f16-and-blocks": model("qwen3moe", small, draw, types={gate: "f16"}),
        "ok-experts-with-biases": model(
            "qwen3moe", small, draw, {"blk.0.ffn_gate_exps.bias": (EXPERT_INNER, EXPERT_COUNT)}),
        "ok-experts-beside-a-dense-layer": model(
            "qwen3moe", small, draw, {"blk.0.ffn_gate.weight": (HIDDEN, EXPERT_INNER)}),
        "ok-experts-without-gate": model("qwen3moe", small, draw, {gate: None}),
        "ok-router-of-one-expert": model(
            "llama", small, draw, {ROUTER: (HIDDEN, 1)}),
        "ok-router-of-blocks": model("qwen3moe", small, draw, types={ROUTER: "q8_0"}),
        "ok-biases-of-the-choice-too-many": model(
            "glm4moe", small, draw, {"blk.0.exp_probs_b.bias": (EXPERT_COUNT + 1,)}),
        "ok-shared-experts-of-three-dimensions": model(
            "glm4moe", small, draw,
            {"blk.0.ffn_up_shexp.weight": (HIDDEN, EXPERT_INNER, EXPERT_COUNT)}),
        "experts-each-a-tensor": model(
            "llama", small, draw, {gate: None, "blk.0.ffn_gate.0.weight": (HIDDEN, INNER)}),
        "experts-with-scales": model(
            "qwen3moe", small, draw, {"blk.0.ffn_gate_exps.scale": (EXPERT_COUNT,)}),
    }
    # The number of a type of whole numbers, which no tensor of a model has.
    whole = struct.pack("<I", 26)
    entry = text(gate) + struct.pack("<I3Q", 3, HIDDEN, EXPERT_INNER, EXPERT_COUNT)
    at = seeds["ok-qwen3moe"].index(entry) + len(entry)
    seeds["experts-of-whole-numbers"] = (
        seeds["ok-qwen3moe"][:at] + whole + seeds["ok-qwen3moe"][at + len(whole):])
    return seeds | wrong_keys()
