// Turns tokenizer.ggml.* into the document that tokenizer.json would be, so that one place checks
// it.
#include "model/gguf/tokenizer.h"

#include <array>
#include <limits>

#include "base/utf8.h"
#include "model/gguf/pre_tokenizers.h"
#include "model/json_fields.h"
#include "model/tokenizer/bpe_vocabulary.h"

namespace cascade {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kScores = "tokenizer.ggml.scores";
constexpr std::string_view kMerges = "tokenizer.ggml.merges";
constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kPre = "tokenizer.ggml.pre";

// The longest tokens in use, runs of spaces, have some 400 bytes.
constexpr size_t kTokenBytesMax = 512;

// The numbers of tokenizer.ggml.token_type.
enum TokenKind : int32_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

std::string element_of(std::string_view key, size_t index) {
  return std::string(key) + "[" + std::to_string(index) + "]";
}

class TokenizerReader {
 public:
  explicit TokenizerReader(const GgufMetadata& metadata) : metadata_(metadata) {}

  Result<Tokenizer> run() {
    ASSIGN_OR_RETURN(const std::string model, metadata_.required_text(kModel));
    if (model != "gpt2" && model != "llama" && model != "gemma4") {
      return unsupported(std::string(kModel),
                         quote_text(model) + " is not supported (supported: gpt2, llama, gemma4)");
    }
    is_sentence_piece_ = model == "llama";
    RETURN_IF_ERROR(read_lists());
    RETURN_IF_ERROR(read_tokens());
    RETURN_IF_ERROR(is_sentence_piece_  ? read_sentence_piece()
                    : model == "gemma4" ? read_gemma4()
                                        : read_byte_level());
    RETURN_IF_ERROR(read_template());
    model_["vocab"] = std::move(vocab_);
    const Json document = {{"version", "1.0"},
                           {"added_tokens", std::move(added_)},
                           {"normalizer", std::move(normalizer_)},
                           {"pre_tokenizer", std::move(pre_tokenizer_)},
                           {"post_processor", std::move(template_)},
                           {"decoder", std::move(decoder_)},
                           {"model", std::move(model_)}};
    Result<Tokenizer> tokenizer = Tokenizer::load(document, Json(), scores_);
    if (!tokenizer.ok()) {
      Error error = std::move(tokenizer).error();
      // The field is a path in a document that nobody wrote, so the path moves to the message.
      error.message = error.field + " " + error.message;
      error.field = "tokenizer.ggml";
      return error;
    }
    return tokenizer;
  }

 private:
  Status read_lists() {
    ASSIGN_OR_RETURN(tokens_, metadata_.strings(kTokens));
    if (tokens_ == nullptr) return not_found(std::string(kTokens), "is missing");
    if (tokens_->size() > static_cast<size_t>(kTokenIdEnd)) {
      return invalid_argument(std::string(kTokens), "has " + std::to_string(tokens_->size()) +
                                                        " tokens, limit " +
                                                        std::to_string(kTokenIdEnd));
    }
    ASSIGN_OR_RETURN(types_, metadata_.wholes(kTypes));
    if (types_.empty()) types_.assign(tokens_->size(), kNormal);
    RETURN_IF_ERROR(check_length(kTypes, types_.size()));
    if (!is_sentence_piece_) return {};
    ASSIGN_OR_RETURN(scores_, metadata_.floats(kScores));
    if (!metadata_.contains(kScores)) return not_found(std::string(kScores), "is missing");
    return check_length(kScores, scores_.size());
  }

  Status check_length(std::string_view key, size_t length) const {
    if (length == tokens_->size()) return {};
    return invalid_argument(std::string(key), "has " + std::to_string(length) +
                                                  " elements, but there are " +
                                                  std::to_string(tokens_->size()) + " tokens");
  }

  Status read_tokens() {
    auto& vocab = vocab_.get_ref<Json::object_t&>();
    for (size_t id = 0; id < tokens_->size(); ++id) {
      const std::string_view text = (*tokens_)[id];
      const int32_t kind = types_[id];
      if (kind < kNormal || kind > kByte) {
        return invalid_argument(element_of(kTypes, id),
                                "must be from 1 to 6, got " + std::to_string(kind));
      }
      const bool is_result = kind == kNormal;
      if (!is_result && is_sentence_piece_) scores_[id] = std::numeric_limits<float>::quiet_NaN();
      if (kind == kUnused) continue;
      if (text.size() > kTokenBytesMax || !is_utf8(text)) {
        return invalid_argument(
            element_of(kTokens, id),
            "must be UTF-8 of at most " + std::to_string(kTokenBytesMax) + " bytes");
      }
      if (!vocab.emplace(std::string(text), id).second) {
        return invalid_argument(element_of(kTokens, id), quote_text(text) + " is given twice");
      }
      if (kind == kUnknown) model_["unk_token"] = std::string(text);
      if (kind == kUnknown || kind == kControl || kind == kUserDefined) {
        added_.push_back({{"id", id},
                          {"content", std::string(text)},
                          {"single_word", false},
                          {"lstrip", false},
                          {"rstrip", false},
                          {"normalized", false},
                          {"special", kind != kUserDefined}});
      }
    }
    return {};
  }

  Status read_byte_level() {
    ASSIGN_OR_RETURN(const auto pre, metadata_.text(kPre));
    if (!pre) {
      return not_found(std::string(kPre),
                       "is missing: the file is from before 2024 and does not say how text is "
                       "cut into words; convert the model again");
    }
    ASSIGN_OR_RETURN(GgufPreTokenizer found, gguf_pre_tokenizer(*pre));
    pre_tokenizer_ = std::move(found.pre_tokenizer);
    normalizer_ = std::move(found.normalizer);
    adds_begin_ = found.adds_begin_token;
    decoder_ = {{"type", "ByteLevel"}};
    model_["ignore_merges"] = found.ignores_merges;
    return read_merges();
  }

