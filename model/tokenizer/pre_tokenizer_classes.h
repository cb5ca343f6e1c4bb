// Which code points are letters, numbers and white space.
#pragma once

#include <cstdint>
#include <vector>

namespace cascade {

enum class CharacterClass : uint8_t { kOther, kLetter, kNumber, kSpace };

// The general categories L and N as PCRE2 has them (so that hand-written code and regular
// expressions agree), and Unicode's White_Space. Immutable; any thread.
class CharacterClasses {
 public:
  // The one table, built on first use (some 20 ms).
  static const CharacterClasses& instance();

  // Precondition: code_point <= U+10FFFF.
  CharacterClass of(uint32_t code_point) const { return classes_[code_point]; }

 private:
  CharacterClasses();

  std::vector<CharacterClass> classes_;
};

}  // namespace cascade
