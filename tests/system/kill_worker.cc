// Random operations, one at a time; each is noted before it is requested.
#include "tests/system/kill_worker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "clients/cpp/endpoint.h"

namespace cascade::testing {
namespace {

constexpr size_t kChunksMax = 24;
constexpr size_t kRecordedMax = 12;
constexpr size_t kTurnsMax = 4;
constexpr int64_t kHourMs = 3'600'000;

constexpr auto kWords = std::to_array<std::string_view>(
    {"Paris", "river", "nine",   "capital", "blue",  "garden", "seven", "market", "stone", "Kenya",
     "water", "light", "France", "winter",  "table", "music",  "three", "garden", "north", "old"});
constexpr auto kAskedQuestions = std::to_array<std::string_view>(
    {"What is the capital of France?", "What city did we just discuss?", "Calculate 9 + 6.",
     "Please repeat your last answer.", "What is the capital of Kenya?",
     "What was my first question?"});

bool is_input(const Chunk& chunk) {
  return chunk.type != ChunkType::kOutput;
}

Status show(client::Client& client, const std::string& id, std::vector<Chunk>& seen) {
  ASSIGN_OR_RETURN(Chunk chunk, client.get_chunk(id));
  seen.push_back(std::move(chunk));
  return {};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

void KillWorker::fault(const std::string& what) {
  faults_.push_back("worker " + std::to_string(number_) + ": " + what + ledger_.history());
}

std::string KillWorker::words(uint64_t least, uint64_t most) {
  std::string text;
  for (uint64_t i = least + random_.below(most - least + 1); i > 0; --i) {
    text += (text.empty() ? "" : " ") + std::string(kWords[random_.below(kWords.size())]);
  }
  return text;
}

// One of a few texts. Workers share the beginnings of texts, so pages are shared, too.
std::string KillWorker::system_text() {
  std::string text = "You are a helpful assistant.";
  const uint64_t kind = random_.below(4);
  for (uint64_t i = 0; i < kind * 12; ++i) text += " Answer in one short sentence, and be polite.";
  return text + " You are number " + std::to_string(number_) + ".";
}

wire::ChunkUpdate KillWorker::settings() {
  wire::ChunkUpdate change;
  if (one_in(2)) change.name = one_in(5) ? "" : "name " + words(1, 2);
  if (one_in(3)) change.pinned = one_in(2);
  if (one_in(4)) {
    const std::array<int64_t, 3> ttls = {0, 1 + static_cast<int64_t>(random_.below(300)),
                                         (1 + static_cast<int64_t>(random_.below(9))) * kHourMs};
    change.ttl_ms = ttls[random_.below(ttls.size())];
  }
  if (one_in(3)) change.priority = static_cast<int32_t>(random_.below(101));
  if (change.priority && one_in(2)) change.priority_ms = kHourMs + 7;
  return change;
}

const Chunk* KillWorker::any(const std::function<bool(const Chunk&)>& fits) {
  std::vector<const Chunk*> found;
  for (const auto& [id, entry] : ledger_.entries()) {
    if (fits(entry.chunk)) found.push_back(&entry.chunk);
  }
  return found.empty() ? nullptr : found[random_.below(found.size())];
}

void KillWorker::work(const std::string& endpoint, const std::atomic<bool>& stop) {
  auto connected = client::Client::connect(endpoint, kPatientClient);
  if (!connected.ok()) return;
  while (!stop && faults_.empty() && step(*connected)) {
  }
}

bool KillWorker::step(client::Client& client) {
  if (ledger_.entries().size() > kChunksMax) return remove(client);
  const uint64_t die = random_.below(100);
  if (die < 25) return put(client);
  if (die < 45) return update(client);
  if (die < 55) return remove(client);
  if (die < 62) return look(client);
  if (die < 70) return complete(client);
  return converse(client);
}

bool KillWorker::end(const Error& error) {
  if (client::is_unreachable(error)) {
    ledger_.leave_open();
    ++counts_.open;
    return false;
  }
  ledger_.refuse(error);
  ++counts_.refused;
  ++counts_.refusals[std::string(to_string(error.code)) + " " + error.field];
  const bool expected = error.code == ErrorCode::kNotFound || error.code == ErrorCode::kConflict ||
                        error.code == ErrorCode::kResourceExhausted ||
                        error.code == ErrorCode::kUnavailable;
  if (!expected) fault(error.to_string());
  return true;
}

bool KillWorker::settle(const Result<Chunk>& answer) {
  if (!answer.ok()) return end(answer.error());
  ++counts_.acknowledged;
  if (answer->holders.empty()) {  // it was held only by the pin that it lost
    ledger_.acknowledge_removal();
    return true;
  }
  const std::string wrong = ledger_.acknowledge(*answer);
  if (!wrong.empty()) fault("acknowledged otherwise than asked: " + wrong);
  return true;
}

bool KillWorker::put(client::Client& client) {
  const Chunk* again =
      one_in(3) ? any([](const Chunk& chunk) { return is_input(chunk) && Ledger::lasts(chunk); })
                : nullptr;
  wire::ChunkPut request;
  if (again != nullptr) {
    request.type = again->type;
    request.text = again->text;
  } else {
    const std::array<ChunkType, 3> types = {ChunkType::kSystemPrompt, ChunkType::kContext,
                                            ChunkType::kQuery};
    request.type = types[random_.below(types.size())];
    request.text = request.type == ChunkType::kSystemPrompt
                       ? system_text()
                       : "Note " + std::to_string(random_()) + ": " + words(2, 60);
    if (!ledger_.is_usable(request.type, request.text)) return true;
  }
  Pending pending;
  pending.settings = settings();
  pending.puts = true;
  pending.texts = {{request.type, request.text}};
  request.name = pending.settings.name;
  request.pinned = pending.settings.pinned;
  request.ttl_ms = pending.settings.ttl_ms;
  request.priority = pending.settings.priority;
  request.priority_ms = pending.settings.priority_ms;
  ledger_.begin(std::move(pending));
  return settle(client.put_chunk(std::move(request)));
}

bool KillWorker::update(client::Client& client) {
  const Chunk* chunk = any([](const Chunk&) { return true; });
  if (chunk == nullptr) return true;
  Pending pending;
  pending.settings = settings();
  pending.settings.id = pending.id = chunk->id;
  if (one_in(6)) pending.settings.published = one_in(2);
  pending.settings.touch = one_in(3);
  const wire::ChunkUpdate& change = pending.settings;
  if (!change.name && !change.pinned && !change.ttl_ms && !change.priority && !change.published) {
    pending.settings.touch = true;
  }
  ledger_.begin(pending);
  return settle(client.update_chunk(pending.settings));
}

bool KillWorker::remove(client::Client& client) {
  const Chunk* chunk = any([&](const Chunk& each) { return !each.pinned; });
  // Pinned chunks cannot be deleted: change one instead.
  if (chunk == nullptr || one_in(20)) return update(client);
  Pending pending;
  pending.id = chunk->id;
  pending.deletes = true;
  ledger_.begin(pending);
  const auto answer = client.delete_chunk(pending.id, "", /*all=*/true);
  if (!answer.ok()) return end(answer.error());
  ++counts_.acknowledged;
  ledger_.acknowledge_removal();
  return true;
}

// Reads while others write.
bool KillWorker::look(client::Client& client) {
  const Chunk* chunk = any(Ledger::lasts);
  if (chunk == nullptr) return true;
  const auto seen = client.get_chunk(chunk->id);
  if (!seen.ok()) {
    if (!client::is_unreachable(seen.error())) fault("not there: " + seen.error().to_string());
    return !client::is_unreachable(seen.error());
  }
  const std::string wrong = ledger_.check_shown(*seen);
  if (!wrong.empty()) fault("shown otherwise than acknowledged: " + wrong);
  return true;
}

bool KillWorker::all_there(const wire::GenerateRequest& request) const {
  return std::ranges::all_of(request.chunks, [&](const wire::ChunkRef& reference) {
    if (reference.id.empty()) {
      return reference.type == ChunkType::kQuery ||
             ledger_.is_usable(reference.type, reference.text);
    }
    const Ledger::Entry* entry = ledger_.find(reference.id);
    return entry != nullptr && Ledger::lasts(entry->chunk);
  });
}

KillWorker::Conversation& KillWorker::conversation() {
  std::erase_if(conversations_, [&](const Conversation& old) {
    wire::GenerateRequest request;
    request.chunks = {old.system};
    for (const std::string& id : old.output_ids) {
      request.chunks.push_back({ChunkType::kOutput, id, ""});
    }
    return old.output_ids.size() >= kTurnsMax || !all_there(request);
  });
  if (!conversations_.empty() && !one_in(3)) {
    return conversations_[random_.below(conversations_.size())];
  }
  Conversation fresh;
  fresh.thinking = one_in(2);
  const Chunk* system = any([](const Chunk& chunk) {
    return chunk.type == ChunkType::kSystemPrompt && Ledger::lasts(chunk);
  });
  fresh.system.type = ChunkType::kSystemPrompt;
  if (system != nullptr && !one_in(3)) {
    fresh.system.id = system->id;
  } else {
    fresh.system.text = system_text();
  }
  return conversations_.emplace_back(std::move(fresh));
}

void KillWorker::set_output(wire::GenerateRequest& request) {
  const wire::ChunkUpdate change = settings();
  request.retain_output = true;
  request.output_name = change.name;
  request.output_pinned = change.pinned;
  request.output_ttl_ms = change.ttl_ms;
  request.output_priority = change.priority;
  request.output_priority_ms = change.priority_ms;
  request.client_data = one_in(3) ? "turn of worker " + std::to_string(number_) : "";
}

// The next turn of a conversation.
bool KillWorker::converse(client::Client& client) {
  Conversation& talk = conversation();
  wire::GenerateRequest request;
  request.chunks = {talk.system};
  for (const std::string& id : talk.output_ids) {
    request.chunks.push_back({ChunkType::kOutput, id, ""});
  }
  if (one_in(3)) {
    const Chunk* context = any([](const Chunk& chunk) {
      return chunk.type == ChunkType::kContext && Ledger::lasts(chunk);
    });
    if (context != nullptr) request.chunks.push_back({ChunkType::kContext, context->id, ""});
  }
  const std::string question(kAskedQuestions[random_.below(kAskedQuestions.size())]);
  request.chunks.push_back({ChunkType::kQuery, "", question});
  request.thinking = talk.thinking;
  const std::array<ThinkPolicy, 3> policies = {ThinkPolicy::kReprefill, ThinkPolicy::kKeep,
                                               ThinkPolicy::kDrop};
  if (one_in(3)) request.think_policy = policies[random_.below(policies.size())];
  if (!all_there(request)) return true;
  return generate(client, std::move(request), &talk);
}

// A prompt without a conversation.
bool KillWorker::complete(client::Client& client) {
  wire::GenerateRequest request;
  request.prompt = "Worker " + std::to_string(number_) + ": " + words(3, 80);
  return generate(client, std::move(request), nullptr);
}

bool KillWorker::generate(client::Client& client, wire::GenerateRequest request,
                          Conversation* talk) {
  request.logprobs = true;
  request.max_tokens = 1 + static_cast<int32_t>(random_.below(30));
  request.sampling.temperature = one_in(3) ? 0.8 : 0;
  request.sampling.seed = random_.below(1000);
  Pending pending;
  if (!one_in(4)) {
    set_output(request);
    pending.settings = {.id = "",
                        .name = request.output_name,
                        .pinned = request.output_pinned,
                        .ttl_ms = request.output_ttl_ms,
                        .priority = request.output_priority,
                        .priority_ms = request.output_priority_ms,
                        .published = {},
                        .touch = false};
    pending.query = plain_of(request).messages.empty() ? *request.prompt
                                                       : plain_of(request).messages.back().content;
  }
  for (const wire::ChunkRef& reference : request.chunks) {
    if (!reference.id.empty()) ledger_.may_be_used(reference.id);
    if (!reference.text.empty() && reference.type != ChunkType::kQuery) {
      pending.texts.emplace_back(reference.type, reference.text);
    }
    if (reference.type != ChunkType::kQuery) pending.parents.push_back(reference);
  }
  // The daemon reports which texts were registered only for retained outputs.
  if (!request.retain_output && !pending.texts.empty()) return true;
  const bool cancel = one_in(8);
  if (cancel) request.ignore_eos = true;
  if (cancel) request.max_tokens = 400;
  ledger_.begin(std::move(pending));
  int events = 0;
  const int events_max = 1 + static_cast<int>(random_.below(6));
  const client::OnEvent on_event = [&](const client::Event&) { return ++events < events_max; };
  const auto generation = client.generate(request, cancel ? on_event : client::OnEvent());
  if (!generation.ok()) return end(generation.error());
  return generated(client, std::move(request), *generation, talk);
}

bool KillWorker::generated(client::Client& client, wire::GenerateRequest&& request,
                           const client::Generation& generation, Conversation* talk) {
  ++counts_.generations;
  ++counts_.acknowledged;
  counts_.tokens_loaded += generation.usage.loaded_tokens;
  if (generation.finish_reason != "cancelled") record(request, generation);
  if (generation.output_chunk_id.empty()) {
    // The texts that the request registered on its way are looked for after the next kill.
    request.retain_output ? ledger_.leave_open() : ledger_.forget();
    return !request.retain_output;
  }
  if (!generation.durable) fault("an output is not durable");
  for (const wire::ChunkRef& reference : request.chunks) ledger_.was_used(reference.id);
  std::vector<Chunk> seen;  // the output, and the texts that the request brought along
  Status shown = show(client, generation.output_chunk_id, seen);
  for (size_t i = 0; shown.ok() && i < seen.front().parent_ids.size(); ++i) {
    const Status parent = show(client, seen.front().parent_ids[i], seen);
    if (!parent.ok() && client::is_unreachable(parent.error())) shown = parent;
  }
  if (shown.ok()) shown = show_texts(client, request, seen);
  if (!shown.ok()) {
    ledger_.promise(generation);
    const int64_t ttl_ms = request.output_ttl_ms.value_or(0);
    bool lasts = ttl_ms == 0 || ttl_ms >= kHourMs || request.output_pinned.value_or(false);
    const Ledger::Entry* known = ledger_.find(generation.output_chunk_id);
    if (known != nullptr && known->chunk.expires_us != 0) lasts = false;
    if (lasts && !client::is_unreachable(shown.error())) fault(shown.error().to_string());
    return false;
  }
  if (seen[0].token_ids != generation.token_ids || seen[0].text != generation.text) {
    fault("an output is kept otherwise than it was answered: " + seen[0].id);
  }
  std::string wrong;
  for (size_t i = 1; i < seen.size(); ++i) wrong += ledger_.learn(seen[i]);
  wrong += ledger_.acknowledge(seen[0]);
  if (!wrong.empty()) fault("retained otherwise than asked: " + wrong);
  if (talk != nullptr && !seen[0].text.empty()) talk->output_ids.push_back(seen[0].id);
  return true;
}

// An output that already existed keeps its earlier parents. Texts that came along with this request
// and are chunks now are registered once more, to learn their ids.
Status KillWorker::show_texts(client::Client& client, const wire::GenerateRequest& request,
                              std::vector<Chunk>& seen) {
  for (const wire::ChunkRef& reference : request.chunks) {
    if (!reference.id.empty() || reference.type == ChunkType::kQuery) continue;
    const bool known = std::ranges::any_of(seen, [&](const Chunk& chunk) {
      return chunk.type == reference.type && chunk.text == reference.text;
    });
    if (known || ledger_.find(reference.type, reference.text) != nullptr) continue;
    ASSIGN_OR_RETURN(Chunk chunk, client.put_chunk(reference.type, reference.text));
    seen.push_back(std::move(chunk));
  }
  return {};
}

// The same request with texts instead of ids.
wire::GenerateRequest KillWorker::plain_of(const wire::GenerateRequest& request) const {
  wire::GenerateRequest plain;
  plain.prompt = request.prompt;
  plain.thinking = request.thinking;
  plain.max_tokens = request.max_tokens;
  plain.sampling = request.sampling;
  plain.logprobs = true;
  plain.reuse = false;
  std::string user;
  for (const wire::ChunkRef& reference : request.chunks) {
    const Ledger::Entry* entry = reference.id.empty() ? nullptr : ledger_.find(reference.id);
    const std::string& text = entry == nullptr ? reference.text : entry->chunk.text;
    if (reference.type == ChunkType::kSystemPrompt) {
      plain.messages.push_back({.role = "system", .content = text, .reasoning = {}});
    } else if (reference.type == ChunkType::kOutput) {
      const Chunk& output = entry->chunk;
      const bool keep = output.think_policy == ThinkPolicy::kKeep;
      plain.messages.push_back({.role = "user", .content = output.query_text, .reasoning = {}});
      plain.messages.push_back({.role = "assistant",
                                .content = keep ? output.raw_text : output.text,
                                .reasoning = {},
                                .verbatim = keep});
    } else {
      user += (user.empty() ? "" : "\n\n") + text;
    }
  }
  if (!user.empty()) plain.messages.push_back({.role = "user", .content = user, .reasoning = {}});
  return plain;
}

void KillWorker::record(const wire::GenerateRequest& request,
                        const client::Generation& generation) {
  Recorded recorded;
  recorded.plain = plain_of(request);
  recorded.request = recorded.plain;
  recorded.request.reuse = true;
  if (!request.chunks.empty()) {
    recorded.request.messages.clear();
    recorded.request.chunks = request.chunks;
    // A text that has an id by now would be counted as registered again.
    const bool by_text = !request.chunks.front().text.empty();
    if (by_text) recorded.request.messages = recorded.plain.messages;
    if (by_text) recorded.request.chunks.clear();
  }
  recorded.token_ids = generation.token_ids;
  recorded.logprobs = generation.logprobs;
  recorded_.push_back(std::move(recorded));
  if (recorded_.size() > kRecordedMax) recorded_.pop_front();
}

void KillWorker::check_same(const char* what, const Recorded& recorded,
                            const client::Generation& again) {
  counts_.tokens_compared += static_cast<int64_t>(again.token_ids.size());
  if (recorded.token_ids != again.token_ids) fault(std::string(what) + ": other tokens");
  if (!same_bits(recorded.logprobs, again.logprobs)) fault(std::string(what) + ": other bits");
}

bool KillWorker::replay(client::Client& daemon, client::Client& reference) {
  std::erase_if(recorded_, [&](const Recorded& old) { return !all_there(old.request); });
  if (recorded_.empty()) return true;
  Recorded& chosen = recorded_[random_.below(recorded_.size())];
  for (const wire::ChunkRef& used : chosen.request.chunks) ledger_.may_be_used(used.id);
  const auto again = daemon.generate(chosen.request);
  if (!again.ok()) {
    gone_ = again.error().to_string();
    if (!client::is_unreachable(again.error())) fault("replay: " + gone_);
    return !client::is_unreachable(again.error());
  }
  counts_.tokens_loaded += again->usage.loaded_tokens;
  check_same("after a kill", chosen, *again);
  if (std::exchange(chosen.checked, true)) return true;
  const auto cold = reference.generate(chosen.plain);
  if (!cold.ok()) {
    fault("reference: " + cold.error().to_string());
    return true;
  }
  check_same("reference", chosen, *cold);
  return true;
}

}  // namespace cascade::testing
