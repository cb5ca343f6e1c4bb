// Hugging Face model folders as GGUF files.
#include "tests/model/gguf/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fstream>

#include "base/check.h"
#include "base/file.h"
#include "base/number_types.h"
#include "model/config.h"
#include "model/gguf/tensors.h"
#include "model/rope.h"
#include "model/tokenizer/bpe_byte_alphabet.h"
#include "model/weights_packing.h"
#include "tests/model/gguf/convert_hybrid.h"
#include "tests/model/gguf/k_blocks.h"
#include "tests/model/gguf/write_config.h"
#include "tests/model/safetensors_file.h"

namespace cascade::testing {
namespace {

namespace fs = std::filesystem;

Json read_document(const fs::path& path) {
  const auto text = read_file(path, size_t{64} << 20);
  if (!text.ok()) return {};
  return parse_json(*text, path.string()).value();
}

constexpr size_t kBlock = 32;

std::string encode_q8_0(const float* x) {
  const float largest = std::abs(
      *std::max_element(x, x + kBlock, [](float a, float b) { return std::abs(a) < std::abs(b); }));
  const float d = largest / 127;
  std::string out;
  append_number(out, f32_to_f16(d));
  for (size_t i = 0; i < kBlock; ++i) {
    append_number(out, static_cast<int8_t>(d > 0 ? std::lround(x[i] / d) : 0));
  }
  return out;
}

std::string encode_q4_0(const float* x) {
  const float extreme =
      *std::max_element(x, x + kBlock, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float d = extreme / -8;
  const auto quantised = [&](float value) {
    const long q = d != 0 ? std::lround(value / d) + 8 : 8;
    return static_cast<unsigned>(std::clamp(q, 0L, 15L));
  };
  std::string out;
  append_number(out, f32_to_f16(d));
  for (size_t i = 0; i < kBlock / 2; ++i) {
    append_number(out, static_cast<uint8_t>(quantised(x[i]) | quantised(x[i + 16]) << 4));
  }
  return out;
}

// Rounds to the nearest number; the largest becomes 4 or 6 times the scale, or 5 rounded.
std::string encode_mxfp4(const float* x) {
  constexpr float kNumbers[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  float largest = 0;
  for (size_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(x[i]));
  const int exponent = largest > 0 ? std::max(std::ilogb(largest) - 2, -127) : -127;
  const auto code = [&](float value) {
    const float scaled = std::ldexp(std::abs(value), -exponent);
    const auto* nearest = std::ranges::min_element(
        kNumbers, {}, [&](float number) { return std::abs(number - scaled); });
    return static_cast<unsigned>(nearest - kNumbers) | (std::signbit(value) ? 8u : 0u);
  };
  std::string out;
  append_number(out, static_cast<uint8_t>(exponent + 127));
  for (size_t i = 0; i < kBlock / 2; ++i) {
    append_number(out, static_cast<uint8_t>(code(x[i]) | code(x[i + 16]) << 4));
  }
  return out;
}

std::string encode_q5_0(const float* x) {
  const float extreme =
      *std::max_element(x, x + kBlock, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float d = extreme / -16;
  std::array<unsigned, kBlock> q;
  for (size_t i = 0; i < kBlock; ++i) {
    q[i] = static_cast<unsigned>(std::clamp(d != 0 ? std::lround(x[i] / d) + 16 : 16, 0L, 31L));
  }
  uint32_t high = 0;
  for (size_t i = 0; i < kBlock; ++i) high |= q[i] >> 4 << i;
  std::string out;
  append_number(out, f32_to_f16(d));
  append_number(out, high);
  for (size_t i = 0; i < kBlock / 2; ++i) {
    append_number(out, static_cast<uint8_t>((q[i] & 15) | (q[i + 16] & 15) << 4));
  }
  return out;
}

size_t count_of(const PlainTensor& tensor) {
  return tensor.values.size();
}

bool is_matrix(const PlainTensor& tensor) {
  return tensor.shape.size() >= 2;
}

TensorType tensor_type_of(GgmlType type) {
  switch (type) {
    case kGgmlF32: return TensorType::kF32;
    case kGgmlMxfp4: return TensorType::kMxfp4;
    case kGgmlF16: return TensorType::kF16;
    case kGgmlBf16: return TensorType::kBf16;
    case kGgmlQ8_0: return TensorType::kQ8_0;
    case kGgmlQ4_0: return TensorType::kQ4_0;
    case kGgmlQ5_0: return TensorType::kQ5_0;
    case kGgmlQ3K: return TensorType::kQ3K;
    case kGgmlQ4K: return TensorType::kQ4K;
    case kGgmlQ5K: return TensorType::kQ5K;
    case kGgmlQ6K: return TensorType::kQ6K;
  }
  return TensorType::kF32;
}

// Row j * half + i of each head goes to row 2 i + j.
PlainTensor interleaved(const PlainTensor& tensor, int64_t heads) {
  PlainTensor result = tensor;
  const auto rows = static_cast<size_t>(tensor.shape[0]);
  const size_t width = count_of(tensor) / rows;
  const size_t head_rows = rows / static_cast<size_t>(heads);
  const size_t half = head_rows / 2;
  for (size_t row = 0; row < rows; ++row) {
    const size_t within = row % head_rows;
    const size_t target = row - within + 2 * (within % half) + within / half;
    std::copy_n(tensor.values.begin() + static_cast<ptrdiff_t>(row * width), width,
                result.values.begin() + static_cast<ptrdiff_t>(target * width));
  }
  return result;
}

// The tensors with those of all experts of a layer as one, whose name lacks their number.
PlainTensors with_joined_experts(const PlainTensors& tensors) {
  constexpr std::string_view kExperts = ".experts.";
  PlainTensors joined;
  for (const auto& [name, tensor] : tensors) {
    const size_t at = name.find(kExperts);
    const bool has_number =
        at != std::string::npos && std::isdigit(name[at + kExperts.size()]) != 0;
    if (!has_number) {
      joined.emplace(name, tensor);
      continue;
    }
    const std::string before = name.substr(0, at + kExperts.size());
    const std::string after = name.substr(name.find('.', before.size()) + 1);
    PlainTensor& all = joined[before + after];
    if (!all.shape.empty()) continue;
    all.shape = {0, tensor.shape[0], tensor.shape[1]};
    for (auto& experts = all.shape[0];; ++experts) {
      const auto next = tensors.find(before + std::to_string(experts) + "." + after);
      if (next == tensors.end()) break;
      all.values.insert(all.values.end(), next->second.values.begin(), next->second.values.end());
    }
  }
  return joined;
}

// Granite's matrices of gate and up as one of each, [.., n, k], and of down by the usual name.
PlainTensors with_separate_inputs(const PlainTensors& tensors) {
  constexpr std::string_view kInput = "input_linear", kOutput = "output_linear";
  PlainTensors separate;
  for (const auto& [name, tensor] : tensors) {
    std::string other = name;
    if (const size_t at = name.find(kOutput); at != std::string::npos) {
      separate.emplace(other.replace(at, kOutput.size(), "down_proj"), tensor);
      continue;
    }
    const size_t at = name.find(kInput);
    if (at == std::string::npos) {
      separate.emplace(name, tensor);
      continue;
    }
    PlainTensor half = {tensor.shape, {}};
    int64_t& rows = half.shape[half.shape.size() - 2];
    rows /= 2;
    const auto values = static_cast<ptrdiff_t>(rows * half.shape.back());
    for (const bool is_up : {false, true}) {
      half.values.clear();
      for (auto from = tensor.values.begin(); from < tensor.values.end(); from += 2 * values) {
        const auto begin = from + (is_up ? values : 0);
        half.values.insert(half.values.end(), begin, begin + values);
      }
      other = name;
      separate.emplace(other.replace(at, kInput.size(), is_up ? "up_proj" : "gate_proj"), half);
    }
  }
  return separate;
}

struct TokenList {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<std::string> merges;

  void put(size_t id, std::string text, int32_t type) {
    texts.at(id) = std::move(text);
    types.at(id) = type;
  }
};

TokenList tokens_of(const Json& tokenizer, size_t count) {
  TokenList list;
  list.texts.resize(count);
  list.types.assign(count, 5);
  for (size_t id = 0; id < count; ++id) list.texts[id] = "[PAD" + std::to_string(id) + "]";
  const bool is_qwen = tokenizer.dump().find("NFC") != std::string::npos;
  if (!is_qwen) {
    for (size_t byte = 0; byte < 256; ++byte) {
      list.put(byte, byte_level_spelling(std::string(1, static_cast<char>(byte))), 1);
    }
    return list;
  }
  for (const auto& [text, id] : tokenizer["model"]["vocab"].items()) {
    list.put(id.get<size_t>(), text, 1);
  }
  for (const Json& token : tokenizer["added_tokens"]) {
    list.put(token["id"].get<size_t>(), token["content"].get<std::string>(),
             token["special"].get<bool>() ? 3 : 4);
  }
  for (const Json& rule : tokenizer["model"]["merges"]) {
    list.merges.push_back(rule.is_string()
                              ? rule.get<std::string>()
                              : rule[0].get<std::string>() + " " + rule[1].get<std::string>());
  }
  return list;
}

}  // namespace

PlainTensors read_tensors(const fs::path& folder) {
  PlainTensors all;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".safetensors") continue;
    const auto mapped = MappedFile::open(file.path());
    const auto entries = parse_safetensors_header(mapped->bytes());
    EXPECT_TRUE(entries.ok()) << file.path();
    const uint64_t data = mapped->bytes().size() - entries->back().end;
    for (const TensorEntry& entry : *entries) {
      if (entry.type_name == "U8") continue;
      const Tensor view{*tensor_type_from_string(entry.type_name), entry.shape,
                        mapped->bytes().subspan(data + entry.begin, entry.end - entry.begin)};
      PlainTensor tensor{entry.shape, {}};
      tensor.values.resize(view.bytes.size() / describe(view.type).block_bytes);
      read_elements(view, 0, tensor.values.size(), tensor.values.data());
      all.emplace(entry.name, std::move(tensor));
    }
  }
  return all;
}

std::string encode_values(const std::vector<float>& values, GgmlType type) {
  std::string out;
  const auto blocks = [&](std::string (*encode)(const float*), size_t block = kBlock) {
    CHECK(values.size() % block == 0);
    for (size_t i = 0; i < values.size(); i += block) out += encode(&values[i]);
    return out;
  };
  if (type == kGgmlQ8_0) return blocks(encode_q8_0);
  if (type == kGgmlQ5_0) return blocks(encode_q5_0);
  if (type == kGgmlQ4_0) return blocks(encode_q4_0);
  if (type == kGgmlQ3K) return blocks(encode_q3_k, kKBlock);
  if (type == kGgmlQ4K) return blocks(encode_q4_k, kKBlock);
  if (type == kGgmlQ5K) return blocks(encode_q5_k, kKBlock);
  if (type == kGgmlQ6K) return blocks(encode_q6_k, kKBlock);
  if (type == kGgmlMxfp4) return blocks(encode_mxfp4);
  for (const float value : values) {
    if (type == kGgmlF32) append_number(out, value);
    if (type == kGgmlF16) append_number(out, f32_to_f16(value));
    if (type == kGgmlBf16) append_number(out, f32_to_bf16(value));
  }
  return out;
}

std::vector<float> decode_values(const std::string& bytes, GgmlType type) {
  const Tensor view{tensor_type_of(type), {}, bytes_of(bytes)};
  const TensorTypeInfo& info = describe(view.type);
  std::vector<float> values(bytes.size() / info.block_bytes * info.block_values);
  read_elements(view, 0, values.size(), values.data());
  return values;
}

PlainTensors rounded(const PlainTensors& tensors, GgmlType type) {
  PlainTensors result = tensors;
  for (auto& [name, tensor] : result) {
    if (is_matrix(tensor)) tensor.values = decode_values(encode_values(tensor.values, type), type);
  }
  return result;
}

void write_folder(const fs::path& from, const PlainTensors& tensors, const fs::path& to) {
  for (const auto& file : fs::directory_iterator(from)) {
    const std::string name = file.path().filename();
    if (name.ends_with(".json") && name != "model.safetensors.index.json") {
      fs::copy_file(file.path(), to / name, fs::copy_options::overwrite_existing);
    }
  }
  Json header = Json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const size_t begin = data.size();
    data += encode_values(tensor.values, kGgmlF32);
    header[name] = tensor_json("F32", tensor.shape, begin, data.size());
  }
  std::ofstream(to / "model.safetensors", std::ios::binary) << safetensors(header.dump(), data);
}

void write_metadata(const fs::path& folder, GgufWriter& out) {
  const Json config_json = read_document(folder / "config.json");
  const ModelConfig config = parse_model_config(config_json).value();
  write_config(config, out);
  const Json tokenizer = read_document(folder / "tokenizer.json");
  const TokenList list = tokens_of(tokenizer, static_cast<size_t>(config.vocab_size));
  out.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "qwen2");
  out.texts("tokenizer.ggml.tokens", list.texts);
  out.numbers("tokenizer.ggml.token_type", GgufValueType::kI32, list.types);
  out.texts("tokenizer.ggml.merges", list.merges);
  for (const char* key : {"bos_token_id", "eos_token_id"}) {
    if (config_json[key].is_number()) {
      out.u32(std::string("tokenizer.ggml.") + key, config_json[key].get<uint32_t>());
    }
  }
  out.flag("tokenizer.ggml.add_bos_token", false);
  const Json text = read_document(folder / "tokenizer_config.json");
  if (text.contains("chat_template") && text["chat_template"].is_string()) {
    out.text("tokenizer.chat_template", text["chat_template"].get<std::string>());
  }
}

