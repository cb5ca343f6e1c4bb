// Wraps descriptions, which CLI11 aligns but does not wrap.
#include "clients/ctl/help_formatter.h"

#include "clients/ctl/terminal_window.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return wrapped_columns(CLI::Formatter::make_help(app, std::move(name), mode), stdout_columns());
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace cascade::ctl
