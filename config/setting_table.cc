// The table. A new setting is a row here, and a line in daemon/options.cc that takes its value.
#include "config/setting.h"

namespace cascade::config {
namespace {

constexpr std::string_view kModel = "Model";
constexpr std::string_view kPlaces = "Places";
constexpr std::string_view kHttp = "HTTP";
constexpr std::string_view kTcp = "ZeroMQ over TCP";
constexpr std::string_view kMemory = "Memory and disk";
constexpr std::string_view kLimits = "Limits";
constexpr std::string_view kLog = "Log";

constexpr Setting kSettings[] = {
    {"model", Kind::kPath, kModel, "", "none, it must be given", "a folder or a file", 0, 0, false,
     "folder of the model (Hugging Face layout), or a GGUF file",
     "It is only read. It is always loaded, and answers what no other model is asked for."},
    {"models-dir", Kind::kPath, kModel, "", "none: there is one model", "a folder", 0, 0, false,
     "folder of further models: folders and GGUF files, loaded when a request names one",
     "One model is what most machines have memory for."},
    {"chat-template", Kind::kList, kModel, "", "the models' own", "[NAME=]FILE", 0, 0, false,
     "file with a chat template (Jinja) in place of the model's own; with NAME=, of that model",
     "A model whose template cannot be used is loaded, and answers raw prompts only."},
    {"weights", Kind::kChoice, kModel, "auto", "", "auto, f32, bf16, int8, int4", 0, 0, false,
     "number type of the weights; auto: as the model's files have most of them",
     "What the files have is kept, or nearly so: plain numbers as bf16, Q4_0 as int4, other GGUF "
     "blocks as int8. int8 is nearly twice as fast as bf16 and costs 0.1 % of perplexity "
     "(docs/QUALITY.md)."},
    {"kv", Kind::kChoice, kModel, "int8", "", "f32, bf16, fp16, fp8, int8", 0, 0, false,
     "number type of the KV cache",
     "It takes half of the memory of bf16 and costs 0.03 % of perplexity."},
    {"isa", Kind::kChoice, kModel, "",
     "the best that this machine has; openblas if it has none but scalar, and the library",
     "scalar, avx2, avx512, avx512vnni, neon, openblas", 0, 0, false,
     "instruction set of the kernels",
     "To be set only to compare machines: all but openblas give the same bits."},
    {"threads", Kind::kInteger, kModel, "", "the machine's hardware threads, at most 256",
     "threads", 1, 256, false, "threads that compute",
     "Fewer leave cores to other programs; more than there are cores make everything slower."},

    {"run-dir", Kind::kPath, kPlaces, "",
     "the first of these: $RUNTIME_DIRECTORY; /run/cascaded, if it is this user's, or for root if "
     "there is none; $XDG_RUNTIME_DIR/cascaded; /run/user/UID/cascaded; /tmp/cascaded-UID",
     "a folder", 0, 0, false, "folder of the socket",
     "Only its owner may write to it: who could would take the daemon's place."},
    {"state-dir", Kind::kPath, kPlaces, "",
     "$STATE_DIRECTORY, $XDG_STATE_HOME/cascade or ~/.local/state/cascade", "a folder, or nothing",
     0, 0, false,
     "folder of what outlives the daemon: chunks, KV pages, packed weights (empty: nothing)",
     "It holds the texts of prompts and answers, so it is made with mode 0700."},
    {"cache-dir", Kind::kPath, kPlaces, "", "$CACHE_DIRECTORY, or else the state directory",
     "a folder, or nothing", 0, 0, false,
     "folder of packed weights, which may be deleted: the next start packs them again",
     "Apart from the state, so that backups leave it out."},
    {"endpoint", Kind::kText, kPlaces, "", "ipc://RUN_DIR/cascaded.sock", "ipc:// and a path", 0, 0,
     false, "where clients connect (ipc://PATH)", "Clients look for it where it is by default."},
    {"tenant", Kind::kList, kPlaces, "", "none", "names of a-z, 0-9, _ and -", 0, 0, false,
     "another tenant: RUN_DIR/tenant-NAME.sock, whose chunks and pages are its own",
     "One tenant, local, is always there: users who trust each other need no more."},

    {"http", Kind::kText, kHttp, "", "no HTTP, but on a socket of cascaded.socket",
     "ADDRESS:PORT, PORT or unix:PATH", 0, 0, false,
     "serve HTTP at ADDRESS:PORT, at PORT of 127.0.0.1, or at unix:PATH",
     "Off: whoever can connect may use a port without keys."},
    {"http-keys", Kind::kPath, kHttp, "", "none: no key is asked for", "a file", 0, 0, true,
     "file of API keys (cascadectl key new); needed to serve beyond this machine",
     "A daemon for one person on one machine needs none."},
    {"http-host", Kind::kList, kHttp, "", "localhost and the addresses of this machine only",
     "host names", 0, 0, false, "another name that HTTP clients may call this machine by",
     "Other names are refused, so that web pages cannot reach it by a name of their own."},
    {"http-origin", Kind::kList, kHttp, "", "none: pages of other sites are refused",
     "SCHEME://HOST or SCHEME://HOST:PORT, or * for all", 0, 0, false,
     "a site whose pages may use HTTP from browsers, such as https://app.example (CORS)",
     "Or else any page that somebody visits could use the model unnoticed. The value * needs "
     "http-keys, and an address of this machine."},
    {"http-model-alias", Kind::kList, kHttp, "", "none", "ALIAS=NAME", 0, 0, false,
     "another name for a model, for programs that insist on theirs: gpt-4o=default",
     "A name that no model has is an error, so that nobody is answered by another model than they "
     "asked for."},

    {"tcp", Kind::kText, kTcp, "", "no TCP", "ADDRESS:PORT, or PORT of 127.0.0.1", 0, 0, false,
     "serve ZeroMQ clients of other machines at tcp://ADDRESS:PORT, encrypted (CURVE)",
     "Off: clients on this machine have the ipc socket. It needs tcp-key and tcp-clients."},
    {"tcp-key", Kind::kPath, kTcp, "", "none", "a file", 0, 0, false,
     "file of the daemon's key pair (cascadectl key new --curve)",
     "Clients know the daemon by its public key. Nobody else may read the file."},
    {"tcp-clients", Kind::kPath, kTcp, "", "none", "a file", 0, 0, true,
     "file of the public keys that may connect, and their tenants (cascadectl key allow)",
     "A key that is not in it does not get past the handshake."},

    {"kv-memory", Kind::kSize, kMemory, "", "half of the memory that the process may use", "", 0, 0,
     false, "most memory for KV pages",
     "The weights take memory beside it, and the system needs some; it is taken as it is needed, "
     "and given back when it is not."},
    {"max-model-memory", Kind::kSize, kMemory, "", "no limit", "", 0, 0, false,
     "most memory that all loaded models may take, as estimated: weights, kv-memory each, buffers; "
     "beyond it the one not used for longest is unloaded",
     "What fits depends on the models: see cascadectl model list. The default model stays."},
    {"grammar-memory", Kind::kSize, kMemory, "64M", "", "", 0, 0, false,
     "most memory for compiled grammars of each loaded model; beyond it those not used for longest "
     "are compiled again when they come back",
     "A grammar takes some 10 to 200 KiB, and up to 5 MiB with what is learned of it while answers "
     "are held to it."},
    {"max-disk", Kind::kSize, kMemory, "10G", "", "", 0, 0, false,
     "most disk space for KV pages in the state directory; beyond it those not used for longest "
     "go, but "
     "none of pinned chunks",
     "Room for 80,000 tokens of a model with 128 KiB a token; texts come on top and are small."},
    {"eviction", Kind::kChoice, kMemory, "hybrid", "", "lru, lfu, priority, hybrid, adaptive", 0, 0,
     false, "which pages go first when memory is full",
     "It weighs recency, use, priority and what a page costs to compute "
     "(docs/PERFORMANCE.md)."},
    {"think-policy", Kind::kChoice, kMemory, "reprefill", "", "reprefill, keep, drop", 0, 0, true,
     "what is kept of an output with thoughts, unless a request says otherwise: the answer, all, "
     "or nothing",
     "It is what chat templates do with history, at the price of computing the answer once "
     "more in idle time."},
    {"max-pinned", Kind::kShare, kMemory, "0.5", "", "", 0, 0, true,
     "share of the KV pages that pinned chunks may keep from eviction",
     "The other half is there for running requests, whoever pins what."},
    {"chunk-memory-ratio", Kind::kShare, kMemory, "0.9", "", "", 0, 0, true,
     "share of the KV pages that retained chunks may hold; beyond it the least valuable let go",
     "Some pages stay free of them, so that a new conversation starts at once."},

    {"max-waiting", Kind::kInteger, kLimits, "64", "", "requests", 1, 100'000, true,
     "requests that may wait",
     "More would wait for minutes; they are told when to come again instead."},
    {"max-waiting-tokens", Kind::kInteger, kLimits, "131072", "", "tokens", 1, int64_t{1} << 40,
     true, "tokens that the prompts of waiting requests may have in all (one may have more)",
     "A few long prompts keep a machine busy for as long as many short ones."},
    {"max-running", Kind::kInteger, kLimits, "16", "", "requests", 1, 256, true,
     "requests that run together",
     "Beyond some 8 to 16 a batch gains little speed, and each answer gets slower."},
    {"max-tokens", Kind::kInteger, kLimits, "2048", "", "tokens", 1, 1 << 24, true,
     "tokens of an answer whose request sets no limit",
     "Ends models that never stop; long answers ask for more."},
    {"stop-timeout", Kind::kInteger, kLimits, "10", "", "seconds", 1, 3600, true,
     "seconds that a stop may take: running requests may end, what they leave is written",
     "Less than what service managers wait for (TimeoutStopSec=, 40 s)."},

    {"log-level", Kind::kChoice, kLog, "info", "", "debug, info, warn, error", 0, 0, true,
     "least severity of what is logged, to standard error",
     "That is some lines a start and a stop, and nothing a request; texts of users are never "
     "logged."},
};

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

}  // namespace cascade::config
