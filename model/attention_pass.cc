// Groups, tasks and stages; the sums themselves are the kernels'.
#include "model/attention_pass.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "cache/attention_pages.h"

namespace cascade {
namespace {

constexpr int kSplitPages = kSplitKeys / kPageTokens;

// The bytes of the largest part in a buffer, and those of the blocks of all its heads.
size_t largest_part(const KvLayout& layout) {
  return std::ranges::max(layout.parts, {}, &KvPartLayout::stride).stride();
}
size_t largest_blocks(const KvLayout& layout) {
  const auto blocks = [](const KvPartLayout& part) { return part.block_stride() * part.kv_heads; };
  return blocks(std::ranges::max(layout.parts, {}, blocks));
}

// Returns the size of the buffer for a stage: at most `bytes`, but at least that of one split,
// whether its parts or its blocks are read.
size_t stage_buffer_bytes(const KvLayout& layout, size_t bytes) {
  const size_t split_parts = largest_part(layout) * kSplitPages;
  const size_t split_blocks = largest_blocks(layout) * kSplitPages;
  return std::max(std::max<size_t>(1, bytes / split_parts) * split_parts, split_blocks);
}

int64_t page_of(int64_t position) {
  return position / kPageTokens;
}

}  // namespace

AttentionPass::AttentionPass(const ModelConfig& config, const Kernels& kernels,
                             const KvLayout& layout, ThreadPool& pool, const ReadLimits& limits)
    : config_(config),
      kernels_(kernels),
      layout_(layout),
      pool_(pool),
      limits_{stage_buffer_bytes(layout, limits.stage_bytes), limits.blocks_share},
      windows_(config.window),
      indexer_(layout, pool) {
  std::ranges::sort(windows_);
  windows_.erase(std::ranges::unique(windows_).begin(), windows_.end());
  scratch_ = allocate_aligned(scratch_floats() * sizeof(float) * pool.threads());
  for (int thread = 0; thread < pool.threads(); ++thread) {
    choices_.emplace_back(config_, kernels_, layout_);
  }
}

void AttentionPass::begin(std::span<const SliceRow> rows, std::span<const Slice> slices) {
  rows_ = rows;
  slices_ = slices;
  sequences_.clear();
  prepare_selection();
  find_sequences();
  plan_groups(rows);
  if (!sequences_.empty()) begin_reading();
}

// Counts the rows that select, and makes room for what they choose: tasks must not allocate.
void AttentionPass::prepare_selection() {
  indexer_.begin(rows_, slices_);
  // From the last layer with a state on, only outputs are attended.
  const int but_last = config_.last_state_layer();
  int64_t latest = -1;
  for (const SliceRow& row : rows_) {
    const AttentionMode& mode = slices_[row.slice].attention;
    const int layers = row.output ? config_.layers : but_last;
    if (!selects_somewhere(mode, row.position, config_, layers)) continue;
    ++selected_tokens_;
    latest = std::max(latest, row.position);
  }
  if (latest < 0) return;
  for (PageChoice& choice : choices_) choice.reserve(latest);
}

void AttentionPass::keep(std::span<const SliceRow> rows) {
  rows_ = rows;
  plan_groups(rows);
}

void AttentionPass::end() {
  if (stream_) stream_->stop();
  rows_ = {};
  slices_ = {};
}

// Looks at the rows slice by slice; the rows of a slice are neighbours.
void AttentionPass::find_sequences() {
  for (size_t begin = 0; begin < rows_.size();) {
    size_t end = begin + 1;
    while (end < rows_.size() && rows_[end].slice == rows_[begin].slice) ++end;
    find_sequence(rows_[begin].slice, rows_[begin].position, rows_[end - 1].position);
    begin = end;
  }
}

// Adds the slice to the sequences if an absent page may be seen by one of its rows, which are at
// the positions [earliest, latest].
void AttentionPass::find_sequence(int slice, int64_t earliest, int64_t latest) {
  const Slice& of = slices_[slice];
  auto sequence = std::make_unique<Sequence>();
  sequence->slice = slice;
  sequence->chooses = selects_somewhere(of.attention, latest, config_, config_.layers);
  bool any = false;
  for (const int window : windows_) {
    View& view = sequence->views.emplace_back();
    view.mode = layer_mode(of.attention, window);
    const PageRange unseen = unseen_pages(view.mode, earliest);
    for (int64_t page = 0; page <= page_of(latest); ++page) {
      if (of.pages[page] != nullptr || unseen.has(page)) continue;
      view.absent.numbers.push_back(static_cast<int32_t>(page));
    }
    any = any || !view.absent.numbers.empty();
    view.stages = plan_stages(view.mode, view.absent, earliest, latest);
  }
  if (!any) return;
  CHECK(of.absent != nullptr);
  sequence->page_count = page_of(latest) + 1;
  sequence->pages.resize(sequence->page_count * config_.kv_heads_max());
  sequences_.push_back(std::move(sequence));
}

AttentionPass::Sequence* AttentionPass::sequence_of(int slice) const {
  const auto found = std::ranges::find_if(
      sequences_, [&](const auto& sequence) { return sequence->slice == slice; });
  return found == sequences_.end() ? nullptr : found->get();
}

// Cuts the splits from the first one that some row sees into stages. Splits between the sinks and
// the windows belong to stages as well, but have nothing to read or to compute. Rows are at
// positions [earliest, latest].
std::vector<AttentionPass::Stage> AttentionPass::plan_stages(const AttentionMode& mode,
                                                             const Reads& reads, int64_t earliest,
                                                             int64_t latest) const {
  const PageRange unseen = unseen_pages(mode, earliest);
  const int64_t first_page = unseen.begin == 0 ? unseen.end : 0;
  const int of_page = reads.blocks() ? reads.part->kv_heads : 1;
  const size_t stride = reads.blocks() ? reads.part->block_stride() : largest_part(layout_);
  const size_t most = limits_.stage_bytes / stride;
  std::vector<Stage> stages;
  std::span<const int32_t> left = reads.numbers;
  const int splits = static_cast<int>(latest / kSplitKeys) + 1;
  Stage stage = {static_cast<int>(first_page / kSplitPages), 0, {}};
  for (int split = stage.split_begin; split < splits; ++split) {
    size_t count = stage.absent.size();
    while (count < left.size() && left[count] / of_page < (split + 1) * kSplitPages) ++count;
    if (count > most) {
      stages.push_back(stage);
      left = left.subspan(stage.absent.size());
      count -= stage.absent.size();
      stage.split_begin = split;
    }
    stage.absent = left.first(count);
    stage.split_end = split + 1;
  }
  stages.push_back(stage);
  return stages;
}

const AttentionPass::View& AttentionPass::view_of(const Sequence& sequence, int layer) const {
  const auto window = std::ranges::lower_bound(windows_, config_.window[layer]);
  return sequence.views[window - windows_.begin()];
}

void AttentionPass::begin_reading() {
  if (!stream_) stream_ = std::make_unique<KvPartStream>(limits_.stage_bytes);
  if (totals_rows_ < rows_.size()) {
    totals_rows_ = 0;
    totals_ = {};  // before the allocation, which may throw: there is never room for both
    totals_ = allocate_aligned(sizeof(float) * rows_.size() * config_.query_heads * total_floats());
    totals_rows_ = rows_.size();
  }
  // A choice is known in its layer alone, and there is one stream. The indexer must not read at the
  // same time.
  reads_ahead_ = std::ranges::none_of(groups_, &Group::chooses) && !indexer_.reads();
  if (reads_ahead_) read_ahead();
}

// The parts are read in the order in which attend() uses them.
void AttentionPass::read_ahead() {
  std::vector<KvPartStream::Piece> pieces;
  for (int layer = 0; layer < config_.layers; ++layer) {
    if (config_.recurrent.is_recurrent(layer)) continue;
    for (const auto& sequence : sequences_) {
      const auto is_output = [&](const SliceRow& row) {
        return row.slice == sequence->slice && row.output;
      };
      // prepare_selection() says why.
      const bool outputs_only = layer >= config_.last_state_layer();
      if (outputs_only && std::ranges::none_of(rows_, is_output)) continue;
      const int part = config_.attention_shape(layer).kv_part;
      add_pieces(*sequence, part, false, view_of(*sequence, layer).stages, pieces);
    }
  }
  stream_->start(std::move(pieces));
}

// Each mode has a group of the rows whose pages are all in memory. Then each sequence has a group.
void AttentionPass::plan_groups(std::span<const SliceRow> rows) {
  groups_.clear();
  const auto group_of = [&](const SliceRow& row) {
    const Sequence* const sequence = sequence_of(row.slice);
    return std::ranges::find_if(groups_, [&](const Group& group) {
      return group.sequence == sequence && group.mode == slices_[row.slice].attention;
    });
  };
  for (const SliceRow& row : rows) {
    const bool in_memory = sequence_of(row.slice) == nullptr;
    if (in_memory && group_of(row) == groups_.end()) {
      groups_.emplace_back().mode = slices_[row.slice].attention;
    }
  }
  for (const auto& sequence : sequences_) {
    Group& group = groups_.emplace_back();
    group.mode = slices_[sequence->slice].attention;
    group.sequence = sequence.get();
  }
  for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
    group_of(rows[row])->order.push_back(row);
  }
  for (Group& group : groups_) plan_tasks(group);
}

