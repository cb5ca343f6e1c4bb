// The client library against a fake daemon: calls with one answer, errors, connecting.
#include "clients/cpp/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "clients/cpp/endpoint.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client {
namespace {

using testing::error_of;
using testing::FakeDaemon;
using testing::ignore;
using testing::TempFolder;

// A short timeout, for daemons that never answer.
ClientOptions hasty() {
  ClientOptions options;
  options.timeout_ms = 300;
  return options;
}

// Connects a hasty client to a daemon that answers. Tries again until an answer comes in time,
// because the machine may be slow.
Result<Client> connect_hastily(const TempFolder& folder, const ClientOptions& options = hasty()) {
  Result<Client> client = Client::connect(folder.endpoint(), options);
  for (int i = 0; i < 200 && !client.ok(); ++i) {
    client = Client::connect(folder.endpoint(), options);
  }
  return client;
}

TEST(Client, greets_the_daemon) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok()) << client.error().to_string();
  EXPECT_EQ(client->boot_id(), "boot_1");
  EXPECT_EQ(client->daemon_version(), "test");
  EXPECT_TRUE(client->ping().ok());
}

const std::vector<wire::Loading> kLoads = {{0, 0}, {3, 10}, {9, 10}};

TEST(Client, waits_for_a_daemon_that_loads) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  daemon.set_loading(kLoads);
  const Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok()) << error_of(client);
  EXPECT_EQ(client->boot_id(), "boot_1");
}

TEST(Client, waits_for_a_daemon_that_loads_within_its_timeout_only) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  daemon.set_loading(std::vector<wire::Loading>(1'000'000, {4, 10}));
  const Result<Client> client = Client::connect(folder.endpoint(), {.timeout_ms = 50});
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(error_of(client), "unavailable: loading: it is loading");
  EXPECT_TRUE(is_loading(client.error()));
  EXPECT_FALSE(is_unreachable(client.error()));
}

TEST(Client, asks_how_long_to_wait_for_a_daemon_that_loads) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  std::string seen;
  ClientOptions options;
  options.timeout_ms = 60'000;
  options.on_loading = [&](const wire::Loading* loading) {
    seen += loading == nullptr ? "over " : std::to_string(loading->done_bytes) + " ";
    return loading == nullptr || loading->done_bytes < 9;
  };
  daemon.set_loading(kLoads);
  const Result<Client> impatient = Client::connect(folder.endpoint(), options);
  ASSERT_FALSE(impatient.ok());
  EXPECT_TRUE(is_loading(impatient.error()));
  EXPECT_EQ(seen, "0 3 9 over ");
  seen.clear();
  daemon.set_loading({{1, 10}});
  EXPECT_TRUE(Client::connect(folder.endpoint(), options).ok());
  EXPECT_EQ(seen, "1 over ");
}

TEST(Client, gives_up_on_a_daemon_that_never_answers) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  daemon.set_answers_pings(false);
  const std::string expected = "unavailable: endpoint: the daemon did not answer within 300 ms";
  EXPECT_EQ(error_of(Client::connect(folder.endpoint(), hasty())), expected);
  daemon.set_answers_pings(true);
  Result<Client> client = connect_hastily(folder);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(error_of(client->status()), expected);
  bool answered = false;  // ping() connects again
  for (int i = 0; i < 200 && !answered; ++i) answered = client->ping().ok();
  EXPECT_TRUE(answered);
}

TEST(Client, passes_the_errors_of_the_daemon_on) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), [](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::ErrorReply{resource_exhausted("queue", "is full (8 requests)"), 750});
  });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(error_of(client->status()), "resource_exhausted: queue: is full (8 requests)");
  EXPECT_EQ(client->retry_after_ms(), 750);
  EXPECT_EQ(error_of(client->generate_and_retain_output("", "q")),
            "resource_exhausted: queue: is full (8 requests)");
  EXPECT_TRUE(client->ping().ok());
  EXPECT_EQ(client->retry_after_ms(), 0);
}

