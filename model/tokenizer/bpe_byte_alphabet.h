// The alphabet of byte-level BPE: one printable character for each of the 256 byte values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cascade {

// The character that stands for a byte: itself for the printable bytes of Latin-1 ('!' to '~',
// U+00A1 to U+00AC, U+00AE to U+00FF), and U+0100, U+0101, ... for the other 68 in order.
uint32_t byte_level_character(uint8_t byte);
// The inverse; nullopt for a character that stands for no byte.
std::optional<uint8_t> byte_level_byte(uint32_t character);

// `bytes` spelled in the alphabet, as UTF-8.
std::string byte_level_spelling(std::string_view bytes);
// The bytes that `spelling` stands for; nullopt if a character of it stands for no byte.
std::optional<std::string> byte_level_bytes(std::string_view spelling);

}  // namespace cascade
