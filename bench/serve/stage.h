// What all commands need first: options that were checked, the model's tokenizer and context,
// folders, and daemons.
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

// Tokens that a chat template adds to a message, generously.
inline constexpr int64_t kTemplateTokens = 16;
// Times are in microseconds.
inline constexpr int64_t kSecondUs = 1'000'000;
// How long a command waits for messages before it looks at what else is due.
inline constexpr int64_t kLookUs = 20'000;
// What commands ask that time one long prompt: its tokens, room for its answer and for what the
// tokenizer may add, and the prompts of the streams beside it.
inline constexpr int64_t kPromptTokensDefault = 16'000;
inline constexpr int64_t kRoomTokens = 64;
inline constexpr int64_t kDecodePromptTokens = 64;

// A daemon and what is sent to it. The connection `control` asks for its status.
struct Service {
  std::filesystem::path folder;  // of its run directory and its state directory
  std::unique_ptr<DaemonProcess> daemon;
  std::unique_ptr<Traffic> traffic;  // ends before the daemon
  int control = 0;
  int http_port = 0;  // 0: none

  Result<wire::StatusReply> status() { return traffic->status(control); }
  ProcessMemory memory() const { return memory_of(daemon->pid()); }
};

class Stage {
 public:
  // Starts no process. Errors: kInvalidArgument with the option as field; as load_model_text.
  static Result<std::unique_ptr<Stage>> prepare(const ServeOptions& options);

  // A daemon with directories of its own; only packed weights are shared. Errors: as
  // DaemonProcess::start.
  Result<std::unique_ptr<Service>> start_service(
      const std::vector<std::string>& further_arguments = {});
  // The same, with HTTP at a free port, service->http_port. Further errors: as free_port.
  Result<std::unique_ptr<Service>> start_service_with_http();
  // One in the directories of `ended`, whose daemon does not run any more.
  Result<std::unique_ptr<Service>> start_again(const Service& ended);

  // Error, field `option`, if a sequence of `tokens` does not fit the model's context.
  Status check_context(const char* option, int64_t tokens) const;

  const Texts& texts() const { return texts_; }
  int64_t context_tokens() const { return context_tokens_; }

  // Command, CPU, and what the daemon says of itself.
  OrderedJson header(const std::string& command, const wire::StatusReply& status) const;
  // Prints to standard output. Errors: as io_error.
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

// A request that is answered with exactly `max_tokens` tokens, always the same, streamed.
wire::GenerateRequest raw_request(std::string prompt, int64_t max_tokens);

}  // namespace cascade::serve
