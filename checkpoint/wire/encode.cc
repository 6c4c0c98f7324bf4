#include <vector>

#include "checkpoint_generated.h"
#include "checkpoint_wire/codec.h"

namespace phalanx::checkpoint {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

wire::Name Pack(const VersionName& name) { return {name.version, name.epoch}; }
wire::Term Pack(const Term& term) { return {term.epoch, term.claim}; }
wire::Digest Pack(const Digest& digest) { return {digest.high, digest.low}; }
wire::Item Pack(const ShardItem& item) { return {Pack(item.name), Pack(item.digest), item.rank}; }

template <typename Item>
auto PackAll(FlatBufferBuilder& builder, const std::vector<Item>& items) {
  std::vector<decltype(Pack(std::declval<const Item&>()))> packed;
  packed.reserve(items.size());
  for (const Item& item : items) packed.push_back(Pack(item));
  return builder.CreateVectorOfStructs(packed);
}

// One overload a message: builds its table.
struct Encoder {
  FlatBufferBuilder& builder;

  auto operator()(const Ask& ask) {
    const wire::Term term = Pack(ask.term);
    return wire::CreateAsk(builder, &term);
  }
  auto operator()(const Orders& orders) {
    const wire::Term term = Pack(orders.term);
    const auto kept = PackAll(builder, orders.kept);
    const auto in_flight = PackAll(builder, orders.in_flight);
    return wire::CreateOrders(builder, &term, orders.sequence, kept, in_flight, orders.decided);
  }
  auto operator()(const Fetch& fetch) {
    const wire::Name name = Pack(fetch.name);
    const wire::Digest digest = Pack(fetch.digest);
    return wire::CreateFetch(builder, fetch.rank, &name, static_cast<uint8_t>(fetch.source.kind),
                             fetch.source.agent, &digest, fetch.round);
  }
  auto operator()(const Restored& restored) {
    const wire::Name name = Pack(restored.name);
    return wire::CreateRestored(builder, &name);
  }
  auto operator()(const Inventory& inventory) {
    const wire::Term term = Pack(inventory.term);
    const auto items = PackAll(builder, inventory.items);
    Offset<wire::Orders> orders;
    if (inventory.orders.has_value()) orders = (*this)(*inventory.orders);
    return wire::CreateInventory(builder, &term, items, orders);
  }
  auto operator()(const Stored& stored) {
    const wire::Item item = Pack(stored.shard);
    return wire::CreateStored(builder, &item);
  }
  auto operator()(const CopyIsBad& bad) {
    const wire::Name name = Pack(bad.name);
    return wire::CreateCopyIsBad(builder, &name, bad.rank);
  }
  auto operator()(const Wants& wants) {
    const wire::Name name = Pack(wants.name);
    return wire::CreateWants(builder, wants.rank, &name);
  }
  auto operator()(const FetchEnded& ended) {
    const wire::Name name = Pack(ended.name);
    return wire::CreateFetchEnded(builder, ended.rank, &name,
                                  static_cast<uint8_t>(ended.source.kind), ended.source.agent,
                                  static_cast<uint8_t>(ended.result), ended.bytes);
  }
  auto operator()(const OpenRooms& open) { return wire::CreateOpenRooms(builder, open.bytes); }
  auto operator()(const Reached& reached) { return wire::CreateReached(builder, reached.version); }
  auto operator()(const Taken& taken) { return wire::CreateTaken(builder, taken.version); }
  auto operator()(const AwaitsState&) { return wire::CreateAwaitsState(builder); }
  auto operator()(const Loaded& loaded) {
    return wire::CreateLoaded(builder, loaded.round, static_cast<uint8_t>(loaded.result));
  }
  auto operator()(const Rooms& rooms) { return wire::CreateRooms(builder, rooms.count); }
  auto operator()(const Verdict& verdict) {
    return wire::CreateVerdict(builder, verdict.version, verdict.room);
  }
  auto operator()(const DescribeState& state) {
    std::vector<Offset<wire::Region>> regions;
    for (const DescribeState::Region& region : state.regions) {
      regions.push_back(
          wire::CreateRegion(builder, builder.CreateString(region.name), region.bytes));
    }
    return wire::CreateDescribeState(builder, builder.CreateVector(regions));
  }
  auto operator()(const AskTier&) { return wire::CreateAskTier(builder); }
  auto operator()(const Tier& tier) {
    std::vector<Offset<wire::TierVersion>> versions;
    for (const TierVersion& version : tier.versions) {
      const wire::Name name = Pack(version.name);
      versions.push_back(wire::CreateTierVersion(builder, &name, builder.CreateString(version.job),
                                                 version.ranks, version.committed_unix_ms));
    }
    const auto all = builder.CreateVector(versions);
    return wire::CreateTier(builder, all, Text(tier.problem));
  }
  auto operator()(const Persist& persist) {
    const wire::Name name = Pack(persist.name);
    return wire::CreatePersist(builder, &name, persist.ranks);
  }
  auto operator()(const ShardWritten& written) {
    const wire::Name name = Pack(written.name);
    const wire::Digest digest = Pack(written.digest);
    return wire::CreateShardWritten(builder, &name, written.rank, written.bytes, &digest,
                                    written.crc32c);
  }
  auto operator()(const PersistFailed& failed) {
    const wire::Name name = Pack(failed.name);
    return wire::CreatePersistFailed(builder, &name, failed.rank, Text(failed.problem));
  }
  Offset<flatbuffers::String> Text(const std::string& text) {
    return builder.CreateString(text.substr(0, kMaxProblemBytes));
  }
  auto operator()(const Load& load) {
    const wire::Name name = Pack(load.name);
    const wire::Digest digest = Pack(load.digest);
    return wire::CreateLoad(builder, &name, &digest, load.round, load.bytes, load.is_initial);
  }
  auto operator()(const PeerAddress& peer) {
    return wire::CreatePeerAddress(builder, peer.agent, builder.CreateString(peer.host), peer.port);
  }
  auto operator()(const Copy& copy) {
    const wire::Name name = Pack(copy.name);
    const wire::Digest digest = Pack(copy.digest);
    return wire::CreateCopy(builder, &name, copy.rank, copy.from, &digest);
  }
  auto operator()(const CopyEnded& ended) {
    const wire::Name name = Pack(ended.name);
    return wire::CreateCopyEnded(builder, &name, ended.rank, ended.from,
                                 static_cast<uint8_t>(ended.result), ended.bytes);
  }
  auto operator()(const ReadPart& read) {
    const wire::Name name = Pack(read.name);
    return wire::CreateReadPart(builder, &name, read.rank, read.offset, read.bytes, read.urgent);
  }
  auto operator()(const CheckShard& check) {
    const wire::Name name = Pack(check.name);
    return wire::CreateCheckShard(builder, &name, check.rank);
  }
  auto operator()(const ShardPart& part) {
    const wire::Name name = Pack(part.name);
    const auto bytes = builder.CreateVector(reinterpret_cast<const uint8_t*>(part.bytes.data()),
                                            part.bytes.size());
    return wire::CreateShardPart(builder, &name, part.rank, part.offset, part.total, part.crc,
                                 bytes);
  }
  auto operator()(const NoShard& none) {
    const wire::Name name = Pack(none.name);
    return wire::CreateNoShard(builder, &name, none.rank);
  }
  auto operator()(const PartsLater& /*later*/) { return wire::CreatePartsLater(builder); }

