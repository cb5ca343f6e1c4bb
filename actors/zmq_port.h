// A ZeroMQ socket that coroutines of one io_context receive from.
#pragma once

#include <zmq.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/asio.h"
#include "actors/door_guests.h"
#include "base/result.h"
#include "wire/frames.h"

namespace cascade {

// Owns a ZeroMQ context. Destroyed after every port: its destructor waits for their sockets.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* get() const { return context_; }

  // Any thread. From now on, a socket that is still connecting to an inproc endpoint that nobody
  // has bound waits in vain.
  void end_binding() { binding_ended_ = true; }
  bool binding_ended() const { return binding_ended_; }

  // Ends the context, for a process that ends without its destructor. Waits at most `limit` until
  // everything sent has left, or its sockets have lingered. False if that takes longer; it then
  // continues in the background. Precondition: every port has been destroyed. Nobody may use the
  // context again.
  bool end_within(std::chrono::milliseconds limit);

 private:
  void* context_;
  std::atomic<bool> binding_ended_{false};
};

// The domain of our CURVE sockets; libzmq asks the ZapHandler about them.
inline constexpr char kZapDomain[] = "cascade";
// The domain of our other doors, where the ZapHandler, if there is one, lets everybody in. They
// have a domain because a socket with one does not speak ZMTP 1.0 and 2.0: libzmq 4.3.4 ends the
// process when a client speaks these while the socket is being closed (zmtp_engine.cpp,
// process_routing_id_msg).
inline constexpr char kOpenZapDomain[] = "cascade-open";

enum class SendResult {
  kSent,
  kFull,  // the receiver's queue is full; nothing was sent
  kGone,  // there is no such receiver (ROUTER only)
};

// One thread: that of its io_context. One coroutine receives at a time.
class ZmqPort {
 public:
  // The largest frame from a client, in bytes. A frame beyond the limit of a message, but not
  // beyond this, gets an error that says so; libzmq ends the connection of a client that sends a
  // larger one.
  static constexpr int64_t kClientFrameBytesMax = 2 * static_cast<int64_t>(wire::kMessageBytesMax);

  struct Options {
    int type = ZMQ_DEALER;
    std::string routing_id;         // DEALER: the name by which a ROUTER knows it; empty: generated
    int queue_messages_max = 1000;  // each way
    int64_t message_bytes_max = static_cast<int64_t>(wire::kMessageBytesMax);  // of one frame
    bool replace_peer = false;  // ROUTER: a new peer of the same name takes over (ours restart)
    int linger_ms = 0;          // how long sent messages may linger after the port has closed
    bool heartbeats = false;    // find dead peers on ipc and tcp within 15 s
    bool watch_peers = false;   // watch_peers() will be called
    // The most connections at once, 0: any number; needs watch_peers. A full ROUTER ends the
    // connection that has been idle for longest; other sockets turn new connections away.
    size_t connections_max = 0;
    // Gives the tenant of a client, by its user_id(). The tenant with the most connections loses
    // one first.
    std::function<std::string(const std::string&)> tenant_of = {};
    // Z85. If not empty, the port is a CURVE server, whose clients a ZapHandler lets in. Without a
    // ZapHandler libzmq lets in everybody, with an empty user_id().
    std::string curve_secret_key = {};
  };

  // Throws std::runtime_error if the system has no more sockets.
  ZmqPort(asio::io_context& io, ZmqContext& context, const Options& options);
  // Precondition: close() was called and recv() has returned, or the io_context no longer runs.
  ~ZmqPort();
  ZmqPort(const ZmqPort&) = delete;
  ZmqPort& operator=(const ZmqPort&) = delete;

  // Errors: kIo with the endpoint as field. With connections_max, a tcp endpoint must be
  // ADDRESS:PORT, and at an ipc endpoint an existing socket file is replaced; the new file remains
  // after the end.
  Status bind(const std::string& endpoint);
  // Does the same with a socket that is already bound to the endpoint and listens. ZeroMQ takes a
  // duplicate of the descriptor, and does not remove the socket's file at the end.
  Status adopt(const std::string& endpoint, int descriptor);
  Status connect(const std::string& endpoint);

  // The next message; the first frame names the peer if this is a ROUTER. Of a message with more
  // than wire::kFrameCountMax + 2 frames, the excess frames are dropped. nullopt after close().
  // Throws std::runtime_error if the context was shut down.
  Task<std::optional<wire::Frames>> recv();
  // Returns true when a message is there, without taking it; false after close().
  Task<bool> wait();
  // The next message if there is one. Only between calls of recv().
  std::optional<wire::Frames> try_recv();
  // Whether a message is there, or recv() would throw. Does not throw. Only between calls of
  // recv().
  bool has_message();

  // The sender's public key, as the ZapHandler has it, of the message that recv() or try_recv()
  // returned last; empty without CURVE.
  const std::string& user_id() const { return user_id_; }

  // Never waits.
  SendResult send(const wire::Frames& frames);

  // Whether a message could be sent now: somebody is connected, or will be, and has room.
  bool has_peer();

  // Calls `on_gone` with the name of every peer that has sent something and whose connection has
  // ended, once everything that it sent was received. Enforces connections_max. Precondition:
  // options.watch_peers; the port listens on ipc or tcp. Returns after close().
  Task<> watch_peers(std::function<void(const std::string&)> on_gone);
  // Says whether the peer waits for an answer. A waiting peer keeps its connection. Precondition:
  // as for watch_peers().
  void set_busy(const std::string& peer, bool busy) { guests_->set_busy(peer, busy); }

  // Ends recv() and watch_peers(). Idempotent.
  void close();

 private:
  void set_curve(const std::string& secret_key);
  Status bind_socket(const std::string& endpoint);
  Status give_listener(const std::string& endpoint, int descriptor);
  void start_monitor(ZmqContext& context);
  void note_connection(const char* connection, const std::string& peer);
  void take_events();
  void report_gone();
  SendResult try_send(const wire::Frames& frames);
  std::optional<int> try_events();
  int events();
  Task<> wait_for_edge();
  bool readable() { return (events() & ZMQ_POLLIN) != 0; }
  void set(int option, int value);
  void set(int option, const std::string& text);

  asio::io_context& io_;
  std::unique_ptr<void, int (*)(void*)> socket_;
  std::optional<asio::posix::stream_descriptor> descriptor_;
  bool closed_ = false;
  uint32_t burst_ = 0;
  bool curve_ = false;
  std::string user_id_;
  const size_t connections_max_;
  const std::function<std::string(const std::string&)> tenant_of_;
  // Used by watch_peers().
  std::unique_ptr<ZmqPort> monitor_;
  std::optional<DoorGuests> guests_;
  std::function<void(const std::string&)> on_gone_;
};

}  // namespace cascade
