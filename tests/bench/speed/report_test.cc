// The output of cascade-bench: aligned tables, JSON, four digits.
#include "bench/speed/report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade::speed {
namespace {

TEST(Report, table_columns_are_aligned_to_the_right) {
  Report report(OrderedJson({{"command", "gemm"}, {"threads", 2}}));
  report.add({{"matrix", "qkv"}, {"rows", 1}, {"gb_per_s", 9.5}});
  report.add({{"matrix", "gate_up"}, {"rows", 512}, {"gb_per_s", 12.25}});
  EXPECT_EQ(report.to_table(),
            "command: gemm\n"
            "threads: 2\n"
            "\n"
            " matrix  rows  gb_per_s\n"
            "    qkv     1       9.5\n"
            "gate_up   512     12.25\n");
}

TEST(Report, rows_of_other_columns_begin_another_table) {
  Report report(OrderedJson({{"command", "x"}}));
  report.add({{"a", 1}});
  report.add({{"b", 1}, {"a", 2}});
  report.add({{"b", 3}, {"a", 4}});
  report.add({{"a", 100}});
  EXPECT_EQ(report.to_table(),
            "command: x\n"
            "\na\n1\n"
            "\nb  a\n1  2\n3  4\n"
            "\n  a\n100\n");
}

TEST(Report, no_rows_are_a_header_and_an_empty_list) {
  const Report report(OrderedJson({{"command", "x"}}));
  EXPECT_EQ(report.to_table(), "command: x\n");
  EXPECT_EQ(Json::parse(report.to_json()), Json::parse(R"({"command":"x","rows":[]})"));
}

TEST(Report, json_has_the_header_and_the_rows_in_order) {
  Report report(OrderedJson({{"command", "peak"}, {"peak_gb_per_s", 41.23456}}));
  report.add({{"what", "read"}, {"per_s", 2.0}});
  report.add({{"what", "f32"}, {"per_s", 0.123456}});
  const std::string text = report.to_json();
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(OrderedJson::parse(text), OrderedJson::parse(R"({
    "command": "peak", "peak_gb_per_s": 41.23,
    "rows": [{"what": "read", "per_s": 2.0}, {"what": "f32", "per_s": 0.1235}]})"));
  EXPECT_LT(text.find("\"command\""), text.find("\"rows\""));
}

TEST(Report, numbers_keep_four_digits_and_no_exponent) {
  struct Case {
    double value;
    std::string text;
  };
  for (const auto& [value, text] : std::vector<Case>{{0, "0"},
                                                     {1, "1"},
                                                     {-1.23456, "-1.235"},
                                                     {9999.6, "10000"},
                                                     {12345.6, "12350"},
                                                     {1234567890.0, "1235000000"},
                                                     {0.00123456, "0.001235"},
                                                     {999.96, "1000"},
                                                     {0.1 + 0.2, "0.3"}}) {
    Report report(OrderedJson::object());
    report.add({{"x", value}});
    const std::string table = report.to_table();
    EXPECT_EQ(table.substr(table.rfind('\n', table.size() - 2) + 1).find_first_not_of(' '), 0u);
    EXPECT_NE(table.find("\n" + text + "\n"), std::string::npos) << table << " not " << text;
    EXPECT_EQ(Json::parse(report.to_json())["rows"][0]["x"], Json::parse(text)) << text;
  }
}

TEST(Report, whole_numbers_and_texts_stay_as_they_are) {
  Report report(OrderedJson::object());
  report.add({{"tokens", int64_t{123456789}}, {"what", "f32"}});
  EXPECT_NE(report.to_table().find("123456789   f32"), std::string::npos) << report.to_table();
  EXPECT_EQ(Json::parse(report.to_json())["rows"][0]["tokens"], 123456789);
}

TEST(Report, a_rate_has_its_median_and_its_extremes) {
  OrderedJson row;
  add_rate(row, "gb_per_s", 8e9, 1e9, Samples{{1, 2, 4}});
  EXPECT_EQ(row.dump(), R"({"gb_per_s":4.0,"gb_per_s_min":2.0,"gb_per_s_max":8.0})");
}

}  // namespace
}  // namespace cascade::speed
