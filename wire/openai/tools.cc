// A call is given out when it is complete. Half a call is never given out: nobody should read it as
// text, and it cannot be called.
#include "wire/openai/tools.h"

#include <algorithm>
#include <utility>

#include "base/call_id.h"
#include "base/random.h"
#include "base/utf8.h"
#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kToolsMax = 1024;
// The longest type or name of a tool to show: real ones have up to 64 bytes.
constexpr size_t kShownBytesMax = 100;
// How long the header gets: clients and proxies accept some KiB for all headers together.
constexpr size_t kHeaderBytesMax = 1000;

// How many bytes at the end of `text` may be the beginning of `mark`.
size_t open_end(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.ends_with(mark.substr(0, n))) return n;
  }
  return 0;
}

// Returns, for each place, where a call is closed whose JSON begins at that place: at the first
// closing mark outside the JSON's strings; npos if there is none. Works from the end, because the
// result for each place follows from those for later places. Otherwise, calls that are never closed
// would be read to the end again and again.
std::vector<size_t> closes_of(std::string_view text) {
  std::vector<size_t> closes(text.size() + 1, text.npos);
  size_t quoted = text.npos, quoted_after = text.npos;  // the same for a place in a string
  for (size_t i = text.size(); i-- > 0;) {
    const bool quote = text[i] == '"';
    const size_t within = text[i] == '\\' ? quoted_after : quote ? closes[i + 1] : quoted;
    closes[i] = quote ? quoted : closes[i + 1];
    if (text.substr(i).starts_with(kClose)) closes[i] = i;
    quoted_after = std::exchange(quoted, within);
  }
  return closes;
}

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

// Each byte is looked at only once: answers come in thousands of pieces, and a call may be long.
std::vector<AnswerPart> ToolCallParser::push(std::string_view text) {
  std::vector<AnswerPart> parts;
  held_ += text;
  size_t begin = 0;  // where the text that is not given out yet begins
  while (in_call_ ? end_call(begin, parts) : begin_call(begin, parts)) {
  }
  held_.erase(0, begin);
  if (in_call_) looked_at_ -= begin;
  return parts;
}

// Gives out the text before the next call. False if there is none yet.
bool ToolCallParser::begin_call(size_t& begin, std::vector<AnswerPart>& parts) {
  const std::string_view rest = std::string_view(held_).substr(begin);
  const size_t open = rest.find(kOpen);
  in_call_ = open != rest.npos;
  const size_t certain = in_call_ ? open : rest.size() - open_end(rest, kOpen);
  add_text(rest.substr(0, certain), parts);
  begin += certain;
  quoted_ = false;
  looked_at_ = begin + kOpen.size();
  return in_call_;
}

// Gives out the call that begins at `begin` if it is closed by a mark outside JSON strings.
// Otherwise returns false.
bool ToolCallParser::end_call(size_t& begin, std::vector<AnswerPart>& parts) {
  for (; looked_at_ < held_.size(); ++looked_at_) {
    const char byte = held_[looked_at_];
    if (quoted_ && byte == '\\') {
      ++looked_at_;
    } else if (byte == '"') {
      quoted_ = !quoted_;
    } else if (!quoted_ && byte == kClose[0]) {
      const std::string_view rest = std::string_view(held_).substr(looked_at_);
      if (rest.starts_with(kClose)) {
        take_call(begin, looked_at_, parts);
        begin = looked_at_ + kClose.size();
        in_call_ = false;
        return true;
      }
      if (kClose.starts_with(rest)) return false;
    }
  }
  return false;
}

void ToolCallParser::take_call(size_t open, size_t close, std::vector<AnswerPart>& parts) {
  const size_t begin = open + kOpen.size();
  add_call(std::string_view(held_).substr(begin, close - begin), parts);
}

