// Writes the fields of a message as a MessagePack map, and its number arrays as frames.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/byte_string.h"
#include "wire/enum_names.h"
#include "wire/frames.h"

namespace cascade::wire {

// Each function appends one MessagePack value to `out`.
void pack_map_size(std::string& out, uint32_t pairs);
void pack_array_size(std::string& out, uint32_t elements);
void pack_bool(std::string& out, bool value);
void pack_signed(std::string& out, int64_t value);
void pack_unsigned(std::string& out, uint64_t value);
void pack_double(std::string& out, double value);
// Malformed UTF-8 is replaced by U+FFFD: a receiver would refuse it.
void pack_string(std::string& out, std::string_view value);
void pack_bytes(std::string& out, std::string_view value);
// An error as messages carry it: with the beginnings of its field and its text.
Error shortened(const Error& error);
// Numbers as 32-bit little-endian words.
std::string words_of(const void* numbers, size_t count);

// Whether a field is sent at all: an optional field that is absent or empty is not.
template <class T>
bool travels(const T&) {
  return true;
}
inline bool travels(const std::string& value) {
  return !value.empty();
}
template <class T>
bool travels(const std::optional<T>& value) {
  return value.has_value();
}
template <class T>
bool travels(const std::vector<T>& value) {
  return !value.empty();
}

// Counts the pairs that FieldWriter will write, because MessagePack has their number first.
class FieldCounter {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void required(std::string_view, const T&) {
    ++count_;
  }
  template <class T>
  void optional(std::string_view, const T& value) {
    if (travels(value)) ++count_;
  }
  template <class T>
  void numbers(std::string_view name, const std::vector<T>& value) {
    optional(name, value);
  }
  uint32_t count() const { return count_; }

 private:
  uint32_t count_ = 0;
};

// Each message has a function `fields(archive, message)` (*_fields.h) that names its fields in
// order; this archive writes them, FieldReader reads them.
class FieldWriter {
 public:
  static constexpr bool kReads = false;

  // Appends a map to `body` and frames to `frames`; both must outlive the writer.
  FieldWriter(std::string& body, Frames& frames) : body_(body), frames_(frames) {}

  template <class T>
  void required(std::string_view name, const T& value) {
    pack_string(body_, name);
    write(value);
  }
  template <class T>
  void optional(std::string_view name, const T& value) {
    if (travels(value)) required(name, value);
  }
  // An array of int32, uint32 or float gets a frame of its own; the map holds the frame's number.
  template <class T>
  void numbers(std::string_view name, const std::vector<T>& value) {
    static_assert(sizeof(T) == 4);
    if (value.empty()) return;
    required(name, static_cast<uint64_t>(frames_.size() - kArrayFrame));
    frames_.push_back(words_of(value.data(), value.size()));
  }
  // Writes a whole message and the name of the model that it is meant for; an empty name is left
  // out.
  template <class T>
  void request(const T& value, const std::string& model) {
    FieldCounter counter;
    fields(counter, value);
    counter.optional("model", model);
    pack_map_size(body_, counter.count());
    fields(*this, value);
    optional("model", model);
  }
  // Writes a whole message or struct as a map.
  template <class T>
  void structure(const T& value) {
    FieldCounter counter;
    fields(counter, value);
    pack_map_size(body_, counter.count());
    fields(*this, value);
  }

 private:
  static constexpr size_t kArrayFrame = 3;  // number of the first array's frame

  template <class T>
  void write(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      pack_bool(body_, value);
    } else if constexpr (std::unsigned_integral<T>) {
      pack_unsigned(body_, value);
    } else if constexpr (std::signed_integral<T>) {
      pack_signed(body_, value);
    } else if constexpr (std::floating_point<T>) {
      pack_double(body_, static_cast<double>(value));
    } else if constexpr (std::same_as<T, std::string>) {
      pack_string(body_, value);
    } else if constexpr (std::same_as<T, RequestId>) {
      pack_bytes(body_, {reinterpret_cast<const char*>(value.data()), value.size()});
    } else if constexpr (std::same_as<T, ByteString>) {
      pack_bytes(body_, value.bytes);
    } else if constexpr (std::is_enum_v<T>) {
      pack_string(body_, enum_name(value));
    } else if constexpr (std::same_as<T, Error>) {
      structure(shortened(value));
    } else {
      structure(value);
    }
  }
  template <class T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  template <class T>
  void write(const std::vector<T>& value) {
    pack_array_size(body_, static_cast<uint32_t>(value.size()));
    for (const T& element : value) write(element);
  }

  std::string& body_;
  Frames& frames_;
};

}  // namespace cascade::wire
