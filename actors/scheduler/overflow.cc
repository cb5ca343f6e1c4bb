// Answers and parents are in the order of the conversation.
#include "actors/scheduler/overflow.h"

#include <algorithm>
#include <span>
#include <utility>

#include "actors/scheduler/earlier_turns.h"
#include "actors/scheduler/prompt_size.h"
#include "model/conversation_cut.h"
#include "model/stand_in.h"

namespace cascade {
namespace {

bool is_system_prompt(ChunkRegistry& registry, const std::string& tenant, const std::string& id) {
  const auto found = registry.find(tenant, id);
  return found.ok() && (*found)->chunk.type == ChunkType::kSystemPrompt;
}

// Removes from the parents the outputs whose answers are left out, and with an output whose whole
// turn is left out all that was named before it, except a system prompt.
void drop_parents(const ConversationCuts& cuts, const LeftOut& cut, ChunkRegistry& registry,
                  Request& request) {
  std::vector<std::string>& parents = request.parent_ids;
  const bool has_system =
      !parents.empty() && is_system_prompt(registry, request.client.tenant, parents.front());
  const auto begin = [&] { return parents.begin() + (has_system ? 1 : 0); };
  auto next = begin();
  for (const auto& [id, place] : request.answers) {
    if (cuts.stays(place, cut)) break;
    const auto output = std::find(next, parents.end(), id);
    if (output == parents.end()) continue;
    const bool whole_turn = !cuts.stays(place, {cut.turns, 0});
    next = parents.erase(whole_turn ? begin() : output, output + 1);
  }
}

// As ShorterHistory::begins.
std::vector<int64_t> session_begins(const Request& request) {
  const ConversationCuts cuts(request.messages);
  std::vector<int64_t> begins;
  size_t answer = 0;
  for (int64_t turns = 0; turns <= cuts.most().turns; ++turns) {
    while (answer < request.answers.size() &&
           !cuts.stays(request.answers[answer].second, {turns, 0})) {
      ++answer;
    }
    begins.push_back(request.session_begin(request.answers_left_out + answer));
  }
  return begins;
}

std::vector<MessageSize> sizes_in_bytes(const std::vector<ChatMessage>& messages) {
  std::vector<MessageSize> sizes;
  for (const ChatMessage& message : messages) sizes.push_back({message_bytes(message), 0});
  return sizes;
}

}  // namespace

void find_answers(const std::vector<std::string>& parents, ChunkRegistry& registry,
                  Request& request) {
  size_t next = 0;
  for (const std::string& id : parents) {
    const auto found = registry.find(request.client.tenant, id);
    if (!found.ok()) continue;
    const Chunk& output = (*found)->chunk;
    size_t place = next;
    while (place < request.messages.size()) {
      const ChatMessage& message = request.messages[place];
      const bool is_answer = message.role == "assistant" && !message.content.empty() &&
                             (message.content == output.text || message.content == output.raw_text);
      if (is_answer) break;
      ++place;
    }
    if (place == request.messages.size()) continue;
    request.answers.emplace_back(id, place);
    next = place + 1;
  }
}

LeftOut cut_by_bytes(const Request& request, int64_t bytes_max) {
  const int64_t all = prompt_bytes(request);
  if (all <= bytes_max) return {};
  const ConversationCuts cuts(request.messages);
  const std::vector<MessageSize> sizes = sizes_in_bytes(request.messages);
  int64_t fixed = all;  // of tools, system messages and the like
  for (size_t i = cuts.system_messages(); i < sizes.size(); ++i) fixed -= sizes[i].always;
  const int64_t room = std::max<int64_t>(0, bytes_max - fixed);
  return cuts.choose(sizes, {room, room / 2});
}

int64_t bytes_after(const Request& request, const LeftOut& cut) {
  int64_t bytes = prompt_bytes(request);
  const ConversationCuts cuts(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    if (!cuts.stays(i, cut)) bytes -= message_bytes(request.messages[i]);
  }
  return bytes;
}

void leave_out(const LeftOut& cut, ChunkRegistry& registry, Request& request) {
  if (cut == LeftOut()) return;
  const ConversationCuts cuts(request.messages);
  note_left_out(cuts, cut, request);
  drop_parents(cuts, cut, registry, request);
  std::vector<std::pair<std::string, size_t>> answers;
  size_t message = 0, gone = 0;
  for (auto& [id, place] : request.answers) {
    for (; message <= place; ++message) gone += cuts.stays(message, cut) ? 0 : 1;
    if (cuts.stays(place, cut)) {
      answers.emplace_back(std::move(id), place - gone);
    } else {
      ++request.answers_left_out;
    }
  }
  request.answers = std::move(answers);
  request.messages = kept_messages(request.messages, cuts, cut);
  const int64_t steps = cut.turns == 0 ? request.left_out.steps : 0;
  request.left_out = {request.left_out.turns + cut.turns, steps + cut.steps};
}

void take_left_out(const LeftOut& cut, ChunkRegistry& registry, Request& request) {
  const bool goes_on = request.params.continue_final_message.value_or(false);
  if (goes_on) request.messages.push_back({.role = "assistant", .content = {}, .reasoning = {}});
  leave_out(cut, registry, request);
  if (goes_on) request.messages.pop_back();
}

void take_summarised(const std::optional<LeftOut>& cut, Request& request) {
  request.summarised = std::nullopt;
  const auto chosen = std::ranges::find_if(
      request.summaries, [&](const SummaryChoice& choice) { return choice.text.cut == cut; });
  if (chosen == request.summaries.end()) return;
  request.summarised = chosen->summarised;
}

std::vector<std::string> texts_of(const Request& request) {
  std::vector<std::string> ids = request.parent_ids;
  if (request.summarised) {
    const std::vector<std::string>& summaries = request.summarised->chunk_ids;
    ids.insert(ids.end(), summaries.begin(), summaries.end());
  }
  return ids;
}

std::span<const int32_t> system_chain(const Request& request, ChunkRegistry& registry) {
  if (request.messages.empty() || request.messages.front().role != "system") return {};
  Chunk system;
  system.type = ChunkType::kSystemPrompt;
  system.tenant = request.client.tenant;
  system.text = request.messages.front().content;
  system.content_hash = chunk_content_hash(system);
  const ChunkEntry* const same = registry.same_content(system);
  return same == nullptr ? std::span<const int32_t>() : same->chain;
}

std::span<const int32_t> history_chain(const Request& request, ChunkRegistry& registry) {
  std::string latest = request.params.previous_output;
  const size_t turns = request.session_turns.size();
  if (turns > 0 && turns <= request.answers.size()) latest = request.answers[turns - 1].first;
  const auto found = registry.find(request.client.tenant, latest);
  return found.ok() ? (*found)->chain : std::span<const int32_t>();
}

LeftOut cut_before(const Request& request, int64_t begin) {
  const std::vector<int64_t> begins = session_begins(request);
  const auto place = std::ranges::find(begins, begin);
  return place == begins.end() ? LeftOut() : LeftOut{place - begins.begin(), 0};
}

bool loses_summary(std::span<const SummaryChoice> choices, const LeftOut& cut) {
  const auto is_at = [&](const SummaryChoice& choice) { return choice.text.cut == cut; };
  return !choices.empty() && choices.back().text.cut != LeftOut() &&
         std::ranges::none_of(choices, is_at);
}

bool is_mostly_computed(const Request& request, const std::deque<Reprefill>& queue) {
  return std::ranges::all_of(queue, [&](const Reprefill& chain) {
    const bool is_own = chain.shorter && chain.tenant == request.client.tenant &&
                        chain.shorter->session == request.params.session;
    if (!is_own) return true;
    const int64_t computed = chain.sequence ? chain.sequence->committed() : 0;
    return 2 * computed >= std::ssize(chain.chain);
  });
}

std::optional<Ahead> shorten_ahead(const Request& request, const wire::EncodeJob& whole,
                                   const Reprefill& sampled, std::optional<int64_t> planned,
                                   int64_t memory_tokens, std::span<const SummaryChoice> choices) {
  const bool drops = request.session_taken && leaves_out(request.on_overflow);
  if (!drops || whole.follower != "user") return std::nullopt;
  // The new part of this turn's prompt, if its beginning was found; otherwise it is not known.
  const int64_t room = request.prompt_room;
  const int64_t brought_back = request.earlier.where.end - request.earlier.where.begin;
  const int64_t next = std::clamp(request.prefilled_tokens - brought_back, room / 4, room / 3);
  const int64_t history = std::ssize(sampled.sampled_chain);
  if (history + next <= room) return std::nullopt;
  // The shorter history must not evict the one that the next turn may still begin with.
  if (request.attention.window == 0 && history + room / 2 > memory_tokens) return std::nullopt;
  Ahead ahead = {whole, {}};
  ahead.job.room = room;
  ahead.job.next_tokens = next;
  ahead.chain.tenant = sampled.tenant;
  ahead.chain.chunk_id = sampled.chunk_id;
  ahead.chain.attention = sampled.attention.exact();
  ShorterHistory shorter = {.session = request.params.session,
                            .begins = session_begins(request),
                            .left_out = planned ? cut_before(request, *planned) : LeftOut(),
                            .answer_tokens = std::ssize(request.sampled)};
  // A summary may have come since that was decided.
  if (loses_summary(choices, shorter.left_out)) shorter.left_out = {};
  std::vector<StandIn>& texts = ahead.job.summaries;
  texts.clear();
  for (const SummaryChoice& choice : choices) {
    texts.push_back(choice.text);
    const std::vector<std::string>& ids = choice.summarised.chunk_ids;
    shorter.summaries.insert(shorter.summaries.end(), ids.begin(), ids.end());
  }
  if (shorter.left_out != LeftOut()) {
    const ConversationCuts cuts(whole.messages);
    ahead.job.messages = kept_messages(whole.messages, cuts, shorter.left_out);
    const StandIn* const summary = stand_in_for(texts, shorter.left_out);
    texts = summary == nullptr ? std::vector<StandIn>()
                               : std::vector<StandIn>{{LeftOut(), summary->text}};
  }
  ahead.chain.shorter = std::move(shorter);
  return ahead;
}

}  // namespace cascade
