// attention: one layer's attention alone.
#include <algorithm>
#include <cmath>

#include "bench/speed/kernel_bench.h"
#include "kernels/kv_format.h"

namespace cascade::speed {
namespace {

// One layer's pages with random K and V.
class LayerCache {
 public:
  LayerCache(const Setup& setup, const KernelOptions& options, KvType type, int64_t keys)
      : options_(options),
        type_(type),
        block_bytes_((key_block_bytes(type, options.head_dim) + 63) / 64 * 64),
        page_bytes_(options.kv_heads *
                    (block_bytes_ + (value_block_bytes(type, options.head_dim) + 63) / 64 * 64)) {
    const int64_t count = (keys + kTileKeys - 1) / kTileKeys;
    memory_ = allocate_aligned(page_bytes_ * count);
    const auto values = random_floats(options.head_dim * 64, 3);
    for (int64_t page = 0; page < count; ++page) {
      pages_.push_back(memory_.get() + page * page_bytes_);
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
  size_t key_offset(int head) const { return head * (page_bytes_ / options_.kv_heads); }
  size_t value_offset(int head) const { return key_offset(head) + block_bytes_; }
  const uint8_t* const* pages() const { return pages_.data(); }
  double bytes() const { return static_cast<double>(page_bytes_ * pages_.size()); }
  KvType type() const { return type_; }

 private:
  const KernelOptions& options_;
  KvType type_;
  size_t block_bytes_, page_bytes_;
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

}  // namespace

Status attention(const KernelOptions& options) {
  if (options.query_heads % options.kv_heads != 0) {
    return invalid_argument("--query-heads", "must be a multiple of --kv-heads, which is " +
                                                 std::to_string(options.kv_heads));
  }
  ASSIGN_OR_RETURN(const Setup setup, set_up(options.common));
  OrderedJson head = header("attention", setup);
  const Peak peak = add_peak(head, setup);
  Report report(std::move(head));
  const size_t scratch_floats = (attention_scratch_floats(options.head_dim) + 15) / 16 * 16;
  const AlignedBytes scratch =
      allocate_aligned(scratch_floats * setup.pool->threads() * sizeof(float));
  for (const std::string& name : options.types) {
    ASSIGN_OR_RETURN(const KvType type, kv_type_of(name, "--kv"));
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
