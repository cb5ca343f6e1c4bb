// A REP socket at the endpoint that the RFC names.
#include "actors/zap_handler.h"

#include <spdlog/spdlog.h>

#include <stdexcept>

#include "wire/curve/key_pair.h"

namespace cascade {
namespace {

constexpr char kZapEndpoint[] = "inproc://zeromq.zap.01";
constexpr char kVersion[] = "1.0";
constexpr size_t kCurveKeyBytes = 32;

// Frames of a question: version, request id, domain, address, identity, mechanism, credentials.
constexpr size_t kRequestId = 1, kDomain = 2, kAddress = 3, kMechanism = 5, kCredentials = 6;
constexpr size_t kQuestionFrames = 7;

}  // namespace

wire::Frames zap_answer(const wire::Frames& question,
                        const std::function<bool(const std::string&)>& allowed) {
  if (question.size() < kCredentials || question[0] != kVersion) return {};
  const std::string& id = question[kRequestId];
  if (question[kDomain] == kOpenZapDomain && question[kMechanism] == "NULL") {
    return {kVersion, id, "200", "OK", "", ""};
  }
  const bool known = question.size() == kQuestionFrames && question[kDomain] == kZapDomain &&
                     question[kMechanism] == "CURVE" &&
                     question[kCredentials].size() == kCurveKeyBytes;
  const std::string key = known ? curve::key_of_bytes(question[kCredentials]) : "";
  if (known && allowed(key)) return {kVersion, id, "200", "OK", key, ""};
  return {kVersion, id, "400", "this key is not allowed", "", ""};
}

ZapHandler::ZapHandler(asio::io_context& io, ZmqContext& context,
                       std::function<bool(const std::string&)> allowed)
    : port_(io, context, {.type = ZMQ_REP, .routing_id = {}}), allowed_(std::move(allowed)) {
  const Status bound = port_.bind(kZapEndpoint);
  if (!bound.ok()) throw std::runtime_error(bound.error().to_string());
}

Task<> ZapHandler::run() {
  while (true) {
    const std::optional<wire::Frames> question = co_await port_.recv();
    if (!question) co_return;
    const wire::Frames answer = zap_answer(*question, allowed_);
    if (answer.empty()) throw std::runtime_error("libzmq sent a request that is not ZAP 1.0");
    if (answer[2] != "200")
      spdlog::debug("a client at {} has no allowed key", (*question)[kAddress]);
    port_.send(answer);
  }
}

}  // namespace cascade
