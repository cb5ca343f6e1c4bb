// Sizes and times for people.
#pragma once

#include <cstdint>
#include <string>

namespace cascade::ctl {

// "0 B", "512 B", "1.5 KiB", "23 MiB": two digits or more.
std::string format_bytes(int64_t bytes);
// "850 us", "35 ms", "2.3 s", "4 min 10 s", "2 h 5 min", "3 d 4 h".
std::string format_duration(int64_t us);
// "250ms", "90s", "36h", "7d": exact, in the largest unit that divides it.
std::string format_ttl(int64_t ms);
// "2026-01-31 23:59:59", local time; "never" for 0.
std::string format_time(int64_t unix_us);

}  // namespace cascade::ctl
