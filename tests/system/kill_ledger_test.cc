// The ledger with which a kill loop compares the daemon: which states it must accept.
#include "tests/system/kill_ledger.h"

#include <gtest/gtest.h>

#include "cache/holders.h"

namespace cascade::testing {
namespace {

constexpr int64_t kHourUs = 3'600'000'000;

// A moment later than all earlier ones.
int64_t next_us() {
  const int64_t before_us = now_us();
  int64_t moment_us = before_us;
  while (moment_us <= before_us) moment_us = now_us();
  return moment_us;
}

Holder holder_until(int64_t expires_us, const std::string& name = "") {
  Holder holder;
  holder.kind = name.empty() ? HolderKind::kRetention : HolderKind::kName;
  holder.label = name;
  holder.expires_us = expires_us;
  holder.priority = kPriorityNormal;
  return holder;
}

Chunk chunk_of(const std::vector<Holder>& holders) {
  Chunk chunk;
  chunk.id = "chunk_of_the_test";
  chunk.text = "Paris";
  chunk.token_ids = {1, 2, 3};
  for (const Holder& holder : holders) (void)add_holder(chunk, holder);
  return chunk;
}

// A ledger with a change of the chunk under way.
Ledger ledger_with(const wire::ChunkUpdate& settings) {
  Pending change;
  change.id = chunk_of({}).id;
  change.settings = settings;
  Ledger ledger;
  ledger.begin(change);
  return ledger;
}

wire::ChunkUpdate name_for_an_hour() {
  wire::ChunkUpdate settings;
  settings.name = "table";
  settings.ttl_ms = kHourUs / 1000;
  return settings;
}

TEST(KillLedger, tells_two_holders_apart_that_end_in_the_same_milliseconds) {
  Ledger ledger = ledger_with(name_for_an_hour());
  const int64_t changed_us = next_us();
  // The retention happens to end at a time at which the name may end as well, and its holder comes
  // before that of the name.
  const Holder other = holder_until(next_us() + kHourUs);
  EXPECT_EQ(ledger.learn(chunk_of({other})), "");
  EXPECT_EQ(ledger.acknowledge(chunk_of({other, holder_until(changed_us + kHourUs, "table")})), "");
}

TEST(KillLedger, finds_a_time_that_the_change_cannot_have_set) {
  Ledger ledger = ledger_with(name_for_an_hour());
  const Holder other = holder_until(now_us() + kHourUs);
  EXPECT_EQ(ledger.learn(chunk_of({other})), "");
  const Holder name = holder_until(now_us() + 2 * kHourUs, "table");
  EXPECT_NE(ledger.acknowledge(chunk_of({other, name})), "");
}

TEST(KillLedger, takes_a_change_for_right_that_came_between_the_ends_of_two_holders) {
  wire::ChunkUpdate settings;
  settings.priority = 90;
  Ledger ledger = ledger_with(settings);
  const Holder first = holder_until(next_us());
  Holder second = holder_until(next_us());
  const Holder third = holder_until(now_us() + kHourUs);
  EXPECT_EQ(ledger.learn(chunk_of({first, second, third})), "");
  // The first holder had ended and the second had not, so the second was the one to be changed.
  second.priority = 90;
  EXPECT_EQ(ledger.acknowledge(chunk_of({second, third})), "");
}

}  // namespace
}  // namespace cascade::testing
