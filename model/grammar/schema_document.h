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

// A schema that holds. If its bit is set in `done`, that keyword (kReferences: allOf, $ref and not)
// was taken account of: what it demands is part of the conjunction.
struct SchemaPart {
  static constexpr uint32_t kAnyOf = 1, kOneOf = 2, kReferences = 4;
  const OrderedJson* schema = nullptr;
  uint32_t done = 0;
  auto operator<=>(const SchemaPart&) const = default;
};

// A schema that does not hold; with a keyword: that thing of what it demands is not so. `index` is
// that of the keyword's list, or of the members of its object.
struct Denial {
  const OrderedJson* schema = nullptr;
  std::string_view keyword = {};  // a literal
  uint32_t index = 0;
  auto operator<=>(const Denial&) const = default;
};

// What holds together, in the order in which it was met.
struct Conjunction {
  std::vector<SchemaPart> parts;
  std::vector<Denial> denials;
  auto operator<=>(const Conjunction&) const = default;
};

// The types (schema_keywords.h) of values for which it holds, as far as it speaks of them.
std::optional<uint32_t> types_of(const Conjunction& conjunction);

// Finds its way through the schemas of one document, checks each and knows where it stands. One
// thread; the document must outlive it.
class SchemaDocument {
 public:
  // More schemas than these hold together nowhere, and more are denied nowhere.
  static constexpr size_t kPartsMax = 64;

  // `work` as in add_schema().
  SchemaDocument(const OrderedJson& document, std::string_view field, size_t& work);

  const OrderedJson& root() const { return root_; }
  // A schema within `parent`, so that messages can name it.
  const OrderedJson* inner(const OrderedJson& parent, std::string step, const OrderedJson& schema);

  // `conjunction` with all that its schemas refer to and demand by allOf and not; nullopt if one of
  // them never holds. Of its denials each is one thing, or a schema that can be denied in more ways
  // than one. Errors: kInvalidArgument, as add_schema().
  Result<std::optional<Conjunction>> expand(const Conjunction& conjunction);

  // What of `schema` can be so that it does not hold: nothing if it always holds.
  // Errors: kInvalidArgument, as add_schema(), if nothing of it can be denied that we know of.
  Result<std::vector<Denial>> ways_to_deny(const OrderedJson& schema);

  // The schema of a property of `schema`; null if it names none.
  const OrderedJson* property(const OrderedJson& schema, const std::string& name);

  // What is looked at from now on: spend() names its place.
  void enter(const Conjunction& conjunction);
  const OrderedJson& entered() const { return *entered_; }
  // Takes from what may be done; an error if it is used up.
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
  // False if it never holds.
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
