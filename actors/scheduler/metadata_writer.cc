// The store answers in order, so one number tells which answers wait for which changes.
#include "actors/scheduler/metadata_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace cascade {
namespace {

// How soon a store that could not write is asked again, and for how many changes at once.
constexpr int64_t kRetryUs = 2'000'000;
constexpr size_t kRetriesMax = 256;

void set_durable(wire::Message& message, bool durable) {
  if (auto* chunk = std::get_if<wire::ChunkReply>(&message)) chunk->durable = durable;
  if (auto* final = std::get_if<wire::Final>(&message)) final->durable = durable;
  if (auto* session = std::get_if<wire::SessionReply>(&message)) session->durable = durable;
  if (auto* policy = std::get_if<wire::PolicyReply>(&message)) policy->durable = durable;
}

}  // namespace

MetadataWriter::MetadataWriter(const Clock& clock, Jobs& jobs, Outbox& outbox, std::string model,
                               SendAgain send_again, RowRemoved row_removed)
    : clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      model_(std::move(model)),
      send_again_(std::move(send_again)),
      row_removed_(std::move(row_removed)),
      saving_(jobs, {.actor = Actor::kStore, .delays_stop = true},
              [this](auto&& lost) { lose(lost); }) {}

uint64_t MetadataWriter::begin(Saving&& saving) {
  const uint64_t job = jobs_.next();
  saving_.put(job, std::move(saving));
  return job;
}

void MetadataWriter::put(const Chunk& chunk) {
  const uint64_t job = begin({{chunk.tenant, chunk.id}, /*is_whole=*/true});
  outbox_.send(Actor::kStore, wire::StorePut{job, chunk});
}

void MetadataWriter::use(const Chunk& chunk) {
  const uint64_t job = begin({{chunk.tenant, chunk.id}, /*is_whole=*/false});
  outbox_.send(Actor::kStore, wire::StoreTouch{job, chunk.tenant, chunk.id, chunk.hits,
                                               chunk.registrations, chunk.last_used_us});
}

void MetadataWriter::remove_chunk(const StoredName& name) {
  const uint64_t job = begin({name, /*is_whole=*/true, /*is_removal=*/true});
  outbox_.send(Actor::kStore, wire::StoreDelete{job, name.tenant, name.id});
}

void MetadataWriter::put_chain(const StoredName& chunk, std::span<const int32_t> chain,
                               size_t begin_tokens, bool pending, const AttentionMode& attention) {
  const uint64_t job = begin({chunk, /*is_whole=*/false});
  outbox_.send(Actor::kStore, wire::StoreChain{job,
                                               model_,
                                               chunk.tenant,
                                               chunk.id,
                                               {chain.begin(), chain.end()},
                                               static_cast<int64_t>(begin_tokens),
                                               pending,
                                               attention});
}

void MetadataWriter::put(const Session& session) {
  const uint64_t job =
      begin({{session.tenant, session.id, StoredKind::kSession}, /*is_whole=*/true});
  outbox_.send(Actor::kStore, wire::StoreSession{job, session});
}

void MetadataWriter::remove_session(const StoredName& name) {
  const uint64_t job = begin({name, /*is_whole=*/true});
  outbox_.send(Actor::kStore, wire::StoreSessionDelete{job, name.tenant, name.id});
}

void MetadataWriter::put_policy(const StoredName& name, std::string value) {
  const uint64_t job = begin({name, /*is_whole=*/true});
  outbox_.send(Actor::kStore, wire::StorePolicy{job, name.tenant, name.id, std::move(value)});
}

uint64_t MetadataWriter::last_job() const {
  return saving_.empty() ? 0 : saving_.all().rbegin()->first;
}

void MetadataWriter::reply(const Client& client, const wire::RequestId& id,
                           std::vector<StoredName> names, wire::Message message) {
  waiting_.push_back({last_job(), std::move(names), client, id, std::move(message)});
  flush();
}

void MetadataWriter::flush() {
  const uint64_t next = saving_.empty() ? UINT64_MAX : saving_.all().begin()->first;
  while (!waiting_.empty() && waiting_.front().job < next) {
    Waiting& waiting = waiting_.front();
    const bool durable = std::ranges::none_of(
        waiting.names, [&](const StoredName& name) { return unsaved_.contains(name); });
    set_durable(waiting.message, durable);
    outbox_.reply(waiting.client, waiting.id, std::move(waiting.message));
    waiting_.pop_front();
  }
}

bool MetadataWriter::on(const wire::StoreAck& ack) {
  const std::optional<Saving> saved = saving_.take(ack.job);
  if (!saved) return false;
  if (ack.error) {
    if (!error_) spdlog::error("the store failed: {}", ack.error->to_string());
    error_ = ack.error;
    note_failure();
    unsaved_.insert(saved->name);
  } else if (saved->is_whole) {
    unsaved_.erase(saved->name);
  }
  if (saved->is_removal) row_removed_(saved->name, ack.error);
  if (unsaved_.empty() && error_) {
    spdlog::info("the store works again");
    error_.reset();
  }
  flush();
  return true;
}

void MetadataWriter::note_failure() {
  failed_us_ = clock_.monotonic_us();
}

bool MetadataWriter::may_retry() const {
  return clock_.monotonic_us() - failed_us_ >= kRetryUs;
}

void MetadataWriter::retry() {
  if (!unsaved_.empty() && saving_.empty()) send_unsaved();
}

void MetadataWriter::send_unsaved() {
  const std::vector<StoredName> names(unsaved_.begin(), unsaved_.end());
  for (size_t i = 0; i < std::min(names.size(), kRetriesMax); ++i) send_again_(names[i]);
}

// The store was restarted: the changes that it was given and did not answer are lost, or may be.
void MetadataWriter::lose(const PendingJobs<Saving>::All& lost) {
  for (const auto& [job, saving] : lost) unsaved_.insert(saving.name);
  send_unsaved();
  for (Waiting& waiting : waiting_) waiting.job = last_job();
}

}  // namespace cascade
