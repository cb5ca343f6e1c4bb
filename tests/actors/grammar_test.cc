// Answers that must keep to a form, through scheduler and engine: the form, the same answer
// whatever runs at the same time, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/actors/scheduler_world.h"
#include "tests/long_tests.h"

namespace cascade {
namespace {

using testing::ask;
using testing::bursts_of;
using ::testing::HasSubstr;
using testing::query_text;
using testing::SchedulerWorld;

constexpr char kCity[] = R"({"type": "object", "properties": {
    "city": {"type": "string", "maxLength": 12}, "people": {"type": "integer", "minimum": 0},
    "tags": {"type": "array", "items": {"enum": ["capital", "port", "old"]}, "maxItems": 3},
    "near": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
    "required": ["city", "people", "tags"], "additionalProperties": false})";

wire::GenerateRequest asked(uint64_t seed, const char* schema = kCity) {
  auto request = ask({query_text("Tell me of a city.")});
  request.ignore_eos = false;
  request.max_tokens = 150;
  request.thinking = false;
  request.sampling.temperature = 1.5;
  request.sampling.top_k = 0;
  request.sampling.top_p = 1;
  request.sampling.seed = seed;
  request.logprobs = true;
  request.grammar = {GrammarKind::kJsonSchema, schema};
  return request;
}

void expect_city(const Json& city) {
  ASSERT_TRUE(city.is_object());
  EXPECT_TRUE(city.at("city").is_string());
  // The number has up to 20 digits, so a reader may turn it into a double.
  EXPECT_EQ(std::fmod(city.at("people").get<double>(), 1), 0);
  EXPECT_LE(city.at("tags").size(), 3u);
  for (const auto& [key, value] : city.items()) {
    EXPECT_TRUE(key == "city" || key == "people" || key == "tags" || key == "near") << key;
  }
  if (city.contains("near") && !city["near"].is_null()) expect_city(city["near"]);
}

TEST(GrammarRequest, an_answer_that_ends_has_the_form) {
  SchedulerWorld world;
  int ended = 0;
  const int seeds = testing::long_or(30, 10);
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(seeds); ++seed) {
    const auto final = world.one<wire::Final>(world.send(asked(seed)));
    if (final.finish_reason == "length") continue;
    EXPECT_EQ(final.finish_reason, "stop");
    const auto json = parse_json(final.text, "text");
    ASSERT_TRUE(json.ok()) << final.text;
    expect_city(*json);
    ++ended;
  }
  EXPECT_GT(ended, seeds / 2);
}

TEST(GrammarRequest, gives_the_same_answer_in_bursts_of_any_length_and_in_any_company) {
  const auto alone = [](int steps) {
    SchedulerWorld world(bursts_of(steps));
    return world.one<wire::Final>(world.send(asked(11)));
  };
  const wire::Final expected = alone(8);
  EXPECT_GT(expected.token_ids.size(), 10u);
  for (const int steps : {1, 3, 64}) EXPECT_EQ(alone(steps).token_ids, expected.token_ids);
  SchedulerWorld world;
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 6; ++i) {
    auto request = asked(i == 3 ? 11 : i, i % 2 == 0 ? R"({"type": "array"})" : kCity);
    if (i == 5) request.grammar.reset();
    numbers.push_back(world.post(request));
  }
  world.pump();
  const auto among = world.one<wire::Final>(numbers[3]);
  EXPECT_EQ(among.token_ids, expected.token_ids);
  EXPECT_EQ(among.logprobs, expected.logprobs);
}

TEST(GrammarRequest, goes_on_when_an_actor_was_restarted_between_two_bursts) {
  SchedulerWorld undisturbed(bursts_of(4)), world(bursts_of(4));
  const auto expected = undisturbed.one<wire::Final>(undisturbed.send(asked(11)));
  const uint64_t number = world.post(asked(11));
  for (int i = 0; i < 6; ++i) {
    world.pump(1);
    if (world.jobs_for(testing::Actor::kPrefill) == 0) world.restart(testing::Actor::kPrefill);
  }
  world.pump();
  EXPECT_EQ(world.one<wire::Final>(number).token_ids, expected.token_ids);
}

