// JSON values as compact text.
#pragma once

#include <string>

#include "base/json.h"

namespace cascade::openai {

// Bytes that are not UTF-8 (there should be none) become U+FFFD instead of an exception.
inline std::string json_text(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// A string, or null for an empty one.
inline OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

}  // namespace cascade::openai
