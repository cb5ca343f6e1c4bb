// A flag for spdlog's pattern that writes messages without anything that a terminal obeys.
#include "daemon/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

#include "base/sanitized.h"

namespace cascade {
namespace {

constexpr char kMessageFlag = '*';
constexpr std::string_view kEndOfLine = "␤";

class Message : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    for (const char c : sanitized({message.payload.data(), message.payload.size()})) {
      const std::string_view shown = c == '\n' ? kEndOfLine : std::string_view(&c, 1);
      line.append(shown.data(), shown.data() + shown.size());
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Message>();
  }
};

}  // namespace

void set_up_log(const std::string& level) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<Message>(kMessageFlag);
  formatter->set_pattern(std::string("%Y-%m-%d %H:%M:%S.%e %l %") + kMessageFlag);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("cascaded"));
  spdlog::set_formatter(std::move(formatter));
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace cascade
