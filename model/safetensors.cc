// The header of a safetensors file: 8 bytes of length, a JSON table, then the tensors' bytes.
#include "model/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "model/incomplete_file.h"
#include "model/json_fields.h"
#include "model/unique_json.h"

namespace cascade {
namespace {

constexpr size_t kLengthBytes = 8;                        // little-endian u64 before the header
constexpr uint64_t kHeaderBytesMax = uint64_t{16} << 20;  // 65,536 entries of 256 bytes
constexpr size_t kTensorsMax = 65'536;  // 512 layers x 128: no dense model comes near
constexpr size_t kDimensionsMax = 8;
constexpr size_t kNameBytesMax = 512;
// 14 values describe a tensor of 8 dimensions; the rest is room for metadata.
constexpr size_t kValuesMax = 16 * kTensorsMax;
constexpr int kDepthMax = 3;  // the table, an entry, its shape

constexpr std::string_view kHeader = "header";
constexpr std::string_view kMetadata = "__metadata__";

struct TypeBits {
  std::string_view name;
  uint64_t bits;
};

// All types of the format. Those below a byte are packed without padding.
constexpr std::array<TypeBits, 20> kTypeBits = {{
    {"BOOL", 8},    {"U8", 8},      {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8}, {"F4", 4},      {"I16", 16}, {"U16", 16},    {"F16", 16},
    {"BF16", 16},   {"F6_E2M3", 6}, {"I32", 32}, {"U32", 32},    {"F32", 32},
    {"F6_E3M2", 6}, {"I64", 64},    {"U64", 64}, {"F64", 64},    {"C64", 64},
}};

Error bad_header(std::string message) {
  return data_corrupt(std::string(kHeader), std::move(message));
}

// The JSON text, its length checked against the file and the limit before anything is allocated.
Result<std::string_view> header_text(std::span<const uint8_t> file) {
  if (file.size() < kLengthBytes) {
    return bad_header("is truncated: the file has " + std::to_string(file.size()) + " bytes; " +
                      std::string(kCutOffFile));
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);  // little-endian, as every CPU here
  if (length > kHeaderBytesMax) {
    return bad_header("claims " + std::to_string(length) + " bytes, limit " +
                      std::to_string(kHeaderBytesMax));
  }
  const size_t left = file.size() - kLengthBytes;
  if (length > left) {
    return bad_header("is truncated: it claims " + std::to_string(length) +
                      " bytes, the file has " + std::to_string(left) + "; " +
                      std::string(kCutOffFile));
  }
  const auto* text = reinterpret_cast<const char*>(file.data()) + kLengthBytes;
  return std::string_view(text, static_cast<size_t>(length));
}

Status check_metadata(const Json& metadata) {
  if (!metadata.is_object()) return bad_header("__metadata__ must be an object of strings");
  for (const Json& value : metadata) {
    if (!value.is_string()) return bad_header("__metadata__ must contain strings only");
  }
  return {};
}

// Checks a name, because names become fields of errors and lines of logs.
Status check_name(const std::string& name) {
  if (name.size() > kNameBytesMax) {
    return bad_header("has a tensor name of " + std::to_string(name.size()) + " bytes, limit " +
                      std::to_string(kNameBytesMax));
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (name.empty() || std::ranges::any_of(name, is_control)) {
    return bad_header("has a tensor name that is empty or has control characters: " +
                      quote_text(name));
  }
  return {};
}

// A member of a tensor's entry that is a list of at most `count_max` whole numbers >= 0.
Result<std::vector<int64_t>> read_numbers(const Json& entry, const std::string& name,
                                          std::string_view key, size_t count_max) {
  const Json* list = find_field(entry, key);
  const auto problem = [&](const char* what) {
    return data_corrupt(name, std::string(key) + what);
  };
  if (list == nullptr || !list->is_array()) return problem(" is missing, or not a list");
  if (list->size() > count_max) {
    return data_corrupt(name, std::string(key) + " has " + std::to_string(list->size()) +
                                  " entries, limit " + std::to_string(count_max));
  }
  std::vector<int64_t> numbers;
  for (const Json& value : *list) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) {
      return problem(" must contain whole numbers from 0 to 2^63 - 1 only");
    }
    numbers.push_back(value.get<int64_t>());
  }
  return numbers;
}

// Bytes of a tensor; nullopt if they overflow or are not whole.
std::optional<uint64_t> tensor_bytes(const std::vector<int64_t>& shape, uint64_t bits_per_element) {
  std::optional<uint64_t> bits = bits_per_element;
  for (const int64_t dimension : shape) {
    bits = checked_mul(*bits, static_cast<uint64_t>(dimension));
    if (!bits) return std::nullopt;
  }
  if (*bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

Status check_size(const TensorEntry& entry) {
  const auto type = std::ranges::find(kTypeBits, entry.type_name, &TypeBits::name);
  if (type == kTypeBits.end()) {
    return data_corrupt(entry.name, "has the unknown type " + quote_text(entry.type_name));
  }
  const std::optional<uint64_t> bytes = tensor_bytes(entry.shape, type->bits);
  if (!bytes) return data_corrupt(entry.name, "has a shape whose size is not a number of bytes");
  if (entry.end < entry.begin || entry.end - entry.begin != *bytes) {
    return data_corrupt(
        entry.name, "needs " + std::to_string(*bytes) + " bytes by type and shape, but lies from " +
                        std::to_string(entry.begin) + " to " + std::to_string(entry.end));
  }
  return {};
}

Result<TensorEntry> read_entry(const std::string& name, const Json& json) {
  RETURN_IF_ERROR(check_name(name));
  if (!json.is_object() || json.size() != 3) {
    return data_corrupt(name, "must be an object of dtype, shape and data_offsets");
  }
  TensorEntry entry;
  entry.name = name;
  const Json* type = find_field(json, "dtype");
  if (type == nullptr || !type->is_string()) {
    return data_corrupt(name, "dtype is missing, or not a string");
  }
  entry.type_name = type->get<std::string>();
  ASSIGN_OR_RETURN(entry.shape, read_numbers(json, name, "shape", kDimensionsMax));
  ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, read_numbers(json, name, "data_offsets", 2));
  if (offsets.size() != 2) return data_corrupt(name, "data_offsets must have two entries");
  entry.begin = static_cast<uint64_t>(offsets[0]);
  entry.end = static_cast<uint64_t>(offsets[1]);
  RETURN_IF_ERROR(check_size(entry));
  return entry;
}

// Sorts by offset. The tensors must cover the data part exactly: bytes that belong to no tensor
// could hide something, and shared bytes would make two tensors out of one.
Status check_layout(std::vector<TensorEntry>& entries, uint64_t data_bytes) {
  std::ranges::sort(entries, [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const TensorEntry& entry : entries) {
    if (entry.end > data_bytes) {
      return data_corrupt(entry.name, "ends at " + std::to_string(entry.end) +
                                          ", beyond the file's " + std::to_string(data_bytes) +
                                          " bytes of data; " + std::string(kCutOffFile));
    }
    if (entry.begin != covered) {
      const char* what = entry.begin < covered ? "overlaps another tensor" : "follows a gap";
      return data_corrupt(entry.name, std::string(what) + ": it begins at " +
                                          std::to_string(entry.begin) +
                                          ", the previous one ends at " + std::to_string(covered));
    }
    covered = entry.end;
  }
  if (covered == data_bytes) return {};
  return bad_header("leaves " + std::to_string(data_bytes - covered) +
                    " bytes at the end of the file that belong to no tensor");
}

}  // namespace

Result<std::vector<TensorEntry>> parse_safetensors_header(std::span<const uint8_t> file) {
  ASSIGN_OR_RETURN(const std::string_view text, header_text(file));
  if (!text.starts_with('{')) return bad_header("must begin with '{'");
  const JsonLimits limits = {.bytes_max = kHeaderBytesMax, .depth_max = kDepthMax};
  ASSIGN_OR_RETURN(const Json table, parse_unique_json(text, kHeader, limits, kValuesMax));
  const size_t metadata_count = table.contains(std::string(kMetadata)) ? 1 : 0;
  if (table.size() - metadata_count > kTensorsMax) {
    return bad_header("has " + std::to_string(table.size()) + " tensors, limit " +
                      std::to_string(kTensorsMax));
  }
  std::vector<TensorEntry> entries;
  for (const auto& [name, json] : table.items()) {
    if (name == kMetadata) {
      RETURN_IF_ERROR(check_metadata(json));
      continue;
    }
    ASSIGN_OR_RETURN(TensorEntry entry, read_entry(name, json));
    entries.push_back(std::move(entry));
  }
  RETURN_IF_ERROR(check_layout(entries, file.size() - kLengthBytes - text.size()));
  return entries;
}

}  // namespace cascade
