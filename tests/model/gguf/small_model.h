// A GGUF model of one layer and 300 tokens, given as a writer that a test changes before it writes.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "model/tokenizer/bpe_byte_alphabet.h"
#include "tests/model/gguf/writer.h"

namespace cascade::testing {

// `without` lists the keys and tensors that are left out, so that the test can write them
// otherwise.
struct SmallModel {
  std::string architecture = "qwen3";
  std::set<std::string> without;  // keys and tensors

  static constexpr uint64_t kHidden = 32;
  static constexpr uint64_t kInner = 64;
  static constexpr uint64_t kHeadDim = 16;
  static constexpr uint64_t kHeads = 2;
  static constexpr uint64_t kTokens = 260;

  // The 256 bytes, two merges, a control token and one that a user may see.
  static std::vector<std::string> tokens() {
    std::vector<std::string> all;
    for (int byte = 0; byte < 256; ++byte) {
      all.push_back(byte_level_spelling(std::string(1, static_cast<char>(byte))));
    }
    all.insert(all.end(), {"ab", "abc", "<|im_end|>", "<think>"});
    return all;
  }
  static std::vector<int32_t> types() {
    std::vector<int32_t> all(258, 1);
    all.insert(all.end(), {3, 4});
    return all;
  }

  bool has(const std::string& name) const { return !without.contains(name); }

  void write_sizes(GgufWriter& out) const {
    if (has("general.architecture")) out.text("general.architecture", architecture);
    const auto u32 = [&](const char* name, uint64_t value) {
      if (has(name)) out.u32(architecture + "." + name, static_cast<uint32_t>(value));
    };
    u32("block_count", 1);
    u32("context_length", 256);
    u32("embedding_length", kHidden);
    u32("feed_forward_length", kInner);
    u32("attention.head_count", kHeads);
    u32("attention.head_count_kv", 1);
    u32("attention.key_length", kHeadDim);
    u32("attention.value_length", kHeadDim);
    if (has("epsilon")) out.f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
    if (has("theta")) out.f32(architecture + ".rope.freq_base", 1e4f);
  }

  void write_tokenizer(GgufWriter& out) const {
    if (has("model")) out.text("tokenizer.ggml.model", "gpt2");
    if (has("pre")) out.text("tokenizer.ggml.pre", "qwen2");
    if (has("tokens")) out.texts("tokenizer.ggml.tokens", tokens());
    if (has("types")) out.numbers("tokenizer.ggml.token_type", GgufValueType::kI32, types());
    if (has("merges")) out.texts("tokenizer.ggml.merges", {"a b", "ab c"});
    if (has("eos")) out.u32("tokenizer.ggml.eos_token_id", 258);
    if (has("template")) out.text("tokenizer.chat_template", "{{ messages[0].content }}");
  }

  // The tensors are F32. All values of a tensor are one number that identifies it, so that a mix-up
  // shows.
  void write_tensors(GgufWriter& out) const {
    const auto tensor = [&](const std::string& name, const std::vector<uint64_t>& dimensions) {
      if (!has(name)) return;
      uint64_t count = 1;
      for (const uint64_t dimension : dimensions) count *= dimension;
      std::string bytes;
      for (uint64_t i = 0; i < count; ++i) {
        append_number(bytes, static_cast<float>(i % 7) * 0.01f + 0.01f);
      }
      out.tensor(name, dimensions, kGgmlF32, bytes);
    };
    tensor("token_embd.weight", {kHidden, kTokens});
    tensor("output_norm.weight", {kHidden});
    tensor("blk.0.attn_norm.weight", {kHidden});
    tensor("blk.0.ffn_norm.weight", {kHidden});
    tensor("blk.0.attn_q.weight", {kHidden, kHeads * kHeadDim});
    tensor("blk.0.attn_k.weight", {kHidden, kHeadDim});
    tensor("blk.0.attn_v.weight", {kHidden, kHeadDim});
    tensor("blk.0.attn_output.weight", {kHeads * kHeadDim, kHidden});
    if (architecture == "qwen3") {
      tensor("blk.0.attn_q_norm.weight", {kHeadDim});
      tensor("blk.0.attn_k_norm.weight", {kHeadDim});
    }
    tensor("blk.0.ffn_gate.weight", {kHidden, kInner});
    tensor("blk.0.ffn_up.weight", {kHidden, kInner});
    tensor("blk.0.ffn_down.weight", {kInner, kHidden});
  }

  void write(GgufWriter& out) const {
    write_sizes(out);
    write_tokenizer(out);
    write_tensors(out);
  }

  // The file of the model, with whatever `add` writes in addition.
  std::string file(const std::function<void(GgufWriter&)>& add = {}) const {
    GgufWriter out;
    if (add) add(out);
    write(out);
    return out.file();
  }
};

}  // namespace cascade::testing
