// Settings, and models: plain data.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"

namespace cascade {

// A setting that was made at run time. Keyed by (tenant, key).
struct Policy {
  std::string tenant;
  std::string key;
  std::string value;
  bool operator==(const Policy&) const = default;
};

// A model and everything about it that K and V depend on.
struct ModelRecord {
  Digest digest;  // the root key of its chains
  std::string name;
  std::string weight_type;
  std::string kv_type;
  int64_t layout_version = 0;
  int64_t numerics_version = 0;
  bool operator==(const ModelRecord&) const = default;
};

}  // namespace cascade
