// An output names the chunks that its prompt was made of, so the way back leads from output to
// output.
#include "actors/scheduler/earlier_turns.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cache/chain_index.h"

namespace cascade {
namespace {

void add_text(std::string& text, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text += "\n\n";
  text += more;
}

// The outputs among the parents of an output; none if it is not found.
std::vector<std::string> outputs_of(const std::string& id, const std::string& tenant,
                                    ChunkRegistry& registry) {
  std::vector<std::string> outputs;
  const auto found = registry.find(tenant, id);
  if (!found.ok()) return outputs;
  for (const std::string& parent : (*found)->chunk.parent_ids) {
    const auto entry = registry.find(tenant, parent);
    const bool is_output = entry.ok() && (*entry)->chunk.type == ChunkType::kOutput;
    if (is_output) outputs.push_back(parent);
  }
  return outputs;
}

}  // namespace

void note_left_out(const ConversationCuts& cuts, const LeftOut& cut, Request& request) {
  if (request.on_overflow != OnOverflow::kRetrieve) return;
  auto answer = request.answers.begin();
  EarlierTurn turn;
  bool has_output = false;
  const auto end_turn = [&] {
    const bool has_text = !turn.question.empty() || !turn.answer.empty();
    if (has_text && !has_output) request.earlier.texts.push_back(std::move(turn));
    turn = {};
    has_output = false;
  };
  for (size_t i = 0; i < request.messages.size(); ++i) {
    while (answer != request.answers.end() && answer->second < i) ++answer;
    if (cuts.stays(i, cut)) continue;
    const ChatMessage& message = request.messages[i];
    const bool asks = message.role == "user" || message.role == "system";
    if (asks && !turn.answer.empty()) end_turn();
    if (answer != request.answers.end() && answer->second == i) {
      request.earlier.outputs.push_back(answer->first);
      has_output = true;
    }
    add_text(asks ? turn.question : turn.answer, message.content);
    if (has_output) end_turn();  // the output has the text of its question
  }
  end_turn();
}

std::vector<std::string> outputs_left_out(const Request& request, ChunkRegistry& registry) {
  const std::string& tenant = request.client.tenant;
  const std::vector<std::string>& known = request.earlier.outputs;
  std::set<std::string, std::less<>> seen(request.parent_ids.begin(), request.parent_ids.end());
  std::vector<std::string> outputs;
  for (const std::string& id : known) {
    if (seen.insert(id).second) outputs.push_back(id);
  }
  // The oldest output names those before it.
  std::vector<std::string> oldest = outputs;
  oldest.insert(oldest.end(), request.parent_ids.begin(), request.parent_ids.end());
  while (!oldest.empty()) {
    std::vector<std::string> before;
    for (const std::string& id : oldest) {
      for (std::string& parent : outputs_of(id, tenant, registry)) {
        if (seen.insert(parent).second) before.push_back(std::move(parent));
      }
      if (!before.empty()) break;
    }
    outputs.insert(outputs.begin(), before.begin(), before.end());
    oldest = std::move(before);
  }
  return outputs;
}

std::vector<EarlierTurn> texts_of(const std::vector<std::string>& ids,
                                  std::span<const std::string> first, size_t count_max,
                                  size_t bytes_max, const std::string& tenant,
                                  ChunkRegistry& registry) {
  std::set<std::string, std::less<>> chosen;
  size_t bytes = 0;
  const auto choose = [&](const std::string& id) {
    if (chosen.size() >= count_max || chosen.contains(id)) return;
    const auto found = registry.find(tenant, id);
    if (!found.ok()) return;
    const size_t size = (*found)->chunk.query_text.size() + (*found)->chunk.text.size();
    if (size > bytes_max - bytes) return;
    bytes += size;
    chosen.insert(id);
  };
  for (const std::string& id : first) choose(id);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) choose(*id);
  std::vector<EarlierTurn> turns;
  for (const std::string& id : ids) {
    if (!chosen.contains(id)) continue;
    const Chunk& chunk = (*registry.find(tenant, id))->chunk;
    turns.push_back({id, chunk.query_text, chunk.text});
  }
  return turns;
}

std::span<const EarlierTurn> newest_of(std::span<const EarlierTurn> turns, size_t bytes_max) {
  size_t bytes = 0, count = 0;
  while (count < turns.size()) {
    const EarlierTurn& next = turns[turns.size() - 1 - count];
    bytes += next.question.size() + next.answer.size();
    if (bytes > bytes_max) break;
    ++count;
  }
  return turns.last(count);
}

void take_retrieved(wire::EncodeDone& done, Request& request) {
  if (request.retrieval) request.retrieval->turns = {};
  if (done.retrieved.empty()) return;
  const std::span<const int32_t> with = done.token_ids;
  const std::span<const int32_t> without = request.prompt;
  const auto begin = static_cast<int64_t>(common_prefix(with, without));
  const int64_t after_max = std::min(std::ssize(with), std::ssize(without)) - begin;
  const auto differ = std::mismatch(with.rbegin(), with.rbegin() + after_max, without.rbegin());
  request.earlier.where = {begin, std::ssize(with) - (differ.first - with.rbegin())};
  request.retrieved = std::move(done.retrieved);
  request.retrieved_text = std::move(done.retrieved_text);
}

void add_retrieved(ChunkRegistry& registry, Request& request) {
  for (const Retrieved& part : request.retrieved) {
    if (part.chunk_id.empty()) continue;
    const auto found = registry.find(request.client.tenant, part.chunk_id);
    const std::string& tenant = found.ok() ? (*found)->chunk.tenant : request.client.tenant;
    request.texts.push_back({{tenant, part.chunk_id}, request.earlier.where});
  }
}

}  // namespace cascade
