// The registry: tenants apart, beginnings of ids, duplicates, order, limits.
#include "cache/chunk_registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

Chunk make_chunk(std::string tenant, std::string id, std::string text,
                 ChunkType type = ChunkType::kContext) {
  Chunk chunk;
  chunk.id = std::move(id);
  chunk.tenant = std::move(tenant);
  chunk.text = std::move(text);
  chunk.type = type;
  chunk.content_hash = chunk_content_hash(chunk);
  return chunk;
}

std::vector<std::string> ids_of(const ChunkRegistry::Page& page) {
  std::vector<std::string> ids;
  for (const ChunkEntry* entry : page.entries) ids.push_back(entry->chunk.id);
  return ids;
}

using Ids = std::vector<std::string>;

TEST(ChunkRegistry, finds_by_whole_id) {
  ChunkRegistry registry;
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_0001", "x")).ok());
  const auto found = registry.find("a", "chunk_0001");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->chunk.text, "x");
}

TEST(ChunkRegistry, an_entry_stays_where_it_is_while_others_come_and_go) {
  ChunkRegistry registry;
  ChunkEntry* entry = *registry.add(make_chunk("a", "chunk_5000", "x"));
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(
        registry.add(make_chunk("a", "chunk_" + std::to_string(1000 + i), std::to_string(i))).ok());
  }
  for (int i = 0; i < 500; i += 2) {
    ASSERT_TRUE(registry.remove("a", "chunk_" + std::to_string(1000 + i)).ok());
  }
  EXPECT_EQ(*registry.find("a", "chunk_5000"), entry);
}

TEST(ChunkRegistry, another_tenants_chunk_is_not_found_by_any_way) {
  ChunkRegistry registry;
  ASSERT_TRUE(registry.add(make_chunk("alice", "chunk_00000001", "secret")).ok());
  ASSERT_TRUE(registry.add(make_chunk("bob", "chunk_00000002", "other")).ok());
  for (const char* tenant : {"bob", "alic", "alicee", "", "ALICE"}) {
    for (const char* id : {"chunk_00000001", "chunk_0000000", "alice"}) {
      const auto found = registry.find(tenant, id);
      if (found.ok()) {
        EXPECT_EQ((*found)->chunk.tenant,
                  tenant);  // bob's own chunk, found by the beginning of its id
        continue;
      }
      EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
      EXPECT_EQ(found.error().field, "id");
    }
  }
  EXPECT_FALSE(registry.remove("bob", "chunk_00000001").ok());
  EXPECT_EQ(registry.list("bob", std::nullopt, 0, "chunk_00000001").error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(ids_of(*registry.list("bob", std::nullopt, 10, "")), Ids{"chunk_00000002"});
  EXPECT_TRUE(registry.find("alice", "chunk_00000001").ok());
}

TEST(ChunkRegistry, a_nul_in_an_id_does_not_reach_another_tenant) {
  ChunkRegistry registry;
  const std::string nul(1, '\0');
  ASSERT_TRUE(registry.add(make_chunk("a" + nul + "b", "chunk_00000001", "secret")).ok());
  EXPECT_FALSE(registry.find("a", "b" + nul + "chunk_00000001").ok());
  EXPECT_FALSE(registry.find("a", "b" + nul + "chunk_000").ok());
  EXPECT_FALSE(registry.remove("a", "b" + nul + "chunk_00000001").ok());
  EXPECT_EQ(registry.count(false), 1u);
}

TEST(ChunkRegistry, the_same_text_of_two_tenants_is_two_chunks) {
  ChunkRegistry registry;
  ChunkEntry* first = *registry.add(make_chunk("a", "chunk_00000001", "x"));
  ChunkEntry* second = *registry.add(make_chunk("b", "chunk_00000001", "x"));
  EXPECT_NE(first, second);
  EXPECT_EQ(registry.count(false), 2u);
  ASSERT_TRUE(registry.remove("a", "chunk_00000001").ok());
  EXPECT_TRUE(registry.find("b", "chunk_00000001").ok());
  // The content of b is still known as a duplicate; that of a is not.
  EXPECT_EQ((*registry.add(make_chunk("b", "chunk_00000009", "x")))->chunk.id, "chunk_00000001");
  EXPECT_EQ((*registry.add(make_chunk("a", "chunk_00000009", "x")))->chunk.id, "chunk_00000009");
}

TEST(ChunkRegistry, a_beginning_of_eight_characters_names_the_only_chunk_with_it) {
  ChunkRegistry registry;
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_12aa", "1")).ok());
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_12ab", "2")).ok());
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_34cc", "3")).ok());
  ASSERT_TRUE(registry.add(make_chunk("b", "chunk_34cd", "4")).ok());
  EXPECT_EQ((*registry.find("a", "chunk_34"))->chunk.id, "chunk_34cc");
  EXPECT_EQ((*registry.find("a", "chunk_12aa"))->chunk.id, "chunk_12aa");
  const auto ambiguous = registry.find("a", "chunk_12");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ambiguous.error().field, "id");
  // Seven characters of an id name nothing, though only one chunk's id begins with them.
  for (const char* id : {"chunk_3", "", "c"}) {
    const auto found = registry.find("a", id);
    ASSERT_FALSE(found.ok()) << id;
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  }
  EXPECT_FALSE(registry.find("a", "chunk_34ccc").ok());
  EXPECT_FALSE(registry.find("a", "chunk_35").ok());
}

