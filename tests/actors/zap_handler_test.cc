// Which clients get past the handshake.
#include "actors/zap_handler.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

const auto kAll = [](const std::string&) { return true; };
const auto kNone = [](const std::string&) { return false; };
const std::string kKey(32, 'k');

wire::Frames zap_request() {
  return {"1.0", "id", kZapDomain, "127.0.0.1", "", "CURVE", kKey};
}

TEST(ZapHandler, lets_in_whose_key_is_allowed_and_names_the_key) {
  const wire::Frames answer = zap_answer(zap_request(), kAll);
  ASSERT_EQ(answer.size(), 6u);
  EXPECT_EQ(answer[0], "1.0");
  EXPECT_EQ(answer[1], "id");
  EXPECT_EQ(answer[2], "200");
  EXPECT_EQ(answer[4].size(), 40u);
}

TEST(ZapHandler, lets_everybody_in_at_a_door_without_keys) {
  const wire::Frames answer = zap_answer({"1.0", "id", kOpenZapDomain, "", "", "NULL"}, kNone);
  EXPECT_EQ(answer, (wire::Frames{"1.0", "id", "200", "OK", "", ""}));
  wire::Frames curve = zap_request();
  curve[2] = kOpenZapDomain;
  EXPECT_EQ(zap_answer(curve, kNone)[2], "400");
}

TEST(ZapHandler, refuses_everybody_else) {
  EXPECT_EQ(zap_answer(zap_request(), kNone)[2], "400");
  const auto changed = [](size_t frame, const std::string& text) {
    wire::Frames frames = zap_request();
    frames[frame] = text;
    return frames;
  };
  for (const wire::Frames& frames :
       {changed(2, "other"), changed(5, "NULL"), changed(5, "PLAIN"), changed(6, "short")}) {
    EXPECT_EQ(zap_answer(frames, kAll)[2], "400");
  }
  EXPECT_EQ(zap_answer({"1.0", "id", kZapDomain, "", "", "NULL"}, kAll)[2], "400");
  EXPECT_TRUE(zap_answer({"2.0", "id"}, kAll).empty());
  EXPECT_TRUE(zap_answer({}, kAll).empty());
}

}  // namespace
}  // namespace cascade
