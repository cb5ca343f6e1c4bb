// A conversation that is too long leaves out whole turns first, in jumps, so that most prompts
// begin as the previous one did.
#include "model/conversation_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

// "suatu": a message for each letter, of system, user, assistant or tool.
std::vector<ChatMessage> conversation(const std::string& roles) {
  std::vector<ChatMessage> messages;
  for (const char role : roles) {
    const char* const name = role == 's'   ? "system"
                             : role == 'u' ? "user"
                             : role == 'a' ? "assistant"
                                           : "tool";
    messages.push_back({.role = name, .content = {}, .reasoning = {}});
  }
  return messages;
}

// The letters of the messages that stay.
std::string left(const std::string& roles, const LeftOut& cut) {
  const ConversationCuts cuts(conversation(roles));
  std::string stay;
  for (size_t i = 0; i < roles.size(); ++i) {
    if (cuts.stays(i, cut)) stay += roles[i];
  }
  return stay;
}

// Returns what a conversation leaves out if each of its messages has the size 1.
LeftOut choose(const std::string& roles, int64_t room, int64_t history_max) {
  const std::vector<MessageSize> sizes(roles.size(), {1, 0});
  return ConversationCuts(conversation(roles)).choose(sizes, {room, history_max});
}

TEST(ConversationCut, nothing_is_left_out_if_all_fits) {
  EXPECT_EQ(choose("suauau", 5, 2), LeftOut());
  EXPECT_EQ(choose("u", 1, 0), LeftOut());
  EXPECT_EQ(choose("", 0, 0), LeftOut());
  EXPECT_EQ(choose("ss", 0, 0), LeftOut()) << "system messages always stay";
}

TEST(ConversationCut, the_oldest_turns_are_left_out_until_the_history_has_its_size) {
  EXPECT_EQ(choose("suauauau", 6, 4), (LeftOut{1, 0}));
  EXPECT_EQ(choose("suauauau", 6, 2), (LeftOut{2, 0}));
  EXPECT_EQ(choose("suauauau", 6, 3), (LeftOut{2, 0}));
  EXPECT_EQ(left("suauauau", {2, 0}), "suau");
  EXPECT_EQ(choose("suauauau", 1, 9), (LeftOut{3, 0})) << "the room counts, too";
}

TEST(ConversationCut, the_newest_turn_stays_even_if_it_does_not_fit) {
  EXPECT_EQ(choose("suauau", 0, 0), (LeftOut{2, 0}));
  EXPECT_EQ(left("suauau", {2, 0}), "su");
  EXPECT_EQ(choose("uu", 1, 0), LeftOut()) << "two messages of the user are one turn";
}

TEST(ConversationCut, a_turn_is_a_question_with_all_that_follows) {
  EXPECT_EQ(left("suatatauatau", {1, 0}), "suatau");
  EXPECT_EQ(left("suatatauatau", {2, 0}), "su");
  EXPECT_EQ(left("auau", {1, 0}), "uau") << "an answer without a question is a turn of its own";
}

TEST(ConversationCut, of_the_newest_turn_the_oldest_steps_are_left_out_and_its_question_stays) {
  const std::string agent = "suauatatat";
  EXPECT_EQ(choose(agent, 5, 3), (LeftOut{1, 1}));
  EXPECT_EQ(left(agent, {1, 1}), "suatat");
  EXPECT_EQ(choose(agent, 0, 0), (LeftOut{1, 2}));
  EXPECT_EQ(left(agent, {1, 2}), "suat") << "the newest step stays, too";
}

TEST(ConversationCut, a_turn_that_was_cut_between_its_steps_keeps_its_question_later) {
  EXPECT_EQ(left("suatatauau", {0, 2}), "suauau");
}

TEST(ConversationCut, a_history_may_be_shortened_although_all_fits) {
  const std::string roles = "suauauau";
  const std::vector<MessageSize> sizes(roles.size(), {1, 0});
  const ConversationCuts cuts(conversation(roles));
  EXPECT_EQ(cuts.shorten(sizes, 6), LeftOut());
  EXPECT_EQ(cuts.shorten(sizes, 5), (LeftOut{1, 0}));
  EXPECT_EQ(cuts.shorten(sizes, 2), (LeftOut{2, 0}));
  EXPECT_EQ(cuts.shorten(sizes, 0), (LeftOut{3, 0}));
  EXPECT_EQ(ConversationCuts({}).shorten({}, 0), LeftOut());
}