TEST(GrammarRequest, thoughts_stand_before_the_answer) {
  auto request = asked(3);
  request.thinking = true;
  request.max_tokens = 400;
  request.sampling.temperature = 0;
  SchedulerWorld world;
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.finish_reason, "stop");
  EXPECT_NE(final.reasoning, "");
  const auto json = parse_json(final.text, "text");
  ASSERT_TRUE(json.ok()) << final.text;
  expect_city(*json);
}

TEST(GrammarRequest, an_answer_that_is_cut_says_so) {
  auto request = asked(1, R"({"type": "string", "minLength": 5000})");
  request.max_tokens = 20;
  SchedulerWorld world;
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_TRUE(final.text.starts_with('"')) << final.text;
}

TEST(GrammarRequest, is_refused_before_anything_is_computed) {
  SchedulerWorld world;
  const auto refused = [&](wire::Grammar grammar) {
    auto request = asked(1);
    request.grammar = std::move(grammar);
    return world.error(world.send(request));
  };
  const Error error = refused({GrammarKind::kJsonSchema, R"({"items": {"if": {}}})"});
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "grammar.schema");
  EXPECT_EQ(error.message, "#/items: if: the keyword is not supported");
  EXPECT_EQ(refused({GrammarKind::kParts, "{"}).field, "grammar.schema");
  EXPECT_EQ(world.status().tokens_prefilled, 0);
}

// An error that a job reports for one sequence reaches only that sequence's request.
TEST(GrammarRequest, an_error_of_one_sequence_is_not_that_of_others) {
  SchedulerWorld world(bursts_of(4));
  world.tamper = [](wire::Message& message) {
    auto* done = std::get_if<wire::DecodeDone>(&message);
    if (done == nullptr || done->sequences.size() < 2) return;
    done->sequences[0].error = unsupported("grammar",
                                           "no token of this model can continue the "
                                           "answer as the grammar requires");
  };
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 2; ++i) {
    auto request = asked(i);
    // The answers are long enough to run together, however slow the machine is: an array may always
    // go on.
    request.grammar = {GrammarKind::kJsonSchema, R"({"type": "array", "minItems": 200})"};
    request.max_tokens = 200;
    numbers.push_back(world.post(request));
  }
  world.pump();
  std::vector<wire::ErrorReply> errors;
  size_t finals = 0;
  for (const uint64_t number : numbers) {
    for (auto& error : world.all<wire::ErrorReply>(number)) errors.push_back(error);
    finals += world.all<wire::Final>(number).size();
  }
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(finals, 1u);
}

TEST(GrammarEngine, tokens_that_were_not_allowed_are_an_error_of_their_sequence) {
  ThreadPool pool(1);
  PageArena arena = *PageArena::create(testing::demo_model().kv_layout.page_bytes(), 4);
  Engine engine(testing::demo_model(), arena, pool);
  wire::DecodeJob job;
  job.steps_max = 3;
  for (uint32_t i = 0; i < 2; ++i) {
    wire::DecodeSequence sequence;
    sequence.sequence = i;
    sequence.token = 7;
    sequence.steps_max = 3;
    sequence.pages = {i};
    sequence.sample.constraint.emplace();
    if (i == 1) sequence.sample.constraint->tokens = {7};
    job.sequences.push_back(sequence);
  }
  const wire::DecodeDone done = run_decode(engine, job);
  EXPECT_FALSE(done.error.has_value());
  EXPECT_FALSE(done.sequences[0].error.has_value());
  EXPECT_EQ(done.sequences[0].token_ids.size(), 3u);
  ASSERT_TRUE(done.sequences[1].error.has_value());
  EXPECT_EQ(done.sequences[1].error->code, ErrorCode::kInternal);
  EXPECT_TRUE(done.sequences[1].token_ids.empty());
}

}  // namespace
}  // namespace cascade
