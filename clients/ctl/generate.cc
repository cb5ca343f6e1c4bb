// One generation: its prompt from options and stdin, its answer to the screen.
#include "clients/ctl/generate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/sanitized.h"
#include "base/utf8.h"
#include "clients/cpp/endpoint.h"
#include "clients/ctl/cut_answer.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/stream_printer.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/text_input.h"
#include "clients/ctl/usage_text.h"
#include "clients/ctl/word_wrap.h"
#include "wire/frames.h"

namespace cascade::ctl {
namespace {

// Only text may be sent: a daemon would refuse other bytes.
Status check_text(const std::string& field, const std::string& text) {
  const size_t valid = utf8_valid_prefix(text);
  if (valid == text.size()) return {};
  return invalid_argument(field, "is not UTF-8 at byte " + std::to_string(valid));
}

Result<ResolvedContext> resolve(client::Client& client, std::istream& in,
                                const ContextArgument& argument, bool skips_missing) {
  using Kind = ContextArgument::Kind;
  if (argument.kind == Kind::kText) return ResolvedContext{ChunkType::kContext, "", argument.value};
  if (argument.kind == Kind::kFile) {
    ASSIGN_OR_RETURN(std::string text, read_text(argument.value, in, wire::kTextBytesMax));
    RETURN_IF_ERROR(check_text(argument.value, text));
    return ResolvedContext{ChunkType::kContext, "", std::move(text)};
  }
  const Result<Chunk> found = client.get_chunk(argument.value);
  const bool is_gone = !found.ok() && found.error().code == ErrorCode::kNotFound;
  // The daemon leaves the missing chunk out, and says so.
  if (is_gone && skips_missing) return ResolvedContext{ChunkType::kContext, argument.value, ""};
  if (is_gone) {
    return not_found("--chunk", found.error().message + "; --on-missing skip answers without it");
  }
  ASSIGN_OR_RETURN(const Chunk chunk, found);
  return ResolvedContext{chunk.type, chunk.id, ""};
}

}  // namespace

Result<std::string> read_prompt(std::istream& in) {
  ASSIGN_OR_RETURN(std::string text, read_text(in, wire::kTextBytesMax));
  if (!text.empty() && text.back() == '\n') text.pop_back();
  RETURN_IF_ERROR(check_text("stdin", text));
  return text;
}

namespace {

void print_event(Screen& screen, const client::Event& event) {
  const auto print = [&](const char* name, OrderedJson fields) {
    OrderedJson line;
    line["event"] = name;
    line.update(fields);
    print_json(screen, line);
  };
  if (const auto* accepted = std::get_if<wire::Accepted>(&event)) {
    print("accepted", to_json_object(*accepted));
  } else if (const auto* progress = std::get_if<wire::Progress>(&event)) {
    print("progress", to_json_object(*progress));
  } else {
    print("delta", to_json_object(std::get<wire::Delta>(event)));
  }
}

// `session`: the session that this is a turn of; empty if there is none.
void print_final(Screen& screen, const client::Generation& generation, bool as_event,
                 const std::string& session) {
  OrderedJson line;
  if (as_event) line["event"] = "final";
  line.update(to_json_object(generation));
  if (!session.empty()) line["session"] = session;
  print_json(screen, line);
}

// Decides as the daemon does: an answer that is not kept, or was cancelled, is not a turn.
bool is_turn(const client::Generation& generation) {
  return !generation.output_chunk_id.empty() && generation.finish_reason != "cancelled";
}

}  // namespace

void print_remarks(Screen& screen, const client::Generation& generation) {
  const auto print = [&](const std::string& text) { print_note(screen, text); };
  if (generation.left_out) {
    screen.err << "warning: answered without " << left_out_text(*generation.left_out)
               << ", for which there is no room";
    if (!generation.retrieved.empty()) {
      screen.err << "; brought back: " << retrieved_text(generation.retrieved);
    }
    if (generation.summarised) {
      screen.err << "; summarised: " << summarised_text(*generation.summarised);
    }
    screen.err << std::endl;
  }
  for (const wire::MissingChunk& missing : generation.missing) {
    screen.err << "warning: answered without " << one_line(missing.id) << ": "
               << one_line(missing.reason) << std::endl;
  }
  if (!generation.output_chunk_id.empty()) print("retained " + generation.output_chunk_id);
  if (!generation.logprobs.empty()) {
    double sum = 0;
    for (const float logprob : generation.logprobs) sum += static_cast<double>(logprob);
    const double mean = sum / static_cast<double>(generation.logprobs.size());
    print("mean log-probability " + std::to_string(mean) + ", perplexity " +
          std::to_string(std::exp(-mean)) + " (all of them with --json)");
  }
  if (!screen.terminal) return;
  print("(" + usage_text(generation, /*finish=*/true) + ")");
}

void print_cut(Screen& screen, const std::string& where, const client::Generation& generation,
               const wire::GenerateRequest& request) {
  if (!is_cut(generation)) return;
  screen.out.flush();
  screen.err << "warning: " << where << cut_text(generation, request) << std::endl;
}

void print_answer(Screen& screen, const std::string& text) {
  const std::string shown = wrapped(sanitized(text), screen.style.columns());
  screen.out << shown;
  if (!shown.empty() && shown.back() != '\n') screen.out << '\n';
  screen.out.flush();
}

Result<std::vector<ResolvedContext>> resolve_contexts(client::Client& client, std::istream& in,
                                                      const GenerateOptions& options) {
  const bool skips_missing = options.params.on_missing == OnMissing::kSkip;
  std::vector<ResolvedContext> contexts;
  for (const ContextArgument& argument : options.contexts) {
    ASSIGN_OR_RETURN(ResolvedContext context, resolve(client, in, argument, skips_missing));
    contexts.push_back(std::move(context));
  }
  return contexts;
}

namespace {

Result<wire::GenerateRequest> prepare(client::Client& client, Screen& screen, std::istream& in,
                                      const GenerateOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<ResolvedContext> contexts,
                   resolve_contexts(client, in, options));
  const bool query_chunk = std::ranges::any_of(
      contexts, [](const auto& context) { return context.type == ChunkType::kQuery; });
  std::optional<std::string> query = options.query;
  if (!query.has_value() && !query_chunk) {
    if (!options.stdin_option.empty()) {
      return invalid_argument(
          "PROMPT", "is missing: standard input is already read for " + options.stdin_option);
    }
    if (screen.terminal && ::isatty(STDIN_FILENO) == 1) {
      screen.err << screen.style.dim("Type the prompt; Ctrl-D ends it.") << std::endl;
    }
    ASSIGN_OR_RETURN(query, read_prompt(in));
    if (query->empty()) return invalid_argument("stdin", "there is no prompt");
  }
  return compose_request(options, contexts, query);
}

}  // namespace

