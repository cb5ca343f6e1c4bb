// The table of an estimate, as people read it.
#include "bench/eval/estimate_text.h"

#include <gtest/gtest.h>

namespace cascade::eval {
namespace {

TEST(EstimateText, has_what_all_share_and_a_line_for_each_length) {
  const EstimateFacts facts = {.model = "models/big",
                               .types = {.weight_type = WeightType::kInt4,
                                         .kv_type = KvType::kInt8,
                                         .threads = 2,
                                         .sequences = 3},
                               .weights = "int4 and q6k",
                               .why = "92 % of their bytes are Q4_0",
                               .context_tokens_max = 32'768,
                               .kv_bytes_max = int64_t{80} << 20,
                               .memory_bytes = int64_t{160} << 20,
                               .memory_set_by = "/sys/fs/cgroup/memory.max"};
  MemoryEstimate needed = {.weights_bytes = uint64_t{3} << 29,
                           .kv_bytes = 3 * 1'048'576,
                           .activation_bytes = 1'500'000,
                           .total_bytes = 0,
                           .pages = 3,
                           .page_bytes = 1'048'576};
  needed.total_bytes = needed.weights_bytes + needed.kv_bytes + needed.activation_bytes;
  EXPECT_EQ(estimate_text(facts, {{64, needed, needed.kv_bytes, 4 << 20, needed.total_bytes},
                                  {32'768, needed, 2 << 20, 4 << 20, uint64_t{1} << 30}}),
            R"(models/big

weights         1.5 GiB as int4 and q6k: 92 % of their bytes are Q4_0
K and V         16,384 bytes a token as int8
working space   1.4 MiB with 2 threads

        tokens       K and V     in memory  kept on disk memory in all   for 3 sequences
            64       3.0 MiB       3.0 MiB       4.0 MiB       1.5 GiB
        32,768       3.0 MiB       2.0 MiB       4.0 MiB       1.0 GiB   the model's context

Without kv_memory the daemon gives K and V 80.0 MiB, half of the 160.0 MiB that )"
            R"(/sys/fs/cgroup/memory.max allows:
room for 5,120 tokens, and 1.6 GiB in all when the KV cache is full.
Longer sequences are read from disk where memory has no room for them, up to max_disk.
)");
  EstimateFacts other = facts;
  other.why = "";
  other.types.sequences = 1;
  other.memory_set_by = "";
  const std::string text = estimate_text(other, {{1, needed}});
  other.kv_memory_is_set = true;
  EXPECT_NE(estimate_text(other, {{1, needed}})
                .find("\nWith kv_memory 80.0 MiB there is room for 5,120 tokens"),
            std::string::npos);
  EXPECT_NE(text.find("1.5 GiB as int4 and q6k\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" memory in all\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("states"), std::string::npos) << text;
  needed.state_bytes = 6 << 20;
  EstimateFacts hybrid = facts;
  hybrid.state_memory_bytes = 100 << 20;
  EXPECT_NE(
      estimate_text(hybrid, {{64, needed}})
          .find("\nstates          2.0 MiB a sequence, of recurrent layers; the daemon keeps up "
                "to 50 by default (state_memory), and others on disk\n"),
      std::string::npos);
  EXPECT_NE(text.find("160.0 MiB that this machine has:\n"), std::string::npos) << text;
}

TEST(EstimateText, writes_numbers_for_people) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'000), "1,000");
  EXPECT_EQ(with_commas(-1'234'567), "-1,234,567");
  EXPECT_EQ(with_commas(INT64_MAX), "9,223,372,036,854,775,807");
  EXPECT_EQ(in_units(0), "0 B");
  EXPECT_EQ(in_units(1'023), "1023 B");
  EXPECT_EQ(in_units(1'024), "1.0 KiB");
  EXPECT_EQ(in_units((1 << 20) - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(in_units(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace cascade::eval
