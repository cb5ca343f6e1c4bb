// There is no list of turns to summarise: the conversation and the summaries that exist show them.
#include "actors/scheduler/keep/summaries.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <string_view>

#include "actors/scheduler/prompt_size.h"
#include "actors/scheduler/summary_chain.h"
#include "cache/holders.h"
#include "model/harmony.h"
#include "model/output_stream.h"

namespace cascade {
namespace {

// A block has about this part of the room, or half as much. So several summaries are written before
// a turn is left out, and a conversation that goes on soon after its answers has some of them.
constexpr int64_t kBlockDivisor = 8;
constexpr int64_t kBlockTokensMin = 64;
// Texts alone decide where blocks end and prompts begin, so that no later answer moves these
// places. Real text has about so many bytes a token.
constexpr int64_t kBytesOfToken = 4;
// The newest turns that are never summarised have at least this part of the room.
constexpr int64_t kKeptDivisor = 4;
// All summaries of a prompt have at most this part of its room.
constexpr int64_t kSummariesDivisor = 4;
// A prompt that leaves out turns begins where at least this part of the room has become free, as
// far as texts tell, so that the prompts after it begin there, too.
constexpr int64_t kFreedDivisor = 2;
// The number of summaries that are remembered because they came to nothing.
constexpr size_t kFailedMax = 1024;

int64_t bytes_of(std::span<const ChatMessage> messages) {
  int64_t bytes = 0;
  for (const ChatMessage& message : messages) bytes += message_bytes(message);
  return bytes;
}

// The number of turns before the newest one, which is never summarised. `begins` is that of
// turn_begins().
size_t turns_before_newest(std::span<const size_t> begins) {
  return begins.size() < 2 ? 0 : begins.size() - 2;
}

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

// The text up to the end of its last whole sentence, if that is in its second half.
std::string whole_sentences(std::string&& text) {
  const size_t end = text.find_last_of(".!?\n");
  if (end != std::string::npos && end >= text.size() / 2) text.resize(end + 1);
  return std::move(text);
}

bool has_holder(const Chunk& chunk, const Holder& holder) {
  return std::ranges::any_of(chunk.holders, [&](const Holder& other) {
    return other.kind == holder.kind && other.label == holder.label;
  });
}

// If the session of the output was deleted meanwhile, it cannot hold the summary.
void leave_deleted_session(const Chunk& output, Chunk& summary) {
  for (Holder& holder : summary.holders) {
    if (holder.kind != HolderKind::kSession || has_holder(output, holder)) continue;
    holder.kind = HolderKind::kRetention;
    holder.label.clear();
  }
}

}  // namespace

Summaries::Summaries(SummaryOptions options, const Model& model, const Clock& clock, Outbox& outbox,
                     Tenants& tenants, ChunkRegistry& registry, MetadataWriter& metadata,
                     IdlePrefill& idle, PageLifecycle& lifecycle, ChunkRemovals& removals)
    : options_(std::move(options)),
      model_(model),
      clock_(clock),
      outbox_(outbox),
      tenants_(tenants),
      registry_(registry),
      metadata_(metadata),
      idle_(idle),
      lifecycle_(lifecycle),
      removals_(removals) {}

void Summaries::choose(Request& request, const LeftOut& planned) {
  if (request.summarised) {
    std::erase_if(request.summarised->chunk_ids, [&](const std::string& id) {
      const auto found = registry_.find(request.client.tenant, id);
      if (!found.ok()) request.missing.push_back({id, found.error().message});
      return !found.ok();
    });
  }
  request.summaries = choices(request, request.messages, planned);
}

std::vector<SummaryChoice> Summaries::choices(const Request& request,
                                              std::span<const ChatMessage> messages,
                                              const LeftOut& planned) {
  const std::string& tenant = request.client.tenant;
  const bool summarizes = request.on_overflow == OnOverflow::kSummarize;
  const int64_t tokens_max = summarizes ? request.prompt_room / kSummariesDivisor : INT64_MAX;
  std::vector<SummaryChoice> choices;
  const auto add = [&](const LeftOut& cut, const std::vector<std::string>& ids) {
    Summarised chosen = {0, merged_summaries(tenant, ids, tokens_max, registry_)};
    chosen.turns = turns_of(tenant, chosen.chunk_ids);
    std::string text = text_of(tenant, chosen.chunk_ids);
    if (!text.empty()) choices.push_back({{cut, std::move(text)}, std::move(chosen)});
  };
  const Summarised before = request.summarised.value_or(Summarised());
  add({}, before.chunk_ids);
  if (!summarizes) return choices;
  const std::vector<size_t> begins = turn_begins(messages);
  const std::vector<FoundSummary> found =
      find_summaries(tenant, messages, begins, turns_before_newest(begins), registry_);
  const int64_t freed_min = request.prompt_room / kFreedDivisor * kBytesOfToken;
  std::vector<std::string> ids = before.chunk_ids;
  size_t from = begins.front();  // the first message after those that the last choice leaves out
  for (const FoundSummary& summary : found) {
    ids.push_back(summary.chunk_id);
    const size_t to = begins[summary.turns_end];
    const auto turns = static_cast<int64_t>(summary.turns_end);
    const bool frees_enough = bytes_of(messages.subspan(from, to - from)) >= freed_min;
    if (frees_enough) from = to;
    const bool is_last = &summary == &found.back();
    if (frees_enough || is_last || planned == LeftOut{turns, 0}) {
      add({turns, 0}, ids);
    }
  }
  return choices;
}

LeftOut Summaries::cut_at_summary(const LeftOut& cut, Request& request) {
  if (request.on_overflow != OnOverflow::kSummarize || cut == LeftOut()) return cut;
  const std::vector<size_t> begins = turn_begins(request.messages);
  Summarised summarised = request.summarised.value_or(Summarised());
  LeftOut left_out;
  for (const FoundSummary& summary : find_summaries(request.client.tenant, request.messages, begins,
                                                    turns_before_newest(begins), registry_)) {
    summarised.chunk_ids.push_back(summary.chunk_id);
    left_out = {static_cast<int64_t>(summary.turns_end), 0};
    if (left_out >= cut) break;
  }
  if (summarised.chunk_ids.empty()) return cut;
  summarised.turns = turns_of(request.client.tenant, summarised.chunk_ids);
  request.summarised = std::move(summarised);
  return std::max(left_out, cut);
}

int64_t Summaries::turns_of(const std::string& tenant, std::span<const std::string> ids) {
  int64_t turns = 0;
  for (const std::string& id : ids) {
    const auto found = registry_.find(tenant, id);
    if (found.ok()) turns += (*found)->chunk.generation.summarised.value_or(Summarised()).turns;
  }
  return turns;
}

std::string Summaries::text_of(const std::string& tenant, std::span<const std::string> ids) {
  std::string text;
  for (const std::string& id : ids) {
    const auto found = registry_.find(tenant, id);
    if (!found.ok()) continue;
    if (!text.empty()) text += "\n\n";
    text += (*found)->chunk.text;
  }
  return text;
}

void Summaries::answered(const Request& request, const Chunk& output,
                         std::vector<ChatMessage> messages, int64_t tokens,
                         std::vector<Holder> holders) {
  if (request.on_overflow != OnOverflow::kSummarize) return;
  const Summarised before = request.summarised.value_or(Summarised());
  hold(before, output.tenant, holders);
  const auto other_bytes =
      std::ssize(request.params.tools) + std::ssize(text_of(output.tenant, before.chunk_ids));
  const int64_t bytes = bytes_of(messages) + other_bytes;
  plan({.tenant = output.tenant,
        .output_id = output.id,
        .messages = std::move(messages),
        .answers = request.answers,
        .before = before.chunk_ids,
        .tokens = tokens,
        .bytes = bytes,
        .room = request.prompt_room,
        .attention = request.attention.exact(),
        .holders = std::move(holders),
        .answered_us = clock_.wall_us()});
}

// A session holds the summaries that stand in for its turns, also those that another one's turns
// led to.
void Summaries::hold(const Summarised& summarised, const std::string& tenant,
                     const std::vector<Holder>& holders) {
  for (const std::string& id : summarised.chunk_ids) {
    const auto found = registry_.find_own(tenant, id);
    for (const Holder& holder : holders) {
      const bool is_new =
          found.ok() && holder.kind == HolderKind::kSession && !has_holder((*found)->chunk, holder);
      if (!is_new || !add_holder((*found)->chunk, holder).ok()) continue;
      registry_.reschedule(**found);
      metadata_.put((*found)->chunk);
    }
  }
}

void Summaries::plan(SummarySource&& source) {
  replace_older(source);
  Work work = next_of(source);
  if (!work.text.empty()) begin(std::move(work), std::move(source));
}

// Returns what is to be summarised next, which may be other summaries; no text: nothing.
Summaries::Work Summaries::next_of(const SummarySource& source) {
  if (source.tokens < source.room / kFreedDivisor) return {};
  const std::span<const ChatMessage> messages = source.messages;
  const std::vector<size_t> begins = turn_begins(messages);
  const size_t turns_max = turns_before_newest(begins);
  std::vector<std::string> ids = source.before;
  size_t begin = 0;
  for (const FoundSummary& found :
       find_summaries(source.tenant, messages, begins, turns_max, registry_)) {
    ids.push_back(found.chunk_id);
    begin = found.turns_end;
  }
  // Tokens are estimated by the bytes of texts.
  const auto tokens_of = [&](size_t from, size_t to) {
    const int64_t bytes = bytes_of(messages.subspan(begins[from], begins[to] - begins[from]));
    const double share =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, source.bytes));
    return static_cast<int64_t>(share * static_cast<double>(source.tokens));
  };
  // A power of two, since the room depends on what the answer may have.
  const auto block = static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, source.room / kBlockDivisor))));
  const int64_t wanted = kBytesOfToken * std::clamp(block, kBlockTokensMin, kBlockTokensMax);
  int64_t bytes = 0;
  size_t end = begin;
  // A block that could not be summarised is tried again with one turn more.
  const auto failed = [&] {
    const std::span<const size_t> turns = std::span(begins).subspan(begin, end - begin + 1);
    return failed_.contains({source.tenant, hash_of_turns(messages, turns)});
  };
  for (; end < turns_max && (bytes < wanted || failed()); ++end) {
    bytes += bytes_of(messages.subspan(begins[end], begins[end + 1] - begins[end]));
  }
  const bool keeps_enough = tokens_of(end, begins.size() - 1) >= source.room / kKeptDivisor;
  if (bytes < wanted || !keeps_enough) return {};
  const int64_t most = source.room / kSummariesDivisor;
  // The summary of a very long turn leaves room for another one.
  const int64_t tokens_max =
      std::max(kSummaryTokensMin, std::min(tokens_of(begin, end) / options_.divisor, most / 2));
  ids = merged_summaries(source.tenant, std::move(ids), most, registry_, tokens_max);
  if (summary_tokens(source.tenant, ids, registry_) + tokens_max > most) {
    Work merge = merge_of(source, ids);
    if (!merge.text.empty()) return merge;
  }
  const std::span<const size_t> turns = std::span(begins).subspan(begin, end - begin + 1);
  const size_t first = begins[begin], last = begins[end];
  Work work = {hash_of_turns(messages, turns),
               transcript(messages.subspan(first, last - first)),
               tokens_max,
               static_cast<int64_t>(end - begin),
               {}};
  for (const auto& [id, place] : source.answers) {
    if (place >= first && place < last) work.parents.push_back(id);
  }
  return work;
}

