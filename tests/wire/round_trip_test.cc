// Every message survives encode() and decode(), and every member of every struct travels.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/long_tests.h"
#include "tests/wire/random_message.h"

namespace cascade::wire {
namespace {

using testing::dump;
using testing::RandomFill;

constexpr size_t kTypes = std::variant_size_v<AnyMessage>;

TEST(Frames, every_message_round_trips) {
  Random random(testing::test_seed());
  const int rounds = cascade::testing::long_or(300, 60);
  for (size_t type = 0; type < kTypes; ++type) {
    for (int i = 0; i < rounds; ++i) {
      const Envelope sent = testing::random_envelope(random, type);
      const Frames frames = *encode(sent);
      const Result<Envelope> received = decode(frames);
      ASSERT_TRUE(received.ok()) << received.error().to_string() << "\n" << dump(sent.message);
      ASSERT_EQ(received->request, sent.request);
      ASSERT_EQ(dump(received->message), dump(sent.message));
      ASSERT_EQ(received->model, sent.model);
      ASSERT_EQ(*encode(*received), frames);
    }
  }
}

// How many members an aggregate has.
struct Anything {
  template <class T>
  requires(!std::same_as<T, std::nullopt_t>) operator T() const {  // NOLINT: implicit
    std::abort();                                                  // nobody calls it
  }
};

template <class T, class... Members>
constexpr size_t member_count() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return member_count<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

template <class T>
void expect_all_members_visited(const char* name) {
  Random random(1);
  RandomFill archive(random);
  T value;
  fields(archive, value);
  EXPECT_EQ(archive.visited(), member_count<T>()) << name;
}

#define EXPECT_ALL_MEMBERS(type) expect_all_members_visited<type>(#type)

TEST(Frames, every_member_of_every_struct_is_a_field) {
  EXPECT_ALL_MEMBERS(Chunk);
  EXPECT_ALL_MEMBERS(Error);
  EXPECT_ALL_MEMBERS(ThinkSpan);
  EXPECT_ALL_MEMBERS(LeftOut);
  EXPECT_ALL_MEMBERS(Retrieved);
  EXPECT_ALL_MEMBERS(Summarised);
  EXPECT_ALL_MEMBERS(StandIn);
  EXPECT_ALL_MEMBERS(EarlierTurn);
  EXPECT_ALL_MEMBERS(Retrieval);
  EXPECT_ALL_MEMBERS(GenerationRecord);
  EXPECT_ALL_MEMBERS(ChatMessage);
  EXPECT_ALL_MEMBERS(ChunkRef);
  EXPECT_ALL_MEMBERS(LogitBias);
  EXPECT_ALL_MEMBERS(SamplingParams);
  EXPECT_ALL_MEMBERS(GenerateRequest);
  EXPECT_ALL_MEMBERS(Grammar);
  EXPECT_ALL_MEMBERS(Constraint);
  EXPECT_ALL_MEMBERS(CancelRequest);
  EXPECT_ALL_MEMBERS(DeltaCredit);
  EXPECT_ALL_MEMBERS(ChunkPut);
  EXPECT_ALL_MEMBERS(ChunkListRequest);
  EXPECT_ALL_MEMBERS(ChunkGet);
  EXPECT_ALL_MEMBERS(ChunkDelete);
  EXPECT_ALL_MEMBERS(ChunkUpdate);
  EXPECT_ALL_MEMBERS(ChunkGroup);
  EXPECT_ALL_MEMBERS(CacheStats);
  EXPECT_ALL_MEMBERS(StatsReply);
  EXPECT_ALL_MEMBERS(StoreTouch);
  EXPECT_ALL_MEMBERS(Pong);
  EXPECT_ALL_MEMBERS(StatusReply);
  EXPECT_ALL_MEMBERS(Accepted);
  EXPECT_ALL_MEMBERS(Progress);
  EXPECT_ALL_MEMBERS(Delta);
  EXPECT_ALL_MEMBERS(Usage);
  EXPECT_ALL_MEMBERS(Timings);
  EXPECT_ALL_MEMBERS(Final);
  EXPECT_ALL_MEMBERS(SessionInfo);
  EXPECT_ALL_MEMBERS(Session);
  EXPECT_ALL_MEMBERS(ChunkReply);
  EXPECT_ALL_MEMBERS(ErrorReply);
}

TEST(Frames, messages_of_actors_visit_all_members) {
  EXPECT_ALL_MEMBERS(ActorHello);
  EXPECT_ALL_MEMBERS(EncodeJob);
  EXPECT_ALL_MEMBERS(EncodeDone);
  EXPECT_ALL_MEMBERS(SampleSpec);
  EXPECT_ALL_MEMBERS(JobStates);
  EXPECT_ALL_MEMBERS(MovedRows);
  EXPECT_ALL_MEMBERS(PrefillJob);
  EXPECT_ALL_MEMBERS(PrefillDone);
  EXPECT_ALL_MEMBERS(DecodeSequence);
  EXPECT_ALL_MEMBERS(DecodeJob);
  EXPECT_ALL_MEMBERS(DecodedSequence);
  EXPECT_ALL_MEMBERS(DecodeDone);
  EXPECT_ALL_MEMBERS(StorePut);
  EXPECT_ALL_MEMBERS(StoreDelete);
  EXPECT_ALL_MEMBERS(StoreLoad);
  EXPECT_ALL_MEMBERS(StoreAck);
  EXPECT_ALL_MEMBERS(ChainPage);
  EXPECT_ALL_MEMBERS(StorePages);
  EXPECT_ALL_MEMBERS(StorePagesDone);
  EXPECT_ALL_MEMBERS(LoadPages);
  EXPECT_ALL_MEMBERS(LoadPagesDone);
  EXPECT_ALL_MEMBERS(RemovePages);
  EXPECT_ALL_MEMBERS(StoredPage);
  EXPECT_ALL_MEMBERS(StoredPages);
  EXPECT_ALL_MEMBERS(PrefetchPages);
  EXPECT_ALL_MEMBERS(LeasePages);
  EXPECT_ALL_MEMBERS(PagesLeased);
  EXPECT_ALL_MEMBERS(ReleaseLeases);
  EXPECT_ALL_MEMBERS(PageUses);
  EXPECT_ALL_MEMBERS(PageOwner);
  EXPECT_ALL_MEMBERS(StoreChain);
  EXPECT_ALL_MEMBERS(PendingChain);
  EXPECT_ALL_MEMBERS(StoreUses);
  EXPECT_ALL_MEMBERS(ReadChain);
  EXPECT_ALL_MEMBERS(StoredChain);
  EXPECT_ALL_MEMBERS(DiskStats);
  EXPECT_ALL_MEMBERS(StateStats);
}

TEST(Frames, every_member_of_every_struct_of_stored_states_is_a_field) {
  EXPECT_ALL_MEMBERS(StoreState);
  EXPECT_ALL_MEMBERS(StateStored);
  EXPECT_ALL_MEMBERS(LoadState);
  EXPECT_ALL_MEMBERS(StateLoaded);
  EXPECT_ALL_MEMBERS(StatesForgotten);
}

TEST(Frames, every_member_of_every_struct_of_searches_is_a_field) {
  EXPECT_ALL_MEMBERS(StoreSearch);
  EXPECT_ALL_MEMBERS(FoundChunk);
  EXPECT_ALL_MEMBERS(StoreFound);
  EXPECT_ALL_MEMBERS(ChunkSearch);
  EXPECT_ALL_MEMBERS(ChunkSearchHit);
  EXPECT_ALL_MEMBERS(ChunkSearchReply);
  EXPECT_ALL_MEMBERS(StoreRank);
  EXPECT_ALL_MEMBERS(StoreRanked);
}

TEST(Frames, every_member_of_every_struct_of_sessions_is_a_field) {
  EXPECT_ALL_MEMBERS(SessionListRequest);
  EXPECT_ALL_MEMBERS(SessionGet);
  EXPECT_ALL_MEMBERS(SessionDelete);
  EXPECT_ALL_MEMBERS(PolicyGet);
  EXPECT_ALL_MEMBERS(PolicySet);
  EXPECT_ALL_MEMBERS(SessionInfo);
  EXPECT_ALL_MEMBERS(SessionListReply);
  EXPECT_ALL_MEMBERS(SessionReply);
  EXPECT_ALL_MEMBERS(ExpiryPolicy);
  EXPECT_ALL_MEMBERS(PolicyReply);
  EXPECT_ALL_MEMBERS(TokenizeRequest);
  EXPECT_ALL_MEMBERS(DetokenizeRequest);
  EXPECT_ALL_MEMBERS(ApplyTemplateRequest);
  EXPECT_ALL_MEMBERS(TokenizeReply);
  EXPECT_ALL_MEMBERS(DetokenizeReply);
  EXPECT_ALL_MEMBERS(ApplyTemplateReply);
  EXPECT_ALL_MEMBERS(EventsRequest);
  EXPECT_ALL_MEMBERS(EventNotice);
  EXPECT_ALL_MEMBERS(EventsReply);
  EXPECT_ALL_MEMBERS(SessionTurn);
  EXPECT_ALL_MEMBERS(Session);
  EXPECT_ALL_MEMBERS(StoreSession);
  EXPECT_ALL_MEMBERS(StoreSessionDelete);
  EXPECT_ALL_MEMBERS(StorePolicy);
  EXPECT_ALL_MEMBERS(StoredPolicy);
  EXPECT_ALL_MEMBERS(StoredSettings);
}

TEST(Frames, every_member_of_every_struct_of_upkeep_is_a_field) {
  EXPECT_ALL_MEMBERS(FsckRequest);
  EXPECT_ALL_MEMBERS(FsckFinding);
  EXPECT_ALL_MEMBERS(FsckReply);
  EXPECT_ALL_MEMBERS(BackupRequest);
  EXPECT_ALL_MEMBERS(BackupReply);
  EXPECT_ALL_MEMBERS(StoreCheck);
  EXPECT_ALL_MEMBERS(StoreChecked);
  EXPECT_ALL_MEMBERS(StoreBackup);
  EXPECT_ALL_MEMBERS(StoreBackedUp);
  EXPECT_ALL_MEMBERS(PagesForgotten);
}

// Chunk lists are the exception: their member `chunks` becomes two fields.
TEST(Frames, chunk_lists_share_one_array_of_token_ids) {
  EXPECT_EQ(member_count<ChunkListReply>(), 3u);
  EXPECT_EQ(member_count<StoreChunks>(), 3u);
  StoreChunks message;
  message.chunks.resize(5000);  // more chunks than a message may have frames
  for (size_t i = 0; i < message.chunks.size(); ++i) {
    message.chunks[i].id = "chunk_" + std::to_string(i);
    message.chunks[i].token_ids.assign(i % 4, static_cast<int32_t>(i));
  }
  const Frames frames = *encode({{}, message});
  EXPECT_EQ(frames.size(), 4u);
  const Result<Envelope> received = decode(frames);
  ASSERT_TRUE(received.ok()) << received.error().to_string();
  EXPECT_EQ(std::get<StoreChunks>(received->message).chunks, message.chunks);
}

TEST(Frames, numbers_keep_their_exact_value) {
  PrefillDone done;
  done.logprob = -1.17549435e-38F;
  done.compute_us = INT64_MIN;
  Final final;
  final.seed = UINT64_MAX;
  final.logprobs = {-0.0F, 1e-45F};
  const Result<Envelope> first = decode(*encode({{}, done}));
  const Result<Envelope> second = decode(*encode({{}, final}));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(std::get<PrefillDone>(first->message).logprob, done.logprob);
  EXPECT_EQ(std::get<PrefillDone>(first->message).compute_us, INT64_MIN);
  EXPECT_EQ(std::get<Final>(second->message).seed, UINT64_MAX);
  EXPECT_EQ(dump(second->message), dump(final));
}

// Fields that were added after version 1 are absent in what older clients and stores have written.
TEST(Frames, newer_fields_may_be_absent) {
  const auto without = [](Message message, std::initializer_list<std::string_view> keys) {
    Frames frames = *encode({{}, std::move(message)});
    for (const std::string_view key : keys) {
      const size_t at = frames[2].find(key);
      EXPECT_NE(at, std::string::npos) << key;
      frames[2][at] = '_';  // a key that nobody knows
    }
    return decode(frames);
  };
  GenerateRequest request;
  request.prompt = "x";
  request.logprobs = true;
  request.top_logprobs = 5;
  const auto asked = without(request, {"top_logprobs"});
  ASSERT_TRUE(asked.ok()) << asked.error().to_string();
  EXPECT_EQ(std::get<GenerateRequest>(asked->message).top_logprobs, 0);
  ChunkReply reply;
  reply.chunk.generation.presence_penalty = 1;
  reply.chunk.generation.frequency_penalty = 1;
  reply.chunk.generation.logit_bias_count = 1;
  reply.chunk.generation.seed = 3;
  const auto stored = without(reply, {"presence_penalty", "frequency_penalty", "logit_bias_count"});
  ASSERT_TRUE(stored.ok()) << stored.error().to_string();
  GenerationRecord expected;
  expected.seed = 3;
  EXPECT_EQ(std::get<ChunkReply>(stored->message).chunk.generation, expected);
}

TEST(Frames, malformed_text_is_sent_with_replacement_characters) {
  Delta delta;
  delta.text = "a\xFFz";
  const Result<Envelope> received = decode(*encode({{}, delta}));
  ASSERT_TRUE(received.ok()) << received.error().to_string();
  EXPECT_EQ(std::get<Delta>(received->message).text, "a\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace cascade::wire
