// Runs slices of one chain through the transformer, and computes logits a few rows at a time.
#include "bench/eval/session.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/check.h"
#include "bench/eval/weight_values.h"
#include "model/row_mover.h"

namespace cascade::eval {
namespace {

// The number of rows of logits at once: with the largest vocabularies 16 rows take about 10 MB.
constexpr int kLogitRows = 16;
// The number of tokens of a slice whose chain lies in a file.
constexpr int kSpilledSliceTokens = Transformer::kRowsUsual;

}  // namespace

void print_warning(const std::string& warning) {
  std::fprintf(stderr, "cascade-eval: %s\n", warning.c_str());
}

Result<ModelOptions> model_options_of(const SessionOptions& options) {
  const bool as_in_files = options.weights == bench::kWeightsAsInFiles;
  const auto weights = as_in_files ? WeightType::kBf16 : weight_type_from_string(options.weights);
  if (!weights) {
    return invalid_argument("--weights", "must be auto, " + std::string(kWeightTypeNames));
  }
  const auto kv = kv_type_from_string(options.kv);
  if (!kv) return invalid_argument("--kv", "must be f32, bf16, fp16, fp8 or int8");
  const auto isa = options.isa.empty() ? best_isa() : isa_from_string(options.isa);
  if (!isa) {
    return invalid_argument("--isa", "must be scalar, avx2, avx512, avx512vnni, neon or openblas");
  }
  ModelOptions model = {*weights, *kv, *isa, options.state_dir, as_in_files};
  model.late_warning = print_warning;
  if (options.rope_scaling.empty()) return model;
  Result<ContextExtension> scaling = parse_context_extension(options.rope_scaling);
  if (!scaling.ok()) return invalid_argument("--rope-scaling", scaling.error().message);
  model.rope_scaling = *scaling;
  return model;
}

Result<AttentionMode> attention_of(const SessionOptions& options) {
  Result<AttentionMode> mode = parse_attention_mode(options.attention);
  if (mode.ok()) return mode;
  return invalid_argument("--attention", mode.error().message);
}

int thread_count(const SessionOptions& options) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return options.threads > 0 ? options.threads : cores;
}

std::shared_ptr<ThreadPool> make_pool(const SessionOptions& options) {
  return std::make_shared<ThreadPool>(thread_count(options));
}

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) {
  return open(options, make_pool(options));
}

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options,
                                               std::shared_ptr<ThreadPool> pool) {
  return open(options, std::move(pool), nullptr);
}

Result<std::unique_ptr<Session>> Session::open_with_values_of(const Weights& weights,
                                                              const SessionOptions& options,
                                                              std::shared_ptr<ThreadPool> pool) {
  SessionOptions exact = options;
  exact.weights = "f32";
  exact.state_dir = "";  // weights that are mapped from a file cannot be written
  return open(exact, std::move(pool), &weights);
}

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options,
                                               std::shared_ptr<ThreadPool> pool,
                                               const Weights* values) {
  ASSIGN_OR_RETURN(const ModelOptions model_options, model_options_of(options));
  ASSIGN_OR_RETURN(const AttentionMode attention, attention_of(options));
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                   load_model(options.model_dir, model_options, *pool));
  for (const std::string& warning : model->load.warnings) print_warning(warning);
  // Nothing else is to run while something is measured.
  if (model->weights.keeper != nullptr) model->weights.keeper->wait();
  if (values != nullptr) copy_values(*values, model->weights);
  auto session = std::unique_ptr<Session>(new Session(options, std::move(pool), std::move(model)));
  RETURN_IF_ERROR(session->make_room(attention));
  RETURN_IF_ERROR(session->start(attention));
  return session;
}

Session::Session(const SessionOptions& options, std::shared_ptr<ThreadPool> pool,
                 std::unique_ptr<Model> model)
    : options_(options),
      pool_(std::move(pool)),
      model_(std::move(model)),
      transformer_(model_->config, model_->weights, *model_->kernels, model_->kv_layout, *pool_),
      state_(model_->config.recurrent.state_floats()) {}

void Session::cut(int64_t length) {
  CHECK(state_.empty() || length == 0 || length >= length_);
  length_ = std::min(length_, length);
  indexed_pages_ = std::min(indexed_pages_, length / kPageTokens);
  if (length_ <= free_begin_) free_positions_ = 0;
}

void Session::remove(int64_t begin, int64_t end, Approximation how) {
  CHECK(0 < begin && begin < end && end < length_);
  CHECK(arena_ && state_.empty() && attention_.is_dense() && free_positions_ == 0);
  CHECK(how != Approximation::kNone);
  const bool turns = how == Approximation::kSplice;
  // Rows are moved in ascending order, so none is overwritten before it is read.
  RowMover(model_->config, *model_->kernels, model_->kv_layout, *pool_)
      .move({pages_, end, pages_, begin, length_ - end, turns ? begin - end : 0});
  length_ -= end - begin;
  if (turns) return;
  free_positions_ = end - begin;
  free_begin_ = begin;
}

