// Every message of the protocol: between clients and the gateway, and between actors.
#pragma once

#include <variant>

#include "wire/actor_messages.h"
#include "wire/reply_messages.h"
#include "wire/request_messages.h"

namespace cascade::wire {

// The position in this list is the type number on the wire: from the first release on, only append.
using Message = std::variant<
    Ping, StatusRequest, GenerateRequest, CancelRequest, ChunkPut, ChunkListRequest, ChunkGet,
    ChunkDelete, ChunkUpdate, StatsRequest, PrefixCache, PrefixAttach, PrefixRelease, ChunkSearch,
    FsckRequest, BackupRequest, SessionListRequest, SessionGet, SessionDelete, PolicyGet, PolicySet,
    TokenizeRequest, DetokenizeRequest, ApplyTemplateRequest, EventsRequest, DeltaCredit, Pong, StatusReply,
    Accepted, Progress, Delta, Final, ChunkReply, PrefixReply, ChunkListReply, ChunkSearchReply,
    StatsReply, FsckReply, BackupReply, SessionListReply, SessionReply, PolicyReply, TokenizeReply,
    DetokenizeReply, ApplyTemplateReply, EventNotice, EventsReply, Ack, ErrorReply, ActorHello,
    Stop, EncodeJob, EncodeDone, PrefillJob, PrefillDone, DecodeJob, DecodeDone, StorePut,
    StoreDelete, StoreTouch, StoreLoad, StoreAck, StoreChunks, StorePages, StorePagesDone,
    LoadPages, LoadPagesDone, RemovePages, StoredPages, PrefetchPages, StoreUses, StoreChain,
    PendingChain, ReadChain, StoredChain, StoreSearch, StoreFound, StoreCheck, StoreChecked,
    StoreBackup, StoreBackedUp, PagesForgotten, StoreSession, StoreSessionDelete, StorePolicy,
    StoredSettings, ClientGone>;

// Types 0 .. kClientMessageCount-1 may come from clients; a gateway refuses the others.
inline constexpr size_t kClientMessageCount = 26;

}  // namespace cascade::wire
