// The command line of cascadectl.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "clients/ctl/bench_command.h"
#include "clients/ctl/completion.h"
#include "clients/ctl/config_commands.h"
#include "clients/ctl/key_commands.h"
#include "clients/ctl/retain.h"
#include "wire/messages.h"

namespace cascade::ctl {

// One of --context TEXT, --context-file FILE, --chunk ID, in the order of the command line.
struct ContextArgument {
  enum class Kind { kText, kFile, kChunk } kind = Kind::kText;
  std::string value;
};

struct GenerateOptions {
  std::optional<std::string> query;  // the argument or --query; absent: stdin, or a QUERY --chunk
  std::string system;
  std::vector<ContextArgument> contexts;
  std::optional<std::string> batch;  // a file of prompts, "-" is stdin; instead of a query
  std::string stdin_option;          // which option's file is stdin ("-"); empty if none is
  bool raw = false;
  bool stream = false;
  wire::GenerateRequest params;  // without a prompt
};

struct ChatOptions {
  std::string system;
  Retain retain = Retain::kAlways;
  wire::GenerateRequest params;
};

struct ChunkListOptions {
  std::optional<ChunkType> type;
  size_t limit = 1000;
};

struct ChunkSearchOptions {
  std::string query;
  int32_t limit = 20;
};

struct ChunkPutOptions {
  std::optional<std::string> text;  // absent: a file, token ids or stdin
  std::string file;
  wire::ChunkPut put;  // without a text
};

// Of the session commands.
struct SessionOptions {
  std::string name;  // of `show` and `delete`
  int32_t limit = 1000;
  bool outputs = false;
};

// Of `chunk delete`.
struct ChunkDeleteOptions {
  std::string name;  // whose holder is given up; empty: see wire::ChunkDelete
  bool all = false;
};

// Of `model load` and `model unload`.
struct ModelOptions {
  std::string name;
  bool estimate = false;
};

// Of `completion`.
struct CompletionOptions {
  std::string shell;
  std::string program = "cascadectl";
  std::vector<CommandWords> words;  // of cascadectl, from its options
};

// Of `fsck` and `backup`.
struct UpkeepOptions {
  std::optional<std::string> state_dir;  // absent: the daemon's default
  bool repair = false;
  bool rebuild = false;
  std::string directory;  // of the backup
};

// Of `events` and `top`.
struct WatchOptions {
  std::vector<std::string> kinds;  // of events; empty: all
  std::optional<int64_t> since;    // an event's number
  int64_t interval_ms = 1000;      // of top
  int64_t count = 0;               // of events or pages; 0: no end
};

struct Options {
  enum class Command {
    kStatus,
    kGenerate,
    kChat,
    kChunkList,
    kChunkSearch,
    kChunkShow,
    kChunkDelete,
    kChunkPut,
    kChunkUpdate,
    kChunkStats,
    kSessionList,
    kSessionShow,
    kSessionDelete,
    kPolicyList,
    kPolicySet,
    kModelList,
    kModelLoad,
    kModelUnload,
    kFsck,
    kBackup,
    kKeyNew,
    kKeyAllow,
    kKeyRevoke,
    kEvents,
    kTop,
    kBench,
    kDoctor,
    kConfigCheck,
    kConfigShow,
    kConfigManual,
    kCompletion,
  };
  Command command = Command::kStatus;
  std::string endpoint;         // never empty
  bool endpoint_given = false;  // by an option or the environment
  bool json = false;
  std::string model;  // that is asked; empty: the daemon's default model
  GenerateOptions generate;
  ChatOptions chat;
  ChunkListOptions list;
  ChunkSearchOptions search;
  std::vector<std::string> ids;  // of the chunk commands but list, search, put and stats
  ChunkPutOptions put;
  ChunkDeleteOptions remove;
  wire::ChunkUpdate update;  // without an id: of each of `ids`
  SessionOptions session;
  wire::PolicySet policy;
  ModelOptions model_command;
  UpkeepOptions upkeep;
  KeyOptions key;
  WatchOptions watch;
  BenchOptions bench;
  ConfigOptions config;
  CompletionOptions completion;
};

// What is wrong in them whatever the daemon has: parameters of a generation out of range.
// Errors: kInvalidArgument, as wire::check_request.
Status check_options(const Options& options);

// The options, or the exit code if help was asked for or the command line is wrong; what is to be
// said has been printed then: with --json, what is wrong, to `out`.
std::variant<Options, int> parse_options(int argc, const char* const* argv, std::ostream& out);

}  // namespace cascade::ctl
