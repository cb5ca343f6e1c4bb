// JSON schemas without what only people and models read.
#pragma once

#include "base/json.h"

namespace cascade::openai {

// `schema` without title, description, default, example(s), $comment, $schema, deprecated, readOnly
// and writeOnly, at every place where a schema stands: they say nothing of what is valid, and a
// grammar has a limit of bytes. Names in properties, $defs and the like, and values in enum and
// const, are left as they are; so is what is no schema, and what is in a keyword that is not known.
// Elements keep their places, so that references and JSON pointers name the same ones.
OrderedJson bare_schema(const OrderedJson& schema);

}  // namespace cascade::openai