int run_generate(client::Client& client, Screen& screen, std::istream& in,
                 const GenerateOptions& options) {
  if (options.batch.has_value()) return run_batch(client, screen, in, options);
  Result<wire::GenerateRequest> request = prepare(client, screen, in, options);
  if (!request.ok()) {
    print_error(screen, request.error());
    return exit_code_of(request.error());
  }
  const bool stream = options.stream || (screen.terminal && !screen.json);
  StreamPrinter printer(screen, screen.terminal);
  const auto on_event = [&](const client::Event& event) {
    if (stream && screen.json) print_event(screen, event);
    if (stream && !screen.json) printer.event(event);
    return true;
  };
  clear_interrupt();
  const InterruptGuard guard;
  const Result<client::Generation> result = client.generate(*request, on_event, &interrupted());
  if (stream && !screen.json) printer.finish();
  if (!result.ok()) {
    print_error(screen, result.error());
    return exit_code_of(result.error());
  }
  const std::string& session = options.params.session;
  if (screen.json) {
    print_final(screen, *result, stream, is_turn(*result) ? session : "");
  } else {
    if (!stream) print_answer(screen, result->text);
    if (!session.empty()) {
      const std::string remark = is_turn(*result) ? "a turn of session " : "no turn of session ";
      print_note(screen, remark + session);
    }
    print_remarks(screen, *result);
  }
  print_cut(screen, "", *result, *request);
  return exit_code_of(*result);
}

}  // namespace cascade::ctl
