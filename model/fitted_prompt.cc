// The whole conversation is tried first, unless its bytes say that it cannot fit.
#include "model/fitted_prompt.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/conversation_cut.h"
#include "model/stand_in.h"

namespace cascade {
namespace {

// A conversation with more bytes for each token of the room is not tried as a whole. Real text has
// 3 to 5 bytes a token.
constexpr int64_t kBytesPerTokenTried = 16;
// Where a template cannot be measured: what ChatML puts around a message.
constexpr int64_t kOverhead = 5;
// If what stays is longer than was counted, it is chosen again, as if the room were smaller by this
// part of it, and again; so there are few attempts, however many messages there are.
constexpr int64_t kRoomParts = 8;

int64_t bytes_of(std::span<const ChatMessage> messages) {
  int64_t bytes = 0;
  for (const ChatMessage& message : messages) {
    bytes += static_cast<int64_t>(message.content.size() + message.tool_calls.size() +
                                  message.reasoning.size());
  }
  return bytes;
}

Result<int64_t> tokens_of(const Tokenizer& tokenizer, const std::string& text) {
  if (text.empty()) return int64_t{0};
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                   tokenizer.encode(text, /*trusted=*/false, /*with_template=*/false));
  return std::ssize(ids);
}

// What a template does with any conversation that has these system messages and tools. It is
// measured with short messages, so it does not depend on the conversation itself.
struct TemplateCosts {
  int64_t fixed = 0;             // tokens of a prompt besides its messages: system prompt, tools
  int64_t overhead = kOverhead;  // tokens around a message of the user or the assistant
  int64_t tool_overhead = kOverhead;  // around the result of a tool
  int64_t thought_overhead = 0;       // tokens around thoughts, where they are in the prompt
  bool keeps_thoughts = false;        // the thoughts of earlier turns are in the prompt
};

class TemplateMeter {
 public:
  TemplateMeter(const ConversationContext& context, std::span<const ChatMessage> system)
      : context_(context), system_(system) {}

  // Error if the template does not render a question after the system messages.
  Result<TemplateCosts> measure() const {
    TemplateCosts costs;
    const ChatMessage question = {.role = "user", .content = "a", .reasoning = {}};
    const ChatMessage answer = {.role = "assistant", .content = "a", .reasoning = {}};
    ASSIGN_OR_RETURN(const int64_t alone, tokens({question}));
    const auto longer = tokens({question, answer, question});
    if (longer.ok()) costs.overhead = rounded_half(*longer - alone - 2);
    costs.fixed = std::max<int64_t>(0, alone - costs.overhead - 1);
    costs.tool_overhead = costs.overhead;
    const ChatMessage result = {.role = "tool", .content = "a", .reasoning = {}};
    const auto one = tokens({question, answer, result});
    const auto three = tokens({question, answer, result, answer, result, answer, result});
    if (one.ok() && three.ok()) {
      const int64_t step = rounded_half(*three - *one) - 2;
      costs.tool_overhead = std::max(costs.overhead, step - costs.overhead);
    }
    ChatMessage thoughtful = answer;
    thoughtful.reasoning = "a a a a a a a a";
    ASSIGN_OR_RETURN(const int64_t thoughts, tokens_of(context_.tokenizer, thoughtful.reasoning));
    const auto thought = tokens({question, thoughtful, result});
    if (one.ok() && thought.ok()) {
      costs.thought_overhead = std::max<int64_t>(0, *thought - *one - thoughts);
    }
    const auto earlier = tokens({question, thoughtful, question});
    costs.keeps_thoughts = longer.ok() && earlier.ok() && *earlier - *longer >= thoughts / 2;
    return costs;
  }

 private:
  static int64_t rounded_half(int64_t tokens) { return std::max<int64_t>(1, (tokens + 1) / 2); }

