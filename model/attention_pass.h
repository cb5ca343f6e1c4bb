// The attention of one forward pass: which rows are computed together, and parts of pages that are
// read for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "cache/kv_view.h"
#include "kernels/kernels.h"
#include "kernels/packed_matrix.h"
#include "kernels/thread_pool.h"
#include "model/config.h"
#include "model/interrupt.h"
#include "model/kv_part_stream.h"
#include "model/page_choice.h"
#include "model/page_indexer.h"
#include "model/slice.h"
#include "model/slice_choice.h"

namespace cascade {

// Rows of sequences that attend in the same mode, and whose pages are all in memory, are attended
// together. A sequence with absent pages is attended by itself, in *stages*: a stage is a range of
// splits whose absent parts fit a buffer. While a stage is computed, the parts of the next stage
// are read, even if that stage belongs to the next layer. If a sequence selects, its rows choose
// first in each layer, so that nothing can be read ahead of its layer; few rows read only the
// blocks that they chose. Parts that no row sees are not read. The bits are those of a pass with
// all pages in memory.
//
// Kernels, pool and configuration must outlive this. One thread.
class AttentionPass {
 public:
  // The largest size of each of the two buffers that absent parts are read into; at least one split
  // fits, whatever its size.
  static constexpr size_t kStageBytes = size_t{32} << 20;

  struct ReadLimits {
    size_t stage_bytes = kStageBytes;
    // Where tokens choose, blocks are read if they take at most this share of the bytes of whole
    // parts: many small reads are slower than few large ones of the same bytes.
    double blocks_share = 0.5;
  };

  // Other limits are for tests.
  AttentionPass(const ModelConfig& config, const Kernels& kernels, const KvLayout& layout,
                ThreadPool& pool, const ReadLimits& limits);
  AttentionPass(const ModelConfig& config, const Kernels& kernels, const KvLayout& layout,
                ThreadPool& pool)
      : AttentionPass(config, kernels, layout, pool, ReadLimits()) {}
  AttentionPass(const AttentionPass&) = delete;
  AttentionPass& operator=(const AttentionPass&) = delete;

  // Plans a pass over these rows, and begins to read absent parts. `rows` and `slices` must stay
  // until end(). Precondition (CHECKed): a page that a row sees is in memory, or its slice has a
  // reader.
  void begin(std::span<const SliceRow> rows, std::span<const Slice> slices);
  // Calls PageIndexer::index(); call it for all parts, ascending, when the part's K is in the
  // pages. Errors: as attend().
  Status index_pages(int part) { return indexer_.index(part); }
  // From here on there are only these rows: those of begin() that are outputs, in the same order.
  // Comes before attend() of the last layer with a state, if that layer attends.
  void keep(std::span<const SliceRow> rows);

  // Rows of floats: row r begins at `data` + r * `stride`, with all query heads one after the
  // other.
  struct Queries {
    const float* data;
    size_t stride;
    const float* sink_logits = nullptr;  // [query_heads] (AttentionArgs); nullptr: none
  };
  struct Outputs {
    float* data;
    size_t stride;
  };
  // Attends the rows in `layer`; call it for all layers, ascending. Their own K and V are in the
  // pages already. Errors: those of a slice's reader; kCancelled if `interrupt` said so; only end()
  // may follow.
  Status attend(int layer, const Queries& queries, const Outputs& outputs,
                const Interrupt& interrupt = {});
  // Ends the pass, also an incomplete one.
  void end();

  // The number of rows so far, over all passes, that select in some layer.
  int64_t selected_tokens() const { return selected_tokens_; }

