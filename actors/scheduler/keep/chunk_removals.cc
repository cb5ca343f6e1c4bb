// A chunk is taken out of every room, piece by piece.
#include "actors/scheduler/keep/chunk_removals.h"

#include <algorithm>
#include <span>
#include <utility>

namespace cascade {

ChunkRemovals::ChunkRemovals(bool keeps_pages, Outbox& outbox, MetadataWriter& metadata,
                             ChunkRegistry& registry, Tenants& tenants,
                             const RequestTable& requests, Erasures& erasures, StoredPages& stored,
                             PageWriter& writer, ChunkChains& chains, IdlePrefill& idle,
                             TextUses& uses, TextPins& text_pins, ChunkHolds& holds,
                             ChunkPins& pins, PageLifecycle& lifecycle, Callbacks callbacks)
    : keeps_pages_(keeps_pages),
      outbox_(outbox),
      metadata_(metadata),
      registry_(registry),
      tenants_(tenants),
      requests_(requests),
      erasures_(erasures),
      stored_(stored),
      writer_(writer),
      chains_(chains),
      idle_(idle),
      uses_(uses),
      text_pins_(text_pins),
      holds_(holds),
      pins_(pins),
      lifecycle_(lifecycle),
      callbacks_(std::move(callbacks)) {}

Chunk ChunkRemovals::remove(ChunkEntry& entry, Removal why) {
  holds_.refresh(entry);
  Chunk chunk = entry.chunk;
  const StoredName name = {chunk.tenant, chunk.id};
  const ChunkUses::ChunkName text = {chunk.tenant, chunk.id};
  Erasure& erasure = erasures_.begin(name, why);
  chains_.set_end(entry, "");
  text_pins_.unpin(text);
  // No pin of another text may keep a prompt that has this text.
  std::set<Digest> ends;
  for (const ChunkUses::Use& use : uses_.uses().of(text)) {
    if (use.ends != 0) ends.insert(use.page);
  }
  text_pins_.drop_behind(ends, chunk.token_ids);
  // The chain that conversations with this system prompt begin with is known only if the chunk was
  // pinned or published.
  const bool unknown = chunk.type == ChunkType::kSystemPrompt && entry.chain.empty();
  if (!entry.chain.empty()) {
    erasure.chains.push_back({entry.chain, entry.own_begin});
  } else if (keeps_pages_ && (chunk.type == ChunkType::kOutput || !chunk.kv_key.empty())) {
    // The chunk's pages in memory are forgotten once the tokens have been read.
    ++erasure.pieces;
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
  const auto has_text = [&](const Lease& lease) {
    return std::ranges::find(lease.texts, text, &TextUse::chunk) != lease.texts.end();
  };
  holds_.drop_leases_if(has_text);
  callbacks_.text_is_gone(text);
  lifecycle_.forget_texts(text, why, &name);
  pins_.release(entry);
  outbox_.tell_of(chunk,
                  why == Removal::kExpired ? EventKind::kChunkExpired : EventKind::kChunkDeleted);
  registry_.remove(entry, why);
  if (writer_.wait_for_writing(name)) ++erasure.pieces;
  chunk.holders.clear();
  advance(name);
  return chunk;
}

// Notes the work that is under way for the chunk: texts that are tokenized, chains that are
// computed.
void ChunkRemovals::note_work_of(const StoredName& chunk, Erasure& erasure) {
  for (const auto& [job, history] : idle_.tokenizing()) {
    if (history.chunk_id != chunk.id || history.tenant != chunk.tenant) continue;
    ++erasure.pieces;
    if (history.sampled_chain.empty()) continue;
    erasure.chains.push_back({history.sampled_chain, history.prompt_tokens});
  }
  for (const Reprefill& reprefill : idle_.queue()) {
    if (reprefill.chunk_id != chunk.id || reprefill.tenant != chunk.tenant) continue;
    const bool first = &reprefill == &idle_.first();
    if (first && idle_.is_computed()) ++erasure.pieces;
    if (reprefill.for_all) continue;
    const size_t shared = common_prefix(reprefill.sampled_chain, reprefill.chain);
    const size_t keep = std::min(shared, reprefill.prompt_tokens);
    erasure.chains.push_back({reprefill.chain, keep});
    erasure.chains.push_back({reprefill.sampled_chain, keep});
  }
}

// Drops chains that were to be computed for the chunk; note_work_of() has noted them.
void ChunkRemovals::drop_reprefills(const StoredName& chunk, Removal why) {
  for (const Reprefill& dropped : idle_.drop(chunk)) {
    if (dropped.for_all) lifecycle_.forget_public(dropped.chain, why, &chunk);
  }
}

// Forgets the pages that the chunk's chains have now, and takes the chains out of what is to be
// written.
void ChunkRemovals::erase_chains(const StoredName& chunk, const Erasure& erasure) {
  const std::vector<TenantId> owners = tenants_.owners(chunk.tenant);
  for (const ErasedChain& chain : erasure.chains) {
    // A prompt counts as having the chunk's question if it agrees with the chain in the whole pages
    // before the chunk's own tokens. At least one page must agree, since all prompts of a template
    // begin alike.
    const size_t question = std::max(chain.begin / kPageTokens * kPageTokens,
                                     std::min<size_t>(kPageTokens, chain.tokens.size()));
    const auto has_it = [&](std::span<const int32_t> tokens) {
      return common_prefix(tokens, chain.tokens) >= question;
    };
    const auto is_owner = [&](TenantId id) {
      return std::ranges::find(owners, id) != owners.end();
    };
    writer_.drop_if([&](const Writeback& writeback) {
      const bool a_prompt = writeback.is_of_prompt() && is_owner(writeback.owner);
      return writeback.chunk == chunk || (a_prompt && has_it(writeback.chain));
    });
    for (const auto& [handle, request] : requests_.all()) {
      if (request->client.tenant != chunk.tenant || !request->running()) continue;
      if (has_it(request->in_pages())) request->written_behind = false;
    }
    holds_.drop_leases_if(
        [&](const Lease& lease) { return lease.tenant == chunk.tenant && has_it(lease.prompt); });
    const auto begin = static_cast<int64_t>(chain.begin);
    for (const TenantId owner : owners) {
      lifecycle_.forget(
          {owner, chain.tokens, begin, erasure.why, ForgetScope::kAndLeftAlone, &chunk});
      lifecycle_.forget({owner, chain.tokens, 0, erasure.why, ForgetScope::kUnshared, &chunk});
    }
  }
}

void ChunkRemovals::end_piece(const StoredName& chunk, std::vector<ErasedChain> found) {
  Erasure* erasure = erasures_.find(chunk);
  if (erasure == nullptr) return;
  --erasure->pieces;
  for (ErasedChain& chain : found) {
    if (!chain.tokens.empty()) erasure->chains.push_back(std::move(chain));
  }
  erase_chains(chunk, *erasure);
  advance(chunk);
}

void ChunkRemovals::pages_are_removed(const std::optional<StoredName>& erased,
                                      const std::optional<Error>& error) {
  if (error) metadata_.note_failure();
  if (!erased) return;
  if (error) fail(*erased, *error);
  end_piece(*erased);
}

// Removes the chunk's row when nothing else is left of the chunk.
void ChunkRemovals::advance(const StoredName& chunk) {
  Erasure* erasure = erasures_.find(chunk);
  if (erasure == nullptr || erasure->pieces > 0 || erasure->error || erasure->row_removed) return;
  erasure->row_removed = true;
  metadata_.remove_chunk(chunk);
}

void ChunkRemovals::row_is_removed(const StoredName& chunk, const std::optional<Error>& error) {
  Erasure* erasure = erasures_.find(chunk);
  if (erasure == nullptr || !erasure->row_removed) return;
  if (error) return fail(chunk, *error);
  ErasureEnd ended = erasures_.end(chunk);
  for (const StoredName& session : ended.sessions) callbacks_.save_session(session);
  for (ErasureReply& ready : ended.replies) {
    metadata_.reply(ready.client, ready.id, std::move(ready.names), std::move(ready.message));
  }
}

// Tells the clients that wait. The removal is tried again; until it works, a restart brings the
// chunk back.
void ChunkRemovals::fail(const StoredName& chunk, const Error& error) {
  for (const ErasureReply& failed : erasures_.fail(chunk, error)) {
    outbox_.reply_error(
        failed.client, failed.id,
        {error.code, "id",
         "chunk \"" + chunk.id + "\" is not found any more, but parts of it are still on disk: " +
             error.message + "; the daemon tries again, and you may, too"});
  }
}

void ChunkRemovals::reply_when_gone(const Client& client, const wire::RequestId& id,
                                    std::set<StoredName> chunks, std::vector<StoredName> names,
                                    wire::Message message) {
  ErasureReply reply = {std::move(chunks), std::move(names), client, id, std::move(message)};
  if (erasures_.wait(reply)) return;
  metadata_.reply(reply.client, reply.id, std::move(reply.names), std::move(reply.message));
}

void ChunkRemovals::retry() {
  for (const StoredName& name : erasures_.names()) {
    Erasure& erasure = *erasures_.find(name);
    if (!erasure.error || erasure.pieces > 0) continue;
    erasure.error.reset();
    stored_.retry(name);
    if (!erasure.row_removed) advance(name);
  }
}

}  // namespace cascade
