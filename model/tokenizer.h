// tokenizer.json of Hugging Face: byte-level BPE and SentencePiece-style BPE with byte fallback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/text_start.h"
#include "model/spanned_text.h"

namespace cascade {

// The ids of "<think>" and "</think>" (or the model's own spelling of them).
struct ThinkTokens {
  int32_t open = -1;
  int32_t close = -1;
  std::string_view header = {};  // what a block begins with (model/think_marks.h)
};

// The bytes of all tokens. A text is the bytes of its tokens one after another, without a space at
// its very beginning if `drops_first_space`.
struct TokenBytes {
  std::vector<std::string> bytes;  // by id; empty for special tokens and ids without a token
  bool drops_first_space = false;
};

// The bytes that one token adds to a text, or would add if it were shown.
struct TokenPiece {
  std::string bytes;        // a special token has its spelling; may be a part of a character
  bool is_special = false;  // adds nothing to the text that users see
};

// Immutable after load; any thread.
class Tokenizer {
 public:
  // `tokenizer` is tokenizer.json; `config` is tokenizer_config.json or null (for further added
  // tokens). Errors: kInvalidArgument (field = the JSON key) if malformed, an id is outside
  // [0, 2^21) or taken twice; kUnsupported for a model, normalizer, pre-tokenizer, post-processor
  // or decoder that we do not implement: never a silent default.
  static Result<Tokenizer> load(const Json& tokenizer, const Json& config);
  // The same for a SentencePiece model: merges follow from the tokens' scores, by id (NaN: no merge
  // gives this token), and "model.merges" is empty. Empty `scores` have no effect.
  static Result<Tokenizer> load(const Json& tokenizer, const Json& config,
                                std::span<const float> scores);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Token ids of the joined text. Added tokens are recognised in trusted spans only (except those
  // that are neither special nor look like markup). Normalisation, pre-tokenisation and merges run
  // over the joined text, so ids equal Hugging Face's on ordinary text.
  // An added token lies within one trusted span, but the white space that it takes may be in any
  // span. Untrusted text gives the id of such a token only where the model has nothing else for the
  // text: a single character, a byte token, or the unknown token. Merges that would give such a
  // token are left out.
  // `with_template` adds what the post-processor adds to a single sequence (BOS).
  // Malformed UTF-8 is replaced by U+FFFD. Takes O(n log n) time, and for a word of n bytes up to
  // some 24 n bytes of memory. Errors: kInvalidArgument if the text is over 64 MiB, or costs more
  // memory, or more time in regular expressions, than text_budget.h allows.
  Result<std::vector<int32_t>> encode(std::span<const TextSpan> text, bool with_template) const;
  // The same for text that is entirely trusted, or not at all.
  Result<std::vector<int32_t>> encode(std::string_view text, bool trusted,
                                      bool with_template) const;

  // The text of `ids` as Hugging Face's decode gives it (clean_up_tokenization_spaces off).
  // Unknown ids give nothing. `skip_special` leaves out special added tokens.
  std::string decode(std::span<const int32_t> ids, bool skip_special) const;
  // The same; nullopt if the text has more than `bytes_max` bytes. Decoding stops there, so that
  // many long tokens take no more time and memory. `goes_on`: the ids continue an earlier text.
  std::optional<std::string> decode(std::span<const int32_t> ids, bool skip_special,
                                    size_t bytes_max, bool goes_on = false) const;
  // What each of `ids` adds to a text; nullopt if that is more than `bytes_max` bytes. Joined, the
  // bytes of all tokens that are not special equal decode() with `skip_special`, except for
  // malformed UTF-8: with kFirst, decode() of a text of their own; with kNone, decode() of ids that
  // continue an earlier text. If the decoder does more than put tokens one after another, the
  // pieces are an approximation: see token_bytes().
  std::optional<std::vector<TokenPiece>> pieces(std::span<const int32_t> ids, TextStart start,
                                                size_t bytes_max) const;

  // The bytes that each token stands for by itself, by id; nullopt if the decoder does more than
  // put these bytes one after another. Takes some 20 ms for 150,000 tokens.
  std::optional<TokenBytes> token_bytes() const;
  // The id of an added token or vocabulary entry spelled exactly `token`.
  std::optional<int32_t> token_id(std::string_view token) const;
  // Whether the id is an added token marked special (never shown to users).
  bool is_special(int32_t id) const;
  // One past the largest id.
  int32_t id_count() const;
  // The added tokens of the first of kThinkMarks that the model has both of; nullopt if there is
  // none.
  std::optional<ThinkTokens> think_tokens() const;

  // Decodes a stream of ids into text, holding back bytes until they form whole code points, so
  // that the concatenation of all pieces equals decode() of all ids. A run of byte tokens
  // ("<0x0A>") is held until it ends, because one bad byte after it would change all of it. One
  // stream, one thread; must not outlive the tokenizer.
  class StreamDecoder {
   public:
    // `goes_on`: the ids continue an earlier text, so the stream keeps a first space, which
    // decoders of SentencePiece models leave out at the beginning of a text.
    StreamDecoder(const Tokenizer& tokenizer, bool skip_special, bool goes_on = false);
    ~StreamDecoder();
    StreamDecoder(StreamDecoder&&) noexcept;
    StreamDecoder& operator=(StreamDecoder&&) noexcept;
    // Takes the next id and returns the text that has become certain; may be empty.
    std::string push(int32_t id);
    // Returns the text that was held back, with malformed bytes replaced by U+FFFD. Ends the
    // stream.
    std::string finish();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cascade
