// Chunks by name: registering, listing, showing, deleting.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/prompt_size.h"
#include "actors/scheduler/scheduler_core.h"
#include "base/random.h"
#include "base/utf8.h"
#include "cache/holders.h"
#include "cache/tenant_parts.h"
#include "wire/chunk_size.h"

namespace cascade {
namespace {

// How many bytes of a text a list shows; ChunkGet shows all of it.
constexpr size_t kListTextBytes = 400;

std::string shortened(const std::string& text) {
  if (text.size() <= kListTextBytes) return text;
  const std::string_view head = std::string_view(text).substr(0, kListTextBytes);
  return std::string(head.substr(0, head.size() - utf8_incomplete_suffix(head)));
}

Status give_up_holders(const wire::ChunkDelete& request, Chunk& chunk, EndedHolders& ended) {
  if (request.all.value_or(false)) return give_up_all(chunk, &ended);
  if (request.name.empty()) return give_up_unnamed(chunk, &ended);
  return give_up_name(chunk, request.name, &ended);
}

}  // namespace

// Registers a chunk that a request brought along as text, asks for its token ids, and returns its
// id. A full registry does not make the request fail: the text has no id then.
std::string SchedulerCore::register_text(Chunk chunk) {
  chunk.id = random_id("chunk", options_.random);
  chunk.created_us = chunk.last_used_us = clock_.wall_us();
  chunk.holders = holders_of(chunk.tenant, chunk.type, {}, "");
  chunk.holders.front().kind = HolderKind::kRequest;
  chunk.content_hash = chunk_content_hash(chunk);
  const ChunkEntry* present = registry_.same_content(chunk);
  const auto holders = present != nullptr ? present->chunk.holders : std::vector<Holder>();
  const auto added = registry_.add(std::move(chunk));
  if (!added.ok()) {
    spdlog::warn("a text of a request got no id: {}", added.error().message);
    return "";
  }
  ChunkEntry* entry = *added;
  entry->chunk.last_used_us = clock_.wall_us();
  ++entry->chunk.hits;
  if (!entry->chunk.token_ids.empty()) {
    if (entry->chunk.holders == holders) {
      metadata_.use(entry->chunk);
    } else {
      metadata_.put(entry->chunk);
    }
    return entry->chunk.id;
  }
  // The chunk is stored with its token ids, never without.
  wire::EncodeJob job;
  job.job = jobs_.next();
  job.mode = wire::EncodeJob::Mode::kText;
  job.raw = entry->chunk.text;
  encoding_.puts.put(job.job, {{}, {}, entry->chunk});
  outbox_.send(Actor::kPrefill, std::move(job));
  return entry->chunk.id;
}

// Sets the text of the new chunk, as it was given or decoded from its token ids.
Status SchedulerCore::read_text(wire::ChunkPut& put, Chunk& chunk) const {
  if (put.token_ids.empty()) {
    if (put.text.empty()) return invalid_argument("text", "is empty");
    chunk.text = std::move(put.text);
    return check_text_bytes(model_.config, "text", static_cast<int64_t>(chunk.text.size()));
  }
  const int64_t context = model_.config.context_tokens_max;
  if (static_cast<int64_t>(put.token_ids.size()) > context) {
    return invalid_argument("token_ids", "has " + std::to_string(put.token_ids.size()) +
                                             " elements; the limit is " + std::to_string(context));
  }
  for (size_t i = 0; i < put.token_ids.size(); ++i) {
    const int32_t token = put.token_ids[i];
    const std::string field = "token_ids[" + std::to_string(i) + "]";
    if (token < 0 || token >= model_.config.vocab_size) {
      return invalid_argument(field, "is " + std::to_string(token) +
                                         ", which is not in the vocabulary; the limit is " +
                                         std::to_string(model_.config.vocab_size - 1));
    }
    if (model_.tokenizer.is_special(token)) {
      return invalid_argument(field, "is the special token " + std::to_string(token) +
                                         ": the text of a chunk must not have any");
    }
  }
  const auto bytes_max = static_cast<size_t>(text_bytes_max(model_.config));
  auto text = model_.tokenizer.decode(put.token_ids, /*skip_special=*/false, bytes_max);
  if (!text) {
    return invalid_argument(
        "token_ids", "decode to more than the limit of " + std::to_string(bytes_max) + " bytes");
  }
  if (text->empty()) return invalid_argument("token_ids", "decode to an empty text");
  chunk.text = std::move(*text);
  return {};
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id, wire::ChunkPut&& put) {
  if (put.type == ChunkType::kOutput) {
    return outbox_.reply_error(
        client, id, invalid_argument("type", "only generate with retain_output makes outputs"));
  }
  if (put.type == ChunkType::kSummary) {
    return outbox_.reply_error(
        client, id,
        invalid_argument("type",
                         "only conversations with on_overflow = summarize make summaries; "
                         "register the text as a CONTEXT"));
  }
  const auto whose = [](const auto& job) { return job.second.chunk.tenant; };
  if (!may_begin(encoding_.puts.all(), options_.chunk_puts_max, client.tenant, whose)) {
    return outbox_.reply_error(client, id,
                               resource_exhausted("", "too many chunks are being registered"), 100);
  }
  ChunkPutJob job;
  job.client = client;
  job.id = id;
  job.settings = settings_of(put);
  job.given_ids = put.token_ids;
  job.chunk.type = put.type;
  const Status read = read_text(put, job.chunk);
  if (!read.ok()) return outbox_.reply_error(client, id, read.error());
  job.chunk.id = random_id("chunk", options_.random);
  job.chunk.tenant = client.tenant;
  job.chunk.holders = holders_of(client.tenant, put.type, job.settings, "");
  job.chunk.created_us = job.chunk.last_used_us = clock_.wall_us();
  job.chunk.content_hash = chunk_content_hash(job.chunk);
  wire::EncodeJob encode;
  encode.job = jobs_.next();
  encode.mode = wire::EncodeJob::Mode::kText;
  encode.raw = job.chunk.text;
  encoding_.puts.put(encode.job, std::move(job));
  outbox_.send(Actor::kPrefill, std::move(encode));
}

void SchedulerCore::chunk_text_ready(ChunkPutJob&& put, wire::EncodeDone&& done) {
  const bool from_client = put.client.has_value();
  if (done.error) {
    if (from_client) outbox_.reply_error(*put.client, put.id, *done.error);
    return;
  }
  put.chunk.token_ids = std::move(done.token_ids);
  if (!from_client) {
    const auto found = registry_.find_own(put.chunk.tenant, put.chunk.id);
    if (!found.ok()) return;  // deleted in the meantime
    (*found)->chunk.token_ids = std::move(put.chunk.token_ids);
    outbox_.tell_of((*found)->chunk, EventKind::kChunkStored);
    return metadata_.put((*found)->chunk);
  }
  // Token ids that do not make up whole characters decode to U+FFFD, which is a different text.
  const bool replaced = put.chunk.text.find("\xEF\xBF\xBD") != std::string::npos;
  if (!put.given_ids.empty() && replaced && put.given_ids != put.chunk.token_ids) {
    return outbox_.reply_error(*put.client, put.id,
                               invalid_argument("token_ids", "do not decode to valid UTF-8"));
  }
  const Status allowed = check(put.settings, registry_.same_content(put.chunk), put.chunk);
  if (!allowed.ok()) return outbox_.reply_error(*put.client, put.id, allowed.error());
  const ChunkEntry* present = registry_.same_content(put.chunk);
  ChunkBefore before;
  if (present != nullptr) {
    before = {present->chunk.holders, present->chunk.registrations, present->chunk.published};
  }
  auto added = registry_.add(put.chunk);
  if (!added.ok()) return outbox_.reply_error(*put.client, put.id, added.error());
  Chunk& chunk = (*added)->chunk;
  if (chunk.token_ids.empty()) chunk.token_ids = std::move(put.chunk.token_ids);
  keep_.pins.follow_holders(**added);
  metadata_.put(chunk);
  if (chunk.id == put.chunk.id) outbox_.tell_of(chunk, EventKind::kChunkStored);
  keep_.pin_replies.reply(**added, {{chunk.tenant, chunk.id}, *put.client, put.id, {}, before},
                          put.settings.pinned.value_or(false));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::ChunkListRequest& request) {
  const auto page = registry_.list(client.tenant, request.type, static_cast<size_t>(request.limit),
                                   request.after);
  if (!page.ok()) return outbox_.reply_error(client, id, page.error());
  wire::ChunkListReply answer;
  answer.more = page->more;
  wire::ChunkRoom room;
  for (ChunkEntry* entry : page->entries) {
    keep_.holds.measure(*entry);
    Chunk shown = entry->chunk;
    shown.token_ids.clear();
    shown.text = shortened(shown.text);
    shown.query_text = shortened(shown.query_text);
    shown.raw_text = shortened(shown.raw_text);
    shown.client_data.clear();
    // Chunks may have many holders, so that not all chunks fit: the client goes on after the last
    // one.
    if (!room.takes(shown)) {
      answer.more = true;
      break;
    }
    answer.token_counts.push_back(static_cast<int64_t>(entry->chunk.token_ids.size()));
    answer.chunks.push_back(std::move(shown));
  }
  outbox_.reply(client, id, std::move(answer));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id, const wire::ChunkGet& get) {
  const auto found = registry_.find(client.tenant, get.id);
  if (!found.ok()) return outbox_.reply_error(client, id, found.error());
  keep_.holds.measure(**found);
  outbox_.reply(client, id, wire::ChunkReply{(*found)->chunk});
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::ChunkDelete& request) {
  const auto found = registry_.find_own(client.tenant, request.id);
  const StoredName failed = {client.tenant, request.id};
  wire::ChunkReply answer;
  if (!found.ok() && disk_.erasures.find(failed) != nullptr) {  // a repeat after a failure
    answer.chunk.id = request.id;
    answer.chunk.tenant = client.tenant;
    answer.gone = true;
    return keep_.removals.reply_when_gone(client, id, {failed}, {failed}, std::move(answer));
  }
  if (!found.ok()) return outbox_.reply_error(client, id, found.error());
  ChunkEntry& entry = **found;
  if (const Status given_up = give_up_holders(request, entry.chunk, answer.ended); !given_up.ok()) {
    return outbox_.reply_error(client, id, given_up.error());
  }
  pass_holders_time(entry.chunk, clock_.wall_us(), &answer.ended);  // a holder's pin may have ended
  const StoredName name = {entry.chunk.tenant, entry.chunk.id};
  if (entry.chunk.holders.empty()) {
    answer.chunk = keep_.removals.remove(entry, Removal::kDeleted);
    answer.gone = true;
    return keep_.removals.reply_when_gone(client, id, {name}, {name}, std::move(answer));
  }
  keep_.pins.follow_holders(entry);
  keep_.holds.measure(entry);
  metadata_.put(entry.chunk);
  answer.chunk = entry.chunk;
  metadata_.reply(client, id, {name}, std::move(answer));
}

}  // namespace cascade
