// Says which options would use K and V that an earlier start has stored.
#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "base/number_types.h"
#include "model/model.h"

namespace cascade {

struct StoredTypes {
  std::string weights;       // the value of --weights
  std::string weight_types;  // all types that it gives the weights: "q4k and q6k"
  KvType kv = KvType::kInt8;
};

// The options with which `model`, whose files lie at `path`, would have the root key `key`, all
// else being as it is. Names a type of weights rather than "auto" if both would do. nullopt: no
// types give that key.
std::optional<StoredTypes> types_with_key(const Model& model, const std::string& path,
                                          const Digest& key);

}  // namespace cascade
