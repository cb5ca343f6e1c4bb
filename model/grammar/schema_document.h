// A schema with what it refers to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

// A schema that holds. The bits in `done` name the keywords (kReferences: allOf, $ref and not)
// whose demands are already part of the conjunction.
struct SchemaPart {
  static constexpr uint32_t kAnyOf = 1, kOneOf = 2, kReferences = 4;
  const OrderedJson* schema = nullptr;
  uint32_t done = 0;
  auto operator<=>(const SchemaPart&) const = default;
};

// A schema that does not hold. If `keyword` is set, one certain demand of that keyword does not
// hold; `index` is the place of the demand in the keyword's list, or among the members of its
// object.
struct Denial {
  const OrderedJson* schema = nullptr;
  std::string_view keyword = {};  // a literal
  uint32_t index = 0;
  auto operator<=>(const Denial&) const = default;
};

// The schemas that hold together, and those that are denied, in the order in which they were met.
struct Conjunction {
  std::vector<SchemaPart> parts;
  std::vector<Denial> denials;
  auto operator<=>(const Conjunction&) const = default;
};

// The types (schema_keywords.h) of the values for which `conjunction` holds, as far as its parts
// and denials are about types.
std::optional<uint32_t> types_of(const Conjunction& conjunction);

// Finds the schemas of one document, checks each, and knows the place of each. One thread; the
// document must outlive it.
class SchemaDocument {
 public:
  // The largest number of schemas that hold together, and also of schemas that are denied together.
  static constexpr size_t kPartsMax = 64;

  // `work` as in add_schema().
  SchemaDocument(const OrderedJson& document, std::string_view field, size_t& work);

  const OrderedJson& root() const { return root_; }
  // Returns `schema`, and notes its place for messages: `step` within `parent`.
  const OrderedJson* inner(const OrderedJson& parent, std::string step, const OrderedJson& schema);

  // `conjunction` with all that its schemas refer to and demand by allOf and not; nullopt if one of
  // them never holds. Each of its denials is one demand, or a schema that can be denied in more
  // than one way. Errors: kInvalidArgument, as add_schema().
  Result<std::optional<Conjunction>> expand(const Conjunction& conjunction);

  // The ways in which `schema` can fail to hold; none if it always holds. Errors: kInvalidArgument,
  // as add_schema(), if we do not know how to deny any of its demands.
  Result<std::vector<Denial>> ways_to_deny(const OrderedJson& schema);

  // The schema that `schema` has for a property; null if it has none.
  const OrderedJson* property(const OrderedJson& schema, const std::string& name);

  // Tells which schemas are looked at from now on: errors of spend() name their place.
  void enter(const Conjunction& conjunction);
  const OrderedJson& entered() const { return *entered_; }
  // Subtracts from the work that is left; an error if it is used up.
  Status spend(size_t work);
  Error error(const OrderedJson& schema, std::string_view keyword, const std::string& what) const;

 private:
  using Names = std::unordered_map<std::string, const OrderedJson*>;
  struct Place {
    const OrderedJson* parent;
    std::string step;
  };
  // What expand() has found and has yet to look at.
  struct Expansion {
    Conjunction all;
    std::vector<SchemaPart> parts;
    std::vector<Denial> denials;
  };

  Result<const OrderedJson*> resolve(const OrderedJson& schema);
  std::string pointer(const OrderedJson& schema) const;
  Status check(const OrderedJson& schema);
  Status check_with_references(const OrderedJson& schema);
  Result<std::vector<const OrderedJson*>> in_place(const OrderedJson& schema);
  // False if the schema, or the denial, never holds.
  Result<bool> expand_part(const SchemaPart& part, Expansion& expansion);
  Result<bool> expand_denial(const Denial& denial, Expansion& expansion);
  Status deny(const Denial& way, Expansion& expansion);

  const OrderedJson& root_;
  const std::string field_;
  size_t& work_;
  const OrderedJson* entered_;
  std::unordered_map<const OrderedJson*, Place> places_;
  enum class Progress { kBegun, kDone };
  std::unordered_map<const OrderedJson*, Progress> checked_;
  std::unordered_map<const OrderedJson*, Names> properties_;
};

}  // namespace cascade
