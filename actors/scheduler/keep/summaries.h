// Summaries of the oldest turns of conversations: written in idle time, before there is no room for
// these turns, and chosen for prompts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_removals.h"
#include "actors/scheduler/keep/page_lifecycle.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "base/holder.h"
#include "base/random.h"
#include "cache/chunk_registry.h"
#include "model/model.h"
#include "model/stand_in.h"
#include "wire/messages.h"

namespace cascade {

struct SummaryOptions {
  std::string prompt = kSummaryPrompt;  // as described there
  // A summary has at most this part of the tokens that it summarises.
  int64_t divisor = 8;
  std::function<uint64_t()> random = system_random;  // for ids
};

// A conversation after an answer.
struct SummarySource {
  std::string tenant;
  std::string output_id;              // of its answer: if that is deleted, no more is written
  std::vector<ChatMessage> messages;  // with the answer
  std::vector<std::pair<std::string, size_t>> answers;  // as in Composition
  std::vector<std::string> before;  // the summaries that stand before these messages
  int64_t tokens = 0;  // of the whole conversation, with system prompt, tools and `before`
  int64_t bytes = 0;   // of the texts that have these tokens
  int64_t room = 0;    // Request::prompt_room
  AttentionMode attention;
  std::vector<Holder> holders;  // of the summaries, as of answered_us
  int64_t answered_us = 0;      // Unix time
  // The number of summaries that may still be written before the next answer. They may expire, or
  // be deleted, as soon as they are written.
  int drafts_left = 32;
};

// A conversation that leaves out turns (on_overflow = summarize) gets summaries of its oldest turns
// once it has half of its room: one for each block of a sixteenth to an eighth of the room, at most
// kBlockTokensMax. The newest quarter of the room is not summarised. If the summaries of a prompt
// would have more than a quarter of its room, some of them are summarised together first. A turn
// has one summary, and a summary is part of one summary of summaries, which takes its place.
//
// Each is written like an idle chain (Reprefill::draft), one after the other. One thread.
class Summaries {
 public:
  static constexpr int64_t kBlockTokensMax = 2048;
  static constexpr int64_t kSummaryTokensMin = 16;
  // The number of summaries that wait, or are being written.
  static constexpr size_t kDraftsMax = 16;
  // How many tokens of thoughts may come before a summary. Most models write none here.
  static constexpr int64_t kThoughtTokensMax = 1024;

  // The references outlive this.
  Summaries(SummaryOptions options, const Model& model, const Clock& clock, Outbox& outbox,
            Tenants& tenants, ChunkRegistry& registry, MetadataWriter& metadata, IdlePrefill& idle,
            PageLifecycle& lifecycle, ChunkRemovals& removals);

  // Notes in `request.summaries` which summaries may stand in for which of its messages; a cut of
  // `planned` is among the choices if a summary ends there. Those that request.summarised names and
  // that are gone become request.missing.
  void choose(Request& request, const LeftOut& planned);
  // Returns which summaries may stand in for which of the messages, which are those of the request
  // or begin with them. The first choice is of what was left out before these messages, if there is
  // anything: its cut leaves out nothing. Lists that are too long have summaries of summaries.
  std::vector<SummaryChoice> choices(const Request& request, std::span<const ChatMessage> messages,
                                     const LeftOut& planned);
  // The request has to leave out the turns of `cut` before it is tokenized. Returns what it leaves
  // out if it is to begin where a summary ends, and notes in request.summarised what stands in.
  LeftOut cut_at_summary(const LeftOut& cut, Request& request);
  // The request's conversation, now with these messages, was answered: has the next summary
  // written, if one is due. `output` has `tokens` tokens with its prompt; `holders` are those of
  // the summaries, and become those of the ones that stood in. Nothing else tells of a failure than
  // the log: turns whose summary could not be written have none.
  void answered(const Request& request, const Chunk& output, std::vector<ChatMessage> messages,
                int64_t tokens, std::vector<Holder> holders);

  // The prefill actor has tokenized what asks for a summary, or has failed to: then the summary is
  // given up.
  void tokenized(Reprefill&& next, wire::EncodeDone&& done);
  // The first chain of the idle prefill, which has a draft, has ended. If it is `complete`, has a
  // text, and nothing of what it summarises was deleted meanwhile, it becomes a chunk.
  void ended(Reprefill&& idle, bool complete);

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, content_hash

  // The parts that one summary is made of.
  struct Work {
    std::string content_hash;
    std::string text;
    int64_t tokens_max = 0;
    int64_t turns = 0;
    std::vector<std::string> parents;
  };

  std::string text_of(const std::string& tenant, std::span<const std::string> ids);
  void plan(SummarySource&& source);
  Work next_of(const SummarySource& source);
  Work merge_of(const SummarySource& source, const std::vector<std::string>& ids);
  void begin(Work&& work, SummarySource&& source);
  std::map<Name, const SummaryDraft*> drafts() const;
  void replace_older(const SummarySource& source);
  int64_t turns_of(const std::string& tenant, std::span<const std::string> ids);
  void hold(const Summarised& summarised, const std::string& tenant,
            const std::vector<Holder>& holders);
  void give_up(const Name& name);
  std::string answer_of(const Reprefill& idle) const;
  bool add(Chunk&& chunk, const SummarySource* source);

  const SummaryOptions options_;
  const Model& model_;
  const Clock& clock_;
  Outbox& outbox_;
  Tenants& tenants_;
  ChunkRegistry& registry_;
  MetadataWriter& metadata_;
  IdlePrefill& idle_;
  PageLifecycle& lifecycle_;
  ChunkRemovals& removals_;
  std::map<Name, SummarySource> sources_;  // of the drafts, by what they become
  std::set<Name> failed_;                  // that the model wrote nothing for
};

}  // namespace cascade
