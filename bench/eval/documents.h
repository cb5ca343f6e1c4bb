// A text of several documents as the token ids of one sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace cascade::eval {

// The ids of the documents in `path`, which are separated by a line that holds one NUL byte. Each
// ends with the model's end-of-text token. Special tokens in the text are not recognised. Errors:
// those of read_file; kInvalidArgument if the text is not UTF-8 (field = path), or if the model has
// no token that ends a text.
Result<std::vector<int32_t>> read_documents(const std::string& path, const Model& model);

}  // namespace cascade::eval
