// What all commands need first: checked options, the model's tokenizer and context, folders, and
// daemons.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/serve/commands.h"
#include "bench/serve/daemon_process.h"
#include "bench/serve/interrupt.h"
#include "bench/serve/process_info.h"
#include "bench/serve/texts.h"
#include "bench/serve/traffic.h"
#include "bench/speed/report.h"
#include "model/model.h"
#include "wire/messages.h"

namespace cascade::serve {

// The tokens that a chat template adds to a message, generously estimated.
inline constexpr int64_t kTemplateTokens = 16;
// Times are in microseconds.
inline constexpr int64_t kSecondUs = 1'000'000;
// How long a command waits for messages before it looks for other things that are due.
inline constexpr int64_t kLookUs = 20'000;
// For commands that time one long prompt: its tokens; room for its answer and for tokens that the
// tokenizer may add; and the prompts of the streams beside it.
inline constexpr int64_t kPromptTokensDefault = 16'000;
inline constexpr int64_t kRoomTokens = 64;
inline constexpr int64_t kDecodePromptTokens = 64;

// A daemon and the traffic that is sent to it. The connection `control` asks for its status.
struct Service {
  std::filesystem::path folder;  // holds the daemon's run directory and state directory
  std::unique_ptr<DaemonProcess> daemon;
  std::unique_ptr<Traffic> traffic;  // ends before the daemon
  int control = 0;
  int http_port = 0;  // 0: none

  Result<wire::StatusReply> status() { return traffic->status(control); }
  ProcessMemory memory() const { return memory_of(daemon->pid()); }
};

class Stage {
 public:
  // Starts no process. Errors: kInvalidArgument with the option as field; those of load_model_text.
  static Result<std::unique_ptr<Stage>> prepare(const ServeOptions& options);

  // Starts a daemon with directories of its own; only the packed weights are shared. Errors: those
  // of DaemonProcess::start.
  Result<std::unique_ptr<Service>> start_service(
      const std::vector<std::string>& further_arguments = {});
  // The same, with HTTP at a free port, service->http_port. Further errors: those of free_port.
  Result<std::unique_ptr<Service>> start_service_with_http();
  // Starts a daemon in the directories of `ended`, whose own daemon has ended.
  Result<std::unique_ptr<Service>> start_again(const Service& ended);

  // Error, field `option`, if a sequence of `tokens` does not fit the model's context.
  Status check_context(const char* option, int64_t tokens) const;

  const Texts& texts() const { return texts_; }
  int64_t context_tokens() const { return context_tokens_; }

  // The command, the CPU, and what the daemon says of itself.
  OrderedJson header(const std::string& command, const wire::StatusReply& status) const;
  // Prints to standard output. Errors: those of io_error.
  Status print(const speed::Report& report) const;

 private:
  Stage(const ServeOptions& options, ModelText text);
  Status make_state_dir(const std::filesystem::path& folder) const;
  Result<std::unique_ptr<Service>> start_in(const std::filesystem::path& folder,
                                            const std::vector<std::string>& further_arguments);

  ServeOptions options_;
  Interrupts interrupts_;
  ModelText text_;
  Texts texts_;
  int64_t context_tokens_ = 0;
  std::unique_ptr<TemporaryFolder> folder_;
  int daemons_ = 0;  // started so far
};

// A streamed request whose answer has exactly `max_tokens` tokens and is always the same.
wire::GenerateRequest raw_request(std::string prompt, int64_t max_tokens);

}  // namespace cascade::serve
