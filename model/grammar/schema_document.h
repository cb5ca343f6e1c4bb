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

// Schemas that hold together, in the order in which they were met. Of a schema whose bit is set in
// `done`, that keyword (kReferences: allOf and $ref) was taken account of: what it demands is among
// them.
struct SchemaPart {
  static constexpr uint32_t kAnyOf = 1, kOneOf = 2, kReferences = 4;
  const OrderedJson* schema = nullptr;
  uint32_t done = 0;
  auto operator<=>(const SchemaPart&) const = default;
};
using Conjunction = std::vector<SchemaPart>;

// Finds its way through the schemas of one document, checks each and knows where it stands. One
// thread; the document must outlive it.
class SchemaDocument {
 public:
  // More schemas than these hold together nowhere.
  static constexpr size_t kPartsMax = 64;

  // `work` as in add_schema().
  SchemaDocument(const OrderedJson& document, std::string_view field, size_t& work);

  const OrderedJson& root() const { return root_; }
  // A schema within `parent`, so that messages can name it.
  const OrderedJson* inner(const OrderedJson& parent, std::string step, const OrderedJson& schema);

  // `conjunction` with all that its schemas refer to and demand by allOf; nullopt if one of them is
  // `false`. Errors: kInvalidArgument, as add_schema().
  Result<std::optional<Conjunction>> expand(const Conjunction& conjunction);

  // The schema of a property of `schema`; null if it names none.
  const OrderedJson* property(const OrderedJson& schema, const std::string& name);

  // Takes from what may be done; an error if it is used up.
  Status spend(size_t work);
  Error error(const OrderedJson& schema, std::string_view keyword, const std::string& what) const;

 private:
  using Names = std::unordered_map<std::string, const OrderedJson*>;
  struct Place {
    const OrderedJson* parent;
    std::string step;
  };

  Result<const OrderedJson*> resolve(const OrderedJson& schema);
  std::string pointer(const OrderedJson& schema) const;
  Status check(const OrderedJson& schema);
  Status check_with_references(const OrderedJson& schema);
  Result<std::vector<const OrderedJson*>> in_place(const OrderedJson& schema);

  const OrderedJson& root_;
  const std::string field_;
  size_t& work_;
  std::unordered_map<const OrderedJson*, Place> places_;
  enum class Progress { kBegun, kDone };
  std::unordered_map<const OrderedJson*, Progress> checked_;
  std::unordered_map<const OrderedJson*, Names> properties_;
};

}  // namespace cascade
