// Stamps as JSON objects of strings.
#include "model/source_stamp.h"

#include "base/json.h"

namespace cascade {
namespace {

constexpr int kStampFormat = 1;

Digest check_of(const Digest& state, const Digest& weights) {
  return Hasher()
      .field("format", uint64_t{kStampFormat})
      .field("state", state)
      .field("weights", weights)
      .finish();
}

int value_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

Result<Digest> required_digest(const Json& object, std::string_view key) {
  ASSIGN_OR_RETURN(const std::string text, required_string(object, key));
  const auto digest = digest_from_hex(text);
  if (!digest) return invalid_argument(std::string(key), "is not a digest");
  return *digest;
}

}  // namespace

std::optional<Digest> digest_from_hex(std::string_view hex) {
  Digest digest;
  if (hex.size() != 2 * digest.bytes.size()) return std::nullopt;
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = value_of(hex[2 * i]), low = value_of(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

std::string encode_stamp(const SourceState& source, const Digest& weights) {
  const Json stamp = {{"format", kStampFormat},
                      {"folder", source.folder},
                      {"state", source.state.hex()},
                      {"weights", weights.hex()},
                      {"check", check_of(source.state, weights).hex()}};
  return stamp.dump(2) + "\n";
}

Result<SourceStamp> decode_stamp(std::string_view text) {
  const JsonLimits limits = {.bytes_max = kStampBytesMax, .depth_max = 2};
  ASSIGN_OR_RETURN(const Json json, parse_json(text, "stamp", limits));
  if (!json.is_object()) return invalid_argument("stamp", "is not a JSON object");
  ASSIGN_OR_RETURN(const int64_t format, required_int(json, "format", kStampFormat, kStampFormat));
  static_cast<void>(format);
  SourceStamp stamp;
  ASSIGN_OR_RETURN(stamp.state, required_digest(json, "state"));
  ASSIGN_OR_RETURN(stamp.weights, required_digest(json, "weights"));
  ASSIGN_OR_RETURN(const Digest check, required_digest(json, "check"));
  if (check != check_of(stamp.state, stamp.weights)) {
    return data_corrupt("check", "is not that of the digests");
  }
  return stamp;
}

}  // namespace cascade
