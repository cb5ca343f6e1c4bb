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
from further_models import FURTHER
from safetensors.torch import load_file, save_file
from transformers.models.gemma3 import modeling_gemma3 as gemma3

EAGER_ATTENTION = gemma3.eager_attention_forward
GREEDY_TOKENS = 12
# Short; longer than one page of 64 tokens; longer than four, and far beyond every window.
PROMPT_TOKENS = [5, 70, 290]


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
        if key.endswith("A_log"):  # some states last for many tokens, some for few
            centre, spread = -2.0, 1.5
        if tensor.dim() >= 2:
            spread = 0.5 if "embed" in key else 1.6 / tensor.shape[-1] ** 0.5
        tensor.data.normal_(centre, spread)
    for key, buffer in model.named_buffers():
        if key.endswith(("e_score_correction_bias", "expert_bias")):
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
    torch.backends.cudnn.allow_tf32 = False
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