  Status read_merges() {
    ASSIGN_OR_RETURN(const auto* merges, metadata_.strings(kMerges));
    if (merges == nullptr) return not_found(std::string(kMerges), "is missing");
    Json rules = Json::array();
    rules.get_ref<Json::array_t&>().reserve(merges->size());
    for (size_t i = 0; i < merges->size(); ++i) {
      const std::string_view rule = (*merges)[i];
      // A rule is two tokens and the space between them.
      if (rule.size() > 2 * kTokenBytesMax + 1 || !is_utf8(rule)) {
        return invalid_argument(element_of(kMerges, i), "is not two tokens with one space between");
      }
      rules.emplace_back(std::string(rule));
    }
    model_["merges"] = std::move(rules);
    return {};
  }

  // Characters are merged by rank, as a byte-level tokenizer merges bytes. Spaces are marked, and
  // characters without a token become bytes, as in SentencePiece. Texts always begin with the begin
  // token, whatever the file says.
  Status read_gemma4() {
    adds_begin_ = true;
    always_begins_ = true;
    mark_spaces(/*has_prefix=*/false);
    return read_merges();
  }

  Status read_sentence_piece() {
    if (metadata_.contains("tokenizer.ggml.precompiled_charsmap")) {
      return unsupported("tokenizer.ggml.precompiled_charsmap", "is not supported");
    }
    ASSIGN_OR_RETURN(const bool has_prefix,
                     metadata_.flag_or("tokenizer.ggml.add_space_prefix", true));
    adds_begin_ = true;
    mark_spaces(has_prefix);
    model_["merges"] = Json::array();
    return {};
  }

  // Spaces become marks, with one before each text if `has_prefix`; characters that no token has
  // become bytes.
  void mark_spaces(bool has_prefix) {
    const std::string space = " ";
    const std::string mark = "\u2581";
    Json normalizers = Json::array();
    if (has_prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", mark}});
    normalizers.push_back(
        {{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", mark}});
    normalizer_ = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
    Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", mark}}}, {"content", space}},
                     {{"type", "ByteFallback"}},
                     {{"type", "Fuse"}}};
    if (has_prefix) {
      decoders.push_back({{"type", "Strip"}, {"content", space}, {"start", 1}, {"stop", 0}});
    }
    decoder_ = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
    model_["byte_fallback"] = true;
    model_["fuse_unk"] = true;
  }

  // Reads which tokens go before and after a text.
  Status read_template() {
    Json pieces = Json::array();
    Json specials = Json::object();
    const auto add = [&](const std::string& key, const std::string& id_key,
                         bool fallback) -> Status {
      ASSIGN_OR_RETURN(const bool is_wanted, metadata_.flag_or(key, fallback));
      const bool is_begin = id_key == "tokenizer.ggml.bos_token_id";
      if (!is_wanted && !(is_begin && always_begins_)) return {};
      const auto last = static_cast<int64_t>(tokens_->size()) - 1;
      ASSIGN_OR_RETURN(const int64_t id, metadata_.required_whole(id_key, 0, last));
      const std::string text((*tokens_)[static_cast<size_t>(id)]);
      pieces.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
      specials[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
      return {};
    };
    RETURN_IF_ERROR(
        add("tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", adds_begin_));
    pieces.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    RETURN_IF_ERROR(add("tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", false));
    template_ = {{"type", "TemplateProcessing"},
                 {"single", std::move(pieces)},
                 {"special_tokens", std::move(specials)}};
    return {};
  }

  const GgufMetadata& metadata_;
  bool is_sentence_piece_ = false;
  bool adds_begin_ = false;
  bool always_begins_ = false;
  const std::vector<std::string_view>* tokens_ = nullptr;
  std::vector<int32_t> types_;
  std::vector<float> scores_;  // by id; NaN for tokens that no merge gives; empty for byte-level
  Json vocab_ = Json::object();
  Json added_ = Json::array();
  Json model_ = {{"type", "BPE"}};
  Json normalizer_;
  Json pre_tokenizer_;
  Json decoder_;
  Json template_;
};

}  // namespace

Result<Tokenizer> gguf_tokenizer(const GgufMetadata& metadata) {
  return TokenizerReader(metadata).run();
}

Result<OrderedJson> gguf_template_tokens(const GgufMetadata& metadata) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kKeys = {{
      {"bos_token", "tokenizer.ggml.bos_token_id"},
      {"eos_token", "tokenizer.ggml.eos_token_id"},
      {"unk_token", "tokenizer.ggml.unknown_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"},
      {"sep_token", "tokenizer.ggml.seperator_token_id"},  // the format spells it this way
      {"cls_token", "tokenizer.ggml.cls_token_id"},
      {"mask_token", "tokenizer.ggml.mask_token_id"},
  }};
  OrderedJson found = OrderedJson::object();
  ASSIGN_OR_RETURN(const auto* tokens, metadata.strings(kTokens));
  if (tokens == nullptr) return found;
  for (const auto& [name, key] : kKeys) {
    ASSIGN_OR_RETURN(const auto id,
                     metadata.whole(key, 0, static_cast<int64_t>(tokens->size()) - 1));
    if (!id) continue;
    const std::string_view text = (*tokens)[static_cast<size_t>(*id)];
    found[name] = utf8_replace_malformed(text.substr(0, kTokenBytesMax));
  }
  return found;
}

}  // namespace cascade
