// chat: how much retained outputs save, turn by turn.
#include <array>

#include "bench/serve/stage.h"
#include "bench/serve/statistics.h"

namespace cascade::serve {
namespace {

constexpr int64_t kIdleLookUs = 1'000;  // between two looks at the daemon's idle work
constexpr double kIdleSecondsMax = 600;

enum class Way { kRetained, kPrefixOnly, kNoReuse };
constexpr std::array kWays = {Way::kRetained, Way::kPrefixOnly, Way::kNoReuse};

const char* name_of(Way way) {
  switch (way) {
    case Way::kRetained: return "retained";
    case Way::kPrefixOnly: return "prefix_only";
    case Way::kNoReuse: break;
  }
  return "no_reuse";
}

ChatMessage message(const char* role, const std::string& content) {
  ChatMessage message;
  message.role = role;
  message.content = content;
  return message;
}

struct Turn {
  OrderedJson row;
  wire::Final final;
  double idle_ms = 0;
};

// One conversation, held in one way.
class Conversation {
 public:
  Conversation(Stage& stage, const ChatOptions& options, Way way, std::string system)
      : stage_(stage), options_(options), way_(way), system_(std::move(system)) {
    if (!system_.empty()) messages_.push_back(message("system", system_));
  }

  Result<Turn> take_turn(int64_t number, const std::string& query) {
    if (!service_) {
      ASSIGN_OR_RETURN(service_, stage_.start_service());
    }
    ASSIGN_OR_RETURN(const ExchangePtr exchange,
                     service_->traffic->run(service_->control, request_of(query)));
    Turn turn;
    turn.final = std::move(*exchange->final);
    RETURN_IF_ERROR(remember(query, turn.final));
    ASSIGN_OR_RETURN(turn.idle_ms, wait_for_idle_work());
    RETURN_IF_ERROR(describe(number, *exchange, turn));
    return turn;
  }

  Result<wire::StatusReply> status() { return service_->status(); }
  // Adds what reuse has saved so far, as the daemon counts it.
  Status add_saved(OrderedJson& row) {
    ASSIGN_OR_RETURN(const wire::StatsReply stats, service_->traffic->stats(service_->control));
    const wire::CacheStats cache = stats.cache.value_or(wire::CacheStats());
    row["saved_tokens"] = cache.saved_tokens;
    row["saved_s"] = static_cast<double>(cache.saved_us) / 1e6;
    row["saved_mb"] = static_cast<double>(cache.saved_bytes) / 1e6;
    return {};
  }

 private:
  wire::GenerateRequest request_of(const std::string& query) const {
    wire::GenerateRequest request;
    request.max_tokens = static_cast<int32_t>(options_.max_tokens);
    request.sampling.temperature = 0;
    request.thinking = true;
    if (way_ == Way::kNoReuse) {
      request.messages = messages_;
      request.messages.push_back(message("user", query));
      request.reuse = false;
      return request;
    }
    if (!system_.empty()) request.chunks.push_back({ChunkType::kSystemPrompt, "", system_});
    for (const std::string& id : outputs_) request.chunks.push_back({ChunkType::kOutput, id, ""});
    request.chunks.push_back({ChunkType::kQuery, "", query});
    request.retain_output = true;
    request.think_policy = way_ == Way::kRetained ? ThinkPolicy::kReprefill : ThinkPolicy::kDrop;
    return request;
  }

  Status remember(const std::string& query, const wire::Final& final) {
    if (way_ == Way::kNoReuse) {
      messages_.push_back(message("user", query));
      messages_.push_back(message("assistant", final.text));
      return {};
    }
    if (final.output_chunk_id.empty()) {
      return Error{ErrorCode::kUnavailable, "", "the daemon did not retain an output"};
    }
    outputs_.push_back(final.output_chunk_id);
    return {};
  }

  // The milliseconds until no output waits any more to be prefilled again.
  Result<double> wait_for_idle_work() {
    const int64_t start = now_us();
    for (;;) {
      ASSIGN_OR_RETURN(const wire::StatusReply status, service_->status());
      const double passed_ms = static_cast<double>(now_us() - start) / 1e3;
      if (status.reprefills_pending == 0) return passed_ms;
      if (passed_ms > kIdleSecondsMax * 1e3) {
        return Error{ErrorCode::kDeadlineExceeded, "", "outputs are still prefilled after 600 s"};
      }
      for (const int64_t until = now_us() + kIdleLookUs; now_us() < until;) {
        RETURN_IF_ERROR(service_->traffic->pump(until));
      }
    }
  }

