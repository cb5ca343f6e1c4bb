// Which requests run: places and pages for waiting requests, tenants' shares, preemption.
#include <algorithm>
#include <functional>
#include <memory>

#include "actors/scheduler/request_chain.h"
#include "actors/scheduler/scheduler_core.h"
#include "cache/chain_key.h"

namespace cascade {
namespace {

// How many later requests may start before one that waits for pages. A few keep the cores busy
// while running requests end; more would let a stream of small requests starve a large one.
constexpr int kOvertakenMax = 16;

// The reserve has one place for every eight places. A decode step with a few more sequences hardly
// takes longer.
constexpr size_t kReserveDivisor = 8;

// Whether the tenant may start a request although all `places` are taken. A tenant that has nothing
// running may take a place of the reserve if it asks for one thing at a time. So may a tenant that
// starves, because those that ask singly can hold all places and the reserve for ever.
bool has_reserve(const TenantTurn& turn, size_t running, size_t places) {
  const size_t reserve = std::max<size_t>(1, places / kReserveDivisor);
  const bool may_use_it = turn.asks_singly || turn.starves();
  return may_use_it && turn.running == 0 && running < places + reserve;
}

// How often the beginning of a request may be read from disk. It is read again if a read fails, or
// if other requests take the memory before the request starts; but in the end the request must
// start.
constexpr int kRestoresMax = 3;

// The prompt that was computed last counts as shorter than it is, by this factor. Otherwise two
// long prompts would take turns, and both would end late.
constexpr double kGoesOn = 0.9;

// Tokens of the request's prompt that are not computed yet.
int64_t tokens_left(const Request& request) {
  return static_cast<int64_t>(request.chain().size()) - request.sequence->committed();
}

// The pages that were promised to the request and that it does not have yet. Pinned pages that its
// window sees to its end are there already.
int64_t pages_owed(const Request& request, const ChainIndex& index) {
  const int64_t owed = request.pages_promised - request.sequence->pages_taken();
  if (request.attention.window == 0 || index.pinned_count() == 0) return owed;
  const AttentionMode& mode = index.tenant(request.sequence->tenant()).mode;
  return owed - request.sequence->pages_pinned(first_page_seen_to_end(mode, request.tokens_max()));
}

// Whether there would be pages for the tenant's `request` if `running` were preempted. `available`
// pages can be promised now.
bool fits_without(const Request& running, const Request& request, TenantId tenant,
                  const ChainCaches& caches, int64_t available) {
  const ChainIndex& index = caches.index;
  if (request.reader) return false;  // it waits for those that end
  const int64_t alone = running.sequence->pages_alone();
  const int64_t then = available + pages_owed(running, index) + alone;
  if (request.attention.window > 0) return then >= request.pages_promised;
  const ChainIndex::Match match =
      index.match(tenant, caches.states.reusable(tenant, request.reusable()));
  const auto found = static_cast<int64_t>(match.pages.size());
  // How many of the pages that were found could be evicted then. Pages that only `running` uses now
  // may be among them.
  const auto unlocked = static_cast<int64_t>(index.taken_by(match.node));
  return then - std::min(found, unlocked + alone) >= request.pages_promised - found;
}

// Calls `visit` for each request that takes a place: those that run, and those whose beginnings are
// being read.
template <class Visit>
void for_placed(const RequestTable& requests, const ChainRestores& restores, const Visit& visit) {
  for (const auto* running : {&requests.prefilling(), &requests.decoding()}) {
    for (const uint64_t handle : *running) visit(requests.at(handle));
  }
  if (restores.count() == 0) return;
  for (const uint64_t handle : requests.waiting()) {
    if (restores.has(handle)) visit(requests.at(handle));
  }
}

// The request that was accepted last, out of those that can be preempted and that `may` allows;
// nullptr if there is none. Requests with a window come last: if a few pages of a window are
// evicted, their whole prompt is computed again.
Request* latest_running(const RequestTable& requests,
                        const std::function<bool(const Request&)>& may) {
  Request* latest = nullptr;
  for (const bool has_window : {false, true}) {
    for (const auto& [handle, request] : requests.all()) {
      if (!request->running() || request->reader || !may(*request)) continue;
      if (has_window == (request->attention.window > 0)) latest = request.get();
    }
    if (latest != nullptr) break;
  }
  return latest;
}

// The first `count_max` pages of those that were found.
DiskIndex::Match first_pages(DiskIndex::Match&& stored, int64_t count_max) {
  const auto count = static_cast<size_t>(std::max<int64_t>(0, count_max));
  if (stored.keys.size() <= count) return std::move(stored);
  stored.keys.resize(count);
  stored.tokens = count_max * kPageTokens;
  return std::move(stored);
}

}  // namespace

// Pages that a new request could be promised. Full pages in windows count among them, because all
// that a request with a window ever needs at a time stays promised to it.
int64_t SchedulerCore::available_pages() const {
  auto available = static_cast<int64_t>(pool_.free_count() + index_.evictable_count() +
                                        index_.spillable_count() + index_.seen_count());
  for (const auto* running : {&requests_.prefilling(), &requests_.decoding()}) {
    for (const uint64_t handle : *running) {
      const Request& request = requests_.at(handle);
      if (!request.reader) available -= pages_owed(request, index_);
    }
  }
  available -= disk_.spills.pages_owed();
  available -= idle_.pages_in_window();
  return available;
}

// While the cache thrashes, only half as many requests share it. Each request has room for its
// state and for one that it keeps, so that tenants share places and not slots of states.
size_t SchedulerCore::running_max() const {
  auto most = static_cast<size_t>(options_.requests_running_max);
  if (compute_.states.is_needed()) {
    most = std::clamp<size_t>(compute_.states.slots() / 2, 1, most);
  }
  return index_.monitor().thrash().alarm() ? std::max<size_t>(1, most / 2) : most;
}

TenantTurn SchedulerCore::turn_of(const std::string& tenant) const {
  TenantTurn turn;
  for_placed(requests_, disk_.restores, [&](const Request& request) {
    turn.running += request.client.tenant == tenant ? 1 : 0;
  });
  turn.asks_singly = admission_.asks_singly(tenant, turn.running);
  turn.credit_tokens = shares_.credit(tenant);
  return turn;
}

// Returns the tenants with waiting requests that could start, in the order in which they do.
std::vector<std::string> SchedulerCore::tenants_waiting() const {
  std::vector<std::pair<std::string, TenantTurn>> turns;
  for (const uint64_t handle : requests_.waiting()) {
    if (disk_.restores.has(handle)) continue;
    const std::string& tenant = requests_.at(handle).client.tenant;
    const auto known = std::ranges::find(turns, tenant, &decltype(turns)::value_type::first);
    if (known == turns.end()) turns.emplace_back(tenant, turn_of(tenant));
  }
  std::ranges::stable_sort(
      turns, [](const auto& a, const auto& b) { return a.second.goes_before(b.second); });
  std::vector<std::string> tenants;
  for (auto& [tenant, turn] : turns) tenants.push_back(std::move(tenant));
  return tenants;
}

void SchedulerCore::start_waiting() {
  // Pins may have taken pages that were promised to running requests. The latest of these requests
  // wait then, until the promises to the others can be kept; idle work waits first.
  if (index_.pinned_count() > 0 && available_pages() < 0) idle_.pause();
  while (index_.pinned_count() > 0 && available_pages() < 0) {
    Request* latest = latest_running(requests_, [&](const Request& r) { return !in_flight(r); });
    if (latest == nullptr) break;
    preempt(*latest);
  }
  bool may_preempt = true;
  while (!requests_.waiting().empty()) {
    const std::vector<std::string> tenants = tenants_waiting();
    if (tenants.empty()) return;  // the beginnings of all are being read
    size_t running = 0;
    for_placed(requests_, disk_.restores, [&](const Request&) { ++running; });
    const bool has_place = running < running_max();
    if (!has_place && may_preempt && make_room_for(tenants.front())) {
      // The place is for that tenant. If the tenant cannot take it, no other place is made now,
      // since the preempted request may start again.
      may_preempt = start_of(tenants.front());
      continue;
    }
    // Starts one request at a time: each start changes which tenant comes next.
    const bool none = std::ranges::none_of(tenants, [&](const std::string& tenant) {
      const bool may_start = has_place || has_reserve(turn_of(tenant), running, running_max());
      return may_start && start_of(tenant);
    });
    if (none) return;
  }
}

// Starts the tenant's first request for which there are pages. If there are too few pages for a
// request, smaller requests after it may start first, but not for ever.
bool SchedulerCore::start_of(const std::string& tenant) {
  std::vector<Request*> passed;
  for (const uint64_t handle : requests_.waiting()) {
    Request& request = requests_.at(handle);
    if (request.client.tenant != tenant || disk_.restores.has(handle)) continue;
    choose_approximation(
        index_, tenants_, model_.config.context_tokens_max, [&] { return known_tokens(request); },
        request);
    // Idle work makes way once; after that requests wait for each other.
    if (start(request) || (idle_.pause() && start(request))) {
      for (Request* other : passed) ++other->overtaken;
      return true;
    }
    if (request.overtaken >= kOvertakenMax) return false;
    passed.push_back(&request);
  }
  return false;
}

// Starts the request: it takes what is known of its prompt, and is promised the rest of its pages.
// If its beginning has to be brought back from disk, that comes first, and the request starts when
// this is called again. False if there are too few pages, or no room for its state.
bool SchedulerCore::start(Request& request) {
  if (!compute_.states.has_room()) return false;
  const TenantId tenant = tenants_.id(request.client.tenant, request.attention);
  const std::span<const int32_t> wanted = compute_.states.reusable(tenant, request.reusable());
  const int64_t available = available_pages();
  const auto whole_pages = static_cast<int64_t>(wanted.size()) / kPageTokens;
  const bool reads = request.reader;
  const bool has_window = request.attention.window > 0;
  // Pages that are found count if the request keeps them to its end. A reader can do without their
  // memory, and a request with a window looks away from those that no pin keeps.
  const bool keeps_found = !reads && !has_window;
  // Even in the best case.
  const bool may_count = keeps_found || (has_window && index_.pinned_count() > 0);
  if (available < request.pages_promised - (may_count ? whole_pages : 0)) return false;
  ChainIndex::Match match = index_.match(tenant, wanted, request.where());
  const auto left = [&] {
    if (has_window) return available;
    return available - static_cast<int64_t>(index_.taken_by(match.node, request.use()));
  };
  // Some of what a reader finds makes room for its working pages.
  while (reads && left() < request.pages_promised && index_.evictable_count() > 0) {
    index_.evict_one();
    match = index_.match(tenant, wanted, request.where());
  }
  int64_t found = keeps_found ? std::ssize(match.pages) : 0;
  if (has_window) {  // pinned pages that it sees to its end
    const AttentionMode& mode = index_.tenant(tenant).mode;
    const int64_t first = first_page_seen_to_end(mode, request.tokens_max());
    found = static_cast<int64_t>(pinned_count(match.node, first));
  }
  if (left() < request.pages_promised - found) return false;
  std::optional<ChainRestores::Plan> plan;
  if (request.restores < kRestoresMax) plan = disk_.restores.plan(tenant, request.reusable());
  if (plan && !keep_.uses.has_gone_text(request.texts)) {
    ++request.restores;
    if (disk_.restores.start(request.handle, tenant, request.reusable(), *plan)) return true;
    request.restores = kRestoresMax;
    return start(request);  // the attempt may have evicted what was found above
  }
  const bool first_start = request.prefill_start_us == 0;
  if (first_start) request.miss = explain_miss(request);
  DiskIndex::Match stored = disk_.loader.worth_loading(tenant, wanted, match);
  if (reads) stored = first_pages(std::move(stored), left() - request.pages_promised);
  const std::span<const int32_t> whole = wanted.first(match.pages.size() * kPageTokens);
  if (!whole.empty() && name_of(match.node).hits > 0) disk_.writer.write_behind(tenant, whole);
  CHECK(begin_chain(compute_.caches, tenant, reads || stored.tokens > 0 ? whole : wanted,
                    first_start, clock_.wall_us(), request));
  const int64_t reused = request.sequence->committed();
  // Before others pin what was promised. If there is no room, the next job tries again.
  (void)disk_.spills.reserve_indexes(request, request.tokens_max());
  request.known_tokens = static_cast<int64_t>(whole.size()) + stored.tokens;
  request.loading = disk_.loader.start(*request.sequence, request.handle, wanted, stored) ||
                    (reads && disk_.spills.adopt_more(request));
  if (reads) {
    disk_.writer.retry_now();
    write_prompt_behind(request);
  }
  if (first_start) {
    request.prefill_start_us = clock_.monotonic_us();
    request.reused_tokens = reused;
    request.loaded_tokens = std::min(request.loaded_tokens, reused);
    counters_.count_reused(0, reused, request.sequence->shared_tokens(),
                           attention_work(request.attention, model_.config.layers, 0, reused));
    outbox_.tell_of(request, EventKind::kRequestStarted);
  }
  admission_.count(request, {});
  requests_.start(request);
  return true;
}

// If nothing runs, a request that cannot start never will, because pinned chunks have its pages.
// Memory that the store reads or writes for others is taken only for a while.
void SchedulerCore::refuse_starved() {
  if (idle_.is_loading() || disk_.writer.is_writing() || disk_.states.is_writing()) return;
  while (requests_.running() == 0 && disk_.restores.count() == 0 && !requests_.waiting().empty()) {
    Request& first = requests_.at(requests_.waiting().front());
    const size_t left = pool_.page_count() - index_.pinned_count();
    fail(first, resource_exhausted(first.prefix ? "prefix" : "max_tokens",
                                   (first.prefix ? "it needs " : "prompt and answer need ") +
                                       std::to_string(first.pages_promised) +
                                       " pages of KV memory; pinned chunks leave " +
                                       std::to_string(left)));
    start_waiting();
  }
}

// Explains why part of the reusable prompt will have to be computed.
Miss SchedulerCore::explain_miss(const Request& request) {
  if (!request.params.reuse) return {MissReason::kReuseOff};
  const TenantId own = tenants_.id(request.client.tenant, request.attention);
  if (compute_.states.is_needed()) {
    const int64_t begin = compute_.states.find(own, request.reusable()).tokens;
    const ChainIndex::Match match = index_.match(own, request.reusable());
    const auto whole = static_cast<int64_t>(match.pages.size()) * kPageTokens;
    const int64_t on_disk = disk_.stored.tokens_after(match.node, own, request.reusable());
    const int64_t matched = std::max(match.tokens(), whole + on_disk);
    if (matched - begin >= kKeptTokensMin) return {MissReason::kNoState, begin};
  }
  Miss miss = index_.explain(own, request.reusable(), request.where());
  const bool unknown = miss.reason == MissReason::kNew || miss.reason == MissReason::kDiffers;
  const std::span<const int32_t> wanted = request.reusable();
  if (unknown && miss.position < kPageTokens && wanted.size() >= kPageTokens) {
    const Digest beginning = beginning_digest(request.client.tenant, wanted.first(kPageTokens));
    if (disk_.stored.is_of_other_model(beginning)) return {MissReason::kOtherModel, miss.position};
  }
  return miss;
}

// Takes a place from the tenant that has the most places, if `tenant` has fewer than an equal part
// of all places.
bool SchedulerCore::make_room_for(const std::string& tenant) {
  std::map<std::string, int64_t> running = {{tenant, 0}};
  for_placed(requests_, disk_.restores,
             [&](const Request& request) { ++running[request.client.tenant]; });
  const auto places = static_cast<int64_t>(running_max());
  const int64_t part = std::max<int64_t>(1, places / static_cast<int64_t>(running.size()));
  if (running[tenant] >= part) return false;
  const auto most = std::ranges::max_element(running, {}, [](const auto& t) { return t.second; });
  if (most->second <= part) return false;
  // Takes the latest request of that tenant: the others are nearer to their end.
  Request* const victim = latest_running(requests_, [&](const Request& request) {
    return request.client.tenant == most->first && !in_flight(request);
  });
  if (victim == nullptr) return false;
  const auto next = std::ranges::find_if(requests_.waiting(), [&](uint64_t handle) {
    return requests_.at(handle).client.tenant == tenant && !disk_.restores.has(handle);
  });
  const Request& request = requests_.at(*next);
  const TenantId owner = tenants_.id(tenant, request.attention);
  if (!fits_without(*victim, request, owner, compute_.caches, available_pages())) {
    return false;  // the preempted request would start again instead
  }
  preempt(*victim);
  return true;
}

// Puts the request back into the queue. Its pages stay in the index: as long as nobody needs them,
// nothing is lost.
void SchedulerCore::preempt(Request& request) {
  CHECK(request.running() && !in_flight(request));
  if (!request.sampled.empty()) {
    request.resumed = request.prompt;
    request.resumed.insert(request.resumed.end(), request.sampled.begin(),
                           request.sampled.end() - 1);
  }
  // The request goes on from this state when it starts again, if there is still room for it.
  request.recurrent->keep(StateTable::Worth::kEnd);
  finish_chain(*request.sequence, *request.recurrent, clock_.wall_us());
  keep_.uses.note(request);
  request.sequence.reset();
  request.recurrent.reset();
  requests_.requeue(request);
  ++counters_.preempted;
}

// Picks a prompt of the tenant whose turn it is: the one with the least to compute, so that short
// prompts do not wait behind a long one. The longer a prompt has waited for others, the shorter it
// counts, so that a stream of short ones cannot keep a long one from its turn. Of two long prompts,
// the one that was computed last goes on.
Request* SchedulerCore::next_to_prefill() {
  const int64_t now = clock_.monotonic_us();
  const auto order = [&](const Request& request) {
    const int64_t left = tokens_left(request);
    const int64_t begin = request.sequence->committed();
    double left_us = compute_.speed.prefill_time().us(begin, begin + left, request.attention);
    if (request.reader) left_us += disk_.spills.wait_us(request, begin, begin + left);
    if (request.handle == compute_.last_prompt) left_us *= kGoesOn;
    const int64_t waited_us =
        std::max<int64_t>(0, now - request.prefill_start_us - request.computing_us);
    return std::pair(turn_of(request.client.tenant).prompt_order(left),
                     left_us - static_cast<double>(waited_us));
  };
  Request* next = nullptr;
  for (const uint64_t handle : requests_.prefilling()) {
    Request& request = requests_.at(handle);
    if (!disk_.spills.is_ready(request)) continue;
    if (next == nullptr || order(request) < order(*next)) next = &request;
  }
  return next;
}

// Whether the turn of this request's tenant comes before the turns of all requests that decode.
bool SchedulerCore::is_owed(const Request& request) const {
  const int64_t left = tokens_left(request);
  const auto order = turn_of(request.client.tenant).prompt_order(left);
  return std::ranges::all_of(requests_.decoding(), [&](uint64_t handle) {
    return order < turn_of(requests_.at(handle).client.tenant).prompt_order(0);
  });
}

// Takes over the part of this prompt that another request has computed since this one started. If
// two prompts have the same new beginning, the first computes it for both.
void SchedulerCore::catch_up(Request& request) {
  const TenantId tenant = tenants_.id(request.client.tenant, request.attention);
  const std::span<const int32_t> wanted = compute_.states.reusable(tenant, request.reusable());
  const int64_t committed = request.sequence->committed();
  const ChainIndex::Match match = index_.match(tenant, wanted, request.where());
  const auto taken = [&] {
    return static_cast<int64_t>(index_.taken_by(match.node, request.use()));
  };
  const bool has_room =
      (!request.reader || taken() <= available_pages()) && compute_.states.has_room();
  if (match.tokens() < committed + kPageTokens || !has_room) {
    request.loading = request.reader && !disk_.spills.error() && disk_.spills.adopt_more(request);
    return;
  }
  ChainSequence::IndexMemory indexes = request.sequence->take_indexes();
  request.recurrent->keep(StateTable::Worth::kWaypoint);
  finish_chain(*request.sequence, *request.recurrent, clock_.wall_us());
  if (request.resumed.empty()) request.miss = explain_miss(request);
  request.recurrent.reset();  // the new one needs a slot, too
  CHECK(
      begin_chain(compute_.caches, tenant, wanted, /*observed=*/false, clock_.wall_us(), request));
  // Without room for a copy of the last page, the request begins at an earlier state.
  const int64_t found = std::max<int64_t>(0, request.sequence->committed() - committed);
  request.sequence->put_indexes(std::move(indexes));
  if (request.resumed.empty()) request.reused_tokens += found;
  if (request.attention.is_approximate()) request.approximate_tokens += found;
  counters_.count_reused(
      committed, committed + found, found / kPageTokens * kPageTokens,
      attention_work(request.attention, model_.config.layers, committed, committed + found));
  if (request.reader) write_prompt_behind(request);
}

}  // namespace cascade
