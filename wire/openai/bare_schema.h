// JSON schemas without the parts that only people and models read.
#pragma once

#include "base/json.h"

namespace cascade::openai {

// Returns `schema` without title, description, default, example(s), $comment, $schema, deprecated,
// readOnly and writeOnly, in every place that holds a schema: these do not change what is valid,
// and a grammar has a limit of bytes. Names in properties, $defs and the like, and values in enum
// and const, stay as they are; so does everything that is not a schema or is in an unknown keyword.
// Elements keep their places, so that references and JSON pointers still name the same elements.
OrderedJson bare_schema(const OrderedJson& schema);

}  // namespace cascade::openai
