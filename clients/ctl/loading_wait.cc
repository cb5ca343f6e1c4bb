// Writes the state of the load into one line, again and again.
#include "clients/ctl/loading_wait.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "wire/loading.h"

namespace cascade::ctl {
namespace {

constexpr int kBarColumns = 24;

}  // namespace

std::string loading_bar(const wire::Loading& loading) {
  const std::optional<int> percent = wire::percent_of(loading);
  if (!percent) return "";
  const auto filled = static_cast<size_t>(*percent * kBarColumns / 100);
  return "[" + std::string(filled, '#') + std::string(kBarColumns - filled, '.') + "] " +
         std::to_string(*percent) + " %";
}

bool LoadingWait::look(const wire::Loading* loading) {
  if (loading == nullptr) {
    if (columns_ > 0) screen_.err << '\r' << std::string(columns_, ' ') << '\r' << std::flush;
    columns_ = 0;
    guard_.reset();
    return true;
  }
  const bool first = !guard_;
  if (first) {
    clear_interrupt();
    guard_.emplace();
  }
  if (!screen_.json) show(*loading, first);
  return !interrupted();
}

void LoadingWait::show(const wire::Loading& loading, bool first) {
  if (terminal_) {
    std::string line = "the daemon loads its model " + loading_bar(loading);
    const size_t columns = line.size();
    if (columns < columns_) line += std::string(columns_ - columns, ' ');
    columns_ = std::max(columns, columns_);
    screen_.err << '\r' << line << std::flush;
  } else if (first) {
    screen_.err << "the daemon does not serve yet: it is " << wire::loading_text(loading)
                << "; waiting for it" << std::endl;
  }
}

Result<client::Client> connect_waiting(Screen& screen, const std::string& endpoint,
                                       const std::string& model) {
  const auto wait = std::make_shared<LoadingWait>(screen, ::isatty(STDERR_FILENO) == 1);
  client::ClientOptions options;
  options.model = model;
  options.on_loading = [wait](const wire::Loading* loading) { return wait->look(loading); };
  return client::Client::connect(endpoint, options);
}

Result<client::Client> connect_to_look(const std::string& endpoint, const std::string& model,
                                       std::optional<wire::Loading>& loading) {
  client::ClientOptions options;
  options.model = model;
  options.on_loading = [&loading](const wire::Loading* now) {
    if (now != nullptr) loading = *now;
    return false;
  };
  return client::Client::connect(endpoint, options);
}

void print_loading(Screen& screen, const wire::Loading& loading) {
  if (!screen.json) {
    screen.out << wire::loading_text(loading) << std::endl;
    return;
  }
  OrderedJson object;
  object["state"] = "loading";
  const std::optional<int> percent = wire::percent_of(loading);
  object["percent"] = percent ? OrderedJson(*percent) : OrderedJson(nullptr);
  object["done_bytes"] = loading.done_bytes;
  object["total_bytes"] = loading.total_bytes;
  print_json(screen, object);
}

}  // namespace cascade::ctl
