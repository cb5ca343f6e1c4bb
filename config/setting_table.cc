// The table. A new setting is a row here, and a line in daemon/options.cc that takes its value.
#include "base/attention_mode.h"
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
    {"model", Kind::kPath, kModel, "", "none: it must be given", "a folder or a file", 0, 0, false,
     "folder of the model (Hugging Face layout), or a GGUF file",
     "The daemon only reads it. This model is always loaded, and answers every request that "
     "names no other model."},
    {"models-dir", Kind::kPath, kModel, "", "none: there is one model", "a folder", 0, 0, false,
     "folder of further models: folders and GGUF files, loaded when a request names one",
     "Most machines have memory for one model."},
    {"chat-template", Kind::kList, kModel, "", "the models' own", "[NAME=]FILE", 0, 0, false,
     "file with a chat template (Jinja) that replaces the model's own; NAME=FILE replaces the "
     "template of the model NAME",
     "A model whose template cannot be used is loaded, and answers raw prompts only."},
    {"rope-scaling", Kind::kList, kModel, "", "the models' own", "[NAME=]TYPE:FACTOR[:ORIGINAL]", 0,
     0, false,
     "RoPE scaling that replaces the one in the model's files, so that the model takes longer "
     "contexts: "
     "yarn:FACTOR or linear:FACTOR, followed by :ORIGINAL (the positions it was trained with) "
     "if the files do not say that; NAME=... is for the model NAME",
     "Scaling changes all answers, also those to short prompts."},
    {"weights", Kind::kChoice, kModel, "auto", "",
     "auto, f32, bf16, int8, int4, q4k, q5k, q6k, mxfp4", 0, 0, false,
     "number type of the weights; auto: the types that suit the model's files",
     "auto keeps the files' values, exactly or nearly: Q4_K, Q5_K, Q6_K and MXFP4 stay as they "
     "are, "
     "and Q3_K becomes q6k, with twice its bytes. All other matrices depend on what most bytes of "
     "the files are: plain numbers, then they become bf16; K-quants, MXFP4 or Q4_0, then they "
     "become "
     "int4 if they are Q4_0, else int8; other blocks, then int8. int8 is nearly twice as fast as "
     "bf16 and costs 0.1 % of perplexity (docs/QUALITY.md)."},
    {"kv", Kind::kChoice, kModel, "int8", "", "f32, bf16, fp16, fp8, int8", 0, 0, false,
     "number type of the KV cache",
     "int8 takes half of the memory of bf16 and costs 0.03 % of perplexity."},
    {"isa", Kind::kChoice, kModel, "",
     "the best that this machine has; openblas if it has no vector set, and the library is "
     "installed",
     "scalar, avx2, avx512, avx512vnni, neon, openblas", 0, 0, false,
     "instruction set of the kernels",
     "Set it only for comparisons: all sets except openblas give the same bits."},
    {"threads", Kind::kInteger, kModel, "", "the machine's hardware threads, at most 256",
     "threads", 1, 256, false, "threads that compute",
     "Fewer threads leave cores to other programs; more threads than cores make everything "
     "slower."},

    {"run-dir", Kind::kPath, kPlaces, "",
     "the first of these: $RUNTIME_DIRECTORY; /run/cascaded, if it belongs to this user or (for "
     "root) does not exist; $XDG_RUNTIME_DIR/cascaded; /run/user/UID/cascaded; /tmp/cascaded-UID",
     "a folder", 0, 0, false, "folder of the socket",
     "Only the owner may have write access; anyone else who could write there could impersonate "
     "the daemon."},
    {"state-dir", Kind::kPath, kPlaces, "",
     "$STATE_DIRECTORY, $XDG_STATE_HOME/cascade or ~/.local/state/cascade", "a folder, or nothing",
     0, 0, false,
     "folder of everything that outlives the daemon: chunks, KV pages, packed weights; with the "
     "value \"\", nothing is kept",
     "It holds the texts of prompts and answers, so the daemon makes it with mode 0700."},
    {"cache-dir", Kind::kPath, kPlaces, "", "$CACHE_DIRECTORY, or else the state directory",
     "a folder, or nothing", 0, 0, false,
     "folder of packed weights, which may be deleted: the next start packs them again",
     "It is separate from the state, so that backups leave it out."},
    {"endpoint", Kind::kText, kPlaces, "", "ipc://RUN_DIR/cascaded.sock", "ipc:// and a path", 0, 0,
     false, "where clients connect (ipc://PATH)",
     "Clients look only at the default place; give them --endpoint if this differs."},
    {"tenant", Kind::kList, kPlaces, "", "none", "names of a-z, 0-9, _ and -", 0, 0, false,
     "another tenant, with chunks and pages of its own, at the socket RUN_DIR/tenant-NAME.sock",
     "One tenant, local, always exists: users who trust each other can share it."},

    {"http", Kind::kText, kHttp, "",
     "no HTTP, except on a socket that systemd passes (cascaded.socket)",
     "ADDRESS:PORT, PORT or unix:PATH", 0, 0, false,
     "serve HTTP at ADDRESS:PORT, at PORT of 127.0.0.1, or at unix:PATH",
     "HTTP is off by default: anybody who can connect to a port that has no keys can use it."},
    {"http-keys", Kind::kPath, kHttp, "", "none: clients need no key", "a file", 0, 0, true,
     "file of API keys (cascadectl key new); required to serve other machines",
     "A daemon for one person on one machine needs none."},
    {"http-host", Kind::kList, kHttp, "", "localhost and the addresses of this machine only",
     "host names", 0, 0, false, "another host name by which HTTP clients may address this machine",
     "Other names are refused, so that a web page cannot reach the daemon by a host name of its "
     "own."},
    {"http-origin", Kind::kList, kHttp, "", "none: pages of other sites are refused",
     "SCHEME://HOST or SCHEME://HOST:PORT, or * for all", 0, 0, false,
     "a web site whose pages may call the daemon from browsers, such as https://app.example "
     "(CORS)",
     "If other sites were not refused, any page that somebody visits could use the model "
     "unnoticed. With the value *, http_keys must be set, and http must be a loopback address or "
     "a unix socket."},
    {"http-model-alias", Kind::kList, kHttp, "", "none", "ALIAS=NAME", 0, 0, false,
     "another name for a model, for programs that insist on a name of their own: gpt-4o=default",
     "A name that no model has is an error, so that nobody gets an answer from a model that they "
     "did not ask for."},

    {"tcp", Kind::kText, kTcp, "", "no TCP", "ADDRESS:PORT, or PORT of 127.0.0.1", 0, 0, false,
     "serve ZeroMQ clients of other machines at tcp://ADDRESS:PORT, encrypted (CURVE)",
     "TCP is off by default: clients on this machine have the ipc socket. It needs tcp_key and "
     "tcp_clients."},
    {"tcp-key", Kind::kPath, kTcp, "", "none", "a file", 0, 0, false,
     "file of the daemon's key pair (cascadectl key new --curve)",
     "Clients know the daemon by its public key. Nobody else may read the file."},
    {"tcp-clients", Kind::kPath, kTcp, "", "none", "a file", 0, 0, true,
     "file of the public keys of clients that may connect, with their tenants (cascadectl key "
     "allow)",
     "A client whose key is not in it fails in the handshake."},

    {"kv-memory", Kind::kSize, kMemory, "", "half of the memory that the process may use", "", 0, 0,
     false, "the most memory that KV pages may take",
     "The weights need memory, too, and so does the system. Pages take memory when they need it, "
     "and give it back when they do not."},
    {"state-memory", Kind::kSize, kMemory, "",
     "an eighth of the memory that the process may use, from 256M to 2G", "", 0, 0, false,
     "the most memory that states of recurrent layers may take, for each loaded model that has "
     "such layers",
     "A prompt of such a model goes on from a kept state of its chain. A state of "
     "Qwen3.5-0.8B takes 19 MiB."},
    {"max-model-memory", Kind::kSize, kMemory, "", "no limit", "", 0, 0, false,
     "the most memory that all loaded models may take by estimate (weights, kv_memory, "
     "state_memory and buffers of each); beyond it, the model that has been unused for longest is "
     "unloaded",
     "How many fit depends on the models: see cascadectl model list. The default model stays "
     "loaded."},
    {"grammar-memory", Kind::kSize, kMemory, "64M", "", "", 0, 0, false,
     "the most memory for compiled grammars of each loaded model; beyond it, those that have "
     "been unused for longest are removed, and compiled again when they are needed",
     "A grammar takes about 10 to 200 KiB. While it constrains answers, up to 5 MiB of "
     "intermediate results are kept with it."},
    {"max-disk", Kind::kSize, kMemory, "10G", "", "", 0, 0, false,
     "the most disk space for KV pages in the state directory; beyond it, those that have been "
     "unused for longest are removed, except those that pinned chunks need",
     "This is room for 80,000 tokens of a model with 128 KiB for each token; the texts "
     "of chunks take little more."},
    {"max-state-disk", Kind::kSize, kMemory, "10G", "", "", 0, 0, false,
     "the most disk space for states of recurrent layers in the state directory; beyond it, those "
     "that have been unused for longest are removed, except those at the ends of pinned chains",
     "A conversation with such a model goes on after a restart from a state on disk. A turn of it "
     "keeps up to three."},
    {"eviction", Kind::kChoice, kMemory, "hybrid", "", "lru, lfu, priority, hybrid, adaptive", 0, 0,
     false, "which pages are evicted first when memory is full",
     "hybrid weighs recency, use, priority and what a page costs to compute "
     "(docs/PERFORMANCE.md)."},
    {"think-policy", Kind::kChoice, kMemory, "reprefill", "", "reprefill, keep, drop, splice, mask",
     0, 0, true,
     "what is kept of an output with thoughts: its KV without the thoughts (reprefill), all of its "
     "KV (keep), only its text (drop), or the answer's KV as it was computed after the thoughts, "
     "moved to its new place (splice) or not (mask); a request may say otherwise",
     "Chat templates leave thoughts out of the history, too; the price of reprefill is that the "
     "answer is computed once more, in idle time. splice and mask are approximations "
     "(docs/REUSE.md): only requests with the same policy find them, and they end with the "
     "daemon."},
    {"heal", Kind::kChoice, kMemory, "no", "", "no, yes", 0, 0, true,
     "whether idle time replaces approximate KV (think_policy splice, mask) by exact KV; a request "
     "may say otherwise",
     "Until then, the next turn goes on from the approximation, and need not wait."},
    {"summary-prompt", Kind::kText, kMemory, "",
     "a text that asks for all facts that may be needed later, and for at most {words} words",
     "a text", 0, 0, false,
     "what the model is asked for when it summarizes turns of a conversation (on_overflow = "
     "summarize): the turns come first, then this text; {words} in it stands for the most words "
     "that the summary may have",
     "A text in the language of the conversations, or one that names what matters in them, may "
     "give better summaries."},
    {"summary-divisor", Kind::kInteger, kMemory, "8", "", "times", 2, 64, false,
     "how many times shorter a summary of turns is than the turns, at least",
     "Longer summaries keep more, but leave less room for the turns that stay, and take longer to "
     "write."},
    {"attention", Kind::kText, kMemory, "dense", "", kAttentionForms, 0, 0, false,
     "what a token attends to: all tokens before it (dense), W recent ones and the first S "
     "(window; 4096 and 64 if left out), or the first page, recent pages, and pages with B tokens "
     "that each head chooses in layers after the first D (select; 4096 and 0); or all tokens, "
     "after tokens were guessed with select (verify; 4096 and 0); a request may say otherwise",
     "dense is exact. verify gives the same bits as dense, and long answers faster after long "
     "prompts. With a window, memory stays flat and long answers stay fast, but the model does not "
     "see what lies between. With select, long answers are fastest and the model finds nearly all "
     "of it (docs/LONG_CONTEXT.md). With a window, no K and V are kept on disk."},
    {"max-pinned", Kind::kShare, kMemory, "0.5", "", "", 0, 0, true,
     "the largest share of the KV pages that pinned chunks may protect from eviction",
     "With the default, the other half stays free for running requests, whatever is pinned."},
    {"chunk-memory-ratio", Kind::kShare, kMemory, "0.9", "", "", 0, 0, true,
     "the largest share of the KV pages that retained chunks may hold; beyond it, the least "
     "valuable chunks release their pages",
     "Some pages stay free, so that a new conversation starts at once."},

    {"max-waiting", Kind::kInteger, kLimits, "64", "", "requests", 1, 100'000, true,
     "how many requests may wait",
     "Further requests would wait for minutes, so they are refused and told when to come again."},
    {"max-waiting-tokens", Kind::kInteger, kLimits, "131072", "", "tokens", 1, int64_t{1} << 40,
     true,
     "how many tokens the prompts of all waiting requests may have (a request may have "
     "more if no other request of its tenant waits)",
     "A few long prompts keep a machine busy for as long as many short ones."},
    {"max-running", Kind::kInteger, kLimits, "16", "", "requests", 1, 256, true,
     "how many requests run together",
     "Beyond 8 to 16, a batch gains little speed, and each answer becomes slower."},
    {"max-tokens", Kind::kInteger, kLimits, "2048", "", "tokens", 1, 1 << 24, true,
     "the most tokens of an answer whose request sets no limit",
     "This ends the answers of models that never stop; a request for a longer answer sets its "
     "own limit."},
    {"stop-timeout", Kind::kInteger, kLimits, "10", "", "seconds", 1, 3600, true,
     "how many seconds a stop may take: running requests have this time to finish, and their "
     "results are written",
     "The default is less than the time that service managers wait (TimeoutStopSec=, 40 s)."},

    {"log-level", Kind::kChoice, kLog, "info", "", "debug, info, warn, error", 0, 0, true,
     "the least severity that is logged, to standard error",
     "A start and a stop log a few lines; a request logs nothing. Texts of users are never "
     "logged."},
};

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

}  // namespace cascade::config