 private:
  // Attention of up to kAttentionRowsMax (token, query head) pairs of one KV head.
  struct Task {
    int kv_head;
    int pair_begin;  // pair = index in Group::order * heads per KV head + head
    int pair_end;
  };
  // A layer reads these blocks of a part of its pages, or these parts as a whole.
  struct Reads {
    const KvPartLayout* part = nullptr;  // nullptr: whole parts
    std::vector<int32_t> numbers;        // of blocks, or of the parts' pages; ascending
    bool blocks() const { return part != nullptr; }
  };
  struct Stage {
    int split_begin;
    int split_end;
    std::span<const int32_t> absent;  // of Reads::numbers
  };
  // What the layers that attend in `mode` need of a sequence.
  struct View {
    AttentionMode mode;
    Reads absent;  // pages that a row may see
    std::vector<Stage> stages;
  };
  // A sequence with absent pages that a row may see.
  struct Sequence {
    int slice;
    bool chooses;             // a row selects in some layer
    std::vector<View> views;  // one for each of windows_
    // [most KV heads, pages]: those of the stage in progress. Where whole parts are read, the pages
    // of the first head are those of all.
    std::vector<const uint8_t*> pages;
    size_t page_count;
  };
  struct Group {
    AttentionMode mode;
    std::vector<int> order;                  // rows; those that share pages are neighbours
    std::map<int, std::vector<Task>> tasks;  // by the number of KV heads of a layer
    Sequence* sequence = nullptr;            // nullptr: all pages are in memory
    bool chooses() const { return sequence != nullptr && sequence->chooses; }
  };
  // What the tasks of one call have in common.
  struct Call {
    int layer;
    AttentionShape shape;  // of the layer
    Queries queries;
    Outputs outputs;
    const Interrupt& interrupt;
    const Stage* stage = nullptr;
    bool blocks = false;  // Reads::blocks() of the stage
  };

  void prepare_selection();
  void plan_groups(std::span<const SliceRow> rows);
  void plan_tasks(Group& group) const;
  void plan_tasks_of(Group& group, int kv_heads) const;
  void find_sequences();
  void find_sequence(int slice, int64_t earliest, int64_t latest);
  Sequence* sequence_of(int slice) const;
  std::vector<Stage> plan_stages(const AttentionMode& mode, const Reads& reads, int64_t earliest,
                                 int64_t latest) const;
  void begin_reading();
  void read_ahead();
  const View& view_of(const Sequence& sequence, int layer) const;
  Status attend_sequence(const Group& group, Call call);
  Reads choose_reads(const Group& group, const Call& call, const View& view);
  void add_pieces(const Sequence& sequence, int part, bool blocks, std::span<const Stage> stages,
                  std::vector<KvPartStream::Piece>& pieces) const;
  Status attend_stages(const Group& group, Call call, std::span<const Stage> stages);
  void place(Sequence& sequence, const Call& call, const uint8_t* read) const;
  Status run(const Group& group, const Call& call);
  void run_task(const Group& group, const Call& call, const Task& task, int thread);
  // Chooses pages for the rows of the task; `chosen` gets what each of its pairs sees.
  void choose_pages(const AttentionMode& mode, const Call& call, const Group& group,
                    const Task& task, int thread, const uint64_t** chosen);
  float* total(int row, int head) const;
  size_t total_floats() const;
  size_t scratch_floats() const;

  const ModelConfig& config_;
  const Kernels& kernels_;
  const KvLayout layout_;
  ThreadPool& pool_;
  const ReadLimits limits_;          // stage_bytes: those of the buffers
  std::vector<int> windows_;         // the different windows of the layers
  AlignedBytes scratch_;             // [threads, scratch_floats()]
  std::vector<PageChoice> choices_;  // [threads]
  PageIndexer indexer_;
  int64_t selected_tokens_ = 0;

  // The pass in progress.
  std::span<const SliceRow> rows_;
  std::span<const Slice> slices_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
  // Made when a pass first has absent pages.
  std::unique_ptr<KvPartStream> stream_;
  bool reads_ahead_ = false;  // the stream has been given the stages of all layers
  SliceChoice slice_choice_;  // of the group and layer in progress
  size_t totals_rows_ = 0;
  AlignedBytes totals_;  // [totals_rows_, query heads, attention_total_floats]
};

}  // namespace cascade