namespace {

void write_some_tensors(const fs::path& folder, const PlainTensors& tensors, const TypeOf& type_of,
                        GgufWriter& out, size_t begin, size_t end) {
  const ModelConfig config = parse_model_config(read_document(folder / "config.json")).value();
  const std::string architecture = architecture_of(config);
  const bool is_interleaved = architecture == "llama" || architecture == "mistral3" ||
                              architecture == "granitemoe" || architecture == "granitehybrid";
  size_t index = 0;
  for (const auto& [name, tensor] : file_tensors(config, tensors)) {
    const size_t current = index++;
    if (current < begin || current >= end) continue;
    PlainTensor written = tensor;
    if (is_interleaved && name.find("q_proj") != std::string::npos) {
      written = interleaved(tensor, config.query_heads);
    } else if (is_interleaved && name.find("k_proj") != std::string::npos) {
      written = interleaved(tensor, config.kv_heads);
    }
    std::vector<uint64_t> dimensions(tensor.shape.rbegin(), tensor.shape.rend());
    if (name.ends_with("shared_expert_gate.weight")) dimensions.pop_back();
    const bool is_plain = dimensions.size() < 2 || is_plain_in_hybrids(name);
    const GgmlType stored = is_plain ? kGgmlF32 : type_of(name);
    out.tensor(gguf_tensor_name(name, config.model_type).value(), dimensions, stored,
               encode_values(written.values, stored));
  }
  for (int layer = 0; begin == 0 && layer < config.draft_layers; ++layer) {
    const std::string draft =
        "blk." + std::to_string(config.layers + layer) + ".nextn.eh_proj.weight";
    out.tensor(draft, {1}, kGgmlF32, encode_values({1}, kGgmlF32));
  }
  if (begin != 0) return;
  if (config.rope.scaling == RopeScaling::kProportional) {
    const auto pairs = static_cast<size_t>(config.rotary_dim(LayerRope::kMain) / 2);
    std::vector<float> divisors(pairs, 1e30f);
    std::fill_n(divisors.begin(), static_cast<size_t>(config.rope.moving_share * double(pairs)),
                1.0f);
    out.tensor("rope_freqs.weight", {pairs}, kGgmlF32, encode_values(divisors, kGgmlF32));
  }
  if (config.rope.scaling != RopeScaling::kLlama3) return;
  RopeConfig plain = config.rope;
  plain.scaling = RopeScaling::kNone;
  const std::vector<double> before = RopeTable(plain, config.head_dim).frequencies();
  const std::vector<double> after = RopeTable(config.rope, config.head_dim).frequencies();
  std::vector<float> factors;
  for (size_t i = 0; i < before.size(); ++i) {
    factors.push_back(static_cast<float>(before[i] / after[i]));
  }
  out.tensor("rope_freqs.weight", {factors.size()}, kGgmlF32, encode_values(factors, kGgmlF32));
}

}  // namespace

PlainTensors file_tensors(const ModelConfig& config, const PlainTensors& tensors) {
  return as_hybrid_file(config, with_separate_inputs(with_joined_experts(tensors)));
}

void write_tensors(const fs::path& folder, const PlainTensors& tensors, GgmlType type,
                   GgufWriter& out, size_t begin, size_t end) {
  write_some_tensors(
      folder, tensors, [type](const std::string&) { return type; }, out, begin, end);
}

void write_gguf(const fs::path& folder, const PlainTensors& tensors, const TypeOf& type_of,
                const fs::path& to) {
  GgufWriter out;
  write_metadata(folder, out);
  write_some_tensors(folder, tensors, type_of, out, 0, SIZE_MAX);
  std::ofstream(to, std::ios::binary) << out.file();
}

void write_gguf(const fs::path& folder, const PlainTensors& tensors, GgmlType type,
                const fs::path& to) {
  write_gguf(
      folder, tensors, [type](const std::string&) { return type; }, to);
}

}  // namespace cascade::testing
