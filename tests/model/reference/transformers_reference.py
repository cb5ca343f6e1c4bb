#!/usr/bin/env python3
"""What Hugging Face transformers computes for the models of tests/model/fixtures.

transformers_reference.py FIXTURES    makes the models of FURTHER that are not below FIXTURES, and
                                      writes the reference.json of all

Needs torch and transformers 5. What it writes is committed: nothing runs this in a build or a test.
"""

import base64
import functools
import json
import pathlib
import shutil
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.models.gemma3 import modeling_gemma3 as gemma3

EAGER_ATTENTION = gemma3.eager_attention_forward
GREEDY_TOKENS = 12
# Short; longer than one page of 64 tokens; longer than four, and far beyond every window.
PROMPT_TOKENS = [5, 70, 290]

COMMON = {
    "vocab_size": 260,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "tie_word_embeddings": True,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "head_dim": 16,
    "num_local_experts": 6,
    "num_experts_per_tok": 2,
    "sliding_window": 40,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": 64,
    },
}
MINISTRAL3 = {
    **COMMON,
    "model_type": "ministral3",
    "head_dim": 16,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "original_max_position_embeddings": 64,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.1,
    },
}
GRANITE_MULTIPLIERS = {
    "attention_multiplier": 0.2,
    "embedding_multiplier": 3.0,
    "residual_multiplier": 0.6,
    "logits_scaling": 2.0,
}
GRANITE4 = {
    **GRANITE_MULTIPLIERS,
    "model_type": "granitemoehybrid",
    "layer_types": ["full_attention"] * 3,
    "shared_intermediate_size": 40,
    "mamba_n_heads": 8,
}
GEMMA4 = {
    **COMMON,
    "model_type": "gemma4_text",
    "num_hidden_layers": 6,
    "head_dim": 16,
    "sliding_window": 40,
    "vocab_size_per_layer_input": 260,
}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 7,
}
# Transformers makes these, including their configuration files: features that no model of
# make_family_models.py has.
FURTHER = {
    "qwen3-yarn": {
        **COMMON,
        "model_type": "qwen3",
        "head_dim": 16,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "original_max_position_embeddings": 64,
        },
    },
    "llama-linear": {
        **COMMON,
        "model_type": "llama",
        "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    },
    "qwen2-window": {
        **COMMON,
        "model_type": "qwen2",
        "use_sliding_window": True,
        "sliding_window": 40,
        "max_window_layers": 1,
    },
    "olmo3": {
        **COMMON,
        "model_type": "olmo3",
        "num_hidden_layers": 4,
        "sliding_window": 40,
        "rope_parameters": {
            "full_attention": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 64,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        },
    },
    "ministral3": MINISTRAL3,
    # Checkpoints with a vision model, which is left out.
    "ministral3-vision": {
        "model_type": "mistral3",
        "text_config": MINISTRAL3,
        "vision_config": {"model_type": "pixtral", **VISION, "head_dim": 8},
        "spatial_merge_size": 2,
    },
    "gemma3-vision": {
        "model_type": "gemma3",
        "mm_tokens_per_image": 4,
        "text_config": {
            **COMMON,
            "model_type": "gemma3_text",
            "head_dim": 8,
            "num_hidden_layers": 4,
            "sliding_window": 40,
            "sliding_window_pattern": 2,
            "query_pre_attn_scalar": 8,
        },
        "vision_config": {"model_type": "siglip_vision_model", **VISION},
    },
    # The last three layers use K and V of earlier ones, and have wider MLPs.
    "gemma4-shared": {
        **GEMMA4,
        "global_head_dim": 32,
        "hidden_size_per_layer_input": 8,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
        "num_kv_shared_layers": 3,
        "use_double_wide_mlp": True,
        "final_logit_softcapping": 30.0,
    },
    # Full layers with fewer KV heads, and V from the projection of K; no inputs of single layers.
    "gemma4-alike": {
        **GEMMA4,
        "global_head_dim": 24,
        "hidden_size_per_layer_input": 0,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
    },
    "gemma4-moe": {
        **GEMMA4,
        "global_head_dim": 32,
        "num_hidden_layers": 3,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
        "enable_moe_block": True,
        "num_experts": 9,
        "top_k_experts": 3,
        "moe_intermediate_size": 24,
    },
    "gemma4-vision": {
        "model_type": "gemma4",
        "text_config": {
            **GEMMA4,
            "num_hidden_layers": 3,
            "global_head_dim": 32,
            "hidden_size_per_layer_input": 16,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
            "num_kv_shared_layers": 1,
        },
        "vision_config": {
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "patch_size": 4,
            "position_embedding_size": 16,
        },
    },
    # Without a vision or audio model of its own.
    "gemma4-unified": {
        "model_type": "gemma4_unified",
        "text_config": {
            **{key: value for key, value in GEMMA4.items() if "per_layer" not in key},
            "model_type": "gemma4_unified_text",
            "num_hidden_layers": 3,
            "global_head_dim": 32,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "attention_k_eq_v": True,
            "num_global_key_value_heads": 1,
        },
        "vision_config": {"patch_size": 4, "mm_embed_dim": 16, "mm_posemb_size": 8},
    },
    "mixtral": {
        **COMMON,
        "model_type": "mixtral",
        "intermediate_size": 40,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": None,
    },
    "gpt-oss": {**COMMON, **GPT_OSS, "intermediate_size": 40},
    # The same with experts in MXFP4: neither an expert's input nor its channels fill whole groups.
    "gpt-oss-mxfp4": {**COMMON, **GPT_OSS, "hidden_size": 96, "intermediate_size": 64},
    # Neither the experts nor an expert's channels fill whole panels; a dense layer among mixtures.
    "qwen3-moe": {
        **COMMON,
        "model_type": "qwen3_moe",
        "head_dim": 16,
        "num_experts": 9,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 24,
        "norm_topk_prob": True,
        "mlp_only_layers": [1],
    },
    "qwen3-moe-step": {
        **COMMON,
        "model_type": "qwen3_moe",
        "head_dim": 8,
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "norm_topk_prob": False,
        "decoder_sparse_step": 2,
        "use_sliding_window": True,
        "sliding_window": 40,
        "max_window_layers": 1,
    },
    "glm4-moe": {
        **COMMON,
        "model_type": "glm4_moe",
        "head_dim": 16,
        "attention_bias": True,
        "use_qk_norm": True,
        "partial_rotary_factor": 0.5,
        "n_routed_experts": 12,
        "n_group": 4,
        "topk_group": 2,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 16,
        "n_shared_experts": 2,
        "first_k_dense_replace": 1,
        "norm_topk_prob": True,
        "routed_scaling_factor": 1.7,
    },
    "glm4-moe-plain": {
        **COMMON,
        "model_type": "glm4_moe",
        "head_dim": 8,
        "use_qk_norm": False,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 24,
        "n_shared_experts": 1,
        "first_k_dense_replace": 0,
        "norm_topk_prob": False,
    },
    # A gate for the expert that all tokens use; a dense layer among mixtures.
    "qwen2-moe": {
        **COMMON,
        "model_type": "qwen2_moe",
        "num_experts": 9,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 24,
        "shared_expert_intermediate_size": 40,
        "norm_topk_prob": False,
        "mlp_only_layers": [1],
    },
    "qwen2-moe-window": {
        **COMMON,
        "model_type": "qwen2_moe",
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 24,
        "norm_topk_prob": True,
        "qkv_bias": False,
        "use_sliding_window": True,
        "sliding_window": 40,
        "max_window_layers": 1,
    },
    "granite-moe": {
        **COMMON,
        **GRANITE_MULTIPLIERS,
        "model_type": "granitemoe",
        "intermediate_size": 24,
        "num_local_experts": 6,
        "num_experts_per_tok": 2,
    },
    "granite-moe-shared": {
        **COMMON,
        **GRANITE_MULTIPLIERS,
        "model_type": "granitemoeshared",
        "intermediate_size": 16,
        "shared_intermediate_size": 40,
        "num_local_experts": 5,
        "num_experts_per_tok": 3,
        "attention_bias": True,
    },
    # Granite 4 without recurrent layers: dense, and a mixture whose layers do not rotate.
    "granite4": {
        **COMMON,
        **GRANITE4,
        "num_local_experts": 0,
        "num_experts_per_tok": 0,
        "position_embedding_type": "rope",
    },
    "granite4-moe": {
        **COMMON,
        **GRANITE4,
        "intermediate_size": 24,
        "num_local_experts": 6,
        "num_experts_per_tok": 2,
        "position_embedding_type": None,
    },
    "olmoe": {
        **COMMON,
        "model_type": "olmoe",
        "intermediate_size": 24,
        "num_experts": 10,
        "num_experts_per_tok": 3,
        "norm_topk_prob": False,
    },
}


