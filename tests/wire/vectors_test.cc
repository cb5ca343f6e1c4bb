// Known bytes: the format must not change by accident. tests/vectors/*.bin hold one message
// each, every frame as a 32-bit little-endian length and its bytes; docs/protocol.md refers to
// them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "tests/places.h"
#include "tests/wire/message_archives.h"
#include "wire/frames.h"

namespace cascade::wire {
namespace {

using testing::dump;

RequestId counting_id() {
  RequestId id{};
  for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<uint8_t>(i);
  return id;
}

Frame bytes(std::initializer_list<int> values) {
  Frame frame;
  for (const int value : values) frame.push_back(static_cast<char>(value));
  return frame;
}

GenerateRequest sample_request() {
  GenerateRequest request;
  request.chunks = {{ChunkType::kSystemPrompt, "", "You are terse."},
                    {ChunkType::kOutput, "output_0123456789abcdef0123456789abcdef", ""},
                    {ChunkType::kQuery, "", "And of Italy?"}};
  request.max_tokens = 64;
  request.sampling.temperature = 0.5;
  request.sampling.seed = 42;
  request.sampling.presence_penalty = 0.5;
  request.sampling.frequency_penalty = -0.25;
  request.sampling.logit_bias = {{151645, -100}, {49, 1.5}};
  request.logprobs = true;
  request.top_logprobs = 2;
  request.stop = {"\n\n"};
  request.retain_output = true;
  request.stream = true;
  request.grammar = {GrammarKind::kJsonSchema, R"({"type":"string"})"};
  request.attention = "select:4096";
  request.think_policy = ThinkPolicy::kSplice;
  request.heal = true;
  request.on_overflow = OnOverflow::kDropOldest;
  return request;
}

Final sample_final() {
  Final final;
  final.attention = "select:4096:0";
  final.approximation = Approximation::kSplice;
  final.text = "Rome.";
  final.reasoning = "Italy: Rome";
  final.finish_reason = "stop";
  final.token_ids = {151667, 49, 2};
  final.logprobs = {-0.5F, -0.25F, -2.0F};
  final.usage = {30, 25, 10, 5, {MissReason::kDiffers, 25, 17}, 3, 1, 4, 9, 8, 6};
  final.timings = {10, 2000, 2500, 900, 3600};
  final.seed = 42;
  final.output_chunk_id = "output_00000000000000000000000000000001";
  final.top_token_ids = {151667, 7, 49, 50, 49, 2};
  final.top_logprobs = {-0.5F, -1.0F, -0.25F, -2.5F, -1.0F, -2.0F};
  final.think_spans = {{0, 2, true}};
  final.left_out = LeftOut{12, 1};
  final.retrieved = {{"output_00000000000000000000000000000002", 60}, {"", 7}};
  final.retrieved_text = "Earlier: Rome";
  final.summarised = Summarised{11, {"chunk_00000000000000000000000000000003"}};
  return final;
}

SessionReply sample_session() {
  return {{"trip",
           1'800'000'000'000'000,
           1'800'000'100'000'000,
           2,
           OnOverflow::kRetrieve,
           1,
           {{"output_01", 60}}},
          {{0, "output_01"}, {1, "output_02"}},
          true};
}

Chunk sample_chunk() {
  Chunk chunk;
  chunk.id = "output_0123456789abcdef0123456789abcdef";
  chunk.type = ChunkType::kOutput;
  chunk.tenant = "default";
  chunk.content_hash = std::string(64, 'a');
  chunk.text = "Paris.";
  chunk.token_ids = {151667, 151668, 12};
  chunk.query_text = "What is the capital of France?";
  chunk.raw_text = "<think></think>Paris.";
  chunk.client_data = R"({"turn":1})";
  chunk.think_spans = {{0, 2, true}};
  chunk.kv_state = KvState::kReady;
  chunk.kv_approximation = Approximation::kMask;
  chunk.generation.approximation = Approximation::kSplice;
  chunk.kv_tokens = 40;
  chunk.kv_bytes = 4096;
  chunk.kv_disk_pages = 1;
  chunk.kv_disk_bytes = 4096;
  chunk.kv_key = std::string(64, 'f');
  chunk.kv_begin = 25;
  chunk.generation = {0, 1, 0, 0, 1, 7, 64, "stop", 0.5, -0.25, 2};
  chunk.created_us = 1'767'322'984'000'000;
  chunk.last_used_us = 1'767'322'985'000'000;
  chunk.hits = 2;
  chunk.priority = 50;
  chunk.name = "capitals";
  chunk.parent_ids = {"chunk_0123456789abcdef0123456789abcdef"};
  return chunk;
}

ChunkUpdate sample_update() {
  ChunkUpdate update;
  update.id = "output_01";
  update.name = "capitals";
  update.pinned = true;
  update.ttl_ms = 0;
  update.priority = 80;
  update.priority_ms = 60'000;
  update.published = false;
  update.touch = true;
  return update;
}

StatsReply sample_stats() {
  StatsReply stats;
  stats.groups = {{"local", ChunkType::kOutput, 3, 1, 7, 4, 900, 8192, 4096}};
  stats.chunks_max = 100'000;
  stats.text_bytes_max = 1 << 29;
  stats.pages_of_tenant = 5;
  CacheStats& cache = stats.cache.emplace();
  cache.policy = "hybrid";
  cache.page_bytes = 4096;
  cache.pages_max = 400;
  cache.pages_used = 6;
  cache.evicted = 2;
  cache.working_set_bytes = 16'384;
  cache.refault_share = 0.25;
  cache.chunk_bytes = 8192;
  cache.chunk_disk_bytes = 4096;
  cache.saved_tokens = 128;
  cache.saved_us = 250'000;
  cache.saved_bytes = 8192;
  stats.disk = {7, 4096, 8, 3, 0, 1, 2'000'000'000};
  stats.states = {1 << 20, 20, 7, 5, 2, 11, 12, 4};
  return stats;
}

PrefixCache sample_prefix() {
  PrefixCache prefix;
  prefix.chunks = {{ChunkType::kSystemPrompt, "", "Be brief."},
                   {ChunkType::kContext, "chunk_01", ""}};
  prefix.stream = true;
  prefix.timeout_ms = 60'000;
  return prefix;
}

EventNotice sample_event() {
  return {42,
          "boot_0123456789abcdef0123456789abcdef",
          1'800'000'000'000'000,
          EventKind::kChunkStored,
          "output_0123456789abcdef0123456789abcdef",
          ChunkType::kOutput,
          3,
          "stop"};
}

ApplyTemplateRequest sample_template() {
  ApplyTemplateRequest request;
  request.messages = {
      {.role = "user", .content = "Weather in Rome?", .reasoning = {}},
      {.role = "assistant",
       .content = "",
       .reasoning = {},
       .tool_calls = R"([{"id":"call_1","type":"function","function":{"name":"weather",)"
                     R"("arguments":"{\"city\":\"Rome\"}"}}])"},
      {.role = "tool",
       .content = "sunny",
       .reasoning = {},
       .tool_call_id = "call_1",
       .name = "weather"}};
  request.thinking = false;
  request.reasoning_effort = "low";
  request.tools = R"([{"type":"function","function":{"name":"weather"}}])";
  return request;
}

ModelInfo sample_model() {
  ModelInfo model;
  model.name = "Qwen3-0.6B";
  model.state = "loaded";
  model.path = "/srv/models/Qwen3-0.6B";
  model.format = "folder";
  model.weight_type = "int8";
  model.disk_bytes = 1'503'300'328;
  model.weights_bytes = 640'000'000;
  model.kv_bytes = 250'000'000;
  model.other_bytes = 10'000'000;
  model.total_bytes = 900'000'000;
  model.requests = 2;
  model.last_used_us = 1'800'000'000'000'000;
  return model;
}

struct Vector {
  const char* file;
  Message message;
};

StatusReply sample_status() {
  StatusReply status;
  status.tokens_waiting = 900;
  status.tokens_waiting_max = 131'072;
  status.requests_preempted = 2;
  status.kv_disk_bytes = int64_t{3} << 30;
  status.kv_disk_bytes_max = int64_t{10} << 30;
  status.states = {1 << 20, 20, 7, 5, 2, 11, 12, 4};
  status.sequence_tokens_max = 200'000;
  status.attention = "dense";
  status.tokens_selected = 5;
  status.tokens_drafted = 7;
  status.tokens_accepted = 6;
  status.tokens_approximate = 7;
  status.tokens_moved = 8;
  status.version = "0.1.0";
  status.boot_id = "boot_1";
  status.fingerprint = "fp_1";
  status.state = "serving";
  status.decode_tokens_per_s = 12.5;
  status.actors_restarted = {"store"};
  return status;
}

std::vector<Vector> vectors() {
  Chunk listed = sample_chunk();
  listed.token_ids.clear();
  return {
      {"ping", Ping{}},
      {"status_request", StatusRequest{}},
      {"generate_request", sample_request()},
      {"cancel_request", CancelRequest{counting_id()}},
      {"chunk_put", ChunkPut{ChunkType::kContext, "Grüße, 世界"}},
      {"chunk_list_request", ChunkListRequest{ChunkType::kOutput, 10, "output_01"}},
      {"chunk_get", ChunkGet{"output_01"}},
      {"chunk_delete", ChunkDelete{"chunk_0123456789abcdef0123456789abcdef"}},
      {"chunk_update", sample_update()},
      {"stats_request", StatsRequest{}},
      {"prefix_cache", sample_prefix()},
      {"prefix_attach", PrefixAttach{"prefix_01"}},
      {"prefix_release", PrefixRelease{"prefix_01"}},
      {"chunk_search", ChunkSearch{"capital france", 5}},
      {"fsck_request", FsckRequest{true, "/var/lib/cascade"}},
      {"backup_request", BackupRequest{"/mnt/backup", ""}},
      {"session_list_request", SessionListRequest{20}},
      {"session_get", SessionGet{"trip"}},
      {"session_delete", SessionDelete{"trip", true}},
      {"policy_get", PolicyGet{}},
      {"policy_set", PolicySet{ChunkType::kOutput, 604'800'000}},
      {"tokenize_request", TokenizeRequest{"Grüße", true}},
      {"detokenize_request", DetokenizeRequest{{49, 2}, true, true, true, TextStart::kNone}},
      {"apply_template_request", sample_template()},
      {"events_request", EventsRequest{41, "boot_0123456789abcdef0123456789abcdef", 100}},
      {"delta_credit", DeltaCredit{counting_id(), 16}},
      {"pong", Pong{"boot_1", "0.1.0"}},
      {"status_reply", sample_status()},
      {"accepted", Accepted{3, "output_00000000000000000000000000000001", "fp_1"}},
      {"progress", Progress{1000, 640, 512.5, 702'439, 3}},
      {"delta", Delta{"Rome", false}},
      {"final", sample_final()},
      {"chunk_reply", ChunkReply{sample_chunk()}},
      {"prefix_reply", PrefixReply{"prefix_01", 640, 2, 512, 128, {MissReason::kNew, 512}}},
      {"chunk_list_reply", ChunkListReply{{listed}, {3}, true}},
      {"chunk_search_reply",
       ChunkSearchReply{{{"output_01", ChunkType::kOutput, "trip", "The [capital] is Paris."}}}},
      {"stats_reply", sample_stats()},
      {"fsck_reply",
       FsckReply{{{"kv file 1, page at 4096", "is cut off", true}}, 1, 0, 12, 49'152}},
      {"backup_reply", BackupReply{12, 49'152, 1}},
      {"session_list_reply", SessionListReply{{sample_session().session}}},
      {"session_reply", sample_session()},
      {"policy_reply", PolicyReply{{{ChunkType::kOutput, 604'800'000}}, true}},
      {"tokenize_reply", TokenizeReply{{49, 2}}},
      {"detokenize_reply", DetokenizeReply{"Rome", {"Ro", "me"}, {{"Ro"}, {"\xFF"}}}},
      {"apply_template_reply", ApplyTemplateReply{"user: hi", {49, 2}}},
      {"event_notice", sample_event()},
      {"events_reply", EventsReply{sample_event().boot_id, {sample_event()}, 43, true}},
      {"ack", Ack{}},
      {"error_reply", ErrorReply{not_found("id", "no such chunk"), 0}},
      {"model_list_request", ModelListRequest{}},
      {"model_load", ModelLoad{"Qwen3-0.6B", true}},
      {"model_unload", ModelUnload{"Qwen3-0.6B"}},
      {"model_list_reply", ModelListReply{{sample_model()}, "/srv/models", 900'000'000, 1 << 30}},
      {"model_reply", ModelReply{sample_model()}}};
}

std::filesystem::path vector_path(const char* file) {
  return cascade::testing::source_dir() / "tests/vectors" / (std::string(file) + ".bin");
}

std::string joined(const Frames& frames) {
  std::string out;
  for (const Frame& frame : frames) {
    const auto size = static_cast<uint32_t>(frame.size());
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(size >> shift));
    out += frame;
  }
  return out;
}

// With $CASCADE_WRITE_VECTORS set, writes the files instead: for a new message, never for a changed
// one.
TEST(Vectors, are_the_bytes_of_their_messages) {
  const bool write = std::getenv("CASCADE_WRITE_VECTORS") != nullptr;
  for (const auto& [file, message] : vectors()) {
    const Frames frames = *encode({counting_id(), message});
    if (write) {
      std::ofstream(vector_path(file), std::ios::binary) << joined(frames);
      continue;
    }
    const Result<std::string> expected = read_file(vector_path(file), 1 << 20);
    ASSERT_TRUE(expected.ok()) << expected.error().to_string();
    EXPECT_EQ(joined(frames), *expected) << file;
    const Result<Envelope> received = decode(frames);
    ASSERT_TRUE(received.ok()) << file << ": " << received.error().to_string();
    EXPECT_EQ(dump(received->message), dump(message)) << file;
  }
}

TEST(Vectors, cover_every_message_that_clients_see) {
  const std::vector<Vector> all = vectors();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].message.index(), i) << all[i].file;
  EXPECT_EQ(all.size(), kTypeOf<ActorHello>);
}

TEST(Vectors, of_a_request_to_a_model_have_its_name_in_the_body) {
  const Frames frames = *encode({counting_id(), Ping{}, "m"});
  EXPECT_EQ(frames[2], bytes({0x81, 0xA5, 'm', 'o', 'd', 'e', 'l', 0xA1, 'm'}));
  const Result<Envelope> received = decode(frames);
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received->model, "m");
}

TEST(Vectors, name_no_model_that_no_folder_could_have) {
  for (const std::string name : {"../secret", "a/b", ".hidden", "-x", "a\nb", "a\x7F"}) {
    const Result<Envelope> received = decode(*encode({counting_id(), StatusRequest{}, name}));
    ASSERT_FALSE(received.ok()) << name;
    EXPECT_EQ(received.error().field, "model");
  }
  EXPECT_FALSE(decode(*encode({{}, StatusRequest{}, std::string(256, 'm')})).ok());
  EXPECT_TRUE(decode(*encode({{}, StatusRequest{}, std::string(255, 'm')})).ok());
  EXPECT_FALSE(decode(*encode({{}, ModelLoad{"", false}})).ok());
}

TEST(Vectors, tell_which_messages_clients_send) {
  EXPECT_TRUE(is_from_client(kTypeOf<DeltaCredit>));
  EXPECT_FALSE(is_from_client(kTypeOf<Pong>));
  EXPECT_FALSE(is_from_client(kTypeOf<ErrorReply>));
  EXPECT_TRUE(is_from_client(kTypeOf<ModelUnload>));
  EXPECT_FALSE(is_from_client(kTypeOf<ModelListReply>));
  EXPECT_FALSE(is_from_client(kTypeOf<Stop>));
}

// These bytes were written by hand from the specifications of MessagePack and of our frames.
TEST(Vectors, of_small_messages_are_as_the_specification_says) {
  const Frame id = bytes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_EQ(*encode({counting_id(), Ping{}}),
            (Frames{bytes({'C', 'A', 'S', '1', 1, 0, 0, 0}), id, bytes({0x80})}));
  EXPECT_EQ(*encode({counting_id(), ChunkPut{ChunkType::kQuery, "hi"}}),
            (Frames{bytes({'C', 'A', 'S', '1', 1, 4, 0, 0}), id,
                    bytes({0x82, 0xA4, 't',  'y', 'p', 'e', 0xA5, 'Q',  'U', 'E',
                           'R',  'Y',  0xA4, 't', 'e', 'x', 't',  0xA2, 'h', 'i'})}));
  const Frame queue_position =
      bytes({0x81, 0xAE, 'q', 'u', 'e', 'u', 'e', '_', 'p', 'o', 's', 'i', 't', 'i', 'o', 'n'});
  EXPECT_EQ(encode({counting_id(), Accepted{300}}).value()[2],
            queue_position + bytes({0xCD, 0x01, 0x2C}));
  EXPECT_EQ(encode({counting_id(), Accepted{-1}}).value()[2], queue_position + bytes({0xFF}));
  const Frames cancel = *encode({counting_id(), CancelRequest{counting_id()}});
  EXPECT_EQ(cancel[2], bytes({0x81, 0xA6, 't', 'a', 'r', 'g', 'e', 't', 0xC4, 16}) + id);
}

TEST(Vectors, of_arrays_are_little_endian_words_in_frames) {
  EncodeDone done;
  done.job = 1;
  done.token_ids = {1, -2, 151667};
  const Frames frames = *encode({{}, done});
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames[3], bytes({1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0x73, 0x50, 2, 0}));
  const std::string key = std::string("\xA9") + "token_ids";
  const size_t at = frames[2].find(key);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(frames[2][at + key.size()], 0);  // the first array: frame 3
}

}  // namespace
}  // namespace cascade::wire
