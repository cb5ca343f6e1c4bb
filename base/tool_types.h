// The types of tools' arguments, for calls whose values are written without quotes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace cascade {

// What the text of an argument is read as.
enum class ArgumentText {
  kString,        // the text itself
  kStringOrNull,  // null if it spells null, else the text itself
  kJson,          // the JSON that it spells
  kEither,        // the JSON that it spells, or else the text itself
};

// The tools of a request. Immutable except for add(); any thread after that.
class ToolTypes {
 public:
  ToolTypes() = default;
  // `tools`: the JSON text of an array in OpenAI's form. What is malformed is left out.
  explicit ToolTypes(std::string_view tools) { add(tools); }
  // Adds more tools, or replaces those of the same name.
  void add(std::string_view tools);

  bool has(std::string_view function) const;
  // The value of an argument that was written as `text`. If its schema allows nothing but a string,
  // it is the text (or null, for "null" where that is allowed). Otherwise it is the JSON value that
  // the text spells, also in Python's spelling of true, false and null, or else the text.
  OrderedJson value(std::string_view function, std::string_view argument,
                    std::string_view text) const;
  // How value() reads this argument. kJson: there is no JSON that it would read as something else.
  ArgumentText reads_as(std::string_view function, std::string_view argument) const;

 private:
  using Types = std::set<std::string, std::less<>>;
  Types types_of(std::string_view function, std::string_view argument) const;

  std::map<std::string, OrderedJson, std::less<>> parameters_;  // by function
};

}  // namespace cascade