std::vector<AnswerPart> ToolCallParser::finish(bool cut) {
  std::vector<AnswerPart> parts;
  const std::vector<size_t> closes = closes_of(held_);
  size_t begin = 0;
  while (true) {
    const size_t open = held_.find(kOpen, begin);
    if (open == held_.npos) break;
    size_t close = closes[open + kOpen.size()];
    // A quote that was never closed hid the marks after it. If the answer was cut, the quote may
    // just be still open.
    if (close == held_.npos && !cut) close = held_.find(kClose, open);
    if (close == held_.npos) break;
    add_text(std::string_view(held_).substr(begin, open - begin), parts);
    take_call(open, close, parts);
    begin = close + kClose.size();
  }
  finish_open_calls(std::string_view(held_).substr(begin), cut, parts);
  held_.clear();
  in_call_ = false;
  if (left_out_call_) space_.clear();
  if (calls_ == 0 && !space_.empty()) parts.push_back({std::exchange(space_, {}), {}});
  return parts;
}

// Handles the end of an answer, where calls are not closed.
void ToolCallParser::finish_open_calls(std::string_view rest, bool cut,
                                       std::vector<AnswerPart>& parts) {
  for (size_t open; (open = rest.find(kOpen)) != rest.npos;) {
    add_text(rest.substr(0, open), parts);
    std::string_view body = rest.substr(open + kOpen.size());
    if (begins_call(body)) {
      // Only the closing mark may be missing.
      body.remove_suffix(open_end(body, kClose));
      auto call = whole_call(body);
      left_out_call_ = !call;
      if (call) give_call(*std::move(call), parts);
      return;
    }
    add_text(kOpen, parts);
    rest = body;
  }
  finish_text(rest, cut, parts);
}

// Handles text whose end may be half of a call's mark. The end certainly is half a mark if it is
// longer than other texts that begin like one (<to, <too), or if it is where calls begin: at the
// beginning of the answer, after a call, or on a new line.
void ToolCallParser::finish_text(std::string_view rest, bool cut, std::vector<AnswerPart>& parts) {
  constexpr size_t kCertain = 5;
  const size_t half = open_end(rest, kOpen);
  add_text(rest.substr(0, rest.size() - half), parts);
  const bool at_begin = !any_text_ || calls_ > 0 || space_.find('\n') != space_.npos;
  left_out_call_ = cut && half > 0 && (half >= kCertain || at_begin);
  if (!left_out_call_) add_text(rest.substr(rest.size() - half), parts);
}

// White space waits until it is known that no call follows.
void ToolCallParser::add_text(std::string_view text, std::vector<AnswerPart>& parts) {
  const size_t last = text.find_last_not_of(kSpace);
  if (last == std::string_view::npos) {
    space_ += text;
    return;
  }
  std::string out = any_text_ || calls_ == 0 ? std::exchange(space_, {}) : "";
  out += text.substr(0, last + 1);
  space_ = text.substr(last + 1);
  any_text_ = true;
  parts.push_back({std::move(out), {}});
}

void ToolCallParser::add_call(std::string_view body, std::vector<AnswerPart>& parts) {
  auto call = whole_call(body);
  if (!call) {
    // The model may have begun the call anew: then what follows the last mark is the whole call.
    if (const size_t again = body.rfind(kOpen); again != body.npos) {
      auto last = whole_call(body.substr(again + kOpen.size()));
      if (last && begins_call(body.substr(0, again))) call = std::move(last);
    }
  }
  if (!call) call = damaged_call(body);
  if (call) return give_call(*std::move(call), parts);
  add_text(std::string(kOpen) + std::string(body) + std::string(kClose), parts);
}

void ToolCallParser::give_call(CallText made, std::vector<AnswerPart>& parts) {
  space_.clear();
  if (++calls_ > 1 && !parallel_) return;
  ToolCall call;
  call.id =
      call_id_of(id_prefix_.empty() ? random_id("call") : id_prefix_ + std::to_string(calls_ - 1));
  call.name = std::move(made.name);
  call.arguments = std::move(made.arguments);
  parts.push_back({"", {std::move(call)}});
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

bool ends_in_half_call(std::string_view answer, bool cut) {
  ToolCallParser parser(/*parallel=*/true);
  (void)parser.push(answer);
  (void)parser.finish(cut);
  return parser.left_out_call();
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
