// Prefixes are computed in advance, found by every request, and kept as long as somebody refers to
// them.
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

std::string book() {
  std::string text = "Notes:\n";
  for (int i = 0; i < 60; ++i) text += "The " + std::to_string(i) + "th page is empty. ";
  return text;
}

wire::ChunkRef context_text(const std::string& text) {
  return {ChunkType::kContext, "", text};
}

class Prefixes : public ::testing::Test {
 protected:
  wire::PrefixReply cache(const wire::PrefixCache& prefix, const std::string& client = "client",
                          const std::string& tenant = "local") {
    return world_.one<wire::PrefixReply>(world_.send(prefix, client, tenant));
  }
  wire::PrefixReply attach(const std::string& id, const std::string& client) {
    return world_.one<wire::PrefixReply>(world_.send(wire::PrefixAttach{id}, client));
  }
  wire::PrefixReply release(const std::string& id, const std::string& client = "client") {
    return world_.one<wire::PrefixReply>(world_.send(wire::PrefixRelease{id}, client));
  }
  Error refused(wire::Message message, const std::string& client = "client",
                const std::string& tenant = "local") {
    return world_.error(world_.send(std::move(message), client, tenant));
  }
  wire::Usage generate(std::vector<wire::ChunkRef> chunks) {
    auto request = ask(chunks);
    request.max_tokens = 2;
    return world_.one<wire::Final>(world_.send(request)).usage;
  }
  int64_t pages_pinned() {
    return world_.one<wire::StatsReply>(world_.send(wire::StatsRequest{})).cache->pages_pinned;
  }

  wire::PrefixCache system_prefix() {
    wire::PrefixCache prefix;
    prefix.chunks = {system_text("You are a helpful assistant.")};
    return prefix;
  }
  wire::PrefixCache book_prefix() {
    wire::PrefixCache prefix = system_prefix();
    prefix.chunks.push_back(context_text(book()));
    return prefix;
  }
  std::string put_book() {
    const wire::ChunkPut put{ChunkType::kContext, book()};
    return world_.one<wire::ChunkReply>(world_.send(put)).chunk.id;
  }
  void remove(const std::string& id) {
    world_.one<wire::ChunkReply>(world_.send(wire::ChunkDelete{id, "", /*all=*/true}));
  }

  SchedulerWorld world_;
};

TEST_F(Prefixes, a_context_is_found_by_every_query_behind_it) {
  const auto prefix = cache(book_prefix());
  EXPECT_TRUE(prefix.id.starts_with("prefix_"));
  EXPECT_EQ(prefix.references, 1);
  EXPECT_EQ(prefix.reused_tokens, 0);
  EXPECT_EQ(prefix.prefilled_tokens, prefix.tokens);
  EXPECT_EQ(prefix.miss, (Miss{MissReason::kNew, 0}));
  EXPECT_GT(prefix.tokens, 400);
  EXPECT_EQ(pages_pinned(), (prefix.tokens + 63) / 64);
  for (const char* query : {"Which page is empty?", "7 or 8?", "\"Page\"", " why", "Äpfel"}) {
    auto chunks = book_prefix().chunks;
    chunks.push_back(query_text(query));
    EXPECT_EQ(generate(chunks).reused_tokens, prefix.tokens) << query;
  }
}

TEST_F(Prefixes, a_system_prompt_a_conversation_and_a_raw_prompt) {
  const auto system = cache(system_prefix());
  EXPECT_EQ(generate({system_text("You are a helpful assistant."), query_text("Hi")}).reused_tokens,
            system.tokens);
  wire::PrefixCache talk;
  talk.messages = {{.role = "user", .content = "What is 2 + 2?", .reasoning = {}},
                   {.role = "assistant", .content = "4", .reasoning = {}}};
  const auto conversation = cache(talk);
  wire::GenerateRequest next = ask({});
  next.messages = talk.messages;
  next.messages.push_back({.role = "user", .content = "And 3 + 3?", .reasoning = {}});
  EXPECT_GE(world_.one<wire::Final>(world_.send(next)).usage.reused_tokens, conversation.tokens);
  wire::PrefixCache raw;
  raw.prompt = "One two three four five";
  wire::GenerateRequest rest = ask({});
  rest.prompt = "One two three four five six";
  const auto words = cache(raw);
  EXPECT_GE(world_.one<wire::Final>(world_.send(rest)).usage.reused_tokens, words.tokens - 1);
}