  Status describe(int64_t number, const Exchange& exchange, Turn& turn) {
    ASSIGN_OR_RETURN(const wire::StatusReply status, service_->status());
    OrderedJson& row = turn.row;
    const wire::Usage& usage = turn.final.usage;
    row["turn"] = number;
    row["way"] = name_of(way_);
    row["prompt_tokens"] = usage.prompt_tokens;
    row["reused"] = usage.reused_tokens;
    row["prefilled"] = usage.prefilled_tokens;
    row["miss"] = std::string(to_string(usage.miss.reason));
    row["answer_tokens"] = usage.completion_tokens;
    row["thought_tokens"] = usage.reasoning_tokens;
    row["first_token_ms"] = static_cast<double>(turn.final.timings.first_token_us) / 1e3;
    row["total_ms"] = exchange.total_ms();
    row["idle_work_ms"] = turn.idle_ms;
    row["kv_mb"] = static_cast<double>(status.kv_bytes_used) / 1e6;
    add_memory(row, service_->memory());
    return {};
  }

  Stage& stage_;
  const ChatOptions& options_;
  const Way way_;
  const std::string system_;
  std::vector<ChatMessage> messages_;
  std::vector<std::string> outputs_;
  std::unique_ptr<Service> service_;
};

Status check(const ChatOptions& options, const Stage& stage) {
  const int64_t messages = 2 * options.turns + 1;
  const int64_t tokens = options.system_tokens + messages * kTemplateTokens +
                         options.turns * (options.query_tokens + options.max_tokens);
  return stage.check_context("--turns", tokens);
}

// Sums the tokens of all turns; the times are those of the turns after the first.
OrderedJson summary_of(Way way, const std::vector<Turn>& turns) {
  int64_t prompt = 0, reused = 0, prefilled = 0;
  std::vector<double> first_ms, total_ms, idle_ms;
  for (const Turn& turn : turns) {
    prompt += turn.final.usage.prompt_tokens;
    reused += turn.final.usage.reused_tokens;
    prefilled += turn.final.usage.prefilled_tokens;
    if (&turn == &turns.front()) continue;  // there is nothing to reuse yet
    first_ms.push_back(static_cast<double>(turn.final.timings.first_token_us) / 1e3);
    total_ms.push_back(turn.row["total_ms"]);
    idle_ms.push_back(turn.idle_ms);
  }
  OrderedJson row;
  row["way"] = name_of(way);
  row["prompt_tokens"] = prompt;
  row["reused"] = reused;
  row["prefilled"] = prefilled;
  row["reused_share"] = ratio(static_cast<double>(reused), static_cast<double>(prompt));
  add_percentiles(row, "first_token_ms", first_ms);
  add_percentiles(row, "total_ms", total_ms);
  add_percentiles(row, "idle_work_ms", idle_ms);
  return row;
}

}  // namespace

Status chat(const ChatOptions& options) {
  ASSIGN_OR_RETURN(const auto stage, Stage::prepare(options.serve));
  RETURN_IF_ERROR(check(options, *stage));
  ASSIGN_OR_RETURN(const std::string system, stage->texts().system_prompt(options.system_tokens));
  // Each way has a daemon of its own, and the ways take turns: if the machine changes its speed, it
  // changes for all of them.
  std::vector<Conversation> conversations;
  for (const Way way : kWays) conversations.emplace_back(*stage, options, way, system);
  std::array<std::vector<Turn>, kWays.size()> turns;
  bool identical = true;
  for (int64_t number = 1; number <= options.turns; ++number) {
    const auto index = static_cast<uint64_t>(number);
    ASSIGN_OR_RETURN(const std::string query, stage->texts().question(index, options.query_tokens));
    for (size_t way = 0; way < kWays.size(); ++way) {
      ASSIGN_OR_RETURN(Turn turn, conversations[way].take_turn(number, query));
      turns[way].push_back(std::move(turn));
      identical = identical && turns[way].back().final.token_ids == turns[0].back().final.token_ids;
    }
  }
  ASSIGN_OR_RETURN(const wire::StatusReply status, conversations[0].status());
  OrderedJson header = stage->header("chat", status);
  header["turns"] = options.turns;
  header["system_tokens"] = options.system_tokens;
  header["identical"] = identical;
  speed::Report report(std::move(header));
  for (size_t turn = 0; turn < turns[0].size(); ++turn) {
    for (const auto& way_turns : turns) report.add(way_turns[turn].row);
  }
  for (size_t way = 0; way < kWays.size(); ++way) {
    OrderedJson summary = summary_of(kWays[way], turns[way]);
    RETURN_IF_ERROR(conversations[way].add_saved(summary));
    report.add(std::move(summary));
  }
  RETURN_IF_ERROR(stage->print(report));
  if (identical) return {};
  return Error{ErrorCode::kInternal, "", "the three ways did not give the same tokens"};
}

}  // namespace cascade::serve
