// Pages are forgotten, in memory and on disk.
#include "actors/scheduler/keep/page_lifecycle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cache/chain_key.h"
#include "tests/actors/scheduler/keep/keep_test.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::first_of;
using testing::Tokens;

// Chains of whole pages. Two pages with the same number at the same place have the same tokens;
// otherwise all of their tokens differ. A chain that begins with page 0 begins with the public one,
// and no other page is public.
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
  // The key of the last page of the owner's chain.
  Digest key_of(TenantId owner, const Pages& pages) const {
    Digest key = cascade::key_of(memory_.index.root());
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

  std::string name(TenantId owner, const Pages& pages) const {
    std::string text = *tenants_.name_of(owner);
    for (const int32_t page : pages) text += " " + std::to_string(page);
    return text;
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

TEST_F(PageLifecycleTest, the_public_pages_that_a_chain_begins_with_stay) {
  for (const TenantId owner : {alice_, bob_}) {
    compute_pages(owner, {0, 1});
    write(owner, {0, 1});
  }
  forget(alice_, {0, 1}, 0);
  EXPECT_FALSE(in_memory(alice_, {0, 1}));
  EXPECT_FALSE(on_disk(alice_, {0, 1}));
  EXPECT_TRUE(on_disk(alice_, {0}));
  EXPECT_TRUE(on_disk(bob_, {0, 1})) << "what others have computed after them, too";
  forget(bob_, {0, 1}, 0, ForgetScope::kUnshared);
  EXPECT_FALSE(on_disk(bob_, {0, 1}));
  EXPECT_TRUE(on_disk(bob_, {0})) << "also when nothing else goes on from them";
}

TEST_F(PageLifecycleTest, a_tenants_copy_of_public_pages_is_its_own) {
  compute(tokens_of({0, 1, 2}), alice_);
  compute(tokens_of({0, 1, 3}), kPublic);
  compute(tokens_of({0, 1, 3, 4}), alice_);
  const size_t pages = memory_.pool.used_count();
  forget(alice_, {0, 1, 3}, 1);
  EXPECT_EQ(memory_.pool.used_count(), pages - 2) << "its copy of the second page, and the third";
  EXPECT_EQ(memory_.index.match(alice_, tokens_of({0, 1, 3, 4})).pages.size(), 4u);
}

TEST_F(PageLifecycleTest, a_chunk_whose_tokens_are_not_known_leaves_public_pages_on_disk) {
  compute_pages(alice_, {0, 1, 2});
  write(alice_, {0, 1, 2});
  lifecycle_.forget_stored(key_of(alice_, {0, 1, 2}), 2 * kPageTokens, nullptr);
  EXPECT_FALSE(on_disk(alice_, {0, 1}));
  EXPECT_TRUE(on_disk(alice_, {0}));
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

TEST_F(PageLifecycleTest, what_expires_while_it_is_written_counts_as_expired) {
  compute_pages(alice_, {1, 2});
  writer_.write_behind(alice_, tokens_of({1, 2}));
  writer_.write_pages([] { return 100; });
  lifecycle_.forget({alice_, tokens_of({1, 2}), 0, Removal::kExpired});
  writer_.on(
      wire::StorePagesDone{.job = take<wire::StorePages>().at(0).job, .error = {}, .removed = {}});
  EXPECT_FALSE(in_memory(alice_, {1}));
  EXPECT_EQ(memory_.index.removed_count(Removal::kExpired), 2u);
  EXPECT_EQ(memory_.index.removed_count(Removal::kDeleted), 0u);
}

TEST_F(PageLifecycleTest, a_text_that_is_removed_while_a_request_runs_says_why) {
  for (const Removal why : {Removal::kExpired, Removal::kDeleted}) {
    const std::string id = why == Removal::kExpired ? "expires" : "is deleted";
    ChunkEntry& text = add(id, ChunkType::kContext);
    Request& request = run(alice_, {1, 2});
    request.texts = {{.chunk = {"alice", id}, .where = {0, kPageTokens}}};
    registry_.remove(text, why);
    end(request);
    EXPECT_FALSE(in_memory(alice_, {1}));
    EXPECT_EQ(memory_.index.removed_count(why), 2u) << id;
  }
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
  uses_.note(tenants_.id("alice"), prompt, uses_.find("alice", {"text"}, prompt));
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

// The pages that should be there, as sets of chains.
class PageModel {
 public:
  using Page = std::pair<TenantId, Pages>;  // the page's owner, and the chain up to it
  struct Running {
    TenantId owner;
    Pages pages;
    std::map<TenantId, size_t> keep;  // pages to keep at the end, by the owner of the forgotten
                                      // ones
    bool left_alone = false;
  };

  static bool begins(const Pages& chain, const Pages& beginning) {
    return chain.size() >= beginning.size() &&
           std::equal(beginning.begin(), beginning.end(), chain.begin());
  }
  static Pages part(const Pages& pages, size_t count) {
    return {pages.begin(), pages.begin() + static_cast<ptrdiff_t>(count)};
  }
  static Page page(TenantId owner, const Pages& pages, size_t count) {
    return {count == 1 && pages[0] == 0 ? kPublic : owner, part(pages, count)};
  }
  static size_t common(const Pages& a, const Pages& b) {
    size_t n = 0;
    while (n < std::min(a.size(), b.size()) && a[n] == b[n]) ++n;
    return n;
  }

  void compute(TenantId owner, const Pages& pages) {
    for (size_t i = 1; i <= pages.size(); ++i) memory.insert(page(owner, pages, i));
  }
  void write(TenantId owner, const Pages& pages) {
    for (size_t i = 1; i <= pages.size(); ++i) {
      if (!memory.contains(page(owner, pages, i))) return;
      disk.insert(page(owner, pages, i));
    }
  }
  bool is_used(const Page& page) const {
    return std::ranges::any_of(running, [&](const auto& request) {
      const bool its_own = page.first == kPublic || request.second.owner == page.first;
      return its_own && begins(request.second.pages, page.second);
    });
  }
  // Whether a page of the set continues `from`.
  static bool goes_on(const std::set<Page>& pages, const Page& from) {
    return std::ranges::any_of(pages, [&](const Page& page) {
      const bool follows = page.second.size() > from.second.size();
      return follows && begins(page.second, from.second) &&
             (from.first == kPublic || page.first == from.first);
    });
  }
  void forget_now(TenantId owner, const Pages& pages, size_t keep, ForgetScope scope) {
    if (scope == ForgetScope::kAndWhatGoesOn || scope == ForgetScope::kAndLeftAlone) {
      // The public page that a tenant's chain begins with is not the tenant's.
      if (owner != kPublic && pages[0] == 0 && memory.contains(page(owner, pages, 1))) {
        keep = std::max<size_t>(keep, 1);
      }
      const auto is_gone = [&](const Page& page) {
        const bool its_own = owner == kPublic || page.first == owner;
        return its_own && common(page.second, pages) > keep;
      };
      std::erase_if(disk, is_gone);
      std::erase_if(memory, [&](const Page& page) { return is_gone(page) && !is_used(page); });
      return;
    }
    for (size_t i = pages.size(); i > keep; --i) {
      const Page last = page(owner, pages, i);
      if (scope == ForgetScope::kUnshared && disk.contains(last)) {
        if (goes_on(disk, last)) break;
        if (last.first == owner) disk.erase(last);
      }
    }
    for (size_t i = pages.size(); i > keep; --i) {
      const Page last = page(owner, pages, i);
      if (!memory.contains(last)) continue;
      if (goes_on(memory, last) || is_used(last) || last.first != owner) break;
      memory.erase(last);
    }
  }
  void forget(TenantId owner, const Pages& pages, size_t keep, ForgetScope scope) {
    forget_now(owner, pages, keep, scope);
    if (scope == ForgetScope::kUnshared || scope == ForgetScope::kUnreachable) return;
    for (auto& [handle, request] : running) {
      if (owner != kPublic && request.owner != owner) continue;
      if (common(request.pages, pages) <= keep) continue;
      const auto [it, added] = request.keep.try_emplace(owner, keep);
      it->second = std::min(it->second, keep);
      if (owner != kPublic && scope == ForgetScope::kAndLeftAlone) request.left_alone = true;
    }
  }
  void end(uint64_t handle) {
    const Running request = running.extract(handle).mapped();
    for (const auto& [owner, keep] : request.keep) {
      if (owner == kPublic) {
        forget(kPublic, request.pages, keep, ForgetScope::kAndWhatGoesOn);
        continue;
      }
      forget_now(owner, request.pages, keep, ForgetScope::kAndWhatGoesOn);
      if (!request.left_alone) continue;
      forget_now(owner, part(request.pages, keep), 0, ForgetScope::kUnshared);
    }
  }

  std::set<Page> memory, disk;
  std::map<uint64_t, Running> running;
};

// All chains of up to three pages, the first one of three kinds and the others of two.
std::vector<Pages> all_chains() {
  std::vector<Pages> all;
  for (int32_t a = 0; a < 3; ++a) {
    all.push_back({a});
    for (int32_t b = 1; b < 3; ++b) {
      all.push_back({a, b});
      for (int32_t c = 1; c < 3; ++c) all.push_back({a, b, c});
    }
  }
  return all;
}

TEST_F(PageLifecycleTest, is_a_naive_model_whatever_happens) {
  Random random(testing::test_seed());
  PageModel model;
  const auto below = [&](uint64_t n) { return random.below(n); };
  const int operations = static_cast<int>(testing::long_or(100'000, 3'000));
  const std::vector<Pages> all = all_chains();
  for (int n = 0; n < operations && !HasFailure(); ++n) {
    const TenantId owner = below(2) == 0 ? alice_ : bob_;
    const Pages& pages = all[below(all.size())];
    const auto scope = static_cast<ForgetScope>(below(4));
    const size_t keep = below(pages.size() + 1);
    std::string what;
    switch (below(6)) {
      case 0:
        what = "compute";
        compute_pages(owner, pages);
        model.compute(owner, pages);
        break;
      case 1:
        what = "write";
        write(owner, pages);
        model.write(owner, pages);
        break;
      case 2:
        what = "run";
        if (model.running.size() < 3) {
          if (pages[0] == 0) compute(tokens_of({0}), kPublic);
          const Request& request = run(owner, pages);
          model.compute(owner, pages);
          model.running[request.handle] = {owner, pages, {}, false};
        }
        break;
      case 3:
        what = "end";
        if (!model.running.empty()) {
          const uint64_t handle = model.running.begin()->first;
          end(requests_.at(handle));
          model.end(handle);
        }
        break;
      case 4:
        what = "forget public";
        forget(kPublic, {0}, 0);
        model.forget(kPublic, {0}, 0, ForgetScope::kAndWhatGoesOn);
        break;
      default:
        what = "forget, scope " + std::to_string(static_cast<int>(scope));
        forget(owner, pages, static_cast<int64_t>(keep), scope);
        model.forget(owner, pages, keep, scope);
    }
    const std::string where = what + " of " + name(owner, pages) + ", keep " +
                              std::to_string(keep) + ", operation " + std::to_string(n);
    for (const TenantId whose : {alice_, bob_}) {
      for (const Pages& chain : all) {
        const PageModel::Page page = PageModel::page(whose, chain, chain.size());
        ASSERT_EQ(in_memory(whose, chain), model.memory.contains(page))
            << where << ": " << name(whose, chain) << " in memory";
        ASSERT_EQ(on_disk(whose, chain), model.disk.contains(page))
            << where << ": " << name(whose, chain) << " on disk";
      }
    }
    outbox_.take();
  }
}

}  // namespace
}  // namespace cascade
