// Where the pages of a job and their indexes are.
#include "actors/job_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/actors/scheduler_world.h"
#include "wire/messages.h"

namespace cascade {
namespace {

const KvLayout& job_layout() {
  return testing::demo_model().kv_layout;
}

// The index of `page`, whose address is as Slice::indexes says.
std::vector<uint8_t> index_bytes(const uint8_t* page) {
  const uint8_t* begin = page + job_layout().index_offset(0, 0);
  return {begin, begin + job_layout().indexes_bytes()};
}

class JobPagesTest : public ::testing::Test {
 protected:
  // Gives the page an index of equal bytes.
  void index(PageIndex page, uint8_t byte) const {
    std::memset(arena_.data(page) + job_layout().index_offset(0, 0), byte,
                job_layout().indexes_bytes());
    arena_.set_indexed(page, true);
  }

  const PageArena arena_ = *PageArena::create(job_layout().indexed_page_bytes(), 20);
};

TEST_F(JobPagesTest, indexes_follow_k_and_v_if_there_is_no_memory_for_them) {
  const std::vector<uint32_t> pages = {3, 5, 7, 9};
  for (const PageIndex page : {3, 5, 9}) index(page, 1);
  JobPages job(arena_, job_layout(), nullptr, pages, {});
  EXPECT_TRUE(job.indexes().empty());
  ASSERT_NE(job.indexed(), nullptr);
  EXPECT_EQ(job.indexed_pages(), 2) << "the third one has no index";
}

TEST_F(JobPagesTest, with_missing_pages_and_no_memory_for_indexes_there_are_none) {
  const std::vector<uint32_t> pages = {3, wire::kUnseenPage};
  JobPages job(arena_, job_layout(), nullptr, pages, {});
  EXPECT_EQ(job.indexed(), nullptr);
  EXPECT_EQ(job.indexed_pages(), 0);
}

TEST_F(JobPagesTest, memory_for_indexes_takes_those_of_pages_in_memory) {
  const std::vector<uint32_t> pages = {3, 5, 7, 9, wire::kUnseenPage, 11};
  const std::vector<uint32_t> memory = {1};
  for (const PageIndex page : {3, 5, 7, 9, 11}) index(page, static_cast<uint8_t>(page));
  JobPages job(arena_, job_layout(), nullptr, pages, {memory, 2});
  ASSERT_NE(job.indexed(), nullptr);
  EXPECT_EQ(job.indexed_pages(), 4) << "up to the missing page";
  ASSERT_EQ(job.indexes().size(), pages.size());
  const size_t bytes = job_layout().indexes_bytes();
  EXPECT_EQ(index_bytes(job.indexes()[0]), std::vector<uint8_t>(bytes)) << "it was there already";
  EXPECT_EQ(index_bytes(job.indexes()[2]), std::vector<uint8_t>(bytes, 7));
  EXPECT_EQ(index_bytes(job.indexes()[3]), std::vector<uint8_t>(bytes, 9));
  EXPECT_EQ(index_bytes(job.indexes()[5]), std::vector<uint8_t>(bytes));
}

TEST_F(JobPagesTest, the_memory_of_a_page_holds_as_many_indexes_as_fit) {
  const auto in_page = static_cast<size_t>(job_layout().indexes_in_page());
  EXPECT_GT(in_page, 10u);
  const std::vector<uint32_t> pages(2 * in_page + 1, 19);
  const std::vector<uint32_t> memory = {4, 2, 6};
  const JobPages job(arena_, job_layout(), nullptr, pages, {memory, 0});
  std::vector<const uint8_t*> begins;
  for (const uint8_t* page : job.indexes()) {
    begins.push_back(page + job_layout().index_offset(0, 0));
  }
  for (size_t i = 0; i < begins.size(); ++i) {
    const uint8_t* const of_memory = arena_.data(memory[i / in_page]);
    EXPECT_EQ(begins[i], of_memory + i % in_page * job_layout().indexes_bytes());
    EXPECT_LE(begins[i] + job_layout().indexes_bytes(), of_memory + arena_.page_bytes());
  }
}

}  // namespace
}  // namespace cascade
