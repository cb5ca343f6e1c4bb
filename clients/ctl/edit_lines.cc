// The terminal: libedit, its history, Tab, pastes.
#include <fcntl.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cwchar>
#include <filesystem>

#include "base/utf8.h"
#include "clients/ctl/interrupt.h"
#include "clients/ctl/line_source.h"
#include "clients/ctl/pasted_text.h"
#include "clients/ctl/terminal_signals.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/terminal_window.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

constexpr int kHistoryLines = 1000;

// Creates an empty file with mode 0600 in folders with mode 0700, or gives an existing file mode
// 0600.
bool prepare_private_file(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  const bool is_private = ::fchmod(fd, 0600) == 0;
  ::close(fd);
  return is_private;
}

// The longest beginning that all words share; the words are sorted.
std::string common_beginning(const std::vector<std::string>& words) {
  const auto& first = words.front();
  const auto& last = words.back();
  const auto shared = std::mismatch(first.begin(), first.end(), last.begin(), last.end());
  return std::string(first.begin(), shared.first);
}

// The row, counted from the first, where the cursor is after `shown` was written, if rows have
// `columns` columns and the terminal wraps them.
int row_behind(std::string_view shown, int columns) {
  constexpr int kTabColumns = 8;
  int row = 0;
  int column = 0;
  for (size_t i = 0; i < shown.size();) {
    const CodePoint c = utf8_decode(shown, i);
    const std::string_view bytes = shown.substr(i, c.size);
    i += c.size;
    const int control_width = bytes == "\t" ? kTabColumns - column % kTabColumns : 2;  // "^X"
    const int width = c.value < ' ' ? control_width : display_width(bytes);
    if (bytes != "\n") column += width;
    if (bytes != "\n" && column <= columns) continue;
    ++row;
    column = bytes == "\n" ? 0 : width;
  }
  return row + (column == columns ? 1 : 0);
}