  Result<int64_t> tokens(std::initializer_list<ChatMessage> after) const {
    std::vector<ChatMessage> messages(system_.begin(), system_.end());
    messages.insert(messages.end(), after);
    ASSIGN_OR_RETURN(const EncodedPrompt prompt, encode_prompt(context_, messages));
    return std::ssize(prompt.token_ids);
  }

  const ConversationContext& context_;
  std::span<const ChatMessage> system_;
};

Result<std::vector<MessageSize>> sizes_of(const Tokenizer& tokenizer, const TemplateCosts& costs,
                                          std::span<const ChatMessage> messages) {
  std::vector<MessageSize> sizes;
  for (const ChatMessage& message : messages) {
    MessageSize size;
    size.always = message.role == "tool" ? costs.tool_overhead : costs.overhead;
    for (const std::string* text :
         {&message.content, &message.tool_calls, &message.tool_call_id, &message.name}) {
      ASSIGN_OR_RETURN(const int64_t tokens, tokens_of(tokenizer, *text));
      size.always += tokens;
    }
    ASSIGN_OR_RETURN(int64_t thoughts, tokens_of(tokenizer, message.reasoning));
    if (thoughts > 0) thoughts += costs.thought_overhead;
    (costs.keeps_thoughts ? size.always : size.in_newest_turn) += thoughts;
    sizes.push_back(size);
  }
  return sizes;
}

// The sizes of a conversation's messages, and the room that system prompt and tools leave them.
struct Measured {
  std::vector<MessageSize> sizes;
  int64_t room = 0;
};

Result<Measured> measure(const ConversationContext& context, std::span<const ChatMessage> messages,
                         const ConversationCuts& cuts, const FitOptions& options) {
  const TemplateMeter meter(context, messages.first(cuts.system_messages()));
  ASSIGN_OR_RETURN(const TemplateCosts costs, meter.measure());
  Measured measured;
  ASSIGN_OR_RETURN(measured.sizes, sizes_of(context.tokenizer, costs, messages));
  int64_t summary = 0;
  if (!options.summaries.empty()) {
    ASSIGN_OR_RETURN(summary, tokens_of(context.tokenizer, options.summaries.back().text));
  }
  measured.room = std::max<int64_t>(0, options.room - costs.fixed - summary);
  return measured;
}

// Where the conversation is cut if summaries stand in.
std::vector<LeftOut> places_of(std::span<const StandIn> summaries, const ConversationCuts& cuts) {
  std::vector<LeftOut> places;
  for (const StandIn& summary : summaries) {
    if (summary.cut != LeftOut() && cuts.has(summary.cut)) places.push_back(summary.cut);
  }
  return places;
}

// Returns what is encoded at the first of the places where it fits; nullopt if it fits at none.
// Each place leaves out more than the one before it, so it is found by halving.
template <class Encoded>
Result<std::optional<Encoded>> first_that_fits(
    std::span<const LeftOut> places, const std::function<Result<Encoded>(const LeftOut&)>& encode,
    const std::function<bool(const Encoded&)>& fits) {
  std::optional<Encoded> found;
  while (!places.empty()) {
    const size_t middle = places.size() / 2;
    ASSIGN_OR_RETURN(Encoded encoded, encode(places[middle]));
    if (fits(encoded)) {
      found = std::move(encoded);
      places = places.first(middle);
    } else {
      places = places.subspan(middle + 1);
    }
  }
  return found;
}

// The messages that stay, with what stands in for the others.
struct Kept {
  std::vector<ChatMessage> messages;
  std::optional<LeftOut> summarised;
};

Kept keep(std::span<const ChatMessage> messages, const ConversationCuts& cuts, const LeftOut& cut,
          std::span<const StandIn> summaries) {
  Kept kept = {kept_messages(messages, cuts, cut), std::nullopt};
  if (const StandIn* const summary = stand_in_for(summaries, cut)) {
    put_stand_in(summary->text, kept.messages);
    kept.summarised = summary->cut;
  }
  return kept;
}

}  // namespace

