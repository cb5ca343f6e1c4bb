// Makes ids of letters and digits; a digest chooses them.
#include "base/call_id.h"

#include "base/hash.h"

namespace cascade {
namespace {

constexpr size_t kLength = 9;
constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

}  // namespace

bool is_call_id(std::string_view id) {
  return id.size() == kLength && id.find_first_not_of(kAlphabet) == id.npos;
}

std::string call_id_of(std::string_view text) {
  const Digest digest = sha256(text);
  std::string id;
  for (size_t i = 0; i < kLength; ++i) id += kAlphabet[digest.bytes[i] % kAlphabet.size()];
  return id;
}

std::string call_id_prefix(std::string_view id) {
  return "call_" + std::string(id.substr(id.find('_') + 1)) + "_";
}

}  // namespace cascade
