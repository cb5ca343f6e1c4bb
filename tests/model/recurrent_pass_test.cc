// The recurrent layers of a pass, compared with a plain computation, on random weights; and their
// bits, however rows are cut into calls and wherever states lie.
#include "model/recurrent_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/quantized_rows.h"
#include "tests/model/random_weights.h"
#include "tests/model/recurrent_pass_testing.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

using Floats = std::vector<float>;

constexpr float kUnset = std::numeric_limits<float>::quiet_NaN();

// A NaN equals itself, and 0 does not equal -0.
bool are_same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

Floats some_rows(const Floats& all, size_t width, size_t first, size_t count) {
  const auto begin = all.begin() + static_cast<ptrdiff_t>(first * width);
  return {begin, begin + static_cast<ptrdiff_t>(count * width)};
}

class RecurrentSubject {
 public:
  RecurrentSubject(const ModelConfig& config, ThreadPool& pool, Isa isa = best_isa())
      : config_(config),
        multiplier_(**kernels_for(isa), pool, 64),
        pass_(config_, **kernels_for(isa), pool, multiplier_, kRows) {}

  // The part of a batch that belongs to one sequence.
  struct Part {
    int count;
    const float* from;
    float* to;
  };
  // The outputs of the rows, one after the other.
  Floats run(const RecurrentWeights& w, int layer, const Floats& x,
             const std::vector<Part>& parts) {
    std::vector<RecurrentPass::Sequence> sequences;
    int rows = 0;
    for (const Part& part : parts) {
      sequences.push_back({rows, part.count, part.from, part.to});
      rows += part.count;
    }
    const auto width = static_cast<size_t>(recurrent_output_width(config_));
    const size_t stride = static_cast<size_t>(w.input.n_padded()) + 16, out_stride = width + 8;
    Floats projected(size_t(rows) * stride, kUnset), out(size_t(rows) * out_stride, kUnset);
    const AlignedBytes quantized = allocate_aligned(quantized_rows_bytes(rows, w.input.k()));
    pass_.begin(sequences);
    pass_.run(w, layer,
              {.x = x.data(),
               .quantized = quantized.get(),
               .projected = projected.data(),
               .projected_stride = stride,
               .out = out.data(),
               .out_stride = out_stride});
    Floats packed;
    for (int row = 0; row < rows; ++row) {
      const auto begin = out.begin() + static_cast<ptrdiff_t>(size_t(row) * out_stride);
      packed.insert(packed.end(), begin, begin + static_cast<ptrdiff_t>(width));
    }
    return packed;
  }

 private:
  static constexpr int kRows = 64;

  const ModelConfig config_;
  MatrixMultiplier multiplier_;
  RecurrentPass pass_;
};

// Expects values that differ by at most 1e-4 of the largest one.
void expect_near(const float* values, const std::vector<double>& expected) {
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-4 * largest) << "value " << i;
  }
}

void expect_state(const float* state, const RecurrentConfig& config, const PlainRecurrence& plain) {
  for (size_t tap = 0; tap < plain.inputs().size(); ++tap) {
    expect_near(state + tap * size_t(config.channels), plain.inputs()[tap]);
  }
  // The matrix of each head has its values in an order of the pass's own.
  const size_t size = size_t(config.key_dim) * size_t(config.value_dim);
  for (size_t head = 0; head < size_t(config.value_heads); ++head) {
    const float* const of_head = state + config.input_floats() + head * size;
    Floats found(of_head, of_head + size);
    const auto begin = plain.matrices().begin() + static_cast<ptrdiff_t>(head * size);
    std::vector<double> expected(begin, begin + static_cast<ptrdiff_t>(size));
    std::ranges::sort(found);
    std::ranges::sort(expected);
    expect_near(found.data(), expected);
  }
}

