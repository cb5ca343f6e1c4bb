// The chunks of turns that are left out are no parents of the answer: it was not made of them.
#include "actors/scheduler/overflow.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "actors/scheduler/prompt_size.h"
#include "model/conversation_cut.h"

namespace cascade {
namespace {

bool is_system_prompt(ChunkRegistry& registry, const std::string& tenant, const std::string& id) {
  const auto found = registry.find(tenant, id);
  return found.ok() && (*found)->chunk.type == ChunkType::kSystemPrompt;
}

// Removes from the parents the outputs whose answers are left out, and with an output whose whole
// turn is left out all that was named before it, except a system prompt. Parents are in the order
// of the conversation.
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

void leave_out(const LeftOut& cut, ChunkRegistry& registry, Request& request) {
  const ConversationCuts cuts(request.messages);
  drop_parents(cuts, cut, registry, request);
  std::vector<std::pair<std::string, size_t>> answers;
  for (auto& [id, place] : request.answers) {
    if (!cuts.stays(place, cut)) continue;
    size_t gone = 0;
    for (size_t i = 0; i < place; ++i) gone += cuts.stays(i, cut) ? 0 : 1;
    answers.emplace_back(std::move(id), place - gone);
  }
  request.answers = std::move(answers);
  request.messages = kept_messages(request.messages, cuts, cut);
  const int64_t steps = cut.turns == 0 ? request.left_out.steps : 0;
  request.left_out = {request.left_out.turns + cut.turns, steps + cut.steps};
}

}  // namespace

void leave_out_bytes(int64_t bytes_max, ChunkRegistry& registry, Request& request) {
  if (prompt_bytes(request) <= bytes_max) return;
  std::vector<int64_t> sizes;
  int64_t all = 0;
  for (const ChatMessage& message : request.messages) {
    sizes.push_back(message_bytes(message));
    all += sizes.back();
  }
  const ConversationCuts cuts(request.messages);
  int64_t fixed = prompt_bytes(request) - all;
  for (size_t i = 0; i < cuts.system_messages(); ++i) fixed += sizes[i];
  const int64_t room = bytes_max - fixed;
  leave_out(cuts.choose(sizes, {room, room / 2}), registry, request);
}

void take_left_out(const LeftOut& cut, ChunkRegistry& registry, Request& request) {
  const bool goes_on = request.params.continue_final_message.value_or(false);
  if (goes_on) request.messages.push_back({.role = "assistant", .content = {}, .reasoning = {}});
  leave_out(cut, registry, request);
  if (goes_on) request.messages.pop_back();
}

}  // namespace cascade
