// Every choice comes from the case's random numbers, so the case's seed repeats all choices.
#include "bench/eval/identity_batch.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace cascade::eval {
namespace {

// The largest number of calls with small slices, and the smallest size of the slices before them.
constexpr size_t kSmallCalls = 60;
constexpr size_t kFastSlice = 512;
// The sizes of slices of mates that prefill; slices larger than one pass make no difference.
constexpr size_t kMateSlices[] = {1, 7, 64, 200};

}  // namespace

size_t SliceSizes::next(size_t left, Random& random) const {
  const int drawn = size_ > 0 ? size_ : kSliceSizes[random.below(std::size(kSliceSizes))];
  const auto size = static_cast<size_t>(drawn), small = size * kSmallCalls;
  if (left <= small) return std::min(left, size);
  return std::min(left - small, std::max(size, kFastSlice));
}

IdentityBatch::IdentityBatch(const IdentityCase& drawn, IdentityRun& run, Transformer& transformer,
                             const AttentionMode& attention, Random& random)
    : drawn_(drawn),
      run_(run),
      transformer_(transformer),
      attention_(attention),
      random_(random),
      sizes_(drawn.slice) {
  sequences_.push_back({nullptr, drawn.ids, run.pages, static_cast<size_t>(drawn.prefix), true});
  sequences_.front().state.resize(run.state.size());
  for (const MatePlan& mate : drawn.mates) {
    sequences_.push_back({&mate, mate.ids, {}, 0, !mate.shares_pages});
    for (size_t slots = 0; slots < mate.ids.size(); slots += kPageTokens) {
      sequences_.back().pages.push_back(run.heap->take());
    }
    sequences_.back().state.resize(run.state.size());
  }
}

void IdentityBatch::start_mates() {
  std::vector<Slice> slices;
  for (Sequence& mate : sequences_) {
    if (mate.plan == nullptr || mate.plan->start == 0) continue;
    slices.push_back(slice_of(mate, static_cast<size_t>(mate.plan->start), 0));
    mate.done = static_cast<size_t>(mate.plan->start);
  }
  CHECK(transformer_.forward(slices, nullptr).ok());
}

// Lets a mate that shares pages begin as soon as the sequence has full pages.
void IdentityBatch::share_pages(Sequence& mate) {
  const Sequence& main = sequences_.front();
  const size_t context = static_cast<size_t>(transformer_.config().context_tokens_max);
  const size_t own_tokens = mate.ids.size();
  const size_t room = (context - std::min(context, own_tokens)) / kPageTokens;
  const size_t full = std::min(main.done / kPageTokens, room);
  if (full == 0) return;
  size_t shared = 1 + random_.below(full);
  if (!main.state.empty()) {
    // The mate goes on from the state that the sequence has now.
    if (full * kPageTokens != main.done) return;
    shared = full;
    mate.state = main.done == static_cast<size_t>(drawn_.prefix) ? run_.prefix_state : main.state;
  }
  mate.pages.insert(mate.pages.begin(), main.pages.begin(),
                    main.pages.begin() + static_cast<ptrdiff_t>(shared));
  mate.done = shared * kPageTokens;
  mate.ids.insert(mate.ids.begin(), main.ids.begin(),
                  main.ids.begin() + static_cast<ptrdiff_t>(mate.done));
  mate.active = true;
  ++sharing_mates_;
}

// The next `take` tokens of the sequence.
Slice IdentityBatch::slice_of(Sequence& sequence, size_t take, int outputs) const {
  // The prefix's state must stay as it is: mates may go on from it, too.
  const bool after_prefix =
      sequence.plan == nullptr && sequence.done == static_cast<size_t>(drawn_.prefix);
  const std::vector<float>& from = after_prefix ? run_.prefix_state : sequence.state;
  return {std::span(sequence.ids).subspan(sequence.done, take),
          static_cast<int64_t>(sequence.done),
          sequence.pages,
          outputs,
          nullptr,
          attention_,
          attention_.selected > 0 ? &sequence.indexed_pages : nullptr,
          {},
          sequence.done == 0 ? nullptr : from.data(),
          sequence.state.data()};
}

// How many tokens of a sequence are in the next call; 0 means that it is not in the call.
size_t IdentityBatch::take_of(const Sequence& sequence) {
  if (sequence.plan == nullptr) return sizes_.next(sequence.left(), random_);
  if (!sequence.active || sequence.left() == 0 || random_.below(4) == 0) return 0;
  if (sequence.plan->decodes) return 1;
  return std::min(sequence.left(), kMateSlices[random_.below(std::size(kMateSlices))]);
}

int IdentityBatch::outputs_of(const Sequence& sequence, size_t take) {
  if (sequence.plan != nullptr) {
    return sequence.plan->decodes ? 1 : static_cast<int>(random_.below(2));
  }
  const size_t wanted_from = sequence.ids.size() - static_cast<size_t>(drawn_.outputs);
  const size_t end = sequence.done + take;
  return static_cast<int>(end - std::max(sequence.done, std::min(end, wanted_from)));
}

// Keeps the hidden states and logits of the sequence: `outputs` rows of the call, after
// `rows_before` rows of others. The logits of all rows are computed together.
void IdentityBatch::keep(const std::vector<float>& hidden, int rows, int rows_before, int outputs) {
  if (outputs == 0) return;
  const size_t width = transformer_.config().hidden_size, vocab = transformer_.config().vocab_size;
  std::vector<float> logits(rows * vocab);
  transformer_.logits(hidden.data(), rows, logits.data());
  std::copy_n(hidden.data() + rows_before * width, outputs * width,
              run_.hidden.data() + outputs_done_ * width);
  std::copy_n(logits.data() + rows_before * vocab, outputs * vocab,
              run_.logits.data() + outputs_done_ * vocab);
  outputs_done_ += outputs;
}

void IdentityBatch::call() {
  for (Sequence& mate : sequences_) {
    if (!mate.active) share_pages(mate);
  }
  std::vector<size_t> order(sequences_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::shuffle(order, random_);
  std::vector<Slice> slices;
  int rows = 0, rows_before = 0, outputs = 0;
  for (const size_t index : order) {
    Sequence& sequence = sequences_[index];
    const size_t take = take_of(sequence);
    if (take == 0) continue;
    const int wanted = outputs_of(sequence, take);
    if (index == 0) {
      main_index_ = static_cast<int>(slices.size());
      rows_before = rows;
      outputs = wanted;
    }
    slices.push_back(slice_of(sequence, take, wanted));
    sequence.done += take;
    rows += wanted;
  }
  std::vector<float> hidden(static_cast<size_t>(rows) * transformer_.config().hidden_size);
  CHECK(transformer_.forward(slices, hidden.data()).ok());
  keep(hidden, rows, rows_before, outputs);
}

void IdentityBatch::finish() {
  while (sequences_.front().left() > 0) call();
}

}  // namespace cascade::eval
