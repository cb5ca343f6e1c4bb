// Pages are forgotten, in memory and on disk.
#include "actors/scheduler/page_lifecycle.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chain_key.h"
#include "tests/actors/scheduler/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::first_of;
using testing::Tokens;

// Chains of whole pages. Pages at one place are the same or differ in all tokens. A chain that
// begins with page 0 begins with the public one, and no other page is public.
using Pages = std::vector<int32_t>;

Tokens tokens_of(const Pages& pages) {
  Tokens tokens;
  for (const int32_t page : pages) tokens.insert(tokens.end(), kPageTokens, page);
  return tokens;
}

class PageLifecycleTest : public testing::KeepTest {
 protected:
  PageLifecycleTest() : KeepTest(300) {}

  TenantId owner_of(const Pages& pages, TenantId owner) const {
    return pages == Pages{0} ? kPublic : owner;
  }
  // What the last page of the owner's chain is called.
  Digest key_of(TenantId owner, const Pages& pages) const {
    Digest key = ChainIndex::key_of(memory_.index.root());
    for (size_t i = 0; i < pages.size(); ++i) {
      const bool is_public = i == 0 && pages[0] == 0;
      const bool first_own = i == (pages[0] == 0 ? 1u : 0u);
      const Tokens page(kPageTokens, pages[i]);
      const Digest& tenant = owner == alice_ ? keys_[0] : keys_[1];
      key = chain_key(key, !is_public && first_own ? &tenant : nullptr, page);
    }
    return key;
  }
  bool in_memory(TenantId owner, const Pages& pages) {
    return memory_.index.find(key_of(owner, pages)) != nullptr;
  }
  bool on_disk(TenantId owner, const Pages& pages) const {
    return stored_.disk().contains(key_of(owner, pages));
  }
  void compute_pages(TenantId owner, const Pages& pages) {
    if (pages[0] == 0) compute(tokens_of({0}), kPublic);
    compute(tokens_of(pages), owner);
  }
  void write(TenantId owner, const Pages& pages) {
    writer_.write_behind(owner, tokens_of(pages));
    write_all();
  }
  // A request of alice or bob that has computed the chain and goes on.
  Request& run(TenantId owner, const Pages& pages) {
    auto owned = std::make_unique<Request>();
    owned->handle = requests_.next_handle();
    owned->client.tenant = *tenants_.name_of(owner);
    owned->client.name = std::to_string(owned->handle);
    owned->prompt = tokens_of(pages);
    owned->sequence = memory_.sequence_of(owner);
    const auto found = static_cast<size_t>(owned->sequence->reuse(owned->prompt, clock_.wall_us()));
    EXPECT_TRUE(memory_.compute(*owned->sequence, std::span(owned->prompt).subspan(found), 0));
    Request& request = requests_.add(std::move(owned));
    requests_.wait(request);
    requests_.start(request);
    return request;
  }
  void end(Request& request) {
    requests_.leave(request);
    request.sequence->finish(clock_.wall_us());
    lifecycle_.request_ended(request);
    requests_.remove(request.handle);
  }
  void forget(TenantId owner, const Pages& pages, int64_t keep_pages,
              ForgetScope scope = ForgetScope::kAndWhatGoesOn) {
    lifecycle_.forget(
        {owner, tokens_of(pages), keep_pages * kPageTokens, Removal::kDeleted, scope});
  }

  const TenantId bob_ = tenants_.id("bob");
  const Digest keys_[2] = {Hasher().field("t", "alice").finish(),
                           Hasher().field("t", "bob").finish()};
};

TEST_F(PageLifecycleTest, forgets_pages_and_what_goes_on_from_them_in_memory_and_on_disk) {
  for (const Pages& pages : {Pages{1, 2, 3}, Pages{1, 2, 4}, Pages{1, 5}}) {
    compute_pages(alice_, pages);
    write(alice_, pages);
  }
  compute_pages(bob_, {1, 2, 3});
  forget(alice_, {1, 2, 3}, 1);
  EXPECT_TRUE(in_memory(alice_, {1}));
  EXPECT_TRUE(on_disk(alice_, {1, 5}));
  EXPECT_FALSE(in_memory(alice_, {1, 2}));
  EXPECT_FALSE(on_disk(alice_, {1, 2, 4})) << "it goes on from what is forgotten";
  EXPECT_TRUE(in_memory(bob_, {1, 2, 3})) << "another owner's";
}

TEST_F(PageLifecycleTest, forgets_what_nothing_else_goes_on_from) {
  for (const Pages& pages : {Pages{1, 2, 3}, Pages{1, 4}}) {
    compute_pages(alice_, pages);
    write(alice_, pages);
  }
  forget(alice_, {1, 2, 3}, 0, ForgetScope::kUnshared);
  EXPECT_FALSE(in_memory(alice_, {1, 2}));
  EXPECT_FALSE(on_disk(alice_, {1, 2}));
  EXPECT_TRUE(in_memory(alice_, {1}));
  EXPECT_TRUE(on_disk(alice_, {1}));
  forget(alice_, {1, 4}, 1, ForgetScope::kUnreachable);
  EXPECT_FALSE(in_memory(alice_, {1, 4}));
  EXPECT_TRUE(on_disk(alice_, {1, 4})) << "in memory only";
}

