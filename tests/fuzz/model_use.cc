// Looks at every value, so that sanitizers see reads of memory that does not exist.
#include "tests/fuzz/model_use.h"

#include <bit>
#include <vector>

#include "kernels/kernels.h"
#include "model/weights.h"
#include "model/weights_packing.h"
#include "tests/fuzz/input.h"

namespace cascade::fuzz {

void read_values(const Tensor& tensor, uint64_t rows, uint64_t columns) {
  CHECK(columns % describe(tensor.type).block_values == 0);
  CHECK(rows * columns / describe(tensor.type).block_values ==
        tensor.bytes.size() / describe(tensor.type).block_bytes);
  std::vector<float> row(columns);
  for (uint64_t i = 0; i < rows; ++i) {
    read_elements(tensor, tensor.file_row(i) * columns, columns, row.data());
    uint64_t sum = 0;
    for (const float value : row) sum += std::bit_cast<uint32_t>(value);
    CHECK(sum <= columns * UINT32_MAX);
  }
}

void pack_weights(const ModelFiles& model) {
  static ThreadPool pool(1);
  static const auto kernels = kernels_for(Isa::kScalar);
  CHECK(kernels.ok());
  const auto pack = [&](const WeightPlan& plan) {
    PackedCache none("");
    LoadReport report;
    (void)is_ok(load_weights(model.tensors, model.config, plan, **kernels, pool, none, report));
  };
  for (const WeightType type : kWeightTypes) pack(type);
  pack(choose_weights(model.tensors).plan);
}

bool use_text(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool trusted : {false, true}) {
    const auto ids = tokenizer.encode(text, trusted, true);
    if (!is_ok(ids)) return false;
    for (const int32_t id : *ids) CHECK(id >= 0 && id < tokenizer.id_count());
    for (const bool skip_special : {false, true}) {
      const std::string whole = tokenizer.decode(*ids, skip_special);
      CHECK(is_utf8(whole));
      Tokenizer::StreamDecoder decoder(tokenizer, skip_special);
      std::string streamed;
      for (const int32_t id : *ids) {
        const std::string piece = decoder.push(id);
        CHECK(is_utf8(piece));
        streamed += piece;
      }
      streamed += decoder.finish();
      CHECK(streamed == whole);
    }
  }
  (void)tokenizer.think_tokens();
  if (const auto bytes = tokenizer.token_bytes()) {
    CHECK(bytes->bytes.size() <= static_cast<size_t>(tokenizer.id_count()));
  }
  return true;
}

}  // namespace cascade::fuzz
