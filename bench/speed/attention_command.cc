// attention: one layer's attention alone.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/speed/kernel_bench.h"
#include "bench/speed/machine.h"
#include "kernels/kv_format.h"
#include "model/transformer.h"

namespace cascade::speed {
namespace {

KvLayout layer_layout(const KernelOptions& options, KvType type) {
  ModelConfig config;
  config.layers = 1;
  config.kv_heads = options.kv_heads;
  config.head_dim = options.head_dim;
  return kv_layout(config, type);
}

// Layers that together do not fit the caches. All have equal pages with random K and V.
class LayerCache {
 public:
  LayerCache(const Setup& setup, const KernelOptions& options, KvType type, int64_t keys)
      : layout_(layer_layout(options, type)), count_((keys + kTileKeys - 1) / kTileKeys) {
    const size_t page_bytes = layout_.page_bytes(), bytes = page_bytes * count_;
    layers_ = copies_for(1, bytes);
    memory_ = allocate_aligned(bytes * layers_);
    const auto values = random_floats(options.head_dim * 64, 3);
    for (int64_t page = 0; page < count_; ++page) {
      pages_.push_back(memory_.get() + page * page_bytes);
      for (int head = 0; head < options.kv_heads; ++head) {
        for (int slot = 0; slot < kTileKeys; ++slot) {
          const float* x = &values[(slot * 37 + page + head) % 63 * options.head_dim];
          setup.kernels->write_kv(type, options.head_dim, slot, x, x + options.head_dim,
                                  pages_.back() + key_offset(head),
                                  pages_.back() + value_offset(head));
        }
      }
    }
    for (size_t layer = 1; layer < layers_; ++layer) {
      std::memcpy(memory_.get() + layer * bytes, memory_.get(), bytes);
      for (int64_t page = 0; page < count_; ++page) pages_.push_back(pages_[page] + layer * bytes);
    }
  }
  size_t layers() const { return layers_; }
  size_t key_offset(int head) const { return layout_.key_offset(0, head); }
  size_t value_offset(int head) const { return layout_.value_offset(0, head); }
  const uint8_t* const* pages(size_t layer) const { return pages_.data() + layer * count_; }
  double layer_bytes() const { return static_cast<double>(layout_.page_bytes() * count_); }
  KvType type() const { return layout_.type; }

