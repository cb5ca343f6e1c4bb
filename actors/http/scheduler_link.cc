// Routes are numbers that are never used again, so a late answer finds nobody.
#include "actors/http/scheduler_link.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "base/check.h"
#include "base/random.h"

namespace cascade {
namespace {

// What may wait for a client that reads slowly. Deltas are joined, so it is its answer's text: a
// context of a million tokens is some 5 MiB.
constexpr size_t kInboxBytesMax = size_t{16} << 20;

bool ends_request(const wire::Message& message) {
  return !std::holds_alternative<wire::Accepted>(message) &&
         !std::holds_alternative<wire::Progress>(message) &&
         !std::holds_alternative<wire::Delta>(message);
}

const Error& unreachable() {
  static const Error error = {ErrorCode::kUnavailable, "",
                              "the scheduler is not ready or was restarted; try again"};
  return error;
}

constexpr int64_t kRetryAfterMs = 1000;

}  // namespace

Exchange::Exchange(SchedulerLink& link, std::string tenant)
    : link_(link),
      tenant_(std::move(tenant)),
      route_(std::to_string(link.next_route_++)),
      wake_(link.io_) {
  link_.exchanges_[route_] = this;
  wake_.expires_at(asio::steady_timer::time_point::max());
}

Exchange::~Exchange() {
  link_.exchanges_.erase(route_);
  if (open_) (void)link_.send(tenant_, route_, {{}, wire::ClientGone{}});
}

void Exchange::send(wire::Message message) {
  const std::array<uint64_t, 2> words = {system_random(), system_random()};
  static_assert(sizeof words == sizeof request_);
  std::memcpy(request_.data(), words.data(), sizeof words);
  open_ = true;
  const Status sent = link_.send(tenant_, route_, {request_, std::move(message)});
  if (sent.ok()) return;
  const bool later = sent.error().code == ErrorCode::kUnavailable;
  deliver(request_, wire::ErrorReply{sent.error(), later ? kRetryAfterMs : 0});
}

void Exchange::deliver(const wire::RequestId& id, wire::Message&& message) {
  if (!open_ || id != request_) return;
  if (ends_request(message)) open_ = false;
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
  wake_.cancel();
}

Task<std::optional<wire::Message>> Exchange::next() {
  while (inbox_.empty() && !abandoned_) {
    wake_.expires_at(asio::steady_timer::time_point::max());
    boost::system::error_code woken;
    co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (abandoned_) co_return std::nullopt;
  wire::Message message = std::move(inbox_.front());
  inbox_.pop_front();
  if (const auto* delta = std::get_if<wire::Delta>(&message)) inbox_bytes_ -= delta->text.size();
  co_return message;
}

Task<std::optional<wire::Message>> Exchange::call(wire::Message message) {
  send(std::move(message));
  while (true) {
    std::optional<wire::Message> answer = co_await next();
    if (!answer || ends_request(*answer)) co_return answer;
  }
}

void Exchange::abandon() {
  abandoned_ = true;
  wake_.cancel();
}

SchedulerLink::SchedulerLink(asio::io_context& io, ZmqContext& context,
                             const std::set<std::string>& tenants, uint64_t incarnation)
    : io_(io), ports_(io, context, Door::kHttp, tenants, incarnation) {}

Status SchedulerLink::send(const std::string& tenant, const std::string& route,
                           const wire::Envelope& envelope) {
  wire::Frames frames = wire::encode(envelope);
  // As of a client's own message: the scheduler takes it for granted that it can be read.
  const auto readable = wire::decode(frames);
  if (!readable.ok()) return readable.error();
  frames.insert(frames.begin(), route);
  if (ports_.send(tenant, frames)) return {};
  return unreachable();
}

Task<> SchedulerLink::run(const std::string& tenant, std::function<void()> on_stop) {
  while (true) {
    std::optional<wire::Frames> frames = co_await ports_.recv(tenant);
    if (!frames) co_return;
    const std::string route = frames->front();
    auto envelope = wire::decode(std::span(*frames).subspan(1));
    CHECK(envelope.ok());
    if (route.empty()) {  // Stop is the only message for us
      on_stop();
      continue;
    }
    const auto exchange = exchanges_.find(route);
    if (exchange == exchanges_.end()) continue;
    exchange->second->deliver(envelope->request, std::move(envelope->message));
  }
}

Task<> SchedulerLink::watch(const std::string& tenant) {
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
