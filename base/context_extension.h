// A RoPE scaling that the user chooses in place of the one in a model's files, so that the model
// takes longer contexts than its files say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

struct ContextExtension {
  // kLinear divides all frequencies (position interpolation, Chen et al. 2023); kYarn divides the
  // low ones and scales the attention (Peng et al. 2023).
  enum class Type : uint8_t { kLinear, kYarn };

  Type type = Type::kYarn;
  double factor = 1;             // > 1: new positions for each original one
  int64_t original_context = 0;  // positions of the training; 0: those of the model's files

  bool operator==(const ContextExtension&) const = default;
};

// "yarn, factor 4 over 32768 positions", for people; without the positions if they are 0.
std::string describe(const ContextExtension& extension);

// Reads "TYPE:FACTOR" or "TYPE:FACTOR:ORIGINAL", such as "yarn:4" or "linear:2.5:32768". Errors:
// kInvalidArgument without a field: the text has another form, FACTOR is not above 1 and at most
// 1,000, or ORIGINAL is not from 1 to 16,777,216.
Result<ContextExtension> parse_context_extension(std::string_view text);

}  // namespace cascade