// Returns the work of summarising some of the summaries `ids`; no text: there are too few.
Summaries::Work Summaries::merge_of(const SummarySource& source,
                                    const std::vector<std::string>& ids) {
  const SummaryRange range =
      range_to_merge(source.tenant, ids, source.room / kSummariesDivisor, registry_);
  if (range.end - range.begin < 2) return {};
  const std::span<const std::string> merged =
      std::span(ids).subspan(range.begin, range.end - range.begin);
  const int64_t tokens = summary_tokens(source.tenant, merged, registry_);
  return {hash_of_summaries(merged),
          text_of(source.tenant, merged),
          std::max(kSummaryTokensMin, tokens / options_.divisor),
          turns_of(source.tenant, merged),
          {merged.begin(), merged.end()}};
}

// The summaries that are tokenized, wait, or are being written.
std::map<Summaries::Name, const SummaryDraft*> Summaries::drafts() const {
  std::map<Name, const SummaryDraft*> drafts;
  const auto add = [&](const Reprefill& chain) {
    if (chain.draft) drafts[{chain.tenant, chain.draft->chunk.content_hash}] = &*chain.draft;
  };
  for (const auto& [job, chain] : idle_.tokenizing()) add(chain);
  std::ranges::for_each(idle_.queue(), add);
  return drafts;
}

