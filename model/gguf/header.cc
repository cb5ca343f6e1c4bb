// Reading a GGUF header: a cursor that never goes beyond the file, and the checks on what it gives.
#include "model/gguf/header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "base/checked.h"
#include "base/utf8.h"
#include "model/incomplete_file.h"

namespace cascade {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kVersionMin = 2;  // version 1 had 32-bit counts, and was in use for weeks
constexpr uint32_t kVersionMax = 3;

// These limits are several times what the largest real files have.
constexpr uint64_t kKeysMax = 65'536;
constexpr uint64_t kTensorsMax = 65'536;
constexpr uint64_t kKeyBytesMax = 256;
constexpr uint64_t kStringBytesMax = uint64_t{1} << 20;
constexpr uint64_t kElementsMax = uint64_t{1} << 22;
// The format's own limits.
constexpr uint64_t kNameBytesMax = 64;
constexpr uint32_t kDimensionsMax = 4;

constexpr uint64_t kAlignmentDefault = 32;
constexpr uint64_t kAlignmentMin = 8;
constexpr uint64_t kAlignmentMax = 4096;
constexpr std::string_view kAlignmentKey = "general.alignment";

// The smallest size of an entry, in bytes. It limits a count to what the rest of the file can hold.
constexpr uint64_t kKeyEntryBytesMin = 8 + 4 + 1;                 // length, type, a u8
constexpr uint64_t kTensorEntryBytesMin = 8 + 1 + 4 + 8 + 4 + 8;  // one dimension

// All types that the format has numbers for; those without `type` are refused by name.
struct FileType {
  uint32_t number;
  std::string_view name;
  std::optional<TensorType> type;
};
constexpr std::array<FileType, 33> kFileTypes = {{
    {0, "F32", TensorType::kF32},
    {1, "F16", TensorType::kF16},
    {2, "Q4_0", TensorType::kQ4_0},
    {3, "Q4_1", TensorType::kQ4_1},
    {6, "Q5_0", TensorType::kQ5_0},
    {7, "Q5_1", TensorType::kQ5_1},
    {8, "Q8_0", TensorType::kQ8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", TensorType::kQ2K},
    {11, "Q3_K", TensorType::kQ3K},
    {12, "Q4_K", TensorType::kQ4K},
    {13, "Q5_K", TensorType::kQ5K},
    {14, "Q6_K", TensorType::kQ6K},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", TensorType::kIq4Nl},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", TensorType::kIq4Xs},
    {24, "I8", {}},
    {25, "I16", {}},
    {26, "I32", {}},
    {27, "I64", {}},
    {28, "F64", {}},
    {29, "IQ1_M", {}},
    {30, "BF16", TensorType::kBf16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", TensorType::kMxfp4},
    {40, "NVFP4", {}},
}};

Error cut_off(std::string_view field, uint64_t offset) {
  return data_corrupt(std::string(field), "the file ends within it, at byte " +
                                              std::to_string(offset) + "; " +
                                              std::string(kCutOffFile));
}

// The name of a key or tensor for errors, however long or malformed it is.
std::string field_of(std::string_view name) {
  return utf8_replace_malformed(name.substr(0, kKeyBytesMax));
}

// Whether a name would break a line of errors.
bool has_control(std::string_view name) {
  return std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// Reads numbers and strings from front to back.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> file) : file_(file) {}

  uint64_t offset() const { return offset_; }
  uint64_t left() const { return file_.size() - offset_; }

  template <class T>
  Result<T> number(std::string_view field) {
    if (left() < sizeof(T)) return cut_off(field, file_.size());
    T value;
    std::memcpy(&value, file_.data() + offset_, sizeof value);
    offset_ += sizeof value;
    return value;
  }

  Result<std::span<const uint8_t>> bytes(std::string_view field, uint64_t count) {
    if (left() < count) return cut_off(field, file_.size());
    const auto taken = file_.subspan(offset_, count);
    offset_ += count;
    return taken;
  }

  Result<std::string_view> string(std::string_view field, uint64_t bytes_max) {
    ASSIGN_OR_RETURN(const auto size, number<uint64_t>(field));
    if (size > bytes_max) {
      return data_corrupt(std::string(field), "has a string of " + std::to_string(size) +
                                                  " bytes, limit " + std::to_string(bytes_max));
    }
    ASSIGN_OR_RETURN(const std::span<const uint8_t> taken, bytes(field, size));
    return std::string_view(reinterpret_cast<const char*>(taken.data()), taken.size());
  }

 private:
  std::span<const uint8_t> file_;
  uint64_t offset_ = 0;
};

class HeaderReader {
 public:
  explicit HeaderReader(std::span<const uint8_t> file) : file_(file), cursor_(file) {}

  Result<GgufHeader> run() {
    RETURN_IF_ERROR(read_version());
    ASSIGN_OR_RETURN(const uint64_t tensors, count("tensors", kTensorsMax, kTensorEntryBytesMin));
    ASSIGN_OR_RETURN(const uint64_t keys, count("keys", kKeysMax, kKeyEntryBytesMin));
    for (uint64_t i = 0; i < keys; ++i) RETURN_IF_ERROR(read_key(i));
    RETURN_IF_ERROR(read_alignment());
    for (uint64_t i = 0; i < tensors; ++i) RETURN_IF_ERROR(read_tensor(i));
    RETURN_IF_ERROR(place_tensors());
    return std::move(header_);
  }

 private:
  Status read_version() {
    ASSIGN_OR_RETURN(const auto magic, cursor_.bytes("header", kMagic.size()));
    if (std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
      return data_corrupt("header", "is not that of a GGUF file: it does not begin with \"GGUF\"");
    }
    ASSIGN_OR_RETURN(header_.version, cursor_.number<uint32_t>("header"));
    if (header_.version >= kVersionMin && header_.version <= kVersionMax) return {};
    const uint32_t swapped = __builtin_bswap32(header_.version);
    if (swapped <= kVersionMax && swapped > 0) {
      return unsupported("header", "is big-endian; only little-endian files are supported");
    }
    return unsupported(
        "header", "has GGUF version " + std::to_string(header_.version) + " (supported: 2, 3)");
  }

  // Reads a number of entries, each of which takes at least `entry_bytes` of the file.
  Result<uint64_t> count(const std::string& what, uint64_t max, uint64_t entry_bytes) {
    ASSIGN_OR_RETURN(const auto number, cursor_.number<uint64_t>("header"));
    if (number > max) {
      return data_corrupt("header", "announces " + std::to_string(number) + " " + what +
                                        ", limit " + std::to_string(max));
    }
    if (number > cursor_.left() / entry_bytes) {
      return data_corrupt("header", "announces " + std::to_string(number) + " " + what +
                                        ", more than the file can hold; " +
                                        std::string(kCutOffFile));
    }
    return number;
  }

  Status read_key(uint64_t index) {
    const std::string position = "key " + std::to_string(index);
    ASSIGN_OR_RETURN(const std::string_view key, cursor_.string(position, kKeyBytesMax));
    const std::string field = key.empty() ? position : field_of(key);
    if (key.empty() || !is_utf8(key)) return data_corrupt(field, "its name is empty, or not UTF-8");
    if (has_control(key)) return data_corrupt(position, "its name has control characters");
    ASSIGN_OR_RETURN(const GgufValueType type, value_type(field));
    ASSIGN_OR_RETURN(GgufValue value, read_value(field, type));
    if (!header_.metadata.add(field, std::move(value))) return data_corrupt(field, "occurs twice");
    return {};
  }

  Result<GgufValueType> value_type(const std::string& field) {
    ASSIGN_OR_RETURN(const auto number, cursor_.number<uint32_t>(field));
    if (number > static_cast<uint32_t>(GgufValueType::kF64)) {
      return data_corrupt(field, "has a value of the unknown type " + std::to_string(number));
    }
    return static_cast<GgufValueType>(number);
  }

  template <class Stored, class Kept>
  Result<GgufValue> read_number(const std::string& field) {
    ASSIGN_OR_RETURN(const auto number, cursor_.number<Stored>(field));
    return GgufValue(static_cast<Kept>(number));
  }

  Result<GgufValue> read_value(const std::string& field, GgufValueType type) {
    switch (type) {
      case GgufValueType::kU8: return read_number<uint8_t, uint64_t>(field);
      case GgufValueType::kU16: return read_number<uint16_t, uint64_t>(field);
      case GgufValueType::kU32: return read_number<uint32_t, uint64_t>(field);
      case GgufValueType::kU64: return read_number<uint64_t, uint64_t>(field);
      case GgufValueType::kI8: return read_number<int8_t, int64_t>(field);
      case GgufValueType::kI16: return read_number<int16_t, int64_t>(field);
      case GgufValueType::kI32: return read_number<int32_t, int64_t>(field);
      case GgufValueType::kI64: return read_number<int64_t, int64_t>(field);
      case GgufValueType::kF32: return read_number<float, double>(field);
      case GgufValueType::kF64: return read_number<double, double>(field);
      case GgufValueType::kBool: return read_flag(field);
      case GgufValueType::kString: {
        ASSIGN_OR_RETURN(const std::string_view text, cursor_.string(field, kStringBytesMax));
        return GgufValue(text);
      }
      case GgufValueType::kArray: return read_array(field);
    }
    return data_corrupt(field, "has a value of an unknown type");
  }

  Result<GgufValue> read_flag(const std::string& field) {
    ASSIGN_OR_RETURN(const auto byte, cursor_.number<uint8_t>(field));
    if (byte > 1) return data_corrupt(field, "must be 0 or 1, got " + std::to_string(byte));
    return GgufValue(byte == 1);
  }

  Result<GgufValue> read_array(const std::string& field) {
    GgufArray array;
    ASSIGN_OR_RETURN(array.type, value_type(field));
    if (array.type == GgufValueType::kArray) {
      return unsupported(field, "is an array of arrays, which is not supported");
    }
    ASSIGN_OR_RETURN(array.count, cursor_.number<uint64_t>(field));
    if (array.count > kElementsMax) {
      return data_corrupt(field, "has " + std::to_string(array.count) + " elements, limit " +
                                     std::to_string(kElementsMax));
    }
    const bool is_text = array.type == GgufValueType::kString;
    const uint64_t element_bytes = is_text ? sizeof(uint64_t) : value_bytes(array.type);
    if (array.count > cursor_.left() / element_bytes) {
      return data_corrupt(field, "announces " + std::to_string(array.count) +
                                     " elements, more than the file can hold; " +
                                     std::string(kCutOffFile));
    }
    if (!is_text) {
      ASSIGN_OR_RETURN(array.bytes, cursor_.bytes(field, array.count * element_bytes));
      return GgufValue(std::move(array));
    }
    array.strings.reserve(array.count);
    for (uint64_t i = 0; i < array.count; ++i) {
      ASSIGN_OR_RETURN(const std::string_view text, cursor_.string(field, kStringBytesMax));
      array.strings.push_back(text);
    }
    return GgufValue(std::move(array));
  }

  Status read_alignment() {
    ASSIGN_OR_RETURN(const std::optional<int64_t> given,
                     header_.metadata.whole(kAlignmentKey, kAlignmentMin, kAlignmentMax));
    if (!given) return {};
    alignment_ = static_cast<uint64_t>(*given);
    if ((alignment_ & (alignment_ - 1)) == 0) return {};
    return data_corrupt(std::string(kAlignmentKey),
                        "must be a power of two, got " + std::to_string(alignment_));
  }

  Status read_tensor(uint64_t index) {
    const std::string position = "tensor " + std::to_string(index);
    ASSIGN_OR_RETURN(const std::string_view name, cursor_.string(position, kNameBytesMax));
    const std::string field = name.empty() ? position : field_of(name);
    if (name.empty() || !is_utf8(name)) {
      return data_corrupt(field, "its name is empty, or not UTF-8");
    }
    if (has_control(name)) return data_corrupt(position, "its name has control characters");
    if (!names_.insert(field).second) return data_corrupt(field, "occurs twice");
    GgufTensor tensor;
    tensor.name = field;
    ASSIGN_OR_RETURN(const auto rank, cursor_.number<uint32_t>(field));
    if (rank < 1 || rank > kDimensionsMax) {
      return data_corrupt(field, "has " + std::to_string(rank) + " dimensions, must be 1 to " +
                                     std::to_string(kDimensionsMax));
    }
    for (uint32_t i = 0; i < rank; ++i) {
      ASSIGN_OR_RETURN(const auto dimension, cursor_.number<uint64_t>(field));
      tensor.dimensions.push_back(dimension);
    }
    ASSIGN_OR_RETURN(tensor.type, tensor_type(field));
    ASSIGN_OR_RETURN(const uint64_t bytes, size_of(tensor));
    ASSIGN_OR_RETURN(tensor.begin, cursor_.number<uint64_t>(field));
    if (tensor.begin % alignment_ != 0) {
      return data_corrupt(field, "is at offset " + std::to_string(tensor.begin) +
                                     ", not a multiple of the alignment " +
                                     std::to_string(alignment_));
    }
    const std::optional<uint64_t> end = checked_add(tensor.begin, bytes);
    if (!end) return data_corrupt(field, "its offset and size overflow");
    tensor.end = *end;
    header_.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<TensorType> tensor_type(const std::string& field) {
    ASSIGN_OR_RETURN(const auto number, cursor_.number<uint32_t>(field));
    const auto* found = std::ranges::find(kFileTypes, number, &FileType::number);
    if (found != kFileTypes.end() && found->type) return *found->type;
    const std::string name =
        found != kFileTypes.end() ? std::string(found->name) : "number " + std::to_string(number);
    return unsupported(field, "has type " + name +
                                  " (supported: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, "
                                  "Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4)");
  }

  // The size in bytes. If it succeeds, each dimension and their product are in [1, 2^63).
  Result<uint64_t> size_of(const GgufTensor& tensor) const {
    const TensorTypeInfo& type = describe(tensor.type);
    std::optional<uint64_t> values = 1;
    for (const uint64_t dimension : tensor.dimensions) {
      if (dimension == 0) return data_corrupt(tensor.name, "has a dimension of 0");
      values = checked_mul(*values, dimension);
      if (!values || *values > uint64_t{INT64_MAX}) {
        return data_corrupt(tensor.name, "the product of its dimensions overflows");
      }
    }
    if (tensor.dimensions.front() % type.block_values != 0) {
      return data_corrupt(tensor.name, "has rows of " + std::to_string(tensor.dimensions.front()) +
                                           " values, not a multiple of the " +
                                           std::to_string(type.block_values) + " of a block of " +
                                           std::string(type.name));
    }
    const std::optional<uint64_t> bytes =
        checked_mul(*values / type.block_values, uint64_t{type.block_bytes});
    if (!bytes) return data_corrupt(tensor.name, "its size overflows");
    return *bytes;
  }

  // Turns offsets into the data part into offsets into the file.
  Status place_tensors() {
    if (header_.tensors.empty()) return {};
    const uint64_t data_begin = round_up(cursor_.offset(), alignment_);
    const uint64_t data_bytes = data_begin < file_.size() ? file_.size() - data_begin : 0;
    std::vector<GgufTensor*> by_place;
    for (GgufTensor& tensor : header_.tensors) {
      if (tensor.end > data_bytes) {
        return data_corrupt(
            tensor.name, "ends at byte " + std::to_string(tensor.end) + " of the data, which has " +
                             std::to_string(data_bytes) + "; " + std::string(kCutOffFile));
      }
      tensor.begin += data_begin;
      tensor.end += data_begin;
      by_place.push_back(&tensor);
    }
    std::ranges::sort(by_place, {}, &GgufTensor::begin);
    for (size_t i = 1; i < by_place.size(); ++i) {
      if (by_place[i]->begin < by_place[i - 1]->end) {
        return data_corrupt(by_place[i]->name, "lies within " + by_place[i - 1]->name);
      }
    }
    return {};
  }

  std::span<const uint8_t> file_;
  Cursor cursor_;
  GgufHeader header_;
  uint64_t alignment_ = kAlignmentDefault;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

Result<GgufHeader> parse_gguf_header(std::span<const uint8_t> file) {
  return HeaderReader(file).run();
}

}  // namespace cascade
