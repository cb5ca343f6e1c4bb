// Variables: one Scope per loop pass, macro call or block that has its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "model/jinja/value.h"

namespace cascade::jinja {

// Variables, by the number that the parser gave to their name. `parent` is the scope around this
// one in the source. A macro keeps the scope in which it was defined.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}

  // The innermost variable of this name, or nullptr.
  const Value* find(int symbol) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
      const auto found = scope->variables.find(symbol);
      if (found != scope->variables.end()) return &found->second;
    }
    return nullptr;
  }

  void set(int symbol, Value value) { variables.insert_or_assign(symbol, std::move(value)); }

  std::shared_ptr<Scope> parent;
  const int depth = parent == nullptr ? 0 : parent->depth + 1;  // scopes around it
  std::map<int, Value, std::less<>, PaidAllocator<std::pair<const int, Value>>> variables;
};

}  // namespace cascade::jinja
