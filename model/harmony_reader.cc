// Headers are read leniently: whatever order models write their parts in, and whatever they leave
// out, a message is thoughts, an answer or a call.
#include "model/harmony_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/think_marks.h"

namespace cascade {
namespace {

constexpr std::string_view kHeaderBlanks = " \t\r\n";
constexpr std::string_view kRecipient = "to=";
constexpr std::string_view kFunctions = "functions.";
constexpr std::string_view kAssistant = "assistant";

// The first word of `text`.
std::string_view first_word(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kHeaderBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_of(kHeaderBlanks));
}

// The word after "to="; empty if there is none.
std::string_view recipient_of(std::string_view text) {
  const size_t at = text.find(kRecipient);
  return at == text.npos ? "" : first_word(text.substr(at + kRecipient.size()));
}

// Whether a generation that begins with `text` begins with a recipient.
bool begins_with_recipient(std::string_view text) {
  const std::string_view word = first_word(text);
  if (word.empty()) return text == " ";
  return kRecipient.starts_with(word) || word.starts_with(kRecipient);
}

// The mark that `text` begins with.
std::optional<HarmonyMark> mark_at(std::string_view text) {
  for (const auto& [mark, spelling] : kHarmonyMarks) {
    if (text.starts_with(spelling)) return mark;
  }
  return std::nullopt;
}

}  // namespace

HarmonyHeader read_harmony_header(std::string_view role, std::string_view channel,
                                  std::string_view rest) {
  const std::string_view author = first_word(role);
  if (!author.empty() && author != kAssistant && !author.starts_with(kRecipient)) {
    return {HarmonyPart::kOthers, {}};
  }
  for (const std::string_view text : {role, channel, rest}) {
    std::string_view function = recipient_of(text);
    if (function.starts_with(kFunctions)) function.remove_prefix(kFunctions.size());
    constexpr std::array<std::string_view, 3> kPeople = {"assistant", "user", "all"};
    if (function.empty() || std::ranges::count(kPeople, function) != 0) continue;
    return {HarmonyPart::kCall, std::string(function)};
  }
  const bool thinks = first_word(channel).starts_with("analysis");
  return {thinks ? HarmonyPart::kThoughts : HarmonyPart::kAnswer, {}};
}

HarmonyReader HarmonyReader::at_generation() const {
  HarmonyReader reader = *this;
  reader.is_first_ = section_ == &HarmonyReader::role_;
  return reader;
}

void HarmonyReader::push(HarmonyMark mark) {
  is_first_ = false;
  const bool in_header = part_ == HarmonyPart::kHeader;
  switch (mark) {
    case HarmonyMark::kStart:
    case HarmonyMark::kEnd:
    case HarmonyMark::kCall:
    case HarmonyMark::kReturn: {
      const bool others = in_header && has_author_ &&
                          read_harmony_header(role_, "", "").part == HarmonyPart::kOthers;
      begin_header();
      has_author_ = mark == HarmonyMark::kStart;
      if (others) part_ = HarmonyPart::kOthers;
      return;
    }
    case HarmonyMark::kChannel:
      if (!in_header) begin_header();
      // The last of several channels counts. The others may have the recipient.
      rest_ += ' ' + std::exchange(channel_, {});
      section_ = &HarmonyReader::channel_;
      return;
    case HarmonyMark::kConstrain:
      if (in_header) rest_ += ' ';
      section_ = &HarmonyReader::rest_;
      return;
    case HarmonyMark::kMessage: break;
  }
  if (!in_header) return;
  HarmonyHeader header = read_harmony_header(role_, channel_, rest_);
  part_ = header.part;
  function_ = std::move(header.function);
}

bool HarmonyReader::push(std::string_view text) {
  const bool is_first = std::exchange(is_first_, false);
  if (part_ != HarmonyPart::kHeader) return true;
  if (is_first && !begins_with_recipient(text)) {
    part_ = HarmonyPart::kAnswer;
    return true;
  }
  this->*section_ += text;
  return false;
}

void HarmonyReader::begin_header() {
  part_ = HarmonyPart::kHeader;
  role_.clear();
  channel_.clear();
  rest_.clear();
  section_ = &HarmonyReader::role_;
}

bool is_harmony_text(std::string_view raw_text) {
  const auto has = [&](std::string_view part) { return raw_text.find(part) != raw_text.npos; };
  if (raw_text.starts_with("<|channel|>")) return true;
  const auto has_either = [&](const ThinkMarks& marks) {
    return has(marks.open) || has(marks.close);
  };
  if (std::ranges::any_of(kThinkMarks, has_either)) return false;
  return std::ranges::any_of(kHarmonyMarks, [&](const auto& mark) { return has(mark.second); });
}

std::string harmony_thoughts(std::string_view raw_text) {
  HarmonyReader reader(HarmonyPart::kHeader);
  std::string thoughts, body;
  const auto end_body = [&] {
    body.erase(body.find_last_not_of('\n') + 1);
    body.erase(0, std::min(body.find_first_not_of('\n'), body.size()));
    if (!body.empty() && !thoughts.empty()) thoughts += '\n';
    thoughts += std::exchange(body, {});
  };
  while (!raw_text.empty() && reader.part() != HarmonyPart::kOthers) {
    size_t next = 0;
    while (next < raw_text.size() && !mark_at(raw_text.substr(next))) {
      next = std::min(raw_text.find('<', next + 1), raw_text.size());
    }
    const std::string_view text = raw_text.substr(0, next);
    if (!text.empty() && reader.push(text) && reader.part() == HarmonyPart::kThoughts) {
      body += text;
    }
    raw_text.remove_prefix(next);
    const auto mark = mark_at(raw_text);
    if (!mark) break;
    reader.push(*mark);
    if (reader.part() != HarmonyPart::kThoughts) end_body();
    raw_text.remove_prefix(raw_text.find("|>") + 2);
  }
  end_body();
  return thoughts;
}

}  // namespace cascade
