// A SAX pass that finds repeated keys before the tree, which would lose them, is built.
#include "model/unique_json.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/json_fields.h"

namespace cascade {
namespace {

// Stops the parse at the first repeated key or superfluous value. Does not report text that is not
// JSON: the parse that follows does.
class UniqueKeys : public nlohmann::json_sax<Json> {
 public:
  explicit UniqueKeys(size_t values_max) : values_left_(values_max) {}

  bool null() override { return take_value(); }
  bool boolean(bool) override { return take_value(); }
  bool number_integer(number_integer_t) override { return take_value(); }
  bool number_unsigned(number_unsigned_t) override { return take_value(); }
  bool number_float(number_float_t, const string_t&) override { return take_value(); }
  bool string(string_t&) override { return take_value(); }
  bool binary(binary_t&) override { return take_value(); }
  bool start_array(size_t) override { return take_value(); }
  bool end_array() override { return true; }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return take_value();
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    problem_ = "has the key " + quote_text(name) + " twice";
    return false;
  }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

  // Empty if no problem was found.
  const std::string& problem() const { return problem_; }

 private:
  bool take_value() {
    if (values_left_ > 0) {
      --values_left_;
      return true;
    }
    problem_ = "has too many values";
    return false;
  }

  size_t values_left_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string problem_;
};

}  // namespace

Result<Json> parse_unique_json(std::string_view text, std::string_view what,
                               const JsonLimits& limits, size_t values_max) {
  if (text.size() <= limits.bytes_max) {
    UniqueKeys unique(values_max);
    Json::sax_parse(text.begin(), text.end(), &unique);
    if (!unique.problem().empty()) return data_corrupt(std::string(what), unique.problem());
  }
  Result<Json> parsed = parse_json(text, what, limits);
  if (parsed.ok()) return parsed;
  return data_corrupt(parsed.error().field, parsed.error().message);
}

}  // namespace cascade
