// MessagePack output by msgpack-cxx's packer.
#include "wire/field_writer.h"

#include <bit>
#include <cstring>
#include <msgpack/pack.hpp>

#include "base/utf8.h"

namespace cascade::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "words_of() copies memory");

// The stream that msgpack::packer writes to.
class StringStream {
 public:
  explicit StringStream(std::string& out) : out_(out) {}
  void write(const char* data, size_t size) { out_.append(data, size); }

 private:
  std::string& out_;
};

template <class Pack>
void with_packer(std::string& out, Pack pack) {
  StringStream stream(out);
  msgpack::packer<StringStream> packer(stream);
  pack(packer);
}

}  // namespace

void pack_map_size(std::string& out, uint32_t pairs) {
  with_packer(out, [&](auto& packer) { packer.pack_map(pairs); });
}

void pack_array_size(std::string& out, uint32_t elements) {
  with_packer(out, [&](auto& packer) { packer.pack_array(elements); });
}

void pack_bool(std::string& out, bool value) {
  with_packer(out, [&](auto& packer) { value ? packer.pack_true() : packer.pack_false(); });
}

void pack_signed(std::string& out, int64_t value) {
  with_packer(out, [&](auto& packer) { packer.pack_int64(value); });
}

void pack_unsigned(std::string& out, uint64_t value) {
  with_packer(out, [&](auto& packer) { packer.pack_uint64(value); });
}

void pack_double(std::string& out, double value) {
  // Writes the bits directly: the packer would write whole numbers as integers, and casts to find
  // out.
  out.push_back('\xcb');
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
}

void pack_string(std::string& out, std::string_view value) {
  if (!is_utf8(value)) return pack_string(out, utf8_replace_malformed(value));
  with_packer(out, [&](auto& packer) {
    packer.pack_str(static_cast<uint32_t>(value.size()));
    packer.pack_str_body(value.data(), static_cast<uint32_t>(value.size()));
  });
}

void pack_bytes(std::string& out, std::string_view value) {
  with_packer(out, [&](auto& packer) {
    packer.pack_bin(static_cast<uint32_t>(value.size()));
    packer.pack_bin_body(value.data(), static_cast<uint32_t>(value.size()));
  });
}

Error shortened(const Error& error) {
  // Errors quote what clients sent, which may have 16 MiB. The rest of their text is ours, and has
  // a few hundred bytes.
  constexpr size_t kFieldBytes = 256, kMessageBytes = 4096;
  const auto beginning = [](const std::string& text, size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    constexpr std::string_view kCut = "...";
    const std::string_view head = std::string_view(text).substr(0, bytes_max - kCut.size());
    return std::string(head.substr(0, head.size() - utf8_incomplete_suffix(head))).append(kCut);
  };
  return {error.code, beginning(error.field, kFieldBytes), beginning(error.message, kMessageBytes)};
}

std::string words_of(const void* numbers, size_t count) {
  return std::string(static_cast<const char*>(numbers), count * 4);
}

}  // namespace cascade::wire
