// What the tests of the template engine have in common.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "model/chat_template.h"
#include "tests/shared_dir.h"

namespace cascade::testing {

// 2026-01-02 03:04:05 UTC, the clock of the reference renderings.
inline constexpr int64_t kReferenceNow = 1'767'323'045;

inline std::string read_source(const std::filesystem::path& path) {
  auto text = read_file(path, size_t{1} << 20);
  EXPECT_TRUE(text.ok()) << text.error().to_string();
  return text.ok() ? *text : "";
}

inline OrderedJson read_ordered_json(const std::filesystem::path& path) {
  auto json = parse_ordered_json(read_source(path), path.string());
  EXPECT_TRUE(json.ok()) << json.error().to_string();
  return json.ok() ? *json : OrderedJson();
}

// A model's chat template and the reference's renderings of it: `input`, and `output` or `error`.
struct RealTemplate {
  std::string source;
  OrderedJson goldens;
};

// The template of the demo model, which is part of the project.
inline RealTemplate demo_template() {
  const OrderedJson config = read_ordered_json(demo_model_dir() / "tokenizer_config.json");
  return {config.at("chat_template").get<std::string>(),
          read_ordered_json(fixtures_dir() / "demo" / "template_golden.json")};
}

// The folder of other models' templates, with their renderings beside them.
inline std::filesystem::path templates_dir() {
  return shared_dir() / "fixtures/templates";
}

// One of these templates: NAME.jinja and NAME.golden.json.
inline RealTemplate template_of_others(const std::string& name) {
  return {read_source(templates_dir() / (name + ".jinja")),
          read_ordered_json(templates_dir() / (name + ".golden.json"))};
}

// The templates of the demo model and of others; says so where the latter are absent.
inline std::vector<RealTemplate> real_templates() {
  std::vector<RealTemplate> templates = {demo_template()};
  if (!std::filesystem::exists(templates_dir())) {
    std::cout << "NOT TESTED: templates of others: " << templates_dir() << " is absent\n";
    return templates;
  }
  for (const auto& entry : std::filesystem::directory_iterator(templates_dir())) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".jinja" && name != "demo") {
      templates.push_back(template_of_others(name));
    }
  }
  return templates;
}

// Parses and renders; returns the error of whichever fails.
inline Result<SpannedText> render(std::string_view source,
                                  const OrderedJson& variables = OrderedJson::object(),
                                  const TemplateLimits& limits = {}) {
  ASSIGN_OR_RETURN(const ChatTemplate chat_template, ChatTemplate::parse(source, limits));
  return chat_template.render(variables, kReferenceNow);
}

// The text, or "error: ..." .
inline std::string rendered(std::string_view source,
                            const OrderedJson& variables = OrderedJson::object(),
                            const TemplateLimits& limits = {}) {
  const auto text = render(source, variables, limits);
  return text.ok() ? plain_text(*text) : "error: " + text.error().to_string();
}

}  // namespace cascade::testing
