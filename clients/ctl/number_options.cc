// Reads with from_chars: the whole text must be the number.
#include "clients/ctl/number_options.h"

#include <charconv>
#include <string>

#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

template <class T>
bool is_number(const std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end;
}

std::string refusal(const std::string& what, const std::string& got) {
  return "must be " + what + ", got " + (got.empty() ? "nothing" : one_line(got));
}

}  // namespace

CLI::Validator whole_number(int64_t most) {
  const auto check = [most](const std::string& text) {
    const bool held = most <= INT32_MAX ? is_number<int32_t>(text) : is_number<int64_t>(text);
    return held ? std::string() : refusal("a whole number from 0 to " + std::to_string(most), text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator seed_number() {
  const auto check = [](const std::string& text) {
    return is_number<uint64_t>(text)
               ? std::string()
               : refusal("a whole number from 0 to " + std::to_string(UINT64_MAX), text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator decimal_number() {
  const auto check = [](const std::string& text) {
    return is_number<double>(text) ? std::string() : refusal("a number such as 0.7", text);
  };
  return CLI::Validator(check, "");
}

}  // namespace cascade::ctl
