// Measures how much of the limits (limits.h) a message will take, before it is written.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "wire/enum_names.h"
#include "wire/field_writer.h"
#include "wire/limits.h"

namespace cascade::wire {

// The archive (see FieldWriter) that counts what FieldWriter would write, byte for byte, and finds
// the first part that exceeds a limit. One thread.
class MessageSizer {
 public:
  static constexpr bool kReads = false;

  // How a text counts. FieldWriter replaces parts that are not UTF-8, so it may become three times
  // as long.
  enum class Texts {
    kAtMost,   // as three times its bytes, without reading it
    kExactly,  // as its size after the replacement
  };
  explicit MessageSizer(Texts texts) : texts_(texts) {}

  template <class T>
  void required(std::string_view name, const T& value) {
    if (problem_) return;
    field_ = name;
    add_string_size(name.size());
    add(value);
  }
  template <class T>
  void optional(std::string_view name, const T& value) {
    if (travels(value)) required(name, value);
  }
  template <class T>
  void numbers(std::string_view name, const std::vector<T>& value) {
    if (value.empty()) return;
    required(name, static_cast<uint64_t>(arrays_));
    add_numbers(value.size());
  }
  template <class T>
  void structure(const T& value) {
    FieldCounter counter;
    fields(counter, value);
    add_map_size(counter.count());
    fields(*this, value);
  }
  // A whole message, as FieldWriter::request() writes it.
  template <class T>
  void request(const T& value, const std::string& model) {
    FieldCounter counter;
    fields(counter, value);
    counter.optional("model", model);
    add_map_size(counter.count());
    fields(*this, value);
    optional("model", model);
  }

  size_t values() const { return values_; }
  size_t body_bytes() const { return body_bytes_; }
  size_t arrays() const { return arrays_; }
  size_t numbers() const { return numbers_; }  // of all arrays together
  // The bytes of body and arrays.
  size_t bytes() const { return body_bytes_ + numbers_ * sizeof(int32_t); }
  // Returns an error for the first part that exceeds a limit; nothing after that part was counted.
  // If there is no such part, returns an error that says what the whole message has too much of.
  // nullopt if the message fits.
  std::optional<Error> problem() const;

 private:
  void fail(std::string has, size_t limit);
  void add_value(size_t bytes);
  void add_string_size(size_t size);
  void add_bytes_size(size_t size);
  void add_map_size(size_t pairs);
  void add_text(std::string_view text);
  void add_elements(size_t count);
  void add_unsigned(uint64_t value);
  void add_signed(int64_t value);
  void add_numbers(size_t count);

  template <class T>
  void add(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      add_value(1);
    } else if constexpr (std::unsigned_integral<T>) {
      add_unsigned(value);
    } else if constexpr (std::signed_integral<T>) {
      add_signed(value);
    } else if constexpr (std::floating_point<T>) {
      add_value(1 + sizeof(double));
    } else if constexpr (std::same_as<T, std::string>) {
      add_text(value);
    } else if constexpr (std::same_as<T, RequestId>) {
      add_bytes_size(value.size());
    } else if constexpr (std::same_as<T, ByteString>) {
      add_bytes_size(value.bytes.size());
    } else if constexpr (std::is_enum_v<T>) {
      add_string_size(enum_name(value).size());
    } else if constexpr (std::same_as<T, Error>) {
      structure(shortened(value));
    } else {
      structure(value);
    }
  }
  template <class T>
  void add(const std::optional<T>& value) {
    add(*value);
  }
  template <class T>
  void add(const std::vector<T>& value) {
    add_elements(value.size());
    for (const T& element : value) {
      if (problem_) return;
      add(element);
    }
  }

  const Texts texts_;
  std::string_view field_;  // the innermost field
  size_t values_ = 0;
  size_t body_bytes_ = 0;
  size_t arrays_ = 0;
  size_t numbers_ = 0;
  std::optional<Error> problem_;
};

}  // namespace cascade::wire
