// The public face of the tokenizer.
#include "model/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "model/think_marks.h"
#include "model/tokenizer/decoder_stream.h"
#include "model/tokenizer/parts.h"
#include "model/tokenizer/text.h"
#include "model/tokenizer/token_bytes.h"

namespace cascade {

struct Tokenizer::Impl {
  TokenizerParts parts;
};

struct Tokenizer::StreamDecoder::State {
  const TokenizerParts& parts;
  bool skip_special;
  TokenDecoderStream stream;
  bool is_finished = false;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::load(const Json& tokenizer, const Json& config) {
  return load(tokenizer, config, {});
}

Result<Tokenizer> Tokenizer::load(const Json& tokenizer, const Json& config,
                                  std::span<const float> scores) {
  ASSIGN_OR_RETURN(TokenizerParts parts, TokenizerParts::load(tokenizer, config, scores));
  return Tokenizer(std::make_unique<Impl>(Impl{std::move(parts)}));
}

namespace {

Result<std::vector<int32_t>> encode_spans(const TokenizerParts& parts,
                                          std::span<const SpanView> spans, bool with_template) {
  ASSIGN_OR_RETURN(const TrustedText text, join_spans(spans));
  std::vector<int32_t> ids;
  const TokenizerTemplate& around = parts.sequence_template;
  if (with_template) ids = around.before;
  RETURN_IF_ERROR(parts.encode(text, ids));
  if (with_template) ids.insert(ids.end(), around.after.begin(), around.after.end());
  return ids;
}

}  // namespace

Result<std::vector<int32_t>> Tokenizer::encode(std::span<const TextSpan> text,
                                               bool with_template) const {
  std::vector<SpanView> spans;
  spans.reserve(text.size());
  for (const TextSpan& span : text) spans.push_back({span.text, span.trusted});
  return encode_spans(impl_->parts, spans, with_template);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool trusted,
                                               bool with_template) const {
  const SpanView span{text, trusted};
  return encode_spans(impl_->parts, {&span, 1}, with_template);
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  return *decode(ids, skip_special, SIZE_MAX);
}

std::optional<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special,
                                             size_t bytes_max, bool goes_on) const {
  StreamDecoder decoder(*this, skip_special, goes_on);
  std::string text;
  for (const int32_t id : ids) {
    text += decoder.push(id);
    if (text.size() > bytes_max) return std::nullopt;
  }
  text += decoder.finish();
  if (text.size() > bytes_max) return std::nullopt;
  return text;
}

std::optional<std::vector<TokenPiece>> Tokenizer::pieces(std::span<const int32_t> ids,
                                                         TextStart start, size_t bytes_max) const {
  return token_pieces(impl_->parts, ids, start, bytes_max);
}

std::optional<TokenBytes> Tokenizer::token_bytes() const {
  return cascade::token_bytes(impl_->parts);
}

std::optional<int32_t> Tokenizer::token_id(std::string_view token) const {
  const AddedToken* added = impl_->parts.added_tokens.find(token);
  return added != nullptr ? added->id : impl_->parts.vocabulary->find(token);
}

bool Tokenizer::is_special(int32_t id) const {
  return impl_->parts.added_tokens.is_special(id);
}

int32_t Tokenizer::id_count() const {
  return std::max(impl_->parts.vocabulary->id_end(), impl_->parts.added_tokens.id_end());
}

std::optional<ThinkTokens> Tokenizer::think_tokens() const {
  for (const ThinkMarks& marks : kThinkMarks) {
    const AddedToken* open = impl_->parts.added_tokens.find(marks.open);
    const AddedToken* close = impl_->parts.added_tokens.find(marks.close);
    if (open != nullptr && close != nullptr) return ThinkTokens{open->id, close->id, marks.header};
  }
  return std::nullopt;
}

Tokenizer::StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special, bool goes_on)
    : state_(std::make_unique<State>(
          State{tokenizer.impl_->parts, skip_special,
                TokenDecoderStream(tokenizer.impl_->parts.decode_steps, goes_on)})) {}
Tokenizer::StreamDecoder::~StreamDecoder() = default;
Tokenizer::StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
Tokenizer::StreamDecoder& Tokenizer::StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string Tokenizer::StreamDecoder::push(int32_t id) {
  const std::string* text = state_->parts.token_text(id);
  const bool is_skipped = state_->skip_special && state_->parts.added_tokens.is_special(id);
  if (text == nullptr || is_skipped || state_->is_finished) return {};
  state_->stream.push(*text);
  return state_->stream.take();
}

std::string Tokenizer::StreamDecoder::finish() {
  if (std::exchange(state_->is_finished, true)) return {};
  state_->stream.finish();
  return state_->stream.take();
}

}  // namespace cascade
