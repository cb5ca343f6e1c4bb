// The reference is as simple as possible. The variant is a small scheduler that batches the
// sequence with its mates, in sizes and orders that the case's seed decides.
#include "bench/eval/identity_run.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "bench/eval/identity_batch.h"

namespace cascade::eval {
namespace {

constexpr int kReferenceSlice = 64;

size_t pages_of(size_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

// Appends what `observe` sees of slice `index` to the states of the tokens below states.tokens.
void record_slice(Transformer& transformer, const int& index, LayerStates& states) {
  transformer.observe(
      [&index, &states](int layer, std::span<const Transformer::Row> rows, const float* residual) {
        const auto width = static_cast<size_t>(states.width);
        for (size_t i = 0; i < rows.size(); ++i) {
          const int64_t position = rows[i].position;
          if (rows[i].slice != index || position >= states.tokens) continue;
          std::copy_n(residual + i * width, width,
                      states.states[layer].begin() + static_cast<ptrdiff_t>(position * width));
          states.known[layer][position] = true;
        }
      });
}

// Compares the states after the token at `position`.
void compare_states(const RecurrentConfig& config, std::span<const float> reference,
                    std::span<const float> other, int64_t position, Comparison& result) {
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    if (!config.is_recurrent(layer)) continue;
    const size_t begin = config.layer_offset(layer);
    // The padding between the parts of a state has any values.
    const auto inputs = static_cast<size_t>((config.taps - 1) * config.channels);
    const auto matrices = static_cast<size_t>(config.value_channels() * config.key_dim);
    for (const auto& [offset, count] :
         {std::pair(size_t{0}, inputs), std::pair(config.input_floats(), matrices)}) {
      if (count == 0) continue;
      compare_rows(Tensor::kState, layer, position, static_cast<int>(count),
                   reference.subspan(begin + offset, count), other.subspan(begin + offset, count),
                   result);
    }
  }
}

}  // namespace

Result<std::unique_ptr<PageHeap>> PageHeap::create(const KvLayout& layout, size_t count,
                                                   Random* random) {
  ASSIGN_OR_RETURN(PageArena arena, PageArena::create(layout.indexed_page_bytes(), count));
  std::unique_ptr<PageHeap> heap(new PageHeap(std::move(arena)));
  for (size_t page = count; page > 0; --page) {
    heap->free_.push_back(static_cast<PageIndex>(page - 1));
  }
  if (random == nullptr) return heap;
  std::ranges::shuffle(heap->free_, *random);
  heap->garbage_.emplace((*random)());
  return heap;
}

uint8_t* PageHeap::take() {
  CHECK(!free_.empty());
  uint8_t* page = arena_.data(free_.back());
  free_.pop_back();
  if (!garbage_) return page;
  // The garbage is NaNs of all formats, large numbers, or anything.
  const uint64_t kind = garbage_->below(3);
  if (kind < 2) {
    std::memset(page, kind == 0 ? 0xFF : 0x7A, arena_.page_bytes());
    return page;
  }
  for (size_t at = 0; at < arena_.page_bytes(); at += sizeof(uint64_t)) {
    const uint64_t bits = (*garbage_)();
    std::memcpy(page + at, &bits, std::min(sizeof bits, arena_.page_bytes() - at));
  }
  return page;
}

Transformer& IdentityRunner::transformer(int threads) {
  Threads& entry = threads_[threads];
  if (!entry.transformer) {
    entry.pool = std::make_unique<ThreadPool>(threads);
    entry.transformer = std::make_unique<Transformer>(
        model_.config, model_.weights, *model_.kernels, model_.kv_layout, *entry.pool);
  }
  return *entry.transformer;
}

Result<IdentityRun> IdentityRunner::start_run(const IdentityCase& drawn, Random* random,
                                              bool record) const {
  size_t pages = pages_of(drawn.ids.size());
  if (random != nullptr) {
    pages += pages_of(drawn.donor_ids.size());
    for (const MatePlan& mate : drawn.mates) pages += pages_of(mate.ids.size());
  }
  IdentityRun run;
  ASSIGN_OR_RETURN(run.heap, PageHeap::create(model_.kv_layout, pages, random));
  const auto outputs = static_cast<size_t>(drawn.outputs);
  run.hidden.resize(outputs * model_.config.hidden_size);
  run.logits.resize(outputs * model_.config.vocab_size);
  run.state.resize(model_.config.recurrent.state_floats());
  if (!record) return run;
  run.layers.width = model_.config.hidden_size;
  run.layers.tokens = static_cast<int64_t>(drawn.ids.size());
  const auto layers = static_cast<size_t>(model_.config.layers);
  run.layers.states.assign(layers,
                           std::vector<float>(drawn.ids.size() * model_.config.hidden_size));
  run.layers.known.assign(layers, std::vector<bool>(drawn.ids.size()));
  return run;
}

Result<IdentityRun> IdentityRunner::reference(const IdentityCase& drawn, bool record) {
  ASSIGN_OR_RETURN(IdentityRun run, start_run(drawn, nullptr, record));
  Transformer& one = transformer(1);
  const int only = 0;
  if (record) record_slice(one, only, run.layers);
  const size_t width = model_.config.hidden_size, tokens = drawn.ids.size();
  const size_t wanted_from = tokens - static_cast<size_t>(drawn.outputs);
  for (size_t page = 0; page < pages_of(tokens); ++page) run.pages.push_back(run.heap->take());
  float* hidden = run.hidden.data();
  int64_t indexed_pages = 0;
  const int64_t selected_before = one.selected_tokens();
  for (size_t begin = 0; begin < tokens; begin += kReferenceSlice) {
    const size_t end = std::min(tokens, begin + kReferenceSlice);
    const size_t outputs = end - std::max(begin, std::min(end, wanted_from));
    const Slice slice = {std::span(drawn.ids).subspan(begin, end - begin),
                         static_cast<int64_t>(begin),
                         run.pages,
                         static_cast<int>(outputs),
                         nullptr,
                         attention_,
                         attention_.selected > 0 ? &indexed_pages : nullptr,
                         {},
                         begin == 0 ? nullptr : run.state.data(),
                         run.state.data()};
    CHECK(one.forward(std::span(&slice, 1), hidden).ok());
    hidden += outputs * width;
  }
  run.selected_tokens = one.selected_tokens() - selected_before;
  // The logits are computed one by one, as decoding does.
  for (int row = 0; row < drawn.outputs; ++row) {
    one.logits(run.hidden.data() + row * width, 1,
               run.logits.data() + row * size_t(model_.config.vocab_size));
  }
  one.observe({});
  return run;
}

// Makes the earlier run, with whose pages the sequence begins.
void IdentityRunner::run_donor(const IdentityCase& drawn, Random& random, IdentityRun& run,
                               bool record) {
  Transformer& donor = transformer(drawn.donor_threads);
  const int only = 0;
  LayerStates& layers = run.layers;
  // Only the prefix is recorded: after it the donor's tokens are others.
  if (record) {
    layers.tokens = drawn.prefix;
    record_slice(donor, only, layers);
  }
  std::vector<uint8_t*> pages;
  const size_t tokens = drawn.donor_ids.size();
  for (size_t page = 0; page < pages_of(tokens); ++page) pages.push_back(run.heap->take());
  SliceSizes sizes(drawn.donor_slice);
  int64_t indexed_pages = 0;
  const auto prefix = static_cast<size_t>(drawn.prefix);
  std::vector<float> state(run.state.size());
  for (size_t done = 0; done < tokens;) {
    size_t take = sizes.next(tokens - done, random);
    // A recurrent state cannot be cut: a slice ends where it is needed.
    if (!state.empty() && done < prefix) take = std::min(take, prefix - done);
    const Slice slice = {std::span(drawn.donor_ids).subspan(done, take),
                         static_cast<int64_t>(done),
                         pages,
                         0,
                         nullptr,
                         attention_,
                         attention_.selected > 0 ? &indexed_pages : nullptr,
                         {},
                         done == 0 ? nullptr : state.data(),
                         state.data()};
    CHECK(donor.forward(std::span(&slice, 1), nullptr).ok());
    done += take;
    if (done == prefix) run.prefix_state = state;
  }
  donor.observe({});
  layers.tokens = record ? static_cast<int64_t>(drawn.ids.size()) : 0;
  const size_t whole = static_cast<size_t>(drawn.prefix / kPageTokens);
  run.pages.assign(pages.begin(), pages.begin() + static_cast<ptrdiff_t>(whole));
  if (drawn.prefix % kPageTokens == 0) return;
  run.pages.push_back(run.heap->take());
  std::memcpy(run.pages.back(), pages[whole], model_.kv_layout.page_bytes());
}

Result<IdentityRun> IdentityRunner::variant(const IdentityCase& drawn, bool record) {
  // These random numbers are not those with which the case was drawn.
  Random random(counter_random(drawn.seed, UINT64_MAX));
  ASSIGN_OR_RETURN(IdentityRun run, start_run(drawn, &random, record));
  if (drawn.prefix > 0) run_donor(drawn, random, run, record);
  while (run.pages.size() < pages_of(drawn.ids.size())) run.pages.push_back(run.heap->take());
  Transformer& with_threads = transformer(drawn.threads);
  IdentityBatch batch(drawn, run, with_threads, attention_, random);
  batch.start_mates();
  if (record) record_slice(with_threads, batch.main_index(), run.layers);
  batch.finish();
  with_threads.observe({});
  run.sharing_mates = batch.sharing_mates();
  run.state = batch.main_state();
  return run;
}

Comparison IdentityRunner::compare(const IdentityCase& drawn, const IdentityRun& reference,
                                   const IdentityRun& variant) const {
  Comparison result;
  const auto tokens = static_cast<int64_t>(drawn.ids.size());
  compare_kv(model_.kv_layout, reference.pages, variant.pages, tokens, result);
  compare_states(model_.config.recurrent, reference.state, variant.state, tokens - 1, result);
  const int64_t first = tokens - drawn.outputs;
  compare_rows(Tensor::kFinal, -1, first, model_.config.hidden_size, reference.hidden,
               variant.hidden, result);
  compare_rows(Tensor::kLogits, -1, first, model_.config.vocab_size, reference.logits,
               variant.logits, result);
  const auto width = static_cast<size_t>(model_.config.hidden_size);
  for (size_t layer = 0; layer < reference.layers.states.size(); ++layer) {
    for (int64_t token = 0; token < tokens; ++token) {
      if (!reference.layers.known[layer][token] || !variant.layers.known[layer][token]) continue;
      const auto row = [&](const IdentityRun& run) {
        return std::span(run.layers.states[layer]).subspan(token * width, width);
      };
      compare_rows(Tensor::kHidden, static_cast<int>(layer), token, model_.config.hidden_size,
                   row(reference), row(variant), result);
    }
  }
  return result;
}

}  // namespace cascade::eval
