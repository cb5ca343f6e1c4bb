// The prompt without what is brought back says how much room there is for it.
#include "actors/scheduler/retrievals.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "actors/scheduler/earlier_turns.h"
#include "model/retrieval.h"

namespace cascade {
namespace {

// A text takes a few tokens more where it meets the texts beside it.
constexpr int64_t kTokensBetween = 8;

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
  const ChatMessage* const question = newest_question(request.messages);
  if (question == nullptr) return false;
  std::vector<std::string> outputs = outputs_left_out(request, registry_);
  if (outputs.empty() && request.earlier.texts.empty()) return false;
  request.retrieval = wire::Retrieval{{}, tokens};
  request.prompt = std::move(done.token_ids);
  if (outputs.size() <= kTurnsMax) {
    found({request.handle, std::move(outputs)}, {});
    return true;
  }
  const uint64_t job = jobs_.next();
  asked_.put(job, {request.handle, outputs});
  outbox_.send(Actor::kStore, wire::StoreRank{job, request.client.tenant, question->content,
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
