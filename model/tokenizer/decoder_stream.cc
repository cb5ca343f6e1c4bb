// Decodes tokens one after another, giving text as soon as it is certain.
#include "model/tokenizer/decoder_stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "model/tokenizer/bpe_byte_alphabet.h"

namespace cascade {
namespace {

// The last stage: joins all tokens.
class OutputStage : public DecodeStage {
 public:
  explicit OutputStage(std::string& out) : out_(out) {}
  void text(std::string_view part) override { out_ += part; }
  void end_token() override {}
  void finish() override {}

 private:
  std::string& out_;
};

// Holds back the end of a byte stream that may yet become a code point.
class ByteLevelStage : public DecodeStage {
 public:
  ByteLevelStage(const ByteLevelDecode&, DecodeStage& next) : next_(next) {}

  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    bytes_ += byte_level_bytes(token_).value_or(token_);
    token_.clear();
    give(bytes_.size() - utf8_incomplete_suffix(bytes_));
  }
  void finish() override {
    give(bytes_.size());
    next_.end_token();
    next_.finish();
  }

 private:
  void give(size_t count) {
    if (count == 0) return;
    next_.text(utf8_replace_malformed(std::string_view(bytes_).substr(0, count)));
    bytes_.erase(0, count);
  }

  DecodeStage& next_;
  std::string token_;
  std::string bytes_;
};

// Holds back a run of byte tokens: one bad byte at its end would change the result for the whole
// run.
class ByteFallbackStage : public DecodeStage {
 public:
  ByteFallbackStage(const ByteFallbackDecode&, DecodeStage& next) : next_(next) {}

  void text(std::string_view part) override {
    if (is_text_) {
      next_.text(part);
      return;
    }
    token_ += part;
    if (token_.size() > kByteTokenSize) begin_text();
  }
  void end_token() override {
    if (const auto byte = is_text_ ? std::nullopt : parse_byte(token_)) {
      bytes_.push_back(static_cast<char>(*byte));
      token_.clear();
      return;
    }
    if (!is_text_) begin_text();
    is_text_ = false;
    next_.end_token();
  }
  void finish() override {
    give_bytes();
    next_.finish();
  }

 private:
  static constexpr size_t kByteTokenSize = 6;  // "<0x0A>"

  static std::optional<uint8_t> parse_byte(std::string_view token) {
    if (token.size() != kByteTokenSize || !token.starts_with("<0x") || !token.ends_with('>')) {
      return std::nullopt;
    }
    unsigned value = 0;
    for (const char c : token.substr(3, 2)) {
      const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
      if (lower >= '0' && lower <= '9') {
        value = value * 16 + static_cast<unsigned>(lower - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value * 16 + static_cast<unsigned>(lower - 'a') + 10;
      } else {
        return std::nullopt;
      }
    }
    return static_cast<uint8_t>(value);
  }

  void begin_text() {
    give_bytes();
    if (!token_.empty()) next_.text(token_);
    token_.clear();
    is_text_ = true;
  }

  void give_bytes() {
    if (bytes_.empty()) return;
    if (is_utf8(bytes_)) {
      give_token(bytes_);
    } else {
      for (size_t i = 0; i < bytes_.size(); ++i) give_token("\uFFFD");
    }
    bytes_.clear();
  }
  void give_token(std::string_view text) {
    next_.text(text);
    next_.end_token();
  }

  DecodeStage& next_;
  std::string token_;     // the current token as long as it may name a byte
  bool is_text_ = false;  // the current token names no byte, and is passed on at once
  std::string bytes_;
};

class FuseStage : public DecodeStage {
 public:
  FuseStage(const FuseDecode&, DecodeStage& next) : next_(next) {}
  void text(std::string_view part) override { next_.text(part); }
  void end_token() override {}
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  DecodeStage& next_;
};

// Holds back the end of a token that may be the beginning of the pattern.
class ReplaceStage : public DecodeStage {
 public:
  ReplaceStage(const ReplaceDecode& step, DecodeStage& next) : step_(step), next_(next) {}

  void text(std::string_view part) override {
    held_ += part;
    size_t done = 0;
    for (size_t at = held_.find(step_.pattern); at != std::string::npos;
         at = held_.find(step_.pattern, done)) {
      give(done, at);
      if (!step_.content.empty()) next_.text(step_.content);
      done = at + step_.pattern.size();
    }
    const size_t certain = certain_end(done);
    give(done, certain);
    held_.erase(0, certain);
  }
  void end_token() override {
    give(0, held_.size());
    held_.clear();
    next_.end_token();
  }
  void finish() override { next_.finish(); }