void AttentionPass::plan_tasks(Group& group) const {
  // Puts sequences with common pages next to each other; the rows of one sequence stay in order.
  std::ranges::stable_sort(group.order, [&](int a, int b) {
    if (rows_[a].slice == rows_[b].slice) return false;
    const KvPages left = slices_[rows_[a].slice].pages, right = slices_[rows_[b].slice].pages;
    return std::ranges::lexicographical_compare(left, right);
  });
  group.tasks.clear();
  for (int layer = 0; layer < config_.layers; ++layer) {
    if (config_.recurrent.is_recurrent(layer)) continue;
    const int kv_heads = config_.attention_shape(layer).kv_heads;
    if (!group.tasks.contains(kv_heads)) plan_tasks_of(group, kv_heads);
  }
}

void AttentionPass::plan_tasks_of(Group& group, int kv_heads) const {
  const int pairs = static_cast<int>(group.order.size()) * (config_.query_heads / kv_heads);
  // A task has as many rows as one tile can serve, or fewer, so that every thread has work.
  const int tasks_per_head = (pool_.threads() + kv_heads - 1) / kv_heads;
  const int share = (pairs + tasks_per_head - 1) / tasks_per_head;
  const int per_task = std::clamp(share, 1, kAttentionRowsMax);
  std::vector<Task>& tasks = group.tasks[kv_heads];
  for (int head = 0; head < kv_heads; ++head) {
    for (int pair = 0; pair < pairs; pair += per_task) {
      tasks.push_back({head, pair, std::min(pairs, pair + per_task)});
    }
  }
}

