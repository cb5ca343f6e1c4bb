// Arguments as models write them without being strict about JSON: Python's literals, and Gemma's
// values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade {

// Reads a text from its beginning. Strings in quotes, "…" or '…', have the escapes of JSON and
// Python. Strings between two kMarkByte (model/mark_bytes.h) have none; elsewhere, that byte is
// left out. One text, one thread; must not outlive the text.
class RelaxedText {
 public:
  explicit RelaxedText(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end();  // whether nothing but blanks follows
  void skip(std::string_view characters);
  void skip_bytes(size_t bytes);
  // Takes `next`, perhaps after blanks. False if the text goes on in another way.
  bool take(char next);
  // Takes the text before the first of `ends`, without blanks at its ends.
  std::string take_until(std::string_view ends);

  // Gives the value of a text that is not quoted, by the name of the outermost member it is in.
  using Bare = std::function<OrderedJson(const std::string& member, const std::string& text)>;
  // Takes members, NAME=VALUE or NAME:VALUE with commas between, and the `closing` bracket, which
  // may be missing at the end of the text, or of a line, or of a list. Names may be quoted. nullopt
  // if this is not possible, or values are nested too deep; what was taken then is not defined.
  std::optional<OrderedJson> members(char closing, const Bare& bare);
  // Takes an object or a list, whose brackets may be missing at the end of the text. nullopt as
  // members().
  std::optional<OrderedJson> document(const Bare& bare);

 private:
  std::optional<OrderedJson> nested_members(char closing);
  std::optional<OrderedJson> elements(char closing);
  std::optional<OrderedJson> structure();
  bool ends_here(char closing);
  std::optional<OrderedJson> value(char closing);
  std::optional<std::string> quoted();
  std::string marked();
  std::string escaped(char quote);

  std::string_view rest_;
  const Bare* bare_ = nullptr;
  std::string member_;  // the outermost member that is being read
  int depth_ = 0;
};

}  // namespace cascade
