// Chunks by name: registering, listing, showing, deleting; and the state of the daemon.
#include <spdlog/spdlog.h>

#include "actors/scheduler/scheduler_core.h"
#include "actors/scheduler/tenant.h"
#include "base/random.h"
#include "base/utf8.h"

namespace cascade {
namespace {

// What a list shows of a text; chunk get has the rest.
constexpr size_t kListTextBytes = 400;

std::string shortened(const std::string& text) {
  if (text.size() <= kListTextBytes) return text;
  const std::string_view head = std::string_view(text).substr(0, kListTextBytes);
  return std::string(head.substr(0, head.size() - utf8_incomplete_suffix(head)));
}

}  // namespace

// Registers a chunk that a request brought along as text, and asks for its token ids. A registry
// that is full is no reason to refuse the request: the text has no id then.
void SchedulerCore::register_text(Chunk chunk) {
  chunk.id = random_id("chunk");
  chunk.tenant = kLocalTenant;
  chunk.created_us = chunk.last_used_us = clock_.wall_us();
  chunk.content_hash = chunk_content_hash(chunk);
  const auto added = registry_.add(std::move(chunk));
  if (!added.ok()) {
    spdlog::warn("a text of a request got no id: {}", added.error().message);
    return;
  }
  ChunkEntry* entry = *added;
  entry->chunk.last_used_us = clock_.wall_us();
  ++entry->chunk.hits;
  store(entry->chunk);
  if (!entry->chunk.token_ids.empty()) return;
  wire::EncodeJob job;
  job.job = next_job_++;
  job.mode = wire::EncodeJob::Mode::kText;
  job.raw = entry->chunk.text;
  encoding_puts_[job.job] = {"", {}, entry->chunk};
  send(Actor::kPrefill, std::move(job));
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id, wire::ChunkPut&& put) {
  if (put.type == ChunkType::kOutput) {
    return reply_error(client, id,
                       invalid_argument("type", "outputs are made by generate with retain_output"));
  }
  if (put.text.empty()) return reply_error(client, id, invalid_argument("text", "is empty"));
  const Status fits = check_text_bytes("text", static_cast<int64_t>(put.text.size()));
  if (!fits.ok()) return reply_error(client, id, fits.error());
  if (static_cast<int>(encoding_puts_.size()) >= options_.chunk_puts_max) {
    return reply_error(client, id, resource_exhausted("", "too many chunks are being registered"),
                       100);
  }
  ChunkPutJob job;
  job.client = client;
  job.id = id;
  job.chunk.type = put.type;
  job.chunk.text = std::move(put.text);
  job.chunk.id = random_id("chunk");
  job.chunk.tenant = kLocalTenant;
  job.chunk.created_us = job.chunk.last_used_us = clock_.wall_us();
  job.chunk.content_hash = chunk_content_hash(job.chunk);
  wire::EncodeJob encode;
  encode.job = next_job_++;
  encode.mode = wire::EncodeJob::Mode::kText;
  encode.raw = job.chunk.text;
  encoding_puts_[encode.job] = std::move(job);
  send(Actor::kPrefill, std::move(encode));
}

void SchedulerCore::chunk_text_ready(ChunkPutJob&& put, wire::EncodeDone&& done) {
  const bool from_client = !put.client.empty();
  if (done.error) {
    if (from_client) reply_error(put.client, put.id, *done.error);
    return;
  }
  put.chunk.token_ids = std::move(done.token_ids);
  if (!from_client) {
    const auto found = registry_.find(kLocalTenant, put.chunk.id);
    if (!found.ok()) return;  // deleted in the meantime
    (*found)->chunk.token_ids = std::move(put.chunk.token_ids);
    return store((*found)->chunk);
  }
  auto added = registry_.add(put.chunk);
  if (!added.ok()) return reply_error(put.client, put.id, added.error());
  Chunk& chunk = (*added)->chunk;
  if (chunk.token_ids.empty()) chunk.token_ids = std::move(put.chunk.token_ids);
  store(chunk);
  reply(put.client, put.id, wire::ChunkReply{chunk});
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       const wire::ChunkListRequest& request) {
  const auto page =
      registry_.list(kLocalTenant, request.type, static_cast<size_t>(request.limit), request.after);
  if (!page.ok()) return reply_error(client, id, page.error());
  wire::ChunkListReply answer;
  answer.more = page->more;
  for (const ChunkEntry* listed : page->entries) {
    ChunkEntry& entry = **registry_.find(kLocalTenant, listed->chunk.id);
    refresh(entry);
    answer.token_counts.push_back(static_cast<int64_t>(entry.chunk.token_ids.size()));
    Chunk shown = entry.chunk;
    shown.token_ids.clear();
    shown.text = shortened(shown.text);
    shown.query_text = shortened(shown.query_text);
    shown.raw_text = shortened(shown.raw_text);
    answer.chunks.push_back(std::move(shown));
  }
  reply(client, id, std::move(answer));
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       const wire::ChunkGet& get) {
  const auto found = registry_.find(kLocalTenant, get.id);
  if (!found.ok()) return reply_error(client, id, found.error());
  refresh(**found);
  reply(client, id, wire::ChunkReply{(*found)->chunk});
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       const wire::ChunkDelete& request) {
  const auto found = registry_.find(kLocalTenant, request.id);
  if (!found.ok()) return reply_error(client, id, found.error());
  refresh(**found);
  forget_chain(**found);
  const auto removed = registry_.remove(kLocalTenant, (*found)->chunk.id);
  send(Actor::kStore, wire::StoreDelete{next_job_++, kLocalTenant, removed->chunk.id});
  reply(client, id, wire::ChunkReply{removed->chunk});
}

// Lets go of the chunk's pages; those that no other chunk or request needs are freed at once.
void SchedulerCore::forget_chain(ChunkEntry& entry) {
  if (entry.hold) index_.drop_hold(*entry.hold);
  entry.hold.reset();
  index_.drop_branch(entry.chain, static_cast<int64_t>(entry.own_begin));
  entry.chain.clear();
}

void SchedulerCore::on(const std::string& client, const wire::RequestId& id,
                       const wire::StatusRequest&) {
  wire::StatusReply status;
  status.version = options_.version;
  status.boot_id = boot_id_;
  status.state = stopping_since_us_ ? "stopping" : "serving";
  status.uptime_us = clock_.monotonic_us() - start_us_;
  status.model = model_.name;
  status.model_type = model_.config.model_type;
  status.weight_type = to_string(model_.options.weight_type);
  status.kv_type = to_string(model_.options.kv_type);
  status.isa = to_string(model_.options.isa);
  status.threads = options_.threads;
  status.context_tokens_max = model_.config.context_tokens_max;
  status.weight_bytes = static_cast<int64_t>(model_.weights.bytes());
  const auto page_bytes = static_cast<int64_t>(arena_.page_bytes());
  status.kv_bytes_max = page_bytes * static_cast<int64_t>(pool_.page_count());
  status.kv_pages_used = static_cast<int64_t>(pool_.used_count());
  status.kv_bytes_used = page_bytes * status.kv_pages_used;
  status.kv_bytes_per_token = page_bytes / kPageTokens;
  status.requests_running = static_cast<int32_t>(prefilling_.size() + decoding_.size());
  status.requests_waiting = static_cast<int32_t>(waiting_.size() + encoding_requests_.size());
  status.requests_waiting_max = options_.requests_waiting_max;
  status.requests_done = counters_.done;
  status.requests_failed = counters_.failed;
  status.requests_cancelled = counters_.cancelled;
  status.tokens_reused = counters_.tokens_reused;
  status.tokens_prefilled = counters_.tokens_prefilled;
  status.tokens_reprefilled = counters_.tokens_reprefilled;
  status.tokens_generated = counters_.tokens_generated;
  status.pages_evicted = static_cast<int64_t>(index_.evicted_count());
  status.chunks_input = static_cast<int32_t>(registry_.count(false));
  status.chunks_output = static_cast<int32_t>(registry_.count(true));
  status.reprefills_pending = static_cast<int32_t>(reprefills_.size() + encoding_histories_.size());
  const auto per_second = [](double us) { return us > 0 ? 1e6 / us : 0; };
  status.prefill_tokens_per_s = per_second(speed_.prefill_token_us());
  status.decode_tokens_per_s = per_second(speed_.decode_token_us());
  status.actors_restarted = actors_restarted_;
  reply(client, id, std::move(status));
}

}  // namespace cascade