Result<FittedPrompt> encode_fitted(const ConversationContext& context,
                                   std::span<const ChatMessage> messages, bool goes_on,
                                   const FitOptions& options) {
  const ConversationCuts cuts(messages);
  const auto encode = [&](const LeftOut& cut) -> Result<FittedPrompt> {
    const Kept kept = keep(messages, cuts, cut, options.summaries);
    ASSIGN_OR_RETURN(EncodedPrompt prompt, encode_prompt(context, kept.messages, goes_on));
    return FittedPrompt{std::move(prompt), cut, kept.summarised};
  };
  const auto fits = [&](const FittedPrompt& fitted) {
    return std::ssize(fitted.prompt.token_ids) <= options.room;
  };
  if (bytes_of(messages) <= kBytesPerTokenTried * options.room) {
    ASSIGN_OR_RETURN(FittedPrompt whole, encode(LeftOut()));
    if (fits(whole)) return whole;
  }
  if (options.preferred != LeftOut() && cuts.has(options.preferred)) {
    ASSIGN_OR_RETURN(FittedPrompt known, encode(options.preferred));
    if (fits(known)) return known;
  }
  ASSIGN_OR_RETURN(auto summarised,
                   first_that_fits<FittedPrompt>(places_of(options.summaries, cuts), encode, fits));
  if (summarised) return *std::move(summarised);
  if (const auto measured = measure(context, messages, cuts, options); measured.ok()) {
    std::optional<LeftOut> before;
    for (int64_t parts = kRoomParts; parts > 0; --parts) {
      const int64_t part = measured->room * parts / kRoomParts;
      const LeftOut cut = cuts.choose(measured->sizes, {part, part / 2});
      if (cut == cuts.most()) break;
      if (cut == before) continue;
      before = cut;
      ASSIGN_OR_RETURN(FittedPrompt fitted, encode(cut));
      if (fits(fitted)) return fitted;
    }
  }
  ASSIGN_OR_RETURN(FittedPrompt least, encode(cuts.most()));
  if (fits(least) || !least.summarised) return least;
  // The newest question needs the room of the summaries.
  return encode_fitted(context, messages, goes_on, {options.room, options.preferred});
}

Result<ShortenedHistory> encode_shortened_history(const ConversationContext& context,
                                                  std::span<const ChatMessage> messages,
                                                  int64_t next, const FitOptions& options) {
  std::vector<ChatMessage> asked(messages.begin(), messages.end());
  asked.push_back({.role = "user", .content = {}, .reasoning = {}});  // the next question
  const ConversationCuts cuts(asked);
  const auto encode = [&](const LeftOut& cut) -> Result<ShortenedHistory> {
    const Kept kept = keep(messages, cuts, cut, options.summaries);
    ASSIGN_OR_RETURN(std::vector<int32_t> ids, encode_history(context, kept.messages));
    return ShortenedHistory{std::move(ids), cut, kept.summarised};
  };
  ASSIGN_OR_RETURN(ShortenedHistory whole, encode(LeftOut()));
  const auto fits = [&](const ShortenedHistory& history) {
    return std::ssize(history.token_ids) + next <= options.room;
  };
  if (fits(whole)) return whole;
  std::vector<LeftOut> places = places_of(options.summaries, cuts);
  std::erase_if(places, [&](const LeftOut& cut) { return cut.steps > 0 || cut == cuts.most(); });
  ASSIGN_OR_RETURN(auto summarised, first_that_fits<ShortenedHistory>(places, encode, fits));
  if (summarised) return *std::move(summarised);
  ASSIGN_OR_RETURN(const Measured measured, measure(context, asked, cuts, options));
  LeftOut cut = std::max(cuts.shorten(measured.sizes, measured.room / 2), cuts.after({}));
  // This ends at most(), the new question's turn, which has no steps.
  while (cut.steps > 0) cut = cuts.after(cut);
  if (cut == cuts.most()) return whole;
  return encode(cut);
}

}  // namespace cascade
