// The route of an exchange is a number that is never used again, so a late answer finds nobody.
#include "actors/http/scheduler_link.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "actors/client_queue.h"
#include "base/random.h"

namespace cascade {
namespace {

// The most bytes that may wait for a client that reads slowly. Waiting deltas are joined, so no
// more than the text of the answer waits: a context of a million tokens is some 5 MiB of text.
constexpr size_t kInboxBytesMax = size_t{16} << 20;

const Error& unreachable() {
  static const Error error = {ErrorCode::kUnavailable, "",
                              "the scheduler is not ready or was restarted; try again"};
  return error;
}

constexpr int64_t kRetryAfterMs = 1000;

}  // namespace

Exchange::Exchange(SchedulerLink& link, std::string tenant, std::string model)
    : link_(link),
      tenant_(std::move(tenant)),
      model_(std::move(model)),
      route_(std::to_string(link.next_route_++)),
      wake_(link.io_) {
  link_.exchanges_[route_] = this;
  wake_.expires_at(asio::steady_timer::time_point::max());
}

Exchange::~Exchange() {
  link_.exchanges_.erase(route_);
  if (open_) (void)transmit({{}, wire::ClientGone{}});
}

void Exchange::send(wire::Message message) {
  const std::array<uint64_t, 2> words = {system_random(), system_random()};
  static_assert(sizeof words == sizeof request_);
  std::memcpy(request_.data(), words.data(), sizeof words);
  open_ = true;
  to_models_ = !model_.empty() || wire::is_about_models(message.index());
  const Status sent = transmit({request_, std::move(message)});
  if (sent.ok()) return;
  const bool later = sent.error().code == ErrorCode::kUnavailable;
  deliver(request_, wire::ErrorReply{sent.error(), later ? kRetryAfterMs : 0});
}

Status Exchange::transmit(const wire::Envelope& envelope) {
  ASSIGN_OR_RETURN(wire::Frames frames, wire::encode(envelope));
  // decode() also checks what a request may ask for, as for messages that clients send themselves.
  const auto readable = wire::decode(frames);
  if (!readable.ok()) return readable.error();
  frames.insert(frames.begin(), route_);
  const bool sent = to_models_ ? link_.models_.send(tenant_, for_models(model_, std::move(frames)))
                               : link_.ports_.send(tenant_, frames);
  if (sent) return {};
  return unreachable();
}

void Exchange::deliver(const wire::RequestId& id, wire::Message&& message) {
  if (!open_ || id != request_) return;
  if (!wire::is_on_the_way(message.index())) open_ = false;
  if (std::holds_alternative<wire::Progress>(message) && !inbox_.empty()) return;
  if (auto* delta = std::get_if<wire::Delta>(&message)) {
    inbox_bytes_ += delta->text.size();
    auto* last = inbox_.empty() ? nullptr : std::get_if<wire::Delta>(&inbox_.back());
    if (last != nullptr && last->reasoning == delta->reasoning) {
      last->text += delta->text;
    } else {
      inbox_.push_back(std::move(message));
    }
    if (inbox_bytes_ > kInboxBytesMax) abandon();
  } else {
    inbox_.push_back(std::move(message));
  }
  wake();
}

void Exchange::wake() {
  wake_.cancel();
  if (also_wakes_ != nullptr) also_wakes_->cancel();
}

Task<std::optional<wire::Message>> Exchange::next() {
  while (inbox_.empty() && !abandoned_) {
    wake_.expires_at(asio::steady_timer::time_point::max());
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return take();
}

std::optional<wire::Message> Exchange::take() {
  if (abandoned_ || inbox_.empty()) return std::nullopt;
  wire::Message message = std::move(inbox_.front());
  inbox_.pop_front();
  if (const auto* delta = std::get_if<wire::Delta>(&message)) inbox_bytes_ -= delta->text.size();
  return message;
}

Task<std::optional<wire::Message>> Exchange::call(wire::Message message) {
  send(std::move(message));
  while (true) {
    std::optional<wire::Message> answer = co_await next();
    if (!answer || !wire::is_on_the_way(answer->index())) co_return answer;
  }
}

void Exchange::abandon() {
  abandoned_ = true;
  wake();
}

SchedulerLink::SchedulerLink(asio::io_context& io, ZmqContext& context, uint64_t incarnation,
                             std::function<void()> on_stop,
                             std::function<void(const std::exception_ptr&)> on_failure)
    : io_(io),
      ports_(io, context, TenantPorts::Upstream::kScheduler, Door::kHttp, incarnation),
      models_(io, context, TenantPorts::Upstream::kModels, Door::kHttp, incarnation),
      on_stop_(std::move(on_stop)),
      on_failure_(std::move(on_failure)) {}

void SchedulerLink::add_tenant(const std::string& tenant) {
  const auto on_end = [this](const std::exception_ptr& error) {
    if (error) on_failure_(error);
  };
  if (models_.add(tenant)) asio::co_spawn(io_, run_models(tenant), on_end);
  if (!ports_.add(tenant)) return;
  asio::co_spawn(io_, run(tenant), on_end);
  asio::co_spawn(io_, watch(tenant), on_end);
}

Task<> SchedulerLink::run(std::string tenant) {
  while (true) {
    std::optional<wire::Frames> frames = co_await ports_.recv(tenant);
    if (!frames) co_return;
    if (frames->front().empty()) {  // Stop is the only message for us
      on_stop_();
    } else {
      deliver(*frames);
    }
  }
}

Task<> SchedulerLink::run_models(std::string tenant) {
  while (true) {
    const std::optional<wire::Frames> frames = co_await models_.recv(tenant);
    if (!frames) co_return;
    deliver(*frames);
  }
}

// frames: [route][message…].
void SchedulerLink::deliver(const wire::Frames& frames) {
  auto envelope = wire::decode(std::span(frames).subspan(1));
  if (!envelope.ok()) throw std::runtime_error("an answer: " + envelope.error().to_string());
  const auto exchange = exchanges_.find(frames.front());
  if (exchange == exchanges_.end()) return;
  exchange->second->deliver(envelope->request, std::move(envelope->message));
}

void SchedulerLink::close() {
  ports_.close();
  models_.close();
}

Task<> SchedulerLink::watch(std::string tenant) {
  try {
    co_await ports_.watch(tenant);
  } catch (const std::runtime_error&) {
    fail_all();
    throw;
  }
}

void SchedulerLink::fail_all() {
  for (const auto& [route, exchange] : exchanges_) {
    exchange->deliver(exchange->request_, wire::ErrorReply{unreachable(), kRetryAfterMs});
  }
}

}  // namespace cascade
