// libFuzzer: any bytes as a GGUF file's header, its keys by every access, its tensors' values.
// scripts/fuzz-gguf builds and runs it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "model/gguf/dequantize.h"
#include "model/gguf/header.h"

namespace cascade {
namespace {

// Keys that the seeds have, and one that none has.
constexpr const char* kKeys[] = {"k",
                                 "general.alignment",
                                 "general.architecture",
                                 "qwen3.block_count",
                                 "qwen3.rope.freq_base",
                                 "tokenizer.ggml.tokens",
                                 "tokenizer.ggml.token_type",
                                 "tokenizer.ggml.scores",
                                 "tokenizer.ggml.merges",
                                 "tokenizer.ggml.add_bos_token",
                                 "tokenizer.chat_template",
                                 "absent"};

void read_keys(const GgufMetadata& metadata) {
  for (const char* key : kKeys) {
    (void)metadata.whole(key, INT64_MIN, INT64_MAX);
    (void)metadata.number(key);
    (void)metadata.flag_or(key, false);
    (void)metadata.text(key);
    (void)metadata.wholes(key);
    (void)metadata.floats(key);
    const auto strings = metadata.strings(key);
    if (!strings.ok() || *strings == nullptr) continue;
    size_t bytes = 0;
    for (const std::string_view text : **strings) {
      for (const char c : text) bytes += static_cast<uint8_t>(c);
    }
    CHECK(bytes < SIZE_MAX);
  }
}

void read_values(const GgufTensor& tensor, std::span<const uint8_t> file) {
  CHECK(tensor.begin < tensor.end && tensor.end <= file.size());
  const TensorTypeInfo& type = describe(tensor.type);
  const auto bytes = file.subspan(tensor.begin, tensor.end - tensor.begin);
  CHECK(bytes.size() % type.block_bytes == 0);
  if (type.block_values == 1) return;
  std::vector<float> values(type.block_values);
  for (size_t at = 0; at < bytes.size(); at += type.block_bytes) {
    dequantize_blocks(tensor.type, bytes.data() + at, values.size(), values.data());
  }
}

}  // namespace
}  // namespace cascade

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> file(data, size);
  const auto header = cascade::parse_gguf_header(file);
  if (!header.ok()) {
    CHECK(!header.error().field.empty() && !header.error().message.empty());
    return 0;
  }
  cascade::read_keys(header->metadata);
  for (const cascade::GgufTensor& tensor : header->tensors) cascade::read_values(tensor, file);
  return 0;
}
