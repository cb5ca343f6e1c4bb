// Every message of the protocol: between clients and the gateway, and between actors.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "wire/actor_messages.h"
#include "wire/reply_messages.h"
#include "wire/request_messages.h"
#include "wire/store_messages.h"

namespace cascade::wire {

// The position in this list is the type number on the wire. After the first release, new messages
// may only be appended.
using AnyMessage = std::variant<
    Ping, StatusRequest, GenerateRequest, CancelRequest, ChunkPut, ChunkListRequest, ChunkGet,
    ChunkDelete, ChunkUpdate, StatsRequest, PrefixCache, PrefixAttach, PrefixRelease, ChunkSearch,
    FsckRequest, BackupRequest, SessionListRequest, SessionGet, SessionDelete, PolicyGet, PolicySet,
    TokenizeRequest, DetokenizeRequest, ApplyTemplateRequest, EventsRequest, DeltaCredit, Pong,
    StatusReply, Accepted, Progress, Delta, Final, ChunkReply, PrefixReply, ChunkListReply,
    ChunkSearchReply, StatsReply, FsckReply, BackupReply, SessionListReply, SessionReply,
    PolicyReply, TokenizeReply, DetokenizeReply, ApplyTemplateReply, EventNotice, EventsReply, Ack,
    ErrorReply, ModelListRequest, ModelLoad, ModelUnload, ModelListReply, ModelReply, ActorHello,
    Stop, EncodeJob, EncodeDone, PrefillJob, PrefillDone, DecodeJob, DecodeDone, StorePut,
    StoreDelete, StoreTouch, StoreLoad, StoreAck, StoreChunks, StorePages, StorePagesDone,
    LoadPages, LoadPagesDone, RemovePages, StoredPages, PrefetchPages, StoreUses, StoreChain,
    PendingChain, ReadChain, StoredChain, StoreSearch, StoreFound, StoreCheck, StoreChecked,
    StoreBackup, StoreBackedUp, PagesForgotten, StoreSession, StoreSessionDelete, StorePolicy,
    StoredSettings, ClientGone, LeasePages, PagesLeased, ReleaseLeases, StoreState, StateStored,
    LoadState, StateLoaded, StatesForgotten, StoreRank, StoreRanked>;

template <class M, class T>
inline constexpr size_t kTypeIn = 0;
template <class M, class... Ts>
inline constexpr size_t kTypeIn<M, std::variant<Ts...>> = [] {
  size_t type = 0;
  static_cast<void>(((std::same_as<M, Ts> || (++type, false)) || ...));
  return type;
}();
// The type number of a message.
template <class M>
inline constexpr size_t kTypeOf = kTypeIn<M, AnyMessage>;

template <class M, class T>
inline constexpr bool kIsOneOf = false;
template <class M, class... Ts>
inline constexpr bool kIsOneOf<M, std::variant<Ts...>> = (std::same_as<M, Ts> || ...);

// A message of any type. It is made, copied and destroyed in one place (messages.cc): when every
// user of this header compiled that for a variant of so many types, it took most of the time of a
// build.
class Message : public AnyMessage {
 public:
  Message() = default;
  template <class M>
  requires kIsOneOf<M, AnyMessage> Message(
      M message)  // NOLINT(google-explicit-constructor): it stands for any of them
      : Message(kTypeOf<M>, &message) {}
  Message(const Message&);
  Message(Message&&) noexcept;
  Message& operator=(const Message&);
  Message& operator=(Message&&) noexcept;
  ~Message();

 private:
  // Takes the value that `message` points at, which is of that type.
  Message(size_t type, void* message);
};

// Whether messages of this type are about the daemon's models, so that no model answers them.
constexpr bool is_about_models(size_t type) {
  return type >= kTypeOf<ModelListRequest> && type <= kTypeOf<ModelUnload>;
}
// Whether messages of this type may come from clients. A gateway refuses the others.
constexpr bool is_from_client(size_t type) {
  return type < kTypeOf<Pong> || is_about_models(type);
}
// Whether a reply of this type is followed by more replies to the same request.
constexpr bool is_on_the_way(size_t type) {
  return type == kTypeOf<Accepted> || type == kTypeOf<Progress> || type == kTypeOf<Delta>;
}

}  // namespace cascade::wire