 private:
  void give(size_t begin, size_t end) {
    if (begin < end) next_.text(std::string_view(held_).substr(begin, end - begin));
  }
  // The first offset at or after `begin` from which the held text is a beginning of the pattern.
  size_t certain_end(size_t begin) const {
    const std::string_view held = held_;
    size_t at = held.size() - std::min(held.size() - begin, step_.pattern.size() - 1);
    while (!std::string_view(step_.pattern).starts_with(held.substr(at))) ++at;
    return at;
  }

  const ReplaceDecode& step_;
  DecodeStage& next_;
  std::string held_;
};

// Drops characters at the beginning of a token, and holds back those that may be at its end.
class StripStage : public DecodeStage {
 public:
  StripStage(const StripDecode& step, DecodeStage& next) : step_(step), next_(next) {}

  void text(std::string_view part) override {
    while (is_start_ && dropped_ < step_.start && part.starts_with(step_.content)) {
      part.remove_prefix(step_.content.size());
      ++dropped_;
    }
    if (part.empty()) return;
    is_start_ = false;
    size_t trailing = 0;
    std::string_view rest = part;
    while (rest.ends_with(step_.content)) {
      rest.remove_suffix(step_.content.size());
      ++trailing;
    }
    if (!rest.empty()) {
      give_held(0);
      next_.text(rest);
    }
    held_ += trailing;
    give_held(step_.stop);
  }
  void end_token() override {
    held_ = 0;
    dropped_ = 0;
    is_start_ = true;
    next_.end_token();
  }
  void finish() override { next_.finish(); }

 private:
  // Passes on the held characters, except `keep` of them.
  void give_held(size_t keep) {
    for (; held_ > keep; --held_) next_.text(step_.content);
  }

  const StripDecode& step_;
  DecodeStage& next_;
  bool is_start_ = true;
  size_t dropped_ = 0;
  size_t held_ = 0;
};

class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(const MetaspaceDecode& step, DecodeStage& next) : step_(step), next_(next) {}

  void text(std::string_view part) override {
    for (size_t at = part.find(step_.replacement); at != std::string_view::npos;
         at = part.find(step_.replacement)) {
      if (at > 0) next_.text(part.substr(0, at));
      if (!is_first_ || !step_.drops_first) next_.text(" ");
      part.remove_prefix(at + step_.replacement.size());
    }
    if (!part.empty()) next_.text(part);
  }
  void end_token() override {
    is_first_ = false;
    next_.end_token();
  }
  void finish() override { next_.finish(); }

 private:
  const MetaspaceDecode& step_;
  DecodeStage& next_;
  bool is_first_ = true;
};

class SpaceStage : public DecodeStage {
 public:
  SpaceStage(const SpaceDecode&, DecodeStage& next) : next_(next) {}

  void text(std::string_view part) override {
    begin();
    next_.text(part);
  }
  void end_token() override {
    begin();
    has_begun_ = false;
    is_first_ = false;
    next_.end_token();
  }
  void finish() override { next_.finish(); }

 private:
  void begin() {
    if (!std::exchange(has_begun_, true) && !is_first_) next_.text(" ");
  }

  DecodeStage& next_;
  bool is_first_ = true;
  bool has_begun_ = false;
};

// Stands for the earlier text that the tokens continue. It is a control character, which no step
// changes.
constexpr std::string_view kTextBefore = "\x01";

struct MakeStage {
  DecodeStage& next;
  std::unique_ptr<DecodeStage> operator()(const ByteLevelDecode& step) const {
    return std::make_unique<ByteLevelStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const ByteFallbackDecode& step) const {
    return std::make_unique<ByteFallbackStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const FuseDecode& step) const {
    return std::make_unique<FuseStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const ReplaceDecode& step) const {
    return std::make_unique<ReplaceStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const StripDecode& step) const {
    return std::make_unique<StripStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const MetaspaceDecode& step) const {
    return std::make_unique<MetaspaceStage>(step, next);
  }
  std::unique_ptr<DecodeStage> operator()(const SpaceDecode& step) const {
    return std::make_unique<SpaceStage>(step, next);
  }
};

}  // namespace

TokenDecoderStream::TokenDecoderStream(const std::vector<DecodeStep>& steps, bool goes_on)
    : out_(std::make_unique<std::string>()) {
  stages_.push_back(std::make_unique<OutputStage>(*out_));
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    stages_.push_back(std::visit(MakeStage{*stages_.back()}, *step));
  }
  if (!goes_on) return;
  push(kTextBefore);
  take();
}

void TokenDecoderStream::push(std::string_view token) {
  stages_.back()->text(token);
  stages_.back()->end_token();
}

void TokenDecoderStream::finish() {
  stages_.back()->finish();
}

std::string TokenDecoderStream::take() {
  return std::exchange(*out_, {});
}

}  // namespace cascade
