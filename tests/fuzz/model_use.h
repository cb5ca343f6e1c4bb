// Uses the parts of a model that was read.
#pragma once

#include <string_view>

#include "model/model_files.h"

namespace cascade::fuzz {

// Reads all values of the tensor as f32. `columns` are whole blocks.
void read_values(const Tensor& tensor, uint64_t rows, uint64_t columns);
// Packs the weights in every type; if that is refused, the error must say why.
void pack_weights(const ModelFiles& model);

// Converts `text` to ids and back, as people's text and as the model's own. False if the text is
// refused.
bool use_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace cascade::fuzz
