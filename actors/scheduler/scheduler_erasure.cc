// The removal of a chunk, from everywhere: what is under way when it comes would put parts of it
// back, so whatever ends later is followed by another look. Only when nothing is left on the disk
// the chunk's own row goes, and then who asked hears of it: a crash before that brings the chunk
// back, whose removal nobody was told of.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// Returns the chunk as it was. It is not found any more from here on.
Chunk SchedulerCore::remove_chunk(ChunkEntry& entry, Removal why) {
  holds_.refresh(entry);
  Chunk chunk = entry.chunk;
  const StoredName name = {chunk.tenant, chunk.id};
  Erasure& erasure = erasures_.begin(name, why);
  chains_.set_end(entry, "");
  text_pins_.unpin({chunk.tenant, chunk.id});
  // No pin keeps a prompt that has its text.
  std::set<Digest> ends;
  for (const ChunkUses::Use& use : uses_.uses().of({chunk.tenant, chunk.id})) {
    if (use.ends != 0) ends.insert(use.page);
  }
  text_pins_.drop_behind(ends, chunk.token_ids);
  // What its conversations begin with is not known unless it was pinned.
  const bool unknown = chunk.type == ChunkType::kSystemPrompt && entry.chain.empty();
  if (!entry.chain.empty()) {
    erasure.chains.push_back({entry.chain, entry.own_begin});
  } else if (options_.keep_pages && (chunk.type == ChunkType::kOutput || !chunk.kv_key.empty())) {
    ++erasure.pieces;
    // What is in memory of it is forgotten when the tokens have been read.
    chains_.read({name, chunk.kv_key, why, chunk.kv_begin});
    const auto end = Digest::from_hex(chunk.kv_key);
    if (end) lifecycle_.forget_stored(*end, chunk.kv_begin, &name);
  }
  note_work_of(name, erasure);
  lifecycle_.withdraw(entry, why, &name);
  holds_.clear(entry);
  drop_reprefills(name, why);
  entry.chain.clear();
  erase_chains(name, erasure);
  if (unknown && idle_.tokenize_prefix(entry.chunk)) ++erasure.pieces;
  forget_uses({chunk.tenant, chunk.id}, why);
  pins_.forget(entry);
  outbox_.tell_of(chunk,
                  why == Removal::kExpired ? EventKind::kChunkExpired : EventKind::kChunkDeleted);
  registry_.remove(entry, why);
  if (writer_.wait_for_writing(name)) ++erasure.pieces;
  chunk.holders.clear();
  advance_erasure(name);
  return chunk;
}

// What the chunk's history is being made of, or its pages; and its prompts that wait to be written.
void SchedulerCore::note_work_of(const StoredName& name, Erasure& erasure) {
  for (const auto& [job, history] : idle_.tokenizing()) {
    if (history.chunk_id != name.id || history.tenant != name.tenant) continue;
    ++erasure.pieces;
    if (history.sampled_chain.empty()) continue;
    erasure.chains.push_back({history.sampled_chain, history.prompt_tokens});
  }
  for (const Reprefill& reprefill : idle_.queue()) {
    if (reprefill.chunk_id != name.id || reprefill.tenant != name.tenant) continue;
    const bool first = &reprefill == &idle_.first();
    if (first && idle_.is_computed()) ++erasure.pieces;
    if (reprefill.for_all) continue;
    const size_t shared = common_prefix(reprefill.sampled_chain, reprefill.chain);
    const size_t keep = std::min(shared, reprefill.prompt_tokens);
    erasure.chains.push_back({reprefill.chain, keep});
    erasure.chains.push_back({reprefill.sampled_chain, keep});
  }
}

// Frees the pages that have text of the chunk, with what goes on from where it ends, as far as no
// chunk that stays has them. Prefixes and priorities of prompts with the text end.
void SchedulerCore::forget_uses(const ChunkUses::ChunkName& chunk, Removal why) {
  const auto has_text = [&](const std::vector<TextUse>& texts) {
    return std::ranges::find(texts, chunk, &TextUse::chunk) != texts.end();
  };
  holds_.drop_leases_if([&](const Lease& lease) { return has_text(lease.texts); });
  std::erase_if(prefixes_, [&](const auto& named) {
    const bool ends = has_text(named.second.texts);
    if (ends) index_.drop_hold(named.second.hold);
    return ends;
  });
  const StoredName name = {chunk.first, chunk.second};
  lifecycle_.forget_texts(chunk, why, &name);
}

