// The model commands.
#include "clients/ctl/model_commands.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/model_name.h"
#include "clients/ctl/facts.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/model_place.h"
#include "clients/ctl/run.h"
#include "clients/ctl/table.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/units.h"

namespace cascade::ctl {
namespace {

constexpr int kNameColumns = kModelNameBytesMax;  // whole names are shown, because commands need
                                                  // them

// While it lives, a line on a terminal shows how long something has been going on.
class Elapsed {
 public:
  Elapsed(Screen& screen, std::string what) : screen_(screen), what_(std::move(what)) {
    if (screen.terminal && !screen.json) thread_ = std::thread([this] { run(); });
  }
  ~Elapsed() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    end_.notify_all();
    thread_.join();
    screen_.err << "\r" << std::string(what_.size() + 12, ' ') << "\r" << std::flush;
  }
  Elapsed(const Elapsed&) = delete;
  Elapsed& operator=(const Elapsed&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (int seconds = 0; !ended_; ++seconds) {
      screen_.err << "\r" << what_ << " " << seconds << " s" << std::flush;
      end_.wait_for(lock, std::chrono::seconds(1), [&] { return ended_; });
    }
  }

  Screen& screen_;
  const std::string what_;
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;
};

// The name of the model that `given` means by name or by file. Errors: those of the daemon and of
// model_name_of().
Result<std::string> find_name(client::Client& client, const std::string& given) {
  if (!is_model_file(given)) return given;
  ASSIGN_OR_RETURN(const wire::ModelListReply models, client.list_models());
  return model_name_of(given, models);
}

void print_model(Screen& screen, const wire::ModelInfo& model, const std::string& text) {
  if (screen.json) {
    print_json(screen, to_json_object(model));
  } else {
    screen.out << text << std::flush;
  }
}

}  // namespace

std::string render_models(const wire::ModelListReply& reply, const Style& style) {
  std::vector<std::vector<Cell>> rows;
  for (const wire::ModelInfo& model : reply.models) {
    const bool known = model.total_bytes > 0;
    rows.push_back({{model.name + (model.is_default ? " (default)" : "")},
                    {model.state, model.state == "unloaded" ? Ink::kDim : Ink::kPlain},
                    {model.format},
                    {format_bytes(model.disk_bytes)},
                    {known ? format_bytes(model.weights_bytes) : "?"},
                    {known ? format_bytes(model.total_bytes) : "?"},
                    {std::to_string(model.requests)},
                    {model.last_used_us > 0 ? format_time(model.last_used_us) : "-"}});
  }
  std::string text = render_table({{"Model", Align::kLeft, kNameColumns},
                                   {"State"},
                                   {"Format"},
                                   {"Disk", Align::kRight},
                                   {"Weights", Align::kRight},
                                   {"Memory", Align::kRight},
                                   {"Requests", Align::kRight},
                                   {"Last used"}},
                                  rows, style);
  text += "loaded models may take " + format_bytes(reply.total_bytes);
  if (reply.total_bytes_max > 0) text += " of " + format_bytes(reply.total_bytes_max);
  text += "\n";
  for (const wire::ModelInfo& model : reply.models) {
    if (!model.problem.empty()) text += model.name + ": " + one_line(model.problem) + "\n";
  }
  return text;
}

std::string render_estimate(const wire::ModelInfo& model, const Style& style) {
  Facts facts;
  facts.add("model", model.name);
  facts.add("state", model.state);
  if (!model.path.empty()) facts.add("path", model.path);
  facts.add("on disk", format_bytes(model.disk_bytes));
  facts.add("weights", format_bytes(model.weights_bytes) + " as " + model.weight_type);
  facts.add("K and V", "at most " + format_bytes(model.kv_bytes) + ", as they are needed");
  facts.add("other", format_bytes(model.other_bytes));
  facts.add("in all", "at most " + format_bytes(model.total_bytes));
  return facts.render(style);
}

int run_model_list(client::Client& client, Screen& screen) {
  const auto reply = client.list_models();
  if (!reply.ok()) return failed(screen, reply.error());
  if (screen.json) {
    print_json(screen, to_json_object(*reply));
  } else {
    screen.out << render_models(*reply, screen.style) << std::flush;
  }
  return kExitOk;
}

int run_model_load(client::Client& client, Screen& screen, const ModelOptions& options) {
  const auto begun = std::chrono::steady_clock::now();
  const auto name = find_name(client, options.name);
  if (!name.ok()) return failed(screen, name.error());
  auto model = [&] {
    if (options.estimate) return client.estimate_model(*name);
    const Elapsed elapsed(screen, "loading " + *name);
    return client.load_model(*name);
  }();
  if (!model.ok()) return failed(screen, model.error());
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(
                         std::chrono::steady_clock::now() - begun)
                         .count();
  const std::string text = options.estimate
                               ? render_estimate(*model, screen.style)
                               : model->name + " is loaded, after " + format_duration(us) + "\n";
  print_model(screen, *model, text);
  return kExitOk;
}

int run_model_unload(client::Client& client, Screen& screen, const ModelOptions& options) {
  const auto name = find_name(client, options.name);
  if (!name.ok()) return failed(screen, name.error());
  auto model = [&] {
    const Elapsed elapsed(screen, "unloading " + *name);
    return client.unload_model(*name);
  }();
  if (!model.ok()) return failed(screen, model.error());
  print_model(screen, *model, model->name + " is unloaded; its chunks are on disk\n");
  return kExitOk;
}

}  // namespace cascade::ctl