Status AttentionPass::attend(int layer, const Queries& queries, const Outputs& outputs,
                             const Interrupt& interrupt) {
  const Call call = {layer, config_.attention_shape(layer), queries, outputs, interrupt};
  for (Group& group : groups_) {
    if (group.order.empty()) continue;
    if (group.sequence == nullptr) {
      RETURN_IF_ERROR(run(group, call));
    } else {
      RETURN_IF_ERROR(attend_sequence(group, call));
    }
  }
  return {};
}

Status AttentionPass::attend_sequence(const Group& group, Call call) {
  for (const int row : group.order) {
    for (int head = 0; head < config_.query_heads; ++head) {
      std::memset(total(row, head), 0, sizeof(float) * total_floats());
    }
  }
  const View& view = view_of(*group.sequence, call.layer);
  std::span<const Stage> stages = view.stages;
  Reads chosen;
  std::vector<Stage> chosen_stages;
  if (group.chooses()) {
    chosen = choose_reads(group, call, view);
    const int64_t earliest = rows_[group.order.front()].position;
    const int64_t latest = rows_[group.order.back()].position;
    chosen_stages = plan_stages(view.mode, chosen, earliest, latest);
    stages = chosen_stages;
    call.blocks = chosen.blocks();
  }
  if (reads_ahead_) return attend_stages(group, call, stages);
  std::vector<KvPartStream::Piece> pieces;
  add_pieces(*group.sequence, call.shape.kv_part, chosen.blocks(), stages, pieces);
  stream_->start(std::move(pieces));
  const Status done = attend_stages(group, call, stages);
  stream_->stop();
  return done;
}

