// An output becomes a chunk; chunks are used.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/overflow.h"
#include "actors/scheduler/scheduler_core.h"
#include "base/call_id.h"
#include "model/conversation.h"
#include "wire/chunk_size.h"

namespace cascade {
namespace {

GenerationRecord record_of(const Request& request, const std::string& finish_reason) {
  return {.temperature = request.sample.temperature,
          .top_p = request.sample.top_p,
          .top_k = request.sample.top_k,
          .min_p = request.sample.min_p,
          .repetition_penalty = request.sample.repetition_penalty,
          .seed = request.sample.seed,
          .max_tokens = request.max_tokens,
          .finish_reason = finish_reason,
          .presence_penalty = request.sample.presence_penalty,
          .frequency_penalty = request.sample.frequency_penalty,
          .logit_bias_count = static_cast<int32_t>(request.sample.bias_tokens.size()),
          .approximation = request.attention.approximation,
          .left_out = request.told_left_out(),
          .left_out_from = request.told_left_out_from(),
          .retrieved = request.retrieved,
          .summarised = request.told_summarised()};
}

// Prompt and output as they were computed: every token whose K and V are in pages.
std::vector<int32_t> sampled_chain(const Request& request) {
  std::vector<int32_t> chain = request.prompt;
  chain.insert(chain.end(), request.sampled.begin(), request.sampled.end());
  const size_t computed =
      request.sequence ? request.sequence->tokens().size() : request.resumed.size();  // preempted
  chain.resize(std::min(chain.size(), computed));
  return chain;
}

// Asks for the request's conversation with its answer, as later turns will have it.
wire::EncodeJob history_job(const Request& request, const Chunk& output) {
  wire::EncodeJob job;
  job.messages = request.messages;
  const bool keep = output.think_policy == ThinkPolicy::kKeep;
  job.messages.push_back({.role = "assistant",
                          .content = keep ? output.raw_text : output.text,
                          .reasoning = {},
                          .verbatim = keep});
  if (!keep && calls_tool(output.text)) {
    // Within one turn of the user, which goes on after a tool's result, thoughts stay in the
    // history.
    job.follower = "tool";
    job.messages.back().reasoning = request.output->reasoning();
    job.messages.back().tool_call_id = call_id_prefix(output.id);
  }
  job.thinking = request.params.thinking;
  job.reasoning_effort = request.params.reasoning_effort;
  job.tools = request.params.tools;
  return job;
}

}  // namespace

// The chunk that the request's output becomes.
Chunk SchedulerCore::output_chunk(const Request& request, const std::string& finish_reason) const {
  Chunk chunk;
  chunk.id = request.output_id;
  chunk.type = ChunkType::kOutput;
  chunk.tenant = request.client.tenant;
  chunk.text = request.begun + request.output->answer();
  chunk.token_ids = request.sampled;
  chunk.query_text =
      request.params.prompt ? *request.params.prompt : request.messages.back().content;
  chunk.raw_text = request.generation_prefix + request.begun + request.output->raw_text();
  chunk.client_data = request.params.client_data;
  chunk.think_spans = request.output->think_spans();
  chunk.think_policy = request.think_policy;
  const bool is_turn = request.session_taken && finish_reason != "cancelled";
  chunk.holders = holders_of(chunk.tenant, chunk.type, settings_of_output(request.params),
                             is_turn ? request.params.session : "");
  const size_t parents = std::min(request.parent_ids.size(), kParentIdsMax);
  chunk.parent_ids.assign(request.parent_ids.begin(),
                          request.parent_ids.begin() + static_cast<ptrdiff_t>(parents));
  chunk.kv_state = chunk.think_policy != ThinkPolicy::kDrop ? KvState::kPending : KvState::kNone;
  chunk.generation = record_of(request, finish_reason);
  chunk.created_us = chunk.last_used_us = clock_.wall_us();
  chunk.content_hash = chunk_content_hash(chunk, request.prompt, request.attention);
  return chunk;
}

// Registers the output; its chain follows when the history is tokenized. Returns the chunk's id, or
// nothing if the chunk is too large or the registry is full.
std::string SchedulerCore::retain(Request& request, const std::string& finish_reason) {
  const Chunk chunk = output_chunk(request, finish_reason);
  const bool computed_later = chunk.think_policy != ThinkPolicy::kDrop;
  const Status fits = wire::check_size(chunk);
  auto added = fits.ok() ? registry_.add(chunk) : Result<ChunkEntry*>(fits.error());
  if (!added.ok()) {
    spdlog::warn("an output was not retained: {}", added.error().to_string());
    return "";
  }
  ChunkEntry& entry = **added;

  Reprefill next;
  next.tenant = entry.chunk.tenant;
  next.chunk_id = entry.chunk.id;
  next.attention = request.attention;
  if (entry.chunk.id == request.output_id) entry.attention = request.attention;
  next.sampled_chain = sampled_chain(request);
  next.prompt_tokens = request.prompt.size();
  next.heals = request.params.heal.value_or(options_.heal);
  if (const auto think = model_.tokenizer.think_tokens()) next.think_end = think->close;
  request.pin_promised = 0;  // the promise is the chunk's from here on
  keep_.holds.refresh(entry);
  if (computed_later && !entry.hold) entry.chunk.kv_state = KvState::kPending;
  keep_.pins.follow_holders(entry);
  if (entry.chunk.pinned && computed_later && !entry.hold) {
    keep_.pin_budget.promise(entry,
                             keep_.pin_budget.pages_of_chain(entry, next.sampled_chain.size()));
  }
  metadata_.put(entry.chunk);
  // Stores the sampled chain, so that the chunk's pages can still be found if the daemon ends
  // before the history is known.
  if (entry.chunk.id == request.output_id) {
    disk_.chains.store(entry, next.sampled_chain, next.prompt_tokens, /*pending=*/false);
  }
  if (entry.chunk.id == request.output_id) outbox_.tell_of(entry.chunk, EventKind::kChunkStored);
  if (request.params.prompt) {
    next.chain = next.sampled_chain;  // a raw prompt has no history but itself
    if (computed_later) keep_.reprefills.take_history(entry, std::move(next));
    return entry.chunk.id;
  }
  wire::EncodeJob job = history_job(request, chunk);
  const std::optional<int64_t> planned = doors_.sessions.planned(request);
  const std::vector<SummaryChoice> choices = keep_.summaries.choices(
      request, job.messages, planned ? cut_before(request, *planned) : LeftOut());
  if (!choices.empty() && choices.front().text.cut == LeftOut()) {
    job.summaries.push_back(choices.front().text);
  }
  auto ahead = shorten_ahead(
      request, job, next, planned,
      static_cast<int64_t>(pool_.page_count() - index_.pinned_count()) * kPageTokens, choices);
  if (finish_reason != "cancelled") {
    ChunkSettings settings;
    settings.ttl_ms = request.params.output_ttl_ms;
    keep_.summaries.answered(request, entry.chunk, job.messages, std::ssize(next.sampled_chain),
                             holders_of(entry.chunk.tenant, ChunkType::kSummary, settings,
                                        request.session_taken ? request.params.session : ""));
  }
  idle_.tokenize(std::move(job), std::move(next));
  if (ahead && finish_reason != "cancelled" && !idle_.tokenizes_many()) {
    idle_.tokenize(std::move(ahead->job), std::move(ahead->chain));
  }
  return entry.chunk.id;
}

void SchedulerCore::use_chunks(const std::string& tenant, const std::vector<std::string>& ids) {
  std::vector<const ChunkEntry*> used;
  for (const std::string& id : ids) {
    const auto found = registry_.find(tenant, id);
    if (!found.ok()) continue;
    used.push_back(*found);
    const ChunkEntry& entry = **found;
    const bool lost = entry.chunk.pinned && !entry.hold &&
                      !idle_.has({entry.chunk.tenant, entry.chunk.id}) &&
                      keep_.pin_budget.is_waiting(entry) && entry.chunk.tenant == tenant;
    if (lost) keep_.pins.pin_or_wait(**found);
    Chunk& chunk = (*found)->chunk;
    ++chunk.hits;
    chunk.last_used_us = clock_.wall_us();
    metadata_.use(chunk);
    outbox_.tell_of(chunk, EventKind::kChunkUsed);
  }
  disk_.loader.prefetch(used);
}

}  // namespace cascade
