// The chat's commands.
#include "clients/ctl/chat.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "clients/cpp/endpoint.h"
#include "clients/ctl/chunk_table.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/status_text.h"
#include "clients/ctl/stream_printer.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/usage_text.h"

namespace cascade::ctl {
namespace {

// "12" -> 12; 0 for what is no number.
size_t number_in(const std::string& text) {
  size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && stop == end ? number : 0;
}

constexpr const char* kChunksGone =
    "The chunks of the earlier turns are gone (deleted, expired, or of another state directory): "
    "the turns are sent as text.";

// The daemon does not know a chunk of the composition.
bool is_missing_chunk(const Error& error) {
  return error.code == ErrorCode::kNotFound && error.field.starts_with("chunks[");
}

}  // namespace

ChatSession::ChatSession(client::Client& client, Screen& screen, ChatSettings settings)
    : client_(client),
      screen_(screen),
      settings_(std::move(settings)),
      thoughts_(settings_.interactive ? Thoughts::kShown : Thoughts::kHidden) {
  conversation_.set_system(settings_.system);
}

bool ChatSession::enter(const std::string& entry) {
  if (const size_t valid = utf8_valid_prefix(entry); valid != entry.size()) {
    fail(invalid_argument(
        "stdin", "is not UTF-8 at byte " + std::to_string(valid) + " of what was entered"));
    return true;
  }
  const Result<ChatCommand> command = parse_chat_line(entry);
  if (!command.ok()) {
    fail(command.error());
    return true;
  }
  if (command->verb == ChatVerb::kBye) return false;
  run(*command);
  return true;
}

void ChatSession::fail(const Error& error) {
  exit_code_ = std::max(exit_code_, client::is_unreachable(error) ? kExitUnreachable : kExitFailed);
  print_error(screen_, error);
}

void ChatSession::run(const ChatCommand& command) {
  switch (command.verb) {
    case ChatVerb::kNothing:
    case ChatVerb::kBye: return;
    case ChatVerb::kText: conversation_.set_query(command.argument); return infer();
    case ChatVerb::kSystem:
      conversation_.set_system(command.argument);
      return remark(command.argument.empty() ? "no system prompt" : "system prompt set");
    case ChatVerb::kContext:
      conversation_.add_context(command.argument);
      return remark(std::to_string(conversation_.contexts().size()) +
                    " contexts for the next turn");
    case ChatVerb::kQuery:
      conversation_.set_query(command.argument);
      return remark("/infer answers it");
    case ChatVerb::kInfer: return infer();
    case ChatVerb::kOutput: return list_outputs();
    case ChatVerb::kUseOutput: return use_output(command.argument);
    case ChatVerb::kContinue: return continue_from(command.argument);
    case ChatVerb::kDeleteOutput: return delete_output(command.argument);
    case ChatVerb::kChunks: return list_chunks();
    case ChatVerb::kStats: return show_stats();
    case ChatVerb::kThink: return set_thinking(command.argument);
    case ChatVerb::kClear: conversation_.clear(); return remark("new conversation");
    case ChatVerb::kHelp: return show_help();
  }
}

void ChatSession::infer() {
  Result<client::Generation> result = generate();
  if (!result.ok() && is_missing_chunk(result.error()) && conversation_.chunks_are_gone()) {
    screen_.err << screen_.style.dim(kChunksGone) << std::endl;
    result = generate();
  }
  if (!result.ok()) return fail(result.error());
  finish_turn(*result);
}

Result<client::Generation> ChatSession::generate() {
  wire::GenerateRequest request = settings_.params;
  RETURN_IF_ERROR(conversation_.compose(request));
  request.retain_output = true;
  clear_interrupt();
  const InterruptGuard guard;
  StreamPrinter printer(screen_, thoughts_ == Thoughts::kShown);
  const auto on_event = [&](const client::Event& event) {
    if (!screen_.json) printer.event(event);
    return true;
  };
  Result<client::Generation> result =
      client_.generate(std::move(request), on_event, &interrupted());
  if (!screen_.json) printer.finish();
  return result;
}

void ChatSession::finish_turn(const client::Generation& generation) {
  if (screen_.json) print_json(screen_, to_json_object(generation));
  remark("(" + usage_text(generation, generation.finish_reason != "stop") + ")");
  if (!generation.output_chunk_id.empty()) {
    const bool keep = generation.think_policy == ThinkPolicy::kKeep;
    conversation_.answered(generation.output_chunk_id,
                           {.role = "assistant",
                            .content = generation.text,
                            .reasoning = keep ? generation.reasoning : ""});
  } else if (generation.finish_reason != "cancelled") {
    fail({ErrorCode::kInternal, "output", "was not kept, so later turns will not know of it"});
  }
}

Status ChatSession::number_outputs() {
  ASSIGN_OR_RETURN(numbered_, client_.get_retained_sequences());
  std::reverse(numbered_.begin(), numbered_.end());  // so that a number stays when others come
  return {};
}

void ChatSession::list_outputs() {
  const Status numbered = number_outputs();
  if (!numbered.ok()) return fail(numbered.error());
  const Ids ids = screen_.terminal ? Ids::kShort : Ids::kWhole;
  print_list(numbered_, render_outputs(numbered_, ids, screen_.style));
}

void ChatSession::list_chunks() {
  Result<std::vector<client::ChunkInfo>> chunks = client_.list_all_chunks({});
  if (!chunks.ok()) return fail(chunks.error());
  std::reverse(chunks->begin(), chunks->end());
  const Ids ids = screen_.terminal ? Ids::kShort : Ids::kWhole;
  print_list(*chunks, render_chunks(*chunks, ids, screen_.style));
}

void ChatSession::print_list(const std::vector<client::ChunkInfo>& chunks,
                             const std::string& table) {
  if (screen_.json) return print_json(screen_, json_of_list(chunks));
  if (chunks.empty()) return remark("none");
  screen_.out << table << std::flush;
}

// `which`: a number of the last list, or an id or its beginning. The output exists.
Result<Chunk> ChatSession::find_output(const std::string& which) {
  const size_t number = number_in(which);
  std::string id = which;
  if (number > numbered_.size()) RETURN_IF_ERROR(number_outputs());
  if (number > numbered_.size()) {
    return not_found(
        which, "there are " + std::to_string(numbered_.size()) + " outputs; /output lists them");
  }
  if (number > 0) id = numbered_[number - 1].chunk.id;
  ASSIGN_OR_RETURN(Chunk chunk, client_.get_chunk(id));
  if (chunk.type == ChunkType::kOutput) return chunk;
  return invalid_argument(which, "is no output");
}

void ChatSession::use_output(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  const bool added = conversation_.add_output(turn_of(*output));
  remark(added ? "added to the conversation" : "is part of the conversation already");
}

void ChatSession::continue_from(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  conversation_.go_on_from(output->id);
  remark("the conversation goes on behind " + output->id);
}

void ChatSession::delete_output(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  const Status released = client_.release_retained_sequence(output->id);
  if (!released.ok()) return fail(released.error());
  conversation_.remove_output(output->id);
  remark("deleted " + output->id);
}

void ChatSession::show_stats() {
  const Result<wire::StatusReply> status = client_.status();
  if (!status.ok()) return fail(status.error());
  if (screen_.json) return print_json(screen_, to_json_object(*status));
  screen_.out << render_status(*status, screen_.style) << std::flush;
}

void ChatSession::set_thinking(const std::string& mode) {
  if (mode != "on" && mode != "off" && mode != "hide") {
    return fail(invalid_argument("/think", "must be on, off or hide"));
  }
  settings_.params.thinking = mode != "off";
  thoughts_ = mode == "hide" ? Thoughts::kHidden : Thoughts::kShown;
  remark("thinking: " + mode);
}

void ChatSession::show_help() {
  if (screen_.json) return print_json(screen_, OrderedJson{{"help", chat_help()}});
  screen_.out << chat_help() << std::flush;
}

void ChatSession::remark(const std::string& text) {
  if (!settings_.interactive) return;
  screen_.out << screen_.style.dim(one_line(text)) << std::endl;
}

std::vector<std::string> ChatSession::output_ids() {
  wire::ChunkListRequest request;
  request.type = ChunkType::kOutput;
  const Result<wire::ChunkListReply> page = client_.list_chunks(request);
  std::vector<std::string> ids;
  if (!page.ok()) return ids;
  for (const Chunk& chunk : page->chunks) ids.push_back(chunk.id);
  return ids;
}

}  // namespace cascade::ctl
