// A checksum over the values of a row, so that a row that survived a damaged page can be told from
// one that did not.
#pragma once

#define XXH_INLINE_ALL  // compiles the library into this file: the state is a member
#include <xxhash.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace cascade {

// XXH3-64 over the values in the order in which they are added, each with its length, so that no
// two different rows have the same bytes. Little-endian.
class RowChecksum {
 public:
  RowChecksum() { XXH3_64bits_reset(&state_); }

  RowChecksum& add(std::string_view text) {
    return bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  RowChecksum& add(std::span<const uint8_t> blob) { return bytes(blob); }
  RowChecksum& add(std::span<const int32_t> numbers) {
    return bytes({reinterpret_cast<const uint8_t*>(numbers.data()), numbers.size_bytes()});
  }
  RowChecksum& add(int64_t number) {
    XXH3_64bits_update(&state_, &number, sizeof number);
    return *this;
  }
  RowChecksum& add(double number) { return add(std::bit_cast<int64_t>(number)); }
  template <class... Values>
  RowChecksum& add_all(const Values&... values) {
    (add(values), ...);
    return *this;
  }

  // The checksum of all values so far.
  int64_t value() const { return static_cast<int64_t>(XXH3_64bits_digest(&state_)); }

 private:
  RowChecksum& bytes(std::span<const uint8_t> data) {
    add(static_cast<int64_t>(data.size()));
    XXH3_64bits_update(&state_, data.data(), data.size());
    return *this;
  }

  XXH3_state_t state_{};
};

}  // namespace cascade
