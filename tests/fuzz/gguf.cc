// GGUF files: reads their keys in every way and their tensors' values, and loads them as models.
#include "model/gguf/header.h"
#include "model/gguf/model.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/input_folder.h"
#include "tests/fuzz/model_use.h"

namespace cascade::fuzz {
namespace {

// Keys of the seeds, and one that no seed has.
constexpr const char* kKeys[] = {"k",
                                 "general.alignment",
                                 "general.architecture",
                                 "qwen3.block_count",
                                 "qwen3.rope.freq_base",
                                 "qwen3moe.expert_count",
                                 "glm4moe.expert_weights_scale",
                                 "glm4moe.expert_weights_norm",
                                 "gemma4.attention.head_count_kv",
                                 "gemma4.attention.sliding_window_pattern",
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
    (void)metadata.flags(key);
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

void read_tensor(const GgufTensor& tensor, Bytes file) {
  CHECK(tensor.begin < tensor.end && tensor.end <= file.size());
  Tensor values;
  values.type = tensor.type;
  values.bytes = file.subspan(tensor.begin, tensor.end - tensor.begin);
  uint64_t rows = 1;
  for (size_t i = 1; i < tensor.dimensions.size(); ++i) rows *= tensor.dimensions[i];
  read_values(values, rows, tensor.dimensions.front());
}

}  // namespace

bool read_gguf(Bytes input) {
  static const InputFolder folder;
  const auto header = parse_gguf_header(input);
  if (is_ok(header)) {
    read_keys(header->metadata);
    for (const GgufTensor& tensor : header->tensors) read_tensor(tensor, input);
  } else {
    CHECK(!header.error().field.empty());
  }
  const auto model = read_gguf_model(folder.write("model.gguf", text_of(input)));
  if (!is_ok(model)) {
    CHECK(!model.error().field.empty());
    return false;
  }
  CHECK(header.ok());
  pack_weights(*model);
  (void)use_text(model->text.tokenizer, "Hi <think>\xC3\xA9</think> 12\n<0x0A>\xE2\x96\x81 \xFF");
  return true;
}

}  // namespace cascade::fuzz
