// The parts that a loaded tokenizer.json consists of.
#include "model/tokenizer/parts.h"

#include <utility>

#include "model/tokenizer/bpe_encoder.h"
#include "model/tokenizer/json.h"
#include "model/tokenizer/pre_tokenizer_classes.h"

namespace cascade {
namespace {

Status check_root(const JsonPart& root) {
  // Truncation and padding are a caller's choice for a batch; the reference lets each call make it.
  RETURN_IF_ERROR(root.only({"version", "truncation", "padding", "added_tokens", "normalizer",
                             "pre_tokenizer", "post_processor", "decoder", "model"}));
  ASSIGN_OR_RETURN(const std::string version, root.text_or("version", "1.0"));
  if (version != "1.0") return unsupported("version", quote_text(version) + " is not \"1.0\"");
  return {};
}

// The tokens that only trusted text may name, by id.
std::vector<bool> guarded_ids(const AddedTokens& added_tokens) {
  std::vector<bool> ids(static_cast<size_t>(added_tokens.id_end()));
  for (const AddedToken& token : added_tokens.tokens()) {
    if (!is_plain_token(token)) ids[static_cast<size_t>(token.id)] = true;
  }
  return ids;
}

// One call of encode(): divides the text at added tokens, and runs the text between them through
// the normalizer, the pre-tokenizer and the model.
class EncodeJob : public PieceSink {
 public:
  EncodeJob(const TokenizerParts& parts, const TrustedText& text, std::vector<int32_t>& out)
      : parts_(parts),
        text_(text),
        out_(out),
        encoder_(parts.model, text.text.size(), out),
        budget_(text.text.size()) {}

  Status run() {
    AddedTokensScan scan(parts_.added_tokens, parts_.added_tokens.raw_matcher(), text_.text,
                         text_.trusted);
    while (const auto part = scan.next()) {
      if (part->token != nullptr) {
        out_.push_back(part->token->id);
      } else {
        RETURN_IF_ERROR(encode_section(part->range));
      }
    }
    return {};
  }

  void piece(std::string_view piece) override { encoder_.encode(piece); }

 private:
  // Encodes text between tokens that are recognised before normalisation.
  Status encode_section(ByteRange range) {
    const std::string_view section =
        std::string_view(text_.text).substr(range.begin, range.end - range.begin);
    const bool is_start = range.begin == 0;
    const bool has_tokens = !parts_.added_tokens.normalized_matcher().is_empty();
    if (parts_.normalizer.is_identity() && !has_tokens) return split(section, is_start);
    std::vector<TextMark> marks;
    if (has_tokens) marks = marks_within(text_.trusted, range);
    std::string normalized(section);
    RETURN_IF_ERROR(parts_.normalizer.apply(normalized, marks, scratch_));
    if (!has_tokens) return split(normalized, is_start);
    const std::vector<ByteRange> trusted = ranges_of(marks);
    AddedTokensScan scan(parts_.added_tokens, parts_.added_tokens.normalized_matcher(), normalized,
                         trusted);
    while (const auto part = scan.next()) {
      if (part->token != nullptr) {
        out_.push_back(part->token->id);
        continue;
      }
      const auto [begin, end] = part->range;
      RETURN_IF_ERROR(
          split(std::string_view(normalized).substr(begin, end - begin), is_start && begin == 0));
    }
    return {};
  }

  Status split(std::string_view text, bool is_start) {
    return parts_.pre_tokenizer.split(text, is_start, scratch_, *this);
  }

  const TokenizerParts& parts_;
  const TrustedText& text_;
  std::vector<int32_t>& out_;
  BpeEncoder encoder_;
  TextBudget budget_;
  RegexScratch scratch_{budget_};
};

}  // namespace

Result<TokenizerParts> TokenizerParts::load(const Json& tokenizer, const Json& config,
                                            std::span<const float> scores) {
  ASSIGN_OR_RETURN(const JsonPart root, JsonPart::of(tokenizer, ""));
  RETURN_IF_ERROR(check_root(root));
  ASSIGN_OR_RETURN(const JsonPart model_part, root.child("model"));
  RETURN_IF_ERROR(check_bpe_supported(model_part));
  ASSIGN_OR_RETURN(BpeVocabulary entries, load_bpe_vocabulary(model_part));
  auto vocabulary = std::make_unique<const BpeVocabulary>(std::move(entries));
  ASSIGN_OR_RETURN(Normalizer normalizer, Normalizer::load(root.find("normalizer"), "normalizer"));
  ASSIGN_OR_RETURN(AddedTokens added_tokens,
                   AddedTokens::load(root, config, *vocabulary, normalizer));
  ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer,
                   PreTokenizer::load(root.find("pre_tokenizer"), "pre_tokenizer"));
  const bool is_byte_level =
      pre_tokenizer.ends_with_byte_level() && BpeModel::has_byte_alphabet(*vocabulary);
  if (is_byte_level) pre_tokenizer.give_raw_bytes();
  ASSIGN_OR_RETURN(
      BpeModel model,
      BpeModel::load(model_part, *vocabulary, {is_byte_level, guarded_ids(added_tokens), scores}));
  const auto is_known = [&](int32_t id) {
    return vocabulary->text(id) != nullptr || added_tokens.find(id) != nullptr;
  };
  ASSIGN_OR_RETURN(
      TokenizerTemplate sequence_template,
      TokenizerTemplate::load(root.find("post_processor"), "post_processor", is_known));
  ASSIGN_OR_RETURN(std::vector<DecodeStep> decode_steps,
                   load_decode_steps(root.find("decoder"), "decoder"));
  (void)CharacterClasses::instance();  // so that no call of encode() has to build it
  return TokenizerParts{std::move(vocabulary),   std::move(normalizer),
                        std::move(added_tokens), std::move(pre_tokenizer),
                        std::move(model),        std::move(sequence_template),
                        std::move(decode_steps)};
}

const std::string* TokenizerParts::token_text(int32_t id) const {
  const AddedToken* added = added_tokens.find(id);
  return added != nullptr ? &added->content : vocabulary->text(id);
}

Status TokenizerParts::encode(const TrustedText& text, std::vector<int32_t>& out) const {
  return EncodeJob(*this, text, out).run();
}

}  // namespace cascade