def auto_class(config):
    in_parts = hasattr(config, "vision_config")
    if in_parts:
        return transformers.AutoModelForImageTextToText
    return transformers.AutoModelForCausalLM


def load(folder, device):
    config = transformers.AutoConfig.from_pretrained(folder)
    # The families' default is outside our vocabulary, but Gemma 4 needs it.
    if "gemma4" not in config.model_type:
        config.get_text_config().pad_token_id = None
    # transformers chooses the list for long or for short prompts by the current length of a
    # sequence; here a model has only one list, the one for long prompts.
    rope = getattr(config, "rope_parameters", None) or {}
    if "short_factor" in rope:
        rope["short_factor"] = rope["long_factor"]
    options = {}
    if getattr(config, "quantization_config", None):
        options["quantization_config"] = transformers.Mxfp4Config(dequantize=True)
    model = auto_class(config).from_pretrained(
        folder, config=config, dtype=torch.float32, attn_implementation="eager", **options
    )
    # In transformers, both the configuration and the attention function of Gemma 3 have the cap
    # of attention scores, but the value is not handed from the one to the other.
    cap = getattr(config, "attn_logit_softcapping", None)
    gemma3.eager_attention_forward = functools.partial(EAGER_ATTENTION, softcap=cap)
    # If the weights are bf16, as in every checkpoint of Gemma 3, this factor is bf16 as well; only
    # in a model that is read as another type it is not. With Gemma 4 we do not round, as llama.cpp.
    embedding = model.get_input_embeddings()
    if hasattr(embedding, "embed_scale") and "gemma4" not in config.model_type:
        embedding.embed_scale = embedding.embed_scale.to(torch.bfloat16).float()
    # Experts in MXFP4 become bf16, whatever the type that was asked for.
    return model.to(device).float().eval()


