// Reads the fields of a message from a parsed map; the first problem is kept and names its field.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/byte_string.h"
#include "wire/enum_names.h"
#include "wire/frames.h"
#include "wire/value_tree.h"

namespace cascade::wire {

// Where a field is, e.g. messages[2].role. It lives on the stack of the readers.
struct FieldPath {
  const FieldPath* parent = nullptr;
  std::string_view name;  // empty: an element of an array
  uint32_t index = 0;
  std::string to_string() const;
};

// What the readers of one message share.
class ReadState {
 public:
  // `tree` and `arrays` (the frames 3...) must outlive the state.
  ReadState(const ValueTree& tree, std::span<const Frame> arrays)
      : tree_(tree), arrays_(arrays), taken_(arrays.size(), false) {}

  const ValueTree& tree() const { return tree_; }
  bool ok() const { return !error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }
  // Only the first problem is kept.
  void fail(const FieldPath& path, std::string problem);
  void fail(std::string field, std::string problem);

  // Returns the frame of an array, or nullptr after fail(). Each frame is given out only once:
  // otherwise a few bytes that refer to one frame again and again would take memory without bound.
  const Frame* take_array(const FieldPath& path, const Value& reference);

 private:
  const ValueTree& tree_;
  std::span<const Frame> arrays_;
  std::vector<bool> taken_;
  std::optional<Error> error_;
};

// Reads one value of the map as a C++ type; false after fail(). Strings are checked for their size
// (kTextBytesMax) and UTF-8.
bool read_bool(ReadState& state, const FieldPath& path, const Value& value, bool& out);
bool read_signed(ReadState& state, const FieldPath& path, const Value& value, int64_t min,
                 int64_t max, int64_t& out);
bool read_unsigned(ReadState& state, const FieldPath& path, const Value& value, uint64_t max,
                   uint64_t& out);
bool read_double(ReadState& state, const FieldPath& path, const Value& value, double& out);
bool read_string(ReadState& state, const FieldPath& path, const Value& value, std::string& out);
bool read_request_id(ReadState& state, const FieldPath& path, const Value& value, RequestId& out);
// The size limit is that of a string.
bool read_bytes(ReadState& state, const FieldPath& path, const Value& value, std::string& out);

// The archive that fills a message; see FieldWriter. After the first problem it does nothing more.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  // `number` is the map's value in the tree. Fails if it is not a map or has a key twice.
  FieldReader(ReadState& state, uint32_t number, const FieldPath* path);

  template <class T>
  void required(std::string_view name, T& out) {
    const Value* value = find(name);
    const FieldPath path{path_, name, 0};
    if (value == nullptr) return fail_missing(path);
    read(path, *value, out);
  }
  // An absent or nil field leaves `out` as it is.
  template <class T>
  void optional(std::string_view name, T& out) {
    const Value* value = find(name);
    if (value == nullptr || value->type == ValueType::kNil) return;
    read(FieldPath{path_, name, 0}, *value, out);
  }
  // Absent: an empty array.
  template <class T>
  void numbers(std::string_view name, std::vector<T>& out) {
    static_assert(sizeof(T) == 4);
    const Value* value = find(name);
    if (value == nullptr || value->type == ValueType::kNil) return;
    const Frame* frame = state_.take_array(FieldPath{path_, name, 0}, *value);
    if (frame == nullptr || frame->empty()) return;
    out.resize(frame->size() / sizeof(T));
    std::memcpy(out.data(), frame->data(), frame->size());
  }
  // For problems that a message finds between its fields.
  void fail(std::string_view name, std::string problem) {
    state_.fail(FieldPath{path_, name, 0}, std::move(problem));
  }
  bool ok() const { return state_.ok(); }

 private:
  // nullptr if absent, and after a problem.
  const Value* find(std::string_view name);
  void fail_missing(const FieldPath& path);
  void check_keys_differ();
  uint32_t number_of(const Value& value) const {
    return static_cast<uint32_t>(&value - &state_.tree().at(0));
  }

  template <class T>
  void read(const FieldPath& path, const Value& value, T& out) {
    if constexpr (std::same_as<T, bool>) {
      read_bool(state_, path, value, out);
    } else if constexpr (std::unsigned_integral<T>) {
      uint64_t number = 0;
      if (read_unsigned(state_, path, value, std::numeric_limits<T>::max(), number)) {
        out = static_cast<T>(number);
      }
    } else if constexpr (std::signed_integral<T>) {
      using Limits = std::numeric_limits<T>;
      int64_t number = 0;
      if (read_signed(state_, path, value, Limits::min(), Limits::max(), number)) {
        out = static_cast<T>(number);
      }
    } else if constexpr (std::floating_point<T>) {
      double number = 0;
      if (read_double(state_, path, value, number)) out = static_cast<T>(number);
    } else if constexpr (std::same_as<T, std::string>) {
      read_string(state_, path, value, out);
    } else if constexpr (std::same_as<T, RequestId>) {
      read_request_id(state_, path, value, out);
    } else if constexpr (std::same_as<T, ByteString>) {
      read_bytes(state_, path, value, out.bytes);
    } else if constexpr (std::is_enum_v<T>) {
      std::string name;
      if (read_string(state_, path, value, name) && !enum_from_name(name, out)) {
        state_.fail(path, "has an unknown name: " + name.substr(0, 40));
      }
    } else {
      FieldReader reader(state_, number_of(value), &path);
      if (ok()) fields(reader, out);
    }
  }
  template <class T>
  void read(const FieldPath& path, const Value& value, std::optional<T>& out) {
    T inner{};
    read(path, value, inner);
    if (ok()) out = std::move(inner);
  }
  template <class T>
  void read(const FieldPath& path, const Value& value, std::vector<T>& out) {
    if (value.type != ValueType::kArray) return state_.fail(path, "must be an array");
    uint32_t number = number_of(value) + 1;
    for (uint32_t i = 0; i < value.size && ok(); ++i) {
      const Value& element = state_.tree().at(number);
      T item{};
      read(FieldPath{&path, {}, i}, element, item);
      out.push_back(std::move(item));
      number = element.end;
    }
  }

  ReadState& state_;
  const FieldPath* path_;
  uint32_t first_key_ = 0;  // numbers in the tree
  uint32_t end_ = 0;
  uint32_t next_key_ = 0;  // where the next search starts: senders keep our order
};

}  // namespace cascade::wire
