// Tells libzmq which clients may connect (ZeroMQ RFC 27, ZAP 1.0).
#pragma once

#include <functional>
#include <string>

#include "actors/zmq_port.h"

namespace cascade {

// One thread. A ZmqContext has one handler, which must be made before the first socket with CURVE
// is bound.
class ZapHandler {
 public:
  // `allowed` tells whether clients with this public key (Z85) may connect. Their messages carry
  // the key (ZmqPort::user_id). Throws std::runtime_error if the context has a handler.
  ZapHandler(asio::io_context& io, ZmqContext& context,
             std::function<bool(const std::string&)> allowed);

  // Answers until close().
  Task<> run();
  void close() { port_.close(); }

 private:
  ZmqPort port_;
  const std::function<bool(const std::string&)> allowed_;
};

// The answer to a question of libzmq; empty if `question` is not one.
wire::Frames zap_answer(const wire::Frames& question,
                        const std::function<bool(const std::string&)>& allowed);

}  // namespace cascade
