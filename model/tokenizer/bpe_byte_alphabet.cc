// The alphabet of byte-level BPE.
#include "model/tokenizer/bpe_byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace cascade {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

constexpr uint32_t kFirstExtra = 0x100;
constexpr size_t kExtras = 68;  // 256 less the 188 that stand for themselves
constexpr size_t kCharacters = kFirstExtra + kExtras;

struct Alphabet {
  std::array<uint16_t, 256> characters{};
  std::array<int16_t, kCharacters> bytes{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.bytes) byte = -1;
  uint32_t extra = kFirstExtra;
  for (int byte = 0; byte < 256; ++byte) {
    const uint32_t character = stands_for_itself(byte) ? static_cast<uint32_t>(byte) : extra++;
    alphabet.characters[static_cast<size_t>(byte)] = static_cast<uint16_t>(character);
    alphabet.bytes[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

uint32_t byte_level_character(uint8_t byte) {
  return kAlphabet.characters[byte];
}

std::optional<uint8_t> byte_level_byte(uint32_t character) {
  if (character >= kCharacters || kAlphabet.bytes[character] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.bytes[character]);
}

std::string byte_level_spelling(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size());
  for (const char byte : bytes) {
    utf8_append(spelling, byte_level_character(static_cast<uint8_t>(byte)));
  }
  return spelling;
}

std::optional<std::string> byte_level_bytes(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (size_t offset = 0; offset < spelling.size();) {
    const CodePoint code_point = utf8_decode(spelling, offset);
    const auto byte = byte_level_byte(code_point.value);
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    offset += code_point.size;
  }
  return bytes;
}

}  // namespace cascade
