// attention: one layer's attention alone.
#include <algorithm>
#include <cmath>

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

// One layer's pages with random K and V.
class LayerCache {
 public:
  LayerCache(const Setup& setup, const KernelOptions& options, KvType type, int64_t keys)
      : layout_(layer_layout(options, type)) {
    const int64_t count = (keys + kTileKeys - 1) / kTileKeys;
    const size_t page_bytes = layout_.page_bytes();
    memory_ = allocate_aligned(page_bytes * count);
    const auto values = random_floats(options.head_dim * 64, 3);
    for (int64_t page = 0; page < count; ++page) {
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
  }
  size_t key_offset(int head) const { return layout_.key_offset(0, head); }
  size_t value_offset(int head) const { return layout_.value_offset(0, head); }
  const uint8_t* const* pages() const { return pages_.data(); }
  double bytes() const { return static_cast<double>(layout_.page_bytes() * pages_.size()); }
  KvType type() const { return layout_.type; }

 private:
  KvLayout layout_;
  AlignedBytes memory_;
  std::vector<uint8_t*> pages_;
};

// The last `tokens` tokens of `keys`, all heads.
void attend(const Setup& setup, const KernelOptions& options, const LayerCache& cache,
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
      pages[i] = cache.pages();
    }
    const size_t floats = attention_scratch_floats(dim);
    setup.kernels->attention(
        {.kv_type = cache.type(),
         .head_dim = dim,
         .scale = 1.0f / std::sqrt(static_cast<float>(dim)),
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

// The types; what the options ask for together can be done.
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
  RETURN_IF_ERROR(fits_memory(pages * static_cast<double>(page_bytes) +
                                  row_bytes * static_cast<double>(std::ranges::max(options.rows)),
                              "--depth", "one layer of " + std::to_string(deepest) + " tokens"));
  return types;
}

}  // namespace

Status attention(const KernelOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<KvType> types, check(options));
  ASSIGN_OR_RETURN(const Setup setup, set_up(options.common));
  OrderedJson head = header("attention", setup);
  const Peak peak = add_peak(head, setup);
  Report report(std::move(head));
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
        const Samples samples = measure(options.common.repeats, kSecondsMin, [&] {
          attend(setup, options, cache, tokens, depth, queries, outputs, scratch);
        });
        double keys = 0;
        for (int64_t t = 0; t < tokens; ++t) keys += static_cast<double>(depth - t);
        const double ops = 4.0 * options.head_dim * options.query_heads * keys;
        OrderedJson row = {
            {"kv", std::string(to_string(type))}, {"depth", depth}, {"tokens", tokens}};
        const double peak_ops = type == KvType::kInt8 ? peak.int8_op_per_s : peak.f32_flop_per_s;
        add_kernel_row(report, row, ops, cache.bytes(), peak_ops, peak, samples);
      }
    }
  }
  return print(report, options.common);
}

}  // namespace cascade::speed