TEST(RecurrentPass, computes_what_a_plain_recurrence_does) {
  Random random(test_seed());
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const size_t width = size_t(recurrent_output_width(config));
    for (const Isa isa : {Isa::kScalar, best_isa()}) {
      SCOPED_TRACE(kind.name + ", " + std::string(to_string(isa)));
      const RandomRecurrence random_layer(config, kind, random);
      RecurrentSubject subject(config, two_threads(), isa);
      PlainRecurrence plain(config, random_layer.weights);
      Floats state(config.recurrent.state_floats(), kUnset);
      const float* from = nullptr;
      for (const int rows : {1, 2, 37}) {
        const Floats x = random_vector(random, rows * config.hidden_size, 0, 4);
        const Floats out = subject.run(random_layer.weights, 2, x, {{rows, from, state.data()}});
        from = state.data();
        for (int row = 0; row < rows; ++row) {
          SCOPED_TRACE("row " + std::to_string(row) + " of " + std::to_string(rows));
          expect_near(out.data() + size_t(row) * width,
                      plain.step(x.data() + size_t(row) * size_t(config.hidden_size)));
        }
        expect_state(state.data() + config.recurrent.layer_offset(2), config.recurrent, plain);
      }
    }
  }
}

// A sequence of `rows` rows that is computed in one call, by one thread.
struct WholeSequence {
  WholeSequence(const ModelConfig& config, const RecurrentWeights& w, Random& random, int rows)
      : x(random_vector(random, rows * config.hidden_size, 0, 4)),
        state(config.recurrent.state_floats(), kUnset) {
    ThreadPool one(1);
    out = RecurrentSubject(config, one).run(w, 0, x, {{rows, nullptr, state.data()}});
  }

  Floats x, state, out;
};

TEST(RecurrentPass, the_bits_do_not_depend_on_cuts_or_batch_mates_or_threads) {
  Random random(test_seed());
  ThreadPool three(3);
  constexpr int kTotal = 40;
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const size_t hidden = size_t(config.hidden_size);
    const size_t width = size_t(recurrent_output_width(config));
    for (const WeightType type : {WeightType::kF32, WeightType::kInt8}) {
      const RandomRecurrence layer(config, kind, random, type);
      const WholeSequence whole(config, layer.weights, random, kTotal);
      RecurrentSubject subject(config, three);
      for (int round = 0; round < 10; ++round) {
        Floats state(whole.state.size(), kUnset), mate(whole.state.size(), kUnset);
        for (int begin = 0; begin < kTotal;) {
          const int count = 1 + static_cast<int>(random.below(
                                    uint64_t(std::min(round % 2 == 0 ? 4 : 30, kTotal - begin))));
          const int before = static_cast<int>(random.below(4)), after = 1 + before;
          Floats x = random_vector(random, before * config.hidden_size, 0, 4);
          const Floats own = some_rows(whole.x, hidden, size_t(begin), size_t(count));
          const Floats last = random_vector(random, after * config.hidden_size, 0, 4);
          x.insert(x.end(), own.begin(), own.end());
          x.insert(x.end(), last.begin(), last.end());
          Floats other(whole.state.size(), kUnset);
          std::vector<RecurrentSubject::Part> parts = {
              {count, begin == 0 ? nullptr : state.data(), state.data()},
              {after, nullptr, other.data()}};
          if (before > 0) parts.insert(parts.begin(), {before, nullptr, mate.data()});
          const Floats out = subject.run(layer.weights, 0, x, parts);
          ASSERT_TRUE(are_same_bits(some_rows(out, width, size_t(before), size_t(count)),
                                    some_rows(whole.out, width, size_t(begin), size_t(count))))
              << kind.name << ", rows " << begin << " to " << begin + count;
          begin += count;
        }
        ASSERT_TRUE(are_same_bits(state, whole.state)) << kind.name;
      }
    }
  }
}

// Random states; a matrix has small values.
Floats random_state(const ModelConfig& config, Random& random) {
  return random_vector(random, static_cast<int>(config.recurrent.state_floats()), 0, 1);
}

