// What cascadectl prints about changes to chunks, against a fake daemon.
#include "clients/ctl/chunk_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "clients/ctl/run.h"
#include "tests/clients/chat_daemon.h"

namespace cascade::ctl {
namespace {

using client::testing::FakeDaemon;
using client::testing::TempFolder;

const std::string kChunkId = "chunk_00000001";

Holder holder_of(HolderKind kind, const std::string& label = {}) {
  return {.kind = kind, .label = label, .pinned = kind == HolderKind::kPin};
}

// A daemon that answers every change in one way.
class ChangesOfChunks : public ::testing::Test {
 protected:
  void answer(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    wire::ChunkReply answer = answer_;
    answer.chunk.id = kChunkId;
    if (std::holds_alternative<wire::ChunkGet>(envelope.message)) answer = {answer.chunk};
    reply(answer);
  }
  std::string deleted() {
    EXPECT_EQ(run_chunk_delete(client_, screen_, {kChunkId}, {}), kExitOk);
    return printed();
  }
  std::string unpinned() {
    wire::ChunkUpdate unpin;
    unpin.pinned = false;
    EXPECT_EQ(run_chunk_update(client_, screen_, {kChunkId}, unpin), kExitOk);
    return printed();
  }
  std::string printed() {
    const std::string text = out_.str();
    out_.str("");
    return text;
  }

  TempFolder folder_;
  wire::ChunkReply answer_;
  FakeDaemon daemon_{folder_.endpoint(),
                     [this](const auto& message, const auto& reply) { answer(message, reply); }};
  client::Client client_ = *client::Client::connect(folder_.endpoint());
  std::ostringstream out_;
  std::ostringstream err_;
  Screen screen_{out_, err_, Style(false)};
};

TEST_F(ChangesOfChunks, a_delete_says_what_ended_and_who_holds_the_chunk_still) {
  answer_.ended = {holder_of(HolderKind::kRetention)};
  answer_.chunk.holders = {holder_of(HolderKind::kName, "x\x1b[2J"), holder_of(HolderKind::kPin)};
  EXPECT_EQ(deleted(), "given up " + kChunkId +
                           "; ended: a retention; it is still held by the name \"x␛[2J\", a pin\n");
  screen_.json = true;
  const Json json = Json::parse(deleted());
  EXPECT_EQ(json["given_up"], kChunkId);
  EXPECT_EQ(json["gone"], false);
  EXPECT_EQ(json["ended"][0]["kind"], "retention");
  EXPECT_EQ(json["holders"].size(), 2u);
}

TEST_F(ChangesOfChunks, a_delete_says_that_the_chunk_is_gone) {
  EXPECT_EQ(deleted(), "deleted " + kChunkId + "\n") << "by a daemon that tells nothing more";
  answer_.ended = {holder_of(HolderKind::kRetention), holder_of(HolderKind::kRequest)};
  answer_.gone = true;
  EXPECT_EQ(deleted(),
            "deleted " + kChunkId + "; ended: a retention, a request that brought it along\n");
  screen_.json = true;
  const Json json = Json::parse(deleted());
  EXPECT_EQ(json["deleted"], kChunkId);
  EXPECT_EQ(json["gone"], true);
  EXPECT_EQ(json["ended"].size(), 2u);
}

TEST_F(ChangesOfChunks, an_unpin_says_what_pins_the_chunk_still) {
  Holder retention = holder_of(HolderKind::kRetention);
  retention.pinned = true;
  answer_.ended = {holder_of(HolderKind::kPin)};
  answer_.chunk.holders = {retention, holder_of(HolderKind::kName, "x")};
  EXPECT_EQ(unpinned(), kChunkId +
                            " (ended: a pin; held by a retention, pinned, the name \"x\")"
                            "; still pinned by a retention: unpin it again\n");
  retention.count = 2;
  answer_.ended.clear();
  answer_.chunk.holders = {retention, holder_of(HolderKind::kPin)};
  EXPECT_EQ(unpinned(), kChunkId + "; still pinned by 2 retentions, a pin: unpin it again\n");
}

TEST_F(ChangesOfChunks, an_unpin_that_ends_the_chunk_says_so) {
  answer_.chunk.holders = {holder_of(HolderKind::kName, "x")};
  EXPECT_EQ(unpinned(), kChunkId + "\n");
  answer_.ended = {holder_of(HolderKind::kPin)};
  EXPECT_EQ(unpinned(), kChunkId + " (ended: a pin; held by the name \"x\")\n");
  answer_.chunk.holders.clear();
  answer_.ended.push_back(holder_of(HolderKind::kName, "x"));
  answer_.gone = true;
  EXPECT_EQ(unpinned(), kChunkId + " is gone (ended: a pin, the name \"x\")\n");
  screen_.json = true;
  const Json json = Json::parse(unpinned());
  EXPECT_EQ(json["id"], kChunkId);
  EXPECT_EQ(json["gone"], true);
  EXPECT_EQ(json["ended"][1]["label"], "x");
}

}  // namespace
}  // namespace cascade::ctl
