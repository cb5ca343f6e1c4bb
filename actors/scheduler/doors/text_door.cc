// Texts wait for the tokenizer; ids are decoded at once.
#include "actors/scheduler/doors/text_door.h"

#include <span>
#include <utility>

#include "actors/scheduler/prompt_size.h"
#include "base/utf8.h"
#include "cache/tenant_parts.h"
#include "wire/limits.h"

namespace cascade {
namespace {

// When to try again if too many texts wait: a text is tokenized between two jobs of the prefill
// actor.
constexpr int64_t kTextRetryMs = 100;

}  // namespace

TextDoor::TextDoor(const Model& model, const Clock& clock, Jobs& jobs, Outbox& outbox,
                   int64_t texts_max)
    : model_(model),
      clock_(clock),
      jobs_(jobs),
      outbox_(outbox),
      texts_max_(texts_max),
      encoding_(jobs, {.actor = Actor::kPrefill}, [this](auto&& lost) {
        for (const auto& [job, asked] : lost) {
          outbox_.reply_error(asked.client, asked.id, lost_work());
        }
      }) {}

void TextDoor::encode(const Client& client, const wire::RequestId& id, wire::EncodeJob&& job) {
  const auto whose = [](const auto& text) { return text.second.client.tenant; };
  if (!may_begin(encoding_.all(), texts_max_, client.tenant, whose)) {
    return outbox_.reply_error(
        client, id, resource_exhausted("", "too many texts are being tokenized"), kTextRetryMs);
  }
  job.job = jobs_.next();
  job.now_unix_s = clock_.wall_us() / 1'000'000;
  encoding_.put(job.job, {client, id, job.show_text});
  outbox_.send(Actor::kPrefill, std::move(job));
}

void TextDoor::on(const Client& client, const wire::RequestId& id,
                  wire::TokenizeRequest&& request) {
  const Status fits =
      check_text_bytes(model_.config, "text", static_cast<int64_t>(request.text.size()));
  if (!fits.ok()) return outbox_.reply_error(client, id, fits.error());
  wire::EncodeJob job;
  job.mode = request.beginning ? wire::EncodeJob::Mode::kRaw : wire::EncodeJob::Mode::kText;
  job.raw = std::move(request.text);
  encode(client, id, std::move(job));
}

void TextDoor::on(const Client& client, const wire::RequestId& id,
                  wire::ApplyTemplateRequest&& request) {
  auto bytes = static_cast<int64_t>(request.tools.size());
  for (const ChatMessage& message : request.messages) {
    bytes += static_cast<int64_t>(message.content.size() + message.reasoning.size() +
                                  message.tool_calls.size());
  }
  const Status fits = check_text_bytes(model_.config, "messages", bytes);
  if (!fits.ok()) return outbox_.reply_error(client, id, fits.error());
  wire::EncodeJob job;
  job.mode = wire::EncodeJob::Mode::kPrompt;
  job.show_text = true;
  job.messages = std::move(request.messages);
  job.tools = std::move(request.tools);
  job.thinking = request.thinking;
  job.reasoning_effort = std::move(request.reasoning_effort);
  job.goes_on = request.continue_final_message.value_or(false);
  encode(client, id, std::move(job));
}

namespace {

// Returns the texts of the tokens. Error kInvalidArgument if they do not fit into one message.
// Decoding stops at that limit, since a context of long tokens has hundreds of MiB.
Result<wire::DetokenizeReply> detokenized(const Tokenizer& tokenizer,
                                          const wire::DetokenizeRequest& request) {
  const auto too_long = [](size_t bytes_max) {
    return invalid_argument("token_ids", "decode to more than the limit of " +
                                             std::to_string(bytes_max) +
                                             " bytes; ask for fewer at a time");
  };
  wire::DetokenizeReply answer;
  const bool goes_on = request.text_start == TextStart::kNone;
  auto text =
      tokenizer.decode(request.token_ids, request.skip_special, wire::kTextBytesMax, goes_on);
  if (!text) return too_long(wire::kTextBytesMax);
  answer.text = std::move(*text);
  if (!request.pieces && !request.piece_bytes) return answer;
  const bool twice = request.pieces && request.piece_bytes;
  const size_t pieces_bytes_max = wire::kMessageBytesMax / (twice ? 4 : 2);
  auto pieces = tokenizer.pieces(request.token_ids, request.text_start, pieces_bytes_max);
  if (!pieces) return too_long(pieces_bytes_max);
  for (TokenPiece& piece : *pieces) {
    if (piece.is_special && request.skip_special) piece.bytes.clear();
    if (request.pieces) answer.pieces.push_back(utf8_replace_malformed(piece.bytes));
    if (request.piece_bytes) answer.piece_bytes.push_back({std::move(piece.bytes)});
  }
  return answer;
}

}  // namespace

void TextDoor::on(const Client& client, const wire::RequestId& id,
                  const wire::DetokenizeRequest& request) {
  const auto limit = static_cast<size_t>(model_.config.context_tokens_max);
  if (request.token_ids.size() > limit) {
    return outbox_.reply_error(
        client, id,
        invalid_argument("token_ids", "has " + std::to_string(request.token_ids.size()) +
                                          " elements; the limit is " + std::to_string(limit)));
  }
  for (size_t i = 0; i < request.token_ids.size(); ++i) {
    const int32_t token = request.token_ids[i];
    if (token >= 0 && token < model_.config.vocab_size) continue;
    return outbox_.reply_error(
        client, id,
        invalid_argument("token_ids[" + std::to_string(i) + "]",
                         "is " + std::to_string(token) +
                             ", which is not in the vocabulary; the limit is " +
                             std::to_string(model_.config.vocab_size - 1)));
  }
  auto answer = detokenized(model_.tokenizer, request);
  answer.ok() ? outbox_.reply(client, id, std::move(*answer))
              : outbox_.reply_error(client, id, answer.error());
}

bool TextDoor::on(wire::EncodeDone& done) {
  const std::optional<Asked> asked = encoding_.take(done.job);
  if (!asked) return false;
  if (done.error) {
    outbox_.reply_error(asked->client, asked->id, *done.error);
  } else if (asked->rendered) {
    outbox_.reply(asked->client, asked->id,
                  wire::ApplyTemplateReply{std::move(done.text), std::move(done.token_ids)});
  } else {
    outbox_.reply(asked->client, asked->id, wire::TokenizeReply{std::move(done.token_ids)});
  }
  return true;
}

}  // namespace cascade
