"""Models with recurrent layers: configurations."""

import json

from seeds_model import MINIMAL

ATTENDS, RECURS = "full_attention", "linear_attention"
TYPES = [RECURS, ATTENDS, RECURS]
QWEN = MINIMAL | {
    "model_type": "qwen3_5_text", "layer_types": TYPES, "head_dim": 16, "num_key_value_heads": 2,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 24,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
           "shared_expert_intermediate_size": 24}
GRANITE = MINIMAL | {
    "model_type": "granitemoehybrid", "layer_types": TYPES, "shared_intermediate_size": 96,
    "num_local_experts": 0, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16,
    "mamba_n_groups": 2, "time_step_limit": [0.0, {"__float__": "Infinity"}]}
LFM2 = {key: value for key, value in MINIMAL.items() if key not in ("rms_norm_eps", "hidden_act")}
LFM2 |= {"model_type": "lfm2", "num_key_value_heads": 2, "layer_types": ["conv", ATTENDS, "conv"],
         "norm_eps": 1e-5, "block_multiple_of": 16}
LFM2_MOE = LFM2 | {"model_type": "lfm2_moe", "num_dense_layers": 1, "num_experts": 8,
                   "num_experts_per_tok": 2, "moe_intermediate_size": 24}


def of(config):
    """Writes variants of a configuration: those keys that are None are left out."""
    def changed(**keys):
        whole = config | keys
        return json.dumps({key: value for key, value in whole.items() if value is not None})
    return changed


qwen, granite, lfm2, lfm2_moe = map(of, (QWEN, GRANITE, LFM2, LFM2_MOE))


def in_parts(text):
    return json.dumps({"model_type": "qwen3_5", "text_config": text, "vision_config": {}})


def taken():
    return {
        "ok-qwen3-5": qwen(),
        "ok-qwen3-5-of-defaults": json.dumps(
            MINIMAL | {"model_type": "qwen3_5_text", "num_hidden_layers": 4}),
        "ok-qwen3-5-of-every-second": qwen(layer_types=None, full_attention_interval=2),
        "ok-qwen3-5-one-tap": qwen(linear_conv_kernel_dim=1),
        "ok-qwen3-5-without-recurrence": qwen(layer_types=[ATTENDS] * 3),
        "ok-qwen3-5-moe": qwen(**EXPERTS, model_type="qwen3_5_moe_text", intermediate_size=None),
        "ok-qwen3-next": qwen(**EXPERTS, model_type="qwen3_next", mlp_only_layers=[1]),
        "ok-text-part-of-qwen3-5": in_parts(QWEN),
        "ok-granite-4-hybrid": granite(),
        "ok-granite-4-of-mamba": granite(layer_types=None,
                                         layers_block_type=["mamba", "attention", "mamba"]),
        "ok-granite-4-head-auto": granite(mamba_d_head="auto"),
        "ok-granite-4-of-limits": granite(time_step_limit=[0.01, 0.5], mamba_proj_bias=True),
        "ok-lfm2": lfm2(),
        "ok-lfm2-of-indices": lfm2(layer_types=None, full_attn_idxs=[1]),
        "ok-lfm2-of-old-keys": lfm2(tie_embedding=True, block_ff_dim=192, theta=1e6),
        "ok-lfm2-as-it-is": lfm2(block_auto_adjust_ff_dim=False, conv_bias=True),
        "ok-lfm2-moe": lfm2_moe(use_expert_bias=False, routed_scaling_factor=1.5),
    }


def wrong_layers():
    return {
        "layer-types-all-recurrent": qwen(layer_types=[RECURS] * 3),
        "layer-types-of-granite-missing": granite(layer_types=None),
        "layer-types-of-mamba-in-qwen": qwen(layer_types=["mamba", ATTENDS, "mamba"]),
        "layer-types-of-conv-in-granite": granite(layer_types=["conv", ATTENDS, "conv"]),
        "layer-types-two-of-three": lfm2(layer_types=["conv", ATTENDS]),
        "layer-types-a-number-among-them": lfm2(layer_types=["conv", ATTENDS, 3]),
        "interval-0": qwen(layer_types=None, full_attention_interval=0),
        "interval-beyond-the-layers": qwen(layer_types=None, full_attention_interval=4),
        "indices-3-of-3": lfm2(layer_types=None, full_attn_idxs=[3]),
        "indices-negative": lfm2(layer_types=None, full_attn_idxs=[-1]),
        "indices-2-64-less-1": lfm2(layer_types=None, full_attn_idxs=[(1 << 64) - 1]),
        "indices-a-number": lfm2(layer_types=None, full_attn_idxs=1),
        "indices-empty": lfm2(layer_types=None, full_attn_idxs=[]),
    }


def wrong_sizes():
    return {
        "taps-0": qwen(linear_conv_kernel_dim=0),
        "taps-17": lfm2(conv_L_cache=17),
        "taps-2-32": granite(mamba_d_conv=1 << 32),
        "key-dim-12": qwen(linear_key_head_dim=12),
        "key-dim-520": qwen(linear_key_head_dim=520),
        "value-dim-0": qwen(linear_value_head_dim=0),
        "key-heads-4-of-6": qwen(linear_num_key_heads=4),
        "key-heads-513": qwen(linear_num_key_heads=513, linear_num_value_heads=513),
        "value-heads-a-text": qwen(linear_num_value_heads="6"),
        "state-of-512-mib": qwen(linear_num_key_heads=512, linear_num_value_heads=512,
                                 linear_key_head_dim=512, linear_value_head_dim=512),
        "state-dim-20": granite(mamba_d_state=20),
        "groups-3-of-8": granite(mamba_n_groups=3),
        "head-dim-of-mamba-24": granite(mamba_d_head=24),
        "head-dim-of-mamba-a-text": granite(mamba_d_head="16"),
        "expand-0": granite(mamba_expand=0),
        "expand-65": granite(mamba_expand=65),
        "mlp-of-lfm2-of-4-channels": lfm2(block_multiple_of=4, intermediate_size=16),
        "mlp-of-lfm2-of-2-40-channels": lfm2(block_ff_dim=1 << 40),
        "mlp-factor-0": lfm2(block_ffn_dim_multiplier=0),
        "dense-layers-of-lfm2-negative": lfm2_moe(num_dense_layers=-1),
    }


def wrong_switches():
    return {
        "gate-of-attention-off": qwen(attn_output_gate=False),
        "activation-of-a-recurrence": qwen(hidden_act="gelu_pytorch_tanh"),
        "conv-bias-a-number": lfm2(conv_bias=1),
        "eps-of-lfm2-missing-a-number": lfm2(norm_eps="1e-5"),
        "eps-of-lfm2-0": lfm2(norm_eps=0),
        "steps-in-the-wrong-order": granite(time_step_limit=[0.5, 0.1]),
        "steps-three": granite(time_step_limit=[0.1, 0.2, 0.3]),
        "steps-negative": granite(time_step_limit=[-0.1, 0.2]),
        "steps-from-infinity": granite(time_step_limit=[{"__float__": "Infinity"}] * 2),
        "steps-a-number": granite(time_step_limit=0.1),
        "experts-of-lfm2-biased-by-a-text": lfm2_moe(use_expert_bias="true"),
    }


def config():
    return taken() | wrong_layers() | wrong_sizes() | wrong_switches()
