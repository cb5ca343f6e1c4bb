// Command lines of cascadectl, parsed as the program parses them.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "clients/ctl/options.h"

namespace cascade::ctl::testing {

using Arguments = std::vector<const char*>;  // without the program's name

// The options, or the exit code.
inline std::variant<Options, int> parse(Arguments arguments) {
  arguments.insert(arguments.begin(), "cascadectl");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), std::cout);
}

struct Parsed {
  std::variant<Options, int> result;
  std::string err;
};

// The same, without printing anything.
inline Parsed parse_quietly(const Arguments& arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  auto result = parse(arguments);
  (void)::testing::internal::GetCapturedStdout();
  return {std::move(result), ::testing::internal::GetCapturedStderr()};
}

// The options of a correct command line.
inline Options accepted(const Arguments& arguments) {
  const Parsed parsed = parse_quietly(arguments);
  EXPECT_TRUE(std::holds_alternative<Options>(parsed.result)) << arguments[1] << parsed.err;
  if (!std::holds_alternative<Options>(parsed.result)) return {};
  EXPECT_TRUE(check_options(std::get<Options>(parsed.result)).ok()) << arguments[1];
  return std::get<Options>(parsed.result);
}

}  // namespace cascade::ctl::testing
