// A daemon for tests of clients: a ROUTER on an ipc socket in its own folder. It answers on its own
// thread, as the test says.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "tests/temporary_folder.h"
#include "wire/frames.h"

namespace cascade::client::testing {

// A folder with a place for a daemon's socket.
class TempFolder : public cascade::testing::TemporaryFolder {
 public:
  std::string endpoint() const { return "ipc://" + (path() / "cascaded.sock").string(); }
};

class FakeDaemon {
 public:
  // Sends answers to the client that asked.
  class Reply {
   public:
    Reply(FakeDaemon& daemon, std::string client, const wire::RequestId& request)
        : daemon_(daemon), client_(std::move(client)), request_(request) {}
    // Answers the request for which this object was made.
    void operator()(wire::Message message) const { to(request_, std::move(message)); }
    // Answers an earlier request of the same client.
    void to(const wire::RequestId& request, wire::Message message) const {
      daemon_.send(client_, *wire::encode({request, std::move(message)}));
    }

   private:
    FakeDaemon& daemon_;
    std::string client_;
    wire::RequestId request_;
  };
  // Called on the daemon's thread for every message but Ping.
  using Handler = std::function<void(const wire::Envelope&, const Reply&)>;

  FakeDaemon(std::string endpoint, Handler handler, std::string boot_id = "boot_1")
      : handler_(std::move(handler)), boot_id_(std::move(boot_id)) {
    router_.set(zmq::sockopt::linger, 0);
    router_.bind(endpoint);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDaemon() {
    stop_ = true;
    thread_.join();
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  // How the daemon handles Pings from now on: the boot id in its answers, and whether it answers at
  // all.
  void set_boot_id(const std::string& boot_id) {
    const std::lock_guard lock(mutex_);
    boot_id_ = boot_id;
  }
  void set_answers_pings(bool answers) { answers_pings_ = answers; }
  // The answers to the next Pings, which say that the daemon loads its model. Call it before a
  // client comes.
  void set_loading(std::vector<wire::Loading> loading) {
    const std::lock_guard lock(mutex_);
    loading_.assign(loading.begin(), loading.end());
  }
  // Called on the daemon's thread for each Ping with the Ping's number. Set before the client
  // pings.
  void on_ping(std::function<void(int)> callback) {
    const std::lock_guard lock(mutex_);
    on_ping_ = std::move(callback);
  }
  // Sends bytes that are not a message to the client that asked last.
  void send_garbage_to_next() { garbage_ = true; }
  std::vector<wire::Envelope> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  void serve() {
    std::array<zmq::pollitem_t, 1> items = {{{router_.handle(), 0, ZMQ_POLLIN, 0}}};
    while (!stop_) {
      // A signal may interrupt the poll: a test that changes the user sends one to every thread.
      (void)zmq_poll(items.data(), static_cast<int>(items.size()), 5);
      while (receive_one()) {
      }
    }
    router_.close();
  }

  bool receive_one() {
    zmq::message_t part;
    if (!router_.recv(part, zmq::recv_flags::dontwait)) return false;
    const std::string client = part.to_string();
    wire::Frames frames;
    while (part.more()) {
      (void)router_.recv(part);
      frames.push_back(part.to_string());
    }
    const Result<wire::Envelope> envelope = wire::decode(frames);
    if (!envelope.ok()) {
      send(client,
           *wire::encode({wire::peek_request_id(frames), wire::ErrorReply{envelope.error(), 0}}));
      return true;
    }
    answer(client, *envelope);
    return true;
  }

  void answer(const std::string& client, const wire::Envelope& envelope) {
    if (std::holds_alternative<wire::Ping>(envelope.message)) {
      const std::lock_guard lock(mutex_);
      if (on_ping_) on_ping_(++pings_);
      if (!loading_.empty()) {
        wire::ErrorReply reply{{ErrorCode::kUnavailable, "loading", "it is loading"}, 1};
        reply.loading = loading_.front();
        loading_.pop_front();
        return send(client, *wire::encode({envelope.request, std::move(reply)}));
      }
      if (!answers_pings_) return;
      return send(client, *wire::encode({envelope.request, wire::Pong{boot_id_, "test"}}));
    }
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(envelope);
    }
    if (garbage_.exchange(false)) return send(client, {"garbage"});
    handler_(envelope, Reply(*this, client, envelope.request));
  }

  void send(const std::string& client, const wire::Frames& frames) {
    (void)router_.send(zmq::buffer(client), zmq::send_flags::sndmore);
    for (size_t i = 0; i < frames.size(); ++i) {
      const bool last = i + 1 == frames.size();
      (void)router_.send(zmq::buffer(frames[i]),
                         last ? zmq::send_flags::none : zmq::send_flags::sndmore);
    }
  }

  Handler handler_;
  mutable std::mutex mutex_;
  std::string boot_id_;
  std::function<void(int)> on_ping_;
  int pings_ = 0;
  std::deque<wire::Loading> loading_;
  std::vector<wire::Envelope> received_;
  std::atomic<bool> answers_pings_{true};
  std::atomic<bool> garbage_{false};
  std::atomic<bool> stop_{false};
  zmq::context_t context_{1};
  zmq::socket_t router_{context_, zmq::socket_type::router};
  std::thread thread_;
};

// A handler for a daemon that never answers.
inline void ignore(const wire::Envelope&, const FakeDaemon::Reply&) {}

// The error's text, or "none".
template <class T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "none" : result.error().to_string();
}

}  // namespace cascade::client::testing
