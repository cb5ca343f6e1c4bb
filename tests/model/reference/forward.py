"""The forward pass of decoders in float64, from the published descriptions of the models.

One function per idea, plain formulas over whole sequences: no pages, no batches, no kernels. It
reads config.json as transformers does, and shares nothing with the program that it checks.
"""

import math

import numpy as np

GEMMA_DEFAULTS = {"query_pre_attn_scalar": 256, "sliding_window": 4096, "sliding_window_pattern": 6}


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


def rope_parameters(config, layer_is_local):
    """theta and scaling of a layer, from either generation of the format."""
    rope = config.get("rope_parameters")
    if rope is not None:
        kind = "sliding_attention" if layer_is_local else "full_attention"
        return rope.get(kind, rope)
    if layer_is_local:
        return {"rope_theta": config.get("rope_local_base_freq", 10000.0)}
    return {"rope_theta": config["rope_theta"], **(config.get("rope_scaling") or {})}


def llama3_frequencies(frequencies, rope):
    old = rope["original_max_position_embeddings"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    wavelength = 2 * np.pi / frequencies
    smooth = np.clip((old / wavelength - low) / (high - low), 0, 1)
    return frequencies * ((1 - smooth) / rope["factor"] + smooth)


def frequencies_and_scale(config, rope, head_dim):
    """Of each pair of rotated dimensions; and what multiplies cos and sin."""
    share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0))
    rotated = int(head_dim * share)
    frequencies = rope["rope_theta"] ** (-np.arange(0, rotated, 2) / rotated)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return frequencies, 1.0
    if kind == "linear":
        return frequencies / rope["factor"], 1.0
    if kind == "llama3":
        return llama3_frequencies(frequencies, rope), 1.0
    assert kind == "longrope", kind
    context = config["max_position_embeddings"]
    original = rope.get("original_max_position_embeddings")
    original = original or config["original_max_position_embeddings"]
    divisors = rope["long_factor" if context > original else "short_factor"]
    growth = context / original
    scale = math.sqrt(1 + math.log(growth) / math.log(original)) if growth > 1 else 1.0
    return frequencies / np.asarray(divisors, np.float32), scale


def rotate(x, frequencies, scale):
    """x: [tokens, heads, head_dim]; the first 2 * len(frequencies) dimensions turn in pairs."""
    half = len(frequencies)
    angles = np.arange(x.shape[0])[:, None, None] * frequencies
    cos, sin = np.cos(angles) * scale, np.sin(angles) * scale
    a, b = x[..., :half], x[..., half : 2 * half]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, x[..., 2 * half :]], axis=-1)


def soft_cap(x, cap):
    return x if cap is None else cap * np.tanh(x / cap)


