// The shape of the objects for which a set of schemas holds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/grammar/schema_document.h"
#include "model/grammar/schema_texts.h"
#include "model/grammar/schema_values.h"

namespace cascade {

struct ObjectShape {
  struct Property {
    std::string name;
    Conjunction value;
    bool required = false;
    bool possible = true;  // false: an object may not have the property
  };
  // Properties that are not in `properties` and whose names `names` accepts (nullopt: any name).
  struct Others {
    std::optional<CodePointDfa> names;
    Conjunction value;
  };
  std::vector<Property> properties;  // in the order of the schemas
  std::vector<Others> others;        // no two have names in common
  uint32_t min = 0;                  // the smallest number of properties in all
  uint32_t max = UINT32_MAX;
};

// Errors: as add_schema().
Result<ObjectShape> shape_of_object(SchemaDocument& document, SchemaTexts& texts,
                                    SchemaValues& values, const Conjunction& conjunction);

}  // namespace cascade