// Summaries that were begun after an earlier answer of the same conversation go on from this one.
void Summaries::replace_older(const SummarySource& source) {
  const auto is_answer = [&](const std::string& id) {
    return std::ranges::any_of(source.answers, [&](const auto& of) { return of.first == id; });
  };
  for (auto& [name, older] : sources_) {
    const bool is_same =
        name.first == source.tenant &&
        (is_answer(older.output_id) ||
         std::ranges::any_of(older.answers, [&](const auto& of) { return is_answer(of.first); }));
    if (is_same && older.answered_us <= source.answered_us) older = source;
  }
}

void Summaries::begin(Work&& work, SummarySource&& source) {
  const Name name = {source.tenant, work.content_hash};
  if (failed_.contains(name) || source.drafts_left == 0) return;
  const std::map<Name, const SummaryDraft*> begun = drafts();
  std::erase_if(sources_, [&](const auto& known) { return !begun.contains(known.first); });
  // A turn, or summary, that is being summarised is not summarised a second time.
  const bool is_begun = std::ranges::any_of(begun, [&](const auto& draft) {
    const std::vector<std::string>& parents = draft.second->chunk.parent_ids;
    return draft.first == name ||
           (draft.first.first == name.first &&
            std::ranges::find_first_of(parents, work.parents) != parents.end());
  });
  if (begun.contains(name)) sources_[name] = std::move(source);  // the newer one
  if (is_begun || begun.size() >= kDraftsMax || idle_.is_full() || idle_.tokenizes_many()) return;
  --source.drafts_left;
  Reprefill next;
  next.tenant = source.tenant;
  next.chunk_id = source.output_id;
  next.attention = source.attention;
  SummaryDraft& draft = next.draft.emplace();
  draft.chunk.id = random_id("chunk", options_.random);
  draft.chunk.type = ChunkType::kSummary;
  draft.chunk.tenant = source.tenant;
  draft.chunk.content_hash = work.content_hash;
  draft.chunk.holders = source.holders;
  draft.chunk.parent_ids = std::move(work.parents);
  draft.chunk.parent_ids.resize(std::min(draft.chunk.parent_ids.size(), kParentIdsMax));
  draft.chunk.generation.max_tokens = static_cast<int32_t>(work.tokens_max);
  draft.chunk.generation.summarised = Summarised{work.turns, {}};
  draft.tokens_max = work.tokens_max;
  draft.end_tokens = model_.generation.end_tokens;
  const auto think = model_.tokenizer.think_tokens();
  const bool has_harmony = HarmonyTokens::of(model_.tokenizer).has_value();
  if (think) draft.think = {think->open, think->close};
  draft.thought_tokens_max = think ? kThoughtTokensMax : 0;
  if (has_harmony) draft.tokens_max += kThoughtTokensMax;  // they have no token of their own
  wire::EncodeJob job;
  job.messages.push_back({.role = "user",
                          .content = ask_for_summary(work.text, options_.prompt, work.tokens_max),
                          .reasoning = {}});
  job.thinking = false;
  if (has_harmony) job.reasoning_effort = "low";
  sources_[name] = std::move(source);
  idle_.tokenize(std::move(job), std::move(next));
}

