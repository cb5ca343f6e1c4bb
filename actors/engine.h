// The parts that compute: one model, one thread pool, one forward pass, and the pages that it works
// on.
#pragma once

#include "cache/page_arena.h"
#include "kernels/thread_pool.h"
#include "model/draft_pace.h"
#include "model/grammar/grammar_cache.h"
#include "model/interrupt.h"
#include "model/model.h"
#include "model/paused_pass.h"
#include "model/row_mover.h"
#include "model/transformer.h"
#include "persist/kv_part_files.h"
#include "wire/messages.h"

namespace cascade {

// Shared by the prefill and the decode actor. The scheduler gives work to one of them at a time, so
// nothing here needs a lock; the thread pool CHECKs this.
struct Engine {
  // `grammar_bytes`: how much memory compiled grammars may take. `f` reads pages that are leased
  // from the store; nullptr: jobs have none. `s` has the slots of recurrent states, each of
  // RecurrentConfig::state_floats(); nullptr: the model needs none. The references, `f` and `s`
  // outlive this.
  Engine(const Model& m, PageArena& a, ThreadPool& p,
         size_t grammar_bytes = GrammarCache::kMemoryMax, KvPartFiles* f = nullptr,
         PageArena* s = nullptr)
      : model(m),
        arena(a),
        pool(p),
        files(f),
        states(s),
        transformer(m.config, m.weights, *m.kernels, m.kv_layout, p),
        mover(m.config, *m.kernels, m.kv_layout, p),
        grammars(grammar_bytes),
        draft_pace(m.config, m.kv_layout, m.weights.bytes()) {}

  const Model& model;
  PageArena& arena;
  ThreadPool& pool;
  KvPartFiles* files;
  PageArena* states;
  Transformer transformer;
  RowMover mover;
  GrammarCache grammars;
  DraftPace draft_pace;
  // Where the latest job that yielded ended.
  struct Yielded {
    uint64_t job = 0;  // 0: none
    PausedPass pass = {};
    int64_t compute_us = 0;  // as in PrefillDone
  };
  Yielded yielded;
};

// Tokenizes as the job says. Needs no Engine: it may run beside a forward pass. Any thread.
wire::EncodeDone run_encode(const Model& model, const wire::EncodeJob& job);

// Computes the job's K and V into its pages, or moves them there, and the next token if asked for.
// A job that yields ends undone once `wanted` says that the actor is wanted for something else;
// what it has done by then is kept for the job that resumes it.
wire::PrefillDone run_prefill(Engine& engine, const wire::PrefillJob& job,
                              const Interrupt& wanted = {});

// Runs up to steps_max decode steps of all the job's sequences, and more until drafts that were
// begun are checked: at most kDraftsMax + 1 (BurstSequence).
wire::DecodeDone run_decode(Engine& engine, const wire::DecodeJob& job);

}  // namespace cascade