// What was to be computed for the chunk is not needed any more: note_work_of() knows its chains.
void SchedulerCore::drop_reprefills(const StoredName& name, Removal why) {
  for (const Reprefill& dropped : idle_.drop(name)) {
    if (dropped.for_all) lifecycle_.forget_public(dropped.chain, why, &name);
  }
}

// Frees what there is of its chains now, in memory and on disk, and takes them from what is to be
// written.
void SchedulerCore::erase_chains(const StoredName& name, const Erasure& erasure) {
  const TenantId owner = tenants_.id(name.tenant);
  for (const ErasedChain& chain : erasure.chains) {
    // Who has the whole pages before the chunk's own tokens has its question; a page in any case,
    // since all prompts of a template begin alike.
    const size_t question = std::max(chain.begin / kPageTokens * kPageTokens,
                                     std::min<size_t>(kPageTokens, chain.tokens.size()));
    const auto has_it = [&](std::span<const int32_t> tokens) {
      return common_prefix(tokens, chain.tokens) >= question;
    };
    writer_.drop_if([&](const Writeback& writeback) {
      const bool a_prompt = writeback.is_of_prompt() && writeback.owner == owner;
      return writeback.chunk == name || (a_prompt && has_it(writeback.chain));
    });
    for (const auto& [handle, request] : requests_.all()) {
      if (request->client.tenant != name.tenant || !request->running()) continue;
      if (has_it(request->in_pages())) request->written_behind = false;
    }
    holds_.drop_leases_if(
        [&](const Lease& lease) { return lease.tenant == name.tenant && has_it(lease.prompt); });
    const auto begin = static_cast<int64_t>(chain.begin);
    lifecycle_.forget({owner, chain.tokens, begin, erasure.why, ForgetScope::kAndLeftAlone, &name});
    lifecycle_.forget({owner, chain.tokens, 0, erasure.why, ForgetScope::kUnshared, &name});
  }
}

// A piece of work ended that the removal had to wait for. Nothing if there is no such removal.
void SchedulerCore::end_erasure_piece(const StoredName& name, std::vector<ErasedChain> found) {
  Erasure* erasure = erasures_.find(name);
  if (erasure == nullptr) return;
  --erasure->pieces;
  for (ErasedChain& chain : found) {
    if (!chain.tokens.empty()) erasure->chains.push_back(std::move(chain));
  }
  erase_chains(name, *erasure);
  advance_erasure(name);
}

// Its row goes when nothing else is left of it.
void SchedulerCore::advance_erasure(const StoredName& name) {
  Erasure* erasure = erasures_.find(name);
  if (erasure == nullptr || erasure->pieces > 0 || erasure->error || erasure->row_removed) return;
  erasure->row_removed = true;
  metadata_.remove_chunk(name);
}

// The store has answered for the row.
void SchedulerCore::row_is_removed(const StoredName& name, const std::optional<Error>& error) {
  Erasure* erasure = erasures_.find(name);
  if (erasure == nullptr || !erasure->row_removed) return;
  if (error) return fail_erasure(name, *error);
  ErasureEnd ended = erasures_.end(name);
  for (const StoredName& session : ended.sessions) save_setting(session);
  for (ErasureReply& ready : ended.replies) {
    metadata_.reply(ready.client, ready.id, std::move(ready.names), std::move(ready.message));
  }
}

// Who waits hears of it. It is tried again, and until that works a restart brings the chunk back.
void SchedulerCore::fail_erasure(const StoredName& name, const Error& error) {
  for (const ErasureReply& failed : erasures_.fail(name, error)) {
    outbox_.reply_error(
        failed.client, failed.id,
        {error.code, "id",
         "chunk \"" + name.id + "\" is not found any more, but is not gone from the disk: " +
             error.message + "; the daemon tries again, and so may you"});
  }
}

// Answers when the chunks are gone from the disk, and the other changes are durable.
void SchedulerCore::reply_when_erased(const Client& client, const wire::RequestId& id,
                                      std::set<StoredName> chunks, std::vector<StoredName> names,
                                      wire::Message message) {
  ErasureReply reply = {std::move(chunks), std::move(names), client, id, std::move(message)};
  if (erasures_.wait(reply)) return;
  metadata_.reply(reply.client, reply.id, std::move(reply.names), std::move(reply.message));
}

// Removals of pages that failed begin again.
void SchedulerCore::retry_erasures() {
  for (const StoredName& name : erasures_.names()) {
    Erasure& erasure = *erasures_.find(name);
    if (!erasure.error || erasure.pieces > 0) continue;
    erasure.error.reset();
    stored_.retry(name);
    if (!erasure.row_removed) advance_erasure(name);
  }
}

}  // namespace cascade
