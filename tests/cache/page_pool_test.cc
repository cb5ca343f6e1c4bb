// The pool: every page is free or used, never both, and comes back with its last reference.
#include "cache/page_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

TEST(PagePool, hands_out_each_page_once_then_none) {
  PagePool pool(5);
  EXPECT_EQ(pool.page_count(), 5u);
  EXPECT_EQ(pool.free_count(), 5u);
  std::set<PageIndex> pages;
  for (int i = 0; i < 5; ++i) {
    const auto page = pool.allocate();
    ASSERT_TRUE(page.has_value());
    EXPECT_LT(*page, 5u);
    EXPECT_EQ(pool.references(*page), 1u);
    EXPECT_TRUE(pages.insert(*page).second);
  }
  EXPECT_FALSE(pool.allocate().has_value());
  EXPECT_EQ(pool.free_count(), 0u);
  EXPECT_EQ(pool.used_count(), 5u);
}

TEST(PagePool, a_page_is_free_after_its_last_reference_only) {
  PagePool pool(1);
  const PageIndex page = *pool.allocate();
  pool.retain(page);
  pool.retain(page);
  EXPECT_FALSE(pool.release(page));
  EXPECT_FALSE(pool.release(page));
  EXPECT_FALSE(pool.allocate().has_value());
  EXPECT_TRUE(pool.release(page));
  EXPECT_EQ(pool.references(page), 0u);
  EXPECT_EQ(pool.allocate(), page);
}

TEST(PagePool, gives_the_page_freed_last_first) {
  PagePool pool(4);
  std::vector<PageIndex> pages;
  for (int i = 0; i < 3; ++i) pages.push_back(*pool.allocate());
  pool.release(pages[0]);
  pool.release(pages[2]);
  EXPECT_EQ(pool.allocate(), pages[2]);
  EXPECT_EQ(pool.allocate(), pages[0]);
}

TEST(PagePool, pages_that_nobody_needed_since_the_last_look_are_idle) {
  PagePool pool(6);
  std::vector<PageIndex> pages;
  for (int i = 0; i < 5; ++i) pages.push_back(*pool.allocate());
  for (int i = 0; i < 4; ++i) pool.release(pages[i]);
  EXPECT_TRUE(pool.take_idle(10).empty());  // free, but not for long
  pool.mark_idle();
  pool.release(*pool.allocate());  // one page is needed, and free again
  EXPECT_EQ(pool.take_idle(2), (std::vector<PageIndex>{pages[0], pages[1]}));
  EXPECT_EQ(pool.free_count(), 5u);
  EXPECT_EQ(pool.take_idle(10), (std::vector<PageIndex>{pages[2]}));
  EXPECT_TRUE(pool.take_idle(10).empty());
  pool.mark_idle();
  EXPECT_EQ(pool.take_idle(10), (std::vector<PageIndex>{pages[3]}));
  EXPECT_TRUE(pool.take_idle(10).empty());
  // Warm pages are allocated first, then those without memory.
  pool.release(pages[4]);
  EXPECT_EQ(pool.allocate(), pages[4]);
  std::set<PageIndex> rest;
  while (const auto page = pool.allocate()) EXPECT_TRUE(rest.insert(*page).second);
  EXPECT_EQ(rest.size(), 5u);
  EXPECT_FALSE(rest.contains(pages[4]));
}

TEST(PagePool, an_empty_pool_has_no_page) {
  PagePool pool(0);
  EXPECT_FALSE(pool.allocate().has_value());
  EXPECT_EQ(pool.page_count(), 0u);
}

TEST(PagePool, counts_agree_with_a_naive_model_under_random_use) {
  Random random(testing::test_seed());
  PagePool pool(12);
  std::map<PageIndex, uint32_t> model;  // used pages
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t kind = random.below(4);
    if (kind == 3) {
      if (random.below(2) == 0) pool.mark_idle();
      for (const PageIndex idle : pool.take_idle(random.below(4))) {
        ASSERT_FALSE(model.contains(idle));
      }
    } else if (kind == 0) {
      const auto page = pool.allocate();
      ASSERT_EQ(page.has_value(), model.size() < 12);
      if (!page) continue;
      ASSERT_TRUE(model.emplace(*page, 1).second);
    } else if (!model.empty()) {
      const auto it = std::next(model.begin(), static_cast<int>(random.below(model.size())));
      if (kind == 1 && it->second < 4) {
        pool.retain(it->first);
        ++it->second;
      } else {
        const bool last = --it->second == 0;
        ASSERT_EQ(pool.release(it->first), last);
        if (last) model.erase(it);
      }
    }
    ASSERT_EQ(pool.used_count(), model.size());
    ASSERT_EQ(pool.free_count(), 12 - model.size());
    for (const auto& [page, references] : model) ASSERT_EQ(pool.references(page), references);
  }
}

TEST(PagePool, says_when_a_page_had_another_owner) {
  PagePool pool(2);
  const PageIndex page = *pool.allocate();
  EXPECT_FALSE(pool.change_owner(page, 0)) << "it was nobody's";
  pool.release(page);
  ASSERT_EQ(pool.allocate(), page);
  EXPECT_FALSE(pool.change_owner(page, 0)) << "it was the same";
  pool.release(page);
  ASSERT_EQ(pool.allocate(), page);
  EXPECT_TRUE(pool.change_owner(page, 1));
  pool.release(page);
  ASSERT_EQ(pool.allocate(), page);
  EXPECT_TRUE(pool.change_owner(page, 0)) << "the one before is not forgotten";
}

TEST(PagePool, forgets_owners_of_pages_whose_memory_went_back_to_the_system) {
  PagePool pool(1);
  const PageIndex page = *pool.allocate();
  pool.change_owner(page, 0);
  pool.release(page);
  pool.mark_idle();
  ASSERT_EQ(pool.take_idle(1).size(), 1u);
  ASSERT_EQ(pool.allocate(), page);
  EXPECT_FALSE(pool.change_owner(page, 1));
}

TEST(PagePoolDeath, using_a_free_page_is_a_bug) {
  PagePool pool(2);
  const PageIndex page = *pool.allocate();
  pool.release(page);
  EXPECT_DEATH(pool.release(page), "");
  EXPECT_DEATH(pool.retain(page), "");
  EXPECT_DEATH(pool.retain(7), "");
}

}  // namespace
}  // namespace cascade