TEST(RecurrentPass, reads_one_state_and_writes_another_or_the_same) {
  Random random(test_seed());
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const RandomRecurrence layer(config, kind, random);
    RecurrentSubject subject(config, two_threads());
    const size_t begin = config.recurrent.layer_offset(2);
    for (const int rows : {1, 2, 5, 20}) {
      SCOPED_TRACE(kind.name + ", " + std::to_string(rows));
      const Floats x = random_vector(random, rows * config.hidden_size, 0, 4);
      const Floats from = random_state(config, random);
      Floats same = from, source = from, to = from;
      // The matrices are those of another sequence.
      std::fill(to.begin() + static_cast<ptrdiff_t>(begin), to.end(), 5.0f);
      const Floats in_place = subject.run(layer.weights, 2, x, {{rows, same.data(), same.data()}});
      const Floats apart = subject.run(layer.weights, 2, x, {{rows, source.data(), to.data()}});
      EXPECT_TRUE(are_same_bits(in_place, apart));
      EXPECT_TRUE(are_same_bits(source, from)) << "the state before is not changed";
      const RecurrentConfig& recurrent = config.recurrent;
      const size_t inputs = size_t(recurrent.taps - 1) * size_t(recurrent.channels);
      const size_t matrices = size_t(recurrent.value_channels()) * size_t(recurrent.key_dim);
      const size_t second = begin + recurrent.input_floats();
      EXPECT_TRUE(
          are_same_bits(some_rows(same, 1, begin, inputs), some_rows(to, 1, begin, inputs)));
      EXPECT_TRUE(
          are_same_bits(some_rows(same, 1, second, matrices), some_rows(to, 1, second, matrices)));
      EXPECT_FALSE(are_same_bits(same, from));
    }
  }
}

TEST(RecurrentPass, no_state_is_one_of_zeros) {
  Random random(test_seed());
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const RandomRecurrence layer(config, kind, random);
    RecurrentSubject subject(config, two_threads());
    const Floats zeros(config.recurrent.state_floats(), 0.0f);
    for (const int rows : {1, 2, 9}) {
      const Floats x = random_vector(random, rows * config.hidden_size, 0, 4);
      Floats first(zeros.size(), 0.0f), second = first;
      EXPECT_TRUE(
          are_same_bits(subject.run(layer.weights, 0, x, {{rows, nullptr, first.data()}}),
                        subject.run(layer.weights, 0, x, {{rows, zeros.data(), second.data()}})))
          << kind.name;
      EXPECT_TRUE(are_same_bits(first, second)) << kind.name;
    }
  }
}

TEST(RecurrentPass, touches_only_the_part_of_its_layer) {
  Random random(test_seed());
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const RandomRecurrence layer(config, kind, random);
    RecurrentSubject subject(config, two_threads());
    const size_t size = config.recurrent.layer_floats();
    for (const int index : {0, 2}) {
      SCOPED_TRACE(kind.name + ", layer " + std::to_string(index));
      const size_t begin = config.recurrent.layer_offset(index);
      const size_t other = size - begin;  // where the other layer's part is
      ASSERT_EQ(begin, index == 0 ? 0 : size);
      Floats from = random_state(config, random);
      std::fill_n(from.begin() + static_cast<ptrdiff_t>(other), size, kUnset);
      for (const bool starts : {false, true}) {
        Floats to(from.size(), kUnset);
        const Floats unset(size, kUnset);
        const Floats x = random_vector(random, 3 * config.hidden_size, 0, 4);
        const Floats out =
            subject.run(layer.weights, index, x, {{3, starts ? nullptr : from.data(), to.data()}});
        EXPECT_TRUE(std::ranges::all_of(out, [](float y) { return std::isfinite(y); }));
        EXPECT_TRUE(are_same_bits(some_rows(to, 1, other, size), unset));
        EXPECT_TRUE(std::isfinite(to[begin]));
      }
    }
  }
}

