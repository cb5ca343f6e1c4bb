// Test archives for the messages' fields(): one fills a message with random content, one prints a
// message as text so that two messages can be compared, and one tells which members are visited.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"
#include "wire/enum_names.h"
#include "wire/field_writer.h"
#include "wire/reply_fields.h"
#include "wire/request_fields.h"
#include "wire/store_fields.h"

namespace cascade::wire::testing {

inline std::string random_text(Random& random, size_t code_points_max) {
  std::string text;
  for (uint64_t n = random.below(code_points_max + 1); n > 0; --n) {
    const bool ascii = random.below(4) != 0;
    utf8_append(text, static_cast<uint32_t>(random.below(ascii ? 0x80 : 0x110000)));
  }
  return text;
}

template <class E>
E random_enum(Random& random) {
  constexpr bool kFour = std::same_as<E, ChunkType> || std::same_as<E, EncodeJob::Mode>;
  constexpr bool kEight = std::same_as<E, EventKind>;
  constexpr bool kFive = std::same_as<E, HolderKind>;
  constexpr bool kTwo = std::same_as<E, OnMissing> || std::same_as<E, OnOverflow>;
  constexpr uint64_t few = kTwo ? 2 : kFour ? 4 : kFive ? 5 : 3;
  constexpr uint64_t count = std::same_as<E, ErrorCode> ? 11 : kEight ? 8 : few;
  return static_cast<E>(random.below(count));
}

// Numbers of every magnitude, including both ends of the range.
template <class T>
T random_integer(Random& random) {
  using Limits = std::numeric_limits<T>;
  switch (random.below(8)) {
    case 0: return Limits::min();
    case 1: return Limits::max();
    default: return static_cast<T>(random() >> random.below(64));
  }
}

// Fills every field with random content of the right type (not necessarily a valid request).
class RandomFill {
 public:
  static constexpr bool kReads = true;
  explicit RandomFill(Random& random) : random_(random) {}

  template <class T>
  void required(std::string_view, T& value) {
    visited_.insert(&value);
    fill(value);
  }
  template <class T>
  void optional(std::string_view name, T& value) {
    required(name, value);
  }
  template <class T>
  void numbers(std::string_view, std::vector<T>& value) {
    visited_.insert(&value);
    value.resize(listed_tokens_.value_or(random_.below(9)));
    for (T& number : value) {
      if constexpr (std::same_as<T, float>) {
        number = static_cast<float>(random_.unit() - 0.5);
      } else {
        number = random_integer<T>(random_);
      }
    }
  }
  void fail(std::string_view, std::string_view) {}
  bool ok() const { return true; }
  size_t visited() const { return visited_.size(); }

 private:
  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = random_.below(2) == 1;
    } else if constexpr (std::integral<T>) {
      value = random_integer<T>(random_);
    } else if constexpr (std::floating_point<T>) {
      value = static_cast<T>(random_.unit() * 100 - 20);
    } else if constexpr (std::same_as<T, std::string>) {
      value = random_text(random_, random_.below(20) == 0 ? 5000 : 12);
    } else if constexpr (std::same_as<T, RequestId>) {
      for (uint8_t& byte : value) byte = static_cast<uint8_t>(random_.below(256));
    } else if constexpr (std::same_as<T, ByteString>) {
      for (uint64_t n = random_.below(9); n > 0; --n) {
        value.bytes.push_back(static_cast<char>(random_.below(256)));
      }
    } else if constexpr (std::is_enum_v<T>) {
      value = random_enum<T>(random_);
    } else {
      RandomFill inner(random_);
      fields(inner, value);
      if constexpr (std::same_as<T, Error>) value = shortened(value);
    }
  }
  template <class T>
  void fill(std::optional<T>& value) {
    if (random_.below(2) == 0) return;
    fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& value) {
    value.resize(random_.below(5));
    for (T& element : value) fill(element);
  }
  void fill(std::vector<ListedChunk>& value) {
    value.resize(random_.below(5));
    listed_tokens_ = 0;
    for (ListedChunk& element : value) {
      RandomFill inner(random_);
      fields(inner, element);
      element.token_count = static_cast<uint32_t>(random_.below(6));
      *listed_tokens_ += element.token_count;
    }
  }

  Random& random_;
  std::set<const void*> visited_;
  std::optional<size_t> listed_tokens_;  // after a chunk list: how many ids its chunks have
};

// Prints every field exactly (numbers by their bits), one per line.
class Dump {
 public:
  static constexpr bool kReads = false;
  explicit Dump(std::string& out, std::string prefix = {}) : out_(out), prefix_(prefix) {}

  template <class T>
  void required(std::string_view name, const T& value) {
    print(prefix_ + std::string(name), value);
  }
  template <class T>
  void optional(std::string_view name, const T& value) {
    required(name, value);
  }
  template <class T>
  void numbers(std::string_view name, const std::vector<T>& value) {
    required(name, value);
  }

 private:
  void line(const std::string& name, const std::string& value) {
    out_ += name + " = " + value + "\n";
  }
  template <class T>
  void print(const std::string& name, const T& value) {
    if constexpr (std::integral<T>) {
      line(name, std::to_string(value));
    } else if constexpr (std::same_as<T, float>) {
      line(name, std::to_string(std::bit_cast<uint32_t>(value)));
    } else if constexpr (std::same_as<T, double>) {
      line(name, std::to_string(std::bit_cast<uint64_t>(value)));
    } else if constexpr (std::same_as<T, std::string>) {
      line(name, value);
    } else if constexpr (std::same_as<T, RequestId>) {
      line(name, std::string(value.begin(), value.end()));
    } else if constexpr (std::same_as<T, ByteString>) {
      line(name, value.bytes);
    } else if constexpr (std::is_enum_v<T>) {
      line(name, std::string(enum_name(value)));
    } else {
      Dump inner(out_, name + ".");
      fields(inner, value);
    }
  }
  template <class T>
  void print(const std::string& name, const std::optional<T>& value) {
    if (value.has_value()) return print(name, *value);
    line(name, "absent");
  }
  template <class T>
  void print(const std::string& name, const std::vector<T>& value) {
    line(name + ".size", std::to_string(value.size()));
    for (size_t i = 0; i < value.size(); ++i) {
      print(name + "[" + std::to_string(i) + "]", value[i]);
    }
  }

  std::string& out_;
  std::string prefix_;
};

// The name of the message's type, and all its fields.
inline std::string dump(const Message& message) {
  std::string out = "type = " + std::to_string(message.index()) + "\n";
  Dump archive(out);
  std::visit([&](const auto& alternative) { fields(archive, alternative); }, message);
  return out;
}

}  // namespace cascade::wire::testing
