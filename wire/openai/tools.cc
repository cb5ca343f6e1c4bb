// Tools of types that cannot be called are left out.
#include "wire/openai/tools.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

constexpr size_t kToolsMax = 1024;
// The longest type or name of a tool to show: real ones have up to 64 bytes.
constexpr size_t kShownBytesMax = 100;
// How long the header gets: clients and proxies accept some KiB for all headers together.
constexpr size_t kHeaderBytesMax = 1000;

// What a reply says about a tool that was left out.
OrderedJson ignored_tool(const OrderedJson& given) {
  const auto shown = [](const std::string& text) {
    return utf8_replace_malformed(std::string_view(text).substr(0, kShownBytesMax));
  };
  OrderedJson ignored;
  const std::string type = Fields(given).text("type").value_or("");
  ignored["type"] = shown(type);
  // The name is beside the type or, in chat completions, in the member whose key is the type.
  const OrderedJson* inner = Fields(given).object(type);
  auto name = Fields(given).text("name");
  if (!name && inner != nullptr) name = Fields(*inner).text("name");
  if (name) ignored["name"] = shown(*name);
  return ignored;
}

// The tool in chat completions' form, whatever the API; null if it is of a type that cannot be
// called.
OrderedJson tool_of(Fields& fields, const OrderedJson& given, size_t index, bool flat) {
  Fields tool(given, fields.path("tools") + "[" + std::to_string(index) + "].");
  if (!given.is_object()) tool.fail("", "must be an object");
  const std::string type = tool.text("type").value_or("");
  if (type.empty()) tool.fail("type", "is missing");
  if (type != "function" && tool.ok()) return nullptr;
  const OrderedJson* function = flat ? &given : tool.object("function");
  if (function == nullptr) tool.fail("function", "is missing");
  OrderedJson result;
  if (tool.ok()) {
    Fields inner(*function, tool.path(flat ? "" : "function."));
    const auto name = inner.text("name");
    if (!name || name->empty()) inner.fail("name", "is missing");
    inner.object("parameters");
    tool.fail(inner.status());
    result["type"] = "function";
    OrderedJson& copy = result["function"] = *function;
    if (flat) copy.erase("type");
    copy.erase("strict");
    copy.erase("cache_control");
  }
  fields.fail(tool.status());
  return result;
}

// The types of the tools that were left out.
std::string ignored_types(const ToolUse& use) {
  std::string types;
  for (const OrderedJson& tool : use.ignored) {
    const std::string type = tool.value("type", "");
    if (types.find(type) == types.npos) types += (types.empty() ? "" : ", ") + type;
  }
  return types;
}

// The error for a tool_choice that does not name a function.
Error no_choice(const OrderedJson& choice) {
  const std::string type = choice.is_object() ? Fields(choice).text("type").value_or("") : "";
  if (type.empty() || type == "function") {
    return invalid_argument("tool_choice", "must be none, auto, required or a function");
  }
  return unsupported("tool_choice", "only functions can be called, got \"" + type + '"');
}

void read_choice(Fields& fields, bool flat, ToolUse& use) {
  const OrderedJson* choice = fields.find("tool_choice");
  if (choice == nullptr) return;
  use.choice = *choice;
  if (*choice == "auto") return;
  if (*choice == "none") {
    use.given = false;
    return;
  }
  if (*choice != "required") {
    Fields inner(*choice, "tool_choice.");
    const OrderedJson* holder = flat ? choice : inner.object("function");
    if (!choice->is_object() || inner.text("type").value_or("") != "function" ||
        holder == nullptr || !holder->is_object() || !holder->contains("name") ||
        !(*holder)["name"].is_string()) {
      return fields.fail(no_choice(*choice));
    }
    use.demanded = (*holder)["name"].get<std::string>();
    const auto is_demanded = [&](const OrderedJson& tool) {
      return tool.at("name") == use.demanded;
    };
    if (fields.ok() && std::ranges::none_of(use.functions, is_demanded)) {
      return fields.fail("tool_choice", "names a function that is not among the tools");
    }
  }
  use.demand = ToolUse::Demand::kSome;
  if (use.tools.is_null()) return fields.fail("tool_choice", "is only allowed together with tools");
  if (!use.functions.empty()) return;
  fields.fail(unsupported("tool_choice",
                          "asks for a call, but the tools are of types that cannot "
                          "be called here (" +
                              ignored_types(use) + "): give a function"));
}

}  // namespace

ToolUse read_tools(Fields& fields, bool flat, wire::GenerateRequest& request) {
  ToolUse use;
  fields.refuse("functions", OrderedJson::array(), "is obsolete: use tools");
  fields.refuse("function_call", "none", "is obsolete: use tool_choice");
  use.parallel = fields.boolean("parallel_tool_calls").value_or(true);
  OrderedJson tools = OrderedJson::array();
  if (const OrderedJson* given = fields.array("tools"); given != nullptr && !given->empty()) {
    if (given->size() > kToolsMax) {
      fields.fail("tools", "has more than " + std::to_string(kToolsMax) + " elements");
    }
    for (size_t i = 0; i < given->size() && fields.ok(); ++i) {
      const OrderedJson& tool = (*given)[i];
      if (tool.is_object() && tool.contains("cache_control")) {
        Fields inner(tool, "tools[" + std::to_string(i) + "].");
        read_cache_control(inner, "cache_control", request);
        fields.fail(inner.status());
      }
      OrderedJson known = tool_of(fields, tool, i, flat);
      if (!fields.ok()) break;
      if (known.is_null()) {
        use.ignored.push_back(ignored_tool(tool));
        continue;
      }
      use.functions.push_back(known.at("function"));
      use.schema_params.push_back(fields.path("tools") + "[" + std::to_string(i) +
                                  (flat ? "].parameters" : "].function.parameters"));
      tools.push_back(std::move(known));
    }
    use.tools = *given;
    use.given = !tools.empty();
  }
  read_choice(fields, flat, use);
  if (use.given && fields.ok()) {
    request.tools = json_text(tools);
    if (request.tools.size() > wire::kToolsBytesMax) {
      fields.fail("tools", "has " + std::to_string(request.tools.size()) + " bytes; the limit is " +
                               std::to_string(wire::kToolsBytesMax));
    }
  }
  return use;
}

std::string ignored_tools_header(const OrderedJson& ignored) {
  const auto plain = [](std::string text) {
    for (char& c : text) {
      const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!good && std::string_view("_.-").find(c) == std::string_view::npos) c = '_';
    }
    return text;
  };
  std::string text;
  for (const OrderedJson& tool : ignored) {
    if (text.size() > kHeaderBytesMax) return text + ", ...";
    if (!text.empty()) text += ", ";
    text += plain(tool.value("type", ""));
    if (tool.contains("name")) text += " " + plain(tool.value("name", ""));
  }
  return text;
}

OrderedJson encode(const ToolCall& call) {
  OrderedJson result;
  result["id"] = call.id;
  result["type"] = "function";
  result["function"]["name"] = call.name;
  result["function"]["arguments"] = call.arguments;
  return result;
}

}  // namespace cascade::openai
