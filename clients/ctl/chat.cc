// The chat's commands.
#include "clients/ctl/chat.h"

#include <algorithm>

#include "base/counted.h"
#include "base/utf8.h"
#include "clients/cpp/endpoint.h"
#include "clients/ctl/chunk_table.h"
#include "clients/ctl/holder_text.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/json_fields.h"
#include "clients/ctl/run.h"
#include "clients/ctl/status_text.h"
#include "clients/ctl/stream_printer.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/usage_text.h"
#include "clients/ctl/word_wrap.h"
#include "wire/conversation_rules.h"

namespace cascade::ctl {
namespace {

constexpr const char* kChunksGone =
    "The chunks of the earlier turns do not exist any more (deleted, expired, or in another "
    "state directory): the turns are sent as text.";

// Whether the error says that the daemon does not know a chunk of the composition.
bool is_missing_chunk(const Error& error) {
  return error.code == ErrorCode::kNotFound && error.field.starts_with("chunks[");
}

std::string in_quotes(const std::string& text) {
  constexpr int kColumns = 60;
  return '"' + fitted(one_line(text), kColumns) + '"';
}

// Says what a conversation lost with an output, and how the conversation ends now.
std::string removal_text(const Chunk& output, const Conversation& conversation) {
  const std::string lost = in_quotes(output.query_text.empty() ? output.id : output.query_text);
  if (!conversation.session().empty()) {
    return "The next turn of session " + conversation.session() + " goes on without " + lost + ".";
  }
  const std::string end = conversation.end();
  return "The conversation goes on without the turn " + lost +
         (end.empty() ? "; it is empty now." : "; it ends with " + in_quotes(end) + " now.");
}

}  // namespace

ChatSession::ChatSession(client::Client& client, Screen& screen, ChatSettings settings)
    : client_(client),
      screen_(screen),
      settings_(std::move(settings)),
      conversation_(settings_.retain == Retain::kNever ? Conversation::Turns::kText
                                                       : Conversation::Turns::kOutputs,
                    settings_.params.session),
      retention_(client, screen, settings_.retain, settings_.params.output_ttl_ms, settings_.ask),
      numbered_(client),
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

void ChatSession::end() {
  const Status ended = retention_.end_conversation();
  if (!ended.ok()) fail(ended.error());
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
      return remark(counted(conversation_.contexts().size(), "context") + " for the next turn");
    case ChatVerb::kQuery:
      conversation_.set_query(command.argument);
      return remark("/infer answers it");
    case ChatVerb::kInfer: return infer();
    case ChatVerb::kOutput: return list_outputs(command.argument);
    case ChatVerb::kUseOutput: return use_output(command.argument);
    case ChatVerb::kContinue: return continue_from(command.argument);
    case ChatVerb::kDeleteOutput: return delete_output(command.argument);
    case ChatVerb::kChunks: return list_chunks();
    case ChatVerb::kStats: return show_stats();
    case ChatVerb::kThink: return set_thinking(command.argument);
    case ChatVerb::kEffort: return set_effort(command.argument);
    case ChatVerb::kClear: return begin_anew();
    case ChatVerb::kHelp: return show_help();
  }
}

void ChatSession::infer() {
  Result<client::Generation> result = generate();
  if (!result.ok() && is_missing_chunk(result.error()) && conversation_.chunks_are_gone()) {
    print_note(screen_, kChunksGone);
    result = generate();
  }
  if (!result.ok()) return fail(result.error());
  finish_turn(*result);
}

Result<client::Generation> ChatSession::generate() {
  wire::GenerateRequest request = settings_.params;
  RETURN_IF_ERROR(conversation_.compose(request));
  retention_.apply(request);
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
  const bool cancelled = generation.finish_reason == "cancelled";
  const std::string& id = generation.output_chunk_id;
  const std::string& session = conversation_.session();
  if (screen_.json) {
    OrderedJson line = to_json_object(generation);
    if (!session.empty() && !id.empty() && !cancelled) line["session"] = session;
    print_json(screen_, line);
  }
  remark("(" + usage_text(generation, generation.finish_reason != "stop") + ")");
  if (!id.empty()) retention_.made(id);
  const bool wanted = retention_.retain() != Retain::kNever;
  if (cancelled && (id.empty() || !session.empty())) return;  // not a turn
  if (id.empty() && wanted) {
    fail({ErrorCode::kInternal, "output", "was not kept, so later turns will not know of it"});
    return;
  }
  const bool keep = generation.think_policy == ThinkPolicy::kKeep;
  conversation_.answered(id, {.role = "assistant",
                              .content = generation.text,
                              .reasoning = keep ? generation.reasoning : ""});
}