TEST(Client, refuses_a_reply_of_the_wrong_kind_and_garbage) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), [](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::Ack{});
  });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(error_of(client->status()),
            "internal: reply: the daemon answered with a message of type " +
                std::to_string(wire::Message(wire::Ack{}).index()));
  daemon.send_garbage_to_next();
  EXPECT_NE(error_of(client->status()).find("does not follow the protocol"), std::string::npos);
  EXPECT_TRUE(client->ping().ok());
}

TEST(Client, knows_whether_what_it_changed_is_durable) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(),
                    [](const wire::Envelope& asked, const FakeDaemon::Reply& reply) {
                      const bool forgets = std::holds_alternative<wire::ChunkDelete>(asked.message);
                      reply(wire::ChunkReply{{}, !forgets});
                    });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->get_chunk("chunk_1").ok());
  EXPECT_TRUE(client->all_durable());
  ASSERT_TRUE(client->delete_chunk("chunk_1").ok());
  EXPECT_FALSE(client->all_durable());
  ASSERT_TRUE(client->get_chunk("chunk_1").ok());
  EXPECT_FALSE(client->all_durable());
}

TEST(Client, connects_again_after_a_restart) {
  const TempFolder folder;
  const auto status = [](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::StatusReply{});
  };
  auto daemon = std::make_unique<FakeDaemon>(folder.endpoint(), status, "boot_1");
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  ASSERT_TRUE(client->status().ok());
  daemon.reset();
  EXPECT_TRUE(is_unreachable(client->status().error()));
  daemon = std::make_unique<FakeDaemon>(folder.endpoint(), status, "boot_2");
  const Result<wire::StatusReply> again = client->status();
  EXPECT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(client->boot_id(), "boot_2");
}

// Answers with three chunks in pages of two.
void list_three(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
  const auto& request = std::get<wire::ChunkListRequest>(envelope.message);
  wire::ChunkListReply page;
  const int first = request.after.empty() ? 0 : 2;
  for (int i = first; i < std::min(first + 2, 3); ++i) {
    page.chunks.emplace_back();
    page.chunks.back().id = "output_" + std::to_string(i);
    page.token_counts.push_back(i * 10);
  }
  page.more = first == 0;
  reply(page);
}

TEST(Client, lists_all_pages) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), list_three);
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  const Result<std::vector<ChunkInfo>> outputs = client->get_retained_sequences();
  ASSERT_TRUE(outputs.ok()) << outputs.error().to_string();
  ASSERT_EQ(outputs->size(), 3u);
  EXPECT_EQ((*outputs)[2].chunk.id, "output_2");
  EXPECT_EQ((*outputs)[2].tokens, 20);
  const auto asked = daemon.received();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(std::get<wire::ChunkListRequest>(asked[0].message).type, ChunkType::kOutput);
  EXPECT_EQ(std::get<wire::ChunkListRequest>(asked[1].message).after, "output_1");
  EXPECT_EQ(client->list_all_chunks({}, 1)->size(), 1u);
}

TEST(Client, puts_gets_and_deletes_chunks) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(),
                    [](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
                      wire::ChunkReply answer;
                      answer.chunk.id = "chunk_1";
                      if (const auto* put = std::get_if<wire::ChunkPut>(&envelope.message)) {
                        answer.chunk.text = put->text;
                        answer.chunk.type = put->type;
                      }
                      reply(answer);
                    });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  const Result<Chunk> put = client->put_chunk(ChunkType::kContext, "facts");
  ASSERT_TRUE(put.ok());
  EXPECT_EQ(put->text, "facts");
  EXPECT_EQ(client->register_chunk("x", ChunkType::kQuery).value(), "chunk_1");
  EXPECT_EQ(client->get_chunk("chunk_1")->id, "chunk_1");
  EXPECT_TRUE(client->delete_chunk("chunk_1").ok());
  EXPECT_TRUE(client->release_retained_sequence("output_1").ok());
  EXPECT_EQ(error_of(client->get_chunk("")), "invalid_argument: id: must not be empty");
}

