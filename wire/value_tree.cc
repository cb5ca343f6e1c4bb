// Bounded parsing by the visitor interface of msgpack-cxx.
#include "wire/value_tree.h"

#include <msgpack/null_visitor.hpp>
#include <msgpack/unpack.hpp>
#include <string>

namespace cascade::wire {
namespace {

// Builds the list of values; each callback returns whether to go on.
class TreeBuilder : public msgpack::null_visitor {
 public:
  explicit TreeBuilder(const char* document) : document_(document) {}

  bool visit_nil() { return scalar(ValueType::kNil, 0); }
  bool visit_boolean(bool value) { return scalar(ValueType::kBool, value ? 1 : 0); }
  bool visit_positive_integer(uint64_t value) { return scalar(ValueType::kUnsigned, value); }
  bool visit_negative_integer(int64_t value) {
    // The signed encodings may also hold numbers that are not negative.
    const ValueType type = value < 0 ? ValueType::kNegative : ValueType::kUnsigned;
    return scalar(type, static_cast<uint64_t>(value));
  }
  bool visit_float32(float value) { return visit_float64(static_cast<double>(value)); }
  bool visit_float64(double value) {
    return scalar(ValueType::kFloat, std::bit_cast<uint64_t>(value));
  }
  bool visit_str(const char* data, uint32_t size) {
    in_key_ = false;
    return add(ValueType::kString, offset_of(data, size), size);
  }
  bool visit_bin(const char* data, uint32_t size) {
    return scalar(ValueType::kBytes, offset_of(data, size), size);
  }
  bool visit_ext(const char* data, uint32_t size) {
    return scalar(ValueType::kExtension, offset_of(data, size), size);
  }
  bool start_array(uint32_t elements) {
    if (elements > kArrayElementsMax) {
      return stop("an array has more than " + std::to_string(kArrayElementsMax) + " elements");
    }
    return open(ValueType::kArray, elements);
  }
  bool end_array() { return close(); }
  bool start_map(uint32_t pairs) {
    if (pairs > kMapKeysMax) {
      return stop("a map has more than " + std::to_string(kMapKeysMax) + " keys");
    }
    return open(ValueType::kMap, pairs);
  }
  bool start_map_key() {
    in_key_ = true;
    return true;
  }
  bool end_map() { return close(); }
  void parse_error(size_t, size_t offset) {
    problem_ = "not valid MessagePack at byte " + std::to_string(offset);
  }
  void insufficient_bytes(size_t, size_t offset) {
    problem_ = "ends within a value, at byte " + std::to_string(offset);
  }

  const std::string& problem() const { return problem_; }
  std::vector<Value> take() { return std::move(values_); }

 private:
  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  // An empty string has no place in the document: the parser gives it a null pointer or that of an
  // earlier value.
  uint64_t offset_of(const char* data, uint32_t size) const {
    return size == 0 ? 0 : static_cast<uint64_t>(data - document_);
  }

  bool scalar(ValueType type, uint64_t payload, uint32_t size = 0) {
    if (in_key_) return stop("a map has a key that is not a string");
    return add(type, payload, size);
  }

  bool add(ValueType type, uint64_t payload, uint32_t size) {
    if (values_.empty() && type != ValueType::kMap) return stop("is not a map");
    if (values_.size() == kValuesMax) {
      return stop("has more than " + std::to_string(kValuesMax) + " values");
    }
    const auto end = static_cast<uint32_t>(values_.size() + 1);
    values_.push_back({payload, size, end, type});
    return true;
  }

  bool open(ValueType type, uint32_t size) {
    if (open_.size() == kDepthMax) {
      return stop("is nested deeper than " + std::to_string(kDepthMax) + " levels");
    }
    const auto number = static_cast<uint32_t>(values_.size());
    if (!scalar(type, 0, size)) return false;
    open_.push_back(number);
    return true;
  }

  bool close() {
    values_[open_.back()].end = static_cast<uint32_t>(values_.size());
    open_.pop_back();
    return true;
  }

  const char* document_;
  std::vector<Value> values_;
  std::vector<uint32_t> open_;  // numbers of the arrays and maps around the next value
  bool in_key_ = false;
  std::string problem_;
};

}  // namespace

Result<ValueTree> ValueTree::parse(std::string_view document) {
  TreeBuilder builder(document.data());
  size_t offset = 0;
  const bool parsed = msgpack::parse(document.data(), document.size(), offset, builder);
  if (!parsed || !builder.problem().empty()) {
    return invalid_argument(
        "body", builder.problem().empty() ? "not valid MessagePack" : builder.problem());
  }
  if (offset != document.size()) {
    return invalid_argument(
        "body", "has " + std::to_string(document.size() - offset) + " bytes after its map");
  }
  ValueTree tree;
  tree.document_ = document;
  tree.values_ = builder.take();
  return tree;
}

}  // namespace cascade::wire
