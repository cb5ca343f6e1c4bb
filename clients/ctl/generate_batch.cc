// cascadectl generate --batch: many prompts at once, their answers in the order of the file.
#include <algorithm>
#include <span>

#include "clients/ctl/batch_file.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/text_input.h"
#include "wire/frames.h"

namespace cascade::ctl {
namespace {

// The number of prompts in flight at once: half of a daemon's default queue, so that other clients
// are not refused meanwhile.
constexpr size_t kGroupMax = 32;

int print_result(Screen& screen, size_t line, const Result<client::Generation>& result,
                 const wire::GenerateRequest& request) {
  if (screen.json) {
    OrderedJson object;
    object["line"] = line;
    object.update(result.ok() ? to_json_object(*result) : json_of_error(result.error()));
    print_json(screen, object);
  } else {
    screen.out << screen.style.dim("[line " + std::to_string(line) + "]") << std::endl;
    if (result.ok()) {
      print_answer(screen, result->text);
      print_remarks(screen, *result);
    } else {
      print_error(screen, result.error());
    }
  }
  if (!result.ok()) return exit_code_of(result.error());
  print_cut(screen, "line " + std::to_string(line) + ": ", *result, request);
  return exit_code_of(*result);
}

// Sends a group of prompts and prints the results; returns the exit code, as run_batch() does.
int run_group(client::Client& client, Screen& screen, std::span<const BatchLine> lines,
              const GenerateOptions& options, const std::vector<ResolvedContext>& contexts) {
  std::vector<wire::GenerateRequest> requests;
  for (const BatchLine& line : lines) {
    auto request = batch_request(line, options, contexts);
    CHECK(request.ok());  // all lines were checked before
    requests.push_back(*std::move(request));
  }
  const auto results = client.generate_batch(requests, {}, &interrupted());
  int code = kExitOk;
  for (size_t i = 0; i < results.size(); ++i) {
    code = worse_exit_code(code, print_result(screen, lines[i].number, results[i], requests[i]));
  }
  return code;
}

// Prints an error that was found before anything was sent.
int refuse(Screen& screen, const Error& error) {
  print_error(screen, error);
  return exit_code_of(error);
}

}  // namespace

int run_batch(client::Client& client, Screen& screen, std::istream& in,
              const GenerateOptions& options) {
  const auto text = read_text(*options.batch, in, wire::kTextBytesMax);
  if (!text.ok()) return refuse(screen, text.error());
  const auto contexts = resolve_contexts(client, in, options);
  if (!contexts.ok()) return refuse(screen, contexts.error());
  const std::vector<BatchLine> lines = batch_lines(*text);
  if (lines.empty()) return refuse(screen, invalid_argument("--batch", "there is no prompt"));
  for (const BatchLine& line : lines) {
    const auto request = batch_request(line, options, *contexts);
    if (!request.ok()) return refuse(screen, request.error());
  }
  clear_interrupt();
  const InterruptGuard guard;
  int code = kExitOk;
  for (size_t at = 0; at < lines.size() && !interrupted(); at += kGroupMax) {
    const size_t count = std::min(kGroupMax, lines.size() - at);
    const int one =
        run_group(client, screen, std::span(lines).subspan(at, count), options, *contexts);
    code = worse_exit_code(code, one);
    if (one == kExitUnreachable) break;
  }
  return interrupted() ? worse_exit_code(code, kExitFailed) : code;
}

}  // namespace cascade::ctl