// The rows choose. Returns what they see of the absent pages of `view`.
AttentionPass::Reads AttentionPass::choose_reads(const Group& group, const Call& call,
                                                 const View& view) {
  std::vector<SliceChoice::Row> rows;
  for (const int row : group.order) {
    rows.push_back({rows_[row].position, call.queries.data + row * call.queries.stride});
  }
  const AttentionMode mode = selecting_mode(group.mode, call.layer, config_.window[call.layer]);
  slice_choice_.choose(mode, call.layer, call.shape, config_.query_heads / call.shape.kv_heads,
                       slices_[group.sequence->slice].all_indexes(), rows, pool_, choices_);
  // The last layer has fewer rows, and their window may hide pages of the view.
  std::vector<int32_t> absent = view.absent.numbers;
  const PageRange unseen = unseen_pages(view.mode, rows.front().position);
  std::erase_if(absent, [&](int32_t page) { return unseen.has(page); });
  const KvPartLayout& part = layout_.parts[call.shape.kv_part];
  Reads parts = {nullptr, slice_choice_.seen(absent)};
  Reads blocks = {&part, slice_choice_.seen_blocks(absent)};
  const auto part_bytes = static_cast<double>(parts.numbers.size() * part.stride());
  const auto block_bytes = static_cast<double>(blocks.numbers.size() * part.block_stride());
  const bool fewer = mode.selected > 0 && block_bytes <= limits_.blocks_share * part_bytes;
  return fewer && part.has_exact_blocks() ? blocks : parts;
}

// Adds what is to be read for these stages.
void AttentionPass::add_pieces(const Sequence& sequence, int part, bool blocks,
                               std::span<const Stage> stages,
                               std::vector<KvPartStream::Piece>& pieces) const {
  const KvPartLayout& of = layout_.parts[part];
  const size_t stride = blocks ? of.block_stride() : of.stride();
  for (const Stage& stage : stages) {
    if (stage.absent.empty()) continue;
    pieces.push_back(
        {slices_[sequence.slice].absent, part, stage.absent, stage.absent.size() * stride, blocks});
  }
}

Status AttentionPass::attend_stages(const Group& group, Call call, std::span<const Stage> stages) {
  for (const Stage& stage : stages) {
    call.stage = &stage;
    const uint8_t* read = nullptr;
    if (!stage.absent.empty()) {
      ASSIGN_OR_RETURN(read, stream_->next());
    }
    place(*group.sequence, call, read);
    RETURN_IF_ERROR(run(group, call));
  }
  return {};
}

// Notes where the pages of the call's stage are; `read` is what was read for it.
void AttentionPass::place(Sequence& sequence, const Call& call, const uint8_t* read) const {
  const Stage& stage = *call.stage;
  const KvPages pages = slices_[sequence.slice].pages;
  const size_t begin = size_t(stage.split_begin) * kSplitPages;
  const size_t end = std::min(size_t(stage.split_end) * kSplitPages, sequence.page_count);
  const int heads = call.shape.kv_heads;
  const KvPartLayout& part = layout_.parts[call.shape.kv_part];
  for (int head = 0; head < (call.blocks ? heads : 1); ++head) {
    std::copy(pages.begin() + begin, pages.begin() + end,
              sequence.pages.begin() + head * sequence.page_count + begin);
  }
  // A part or a block is a piece of a page; the kernels count from the beginning of the page.
  for (const int32_t number : stage.absent) {
    if (call.blocks) {
      const int head = number % heads;
      sequence.pages[head * sequence.page_count + number / heads] =
          read + part.block_shift(head) - layout_.key_offset(call.shape.kv_part, head);
      read += part.block_stride();
    } else {
      sequence.pages[number] = read - part.begin;
      read += part.stride();
    }
  }
}

Status AttentionPass::run(const Group& group, const Call& call) {
  const std::vector<Task>& tasks = group.tasks.at(call.shape.kv_heads);
  std::atomic<bool> stopped = false;
  pool_.run(static_cast<int>(tasks.size()), [&](int task, int thread) {
    const bool is_caller = thread == 0;
    if (is_caller && call.interrupt && !stopped) stopped = call.interrupt();
    if (!stopped) run_task(group, call, tasks[task], thread);
  });
  if (stopped) return interrupted();
  return {};
}