void Summaries::tokenized(Reprefill&& next, wire::EncodeDone&& done) {
  if (!registry_.find_own(next.tenant, next.chunk_id).ok()) {
    return removals_.end_piece({next.tenant, next.chunk_id});
  }
  const int64_t tokens =
      std::ssize(done.token_ids) + next.draft->tokens_max + next.draft->thought_tokens_max;
  if (done.error || done.token_ids.empty() || tokens > model_.config.context_tokens_max) {
    const std::string why = done.error ? done.error->to_string() : "it is longer than the context";
    spdlog::warn("a summary is not written: {}", why);
    return give_up({next.tenant, next.draft->chunk.content_hash});
  }
  next.chain = std::move(done.token_ids);
  next.sampled_chain = next.chain;
  next.prompt_tokens = next.chain.size();
  next.draft->inside_think = next.draft->thinks = done.inside_think;
  idle_.push(std::move(next));
}

void Summaries::ended(Reprefill&& idle, bool complete) {
  // Nobody asks the same again.
  lifecycle_.forget({tenants_.id(idle.tenant, idle.attention), idle.chain, 0, Removal::kDead,
                     ForgetScope::kUnreachable});
  auto source = sources_.extract({idle.tenant, idle.draft->chunk.content_hash});
  const auto output = registry_.find_own(idle.tenant, idle.chunk_id);
  if (!output.ok()) {
    return removals_.end_piece({idle.tenant, idle.chunk_id},
                               {{std::move(idle.chain), idle.prompt_tokens}});
  }
  if (!complete) return;
  Chunk& chunk = idle.draft->chunk;
  // A turn that was deleted meanwhile must not come back as a part of a summary.
  const bool has_all = std::ranges::all_of(chunk.parent_ids, [&](const std::string& id) {
    return registry_.find(idle.tenant, id).ok();
  });
  if (!has_all) return;
  chunk.text = answer_of(idle);
  auto ids = model_.tokenizer.encode(chunk.text, /*trusted=*/false, /*with_template=*/false);
  if (chunk.text.empty() || !ids.ok()) {
    spdlog::warn("the model wrote no summary of the turns before output {}", idle.chunk_id);
    give_up({idle.tenant, chunk.content_hash});
  } else {
    chunk.token_ids = *std::move(ids);
    chunk.generation.finish_reason = idle.draft->ended ? "stop" : "length";
    if (!source.empty()) chunk.holders = source.mapped().holders;
    leave_deleted_session((*output)->chunk, chunk);
    if (!add(std::move(chunk), source.empty() ? nullptr : &source.mapped())) return;
  }
  if (!source.empty()) plan(std::move(source.mapped()));
}

