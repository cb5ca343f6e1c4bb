// Numbers on the command line: if CLI11 cannot read one, the message says what may be written.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace cascade::ctl {

// A whole number for an option whose type holds at most `most`. A number that the type can hold but
// that is out of range is left to the rules of requests (wire/request_rules.h), which name the
// field.
CLI::Validator whole_number(int64_t most);

// A number from 0 to 2^64 - 1. CLI11 alone takes -1 for the largest number, and cuts larger ones.
CLI::Validator seed_number();

// A number with or without a fraction.
CLI::Validator decimal_number();

}  // namespace cascade::ctl
