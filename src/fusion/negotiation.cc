#include "fusion/negotiation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace phalanx::fusion {
namespace {

using ordering::Signature;

// Room for uses that can't be told by a bit: new keys, and known ones with other arguments. What
// doesn't fit waits for the next round.
constexpr size_t kNewsBytes = 1024;
// Beyond so many the key that was used longest ago makes room, so that a program that makes up new
// keys without end doesn't fill the memory.
constexpr size_t kMostKeys = 4096;

// How a use is told by name: this, then the key. A length of 0 ends the news.
struct NewsHeader {
  uint64_t count;
  uint8_t key_bytes;
  uint8_t type;
  uint8_t reduce;
};
constexpr size_t kHeaderBytes = sizeof(uint64_t) + 3;

uint64_t BytesOf(const Signature& signature) { return signature.count * SizeOf(signature.type); }

bool Valid(const NewsHeader& header) {
  return header.type < kDataTypeCount && header.reduce < kReduceOpCount;
}

void Write(const NewsHeader& header, const std::string& key, char* to) {
  std::memcpy(to, &header.count, sizeof(header.count));
  to[8] = static_cast<char>(header.key_bytes);
  to[9] = static_cast<char>(header.type);
  to[10] = static_cast<char>(header.reduce);
  std::memcpy(to + kHeaderBytes, key.data(), key.size());
}

NewsHeader ReadHeader(const char* from) {
  NewsHeader header{};
  std::memcpy(&header.count, from, sizeof(header.count));
  header.key_bytes = static_cast<uint8_t>(from[8]);
  header.type = static_cast<uint8_t>(from[9]);
  header.reduce = static_cast<uint8_t>(from[10]);
  return header;
}

}  // namespace

void Negotiation::Add(absl::string_view key, const Signature& signature) {
  auto found = own_.find(std::string_view(key.data(), key.size()));
  if (found == own_.end()) found = own_.emplace(std::string(key), Own{}).first;
  Own& own = found->second;
  if (own.uses.empty()) ++untold_;
  own.uses.push_back(signature);
  ++waiting_;
  waiting_bytes_ += BytesOf(signature);
}

size_t Negotiation::MessageBytes() const { return BitBytes() + kNewsBytes; }

std::string Negotiation::Message() {
  std::string message(MessageBytes(), '\0');
  size_t at = BitBytes();
  for (auto& [key, own] : own_) {
    if (own.uses.empty() || own.told) continue;
    const Signature& use = own.uses.front();
    const auto known = indices_.find(key);
    if (known != indices_.end() && entries_[known->second].signature == use) {
      char& bits = message[known->second / 8];
      bits = static_cast<char>(static_cast<unsigned char>(bits) | 1U << known->second % 8);
    } else {
      // One byte stays for the end.
      if (at + kHeaderBytes + key.size() >= message.size()) continue;
      Write({use.count, static_cast<uint8_t>(key.size()), static_cast<uint8_t>(use.type),
             static_cast<uint8_t>(use.reduce)},
            key, &message[at]);
      at += kHeaderBytes + key.size();
    }
    own.told = true;
    --untold_;
  }
  return message;
}

absl::StatusOr<Conclusion> Negotiation::Conclude(absl::Span<const std::string> messages) {
  ++round_;
  const size_t bit_bytes = BitBytes();
  for (int rank = 0; rank < settings_.size; ++rank) {
    PHX_RETURN_IF_ERROR(ReadBits(rank, messages[static_cast<size_t>(rank)]));
  }
  // After all bits, which speak of the entries as they were: a new key may take an old one's place.
  for (int rank = 0; rank < settings_.size; ++rank) {
    const absl::string_view message = messages[static_cast<size_t>(rank)];
    PHX_RETURN_IF_ERROR(ReadNews(rank, message.substr(bit_bytes)));
  }
  Conclusion conclusion;
  open_.clear();
  for (Entry& entry : entries_) {
    if (entry.ready_ranks == settings_.size) Settle(&entry, &conclusion);
  }
  return conclusion;
}

absl::Status Negotiation::ReadBits(int rank, absl::string_view message) {
  if (message.size() != MessageBytes()) {
    return absl::InternalError(absl::StrCat("rank ", rank, " sent ", message.size(),
                                            " bytes in a round of fusion, not ", MessageBytes()));
  }
  for (size_t index = 0; index < entries_.size(); ++index) {
    const auto bits = static_cast<unsigned char>(message[index / 8]);
    if ((bits >> index % 8 & 1U) != 0) SetReady(index, rank, entries_[index].signature);
  }
  return absl::OkStatus();
}