void AttentionPass::run_task(const Group& group, const Call& call, const Task& task, int thread) {
  const int dim = call.shape.head_dim;
  const int heads = config_.query_heads / call.shape.kv_heads;
  const float* queries[kAttentionRowsMax];
  float* outputs[kAttentionRowsMax];
  float* totals[kAttentionRowsMax];
  int32_t positions[kAttentionRowsMax];
  const uint8_t* const* pages[kAttentionRowsMax];
  float sink_logits[kAttentionRowsMax];
  const bool has_sinks = call.queries.sink_logits != nullptr;
  for (int pair = task.pair_begin; pair < task.pair_end; ++pair) {
    const int row = group.order[pair / heads];
    const int head = task.kv_head * heads + pair % heads;
    const int i = pair - task.pair_begin;
    queries[i] = call.queries.data + row * call.queries.stride + size_t(head) * dim;
    outputs[i] = call.outputs.data + row * call.outputs.stride + size_t(head) * dim;
    positions[i] = static_cast<int32_t>(rows_[row].position);
    pages[i] = slices_[rows_[row].slice].pages.data();
    if (has_sinks) sink_logits[i] = call.queries.sink_logits[head];
    if (group.sequence == nullptr) continue;
    const size_t first = call.blocks ? task.kv_head * group.sequence->page_count : 0;
    pages[i] = group.sequence->pages.data() + first;
    totals[i] = total(row, head);
  }
  const AttentionMode mode = selecting_mode(group.mode, call.layer, config_.window[call.layer]);
  AttentionArgs args = {
      .kv_type = layout_.type,
      .head_dim = dim,
      .scale = config_.attention_scale,
      .soft_cap = config_.attention_soft_cap,
      .window = mode.window,
      .sinks = mode.sinks,
      .pages = pages,
      .key_offset = layout_.key_offset(call.shape.kv_part, task.kv_head),
      .value_offset = layout_.value_offset(call.shape.kv_part, task.kv_head),
      .rows = task.pair_end - task.pair_begin,
      .queries = queries,
      .positions = positions,
      .outputs = outputs,
      .scratch = reinterpret_cast<float*>(scratch_.get()) + thread * scratch_floats()};
  if (has_sinks) args.sink_logits = sink_logits;
  if (call.stage != nullptr) {
    args.split_begin = call.stage->split_begin;
    args.split_end = call.stage->split_end;
    args.totals = totals;
  }
  const uint64_t* chosen[kAttentionRowsMax];
  if (mode.selected > 0) {
    if (group.chooses()) {
      for (int pair = task.pair_begin; pair < task.pair_end; ++pair) {
        chosen[pair - task.pair_begin] = slice_choice_.of(task.kv_head, size_t(pair / heads));
      }
    } else {
      choose_pages(mode, call, group, task, thread, chosen);
    }
    args.chosen = chosen;
  }
  kernels_.attention(args);
}

// A task may begin and end between the heads of a row. All heads of the row choose together, so two
// tasks may choose for the same row.
void AttentionPass::choose_pages(const AttentionMode& mode, const Call& call, const Group& group,
                                 const Task& task, int thread, const uint64_t** chosen) {
  const int heads = config_.query_heads / call.shape.kv_heads;
  const int begin = task.pair_begin / heads;
  PageChoice::Row rows[kAttentionRowsMax];
  int count = 0;
  for (int i = begin; i <= (task.pair_end - 1) / heads; ++i, ++count) {
    const int row = group.order[i];
    rows[count] = {rows_[row].position,
                   call.queries.data + row * call.queries.stride +
                       size_t(task.kv_head) * heads * call.shape.head_dim,
                   slices_[rows_[row].slice].all_indexes()};
  }
  PageChoice& choice = choices_[thread];
  choice.choose(mode, call.layer, task.kv_head, std::span(rows, count));
  for (int pair = task.pair_begin; pair < task.pair_end; ++pair) {
    chosen[pair - task.pair_begin] = choice.of_row(size_t(pair / heads - begin));
  }
}

float* AttentionPass::total(int row, int head) const {
  const size_t index = size_t(row) * config_.query_heads + head;
  return reinterpret_cast<float*>(totals_.get()) + index * total_floats();
}

size_t AttentionPass::total_floats() const {
  return attention_total_floats(config_.head_dim_max());
}

size_t AttentionPass::scratch_floats() const {
  return round_up(attention_scratch_floats(config_.head_dim_max()), size_t{16});
}

}  // namespace cascade