def logits_of(model, ids):
    with torch.no_grad():
        batch = torch.tensor([ids], device=model.device)
        return model(batch, use_cache=False).logits[0].double()


def describe_prompt(model, ids):
    logits = logits_of(model, ids)
    log_probabilities = torch.log_softmax(logits, -1).cpu()
    nll = [-log_probabilities[i, ids[i + 1]].item() for i in range(len(ids) - 1)]
    chain, last = list(ids), logits[-1]
    for _ in range(GREEDY_TOKENS):
        chain.append(int(last.argmax()))
        last = logits_of(model, chain)[-1]
    return {
        "ids": list(ids),
        "nll": [round(x, 8) for x in nll],
        "last_logits": base64.b64encode(
            logits[-1].cpu().numpy().astype("<f4").tobytes()
        ).decode(),
        "greedy": chain[len(ids) :],
    }


def write_reference(folder, device):
    random = np.random.Generator(np.random.PCG64(sum(folder.name.encode())))
    model = load(folder, device)
    vocab_size = model.config.get_text_config().vocab_size
    prompts = [
        describe_prompt(model, random.integers(0, vocab_size, count).tolist())
        for count in PROMPT_TOKENS
    ]
    reference = {"tool": f"transformers {transformers.__version__}, float32", "prompts": prompts}
    (folder / "reference.json").write_text(json.dumps(reference) + "\n")


def make(folder, config):
    """A model with random weights, large enough for every part to affect the logits."""
    config = dict(config)
    torch.manual_seed(sum(folder.name.encode()))
    parsed = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    model = auto_class(parsed).from_config(parsed)
    for key, tensor in model.named_parameters():
        centre, spread = (1.0, 0.2) if "norm" in key or "scale" in key else (0.0, 0.3)
        if tensor.dim() >= 2:
            spread = 0.5 if "embed" in key else 1.6 / tensor.shape[-1] ** 0.5
        tensor.data.normal_(centre, spread)
    for key, buffer in model.named_buffers():
        if key.endswith("e_score_correction_bias"):
            buffer.data.normal_(0.0, 0.1)
        if key.endswith("layer_scalar"):
            buffer.data.normal_(1.0, 0.2)
    model.to(torch.bfloat16).save_pretrained(folder)


def mix_in_mxfp4(folder):
    """Replaces a gpt-oss model's experts by random ones in MXFP4, which have every code."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    random = np.random.Generator(np.random.PCG64(sum(folder.name.encode())))
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = tensors.pop(name).shape
        blocks = random.integers(0, 256, (experts, outputs, inputs // 32, 16), dtype=np.uint8)
        scales = random.integers(121, 125, (experts, outputs, inputs // 32), dtype=np.uint8)
        tensors[name + "_blocks"] = torch.from_numpy(blocks)
        tensors[name + "_scales"] = torch.from_numpy(scales)
    save_file(tensors, path, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["self_attn", "router", "embed_tokens", "lm_head"],
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def main(fixtures):
    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cuda" if torch.cuda.is_available() else "cpu"
    fixtures = pathlib.Path(fixtures)
    tokenizer = fixtures / "qwen3-moe" / "tokenizer.json"
    for name, config in FURTHER.items():
        if not (fixtures / name).exists():
            make(fixtures / name, config)
            if name.endswith("mxfp4"):
                mix_in_mxfp4(fixtures / name)
            (fixtures / name / "generation_config.json").unlink(missing_ok=True)
            shutil.copy(tokenizer, fixtures / name)
    for config in sorted(fixtures.glob("*/config.json")):
        write_reference(config.parent, device)


if __name__ == "__main__":
    main(sys.argv[1])