 private:
  KvLayout layout_;
  int64_t count_;  // pages of one layer
  size_t layers_;
  AlignedBytes memory_;
  std::vector<uint8_t*> pages_;
};

// Computes the attention of the last `tokens` of `keys` tokens, for all heads of one layer.
void attend(const Setup& setup, const KernelOptions& options, const LayerCache& cache, size_t layer,
            int64_t tokens, int64_t keys, const std::vector<float>& queries,
            std::vector<float>& outputs, const AlignedBytes& scratch) {
  const int group = options.query_heads / options.kv_heads, dim = options.head_dim;
  const auto pairs = static_cast<int>(tokens * group);
  const int per_task = std::min(pairs, kAttentionRowsMax);
  const int tasks_per_head = (pairs + per_task - 1) / per_task;
  setup.pool->run(options.kv_heads * tasks_per_head, [&](int task, int thread) {
    const int head = task / tasks_per_head, begin = task % tasks_per_head * per_task;
    const int rows = std::min(per_task, pairs - begin);
    const float* query[kAttentionRowsMax];
    float* output[kAttentionRowsMax];
    int32_t position[kAttentionRowsMax];
    const uint8_t* const* pages[kAttentionRowsMax];
    for (int i = 0; i < rows; ++i) {
      const size_t at = (static_cast<size_t>(head) * pairs + begin + i) * dim;
      query[i] = &queries[at];
      output[i] = &outputs[at];
      position[i] = static_cast<int32_t>(keys - tokens + (begin + i) / group);
      pages[i] = cache.pages(layer);
    }
    const size_t floats = attention_scratch_floats(dim);
    setup.kernels->attention(
        {.kv_type = cache.type(),
         .head_dim = dim,
         .scale = 1.0f / std::sqrt(static_cast<float>(dim)),
         .soft_cap = 0,
         .window = 0,
         .sinks = 0,
         .pages = pages,
         .key_offset = cache.key_offset(head),
         .value_offset = cache.value_offset(head),
         .rows = rows,
         .queries = query,
         .positions = position,
         .outputs = output,
         .scratch = reinterpret_cast<float*>(scratch.get()) + thread * ((floats + 15) / 16 * 16)});
  });
}

// The KV types of the options. Error if the options contradict each other.
Result<std::vector<KvType>> check(const KernelOptions& options) {
  std::vector<KvType> types;
  for (const std::string& name : options.types) {
    ASSIGN_OR_RETURN(types.emplace_back(), kv_type_of(name, "--kv"));
  }
  if (options.query_heads % options.kv_heads != 0) {
    return invalid_argument("--kv-heads", "must divide --query-heads, which is " +
                                              std::to_string(options.query_heads) + ", got " +
                                              std::to_string(options.kv_heads));
  }
  const int64_t deepest = std::ranges::max(options.depths);
  if (const int64_t fewest = std::ranges::min(options.rows); fewest > deepest) {
    return invalid_argument("--tokens", std::to_string(fewest) +
                                            " are more than --depth, which is at most " +
                                            std::to_string(deepest));
  }
  size_t page_bytes = 0;
  for (const KvType type : types) {
    page_bytes = std::max(page_bytes, layer_layout(options, type).page_bytes());
  }
  const auto pages = static_cast<double>((deepest + kPageTokens - 1) / kPageTokens);
  const double row_bytes = 2.0 * sizeof(float) * options.query_heads * options.head_dim;
  const double layer_bytes = pages * static_cast<double>(page_bytes);
  RETURN_IF_ERROR(fits_memory(std::max(layer_bytes, static_cast<double>(kCopiesBytes)) +
                                  row_bytes * static_cast<double>(std::ranges::max(options.rows)),
                              "--depth", "one layer of " + std::to_string(deepest) + " tokens"));
  return types;
}

}  // namespace

Status attention(const KernelOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<KvType> types, check(options));
  ASSIGN_OR_RETURN(const Setup setup, set_up(options.common));
  OrderedJson head = header("attention", setup);
  add_peak(head, setup);
  Report report(std::move(head));
  PeakProbe probe(*setup.pool, setup.kernels->isa);
  const size_t scratch_floats = (attention_scratch_floats(options.head_dim) + 15) / 16 * 16;
  const AlignedBytes scratch =
      allocate_aligned(scratch_floats * setup.pool->threads() * sizeof(float));
  for (const KvType type : types) {
    for (const int64_t depth : options.depths) {
      const LayerCache cache(setup, options, type, depth);
      for (const int64_t tokens : options.rows) {
        if (tokens > depth) continue;
        const size_t floats = static_cast<size_t>(tokens) * options.query_heads * options.head_dim;
        const std::vector<float> queries = random_floats(floats, 4);
        std::vector<float> outputs(floats);
        const size_t layers = tokens <= kReadBoundRows ? cache.layers() : 1;
        const PairedSamples samples = measure_kernel(probe, options.common.repeats, [&] {
          for (size_t layer = 0; layer < layers; ++layer) {
            attend(setup, options, cache, layer, tokens, depth, queries, outputs, scratch);
          }
        });
        double keys = 0;
        for (int64_t t = 0; t < tokens; ++t) keys += static_cast<double>(depth - t);
        const double ops = 4.0 * options.head_dim * options.query_heads * keys;
        OrderedJson row = {
            {"kv", std::string(to_string(type))}, {"depth", depth}, {"tokens", tokens}};
        const auto times = static_cast<double>(layers);
        const auto peak_ops = type == KvType::kInt8 ? &Peak::int8_op_per_s : &Peak::f32_flop_per_s;
        add_kernel_row(report, row, {ops * times, cache.layer_bytes() * times, peak_ops}, samples);
      }
    }
  }
  return print(report, options.common);
}

}  // namespace cascade::speed