Status Session::make_room(const AttentionMode& mode) {
  const KvLayout& layout = model_->kv_layout;
  const size_t pages = (model_->config.context_tokens_max + kPageTokens - 1) / kPageTokens;
  if (options_.kv_memory > 0) {
    spilled_.reset();  // there may be no room for both
    ASSIGN_OR_RETURN(spilled_, bench::SpilledChain::create(
                                   layout, static_cast<int64_t>(pages),
                                   static_cast<uint64_t>(options_.kv_memory), kSpilledSliceTokens,
                                   options_.spill_dir, mode.selected > 0));
    return {};
  }
  ASSIGN_OR_RETURN(arena_, PageArena::create(layout.indexed_page_bytes(), pages));
  for (PageIndex page = 0; page < arena_->page_count(); ++page) {
    pages_.push_back(arena_->data(page));
  }
  return {};
}

Status Session::start(const AttentionMode& mode) {
  const bool lacks_indexes = spilled_ && mode.selected > 0 && spilled_->indexes().empty();
  if (lacks_indexes) RETURN_IF_ERROR(make_room(mode));
  attention_ = mode;
  clear();
  return {};
}

Status Session::fits(int64_t tokens) const {
  if (tokens <= room()) return {};
  return invalid_argument("ids", "there are " + std::to_string(length_ + free_positions_ + tokens) +
                                     "; the model's context holds " +
                                     std::to_string(model_->config.context_tokens_max));
}

Status Session::forward(std::span<const int32_t> ids, int outputs, float* hidden) {
  const auto total = static_cast<int64_t>(ids.size());
  const int64_t step = spilled_ ? kSpilledSliceTokens : total;
  for (int64_t begin = 0; begin < total; begin += step) {
    const int64_t size = std::min(step, total - begin);
    const int64_t wanted = std::clamp<int64_t>(outputs - (total - begin - size), 0, size);
    if (spilled_) RETURN_IF_ERROR(spilled_->bring(length_, length_ + size));
    const Slice slice = {ids.subspan(begin, size),
                         length_,
                         spilled_ ? spilled_->pages() : KvPages(pages_),
                         static_cast<int>(wanted),
                         spilled_.get(),
                         attention_,
                         attention_.selected > 0 ? &indexed_pages_ : nullptr,
                         spilled_ ? spilled_->indexes() : KvPages(),
                         length_ == 0 ? nullptr : state_.data(),
                         state_.data(),
                         {},
                         free_positions_};
    RETURN_IF_ERROR(transformer_.forward(std::span(&slice, 1), hidden));
    hidden += wanted * model_->config.hidden_size;
    length_ += size;
  }
  return {};
}

Result<std::vector<float>> Session::append(std::span<const int32_t> ids) {
  RETURN_IF_ERROR(fits(static_cast<int64_t>(ids.size())));
  std::vector<float> hidden(ids.size() * model_->config.hidden_size);
  RETURN_IF_ERROR(forward(ids, static_cast<int>(ids.size()), hidden.data()));
  return hidden;
}

Status Session::append(std::span<const int32_t> ids, int slice, int outputs,
                       const std::function<void(size_t, std::span<float>)>& on_logits) {
  const auto total = static_cast<int64_t>(ids.size());
  RETURN_IF_ERROR(fits(total));
  const size_t hidden_size = model_->config.hidden_size, vocab = model_->config.vocab_size;
  const int64_t step = slice > 0 ? slice : total;
  const int64_t wanted_from = total - outputs;
  for (int64_t begin = 0; begin < total; begin += step) {
    const int64_t end = std::min(total, begin + step);
    const int64_t first = std::max(begin, std::min(end, wanted_from));
    const auto rows = static_cast<int>(end - first);
    std::vector<float> hidden(rows * hidden_size);
    RETURN_IF_ERROR(forward(ids.subspan(begin, end - begin), rows, hidden.data()));
    std::vector<float> logits(std::min(rows, kLogitRows) * vocab);
    for (int row = 0; row < rows; row += kLogitRows) {
      const int count = std::min(kLogitRows, rows - row);
      transformer_.logits(hidden.data() + row * hidden_size, count, logits.data());
      for (int i = 0; i < count; ++i) {
        on_logits(static_cast<size_t>(first + row + i),
                  std::span(logits).subspan(i * vocab, vocab));
      }
    }
  }
  return {};
}

double negative_log_likelihood(const Kernels& kernels, std::span<const float> logits,
                               int32_t target) {
  return kernels.log_sum_exp(logits.data(), static_cast<int>(logits.size())) -
         static_cast<double>(logits[target]);
}

}  // namespace cascade::eval