class EditLines : public LineSource {
 public:
  explicit EditLines(Complete complete) : complete_(std::move(complete)) {
    edit_ = el_init("cascadectl", stdin, stdout, stderr);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &EditLines::prompt);
    el_set(edit_, EL_GETCFN, &EditLines::read_character);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_ADDFN, "cascade-complete", "Complete a command or an id",
           &EditLines::complete_word);
    el_set(edit_, EL_BIND, "^I", "cascade-complete", nullptr);
    el_source(edit_, nullptr);  // the user's ~/.editrc
    el_set(edit_, EL_ADDFN, "cascade-paste", "Insert what is pasted", &EditLines::paste);
    el_set(edit_, EL_BIND, kPasteBegins, "cascade-paste", nullptr);
    load_history();
  }
  ~EditLines() override {
    save_history();
    history_end(history_);
    el_end(edit_);
  }
  EditLines(const EditLines&) = delete;
  EditLines& operator=(const EditLines&) = delete;

  Line next(const std::string& prompt) override {
    Line line = ask(prompt);
    HistEvent event;
    if (!line.text.empty()) history(history_, &event, H_ENTER, line.text.c_str());
    return line;
  }

  Line ask(const std::string& question) override {
    prompt_ = question;
    clear_interrupt();
    el_resize(edit_);  // the window may have changed since the last line
    int count = 0;
    const char* text = el_gets(edit_, &count);
    if (text == nullptr || count <= 0) {
      const bool pressed = interrupted();
      clear_interrupt();
      std::fputc('\n', stdout);
      return {pressed ? Line::Status::kInterrupted : Line::Status::kEnd, ""};
    }
    Line line{Line::Status::kText, std::string(text, static_cast<size_t>(count))};
    while (!line.text.empty() && (line.text.back() == '\n' || line.text.back() == '\r')) {
      line.text.pop_back();
    }
    return line;
  }

 private:
  static EditLines& self(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<EditLines*>(data);
  }

  static char* prompt(EditLine* edit) { return self(edit).prompt_.data(); }

  // libedit's own reader misses a signal that comes just before it reads.
  static int read_character(EditLine* edit, wchar_t* character) {
    std::mbstate_t state{};
    for (;;) {
      if (!self(edit).wait()) {
        errno = EINTR;
        return -1;
      }
      char byte = 0;
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count <= 0) return static_cast<int>(count);
      const size_t used = std::mbrtowc(character, &byte, 1, &state);
      constexpr size_t kIncomplete = static_cast<size_t>(-2);
      constexpr size_t kMalformed = static_cast<size_t>(-1);
      if (used == kIncomplete) continue;
      if (used != kMalformed) return 1;
      state = {};  // skips the malformed byte
    }
  }

  // Waits until there is a byte to read, and keeps the line on the screen meanwhile. Returns false
  // for Ctrl-C.
  bool wait() {
    for (;;) {
      switch (wait_for_input(STDIN_FILENO)) {
        case Wake::kInput: return true;
        case Wake::kInterrupt: return false;
        case Wake::kContinued:
          // libedit assumes that the terminal is as it left it.
          el_set(edit_, EL_PREP_TERM, 0);
          el_set(edit_, EL_PREP_TERM, 1);
          draw_again(0);
          break;
        case Wake::kResized: draw_again(rows_above()); break;
      }
    }
  }

  // How many rows the cursor is below the prompt, on a terminal that has wrapped its lines anew.
  int rows_above() const {
    const LineInfo* info = el_line(edit_);
    const std::string before(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    return row_behind(prompt_ + before, std::max(stdout_columns(), 1));
  }

  void draw_again(int rows_up) {
    if (obeys_escapes()) {
      std::fputc('\r', stdout);
      if (rows_up > 0) std::printf("\x1b[%dA", rows_up);
      std::fputs("\x1b[J", stdout);
      std::fflush(stdout);
    }
    el_resize(edit_);
    el_set(edit_, EL_REFRESH);
  }

  // Called for kPasteBegins. All pasted characters are text, even those that are keys of the
  // editor.
  static unsigned char paste(EditLine* edit, int) {
    PastedText pasted;
    wchar_t character = 0;
    do {
      if (read_character(edit, &character) != 1) break;  // what came before stays
    } while (!pasted.add(character));
    std::wstring text = pasted.text();
    const LineInfoW* line = el_wline(edit);
    if (line->cursor == line->lastchar) {
      while (text.ends_with(L'\n')) text.pop_back();
    }
    if (!text.empty() && el_winsertstr(edit, text.c_str()) != 0) return CC_REFRESH_BEEP;
    return CC_REFRESH;
  }

  static unsigned char complete_word(EditLine* edit, int) {
    const LineInfo* info = el_line(edit);
    const std::string line(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    const std::vector<std::string> words = self(edit).complete_(line);
    if (words.empty()) return CC_REFRESH_BEEP;
    const size_t space = line.find_last_of(' ');
    const size_t typed = line.size() - (space == std::string::npos ? 0 : space + 1);
    std::string insert = common_beginning(words).substr(typed);
    if (words.size() == 1) insert += " ";
    if (!insert.empty()) {
      el_insertstr(edit, insert.c_str());
      return CC_REFRESH;
    }
    std::string list;
    for (const std::string& word : words) list += one_line(word) + "  ";
    std::printf("\n%s\n", wrapped(list, stdout_columns()).c_str());
    return CC_REDISPLAY;
  }

  void load_history() {
    HistEvent event;
    history_ = history_init();
    history(history_, &event, H_SETSIZE, kHistoryLines);
    history(history_, &event, H_SETUNIQUE, 1);
    el_set(edit_, EL_HIST, history, history_);
    path_ = history_path();
    if (path_.empty() || !prepare_private_file(path_)) path_.clear();
    if (!path_.empty()) history(history_, &event, H_LOAD, path_.c_str());
  }

  void save_history() {
    HistEvent event;
    if (!path_.empty()) history(history_, &event, H_SAVE, path_.c_str());
  }

  TerminalSignals signals_;  // first: it remembers the terminal as it was
  Complete complete_;
  std::string prompt_;
  std::string path_;  // empty: no history file
  EditLine* edit_ = nullptr;
  History* history_ = nullptr;
};

}  // namespace

std::unique_ptr<LineSource> terminal_lines(Complete complete) {
  return std::make_unique<EditLines>(std::move(complete));
}

}  // namespace cascade::ctl