TEST(ConversationCut, thoughts_count_in_the_newest_turn_only) {
  const auto cut = [](const std::string& roles) {
    std::vector<MessageSize> sizes(roles.size(), {1, 0});
    sizes[3].in_newest_turn = 5;
    return ConversationCuts(conversation(roles)).choose(sizes, {7, 7});
  };
  EXPECT_EQ(cut("uauat"), (LeftOut{1, 0})) << "the thoughts of a step: 10 of 7";
  EXPECT_EQ(cut("uauau"), LeftOut()) << "no prompt had them";
  EXPECT_EQ(cut("uauatau"), (LeftOut{1, 0})) << "a prompt of an earlier turn had them";
}

TEST(ConversationCut, places_follow_each_other) {
  const ConversationCuts cuts(conversation("suatatauau"));
  std::vector<LeftOut> places = {{}};
  while (cuts.after(places.back()) != places.back()) places.push_back(cuts.after(places.back()));
  EXPECT_EQ(places, (std::vector<LeftOut>{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {2, 0}}));
  EXPECT_EQ(cuts.most(), (LeftOut{2, 0}));
  EXPECT_EQ(cuts.system_messages(), 1u);
}

TEST(ConversationCut, the_messages_that_stay_are_in_order) {
  std::vector<ChatMessage> messages = conversation("suauau");
  for (size_t i = 0; i < messages.size(); ++i) messages[i].content = std::to_string(i);
  std::string contents;
  for (const ChatMessage& kept : kept_messages(messages, ConversationCuts(messages), {1, 0})) {
    contents += kept.content;
  }
  EXPECT_EQ(contents, "0345");
}

// The sizes of the messages that stay, without system messages.
int64_t size_left(const std::vector<ChatMessage>& messages, const std::vector<MessageSize>& sizes,
                  const LeftOut& cut) {
  const ConversationCuts cuts(messages);
  size_t turn = messages.size();
  while (turn > 0 && messages[turn - 1].role != "user") --turn;
  int64_t size = 0;
  for (size_t i = cuts.system_messages(); i < messages.size(); ++i) {
    if (!cuts.stays(i, cut)) continue;
    size += sizes[i].always + (i >= turn ? sizes[i].in_newest_turn : 0);
  }
  return size;
}

// A conversation grows prompt by prompt. No prompt takes back a cut, each fits or has only its
// newest part, and a cut is made only where the prompt would not fit with the previous one.
TEST(ConversationCut, random_conversations_begin_as_before_until_they_do_not_fit) {
  Random random(test_seed());
  for (int round = long_or(2000, 300); round > 0; --round) {
    std::vector<ChatMessage> messages = conversation(random.below(2) == 0 ? "" : "s");
    std::vector<MessageSize> sizes(messages.size(), {1000, 0});
    const CutLimits limits = {static_cast<int64_t>(20 + random.below(60)),
                              static_cast<int64_t>(random.below(40))};
    LeftOut before;
    const auto add = [&](const std::string& roles) {
      for (ChatMessage& message : conversation(roles)) {
        messages.push_back(std::move(message));
        const auto thoughts = roles == "a" ? random.below(8) : 0;
        sizes.push_back({static_cast<int64_t>(random.below(12)), static_cast<int64_t>(thoughts)});
      }
    };
    for (int prompts = 40; prompts > 0; --prompts) {
      const bool goes_on = !messages.empty() && messages.back().role == "assistant";
      add(goes_on && random.below(3) > 0 ? "t" : "u");
      const ConversationCuts cuts(messages);
      const LeftOut cut = cuts.choose(sizes, limits);
      ASSERT_GE(cut, before);
      const bool fits_as_before = size_left(messages, sizes, before) <= limits.room;
      ASSERT_EQ(cut == before, fits_as_before || before == cuts.most());
      const bool fits = size_left(messages, sizes, cut) <= limits.room;
      ASSERT_TRUE(fits || cut == cuts.most());
      before = cut;
      add("a");
    }
  }
}

}  // namespace
}  // namespace cascade::testing
