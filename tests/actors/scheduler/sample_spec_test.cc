// The model, or chance, decides what a request does not set.
#include "actors/scheduler/sample_spec.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

GenerationConfig model_defaults() {
  GenerationConfig defaults;
  defaults.do_sample = true;
  defaults.temperature = 0.6;
  defaults.top_p = 0.9;
  defaults.top_k = 20;
  defaults.repetition_penalty = 1.1;
  return defaults;
}

TEST(SampleSpecs, take_the_models_defaults) {
  const wire::SampleSpec spec = sample_spec({}, model_defaults(), [] { return 7; });
  EXPECT_EQ(spec.temperature, model_defaults().temperature);
  EXPECT_EQ(spec.top_p, model_defaults().top_p);
  EXPECT_EQ(spec.top_k, 20);
  EXPECT_EQ(spec.repetition_penalty, model_defaults().repetition_penalty);
  EXPECT_EQ(spec.seed, 7u);
}

TEST(SampleSpecs, are_greedy_where_the_model_does_not_sample) {
  GenerationConfig defaults = model_defaults();
  defaults.do_sample = false;
  const wire::SampleSpec spec = sample_spec({}, defaults, [] { return 7; });
  EXPECT_EQ(spec.temperature, 0);
  EXPECT_EQ(spec.top_p, 1);
  EXPECT_EQ(spec.top_k, 0);
}

TEST(SampleSpecs, have_what_the_request_names) {
  wire::GenerateRequest request;
  request.sampling.temperature = 0;
  request.sampling.seed = 3;
  request.sampling.logit_bias = {{5, -1.5}};
  request.top_logprobs = 2;
  request.grammar.emplace();
  request.thinking = false;
  int draws = 0;
  const wire::SampleSpec spec = sample_spec(request, model_defaults(), [&] {
    ++draws;
    return 7;
  });
  EXPECT_EQ(spec.temperature, 0);
  EXPECT_EQ(spec.seed, 3u);
  EXPECT_EQ(draws, 0) << "no seed is drawn for it";
  EXPECT_EQ(spec.bias_tokens, std::vector<int32_t>{5});
  EXPECT_EQ(spec.biases, std::vector<float>{-1.5F});
  EXPECT_EQ(spec.top_logprobs, 2);
  ASSERT_TRUE(spec.constraint.has_value());
  EXPECT_FALSE(spec.constraint->may_think);
}

}  // namespace
}  // namespace cascade