void Summaries::give_up(const Name& name) {
  if (failed_.size() >= kFailedMax) failed_.clear();
  failed_.insert(name);
  sources_.erase(name);
}

// Returns what the model wrote, without thoughts. A text that was cut ends with a whole sentence.
std::string Summaries::answer_of(const Reprefill& idle) const {
  const SummaryDraft& draft = *idle.draft;
  const auto harmony =
      harmony_reader(model_.tokenizer, std::span(idle.chain).first(idle.prompt_tokens));
  OutputStream stream(model_.tokenizer,
                      harmony ? harmony->part() == HarmonyPart::kThoughts : draft.inside_think, {},
                      /*goes_on=*/false, std::nullopt, harmony);
  for (const int32_t token : draft.sampled) (void)stream.push(token);
  (void)stream.finish(draft.ended);
  std::string text = trimmed(stream.answer());
  return draft.ended ? text : whole_sentences(std::move(text));
}

// False if the summary is not kept, or is over already: the next one would not be found either.
bool Summaries::add(Chunk&& chunk, const SummarySource* source) {
  chunk.created_us = chunk.last_used_us = clock_.wall_us();
  // Its time begins now, not with the answer.
  for (Holder& holder : chunk.holders) {
    const bool expires = source != nullptr && holder.expires_us != 0;
    if (expires) holder.expires_us += chunk.created_us - source->answered_us;
  }
  const std::string tenant = chunk.tenant, content_hash = chunk.content_hash;
  const auto added = registry_.add(std::move(chunk));
  if (!added.ok()) {
    spdlog::warn("a summary is not kept: {}", added.error().message);
    return false;
  }
  metadata_.put((*added)->chunk);
  outbox_.tell_of((*added)->chunk, EventKind::kChunkStored);
  return find_summary(tenant, content_hash, registry_) != nullptr;
}

}  // namespace cascade
