// What is done with the parts of a model that were read.
#pragma once

#include <string_view>

#include "model/model_files.h"

namespace cascade::fuzz {

// All values of the tensor, as f32. `columns` are whole blocks.
void read_values(const Tensor& tensor, uint64_t rows, uint64_t columns);
// Packs the weights in every type, or is told why not.
void pack_weights(const ModelFiles& model);

// `text` as ids and back, as people's text and as the model's own. False if it is refused.
bool use_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace cascade::fuzz
