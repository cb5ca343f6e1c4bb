// The scanner on snippets: what it must see through, and where functions begin and end.
#include "tests/tidy/source_code.h"

#include <gtest/gtest.h>

namespace cascade::tidy {
namespace {

std::string lines_of(const std::vector<Function>& functions) {
  std::string out;
  for (const Function& function : functions) {
    out += std::to_string(function.line) + "+" + std::to_string(function.line_count) + " ";
  }
  return out;
}
std::string functions_in(std::string_view source) {
  return lines_of(find_functions(source));
}

TEST(Blanking, removes_comments_and_keeps_lines) {
  EXPECT_EQ(blank_comments_and_literals("a // b\nc /* d\n e */ f"), "a     \nc     \n      f");
  EXPECT_EQ(blank_comments_and_literals("// a \\\n b\nc"), "      \n  \nc");
  EXPECT_EQ(blank_comments_and_literals("a /* b"), "a     ");
}

TEST(Blanking, removes_literals) {
  EXPECT_EQ(blank_comments_and_literals(R"(f("a\"b//", '"', '\'', x))"),
            "f(" + std::string(8, ' ') + ",    ,     , x)");
  EXPECT_EQ(blank_comments_and_literals("u8\"}\" L'{'"), "u8    L   ");
}

TEST(Blanking, removes_raw_strings) {
  EXPECT_EQ(blank_comments_and_literals("x = R\"(a\"b)\";y"), "x = R       ;y");
  EXPECT_EQ(blank_comments_and_literals("R\"d()\" )\nd\")d\";z"), "R       \n     ;z");
  // After letters that are no prefix of a string, the string is an ordinary one.
  EXPECT_EQ(blank_comments_and_literals("R_(\"(\") + f(x)"), "R_(   ) + f(x)");
}

TEST(Blanking, keeps_digit_separators) {
  EXPECT_EQ(blank_comments_and_literals("1'000'000 + 0xFF'FF"), "1'000'000 + 0xFF'FF");
  EXPECT_EQ(blank_comments_and_literals("case'a': u'b'"), "case   : u   ");
}

TEST(Blanking, removes_directives_with_their_continuations) {
  EXPECT_EQ(blank_directives("#define A { \\\n  {\nint x;"), "             \n   \nint x;");
  EXPECT_EQ(blank_directives("  # if 1\na"), "        \na");
}

TEST(IncludeScan, finds_kind_and_line) {
  const auto found = find_includes("#include \"a/b.h\"\n\n  #  include <c>\n#include MACRO\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].path, "a/b.h");
  EXPECT_TRUE(found[0].quoted);
  EXPECT_EQ(found[1].path, "c");
  EXPECT_EQ(found[1].line, 3);
  EXPECT_FALSE(found[1].quoted);
}

TEST(IncludeScan, looks_past_comments_and_strings) {
  EXPECT_TRUE(
      find_includes("// #include <a>\n/*\n#include <b>\n*/\nR\"(\n#include <c>\n)\"").empty());
}

TEST(Functions, begin_with_their_declaration_and_end_with_their_brace) {
  EXPECT_EQ(functions_in("int f() { return 1; }"), "1+1 ");
  EXPECT_EQ(functions_in("\nstatic int\nf(int a,\n  int b) {\n  return a;\n}\n"), "2+5 ");
  EXPECT_EQ(functions_in("template <class T = int, bool b = (1 > 0)>\nvoid f() {\n}\n"), "1+3 ");
  EXPECT_EQ(functions_in("// note\nvoid f() {}\n\n// note\nvoid g() {\n}\n"), "2+1 5+2 ");
}

TEST(Functions, are_not_declarations) {
  EXPECT_EQ(functions_in("int f();\nstruct A;\nusing F = int();\nX() = default;\n"), "");
}

TEST(Functions, are_found_in_namespaces_and_classes) {
  EXPECT_EQ(functions_in("namespace a::b {\nnamespace {\nvoid f() {\n}\n}\n}"), "3+2 ");
  EXPECT_EQ(functions_in("extern \"C\" {\nvoid f() {}\n}"), "2+1 ");
  EXPECT_EQ(functions_in("class A final : public B<int()> {\n public:\n  int f() { return 1; }\n"
                         " private:\n  void g() const noexcept override {\n  }\n};"),
            "3+1 5+2 ");
  EXPECT_EQ(functions_in("struct alignas(64) A : B {\n  void f() {}\n};"), "2+1 ");
  EXPECT_EQ(functions_in("class [[nodiscard]] A {\n  A() {}\n};"), "2+1 ");
}

TEST(Functions, take_what_is_inside_them_as_their_own) {
  EXPECT_EQ(functions_in("void f() {\n  struct A { void g() {} };\n  auto l = [] {\n  };\n"
                         "  if (x) {\n  } else {\n  }\n  for (;;) {}\n  X x = {{1}, {2}};\n}\n"
                         "void g() {}\n"),
            "1+10 11+1 ");
}

TEST(Functions, are_not_initialisers_and_enumerations) {
  EXPECT_EQ(functions_in("enum class E : uint8_t { kA, kB };\nenum { kC };"), "");
  EXPECT_EQ(functions_in("constexpr int a[] = {\n1,\n2};\nX x{1};\nX y = {f(1), {2}, g(3)};"), "");
  EXPECT_EQ(functions_in("struct stat info = {};\nstruct A { int a = 1; B b{}; };"), "");
}

TEST(Functions, may_have_structs_in_their_signature) {
  EXPECT_EQ(functions_in("struct A f(struct B b) {\n}"), "1+2 ");
  EXPECT_EQ(functions_in("auto f() -> std::vector<int> {\n}"), "1+2 ");
}

TEST(Functions, may_have_default_arguments_with_braces) {
  EXPECT_EQ(functions_in("void f(A a = {}, B b = {1, 2}) {\n  x();\n}"), "1+3 ");
}

TEST(Functions, include_member_initialisers) {
  EXPECT_EQ(functions_in("A::A(int x)\n    : a_(x),\n      b_{1},\n      c_{} {\n  f();\n}\n"),
            "1+6 ");
  EXPECT_EQ(functions_in("A::A() : B<C>{1} {}\nvoid g() {}"), "1+1 2+1 ");
  EXPECT_EQ(functions_in("struct A {\n  explicit A(int x) : a_{x} {}\n  int a_{0};\n};"), "2+1 ");
}

TEST(Functions, may_be_operators) {
  EXPECT_EQ(functions_in("bool operator==(A a, A b) {\n}\nA& A::operator=(A&&) noexcept {\n}\n"
                         "int A::operator()(int x) const {\n}\nA::operator bool() const {\n}\n"
                         "bool operator<=(A, A) { return a <= b; }"),
            "1+2 3+2 5+2 7+2 9+1 ");
}

TEST(Functions, may_be_lambdas_at_namespace_scope) {
  EXPECT_EQ(functions_in("const auto f = [](int x) -> int {\n  return x;\n};"), "1+3 ");
  EXPECT_EQ(functions_in("const auto f = [] {\n};"), "1+2 ");
  EXPECT_EQ(functions_in("const Row kRows[] = {\n  {\"a\", [](int x) {\n     return x;\n   }},\n"
                         "  {\"b\", [] { return 1; }},\n};"),
            "2+3 5+1 ");
}

TEST(Functions, may_be_macros_with_a_body) {
  EXPECT_EQ(functions_in("TEST(A, b) {\n  EXPECT_EQ(\"{\", '{');\n}\nTEST(A, c) {}"), "1+3 4+1 ");
}

TEST(Functions, are_not_disturbed_by_directives) {
  EXPECT_EQ(functions_in("#define OPEN {\nvoid f() {\n#if 1\n#endif\n}\nvoid g() {}"), "2+4 6+1 ");
}

TEST(Functions, survive_code_that_does_not_compile) {
  EXPECT_EQ(functions_in("}}} void f() {"), "");
  EXPECT_EQ(functions_in("template <"), "");
  EXPECT_EQ(functions_in("\"unfinished"), "");
}

std::string classes_in(std::string_view source) {
  std::string out;
  for (const Class& found : find_classes(source)) {
    out += found.name + "@" + std::to_string(found.line) + ":" + std::to_string(found.functions) +
           "/" + std::to_string(found.fields) + " ";
  }
  return out;
}

TEST(Classes, have_the_functions_that_they_declare) {
  EXPECT_EQ(
      classes_in("class A {\n public:\n  A();\n  explicit A(int x) : x_{x}, y_(1) {}\n"
                 "  A(const A&) = delete;\n  ~A();\n  bool operator<(const A&) const;\n"
                 "  operator int() { return 1; }\n  auto operator<=>(const A&) const = default;"
                 "\n  template <class T = int()> void f(T t = {}) {\n    T a;\n  }\n};"),
      "A@1:8/0 ");
  EXPECT_EQ(classes_in("class A final : public B<int()> {\n  static int f() { return 1; }\n};"),
            "A@1:1/0 ");
}

TEST(Classes, have_the_fields_that_they_declare) {
  EXPECT_EQ(classes_in("struct A {\n  int a = 1, b = 2;\n  std::map<int, char> c;\n"
                       "  std::function<void(int, int)> d{};\n  B e = {1, 2};\n  const int& f;\n"
                       "  static int g;\n  TenantParts h{options_.x};\n  Uses i{1, [](int x) {"
                       " return x; }};\n};"),
            "A@1:0/9 ");
}

TEST(Classes, do_not_own_constants_types_and_friends) {
  EXPECT_EQ(classes_in("class A {\n  static constexpr int kA = 1, kB = 2;\n  using B = int();\n"
                       "  friend class C;\n  class D;\n  enum class E { kX, kY };\n"
                       "  static const int kC;\n  static_assert(sizeof(int) == 4);\n};"),
            "A@1:0/0 ");
}

TEST(Classes, have_classes_of_their_own) {
  EXPECT_EQ(classes_in("namespace n {\nstruct A {\n  struct B : C {\n    int b;\n  } b;\n"
                       "  struct [[nodiscard]] D { void f(); };\n};\n}"),
            "A::B@3:0/1 A::D@6:1/0 A@2:0/1 ");
  EXPECT_EQ(classes_in("void f() {\n  struct A { int a; };\n}\nenum class E { kA };"), "");
}

}  // namespace
}  // namespace cascade::tidy
