// Rounds of drafts, and what remains of them.
#include "actors/burst_sequence.h"

#include <algorithm>
#include <utility>

#include "actors/job_sampling.h"
#include "base/check.h"
#include "cache/attention_pages.h"
#include "model/draft_length.h"
#include "model/page_choice.h"

namespace cascade {

BurstSequence::BurstSequence(Engine& engine, const wire::DecodeSequence& job, bool alone)
    : engine_(engine),
      job_(job),
      alone_(alone),
      pages_(engine.arena, engine.model.kv_layout, engine.files, job.pages,
             {job.index_memory, job.indexed_pages}),
      indexed_pages_(job.attention.selected > 0 || job.drafts.selected > 0 ? pages_.indexed()
                                                                           : nullptr),
      states_(engine.states, job.states),
      params_(sampler_params(job.sample)),
      position_(job.position),
      fed_{job.token},
      indexed_before_(pages_.indexed_pages()) {
  CHECK(job.drafts.is_dense() || (job.attention.is_dense() && !job.states));
  result_.sequence = job.sequence;
  result_.draft_record = job.draft_record;
  auto grammar = grammar_of(engine, job.sample);
  if (grammar.ok()) {
    grammar_ = *std::move(grammar);
  } else {
    result_.error = grammar.error();
  }
}

void BurstSequence::begin() {
  history_ = history_of(job_.sample);
  if (grammar_ != nullptr) {
    auto constraint = constraint_of(engine_.model, grammar_, *job_.sample.constraint);
    if (constraint.ok()) {
      constraint_ = *std::move(constraint);
    } else {
      result_.error = constraint.error();
    }
  }
  plan_round();
}

bool BurstSequence::is_done() const {
  if (result_.error || result_.lost_page) return true;
  const std::vector<int32_t>& sampled = result_.token_ids;
  if (std::ssize(sampled) >= job_.steps_max) return true;
  return !sampled.empty() && is_end_token(sampled.back());
}

bool BurstSequence::is_end_token(int32_t token) const {
  return std::ranges::find(job_.end_tokens, token) != job_.end_tokens.end();
}

Slice BurstSequence::slice() {
  if (is_drafting()) {
    Slice draft = {std::span(fed_).last(1),
                   position_ + std::ssize(fed_) - 1,
                   pages_.addresses(),
                   1,
                   nullptr,
                   job_.drafts,
                   indexed_pages_};
    draft.free_positions = job_.free_positions;
    return draft;
  }
  Slice slice = {fed_,           position_,      pages_.addresses(), rows(), pages_.absent(),
                 job_.attention, indexed_pages_, pages_.indexes()};
  slice.free_positions = job_.free_positions;
  states_.put_into(slice);
  return slice;
}

// With pages on disk there are no drafts: dense requests have no memory for indexes there. While
// many pages have no index, dense passes index some each.
void BurstSequence::plan_round() {
  drafts_wanted_ = 0;
  if (is_done() || job_.drafts.is_dense() || indexed_pages_ == nullptr) return;
  constexpr int64_t kUnindexedMax = 2;
  if (*indexed_pages_ + kUnindexedMax < select_candidates(position_).end) return;
  const auto room = job_.steps_max - static_cast<int>(result_.token_ids.size()) - 1;
  drafts_wanted_ = std::min(
      room, engine_.draft_pace.drafts(result_.draft_record, job_.drafts, position_, alone_));
  if (drafts_wanted_ > 0) draft_constraint_ = constraint_;
}

void BurstSequence::take(std::span<float> logits) {
  states_.advance();
  is_typical_ =
      indexed_pages_ != nullptr && *indexed_pages_ == indexed_before_ &&
      selects_somewhere(job_.drafts, position_, engine_.model.config, engine_.model.config.layers);
  if (indexed_pages_ != nullptr) indexed_before_ = *indexed_pages_;
  if (is_drafting()) {
    take_draft(logits);
  } else {
    take_checked(logits);
  }
}

void BurstSequence::take_draft(std::span<float> logits) {
  SamplerParams params = params_;
  params.top_logprobs = 0;
  const auto sampled = sample_allowed(
      logits.first(engine_.model.config.vocab_size), params, history_, position_ + std::ssize(fed_),
      *engine_.model.kernels, draft_constraint_ ? &*draft_constraint_ : nullptr);
  if (!sampled.ok()) {
    drafts_wanted_ = static_cast<int>(fed_.size()) - 1;
    return end_drafting();
  }
  fed_.push_back(sampled->token);
  if (params_.penalises()) new_in_history_.push_back(history_.add_generated(sampled->token));
  if (is_end_token(sampled->token)) drafts_wanted_ = static_cast<int>(fed_.size()) - 1;
  if (!is_drafting()) end_drafting();
}

// The drafts may turn out to be wrong: history and constraint go back to the last token that is
// right.
void BurstSequence::end_drafting() {
  for (size_t draft = new_in_history_.size(); draft > 0; --draft) {
    history_.take_back(fed_[draft], new_in_history_[draft - 1]);
  }
  new_in_history_.clear();
  draft_constraint_.reset();
}

void BurstSequence::take_checked(std::span<float> logits) {
  const size_t vocab = engine_.model.config.vocab_size;
  const size_t drafts = fed_.size() - 1;
  size_t accepted = 0;
  size_t row = 0;
  for (bool agrees = true; agrees && !is_done(); ++row) {
    const auto sampled =
        sample_allowed(logits.subspan(row * vocab, vocab), params_, history_,
                       position_ + static_cast<int64_t>(row) + 1, *engine_.model.kernels,
                       constraint_ ? &*constraint_ : nullptr);
    if (!sampled.ok()) {
      result_.error = sampled.error();
      return;
    }
    keep(*sampled);
    agrees = row < drafts && fed_[row + 1] == sampled->token;
    if (agrees) ++accepted;
  }
  result_.drafted_tokens += static_cast<int64_t>(drafts);
  result_.accepted_tokens += static_cast<int64_t>(accepted);
  if (accepted < drafts) ++rejected_;
  note_round(result_.draft_record, static_cast<int>(drafts), static_cast<int>(accepted));
  position_ += static_cast<int64_t>(row);
  fed_ = {result_.token_ids.back()};
  plan_round();
}

void BurstSequence::keep(const Sampled& sampled) {
  // As the forward pass counts them. The tokens of a dense pass never select.
  const int64_t fed_at = job_.position + std::ssize(result_.token_ids);
  if (selects_somewhere(job_.attention, fed_at, engine_.model.config,
                        engine_.model.config.layers)) {
    ++result_.selected_tokens;
  }
  result_.token_ids.push_back(sampled.token);
  result_.logprobs.push_back(sampled.logprob);
  const auto& tops = sampled.top_tokens;
  result_.top_token_ids.insert(result_.top_token_ids.end(), tops.begin(), tops.end());
  const auto& logprobs = sampled.top_logprobs;
  result_.top_logprobs.insert(result_.top_logprobs.end(), logprobs.begin(), logprobs.end());
  if (params_.penalises()) history_.add_generated(sampled.token);
}

bool BurstSequence::end_if_unread() {
  if (!pages_.failed()) return false;
  result_.lost_page = pages_.lost_page();
  result_.error = pages_.error();
  return true;
}

wire::DecodedSequence BurstSequence::finish() {
  result_.indexed_pages = pages_.indexed_pages();
  engine_.draft_pace.note_drafts(result_.accepted_tokens, rejected_);
  return std::move(result_);
}

}  // namespace cascade
