// Streamed answers on a screen.
#include "clients/ctl/stream_printer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace cascade::ctl {
namespace {

int window = 0;  // its width in columns, which a user may change

struct Printed {
  explicit Printed(bool show_thoughts, bool terminal = false, bool colour = false, int columns = 0)
      : screen{out, err, Style(colour, [] { return window; }), terminal, false},
        printer(screen, show_thoughts) {
    window = columns;
  }
  void text(const std::string& piece) { printer.event(wire::Delta{piece, false}); }
  void thought(const std::string& piece) { printer.event(wire::Delta{piece, true}); }
  std::string end() {
    printer.finish();
    return out.str();
  }
  std::ostringstream out;
  std::ostringstream err;
  Screen screen;
  StreamPrinter printer;
};

TEST(StreamPrinter, prints_the_answer_and_ends_its_line) {
  Printed printed(false);
  printed.text("\n\nPar");
  printed.text("is.");
  EXPECT_EQ(printed.end(), "Paris.\n");
  Printed ended(false);
  ended.text("Paris.\n");
  EXPECT_EQ(ended.end(), "Paris.\n");
  EXPECT_EQ(Printed(false).end(), "");
}

TEST(StreamPrinter, marks_thoughts_on_every_line) {
  Printed printed(true);
  printed.thought("\nfirst");
  printed.thought(" line\nsecond\n");
  printed.text("\n\n");
  printed.text("Answer");
  EXPECT_EQ(printed.end(), "│ first line\n│ second\n\nAnswer\n");
}

TEST(StreamPrinter, hides_thoughts) {
  Printed printed(false);
  printed.thought("secret");
  printed.text("Answer");
  EXPECT_EQ(printed.end(), "Answer\n");
}

TEST(StreamPrinter, disarms_what_the_model_writes) {
  Printed printed(true);
  printed.thought("\x1b[2J");
  printed.text("\x1b]0;owned\x07");
  EXPECT_EQ(printed.end(), "│ ␛[2J\n\n␛]0;owned␇\n");
}

TEST(StreamPrinter, takes_its_notes_away_before_text) {
  Printed printed(false, true, true);
  printed.printer.event(wire::Accepted{2});
  printed.printer.event(wire::Progress{100, 64});
  printed.text("A");
  printed.printer.event(wire::Progress{100, 100});
  EXPECT_EQ(printed.end(),
            "\r\x1b[K\x1b[2mwaiting behind 2 requests …\x1b[0m"
            "\r\x1b[K\x1b[2mreading the prompt: 64 of 100 tokens …\x1b[0m"
            "\r\x1b[KA\n");
}

TEST(StreamPrinter, breaks_lines_at_the_ends_of_words) {
  Printed printed(true, true, false, 12);
  printed.thought("I think th");
  printed.thought("at is it");
  printed.text("The capi");
  printed.text("tal of France is Par");
  printed.text("is.");
  EXPECT_EQ(printed.end(), "│ I think\n│ that is it\n\nThe capital\nof France is\nParis.\n");
}

TEST(StreamPrinter, goes_on_with_the_width_that_the_window_has_now) {
  Printed printed(true, true, false, 20);
  printed.text("The capital of France ");
  window = 9;
  printed.text("is Paris, and that of Spain ");
  window = 40;
  printed.text("is Madrid, as everybody knows.");
  EXPECT_EQ(
      printed.end(),
      "The capital of\nFrance is\nParis,\nand that\nof Spain is Madrid, as everybody knows.\n");
}

TEST(StreamPrinter, cuts_a_note_that_would_take_two_lines) {
  Printed printed(false, true, true, 16);
  printed.printer.event(wire::Progress{1000, 640});
  EXPECT_EQ(printed.end(), "\r\x1b[K\x1b[2mreading the pr…\x1b[0m\r\x1b[K");
}

TEST(StreamPrinter, has_no_notes_without_a_terminal) {
  Printed printed(false, false, false);
  printed.printer.event(wire::Accepted{2});
  printed.printer.event(wire::Progress{100, 64});
  printed.text("A");
  EXPECT_EQ(printed.end(), "A\n");
}

}  // namespace
}  // namespace cascade::ctl
