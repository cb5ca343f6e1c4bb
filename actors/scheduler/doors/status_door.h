// The state of the daemon, the memory of chunks and pages, and the events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/scheduler/disk/chain_restores.h"
#include "actors/scheduler/disk/disk_room.h"
#include "actors/scheduler/disk/page_loader.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/disk/stored_states.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/keep.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request_admission.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/scheduler_options.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"
#include "cache/planner.h"
#include "cache/state_table.h"
#include "model/model.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Only the administrator is told of all tenants together. Another tenant is told of its
// own requests, chunks and pages.
class StatusDoor {
 public:
  // The sources of the answers. They outlive the door.
  struct Sources {
    const SchedulerOptions& options;
    const std::optional<int64_t>& stopping_since_us;
    const Clock& clock;
    const Model& model;
    const PageArena& arena;
    const PagePool& pool;
    const ChainIndex& index;
    Tenants& tenants;
    ChunkRegistry& registry;
    const RequestTable& requests;
    const RequestAdmission& admission;
    const IdlePrefill& idle;
    const SpeedEstimate& speed;
    const Counters& counters;
    const MetadataWriter& metadata;
    const PageLoader& loader;
    const PageWriter& writer;
    const StoredPages& stored;
    const DiskRoom& disk_room;
    const StateTable& states;
    const StoredStates& stored_states;
    const ChainRestores& restores;
    Keep& keep;
    Outbox& outbox;
  };
  // The daemon has been up since this was constructed.
  explicit StatusDoor(const Sources& from);

  void on(const Client& client, const wire::RequestId& id, const wire::StatusRequest&);
  void on(const Client& client, const wire::RequestId& id, const wire::StatsRequest&);
  void on(const Client& client, const wire::RequestId& id, const wire::EventsRequest& request);
  // As in wire::StatusReply.
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  wire::StatusReply status() const;
  int64_t pages_of_tenant(const std::string& tenant) const;
  void keep_own(const std::string& tenant, wire::StatusReply& status) const;
  // As in wire::StatusReply.
  int64_t sequence_tokens_max() const;
  // What a page takes in memory, with its index, and on disk.
  int64_t page_bytes() const;
  int64_t disk_page_bytes() const;
  wire::CacheStats cache_stats() const;
  wire::DiskStats disk_stats() const;
  // nullopt: the model has no recurrent layers.
  std::optional<wire::StateStats> state_stats() const;
  std::vector<wire::ChunkGroup> chunk_groups(const std::string& tenant, PagesOfChunk& all);
  std::vector<std::string> warnings() const;

  const Sources from_;
  const int64_t start_us_;
  const std::string fingerprint_;
};

}  // namespace cascade
