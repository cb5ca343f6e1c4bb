// The answers that one call asks for: several to one prompt, or to several prompts, each a request
// of its own to the scheduler, which computes what their prompts have in common once.
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
  // `requests`: one for each choice, in order; not empty. `model`: as of Exchange.
  Choices(SchedulerLink& link, const std::string& tenant, const std::string& model,
          std::vector<wire::GenerateRequest> requests);
  // Cancels what has not ended.
  ~Choices() override = default;

  struct News {
    size_t choice = 0;
    wire::Message message;
  };
  // What came next for one of them; nullopt after abandon(). Some requests are sent at once, the
  // others when these end. If the queue has no place for the first one, its error comes out; others
  // wait until there is one.
  Task<std::optional<News>> next();
  // Of a choice that was sent.
  Exchange& exchange(size_t choice) { return *choices_[choice].exchange; }

  size_t size() const { return choices_.size(); }
  // Those that have come to their end, with an answer or with an error.
  size_t ended() const { return ended_; }
  // Those that were sent and have not ended.
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
  size_t next_ = 0;  // to be looked at: all get their turn
  size_t open_ = 0;
  size_t ended_ = 0;
  bool abandoned_ = false;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point send_after_ = Clock::time_point::min();  // one was refused for want of a place
  Clock::time_point give_up_after_ = Clock::time_point::max();
};

}  // namespace cascade
