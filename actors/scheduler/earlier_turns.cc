// An output has the text of the message that it answers, which is the last one before it.
#include "actors/scheduler/earlier_turns.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "cache/chain_index.h"

namespace cascade {
namespace {

// The way back ends after so many outputs: the older ones are hardly ever what is asked for.
constexpr size_t kOutputsMax = 4096;
// One turn has at most this part of the bytes of all.
constexpr size_t kTurnDivisor = 4;

void add_text(std::string& text, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text += "\n\n";
  text += more;
}

// The outputs that this output's prompt was made of, oldest first, and the output itself.
std::vector<std::string> conversation_with(const Chunk& output, const std::string& tenant,
                                           ChunkRegistry& registry) {
  std::vector<std::string> outputs;
  for (const std::string& parent : output.parent_ids) {
    const auto entry = registry.find(tenant, parent);
    const bool is_output = entry.ok() && (*entry)->chunk.type == ChunkType::kOutput;
    if (is_output) outputs.push_back(parent);
  }
  outputs.push_back(output.id);
  return outputs;
}

// Collects the messages of a turn that no output stands for.
class TextCollector {
 public:
  explicit TextCollector(std::vector<EarlierTurn>& texts) : texts_(texts) {}

  void add(const ChatMessage& message) {
    take_latest();
    // The results of tools belong to the step that called them.
    if (message.role != "tool" && !turn_.answer.empty()) end();
    latest_ = &message;
  }
  // The latest message and the one after it have an output, which has both texts.
  void skip_latest() {
    latest_ = nullptr;
    end();
  }
  void end() {
    take_latest();
    if (!turn_.question.empty() || !turn_.answer.empty()) texts_.push_back(std::move(turn_));
    turn_ = {};
  }

 private:
  void take_latest() {
    if (latest_ == nullptr) return;
    const bool is_question = latest_->role == "user" || latest_->role == "system";
    add_text(is_question ? turn_.question : turn_.answer, latest_->content);
    latest_ = nullptr;
  }

  std::vector<EarlierTurn>& texts_;
  EarlierTurn turn_;
  const ChatMessage* latest_ = nullptr;
};

// The end of the text: at most so many bytes, and no part of a character.
std::string end_of(const std::string& text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t begin = text.size() - bytes_max;
  while (begin < text.size() && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

// The output that the request's conversation goes on after; empty if it names none that is still in
// the conversation.
std::string latest_output(const Request& request) {
  if (!request.session_taken) return request.params.previous_output;
  const size_t turns = request.session_turns.size();
  const size_t gone = std::min(turns, request.answers_left_out);
  const bool is_known = gone < turns && turns - gone <= request.answers.size();
  return is_known ? request.answers[turns - gone - 1].first : std::string();
}

// The turn with the ends of its texts only: at most so many bytes together.
EarlierTurn shortened(EarlierTurn&& turn, size_t bytes_max) {
  turn.answer = end_of(turn.answer, bytes_max);
  turn.question = end_of(turn.question, bytes_max - turn.answer.size());
  return std::move(turn);
}

}  // namespace

void note_left_out(const ConversationCuts& cuts, const LeftOut& cut, Request& request) {
  const std::string latest = latest_output(request);
  if (!latest.empty()) request.earlier.from = latest;
  if (request.on_overflow != OnOverflow::kRetrieve) return;
  auto answer = request.answers.begin();
  TextCollector texts(request.earlier.texts);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    while (answer != request.answers.end() && answer->second < i) ++answer;
    if (cuts.stays(i, cut)) continue;
    if (answer != request.answers.end() && answer->second == i) {
      request.earlier.outputs.push_back(answer->first);
      texts.skip_latest();
    } else {
      texts.add(request.messages[i]);
    }
  }
  texts.end();
}

std::vector<std::string> outputs_left_out(const Request& request, ChunkRegistry& registry) {
  const std::string& tenant = request.client.tenant;
  std::set<std::string, std::less<>> seen(request.parent_ids.begin(), request.parent_ids.end());
  std::vector<std::string> newest_first;
  const auto add = [&](const std::vector<std::string>& outputs) {
    for (auto id = outputs.rbegin(); id != outputs.rend(); ++id) {
      if (seen.insert(*id).second) newest_first.push_back(*id);
    }
  };
  add(request.earlier.outputs);
  std::set<std::string, std::less<>> visited;
  // A session names all its turns.
  std::string from = request.session_taken ? std::string() : request.earlier.from;
  while (!from.empty() && visited.insert(from).second && newest_first.size() < kOutputsMax) {
    const auto found = registry.find(tenant, from);
    if (!found.ok()) break;
    add(conversation_with((*found)->chunk, tenant, registry));
    from = (*found)->chunk.generation.left_out_from;
  }
  std::ranges::reverse(newest_first);
  return newest_first;
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
    if (bytes >= bytes_max) return;
    bytes += std::min(size, bytes_max / kTurnDivisor);
    chosen.insert(id);
  };
  for (const std::string& id : first) choose(id);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) choose(*id);
  std::vector<EarlierTurn> turns;
  for (const std::string& id : ids) {
    if (!chosen.contains(id)) continue;
    const Chunk& chunk = (*registry.find(tenant, id))->chunk;
    turns.push_back(shortened({id, chunk.query_text, chunk.text}, bytes_max / kTurnDivisor));
  }
  return turns;
}

std::vector<EarlierTurn> newest_of(std::vector<EarlierTurn>&& turns, size_t bytes_max) {
  size_t bytes = 0, first = turns.size();
  while (first > 0 && bytes < bytes_max) {
    EarlierTurn& next = turns[--first];
    next = shortened(std::move(next), bytes_max - bytes);
    bytes += next.question.size() + next.answer.size();
  }
  turns.erase(turns.begin(), turns.begin() + static_cast<ptrdiff_t>(first));
  return std::move(turns);
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
  const auto add = [&](const std::string& id) {
    const auto found = registry.find(request.client.tenant, id);
    const std::string& tenant = found.ok() ? (*found)->chunk.tenant : request.client.tenant;
    request.texts.push_back(
        {{tenant, id}, request.earlier.where, /*is_output=*/false, /*is_retrieved=*/true});
  };
  for (const Retrieved& part : request.retrieved) {
    if (part.chunk_id.empty()) continue;
    add(part.chunk_id);
    const auto found = registry.find(request.client.tenant, part.chunk_id);
    if (!found.ok()) continue;
    for (const std::string& parent : (*found)->chunk.parent_ids) {
      const auto entry = registry.find(request.client.tenant, parent);
      const bool is_context = entry.ok() && (*entry)->chunk.type == ChunkType::kContext;
      if (is_context) add(parent);
    }
  }
}

}  // namespace cascade
