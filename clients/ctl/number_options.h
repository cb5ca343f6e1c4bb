// Numbers on the command line: what CLI11 cannot read is said with what may be written.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace cascade::ctl {

// A whole number that an option holds whose largest value is `most`. What is out of range but can
// be held is left to the rules of requests (wire/request_rules.h), which name the field.
CLI::Validator whole_number(int64_t most);

// From 0 to 2^64 - 1: CLI11 takes -1 for the largest number, and cuts larger ones.
CLI::Validator seed_number();

// With or without a fraction.
CLI::Validator decimal_number();

}  // namespace cascade::ctl
