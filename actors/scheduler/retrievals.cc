// The prompt without what is brought back says how much room there is for it.
#include "actors/scheduler/retrievals.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "actors/scheduler/earlier_turns.h"

namespace cascade {
namespace {

// A text takes a few tokens more where it meets the texts beside it.
constexpr int64_t kTokensBetween = 8;

// The newest message of the user; empty if there is none.
std::string question_of(const Request& request) {
  const auto& messages = request.messages;
  const auto found = std::find_if(messages.rbegin(), messages.rend(),
                                  [](const ChatMessage& m) { return m.role == "user"; });
  return found == messages.rend() ? std::string() : found->content;
}

}  // namespace

Retrievals::Retrievals(Jobs& jobs, Outbox& outbox, ChunkRegistry& registry,
                       const RequestTable& requests, std::function<void(Request&)> ready)
    : jobs_(jobs),
      outbox_(outbox),
      registry_(registry),
      requests_(requests),
      ready_(std::move(ready)),
      asked_(jobs, {.actor = Actor::kStore}, [this](auto&& lost) {
        for (const auto& [job, asked] : lost) found(asked, {});
      }) {}

bool Retrievals::begin(Request& request, wire::EncodeDone& done) {
  const bool lacks_turns = request.on_overflow == OnOverflow::kRetrieve && !request.prefix &&
                           request.left_out != LeftOut();
  const bool is_too_long = done.tokens_left_out > 0;
  if (!lacks_turns || is_too_long || request.retrieval) return false;
  const int64_t room = request.prompt_room + request.retrieved_max - std::ssize(done.token_ids);
  const int64_t tokens = std::min(request.retrieved_max, room - kTokensBetween);
  if (tokens < kTokensMin) return false;
  std::string question = question_of(request);
  std::vector<std::string> outputs = outputs_left_out(request, registry_);
  if (question.empty() || (outputs.empty() && request.earlier.texts.empty())) return false;
  request.retrieval = wire::Retrieval{{}, tokens};
  request.prompt = std::move(done.token_ids);
  if (outputs.size() <= kTurnsMax) {
    found({request.handle, std::move(outputs)}, {});
    return true;
  }
  const uint64_t job = jobs_.next();
  asked_.put(job, {request.handle, outputs});
  outbox_.send(Actor::kStore, wire::StoreRank{job, request.client.tenant, std::move(question),
                                              std::move(outputs), static_cast<int32_t>(kTurnsMax)});
  return true;
}

void Retrievals::on(wire::StoreRanked&& answer) {
  if (const auto asked = asked_.take(answer.job)) found(*asked, answer.ids);
}

void Retrievals::found(const Asked& asked, const std::vector<std::string>& best) {
  Request* const request = requests_.find(asked.handle);
  if (request == nullptr) return;
  std::vector<EarlierTurn>& turns = request->retrieval->turns;
  turns = texts_of(asked.outputs, best, kTurnsMax, kBytesMax, request->client.tenant, registry_);
  std::vector<EarlierTurn> texts = newest_of(std::move(request->earlier.texts), kTextBytesMax);
  turns.insert(turns.end(), std::make_move_iterator(texts.begin()),
               std::make_move_iterator(texts.end()));
  ready_(*request);
}

}  // namespace cascade
