// What /proc says about this machine and this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::speed {

// The text after "KEY:" in `text`, a file of /proc; empty if there is none.
std::string proc_value(std::string_view text, std::string_view key);

// The CPU's name; empty if unknown.
std::string cpu_name();

// The memory, in bytes, that can still be had without pushing other programs out, including what
// caches of files would give back (MemAvailable). nullopt if unknown.
std::optional<int64_t> available_memory_bytes();

// Checks that `bytes` of memory can be had. Errors: kResourceExhausted, field `option`; the message
// begins with `what`.
Status fits_memory(double bytes, const std::string& option, const std::string& what);

// The most memory, in bytes, that this process has held since its start or the last reset (VmHWM);
// 0 if unknown.
int64_t peak_memory_bytes();
void reset_peak_memory();

}  // namespace cascade::speed
