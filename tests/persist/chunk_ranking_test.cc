// Chunks are ranked by the words of a question.
#include "persist/chunk_ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::make_chunk;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;

TEST(ChunkRanking, chunks_with_the_rarest_words_of_a_question_come_first) {
  MemoryDisk disk;
  auto store = open_store(disk);
  std::vector<std::string> ids;
  const auto put = [&](const std::string& text, const std::string& query = "",
                       const std::string& tenant = "a") {
    Chunk chunk = make_chunk(static_cast<int>(ids.size()) + 1, tenant);
    chunk.text = text;
    chunk.query_text = query;
    EXPECT_TRUE(ok(store->put(chunk)));
    ids.push_back(chunk.id);
  };
  put("The code of the hat is 1.");
  put("The code of the box is 2.");
  put("nothing at all");
  put("Ana visited Peru.", "a café");
  put("The code of the box of another tenant.", "", "b");
  const auto ranked = [&](const std::string& question, const std::vector<std::string>& among,
                          size_t limit = 10) {
    const auto best = rank_chunks(store->database(), "a", question, among, limit);
    EXPECT_TRUE(ok(best));
    return *best;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ranked("What is the code of the box?", ids), ElementsAre(ids[1], ids[0]));
  EXPECT_THAT(ranked("What is the code of the box?", ids, 1), ElementsAre(ids[1]));
  EXPECT_THAT(ranked("What is the code of the box?", {ids[0], "unknown"}), ElementsAre(ids[0]));
  EXPECT_THAT(ranked("Has somebody visited it?", ids), ElementsAre(ids[3]));
  EXPECT_THAT(ranked("nothing, code", ids), ElementsAre(ids[2], ids[1], ids[0]))
      << "one rare word, and then the newest";
  EXPECT_THAT(ranked("CAFE", ids), ElementsAre(ids[3]));
  EXPECT_THAT(ranked("code", {}), ElementsAre());
  EXPECT_THAT(ranked("?!", ids), ElementsAre());
  EXPECT_THAT(ranked("\"code\" NOT AND ( * : \xFF box", {ids[1], "\xFF"}), ElementsAre(ids[1]));
  std::string long_question = "box ";
  for (int i = 0; i < 5000; ++i) long_question += "word" + std::to_string(i) + " ";
  EXPECT_THAT(ranked(long_question, ids), ElementsAre(ids[1]));
}

TEST(ChunkRanking, chunks_in_between_that_are_of_others_do_not_matter) {
  MemoryDisk disk;
  auto store = open_store(disk);
  std::vector<std::string> ids;
  for (uint64_t i = 0; i < 60; ++i) {
    Chunk chunk = make_chunk(i + 1, i % 3 == 0 ? "b" : "a");
    chunk.text = i % 3 == 1 ? "a box and a hat" : "a box of others";
    if (i == 31) chunk.text += " and a rare dodo";
    ASSERT_TRUE(ok(store->put(chunk)));
    if (i % 3 == 1) ids.push_back(chunk.id);
  }
  const auto best = rank_chunks(store->database(), "a", "Which box has the dodo?", ids, 5);
  ASSERT_TRUE(ok(best));
  ASSERT_EQ(best->size(), 5u);
  EXPECT_EQ(best->front(), ids[10]);
  EXPECT_EQ((*best)[1], ids.back()) << "of equal ones the newest";
}

}  // namespace
}  // namespace cascade