TEST(ChunkRegistry, a_whole_id_wins_over_those_it_begins) {
  ChunkRegistry registry;
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_12", "1")).ok());
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_123", "2")).ok());
  EXPECT_EQ((*registry.find("a", "chunk_12"))->chunk.text, "1");
}

TEST(ChunkRegistry, an_error_does_not_repeat_a_long_id) {
  ChunkRegistry registry;
  const auto found = registry.find("a", std::string(1'000'000, 'x'));
  ASSERT_FALSE(found.ok());
  EXPECT_LT(found.error().message.size(), 200u);
}

TEST(ChunkRegistry, the_same_type_and_text_is_one_chunk) {
  ChunkRegistry registry;
  ChunkEntry* first = *registry.add(make_chunk("a", "chunk_00000001", "x"));
  first->chunk.hits = 3;
  ChunkEntry* again = *registry.add(make_chunk("a", "chunk_00000002", "x"));
  EXPECT_EQ(again, first);
  EXPECT_EQ(again->chunk.id, "chunk_00000001");
  EXPECT_EQ(again->chunk.hits, 3);
  EXPECT_EQ(registry.count(false), 1u);
  const Chunk other_type = make_chunk("a", "chunk_00000003", "x", ChunkType::kSystemPrompt);
  EXPECT_EQ((*registry.add(other_type))->chunk.id, "chunk_00000003");
  // After the removal, the content is new again.
  ASSERT_TRUE(registry.remove("a", "chunk_00000001").ok());
  EXPECT_EQ((*registry.add(make_chunk("a", "chunk_00000004", "x")))->chunk.id, "chunk_00000004");
}

TEST(ChunkRegistry, lists_newest_first_in_pages) {
  ChunkRegistry registry;
  for (int i = 0; i < 7; ++i) {
    const ChunkType type = i % 2 == 0 ? ChunkType::kContext : ChunkType::kOutput;
    ASSERT_TRUE(
        registry.add(make_chunk("a", "chunk_0" + std::to_string(i), std::to_string(i), type)).ok());
    ASSERT_TRUE(
        registry.add(make_chunk("b", "chunk_0" + std::to_string(i), std::to_string(i), type)).ok());
  }
  auto page = registry.list("a", std::nullopt, 3, "");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(ids_of(*page), (Ids{"chunk_06", "chunk_05", "chunk_04"}));
  EXPECT_TRUE(page->more);
  page = registry.list("a", std::nullopt, 4, "chunk_04");
  EXPECT_EQ(ids_of(*page), (Ids{"chunk_03", "chunk_02", "chunk_01", "chunk_00"}));
  EXPECT_FALSE(page->more);
  page = registry.list("a", ChunkType::kOutput, 2, "chunk_06");
  EXPECT_EQ(ids_of(*page), (Ids{"chunk_05", "chunk_03"}));
  EXPECT_TRUE(page->more);
  page = registry.list("a", ChunkType::kOutput, 1, "chunk_03");
  EXPECT_EQ(ids_of(*page), Ids{"chunk_01"});
  EXPECT_FALSE(page->more) << "what follows is of another type";
  EXPECT_TRUE(registry.list("a", ChunkType::kQuery, 5, "")->entries.empty());
  EXPECT_TRUE(registry.list("c", std::nullopt, 5, "")->entries.empty());
  const auto unknown = registry.list("a", std::nullopt, 5, "chunk_99");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().field, "after");
}

TEST(ChunkRegistry, counts_outputs_apart_and_gives_all_in_order_of_creation) {
  ChunkRegistry registry;
  ASSERT_TRUE(registry.add(make_chunk("z", "output_0009", "1", ChunkType::kOutput)).ok());
  ASSERT_TRUE(registry.add(make_chunk("a", "chunk_00005", "2")).ok());
  ASSERT_TRUE(registry.add(make_chunk("m", "output_0001", "3", ChunkType::kOutput)).ok());
  EXPECT_EQ(registry.count(true), 2u);
  EXPECT_EQ(registry.count(false), 1u);
  Ids ids;
  for (const ChunkEntry* entry : registry.all()) ids.push_back(entry->chunk.id);
  EXPECT_EQ(ids, (Ids{"output_0009", "chunk_00005", "output_0001"}));
  const auto removed = registry.remove("z", "output_0");
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(removed->chunk.id, "output_0009");
  EXPECT_EQ(registry.count(true), 1u);
  EXPECT_EQ(registry.all().size(), 2u);
}