TEST(Client, composes_chunks_under_the_names_of_the_earlier_library) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), [](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    wire::Final final;
    final.output_chunk_id = "output_9";
    reply(final);
  });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  GenerateParams params;
  params.max_tokens = 50;
  const Result<Generation> first = client->generate_and_retain_output("sys", "query", params);
  ASSERT_TRUE(first.ok()) << first.error().to_string();
  EXPECT_EQ(first->output_chunk_id, "output_9");
  ASSERT_TRUE(client->generate_from_chunks("chunk_s", {"output_9", "chunk_c"}, "chunk_q").ok());
  const auto received = daemon.received();
  ASSERT_EQ(received.size(), 2u);
  const auto& retained = std::get<wire::GenerateRequest>(received[0].message);
  EXPECT_TRUE(retained.retain_output);
  EXPECT_EQ(retained.max_tokens, 50);
  ASSERT_EQ(retained.chunks.size(), 2u);
  EXPECT_EQ(retained.chunks[0].text, "sys");
  const auto& composed = std::get<wire::GenerateRequest>(received[1].message);
  ASSERT_EQ(composed.chunks.size(), 4u);
  EXPECT_EQ(composed.chunks[0].type, ChunkType::kSystemPrompt);
  EXPECT_EQ(composed.chunks[1].type, ChunkType::kOutput);
  EXPECT_EQ(composed.chunks[2].type, ChunkType::kContext);
  EXPECT_EQ(composed.chunks[3].id, "chunk_q");
}

TEST(Client, asks_for_statistics_and_changes_chunks) {
  const TempFolder folder;
  std::vector<wire::ChunkUpdate> updates;
  FakeDaemon daemon(folder.endpoint(),
                    [&](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
                      if (std::holds_alternative<wire::StatsRequest>(envelope.message)) {
                        wire::StatsReply stats;
                        stats.groups = {{"local", ChunkType::kOutput, 3}};
                        stats.cache.emplace().pages_max = 9;
                        return reply(stats);
                      }
                      updates.push_back(std::get<wire::ChunkUpdate>(envelope.message));
                      reply(wire::ChunkReply{});
                    });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  const Result<wire::StatsReply> stats = client->get_chunk_stats();
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->groups.at(0).chunks, 3);
  EXPECT_EQ(stats->cache->pages_max, 9);
  const std::string id = "chunk_01";
  EXPECT_TRUE(client->rename_chunk(id, "n").ok());
  EXPECT_TRUE(client->touch_chunk(id).ok());
  EXPECT_TRUE(client->pin_chunk(id).ok());
  EXPECT_TRUE(client->unpin_chunk(id).ok());
  EXPECT_TRUE(client->set_chunk_ttl(id, 5).ok());
  EXPECT_TRUE(client->set_chunk_priority(id, 80, 7).ok());
  ASSERT_EQ(updates.size(), 6u);
  EXPECT_EQ(updates[0].name, "n");
  EXPECT_FALSE(updates[0].touch);
  EXPECT_TRUE(updates[1].touch);
  EXPECT_EQ(updates[2].pinned, true);
  EXPECT_EQ(updates[3].pinned, false);
  EXPECT_EQ(updates[4].ttl_ms, 5);
  EXPECT_EQ(updates[5].priority, 80);
  EXPECT_EQ(updates[5].priority_ms, 7);
}

TEST(Client, caches_attaches_and_releases_prefixes) {
  const TempFolder folder;
  FakeDaemon daemon(
      folder.endpoint(), [&](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
        if (const auto* cache = std::get_if<wire::PrefixCache>(&envelope.message)) {
          EXPECT_TRUE(cache->stream);
          reply(wire::Accepted{});
          reply(wire::Progress{});
          if (cache->prompt == "no") {
            return reply(wire::ErrorReply{resource_exhausted("prefix", "full"), 0});
          }
          return reply(wire::PrefixReply{"prefix_01", 70, 1, 0, 70, {}});
        }
        const bool attach = std::holds_alternative<wire::PrefixAttach>(envelope.message);
        reply(wire::PrefixReply{"prefix_01", 70, attach ? 2 : 1, 0, 0, {}});
      });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  wire::PrefixCache prefix;
  prefix.prompt = "Once upon a time";
  const auto cached = client->cache_prefix(prefix);
  ASSERT_TRUE(cached.ok()) << cached.error().to_string();
  EXPECT_EQ(cached->prefilled_tokens, 70);
  EXPECT_EQ(client->attach_prefix(cached->id)->references, 2);
  EXPECT_EQ(client->release_prefix(cached->id)->references, 1);
  prefix.prompt = "no";
  EXPECT_EQ(client->cache_prefix(prefix).error().field, "prefix");
}