  auto operator()(const AskStanding& ask) {
    const wire::Term term = Pack(ask.term);
    return wire::CreateAskStanding(builder, &term);
  }
  auto operator()(const Resolve& resolve) {
    const wire::Term term = Pack(resolve.term);
    return wire::CreateResolve(builder, &term, resolve.target);
  }
  auto operator()(const CopyRegions& copy) {
    const wire::Term term = Pack(copy.term);
    return wire::CreateCopyRegions(builder, &term, copy.target, copy.from);
  }
  auto operator()(const ServeRegions& serve) {
    const wire::Term term = Pack(serve.term);
    return wire::CreateServeRegions(builder, &term, serve.target, serve.to);
  }
  auto operator()(const ResumeSteps& resume) {
    const wire::Term term = Pack(resume.term);
    return wire::CreateResumeSteps(builder, &term);
  }
  auto operator()(const ApplyStep& apply) {
    const wire::Term term = Pack(apply.term);
    return wire::CreateApplyStep(builder, &term, apply.step);
  }
  auto operator()(const RollBackSteps& roll_back) {
    const wire::Term term = Pack(roll_back.term);
    return wire::CreateRollBackSteps(builder, &term);
  }
  auto operator()(const StepReport& report) {
    const wire::Term term = Pack(report.term);
    const StepBallot ballot = report.ballot.value_or(StepBallot{});
    return wire::CreateStepReport(builder, &term, report.whole, report.committed,
                                  report.ballot.has_value(), ballot.step, ballot.epoch);
  }
  auto operator()(const StepStands& stands) {
    const wire::Term term = Pack(stands.term);
    return wire::CreateStepStands(builder, &term, stands.committed, stands.copied_bytes);
  }
  auto operator()(const Vote& vote) {
    const wire::Term term = Pack(vote.term);
    return wire::CreateVote(builder, &term, vote.step);
  }
};

template <typename Table>
void Finish(FlatBufferBuilder& builder, Offset<Table> table) {
  builder.Finish(wire::CreateEnvelope(builder, wire::BodyTraits<Table>::enum_value, table.Union()),
                 wire::EnvelopeIdentifier());
}

}  // namespace

std::string Encode(const Message& message) {
  FlatBufferBuilder builder;
  std::visit([&](const auto& value) { Finish(builder, Encoder{builder}(value)); }, message);
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

}  // namespace phalanx::checkpoint
