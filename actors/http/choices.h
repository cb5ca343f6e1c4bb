// The answers that one call asks for: several to one prompt, or to several prompts. Each is a
// request of its own to the scheduler, which computes the common part of their prompts once.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/http/abandonable.h"
#include "actors/http/scheduler_link.h"
#include "wire/messages.h"

namespace cascade {

// One thread: that of the link.
class Choices : public Abandonable {
 public:
  // `requests`: one for each choice, in order; not empty. `model` is that of Exchange.
  Choices(SchedulerLink& link, const std::string& tenant, const std::string& model,
          std::vector<wire::GenerateRequest> requests);
  // Cancels the choices that have not ended.
  ~Choices() override = default;

  struct News {
    size_t choice = 0;
    wire::Message message;
  };
  // The next message for one of the choices; nullopt after abandon(). Some requests are sent at
  // once, the others when earlier ones end. If the queue has no place for the first request, its
  // error is returned; later requests wait until there is a place.
  Task<std::optional<News>> next();
  // The exchange of a choice that was sent.
  Exchange& exchange(size_t choice) { return *choices_[choice].exchange; }

  size_t size() const { return choices_.size(); }
  // The number of choices that have ended, with an answer or with an error.
  size_t ended() const { return ended_; }
  // The number of choices that were sent and have not ended.
  size_t open() const { return open_; }
  void abandon() override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Choice {
    wire::GenerateRequest request;
    std::unique_ptr<Exchange> exchange;  // once sent
    bool open = false;
    bool accepted = false;
  };
  void send_some();
  void send(Choice& choice);
  std::optional<News> take();
  bool put_back(Choice& choice, const wire::Message& message);

  SchedulerLink& link_;
  const std::string tenant_;
  const std::string model_;
  asio::steady_timer wake_;
  std::vector<Choice> choices_;
  size_t next_ = 0;  // the choice to look at next: each gets its turn
  size_t open_ = 0;
  size_t ended_ = 0;
  bool abandoned_ = false;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point send_after_ = Clock::time_point::min();  // set when a choice found no place
  Clock::time_point give_up_after_ = Clock::time_point::max();
};

}  // namespace cascade
