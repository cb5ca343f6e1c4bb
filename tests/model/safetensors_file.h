// Builds safetensors files for tests, well-formed or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade::testing {

// A file that claims `header_bytes`, followed by `header` and `data` as they are.
inline std::string safetensors_claiming(uint64_t header_bytes, std::string_view header,
                                        std::string_view data) {
  std::string file(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  file += header;
  file += data;
  return file;
}

inline std::string safetensors(std::string_view header, std::string_view data) {
  return safetensors_claiming(header.size(), header, data);
}

inline std::span<const uint8_t> as_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// {"dtype":type,"shape":shape,"data_offsets":[begin,end]}
inline Json tensor_json(std::string_view type, const Json& shape, const Json& begin,
                        const Json& end) {
  return {{"dtype", type}, {"shape", shape}, {"data_offsets", Json::array({begin, end})}};
}

// Three tensors in 32 bytes, the middle one empty, and metadata.
inline Json small_table() {
  return {{"__metadata__", {{"format", "pt"}}},
          {"a", tensor_json("F32", {2, 3}, 0, 24)},
          {"empty", tensor_json("F16", {0, 7}, 24, 24)},
          {"b", tensor_json("BF16", {4}, 24, 32)}};
}

inline std::string small_data() {
  std::string data;
  for (int i = 0; i < 32; ++i) data.push_back(static_cast<char>(i));
  return data;
}

}  // namespace cascade::testing