TEST_F(Prefixes, the_same_beginning_is_one_prefix_with_counted_references) {
  const auto first = cache(book_prefix(), "a");
  const auto again = cache(book_prefix(), "b");
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.references, 2);
  EXPECT_EQ(again.reused_tokens, first.tokens);
  EXPECT_EQ(again.prefilled_tokens, 0);
  EXPECT_EQ(attach(first.id, "b").references, 3);
  EXPECT_EQ(release(first.id, "a").references, 2);
  EXPECT_EQ(refused(wire::PrefixRelease{first.id}, "a").code, ErrorCode::kNotFound);
  EXPECT_EQ(release(first.id, "b").references, 1);
  EXPECT_GT(pages_pinned(), 0);
  EXPECT_EQ(release(first.id, "b").references, 0);
  EXPECT_EQ(pages_pinned(), 0);
  EXPECT_EQ(refused(wire::PrefixAttach{first.id}).field, "id");
  // The prefix's pages are ordinary ones now, and still in memory.
  EXPECT_EQ(cache(book_prefix()).reused_tokens, first.tokens);
}

TEST_F(Prefixes, two_that_ask_at_once_compute_it_once) {
  const uint64_t first = world_.post(book_prefix(), "a");
  const uint64_t second = world_.post(book_prefix(), "b");
  world_.pump();
  const auto one = world_.one<wire::PrefixReply>(first);
  const auto other = world_.one<wire::PrefixReply>(second);
  EXPECT_EQ(one.id, other.id);
  EXPECT_EQ(std::max(one.references, other.references), 2);
  EXPECT_EQ(one.prefilled_tokens + other.prefilled_tokens, one.tokens);
  EXPECT_EQ(pages_pinned(), (one.tokens + 63) / 64);
}

TEST_F(Prefixes, a_connection_that_ends_takes_its_references_with_it) {
  const auto prefix = cache(book_prefix(), "a");
  attach(prefix.id, "b");
  world_.send(wire::ClientGone{}, "a");
  EXPECT_EQ(attach(prefix.id, "b").references, 2);
  world_.send(wire::ClientGone{}, "b");
  EXPECT_EQ(pages_pinned(), 0);
  EXPECT_EQ(refused(wire::PrefixAttach{prefix.id}).code, ErrorCode::kNotFound);
}

TEST_F(Prefixes, end_with_a_chunk_of_theirs_that_is_deleted) {
  const std::string id = put_book();
  const auto system = cache(system_prefix());
  const auto prefix = cache(book_prefix());
  remove(id);
  EXPECT_EQ(pages_pinned(), (system.tokens + 63) / 64);
  EXPECT_EQ(refused(wire::PrefixAttach{prefix.id}).code, ErrorCode::kNotFound);
  EXPECT_EQ(refused(wire::PrefixRelease{prefix.id}).code, ErrorCode::kNotFound);
  EXPECT_LE(cache(book_prefix()).reused_tokens, system.tokens + kPageTokens);
}

TEST_F(Prefixes, whose_chunk_is_deleted_while_they_are_computed_are_refused) {
  for (size_t steps = 1;; ++steps) {
    SCOPED_TRACE(std::to_string(steps) + " steps");
    const std::string id = put_book();
    const uint64_t number = world_.post(book_prefix());
    world_.pump(steps);
    if (!world_.all<wire::PrefixReply>(number).empty()) {
      EXPECT_GT(steps, 2u);
      break;
    }
    remove(id);
    EXPECT_EQ(world_.error(number).code, ErrorCode::kNotFound);
    EXPECT_EQ(pages_pinned(), 0);
    const auto again = cache(book_prefix());
    EXPECT_LT(again.reused_tokens, kPageTokens);
    release(again.id);
    remove(put_book());
  }
}