def attend(q, k, v, scale, window, cap):
    """Causal attention; q: [tokens, heads, dim], k and v: [tokens, kv heads, dim]."""
    tokens, heads, _ = q.shape
    group = heads // k.shape[1]
    position = np.arange(tokens)
    distance = position[:, None] - position[None, :]
    hidden = distance < 0
    if window:
        hidden |= distance >= window
    out = np.empty_like(q)
    for head in range(heads):
        scores = soft_cap(q[:, head] @ k[:, head // group].T * scale, cap)
        scores[hidden] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, head] = weights @ v[:, head // group] / weights.sum(axis=1, keepdims=True)
    return out.reshape(tokens, -1)


class Decoder:
    """A model of config.json and its tensors (float64)."""

    def __init__(self, config, tensors):
        self.config, self.tensors = config, tensors
        self.family = config["model_type"]
        self.is_gemma = self.family == "gemma3_text"
        if self.is_gemma:
            self.config = {**GEMMA_DEFAULTS, **config}
        self.heads = config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads") or self.heads
        self.head_dim = config.get("head_dim") or config["hidden_size"] // self.heads

    def norm(self, name, x):
        weight = self.tensors[name + ".weight"]
        return rms_norm(x, 1 + weight if self.is_gemma else weight, self.config["rms_norm_eps"])

    def linear(self, name, x):
        bias = self.tensors.get(name + ".bias")
        y = x @ self.tensors[name + ".weight"].T
        return y if bias is None else y + bias

    def is_local(self, layer):
        """Whether a layer has the sliding window."""
        config = self.config
        types = config.get("layer_types")
        if types is not None:
            return types[layer] == "sliding_attention"
        if self.is_gemma:
            return (layer + 1) % config["sliding_window_pattern"] != 0
        return self.family in ("mistral", "phi3") and bool(config.get("sliding_window"))

    def rotates(self, layer):
        if self.family != "smollm3":
            return True
        listed = self.config.get("no_rope_layers")
        if listed is not None:
            return listed[layer] == 1
        return (layer + 1) % self.config.get("no_rope_layer_interval", 4) != 0

    def attention_scale(self):
        if self.is_gemma:
            return self.config["query_pre_attn_scalar"] ** -0.5
        return self.config.get("attention_multiplier", self.head_dim**-0.5)

    def queries_keys_values(self, prefix, x):
        q_size, kv_size = self.heads * self.head_dim, self.kv_heads * self.head_dim
        if self.family == "phi3":
            fused = self.linear(prefix + "qkv_proj", x)
            q, k, v = np.split(fused, [q_size, q_size + kv_size], axis=1)
        else:
            q, k, v = (self.linear(f"{prefix}{name}_proj", x) for name in "qkv")
        if self.family == "olmo2":
            q, k = self.norm(prefix + "q_norm", q), self.norm(prefix + "k_norm", k)
        q = q.reshape(len(x), self.heads, self.head_dim)
        k, v = (y.reshape(len(x), self.kv_heads, self.head_dim) for y in (k, v))
        if self.family in ("qwen3", "gemma3_text"):
            q, k = self.norm(prefix + "q_norm", q), self.norm(prefix + "k_norm", k)
        return q, k, v

    def attention(self, layer, x):
        prefix = f"model.layers.{layer}.self_attn."
        q, k, v = self.queries_keys_values(prefix, x)
        local = self.is_local(layer)
        if self.rotates(layer):
            rope = rope_parameters(self.config, local and self.is_gemma)
            turn = frequencies_and_scale(self.config, rope, self.head_dim)
            q, k = rotate(q, *turn), rotate(k, *turn)
        window = self.config.get("sliding_window") if local else None
        cap = self.config.get("attn_logit_softcapping") if self.is_gemma else None
        return self.linear(
            prefix + "o_proj", attend(q, k, v, self.attention_scale(), window, cap)
        )

    def mlp(self, layer, x):
        prefix = f"model.layers.{layer}.mlp."
        if self.family == "phi3":
            gate, up = np.split(self.linear(prefix + "gate_up_proj", x), 2, axis=1)
        else:
            gate, up = self.linear(prefix + "gate_proj", x), self.linear(prefix + "up_proj", x)
        activation = gelu_tanh if self.is_gemma else silu
        return self.linear(prefix + "down_proj", activation(gate) * up)

    def layer(self, layer, x):
        prefix = f"model.layers.{layer}."
        after_attention, after_mlp = "post_attention_layernorm", "post_feedforward_layernorm"
        if self.family == "olmo2":
            x = x + self.norm(prefix + after_attention, self.attention(layer, x))
            return x + self.norm(prefix + after_mlp, self.mlp(layer, x))
        y = self.attention(layer, self.norm(prefix + "input_layernorm", x))
        if self.is_gemma:
            x = x + self.norm(prefix + after_attention, y)
            y = self.mlp(layer, self.norm(prefix + "pre_feedforward_layernorm", x))
            return x + self.norm(prefix + after_mlp, y)
        residual = self.config.get("residual_multiplier", 1.0)
        x = x + y * residual
        return x + self.mlp(layer, self.norm(prefix + after_attention, x)) * residual

    def embedding_multiplier(self):
        if not self.is_gemma:
            return self.config.get("embedding_multiplier", 1.0)
        # The files of these models are BF16, and so is the factor that the model multiplies with.
        exact = np.float32(math.sqrt(self.config["hidden_size"]))
        bits = int(exact.view(np.uint32))
        rounded = np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000)
        return float(rounded.view(np.float32))

    def logits(self, ids):
        """Of every token of a sequence: [tokens, vocab]."""
        embedding = self.tensors["model.embed_tokens.weight"]
        x = embedding[np.asarray(ids)] * self.embedding_multiplier()
        for layer in range(self.config["num_hidden_layers"]):
            x = self.layer(layer, x)
        x = self.norm("model.norm", x)
        out = x @ self.tensors.get("lm_head.weight", embedding).T
        out = out / self.config.get("logits_scaling", 1.0)
        return soft_cap(out, self.config.get("final_logit_softcapping") if self.is_gemma else None)
