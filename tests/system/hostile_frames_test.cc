// Messages that no client library sends: every malformed message is answered once, and the daemon
// continues to serve.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zmq.h>

#include <fstream>

#include "base/random.h"
#include "clients/cpp/client.h"
#include "tests/long_tests.h"
#include "tests/seed.h"
#include "tests/system/process.h"
#include "tests/wire/random_message.h"
#include "wire/frames.h"

namespace cascade {
namespace {

using testing::DaemonProcess;
using testing::ScratchDir;

// A DEALER without any knowledge of the protocol.
class RawSocket {
 public:
  explicit RawSocket(const std::string& endpoint)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_DEALER)) {
    const int linger = 0, timeout_ms = 60'000;
    zmq_setsockopt(socket_, ZMQ_LINGER, &linger, sizeof linger);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
  }
  ~RawSocket() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  void send(const wire::Frames& frames) {
    for (size_t i = 0; i < frames.size(); ++i) {
      const int flags = i + 1 < frames.size() ? ZMQ_SNDMORE : 0;
      ASSERT_GE(zmq_send(socket_, frames[i].data(), frames[i].size(), flags), 0);
    }
  }
  std::optional<wire::Envelope> receive() {
    wire::Frames frames;
    for (bool more = true; more;) {
      zmq_msg_t message;
      zmq_msg_init(&message);
      if (zmq_msg_recv(&message, socket_, 0) < 0) return std::nullopt;
      frames.emplace_back(static_cast<char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
      more = zmq_msg_more(&message) != 0;
      zmq_msg_close(&message);
    }
    auto envelope = wire::decode(frames);
    return envelope.ok() ? std::optional(*std::move(envelope)) : std::nullopt;
  }

 private:
  void* context_;
  void* socket_;
};

// The next answer must be an error.
void expect_error(RawSocket& socket, const char* what) {
  const auto answer = socket.receive();
  ASSERT_TRUE(answer.has_value()) << what << ": no answer";
  EXPECT_TRUE(std::holds_alternative<wire::ErrorReply>(answer->message)) << what;
}

void expect_serving(const DaemonProcess& daemon) {
  auto client = client::Client::connect(daemon.endpoint(), {.timeout_ms = 60'000});
  ASSERT_TRUE(client.ok()) << client.error().to_string() << daemon.log();
  wire::GenerateRequest request;
  request.chunks = {{ChunkType::kQuery, "", "What is the capital of France?"}};
  request.sampling.temperature = 0;
  auto answer = client->generate(request);
  // Damaged requests that are still valid fill the queue for a while.
  const auto is_no_refusal = [&] {
    if (!answer.ok()) answer = client->generate(request);
    return answer.ok() || answer.error().code != ErrorCode::kResourceExhausted;
  };
  EXPECT_TRUE(testing::wait_until(is_no_refusal));
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->text, "The capital of France is Paris.");
  const auto status = client->status();
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(status->actors_restarted.empty());
}

wire::Frames valid(wire::Message message) {
  return *wire::encode({{1, 2, 3}, std::move(message)});
}

TEST(HostileFrames, malformed_messages_are_answered_one_by_one) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  RawSocket socket(daemon.endpoint());
  const wire::Frames ping = valid(wire::Ping{});

  const std::vector<std::pair<const char*, wire::Frames>> cases = {
      {"one empty frame", {""}},
      {"text", {"hello"}},
      {"no request id", {ping[0]}},
      {"short request id", {ping[0], "abc", ping[2]}},
      {"no body", {ping[0], ping[1]}},
      {"another magic", {"GET / HT", ping[1], ping[2]}},
      {"another version", {std::string("CAS1\x09\x00\x00\x00", 8), ping[1], ping[2]}},
      {"unknown type", {std::string("CAS1\x01\xFA\x00\x00", 8), ping[1], ping[2]}},
      {"body that is no MessagePack", {ping[0], ping[1], "\xC1\xC1"}},
      {"a message for actors", valid(wire::Stop{})},
      {"another message for actors", valid(wire::PrefillDone{})},
      {"a greeting from no actor", valid(wire::ActorHello{"prefill", 2})},
      {"unknown chunk", valid(wire::ChunkGet{"chunk_ffffffffffffffff"})},
      {"nothing to cancel", valid(wire::CancelRequest{})},
      {"a frame beyond the limit",
       {ping[0], ping[1], std::string(wire::kMessageBytesMax + 1, 'x')}},
      {"frames beyond the limit together",
       {ping[0], ping[1], ping[2], std::string(wire::kMessageBytesMax, 'x')}},
      {"empty generation", valid(wire::GenerateRequest{})},
  };
  for (const auto& [what, frames] : cases) {
    socket.send(frames);
    expect_error(socket, what);
  }
  socket.send(ping);
  const auto pong = socket.receive();
  ASSERT_TRUE(pong.has_value());
  EXPECT_TRUE(std::holds_alternative<wire::Pong>(pong->message));
  expect_serving(daemon);
}

TEST(HostileFrames, random_damage_never_ends_service) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Random random(testing::test_seed());
  RawSocket socket(daemon.endpoint());
  wire::GenerateRequest request;
  request.chunks = {{ChunkType::kSystemPrompt, "", "Be brief."}, {ChunkType::kQuery, "", "Hi"}};
  request.max_tokens = 1;
  const std::vector<wire::Frames> seeds = {
      valid(request), valid(wire::ChunkPut{ChunkType::kContext, "text"}),
      valid(wire::ChunkListRequest{}), valid(wire::CancelRequest{})};
  for (int i = 0; i < 2000; ++i) {
    wire::Frames frames = seeds[random.below(seeds.size())];
    for (uint64_t change = 1 + random.below(4); change > 0; --change) {
      wire::Frame& frame = frames[random.below(frames.size())];
      if (frame.empty()) continue;
      frame[random.below(frame.size())] = static_cast<char>(random());
    }
    if (random.below(8) == 0) frames.pop_back();
    if (random.below(8) == 0) frames.push_back(std::string(random.below(64), 'z'));
    if (frames.empty()) continue;
    socket.send(frames);
  }
  expect_serving(daemon);
}

