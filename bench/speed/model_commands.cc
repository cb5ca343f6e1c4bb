// prefill and decode: the whole forward pass.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>

#include "bench/speed/bench_setup.h"
#include "bench/speed/bounds.h"
#include "bench/speed/machine.h"
#include "bench/speed/peak_probe.h"
#include "bench/spilled_chain.h"
#include "bench/weights_option.h"
#include "cache/page_arena.h"
#include "model/model.h"
#include "model/transformer.h"

namespace cascade::speed {
namespace {

using bench::SpilledChain;

constexpr int kSliceTokens = Transformer::kRowsUsual;
constexpr int kDecodeSteps = 16;  // steps in one sample of decode

int64_t pages_of(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

// The largest demand among the rows of a report, and the options that ask for it.
struct Demand {
  int64_t tokens;  // of one sequence
  int64_t sequences;
  const char* tokens_option;
  const char* memory_option;
  int64_t kv_memory;  // the most bytes of K and V in memory; 0: all of them
  bool selects;       // in some mode

  int64_t pages() const { return sequences * pages_of(tokens); }
};

// Checks that the model's context holds the tokens.
Status check_context(const Demand& demand, const ModelConfig& config) {
  const int64_t context = config.context_tokens_max;
  if (demand.tokens <= context) return {};
  return invalid_argument(demand.tokens_option, "asks for " + std::to_string(demand.tokens) +
                                                    " tokens in all; the model's context holds " +
                                                    std::to_string(context));
}

// Checks that the machine's memory holds the pages, the logits, and what measuring the bandwidth on
// `threads` threads takes. The weights are in memory already.
Status check_memory(const Demand& demand, const Model& model, int threads) {
  const double all_bytes = static_cast<double>(demand.pages()) *
                           static_cast<double>(model.kv_layout.indexed_page_bytes());
  const auto bytes_max = static_cast<double>(demand.kv_memory);
  const double pages_bytes = demand.kv_memory > 0 ? std::min(all_bytes, bytes_max) : all_bytes;
  const double logits_bytes =
      static_cast<double>(demand.sequences) * model.config.vocab_size * sizeof(float);
  const double read_bytes = static_cast<double>(kPeakReadBytes) * threads;
  return fits_memory(pages_bytes + logits_bytes + read_bytes, demand.memory_option,
                     "measuring " + std::to_string(demand.sequences) + " x " +
                         std::to_string(demand.tokens) + " tokens");
}

// The usual lengths up to `room`; `room` itself if all usual lengths are longer.
std::vector<int64_t> lengths_within(int64_t room, std::initializer_list<int64_t> usual) {
  std::vector<int64_t> lengths;
  for (const int64_t length : usual) {
    if (length <= room) lengths.push_back(length);
  }
  if (lengths.empty()) lengths.push_back(room);
  return lengths;
}

// The pages of one sequence. Its K and V may be more than `spilled` has memory for; nullptr: all
// are in memory.
struct BenchSequence {
  std::vector<uint8_t*> pages;
  SpilledChain* spilled = nullptr;
  int64_t indexed_pages = 0;
  // Sequences that are decoded together have different tokens: otherwise all would choose the same
  // experts of a mixture.
  int64_t first_token = 0;
  std::vector<float> state = {};  // of recurrent layers
};

// A model, random tokens, and the pages into which their K and V are computed.
class Bench {
 public:
  // Errors: those of load_model and check_memory.
  static Result<std::unique_ptr<Bench>> open(const ModelBenchOptions& options, const char* command,
                                             const Demand& demand) {
    const bool as_in_files = options.weights == bench::kWeightsAsInFiles;
    WeightType weights = WeightType::kBf16;
    if (!as_in_files) {
      ASSIGN_OR_RETURN(weights, weight_type_of(options.weights, "--weights", true));
    }
    ASSIGN_OR_RETURN(const KvType kv, kv_type_of(options.kv, "--kv"));
    auto bench = std::unique_ptr<Bench>(new Bench);
    ASSIGN_OR_RETURN(bench->setup_, set_up(options.common));
    const Setup& setup = *bench->setup_;
    bench->header_ = header(command, setup);
    const double start = now_s();
    const ModelOptions model_options = {weights, kv, setup.kernels->isa, options.state_dir,
                                        as_in_files};
    ASSIGN_OR_RETURN(bench->model_, load_model(options.model_dir, model_options, *setup.pool));
    const Model& model = *bench->model_;
    bench->header_["load_s"] = now_s() - start;
    if (model.weights.keeper != nullptr) model.weights.keeper->wait();
    bench->header_["load_peak_memory_mb"] = static_cast<double>(peak_memory_bytes()) / 1e6;
    bench->header_["load_from"] = model.load.from_cache ? "packed file" : "model folder";
    for (const std::string& warning : model.load.warnings) {
      std::fprintf(stderr, "cascade-bench: %s\n", warning.c_str());
    }
    bench->header_["model"] = model.name;
    bench->header_["weights"] = weight_types(model);
    bench->header_["kv"] = std::string(to_string(kv));
    bench->header_["weights_mb"] = static_cast<double>(model.weights.bytes()) / 1e6;
    bench->header_["kv_bytes_per_token"] = kv_bytes(model.kv_layout, 1);
    RETURN_IF_ERROR(check_memory(demand, model, setup.pool->threads()));
    if (demand.kv_memory > 0) {
      ASSIGN_OR_RETURN(bench->spilled_,
                       SpilledChain::create(model.kv_layout, demand.pages(),
                                            static_cast<uint64_t>(demand.kv_memory), kSliceTokens,
                                            options.spill_dir, demand.selects));
    } else {
      ASSIGN_OR_RETURN(bench->arena_,
                       PageArena::create(model.kv_layout.indexed_page_bytes(), demand.pages()));
    }
    bench->transformer_ = std::make_unique<Transformer>(model.config, model.weights, *setup.kernels,
                                                        model.kv_layout, *setup.pool);
    std::mt19937_64 random(1);
    for (int64_t i = 0; i < model.config.context_tokens_max + 1 + kBatchMax; ++i) {
      bench->ids_.push_back(static_cast<int32_t>(random() % model.config.vocab_size));
    }
    add_peak(bench->header_, setup);
    reset_peak_memory();  // the memory that measuring the machine took is not the model's
    return bench;
  }

  const Model& model() const { return *model_; }
  struct Measured {
    PairedSamples samples;
    int64_t peak_memory_bytes;  // in an unmeasured first run: without the memory that measuring
                                // takes
  };
  Measured measure(int repeats, const std::function<void()>& body) {
    body();
    const int64_t peak_memory = peak_memory_bytes();
    Measured measured;
    {
      PeakProbe probe(*setup_->pool, setup_->kernels->isa);
      measured = {measure_paired(probe, repeats, body), peak_memory};
    }
    reset_peak_memory();
    return measured;
  }

  // Pages first, first + 1, ...
  std::vector<uint8_t*> pages(int64_t first, int64_t count) {
    std::vector<uint8_t*> pages;
    for (int64_t i = 0; i < count; ++i) {
      pages.push_back(arena_->data(static_cast<PageIndex>(first + i)));
    }
    return pages;
  }

  // The first sequence, of up to `tokens` tokens.
  BenchSequence sequence(int64_t tokens) {
    if (spilled_) return {{}, spilled_.get()};
    return {pages(0, pages_of(tokens))};
  }
  // The bytes of K and V that were read from the file so far.
  uint64_t bytes_read() const { return spilled_ ? spilled_->bytes_read() : 0; }

  // The mode of the tokens that are computed from here on. Speed does not depend on the mode in
  // which the pages were filled.
  void attend(const AttentionMode& mode) { mode_ = mode; }
  const AttentionMode& mode() const { return mode_; }

  // Computes tokens [begin, end) into the sequence's pages, and the logits of the last token.
  // Errors: those of SpilledChain.
  Status prefill(BenchSequence& sequence, int64_t begin, int64_t end) {
    std::vector<float> hidden(model_->config.hidden_size);
    for (int64_t from = begin; from < end; from += kSliceTokens) {
      const int64_t to = std::min(end, from + kSliceTokens);
      ASSIGN_OR_RETURN(const Slice slice, slice_of(sequence, from, to, to == end));
      RETURN_IF_ERROR(transformer_->forward(std::span(&slice, 1), hidden.data()));
    }
    logits(hidden.data(), 1);
    return {};
  }

  // Computes one token for each sequence, at `position`. Errors: those of SpilledChain.
  Status step(std::span<BenchSequence> sequences, int64_t position) {
    std::vector<float> hidden(sequences.size() * model_->config.hidden_size);
    std::vector<Slice> slices;
    for (BenchSequence& sequence : sequences) {
      ASSIGN_OR_RETURN(slices.emplace_back(), slice_of(sequence, position, position + 1, 1));
    }
    RETURN_IF_ERROR(transformer_->forward(slices, hidden.data()));
    logits(hidden.data(), static_cast<int>(sequences.size()));
    return {};
  }

  const OrderedJson& header_row() const { return header_; }

 private:
  Bench() = default;

  // Brings the pages of tokens [begin, end) into memory, and returns the slice of these tokens.
  Result<Slice> slice_of(BenchSequence& sequence, int64_t begin, int64_t end, int outputs) {
    const auto ids = std::span(ids_).subspan(sequence.first_token + begin, end - begin);
    // The pages from `begin` on are filled anew.
    sequence.indexed_pages = std::min(sequence.indexed_pages, begin / kPageTokens);
    int64_t* const indexed = mode_.selected > 0 ? &sequence.indexed_pages : nullptr;
    // Speed does not depend on the values of a recurrent state, so a sequence that is set back goes
    // on from the one that it has.
    sequence.state.resize(model_->config.recurrent.state_floats());
    Slice slice = {ids, begin, sequence.pages, outputs, nullptr, mode_, indexed};
    slice.state_from = begin == 0 ? nullptr : sequence.state.data();
    slice.state_to = sequence.state.data();
    if (sequence.spilled == nullptr) return slice;
    SpilledChain& chain = *sequence.spilled;
    RETURN_IF_ERROR(chain.bring(begin, end));
    slice.pages = chain.pages();
    slice.absent = &chain;
    slice.indexes = chain.indexes();
    return slice;
  }

  void logits(const float* hidden, int rows) {
    logits_.resize(static_cast<size_t>(rows) * model_->config.vocab_size);
    transformer_->logits(hidden, rows, logits_.data());
  }

  std::optional<Setup> setup_;
  OrderedJson header_;
  std::unique_ptr<Model> model_;
  std::optional<PageArena> arena_;         // one of these two
  std::unique_ptr<SpilledChain> spilled_;  // --kv-memory
  std::unique_ptr<Transformer> transformer_;
  std::vector<int32_t> ids_;
  std::vector<float> logits_;
  AttentionMode mode_;
};

// The pages of each sequence of one row of `decode`. All sequences have `depth` tokens already.
using Batch = std::vector<BenchSequence>;

// The first sequence has the bench's first pages, up to `depth`; the other sequences' copies come
// after them.
Batch make_batch(Bench& bench, int64_t batch, int64_t depth, int64_t shared) {
  const int64_t needed = pages_of(depth + kDecodeSteps);
  const int64_t common = shared / kPageTokens;
  const size_t page_bytes = bench.model().kv_layout.indexed_page_bytes();
  Batch result = {bench.sequence(depth + kDecodeSteps)};
  int64_t next = needed;
  for (int64_t i = 1; i < batch; ++i) {
    std::vector<uint8_t*> pages = bench.pages(0, common);
    const auto own = bench.pages(next, needed - common);
    next += needed - common;
    for (size_t j = 0; j < own.size(); ++j) {
      std::memcpy(own[j], result[0].pages[common + j], page_bytes);
    }
    pages.insert(pages.end(), own.begin(), own.end());
    result.push_back({std::move(pages), nullptr, 0, i});
  }
  return result;
}

// The case that one row of `decode` measures.
struct DecodeCase {
  int64_t batch;
  int64_t depth;
  int64_t shared;  // common first tokens, in whole pages
};

// Adds what a run with --kv-memory reads from its file, on average. measure() runs once more than
// it measures.
void add_reads(OrderedJson& row, uint64_t bytes, int repeats, double seconds) {
  const double each = static_cast<double>(bytes) / (repeats + 1);
  row["kv_read_gb"] = each / 1e9;
  row["kv_read_gb_per_s"] = each / seconds / 1e9;
}

// Returns the tokens per second. `private_rate` is the rate of the same batch with nothing in
// common.
Result<double> add_decode_row(Bench& bench, Report& report, const DecodeCase& decode_case,
                              double private_rate, const ModelBenchOptions& options) {
  const int64_t batch = decode_case.batch, depth = decode_case.depth, shared = decode_case.shared;
  Batch sequences = make_batch(bench, batch, depth, shared);
  const uint64_t read_before = bench.bytes_read();
  Status done;
  const auto [samples, peak_memory] = bench.measure(options.common.repeats, [&] {
    for (int i = 0; i < kDecodeSteps && done.ok(); ++i) done = bench.step(sequences, depth + i);
  });
  RETURN_IF_ERROR(std::move(done));
  const Model& model = bench.model();
  const auto rows = static_cast<double>(batch);
  Work work = matrix_work(model.config, model.weights, rows, rows);
  work += recurrent_work(model.config.recurrent, rows, rows);
  for (int64_t i = 0; i < batch; ++i) {
    work += attention_work(model.config, model.options.kv_type, depth, depth + 1, bench.mode());
  }
  work.bytes += kv_read_bytes(model.config, model.kv_layout, batch, depth, shared, bench.mode());
  const double step_s = samples.samples().median() / kDecodeSteps;
  OrderedJson row = {{"attention", to_string(bench.mode())},
                     {"batch", batch},
                     {"depth", depth},
                     {"shared_prefix", shared}};
  add_rate(row, "tokens_per_s", static_cast<double>(batch * kDecodeSteps), 1, samples.samples());
  const double rate = static_cast<double>(batch) / step_s;
  if (options.shared_prefix > 0) row["rate_to_private"] = shared > 0 ? rate / private_rate : 1.0;
  row["gb_per_s"] = work.bytes / step_s / 1e9;
  row["peak_read_gb_per_s"] = samples.median_peak().read_bytes_per_s / 1e9;
  row["share_of_bandwidth"] = samples.share([&](double seconds, const Peak& peak) {
    return work.bytes / (seconds / kDecodeSteps) / peak.read_bytes_per_s;
  });
  row["share_of_bound"] = samples.share([&](double seconds, const Peak& peak) {
    return bound_s(work, peak) / (seconds / kDecodeSteps);
  });
  if (options.kv_memory > 0) {
    add_reads(row, bench.bytes_read() - read_before, options.common.repeats,
              samples.samples().median());
  }
  row["peak_memory_mb"] = static_cast<double>(peak_memory) / 1e6;
  report.add(std::move(row));
  return rate;
}

// Returns the tokens per second. `first_rate` is that of the first row; 0 if this is it.
Result<double> add_prefill_row(Bench& bench, Report& report, int64_t depth, int64_t tokens,
                               double first_rate, const ModelBenchOptions& options) {
  const Model& model = bench.model();
  BenchSequence sequence = bench.sequence(depth + tokens);
  const uint64_t read_before = bench.bytes_read();
  Status done;
  const auto [samples, peak_memory] = bench.measure(options.common.repeats, [&] {
    if (done.ok()) done = bench.prefill(sequence, depth, depth + tokens);
  });
  RETURN_IF_ERROR(std::move(done));
  Work work;
  for (int64_t from = 0; from < tokens; from += kSliceTokens) {
    const auto rows = static_cast<double>(std::min<int64_t>(kSliceTokens, tokens - from));
    work += matrix_work(model.config, model.weights, rows, from + kSliceTokens >= tokens ? 1 : 0);
  }
  work += attention_work(model.config, model.options.kv_type, depth, depth + tokens, bench.mode());
  work += recurrent_work(model.config.recurrent, static_cast<double>(tokens), 1);
  const double seconds = samples.samples().median();
  const double rate = static_cast<double>(tokens) / seconds;
  const Peak peak = samples.median_peak();
  OrderedJson row = {{"attention", to_string(bench.mode())}, {"depth", depth}, {"tokens", tokens}};
  add_rate(row, "tokens_per_s", static_cast<double>(tokens), 1, samples.samples());
  row["gop_per_s"] = (work.f32_ops + work.int8_ops) / seconds / 1e9;
  row["peak_f32_gflop_per_s"] = peak.f32_flop_per_s / 1e9;
  row["peak_int8_gop_per_s"] = peak.int8_op_per_s / 1e9;
  row["share_of_bound"] =
      samples.share([&](double s, const Peak& around) { return bound_s(work, around) / s; });
  row["rate_to_first_row"] = first_rate > 0 ? rate / first_rate : 1.0;
  if (options.kv_memory > 0) {
    add_reads(row, bench.bytes_read() - read_before, options.common.repeats, seconds);
  }
  row["peak_memory_mb"] = static_cast<double>(peak_memory) / 1e6;
  report.add(std::move(row));
  return rate;
}

// The modes that `options` ask for. Errors: kInvalidArgument, field "--attention".
Result<std::vector<AttentionMode>> modes_of(const ModelBenchOptions& options) {
  std::vector<AttentionMode> modes;
  for (const std::string& text : options.attention) {
    const Result<AttentionMode> mode = parse_attention_mode(text);
    if (!mode.ok()) return invalid_argument("--attention", mode.error().message);
    modes.push_back(*mode);
  }
  return modes;
}

bool selects_in_any(std::span<const AttentionMode> modes) {
  return std::ranges::any_of(modes, [](const AttentionMode& mode) { return mode.selected > 0; });
}

// Computes tokens [0, end) in the quickest of the modes.
Status fill(Bench& bench, std::span<const AttentionMode> modes, int64_t end) {
  if (end <= 0) return {};
  const auto quickest =
      std::ranges::find_if(modes, [](const AttentionMode& mode) { return !mode.is_dense(); });
  bench.attend(quickest == modes.end() ? modes.front() : *quickest);
  BenchSequence sequence = bench.sequence(end);
  return bench.prefill(sequence, 0, end);
}

}  // namespace

Status prefill(const ModelBenchOptions& options) {
  const int64_t depth = options.depth;
  ASSIGN_OR_RETURN(const std::vector<AttentionMode> modes, modes_of(options));
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(options.model_dir));
  const int64_t room = std::max<int64_t>(1, config.context_tokens_max - depth);
  const std::vector<int64_t> lengths =
      options.tokens.empty() ? lengths_within(room, {512, 2048, 8192}) : options.tokens;
  const int64_t longest = std::ranges::max(lengths) + depth;
  const Demand demand = {longest,
                         1,
                         options.tokens.empty() ? "--depth" : "--tokens",
                         options.kv_memory > 0 ? "--kv-memory" : "--tokens",
                         options.kv_memory,
                         selects_in_any(modes)};
  RETURN_IF_ERROR(check_context(demand, config));
  ASSIGN_OR_RETURN(const auto bench, Bench::open(options, "prefill", demand));
  RETURN_IF_ERROR(fill(*bench, modes, depth));
  Report report(bench->header_row());
  double first_rate = 0;
  for (const int64_t tokens : lengths) {
    for (const AttentionMode& mode : modes) {
      bench->attend(mode);
      ASSIGN_OR_RETURN(const double rate,
                       add_prefill_row(*bench, report, depth, tokens, first_rate, options));
      if (first_rate == 0) first_rate = rate;
    }
  }
  return print(report, options.common);
}

Status decode(const ModelBenchOptions& options) {
  if (options.shared_prefix > 0 && options.shared_prefix < kPageTokens) {
    return invalid_argument(
        "--shared-prefix",
        "must be 0 or at least " + std::to_string(kPageTokens) + ": sequences share whole pages");
  }
  ASSIGN_OR_RETURN(const std::vector<AttentionMode> modes, modes_of(options));
  ASSIGN_OR_RETURN(const ModelConfig config, load_model_config(options.model_dir));
  const int64_t room = std::max<int64_t>(0, config.context_tokens_max - kDecodeSteps);
  const std::vector<int64_t> depths =
      options.depths.empty() ? lengths_within(room, {0, 4096, 16384}) : options.depths;
  const int64_t longest = std::ranges::max(depths) + kDecodeSteps;
  if (options.shared_prefix > longest - kDecodeSteps) {
    return invalid_argument("--shared-prefix", "must not be over the largest depth, which is " +
                                                   std::to_string(longest - kDecodeSteps));
  }
  if (options.kv_memory > 0 && std::ranges::max(options.batches) > 1) {
    return invalid_argument("--batch", "must be 1 with --kv-memory: the file has one sequence");
  }
  if (options.kv_memory > 0 && options.shared_prefix > 0) {
    return invalid_argument("--shared-prefix",
                            "needs several sequences; with --kv-memory there is one");
  }
  const Demand demand = {longest,           std::ranges::max(options.batches),
                         "--depth",         options.kv_memory > 0 ? "--kv-memory" : "--batch",
                         options.kv_memory, selects_in_any(modes)};
  RETURN_IF_ERROR(check_context(demand, config));
  ASSIGN_OR_RETURN(const auto bench, Bench::open(options, "decode", demand));
  RETURN_IF_ERROR(fill(*bench, modes, longest - kDecodeSteps));
  Report report(bench->header_row());
  // The pages of the deepest sequence also hold every shorter one; the copies are made from them.
  for (const int64_t depth : depths) {
    const int64_t shared = std::min(options.shared_prefix, depth) / kPageTokens * kPageTokens;
    for (const int64_t batch : options.batches) {
      for (const AttentionMode& mode : modes) {
        bench->attend(mode);
        ASSIGN_OR_RETURN(const double alone,
                         add_decode_row(*bench, report, {batch, depth, 0}, 0, options));
        if (batch == 1 || shared == 0) continue;
        RETURN_IF_ERROR(add_decode_row(*bench, report, {batch, depth, shared}, alone, options));
      }
    }
  }
  return print(report, options.common);
}

}  // namespace cascade::speed
