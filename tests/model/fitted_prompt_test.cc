// Prompts of conversations that are too long fit their room, and continue each other.
#include "model/fitted_prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/conversation_cut.h"
#include "model/stand_in.h"
#include "tests/model/conversation_testing.h"

namespace cascade::testing {
namespace {

const TextModel& demo_text() {
  static const TextModel model = demo_text_model();
  return model;
}

FittedPrompt fitted(const Messages& messages, int64_t room, bool goes_on = false) {
  const auto prompt = encode_fitted(demo_text().context({}), messages, goes_on, {room});
  EXPECT_TRUE(prompt.ok()) << prompt.error().to_string();
  return prompt.ok() ? *prompt : FittedPrompt();
}

int64_t tokens(const FittedPrompt& fitted) {
  return std::ssize(fitted.prompt.token_ids);
}

// A conversation of questions and answers that ends with a question.
Messages long_chat(int turns, const std::string& system = "Be brief.") {
  Messages messages = {message("system", system)};
  for (int i = 1; i <= turns; ++i) {
    const std::string number = std::to_string(i);
    messages.push_back(message("user", "Tell me about river " + number + " in a few words."));
    if (i < turns) messages.push_back(message("assistant", "River " + number + " is a river."));
  }
  return messages;
}

TEST(FittedPrompt, a_conversation_that_fits_is_whole) {
  const Messages messages = long_chat(4);
  const auto whole = encode_prompt(demo_text().context({}), messages);
  ASSERT_TRUE(whole.ok());
  const auto room = std::ssize(whole->token_ids);
  EXPECT_EQ(fitted(messages, room).prompt.token_ids, whole->token_ids);
  EXPECT_EQ(fitted(messages, room).left_out, LeftOut());
  EXPECT_GT(fitted(messages, room - 1).left_out, LeftOut());
}

TEST(FittedPrompt, what_is_left_is_the_prompt_of_the_messages_that_stay) {
  const Messages messages = long_chat(30);
  const FittedPrompt prompt = fitted(messages, 300);
  ASSERT_GT(prompt.left_out.turns, 0);
  const Messages kept = kept_messages(messages, ConversationCuts(messages), prompt.left_out);
  EXPECT_EQ(kept.front().role, "system");
  EXPECT_EQ(kept.back().content, messages.back().content);
  const auto same = encode_prompt(demo_text().context({}), kept);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(prompt.prompt.token_ids, same->token_ids);
}

TEST(FittedPrompt, each_prompt_of_a_growing_chat_fits_and_most_begin_as_the_one_before) {
  constexpr int64_t kRoom = 300;
  int jumps = 0;
  FittedPrompt before;
  for (int turns = 1; turns <= 60; ++turns) {
    const FittedPrompt next = fitted(long_chat(turns), kRoom);
    ASSERT_LE(tokens(next), kRoom);
    ASSERT_GE(next.left_out, before.left_out);
    if (next.left_out != before.left_out) {
      ++jumps;
      ASSERT_LE(tokens(next), kRoom / 2 + 60) << "half of the room, and the newest question";
    }
    before = next;
  }
  EXPECT_GE(jumps, 2);
  EXPECT_LE(jumps, 60 / 4) << "a jump makes room for several turns";
}

TEST(FittedPrompt, a_shortened_history_is_the_beginning_of_the_next_prompt_that_is_too_long) {
  constexpr int64_t kRoom = 300;
  Messages messages = long_chat(9);
  messages.push_back(message("assistant", "River 9 is a river."));
  const auto history = encode_shortened_history(demo_text().context({}), messages, 100, {kRoom});
  ASSERT_TRUE(history.ok());
  EXPECT_GT(history->left_out.turns, 0);
  EXPECT_LE(std::ssize(history->token_ids), kRoom / 2 + 20) << "half, and the system prompt";
  Messages next = kept_messages(messages, ConversationCuts(messages), history->left_out);
  next.push_back(message("user", "And what of lakes?"));
  const auto prompt = encode_prompt(demo_text().context({}), next);
  ASSERT_TRUE(prompt.ok());
  ASSERT_GT(prompt->token_ids.size(), history->token_ids.size());
  EXPECT_TRUE(std::ranges::equal(history->token_ids,
                                 std::span(prompt->token_ids).first(history->token_ids.size())));
}

TEST(FittedPrompt, a_history_is_whole_while_there_is_room_for_what_comes_next) {
  Messages messages = long_chat(9);
  messages.push_back(message("assistant", "River 9 is a river."));
  const Ids whole = *encode_history(demo_text().context({}), messages);
  const int64_t room = std::ssize(whole) + 50;
  EXPECT_EQ(encode_shortened_history(demo_text().context({}), messages, 50, {room})->token_ids,
            whole);
  EXPECT_GT(encode_shortened_history(demo_text().context({}), messages, 51, {room})->left_out,
            LeftOut());
}

TEST(FittedPrompt, what_was_computed_ahead_is_preferred_once_there_is_no_room) {
  const Messages messages = long_chat(30);
  const LeftOut preferred = {22, 0};
  EXPECT_EQ(encode_fitted(demo_text().context({}), messages, false, {10'000, preferred})->left_out,
            LeftOut());
  EXPECT_EQ(encode_fitted(demo_text().context({}), messages, false, {300, preferred})->left_out,
            preferred);
  EXPECT_GT(encode_fitted(demo_text().context({}), messages, false, {100, preferred})->left_out,
            preferred)
      << "it does not fit";
  EXPECT_GT(encode_fitted(demo_text().context({}), messages, false, {300, {9, 9}})->left_out,
            LeftOut())
      << "there is no such place";
}

TEST(FittedPrompt, the_first_place_after_which_the_rest_fits_has_its_summary) {
  const Messages messages = long_chat(30);
  const std::vector<StandIn> summaries = {
      {{5, 0}, "five"}, {{15, 0}, "fifteen"}, {{22, 0}, "more"}, {{25, 0}, "most"}};
  const auto encode = [&](int64_t room) {
    auto fitted = encode_fitted(demo_text().context({}), messages, false, {room, {}, summaries});
    EXPECT_TRUE(fitted.ok());
    return *fitted;
  };
  EXPECT_EQ(encode(10'000).summarised, std::nullopt) << "nothing is left out";
  for (const int64_t room : {700, 500, 400, 300, 250}) {
    const FittedPrompt prompt = encode(room);
    ASSERT_TRUE(prompt.summarised.has_value()) << room;
    EXPECT_EQ(prompt.summarised, prompt.left_out);
    EXPECT_LE(tokens(prompt), room);
    Messages kept = kept_messages(messages, ConversationCuts(messages), prompt.left_out);
    put_stand_in(stand_in_for(summaries, prompt.left_out)->text, kept);
    EXPECT_EQ(prompt.prompt.token_ids, encode_prompt(demo_text().context({}), kept)->token_ids);
    for (const StandIn& earlier : summaries) {
      if (earlier.cut >= prompt.left_out) break;
      Messages more = kept_messages(messages, ConversationCuts(messages), earlier.cut);
      put_stand_in(earlier.text, more);
      EXPECT_GT(std::ssize(encode_prompt(demo_text().context({}), more)->token_ids), room);
    }
  }
  const FittedPrompt least = encode(120);
  EXPECT_GT(least.left_out.turns, 25) << "no summary is of so many turns";
  EXPECT_EQ(least.summarised, (LeftOut{25, 0}));
}

TEST(FittedPrompt, what_stood_in_before_stands_in_a_prompt_that_fits) {
  const Messages messages = long_chat(3);
  const std::vector<StandIn> before = {{{}, "They met."}};
  const auto fitted = encode_fitted(demo_text().context({}), messages, false, {10'000, {}, before});
  ASSERT_TRUE(fitted.ok());
  EXPECT_EQ(fitted->left_out, LeftOut());
  EXPECT_EQ(fitted->summarised, LeftOut());
  Messages with = messages;
  put_stand_in("They met.", with);
  EXPECT_EQ(fitted->prompt.token_ids, encode_prompt(demo_text().context({}), with)->token_ids);
}

TEST(FittedPrompt, a_shortened_history_has_a_summary_as_the_next_prompt_will) {
  constexpr int64_t kRoom = 300;
  Messages messages = long_chat(9);
  messages.push_back(message("assistant", "River 9 is a river."));
  const std::vector<StandIn> summaries = {{{2, 0}, "They spoke of two rivers."},
                                          {{5, 0}, "They spoke of five rivers."}};
  const auto history =
      encode_shortened_history(demo_text().context({}), messages, 100, {kRoom, {}, summaries});
  ASSERT_TRUE(history.ok());
  ASSERT_TRUE(history->summarised.has_value());
  EXPECT_EQ(history->left_out, *history->summarised);
  messages.push_back(message("user", std::string("And what of lakes? ").append(80, 'x')));
  const auto prompt = encode_fitted(demo_text().context({}), messages, false,
                                    {kRoom, history->left_out, summaries});
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(prompt->left_out, history->left_out);
  EXPECT_TRUE(std::ranges::equal(
      history->token_ids, std::span(prompt->prompt.token_ids).first(history->token_ids.size())));
}

TEST(FittedPrompt, a_history_of_one_long_turn_is_not_shortened) {
  Messages messages = {message("user", std::string(3000, 'x')), message("assistant", "Yes.")};
  const auto history = encode_shortened_history(demo_text().context({}), messages, 100, {300});
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->left_out, LeftOut());
  EXPECT_EQ(history->token_ids, *encode_history(demo_text().context({}), messages));
}

TEST(FittedPrompt, a_long_system_prompt_stays_and_leaves_less_room_for_turns) {
  const std::string system(400, 'a');
  const Messages messages = long_chat(30, system);
  const FittedPrompt prompt = fitted(messages, 500);
  EXPECT_LE(tokens(prompt), 500);
  EXPECT_NE(prompt.prompt.text.find(system), std::string::npos);
  EXPECT_LT(prompt.left_out.turns, 29) << "half of what the system prompt leaves is for history";
}

TEST(FittedPrompt, without_room_for_the_newest_turn_all_others_are_left_out) {
  const FittedPrompt prompt = fitted(long_chat(5), 3);
  EXPECT_GT(tokens(prompt), 3);
  EXPECT_EQ(prompt.left_out, (LeftOut{4, 0}));
}

TEST(FittedPrompt, of_an_answer_that_goes_on_the_beginning_stays) {
  Messages messages = long_chat(20);
  messages.push_back(message("assistant", "River 20 begins"));
  const FittedPrompt prompt = fitted(messages, 200, /*goes_on=*/true);
  EXPECT_LE(tokens(prompt), 200);
  EXPECT_TRUE(prompt.prompt.text.ends_with("River 20 begins"));
  EXPECT_GT(prompt.left_out.turns, 0);
}

TEST(FittedPrompt, a_conversation_with_far_too_much_text_is_cut_before_it_is_tokenized_as_a_whole) {
  Messages messages = long_chat(3);
  messages[1].content = std::string(100'000, 'x');
  const FittedPrompt prompt = fitted(messages, 200);
  EXPECT_EQ(prompt.left_out, (LeftOut{1, 0}));
}

TEST(FittedPrompt, thoughts_of_earlier_turns_take_no_room_because_templates_leave_them_out) {
  Messages messages = long_chat(4);
  const FittedPrompt plain = fitted(messages, 400);
  messages[2].reasoning = std::string(2000, 'y');
  EXPECT_EQ(fitted(messages, 400).left_out, plain.left_out);
}

// A template may write more around messages than short ones show.
TEST(FittedPrompt, a_template_with_surprises_still_gets_prompts_that_fit) {
  const TextModel model = text_model_with(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
      "{% if m.content | length > 20 %}{{ 'and more ' * 8 }}{% endif %}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
  for (int turns = 5; turns < 60; turns += 5) {
    const auto prompt = encode_fitted(model.context({}), long_chat(turns), false, {600});
    ASSERT_TRUE(prompt.ok());
    EXPECT_LE(std::ssize(prompt->prompt.token_ids), 600);
    EXPECT_LT(prompt->left_out.turns, turns - 1) << "more than the newest turn stays";
  }
}

TEST(FittedPrompt, thoughts_count_where_the_template_keeps_them) {
  const TextModel model = text_model_with(
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.reasoning_content or '' }}"
      "{{ m.content }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
  Messages messages = long_chat(20);
  for (ChatMessage& m : messages) {
    if (m.role == "assistant") m.reasoning = "The river is long, and its water is cold in winter.";
  }
  const auto prompt = encode_fitted(model.context({}), messages, false, {400});
  ASSERT_TRUE(prompt.ok());
  EXPECT_LE(std::ssize(prompt->prompt.token_ids), 400 / 2 + 60) << "it was counted at once";
}

// The form of the newest turn does not change what is left out.
TEST(FittedPrompt, an_agents_prompts_begin_as_the_one_before) {
  Messages messages = long_chat(1);
  LeftOut before;
  int jumps = 0;
  for (int step = 0; step < 120; ++step) {
    const auto prompt = encode_fitted(demo_text().context({}), messages, false, {500});
    ASSERT_TRUE(prompt.ok());
    ASSERT_LE(std::ssize(prompt->prompt.token_ids), 500);
    ASSERT_GE(prompt->left_out, before) << "step " << step;
    jumps += prompt->left_out != before ? 1 : 0;
    before = prompt->left_out;
    messages.push_back(message("assistant", "I look it up.", "Where would that be?"));
    if (step % 7 == 6) {
      messages.push_back(message("user", "And now another one, please."));
      if (step % 2 == 0) messages.push_back(message("user", "Be quick."));
    } else {
      messages.push_back(message("tool", "Result " + std::to_string(step) + ": nothing."));
    }
  }
  EXPECT_GT(jumps, 3);
  EXPECT_LT(jumps, 120 / 4);
}

TEST(FittedPrompt, an_error_of_the_template_is_the_answer) {
  const TextModel model = text_model_with("{{ raise_exception('never') }}");
  const auto failed = encode_fitted(model.context({}), long_chat(30), false, {100});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cascade::testing