// Resident memory of a process, in bytes.
int64_t resident_bytes(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/statm");
  int64_t size = 0, resident = 0;
  status >> size >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// False for requests that may mean much work even when damaged: this test is about the frames.
bool is_cheap(const wire::Message& message) {
  return !std::holds_alternative<wire::GenerateRequest>(message) &&
         !std::holds_alternative<wire::PrefixCache>(message) &&
         !std::holds_alternative<wire::FsckRequest>(message) &&
         !std::holds_alternative<wire::BackupRequest>(message);
}

wire::Frames hostile_frames(Random& random) {
  if (random.below(4) == 0) {
    wire::Frames frames(1 + random.below(6));
    for (wire::Frame& frame : frames) frame = wire::testing::random_bytes(random, 64);
    return frames;
  }
  wire::Envelope envelope = wire::testing::random_envelope(random);
  while (!is_cheap(envelope.message)) envelope = wire::testing::random_envelope(random);
  wire::Frames frames = *wire::encode(envelope);
  for (uint64_t n = random.below(4); n > 0 && !frames.empty(); --n) {
    wire::testing::damage(random, frames);
  }
  if (frames.empty()) frames.emplace_back();
  return frames;
}

TEST(HostileFrames, however_many_they_are_end_nothing_and_take_no_memory) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Random random(testing::test_seed());
  constexpr int kConnections = 20;
  const int frames = testing::long_or(5'000, 1'000);
  // Chunks of random texts take memory of their own; the first connections show how much that is.
#ifdef __SANITIZE_ADDRESS__
  constexpr int64_t kGrowthBytesMax = int64_t{512} << 20;  // freed memory stays for a while
#else
  constexpr int64_t kGrowthBytesMax = int64_t{64} << 20;
#endif
  int64_t early_bytes = 0;
  for (int connection = 0; connection < kConnections; ++connection) {
    RawSocket socket(daemon.endpoint());
    for (int i = 0; i < frames; ++i) socket.send(hostile_frames(random));
    socket.send(valid(wire::Ping{}));
    while (true) {
      const auto answer = socket.receive();
      ASSERT_TRUE(answer.has_value()) << daemon.log();
      if (std::holds_alternative<wire::Pong>(answer->message) &&
          answer->request == wire::RequestId{1, 2, 3}) {
        break;
      }
    }
    if (connection == kConnections / 4) early_bytes = resident_bytes(daemon.pid());
  }
  // How much freed memory malloc keeps depends on the machine.
  if (testing::long_tests()) {
    EXPECT_LT(resident_bytes(daemon.pid()), early_bytes + kGrowthBytesMax);
  }
  expect_serving(daemon);
}

}  // namespace
}  // namespace cascade
