// The pre-tokenizer of tokenizer.json: cuts a text into the pieces that are merged separately.
#include "model/tokenizer/pre_tokenizer_pipeline.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "model/tokenizer/bpe_byte_alphabet.h"
#include "model/tokenizer/pre_tokenizer_classes.h"

namespace cascade {

// One call of split(). Pieces stream depth-first through the steps, so that no list of them is
// kept; the depth is the number of steps. Functions return false once `error_` is set.
class PreTokenizerJob {
 public:
  PreTokenizerJob(const PreTokenizer& pre_tokenizer, RegexScratch& scratch, PieceSink& sink)
      : pre_tokenizer_(pre_tokenizer), scratch_(scratch), sink_(sink) {}

  // Runs `piece` through step `index` and all after it.
  bool run(size_t index, std::string_view piece, bool is_start) {
    if (piece.empty()) return true;
    if (index == pre_tokenizer_.steps_.size()) {
      sink_.piece(piece);
      return true;
    }
    return std::visit(
        [&](const auto& step) {
          return apply(step, Position{index, piece, is_start});
        },
        pre_tokenizer_.steps_[index]);
  }

  Status status() && {
    if (error_) return std::move(*error_);
    return {};
  }

 private:
  struct Position {
    size_t index;
    std::string_view piece;
    bool is_start;
  };

  // Takes the size of a step's output from the budget.
  bool take(const std::string& written) {
    if (scratch_.budget().take_bytes(written.size())) return true;
    error_ = scratch_.budget().too_long();
    return false;
  }
  // Hands a part of the piece to the next step.
  bool descend(const Position& at, ByteRange part) {
    return run(at.index + 1, at.piece.substr(part.begin, part.end - part.begin),
               at.is_start && part.begin == 0);
  }
  // The result refers to `at`.
  SplitAssembler assembler(const Position& at, SplitBehavior behavior, bool is_inverted) {
    return {behavior, is_inverted, at.piece.size(),
            [this, &at](ByteRange part) { return descend(at, part); }};
  }

  bool apply(const SplitStep& step, const Position& at) {
    if (const auto* known = std::get_if<KnownPattern>(&step.pattern)) {
      return apply_known(*known, step, at);
    }
    SplitAssembler parts = assembler(at, step.behavior, step.is_inverted);
    const auto* regex = std::get_if<TokenizerRegex>(&step.pattern);
    const bool is_done = regex != nullptr
                             ? add_matches(*regex, at.piece, parts)
                             : add_matches(std::get<std::string>(step.pattern), at.piece, parts);
    return is_done && parts.finish();
  }

  bool add_matches(const TokenizerRegex& regex, std::string_view text, SplitAssembler& parts) {
    TokenizerRegex::Matches matches(regex, text, scratch_);
    for (;;) {
      auto match = matches.next();
      if (!match.ok()) {
        error_ = std::move(match).error();
        return false;
      }
      if (!match->has_value()) return true;
      if (!parts.add_match(**match)) return false;
    }
  }

  bool add_matches(const std::string& literal, std::string_view text, SplitAssembler& parts) {
    for (size_t at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + literal.size())) {
      if (!parts.add_match({at, at + literal.size()})) return false;
    }
    return true;
  }

  // A known pattern matches everywhere, so there is nothing between matches.
  bool apply_known(KnownPattern pattern, const SplitStep& step, const Position& at) {
    if (step.behavior == SplitBehavior::kIsolated) return split_words(pattern, at);
    SplitAssembler parts = assembler(at, step.behavior, step.is_inverted);
    for (size_t begin = 0; begin < at.piece.size();) {
      const size_t end = known_pattern_end(pattern, at.piece, begin);
      if (!parts.add_match({begin, end})) return false;
      begin = end;
    }
    return parts.finish();
  }

  bool split_words(KnownPattern pattern, const Position& at) {
    for (size_t begin = 0; begin < at.piece.size();) {
      const size_t end = known_pattern_end(pattern, at.piece, begin);
      if (!descend(at, {begin, end})) return false;
      begin = end;
    }
    return true;
  }

  bool apply(const ByteLevelStep& step, Position at) {
    std::string prefixed;
    if (step.adds_prefix_space && !at.piece.starts_with(' ')) {
      prefixed.reserve(at.piece.size() + 1);
      prefixed += ' ';
      prefixed += at.piece;
      if (!take(prefixed)) return false;
      at.piece = prefixed;
    }
    if (!step.splits_words) return give_bytes(at, {0, at.piece.size()});
    for (size_t begin = 0; begin < at.piece.size();) {
      const size_t end = known_pattern_end(KnownPattern::kGpt2, at.piece, begin);
      if (!give_bytes(at, {begin, end})) return false;
      begin = end;
    }
    return true;
  }

  bool give_bytes(const Position& at, ByteRange part) {
    const bool is_last = at.index + 1 == pre_tokenizer_.steps_.size();
    if (is_last && pre_tokenizer_.gives_raw_bytes_) return descend(at, part);
    const std::string spelling =
        byte_level_spelling(at.piece.substr(part.begin, part.end - part.begin));
    if (!take(spelling)) return false;
    return run(at.index + 1, spelling, at.is_start && part.begin == 0);
  }

  bool apply(const DigitsStep& step, const Position& at) {
    const CharacterClasses& classes = CharacterClasses::instance();
    SplitAssembler parts = assembler(
        at, step.is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false);
    for (size_t offset = 0; offset < at.piece.size();) {
      const CodePoint c = utf8_decode(at.piece, offset);
      const size_t next = offset + c.size;
      const bool is_number = classes.of(c.value) == CharacterClass::kNumber;
      if (is_number && !parts.add_match({offset, next})) return false;
      offset = next;
    }
    return parts.finish();
  }

  bool apply(const MetaspaceStep& step, Position at) {
    std::string text;
    text.reserve(at.piece.size() + at.piece.size() / 4 + step.replacement.size());
    for (const char c : at.piece) {
      if (c == ' ') {
        text += step.replacement;
      } else {
        text += c;
      }
    }
    const bool prepends = step.prepend == MetaspaceStep::Prepend::kAlways ||
                          (step.prepend == MetaspaceStep::Prepend::kFirst && at.is_start);
    if (prepends && !text.starts_with(step.replacement)) text.insert(0, step.replacement);
    if (!take(text)) return false;
    at.piece = text;
    if (!step.splits_words) return descend(at, {0, text.size()});
    SplitAssembler parts = assembler(at, SplitBehavior::kMergedWithNext, false);
    return add_matches(step.replacement, text, parts) && parts.finish();
  }

  const PreTokenizer& pre_tokenizer_;
  RegexScratch& scratch_;
  PieceSink& sink_;
  std::optional<Error> error_;
};

bool PreTokenizer::ends_with_byte_level() const {
  return !steps_.empty() && std::holds_alternative<ByteLevelStep>(steps_.back());
}

Status PreTokenizer::split(std::string_view text, bool is_text_start, RegexScratch& scratch,
                           PieceSink& sink) const {
  CHECK(!gives_raw_bytes_ || ends_with_byte_level());
  PreTokenizerJob job(*this, scratch, sink);
  (void)job.run(0, text, is_text_start);
  return std::move(job).status();
}

}  // namespace cascade