absl::Status Negotiation::ReadNews(int rank, absl::string_view news) {
  for (size_t at = 0; at + kHeaderBytes < news.size();) {
    const NewsHeader header = ReadHeader(news.data() + at);
    if (header.key_bytes == 0) break;
    at += kHeaderBytes;
    if (!Valid(header) || at + header.key_bytes > news.size()) {
      return absl::InternalError(
          absl::StrCat("rank ", rank, " sent what is no news in a round of fusion"));
    }
    Signature signature;
    signature.kind = ordering::OpKind::kAllReduce;
    signature.type = static_cast<DataType>(header.type);
    signature.reduce = static_cast<ReduceOp>(header.reduce);
    signature.count = header.count;
    const std::string key(news.substr(at, header.key_bytes));
    at += header.key_bytes;
    SetReady(EntryFor(key, signature), rank, signature);
  }
  return absl::OkStatus();
}

size_t Negotiation::EntryFor(const std::string& key, const Signature& signature) {
  const auto found = indices_.find(key);
  if (found != indices_.end()) return found->second;
  size_t index = entries_.size();
  if (entries_.size() >= kMostKeys) {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const bool idle = entries_[i].ready_ranks == 0 && entries_[i].last_round < round_;
      if (!idle) continue;
      if (index == entries_.size() || entries_[i].last_round < entries_[index].last_round)
        index = i;
    }
  }
  if (index == entries_.size()) {
    entries_.emplace_back();
  } else {
    indices_.erase(entries_[index].key);
  }
  Entry& entry = entries_[index];
  entry = Entry{key, signature, {}, 0, round_};
  entry.ready.resize(static_cast<size_t>(settings_.size));
  indices_.emplace(key, index);
  return index;
}

void Negotiation::SetReady(size_t index, int rank, const Signature& signature) {
  Entry& entry = entries_[index];
  auto& ready = entry.ready[static_cast<size_t>(rank)];
  if (!ready.has_value()) ++entry.ready_ranks;
  ready = signature;
  entry.last_round = round_;
}

void Negotiation::Settle(Entry* entry, Conclusion* conclusion) {
  const auto differs = std::find_if(entry->ready.begin(), entry->ready.end(),
                                    [&](const auto& ready) { return *ready != *entry->ready[0]; });
  if (differs == entry->ready.end()) {
    entry->signature = *entry->ready[0];
    AddToBatch(*entry, conclusion);
  } else {
    const auto rank = static_cast<int>(differs - entry->ready.begin());
    conclusion->mismatches.push_back({entry->key, {0, *entry->ready[0]}, {rank, **differs}});
  }
  PopOwn(entry->key);
  std::fill(entry->ready.begin(), entry->ready.end(), std::nullopt);
  entry->ready_ranks = 0;
}

void Negotiation::AddToBatch(const Entry& entry, Conclusion* conclusion) {
  const Signature& use = entry.signature;
  const uint64_t bytes = BytesOf(use);
  const bool alone = use.reduce == ReduceOp::kPreMultipliedSum || bytes > settings_.most_bytes;
  const auto kind = std::make_pair(use.type, use.reduce);
  const auto open = open_.find(kind);
  if (!alone && open != open_.end() && open->second.second + bytes <= settings_.most_bytes) {
    conclusion->batches[open->second.first].keys.push_back(entry.key);
    open->second.second += bytes;
    return;
  }
  if (!alone) open_[kind] = {conclusion->batches.size(), bytes};
  conclusion->batches.push_back({{entry.key}});
}

void Negotiation::PopOwn(const std::string& key) {
  const auto found = own_.find(key);
  Own& own = found->second;
  waiting_bytes_ -= BytesOf(own.uses.front());
  --waiting_;
  own.uses.pop_front();
  own.told = false;
  if (own.uses.empty()) {
    own_.erase(found);
  } else {
    ++untold_;
  }
}

std::vector<int> Negotiation::MissingFor(absl::string_view key) const {
  std::vector<int> missing;
  const auto found = indices_.find(std::string_view(key.data(), key.size()));
  for (int rank = 0; rank < settings_.size; ++rank) {
    const bool ready = found == indices_.end()
                           ? rank == settings_.rank
                           : entries_[found->second].ready[static_cast<size_t>(rank)].has_value();
    if (!ready) missing.push_back(rank);
  }
  return missing;
}

}  // namespace phalanx::fusion
