// The limits that several schemas, all of which must hold, set to numbers and to listed values.
#pragma once

#include <optional>
#include <vector>

#include "model/grammar/numbers.h"
#include "model/grammar/schema_document.h"
#include "model/grammar/schema_texts.h"

namespace cascade {

class SchemaValues {
 public:
  // How many numbers may be denied. Each takes another number out of the range and so splits it.
  static constexpr size_t kDeniedNumbersMax = 64;
  // The largest number of values that few_values() lists. Beyond that, it lists none.
  static constexpr size_t kFewValuesMax = 256;

  SchemaValues(SchemaDocument& document, SchemaTexts& texts) : document_(document), texts_(texts) {}

  // The numbers for which `conjunction` holds, in pieces. Errors: as add_schema().
  Result<std::vector<NumberRange>> numbers(const Conjunction& conjunction);

  // The values of enum or const for which the rest of `conjunction` holds too; nullopt if nothing
  // is listed. Errors: as add_schema().
  Result<std::optional<std::vector<OrderedJson>>> listed(const Conjunction& conjunction);

  // All values for which `conjunction` holds, each once. `conjunction` need not be expanded.
  // nullopt if there are more than kFewValuesMax, or if they are neither listed nor booleans, null
  // or integers within limits. Errors: as add_schema().
  Result<std::optional<std::vector<OrderedJson>>> few_values(const Conjunction& conjunction);

  // The values among true, false and null that are of `types` and not denied.
  std::vector<OrderedJson> constants(const Conjunction& conjunction, uint32_t types) const;

 private:
  Result<std::optional<NumberStep>> step(const Conjunction& conjunction);
  Error step_error(const OrderedJson& schema) const;
  Status check_digits(const NumberRange& range) const;
  Result<bool> holds(const OrderedJson& value, const OrderedJson& schema);
  Result<bool> denies(const OrderedJson& value, const Denial& denial);
  Result<std::optional<std::vector<OrderedJson>>> few_plain(const Conjunction& conjunction);

  SchemaDocument& document_;
  SchemaTexts& texts_;
};

}  // namespace cascade
