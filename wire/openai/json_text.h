// JSON values as compact text.
#pragma once

#include <string>

#include "base/exact_number.h"

namespace cascade::openai {

// Numbers keep their digits. Bytes that are not UTF-8 (there should be none) become U+FFFD.
inline std::string json_text(const OrderedJson& value) {
  return dump_exact(value);
}

// A string, or null for an empty one.
inline OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

}  // namespace cascade::openai