TEST(ChunkRegistry, stops_at_its_limit_and_goes_on_after_a_removal) {
  ChunkRegistry registry;
  Chunk chunk = make_chunk("a", "", "");
  for (size_t i = 0; i < ChunkRegistry::kChunksMax; ++i) {
    chunk.id = "chunk_" + std::to_string(1'000'000 + i);
    chunk.content_hash = std::to_string(i);
    ASSERT_TRUE(registry.add(chunk).ok());
  }
  chunk.id = "chunk_x";
  chunk.content_hash = "x";
  const auto refused = registry.add(chunk);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().field, "chunks");
  // A chunk that exists already needs no room.
  chunk.content_hash = "17";
  EXPECT_EQ((*registry.add(chunk))->chunk.id, "chunk_1000017");
  ASSERT_TRUE(registry.remove("a", "chunk_1000017").ok());
  EXPECT_TRUE(registry.add(chunk).ok());
}

TEST(ChunkRegistry, agrees_with_a_naive_list_under_random_use) {
  Random random(testing::test_seed());
  ChunkRegistry registry;
  std::vector<Chunk> model;  // in order of creation
  for (int step = 0; step < 3000; ++step) {
    const std::string tenant(1, static_cast<char>('a' + random.below(2)));
    const std::string id = "chunk_" + std::to_string(step + 10'000);
    const auto type = random.below(2) == 0 ? ChunkType::kContext : ChunkType::kOutput;
    const Chunk chunk = make_chunk(tenant, id, std::to_string(random.below(40)), type);
    const auto same = [&](const Chunk& c) {
      return c.tenant == tenant && c.type == type && c.text == chunk.text;
    };
    const auto present = std::ranges::find_if(model, same);
    if (random.below(2) == 0) {
      const auto added = registry.add(chunk);
      ASSERT_TRUE(added.ok());
      ASSERT_EQ((*added)->chunk.id, present == model.end() ? id : present->id);
      if (present == model.end()) {
        model.push_back((*added)->chunk);
      } else {
        ++present->registrations;
        present->holders = (*added)->chunk.holders;
        EXPECT_EQ(present->holders.front().count, present->registrations);
      }
    } else if (present != model.end()) {
      const auto removed = registry.remove(tenant, present->id);
      ASSERT_TRUE(removed.ok());
      ASSERT_EQ(removed->chunk, *present);
      model.erase(present);
    }
    Ids expected;
    for (auto it = model.rbegin(); it != model.rend(); ++it) {
      if (it->tenant == tenant && it->type == type) expected.push_back(it->id);
    }
    ASSERT_EQ(ids_of(*registry.list(tenant, type, 1000, "")), expected);
    ASSERT_EQ(registry.all().size(), model.size());
  }
}

TEST(ChunkContentHash, depends_on_type_text_and_for_outputs_on_the_turn) {
  Chunk input = make_chunk("a", "chunk_1", "text");
  std::set<std::string> hashes = {input.content_hash};
  const auto is_new = [&](const Chunk& chunk) {
    return hashes.insert(chunk_content_hash(chunk)).second;
  };
  Chunk other = input;
  other.tenant = "b";
  other.id = "chunk_2";
  other.hits = 7;
  EXPECT_FALSE(is_new(other)) << "neither the owner nor the use of a chunk is its content";
  other.text = "text ";
  EXPECT_TRUE(is_new(other));
  other = input;
  other.type = ChunkType::kSystemPrompt;
  EXPECT_TRUE(is_new(other));
  Chunk output = input;
  output.type = ChunkType::kOutput;
  EXPECT_TRUE(is_new(output));
  Chunk turn = output;
  turn.query_text = "q";
  EXPECT_TRUE(is_new(turn));
  turn = output;
  turn.raw_text = "q";
  EXPECT_TRUE(is_new(turn));
  turn = output;
  turn.think_policy = ThinkPolicy::kKeep;
  EXPECT_TRUE(is_new(turn));
  const std::vector<int32_t> prompt = {1, 2};
  EXPECT_TRUE(hashes.insert(chunk_content_hash(output, prompt)).second);
  EXPECT_EQ(chunk_content_hash(input, prompt), input.content_hash) << "inputs have no prompt";
}

TEST(ChunkRegistry, says_why_a_chunk_is_gone) {
  ChunkRegistry registry;
  Chunk short_lived = make_chunk("a", "chunk_00000001", "one");
  short_lived.expires_us = 10;
  ChunkEntry* first = *registry.add(short_lived);
  ChunkEntry* second = *registry.add(make_chunk("a", "chunk_00000002", "two"));
  registry.set_time(10);
  EXPECT_EQ(registry.why_gone("a", "chunk_00000001"), Removal::kExpired) << "it is still to go";
  registry.remove(*first, Removal::kExpired);
  registry.remove(*second, Removal::kDeleted);
  EXPECT_EQ(registry.why_gone("a", "chunk_00000001"), Removal::kExpired);
  EXPECT_EQ(registry.why_gone("a", "chunk_00000002"), Removal::kDeleted);
  EXPECT_EQ(registry.why_gone("a", "chunk_0000"), Removal::kDeleted) << "it was never there";
  EXPECT_EQ(registry.why_gone("nobody", "chunk_00000001"), Removal::kDeleted);
}

}  // namespace
}  // namespace cascade