// Expects that slices of these many rows keep the inputs that one slice of all rows keeps.
void expect_inputs_kept(const RecurrentCase& kind, const std::vector<int>& slices, bool in_place,
                        Random& random) {
  const ModelConfig config = recurrent_model(kind);
  const RandomRecurrence layer(config, kind, random);
  PlainRecurrence plain(config, layer.weights);
  RecurrentSubject subject(config, two_threads());
  Floats states[2] = {Floats(config.recurrent.state_floats(), kUnset),
                      Floats(config.recurrent.state_floats(), kUnset)};
  const float* from = nullptr;
  size_t turn = 0;
  for (const int rows : slices) {
    const Floats x = random_vector(random, rows * config.hidden_size, 0, 4);
    float* const to = states[turn].data();
    subject.run(layer.weights, 0, x, {{rows, from, to}});
    for (int row = 0; row < rows; ++row) plain.step(x.data() + row * config.hidden_size);
    expect_state(to, config.recurrent, plain);
    from = to;
    if (!in_place) turn = 1 - turn;
  }
}

TEST(RecurrentPass, slices_that_are_shorter_than_the_taps_keep_the_right_inputs) {
  Random random(test_seed());
  for (RecurrentCase kind : recurrent_cases()) {
    for (const int taps : {1, 2, 4}) {
      kind.taps = taps;
      for (const std::vector<int>& slices : {std::vector<int>{1, 1, 1, 1, 1},
                                             {1, 2, 1},
                                             {2, 2, 2},
                                             {2, 1, 3},
                                             {3, 1, 1},
                                             {5, 1, 2},
                                             {1, 5},
                                             {3, 2}}) {
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(kind.name + ", taps " + std::to_string(taps));
          expect_inputs_kept(kind, slices, in_place, random);
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(RecurrentPass, a_value_that_is_no_number_stays_with_its_sequence) {
  Random random(test_seed());
  for (const RecurrentCase& kind : recurrent_cases()) {
    SCOPED_TRACE(kind.name);
    const ModelConfig config = recurrent_model(kind);
    const RandomRecurrence layer(config, kind, random);
    RecurrentSubject subject(config, two_threads());
    const size_t hidden = size_t(config.hidden_size);
    const size_t width = size_t(recurrent_output_width(config));
    Floats x = random_vector(random, 8 * config.hidden_size, 0, 4);
    Floats first(config.recurrent.state_floats(), 0.0f), second = first, alone = first;
    x[2 * hidden + 3] = kUnset;  // in the third of four rows
    const Floats out =
        subject.run(layer.weights, 0, x, {{4, nullptr, first.data()}, {4, nullptr, second.data()}});
    const Floats expected =
        subject.run(layer.weights, 0, some_rows(x, hidden, 4, 4), {{4, nullptr, alone.data()}});
    EXPECT_TRUE(are_same_bits(some_rows(out, width, 4, 4), expected));
    EXPECT_TRUE(are_same_bits(second, alone));
    for (size_t row = 0; row < 4; ++row) {
      const Floats of_row = some_rows(out, width, row, 1);
      EXPECT_EQ(std::ranges::count_if(of_row, [](float y) { return std::isnan(y); }) > 0, row >= 2)
          << "row " << row;
    }
  }
}

TEST(RecurrentPass, bytes_grow_with_rows_and_are_none_without_recurrent_layers) {
  EXPECT_EQ(RecurrentPass::bytes({}, 512), 0u);
  for (const RecurrentCase& kind : recurrent_cases()) {
    const ModelConfig config = recurrent_model(kind);
    const size_t one = RecurrentPass::bytes(config, 1);
    EXPECT_GT(one, 0u) << kind.name;
    EXPECT_EQ(one % 64, 0u) << kind.name;
    EXPECT_EQ(RecurrentPass::bytes(config, 512), 512 * one) << kind.name;
  }
}

}  // namespace
}  // namespace cascade::testing
