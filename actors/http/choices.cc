// The exchanges of all choices wake the same timer.
#include "actors/http/choices.h"

#include <algorithm>
#include <utility>

namespace cascade {
namespace {

// How many choices of one call are in the queue or run at once: as many as one prompt may have. So
// callers with long lists of prompts leave room for others.
constexpr size_t kAtOnce = 8;

// How long a choice that finds no place in the queue is sent again; after that the call has failed.
constexpr std::chrono::seconds kPatience{60};

}  // namespace

Choices::Choices(SchedulerLink& link, const std::string& tenant, const std::string& model,
                 std::vector<wire::GenerateRequest> requests)
    : link_(link), tenant_(tenant), model_(model), wake_(link.io()) {
  for (wire::GenerateRequest& request : requests) {
    choices_.push_back({std::move(request), nullptr, false, false});
  }
  send_some();
}

void Choices::send_some() {
  if (Clock::now() < send_after_) return;
  for (Choice& choice : choices_) {
    if (open_ >= kAtOnce) return;
    if (!choice.exchange) send(choice);
  }
}

// The time limit of the request is counted from the beginning of the call.
void Choices::send(Choice& choice) {
  choice.exchange = std::make_unique<Exchange>(link_, tenant_, model_);
  choice.exchange->wakes(wake_);
  choice.open = true;
  ++open_;
  wire::GenerateRequest request = choice.request;
  if (request.timeout_ms > 0) {
    const auto passed =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_);
    request.timeout_ms = std::max<int64_t>(1, request.timeout_ms - passed.count());
  }
  choice.exchange->send(std::move(request));
}

// True if the choice was refused for lack of a place and is to be sent again. This happens only if
// another choice of the call has found a place.
bool Choices::put_back(Choice& choice, const wire::Message& message) {
  const auto* refused = std::get_if<wire::ErrorReply>(&message);
  const bool any_accepted = std::ranges::any_of(choices_, &Choice::accepted);
  if (refused == nullptr || choice.accepted || !any_accepted) return false;
  if (refused->error.code != ErrorCode::kResourceExhausted || refused->retry_after_ms <= 0) {
    return false;
  }
  const Clock::time_point now = Clock::now();
  give_up_after_ = std::min(give_up_after_, now + kPatience);
  if (now >= give_up_after_) return false;
  send_after_ = now + std::chrono::milliseconds(refused->retry_after_ms);
  choice.open = false;
  choice.exchange.reset();
  --open_;
  return true;
}

std::optional<Choices::News> Choices::take() {
  for (size_t i = 0; i < choices_.size(); ++i) {
    const size_t index = (next_ + i) % choices_.size();
    Choice& choice = choices_[index];
    if (!choice.open) continue;
    std::optional<wire::Message> message = choice.exchange->take();
    if (!message) {
      if (choice.exchange->abandoned()) abandon();  // too many bytes waited in it
      continue;
    }
    if (put_back(choice, *message)) continue;
    next_ = index + 1;
    if (!wire::is_on_the_way(message->index())) {
      choice.open = false;
      --open_;
      ++ended_;
      send_after_ = Clock::time_point::min();  // a place is free
    } else if (!std::exchange(choice.accepted, true)) {
      choice.request = {};  // the request will not be sent again
      give_up_after_ = Clock::time_point::max();
    }
    return News{index, *std::move(message)};
  }
  return std::nullopt;
}

Task<std::optional<Choices::News>> Choices::next() {
  while (!abandoned_ && ended_ < choices_.size()) {
    send_some();
    std::optional<News> news = take();
    if (news) co_return news;
    if (abandoned_) break;
    const bool waits = open_ < kAtOnce && send_after_ > Clock::now();
    wake_.expires_at(waits ? send_after_ : asio::steady_timer::time_point::max());
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return std::nullopt;
}

void Choices::abandon() {
  abandoned_ = true;
  for (const Choice& choice : choices_) {
    if (choice.exchange) choice.exchange->abandon();
  }
  wake_.cancel();
}

}  // namespace cascade