TEST(Client, searches_chunks) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), [](const wire::Envelope& asked, const auto& reply) {
    const auto* search = std::get_if<wire::ChunkSearch>(&asked.message);
    if (search == nullptr) return;
    reply(wire::ChunkSearchReply{{{"output_1", ChunkType::kOutput, "", search->query}}});
  });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  const auto hits = client->search_chunks("capital", 3);
  ASSERT_TRUE(hits.ok()) << hits.error().to_string();
  ASSERT_EQ(hits->size(), 1u);
  EXPECT_EQ(hits->front().snippet, "capital");
  EXPECT_EQ(error_of(client->search_chunks("", 3)).find("invalid_argument: query"), 0u);
}

TEST(Client, asks_for_tokens_texts_and_prompts) {
  const TempFolder folder;
  std::optional<wire::Message> asked;
  FakeDaemon daemon(folder.endpoint(),
                    [&](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
                      asked = envelope.message;
                      if (std::holds_alternative<wire::TokenizeRequest>(*asked)) {
                        return reply(wire::TokenizeReply{{5, 6}});
                      }
                      if (std::holds_alternative<wire::DetokenizeRequest>(*asked)) {
                        return reply(wire::DetokenizeReply{"ab", {"a", "b"}});
                      }
                      reply(wire::ApplyTemplateReply{"user: x", {7}});
                    });
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(client->tokenize("ab", true).value(), (std::vector<int32_t>{5, 6}));
  EXPECT_EQ(std::get<wire::TokenizeRequest>(*asked).text, "ab");
  EXPECT_TRUE(std::get<wire::TokenizeRequest>(*asked).beginning);
  const auto text = client->detokenize({5, 6}, true, true);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->pieces, (std::vector<std::string>{"a", "b"}));
  const auto& ids = std::get<wire::DetokenizeRequest>(*asked);
  EXPECT_EQ(ids.token_ids, (std::vector<int32_t>{5, 6}));
  EXPECT_TRUE(ids.skip_special && ids.pieces);
  const auto prompt = client->apply_template({{.role = "user", .content = "x", .reasoning = {}}},
                                             false, "[{}]", "low");
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->prompt, "user: x");
  const auto& conversation = std::get<wire::ApplyTemplateRequest>(*asked);
  EXPECT_EQ(conversation.messages.at(0).content, "x");
  EXPECT_EQ(conversation.thinking, false);
  EXPECT_EQ(conversation.reasoning_effort, "low");
  EXPECT_EQ(conversation.tools, "[{}]");
}

TEST(Client, waits_for_a_check_as_long_as_the_daemon_answers_pings) {
  const TempFolder folder;
  std::optional<FakeDaemon::Reply> waiting;
  FakeDaemon daemon(folder.endpoint(), [&](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    waiting.emplace(reply);
  });
  daemon.on_ping([&](int count) {
    if (count == 7) (*waiting)(wire::FsckReply{{}, 0, 0, 12, 34});
  });
  ClientOptions options;
  options.silence_ms = 20;
  options.timeout_ms = 60'000;
  Result<Client> client = Client::connect(folder.endpoint(), options);
  ASSERT_TRUE(client.ok());
  const auto reply = client->fsck(false);
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  EXPECT_EQ(reply->pages, 12);
}

TEST(Client, gives_a_backup_up_when_the_daemon_falls_silent) {
  const TempFolder folder;
  FakeDaemon daemon(folder.endpoint(), ignore);
  ClientOptions options = hasty();
  options.silence_ms = 20;
  Result<Client> client = connect_hastily(folder, options);
  ASSERT_TRUE(client.ok());
  daemon.set_answers_pings(false);
  EXPECT_EQ(error_of(client->backup("/copy")), "unavailable: endpoint: the daemon fell silent");
}

}  // namespace
}  // namespace cascade::client
