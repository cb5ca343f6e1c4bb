// Sizes as the MessagePack specification defines them ("Formats").
#include "wire/message_size.h"

#include "base/utf8.h"

namespace cascade::wire {
namespace {

// Returns how many bytes MessagePack needs to write a type and a size. A size below `fixed` is a
// part of the first byte.
size_t size_bytes(size_t size, size_t fixed, bool has_one_byte_form) {
  if (size < fixed) return 1;
  if (has_one_byte_form && size <= UINT8_MAX) return 2;
  return size <= UINT16_MAX ? 3 : 5;
}

constexpr size_t kFixedMap = 16, kFixedArray = 16, kFixedString = 32;
constexpr size_t kMalformedGrowth = 3;  // U+FFFD has three bytes

// Header, request id and body.
constexpr size_t kFramesBesideArrays = 3;
constexpr size_t kBytesBesideBody = 8 + RequestId().size();

}  // namespace

std::optional<Error> MessageSizer::problem() const {
  if (problem_) return problem_;
  const auto beyond = [](size_t has, const char* what, size_t limit) {
    return invalid_argument("frames", "have " + std::to_string(has) + " " + what +
                                          ", more than the limit of " + std::to_string(limit) +
                                          " of a message");
  };
  if (values_ > kValuesMax) return beyond(values_, "values", kValuesMax);
  const size_t bytes_all = bytes() + kBytesBesideBody;
  if (bytes_all > kMessageBytesMax) return beyond(bytes_all, "bytes", kMessageBytesMax);
  const size_t arrays_max = kFrameCountMax - kFramesBesideArrays;
  if (arrays_ > arrays_max) return beyond(arrays_, "arrays", arrays_max);
  return std::nullopt;
}

void MessageSizer::fail(std::string has, size_t limit) {
  if (problem_) return;
  problem_ =
      invalid_argument(std::string(field_), "has " + std::move(has) + ", more than the limit of " +
                                                std::to_string(limit));
}

void MessageSizer::add_value(size_t bytes) {
  ++values_;
  body_bytes_ += bytes;
}

void MessageSizer::add_string_size(size_t size) {
  add_value(size_bytes(size, kFixedString, true) + size);
}

void MessageSizer::add_bytes_size(size_t size) {
  add_value(size_bytes(size, 0, true) + size);
}

void MessageSizer::add_map_size(size_t pairs) {
  add_value(size_bytes(pairs, kFixedMap, false));
}

void MessageSizer::add_text(std::string_view text) {
  size_t size = text.size() * kMalformedGrowth;
  if (texts_ == Texts::kExactly) {
    size = is_utf8(text) ? text.size() : utf8_replace_malformed(text).size();
  }
  if (size > kTextBytesMax) fail(std::to_string(size) + " bytes", kTextBytesMax);
  add_string_size(size);
}

void MessageSizer::add_elements(size_t count) {
  if (count > kArrayElementsMax) fail(std::to_string(count) + " elements", kArrayElementsMax);
  add_value(size_bytes(count, kFixedArray, false));
}

void MessageSizer::add_unsigned(uint64_t value) {
  if (value <= INT8_MAX) return add_value(1);
  if (value <= UINT8_MAX) return add_value(2);
  if (value <= UINT16_MAX) return add_value(3);
  add_value(value <= UINT32_MAX ? 5 : 9);
}

void MessageSizer::add_signed(int64_t value) {
  if (value >= 0) return add_unsigned(static_cast<uint64_t>(value));
  if (value >= -32) return add_value(1);
  if (value >= INT8_MIN) return add_value(2);
  if (value >= INT16_MIN) return add_value(3);
  add_value(value >= INT32_MIN ? 5 : 9);
}

void MessageSizer::add_numbers(size_t count) {
  if (count > kNumbersMax) fail(std::to_string(count) + " numbers", kNumbersMax);
  ++arrays_;
  numbers_ += count;
}

}  // namespace cascade::wire
