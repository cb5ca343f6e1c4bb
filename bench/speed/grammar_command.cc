// grammar: the time that it takes to hold an answer to a JSON schema.
#include <algorithm>
#include <memory>
#include <set>

#include "base/random.h"
#include "bench/speed/bench_setup.h"
#include "bench/speed/commands.h"
#include "model/grammar/compile.h"
#include "model/grammar/token_mask.h"
#include "model/model.h"

namespace cascade::speed {
namespace {

constexpr char kSchema[] = R"({"type": "object", "properties": {
    "name": {"type": "string"}, "short": {"type": "string", "maxLength": 200},
    "born": {"type": "string", "format": "date"}, "age": {"type": "integer", "minimum": 0},
    "share": {"type": "number"}, "kind": {"enum": ["friend", "foe", "unknown"]},
    "parents": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name", "short", "born", "age", "share", "kind"], "additionalProperties": false})";

struct Place {
  const char* name;
  const char* text;
};
constexpr Place kPlaces[] = {
    {"begin", ""},
    {"in a string", R"({"name": "Ann)"},
    {"in a string with a limit", R"({"name": "Ann", "short": "A p)"},
    {"in a date", R"({"name": "Ann", "short": "", "born": "19)"},
    {"in a number", R"({"name": "Ann", "short": "", "born": "1990-01-01", "age": 3)"},
    {"after a value", R"({"name": "Ann")"},
};

// A vocabulary of `count` tokens: every byte, and made-up words of one to four syllables, with and
// without a space before them. The words are about as long as those of real vocabularies.
std::vector<std::string> made_up(size_t count) {
  static const char* kSyllables[] = {
      "a",  "ber", "ci", "do",  "en",  "fu", "gal", "hi",       "ing",
      "jo", "ka",  "lo", "mer", "ni",  "or", "pre", "qu",       "re",
      "st", "ti",  "un", "ver", "wa",  "ex", "ly",  "zo",       "tion",
      "1",  "_",   ".",  "(",   "\":", ",",  "\n",  "\xC3\xA9", "\xE4\xB8\x80"};
  std::vector<std::string> tokens;
  std::set<std::string> known;
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(std::string(1, static_cast<char>(byte)));
  Random random(1);
  while (tokens.size() < count) {
    std::string token = random.below(2) == 0 ? " " : "";
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      token += kSyllables[random.below(std::size(kSyllables))];
    }
    if (known.insert(token).second) tokens.push_back(token);
  }
  return tokens;
}

Result<std::vector<std::string>> tokens_of(const GrammarBenchOptions& options) {
  if (options.model_dir.empty()) return made_up(static_cast<size_t>(options.tokens));
  ASSIGN_OR_RETURN(const ModelText text, load_model_text(options.model_dir));
  std::optional<TokenBytes> bytes = text.tokenizer.token_bytes();
  if (!bytes) return unsupported("--model", "this tokenizer is not supported");
  return std::move(bytes->bytes);
}

void add_row(Report& report, const std::string& what, const Samples& samples) {
  OrderedJson row = {{"what", what}};
  row["ms"] = samples.median() * 1e3;
  row["ms_min"] = samples.fastest() * 1e3;
  row["ms_max"] = samples.slowest() * 1e3;
  report.add(std::move(row));
}

}  // namespace

Status grammar(const GrammarBenchOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> tokens, tokens_of(options));
  const TokenTrie trie(tokens);
  Report report(
      {{"command", "grammar"}, {"tokens", tokens.size()}, {"nodes", trie.nodes().size()}});
  const auto run = [&](const std::string& what, const std::function<void()>& body) {
    add_row(report, what, measure(options.common.repeats, 0.05, body));
  };
  run("make the tree of tokens", [&] { (void)TokenTrie(tokens); });
  const auto compiled = [] {
    auto grammar = compile_grammar(GrammarKind::kJsonSchema, kSchema, "schema");
    CHECK(grammar.ok());
    return std::make_shared<const Grammar>(*std::move(grammar));
  };
  run("compile the schema", [&] { (void)compiled(); });
  const auto shared = compiled();
  const std::vector<int32_t> ends;
  for (const auto& [name, text] : kPlaces) {
    const auto at = [&beginning = text](GrammarAutomaton& automaton) {
      Matcher matcher(automaton);
      CHECK(matcher.accept(beginning));
      return matcher;
    };
    // "new": nothing is known. "warm": the states are known. "kept": the set of tokens is known.
    run(std::string("new, ") + name, [&] {
      GrammarAutomaton automaton(shared);
      (void)allowed_tokens(automaton, at(automaton).state().get(), trie, tokens.size());
    });
    GrammarAutomaton automaton(shared);
    const Matcher matcher = at(automaton);
    run(std::string("warm, ") + name,
        [&] { (void)allowed_tokens(automaton, matcher.state().get(), trie, tokens.size()); });
    TokenMasks masks(trie, ends, tokens.size());
    run(std::string("kept, ") + name, [&] { (void)masks.allowed(automaton, matcher.state()); });
  }
  return print(report, options.common);
}

}  // namespace cascade::speed