TEST_F(Prefixes, another_tenant_has_its_own) {
  const auto mine = cache(book_prefix());
  EXPECT_EQ(refused(wire::PrefixAttach{mine.id}, "x", "alice").code, ErrorCode::kNotFound);
  const auto theirs = cache(book_prefix(), "x", "alice");
  EXPECT_NE(theirs.id, mine.id);
  EXPECT_EQ(theirs.reused_tokens, 0);
}

TEST_F(Prefixes, cancelled_or_late_it_keeps_nothing_but_its_pages) {
  const uint64_t number = world_.post(book_prefix());
  world_.pump(2);
  world_.send(wire::CancelRequest{testing::request_id(number)});
  EXPECT_EQ(world_.error(number).code, ErrorCode::kCancelled);
  EXPECT_EQ(pages_pinned(), 0);
  auto late = book_prefix();
  late.timeout_ms = 1;
  late.chunks[0].text += " Be brief.";
  const uint64_t missed = world_.post(late);
  world_.clock.advance_us(2'000'000);
  world_.core().on_tick();
  world_.pump();
  EXPECT_EQ(world_.error(missed).code, ErrorCode::kDeadlineExceeded);
  const wire::StatusReply status = world_.status();
  EXPECT_EQ(status.requests_running + status.requests_waiting, 0);
}

TEST_F(Prefixes, refusals_name_the_field_and_the_limit) {
  auto query = system_prefix();
  query.chunks.push_back({ChunkType::kOutput, "output_00000000", ""});
  EXPECT_EQ(refused(query).field, "chunks[1].id");
  wire::PrefixCache nothing;
  nothing.messages = {{.role = "elephant", .content = "?", .reasoning = {}}};
  EXPECT_EQ(refused(nothing).field, "messages[0].role");
  EXPECT_EQ(refused(wire::PrefixAttach{"prefix_00000000"}).field, "id");
  EXPECT_EQ(refused(wire::PrefixRelease{"prefix_00000000"}).field, "id");
}

TEST_F(Prefixes, limits_of_pins_and_of_their_number) {
  SchedulerOptions options;
  options.max_pinned = 0.2;
  options.prefixes_max = 1;
  SchedulerWorld small(options, 20);
  const Error large = small.error(small.send(book_prefix()));
  EXPECT_EQ(large.field, "prefix");
  EXPECT_EQ(large.code, ErrorCode::kResourceExhausted);
  EXPECT_NE(large.message.find("--max-pinned"), std::string::npos);
  small.one<wire::PrefixReply>(small.send(system_prefix()));
  auto other = system_prefix();
  other.chunks[0].text = "Be brief.";
  const Error second = small.error(small.send(other));
  EXPECT_NE(second.message.find("limit"), std::string::npos);
  SchedulerWorld tiny({}, 4);
  const Error never = tiny.error(tiny.send(book_prefix()));
  EXPECT_EQ(never.field, "prefix");
}

TEST_F(Prefixes, a_pinned_prefix_outlives_a_flood) {
  SchedulerWorld small({}, 24);
  const auto prefix = small.one<wire::PrefixReply>(small.send(book_prefix()));
  for (int i = 0; i < 12; ++i) {
    auto request = ask({query_text("Flood " + std::to_string(i) + book())});
    request.max_tokens = 1;
    small.one<wire::Final>(small.send(request));
  }
  auto chunks = book_prefix().chunks;
  chunks.push_back(query_text("Which page?"));
  auto request = ask(chunks);
  request.max_tokens = 1;
  EXPECT_EQ(small.one<wire::Final>(small.send(request)).usage.reused_tokens, prefix.tokens);
}

}  // namespace
}  // namespace cascade
