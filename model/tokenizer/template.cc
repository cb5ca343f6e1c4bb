// The post-processor of tokenizer.json.
#include "model/tokenizer/template.h"

#include <optional>
#include <utility>

#include "model/tokenizer/bpe_vocabulary.h"
#include "model/tokenizer/json.h"

namespace cascade {
namespace {

constexpr size_t kTokensMax = 64;       // real templates have one or two
constexpr int kTemplateNestingMax = 8;  // of Sequence in Sequence; real files have 1

class Loader {
 public:
  explicit Loader(const std::function<bool(int32_t)>& is_known) : is_known_(is_known) {}

  Status load(const JsonPart& part, int nesting) {
    ASSIGN_OR_RETURN(const std::string type, part.text("type"));
    if (nesting > kTemplateNestingMax) {
      return invalid_argument(part.path(),
                              "has more than " + std::to_string(kTemplateNestingMax) + " levels");
    }
    if (type == "ByteLevel") {
      return part.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    }
    if (type == "TemplateProcessing") return load_template(part);
    if (type != "Sequence") {
      return unsupported(part.path_of("type"), quote_text(type) + " is not implemented");
    }
    RETURN_IF_ERROR(part.only({"type", "processors"}));
    ASSIGN_OR_RETURN(const Json* members, part.array("processors"));
    for (size_t i = 0; i < members->size(); ++i) {
      ASSIGN_OR_RETURN(const JsonPart member,
                       JsonPart::of((*members)[i], json_path(part.path_of("processors"), i)));
      RETURN_IF_ERROR(load(member, nesting + 1));
    }
    return {};
  }

  TokenizerTemplate result() && { return std::move(result_); }

 private:
  // A later template goes around an earlier one.
  Status load_template(const JsonPart& part) {
    RETURN_IF_ERROR(part.only({"type", "single", "pair", "special_tokens"}));
    ASSIGN_OR_RETURN(const Json* pieces, part.array("single"));
    std::vector<int32_t> before;
    std::vector<int32_t> after;
    bool has_sequence = false;
    for (size_t i = 0; i < pieces->size(); ++i) {
      const std::string path = json_path(part.path_of("single"), i);
      ASSIGN_OR_RETURN(const JsonPart piece, JsonPart::of((*pieces)[i], path));
      RETURN_IF_ERROR(piece.only({"Sequence", "SpecialToken"}));
      if (piece.find("Sequence") != nullptr) {
        RETURN_IF_ERROR(check_sequence(piece, has_sequence));
        has_sequence = true;
      } else {
        RETURN_IF_ERROR(add_special(piece, part, has_sequence ? after : before));
      }
    }
    if (!has_sequence) return unsupported(part.path_of("single"), "leaves out the text itself");
    result_.before.insert(result_.before.begin(), before.begin(), before.end());
    result_.after.insert(result_.after.end(), after.begin(), after.end());
    if (result_.before.size() + result_.after.size() > kTokensMax) {
      return invalid_argument(part.path_of("single"),
                              "adds more than " + std::to_string(kTokensMax) + " tokens");
    }
    return {};
  }

  static Status check_sequence(const JsonPart& piece, bool has_sequence) {
    ASSIGN_OR_RETURN(const JsonPart sequence, piece.child("Sequence"));
    RETURN_IF_ERROR(sequence.only({"id", "type_id"}));
    ASSIGN_OR_RETURN(const std::string id, sequence.text("id"));
    if (id != "A") return unsupported(sequence.path_of("id"), "must be \"A\"");
    if (has_sequence) return unsupported(sequence.path(), "repeats the text");
    return {};
  }

  Status add_special(const JsonPart& piece, const JsonPart& part, std::vector<int32_t>& out) {
    ASSIGN_OR_RETURN(const JsonPart special, piece.child("SpecialToken"));
    RETURN_IF_ERROR(special.only({"id", "type_id"}));
    ASSIGN_OR_RETURN(const std::string name, special.text("id"));
    ASSIGN_OR_RETURN(const JsonPart all, part.child("special_tokens"));
    ASSIGN_OR_RETURN(const JsonPart entry, all.child(name));
    RETURN_IF_ERROR(entry.only({"id", "ids", "tokens"}));
    ASSIGN_OR_RETURN(const Json* ids, entry.array("ids"));
    if (ids->size() > kTokensMax) {
      return invalid_argument(entry.path_of("ids"),
                              "has more than " + std::to_string(kTokensMax) + " ids");
    }
    for (const Json& number : *ids) {
      const std::optional<int32_t> id = token_id_from(number);
      if (!id || !is_known_(*id)) {
        return invalid_argument(entry.path_of("ids"), "has an id that no token has");
      }
      out.push_back(*id);
    }
    return {};
  }

  const std::function<bool(int32_t)>& is_known_;
  TokenizerTemplate result_;
};

}  // namespace

Result<TokenizerTemplate> TokenizerTemplate::load(const Json* json, const std::string& path,
                                                  const std::function<bool(int32_t)>& is_known) {
  Loader loader(is_known);
  if (json != nullptr) {
    ASSIGN_OR_RETURN(const JsonPart part, JsonPart::of(*json, path));
    RETURN_IF_ERROR(loader.load(part, 0));
  }
  return std::move(loader).result();
}

}  // namespace cascade