// The outputs of the conversation; those of a session are fetched from the daemon.
Result<std::vector<std::string>> ChatSession::conversation_outputs() {
  std::vector<std::string> ids;
  if (!conversation_.session().empty()) {
    const Result<wire::SessionReply> session = client_.get_session(conversation_.session());
    const bool begun = session.ok() || session.error().code != ErrorCode::kNotFound;
    if (begun && !session.ok()) return session.error();
    if (begun) {
      for (const SessionTurn& turn : session->turns) ids.push_back(turn.output_id);
    }
  }
  for (std::string& id : conversation_.outputs()) ids.push_back(std::move(id));
  return ids;
}

void ChatSession::list_outputs(const std::string& whose) {
  if (!whose.empty() && whose != "all") {
    return fail(invalid_argument("/output", "must be followed by nothing, or by all"));
  }
  const Result<std::vector<std::string>> ids = conversation_outputs();
  if (!ids.ok()) return fail(ids.error());
  using Whose = NumberedOutputs::Whose;
  const Status numbered =
      numbered_.number(whose.empty() ? Whose::kConversation : Whose::kAll, *ids);
  if (!numbered.ok()) return fail(numbered.error());
  const Ids shown = screen_.terminal ? Ids::kShort : Ids::kWhole;
  print_list(numbered_.list(), render_outputs(numbered_.list(), shown, screen_.style));
  if (whose.empty() && numbered_.list().size() < ids->size()) {
    const size_t gone = ids->size() - numbered_.list().size();
    remark(std::to_string(gone) + (gone == 1 ? " output is" : " outputs are") + " gone");
  }
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
  if (chunks.empty()) {
    const bool never = retention_.retain() == Retain::kNever;
    return remark(never ? "none; answers are not kept (--retain never)" : "none");
  }
  screen_.out << table << std::flush;
}

Result<Chunk> ChatSession::find_output(const std::string& which) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, conversation_outputs());
  return numbered_.find(which, ids);
}

void ChatSession::use_output(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  const bool added = conversation_.add_output(turn_of(*output));
  const bool session = !conversation_.session().empty();
  remark(!added    ? "is part of the conversation already"
         : session ? "added to the next turn only; a session keeps only its own turns"
                   : "added to the conversation");
}

void ChatSession::continue_from(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  end();
  const std::string left = conversation_.session();
  conversation_.go_on_from(output->id);
  if (!left.empty()) remark("no turns of session " + left + " from here on");
  remark("the conversation goes on after " + output->id);
}

void ChatSession::delete_output(const std::string& which) {
  const Result<Chunk> output = find_output(which);
  if (!output.ok()) return fail(output.error());
  client::ChunkChange change;
  const Result<Chunk> given_up = client_.delete_chunk(output->id, "", /*all=*/false, &change);
  if (!given_up.ok()) return fail(given_up.error());
  const bool removed = conversation_.remove_output(output->id);
  retention_.deleted(output->id);
  remark(change.gone ? "deleted " + output->id : deletion_text(*given_up, change));
  if (removed) print_note(screen_, removal_text(*output, conversation_));
}

void ChatSession::begin_anew() {
  end();
  const std::string left = conversation_.session();
  conversation_.clear();
  remark(left.empty() ? "new conversation" : "new conversation, outside session " + left);
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

void ChatSession::set_effort(const std::string& level) {
  std::optional<std::string> effort;
  if (!level.empty()) effort = level;
  if (const Status known = wire::check_reasoning_effort("/effort", effort); !known.ok()) {
    return fail(known.error());
  }
  settings_.params.reasoning_effort = std::move(effort);
  remark("reasoning effort: " + (level.empty() ? "the model's default" : level));
}

void ChatSession::show_help() {
  if (screen_.json) return print_json(screen_, OrderedJson{{"help", chat_help()}});
  screen_.out << wrapped_columns(chat_help(), screen_.style.columns()) << std::flush;
}

void ChatSession::remark(const std::string& text) {
  if (!settings_.interactive) return;
  const std::string lines = wrapped(one_line(text), screen_.style.columns());
  screen_.out << screen_.style.dim(lines) << std::endl;
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
