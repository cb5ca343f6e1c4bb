// Typed reading with errors that name the field.
#include "wire/field_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace cascade::wire {
namespace {

std::string quoted_path(const FieldPath* path) {
  if (path == nullptr) return "";
  const std::string before = quoted_path(path->parent);
  if (path->name.empty()) return before + "[" + std::to_string(path->index) + "]";
  return before.empty() ? std::string(path->name) : before + "." + std::string(path->name);
}

}  // namespace

std::string FieldPath::to_string() const {
  return quoted_path(this);
}

void ReadState::fail(const FieldPath& path, std::string problem) {
  if (ok()) error_ = invalid_argument(path.to_string(), std::move(problem));
}

void ReadState::fail(std::string field, std::string problem) {
  if (ok()) error_ = invalid_argument(std::move(field), std::move(problem));
}

const Frame* ReadState::take_array(const FieldPath& path, const Value& reference) {
  uint64_t number = 0;
  if (!read_unsigned(*this, path, reference, UINT32_MAX, number)) return nullptr;
  if (number >= arrays_.size()) {
    fail(path,
         "refers to array " + std::to_string(number) + " of " + std::to_string(arrays_.size()));
    return nullptr;
  }
  if (taken_[number]) {
    fail(path, "refers to array " + std::to_string(number) + ", which another field has");
    return nullptr;
  }
  taken_[number] = true;
  const Frame& frame = arrays_[number];
  if (frame.size() % 4 != 0) {
    fail(path, "has an array of " + std::to_string(frame.size()) +
                   " bytes, which is not a multiple of 4");
    return nullptr;
  }
  if (frame.size() / sizeof(int32_t) > kNumbersMax) {
    fail(path, "has " + std::to_string(frame.size() / sizeof(int32_t)) +
                   " numbers, more than the limit of " + std::to_string(kNumbersMax));
    return nullptr;
  }
  return &frame;
}

bool read_bool(ReadState& state, const FieldPath& path, const Value& value, bool& out) {
  if (value.type != ValueType::kBool) {
    state.fail(path, "must be true or false");
    return false;
  }
  out = value.payload != 0;
  return true;
}

bool read_signed(ReadState& state, const FieldPath& path, const Value& value, int64_t min,
                 int64_t max, int64_t& out) {
  const bool positive = value.type == ValueType::kUnsigned;
  if (!positive && value.type != ValueType::kNegative) {
    state.fail(path, "must be a whole number");
    return false;
  }
  const bool fits =
      positive ? value.payload <= static_cast<uint64_t>(max) : value.as_negative() >= min;
  if (!fits) {
    state.fail(path, "must be between " + std::to_string(min) + " and " + std::to_string(max));
    return false;
  }
  out = static_cast<int64_t>(value.payload);
  return true;
}

bool read_unsigned(ReadState& state, const FieldPath& path, const Value& value, uint64_t max,
                   uint64_t& out) {
  const bool whole = value.type == ValueType::kUnsigned || value.type == ValueType::kNegative;
  if (!whole) {
    state.fail(path, "must be a whole number");
    return false;
  }
  if (value.type == ValueType::kNegative || value.payload > max) {
    state.fail(path, "must be between 0 and " + std::to_string(max));
    return false;
  }
  out = value.payload;
  return true;
}

bool read_double(ReadState& state, const FieldPath& path, const Value& value, double& out) {
  switch (value.type) {
    case ValueType::kFloat: out = value.as_double(); return true;
    case ValueType::kUnsigned: out = static_cast<double>(value.payload); return true;
    case ValueType::kNegative: out = static_cast<double>(value.as_negative()); return true;
    default: state.fail(path, "must be a number"); return false;
  }
}

namespace {

bool check_length(ReadState& state, const FieldPath& path, const Value& value) {
  if (value.size <= kTextBytesMax) return true;
  state.fail(path, "has " + std::to_string(value.size) + " bytes, more than the limit of " +
                       std::to_string(kTextBytesMax));
  return false;
}

}  // namespace

bool read_string(ReadState& state, const FieldPath& path, const Value& value, std::string& out) {
  if (value.type != ValueType::kString) {
    state.fail(path, "must be a string");
    return false;
  }
  if (!check_length(state, path, value)) return false;
  const std::string_view text = state.tree().bytes(value);
  const size_t valid = utf8_valid_prefix(text);
  if (valid != text.size()) {
    state.fail(path, "is not UTF-8 at byte " + std::to_string(valid));
    return false;
  }
  out = text;
  return true;
}

bool read_request_id(ReadState& state, const FieldPath& path, const Value& value, RequestId& out) {
  if (value.type != ValueType::kBytes || value.size != out.size()) {
    state.fail(path, "must be a byte string (bin) of 16 bytes");
    return false;
  }
  const std::string_view bytes = state.tree().bytes(value);
  std::memcpy(out.data(), bytes.data(), out.size());
  return true;
}

bool read_bytes(ReadState& state, const FieldPath& path, const Value& value, std::string& out) {
  if (value.type != ValueType::kBytes) {
    state.fail(path, "must be a byte string (bin)");
    return false;
  }
  if (!check_length(state, path, value)) return false;
  out = state.tree().bytes(value);
  return true;
}

FieldReader::FieldReader(ReadState& state, uint32_t number, const FieldPath* path)
    : state_(state), path_(path) {
  const Value& map = state.tree().at(number);
  if (map.type != ValueType::kMap) {
    state_.fail(path == nullptr ? "body" : path->to_string(), "must be a map");
    return;
  }
  first_key_ = number + 1;
  next_key_ = first_key_;
  end_ = map.end;
  check_keys_differ();
}

void FieldReader::check_keys_differ() {
  const ValueTree& tree = state_.tree();
  std::array<std::string_view, kMapKeysMax> keys;
  size_t count = 0;
  for (uint32_t key = first_key_; key < end_; key = tree.at(key + 1).end) {
    keys[count++] = tree.bytes(tree.at(key));
  }
  std::sort(keys.begin(), keys.begin() + static_cast<ptrdiff_t>(count));
  const std::string_view* const last = keys.data() + count;
  const std::string_view* const twice = std::adjacent_find(std::as_const(keys).data(), last);
  if (twice == last) return;
  state_.fail(FieldPath{path_, utf8_replace_malformed(twice->substr(0, 40)), 0}, "occurs twice");
}

const Value* FieldReader::find(std::string_view name) {
  if (!ok()) return nullptr;
  const ValueTree& tree = state_.tree();
  const auto search = [&](uint32_t from, uint32_t to) -> const Value* {
    for (uint32_t key = from; key < to;) {
      const Value& value = tree.at(key + 1);
      if (tree.bytes(tree.at(key)) == name) {
        next_key_ = value.end;
        return &value;
      }
      key = value.end;
    }
    return nullptr;
  };
  const uint32_t start = next_key_;
  if (const Value* value = search(start, end_)) return value;
  return search(first_key_, start);
}

void FieldReader::fail_missing(const FieldPath& path) {
  state_.fail(path, "is missing");
}

}  // namespace cascade::wire