TEST_F(PageLifecycleTest, what_a_request_uses_is_forgotten_when_it_ends) {
  Request& request = run(alice_, {1, 2, 3});
  forget(alice_, {1, 2}, 1, ForgetScope::kAndLeftAlone);
  EXPECT_TRUE(in_memory(alice_, {1, 2, 3}));
  end(request);
  EXPECT_FALSE(in_memory(alice_, {1, 2}));
  EXPECT_FALSE(in_memory(alice_, {1})) << "the request left it alone";
}

TEST_F(PageLifecycleTest, an_output_that_is_retained_keeps_its_pages) {
  Request& request = run(alice_, {1, 2});
  request.params.retain_output = true;
  request.sampled = {7};
  forget(alice_, {1, 2}, 1);
  end(request);
  EXPECT_TRUE(in_memory(alice_, {1, 2}));
}

TEST_F(PageLifecycleTest, what_is_being_written_is_forgotten_when_it_is_written) {
  compute_pages(alice_, {1, 2});
  writer_.write_behind(alice_, tokens_of({1, 2}));
  writer_.write_pages([] { return 100; });
  forget(alice_, {1, 2}, 1);
  EXPECT_TRUE(in_memory(alice_, {1, 2}));
  const auto messages = take<wire::StorePages>();
  ASSERT_EQ(messages.size(), 1u);
  writer_.on(wire::StorePagesDone{.job = messages[0].job, .error = {}, .removed = {}});
  EXPECT_FALSE(in_memory(alice_, {1, 2}));
  EXPECT_FALSE(on_disk(alice_, {1, 2}));
  EXPECT_TRUE(on_disk(alice_, {1}));
}

TEST_F(PageLifecycleTest, public_pages_take_the_holds_of_those_on_them_with_them) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  entry.chain = tokens_of({0, 2});
  compute_pages(alice_, {0, 2});
  holds_.take(entry);
  set_pinned(entry, true);
  forget(kPublic, {0}, 0);
  EXPECT_FALSE(in_memory(alice_, {0}));
  EXPECT_FALSE(in_memory(alice_, {0, 2}));
  EXPECT_EQ(budget_.pages_promised(), 2) << "the pin is computed again";
}

TEST_F(PageLifecycleTest, a_withdrawn_chunk_leaves_what_others_begin_with) {
  ChunkEntry& first = add("a", ChunkType::kSystemPrompt);
  ChunkEntry& second = add("b", ChunkType::kSystemPrompt);
  first.chain = count_up(0, 128);
  second.chain = testing::join(count_up(0, 64), count_up(500, 64));
  for (ChunkEntry* entry : {&first, &second}) {
    compute(entry->chain, kPublic);
    ASSERT_TRUE(holds_.take_public(*entry, entry->chain));
  }
  lifecycle_.withdraw(first, Removal::kDeleted);
  EXPECT_FALSE(first.public_hold.has_value());
  EXPECT_EQ(memory_.index.match(kPublic, first.chain).tokens(), 64);
  EXPECT_EQ(memory_.index.match(kPublic, second.chain).tokens(), 128);
}

TEST_F(PageLifecycleTest, pages_with_a_text_are_forgotten_with_what_goes_on_from_its_end) {
  add("text", ChunkType::kContext, count_up(40, 50));
  const Tokens prompt = count_up(0, 300);
  compute(prompt, alice_);
  uses_.note("alice", prompt, uses_.find("alice", {"text"}, prompt));
  writer_.write_behind(alice_, prompt);
  write_all();
  lifecycle_.forget_texts({"alice", "text"}, Removal::kDeleted, nullptr);
  EXPECT_EQ(memory_.index.match(alice_, prompt).tokens(), 0);
  EXPECT_EQ(stored_.disk().size(), 0u);
}

TEST_F(PageLifecycleTest, pages_that_the_store_forgot_leave_memory_if_they_were_deleted) {
  compute_pages(alice_, {1, 2});
  write(alice_, {1, 2});
  wire::PagesForgotten forgotten;
  forgotten.keys = {key_of(alice_, {1, 2}).hex()};
  lifecycle_.on(forgotten);
  EXPECT_TRUE(in_memory(alice_, {1, 2}));
  EXPECT_EQ(stored_.counters().pages_bad, 1);
  forgotten.deleted = true;
  lifecycle_.on(forgotten);
  EXPECT_FALSE(in_memory(alice_, {1, 2}));
}

TEST_F(PageLifecycleTest, a_chain_whose_tokens_are_not_known_is_forgotten_by_its_last_page) {
  for (const Pages& pages : {Pages{1, 2, 3}, Pages{1, 4}}) {
    compute_pages(alice_, pages);
    write(alice_, pages);
  }
  lifecycle_.forget_stored(key_of(alice_, {1, 2, 3}), 2 * kPageTokens, nullptr);
  EXPECT_FALSE(on_disk(alice_, {1, 2, 3}));
  EXPECT_FALSE(on_disk(alice_, {1, 2})) << "nothing else goes on from it";
  EXPECT_TRUE(on_disk(alice_, {1}));
}

}  // namespace
}  // namespace cascade
