#include "healing.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"

namespace phalanx::api {
namespace {

// Goes before the regions, so that nothing is received into a region of another size.
struct Header {
  uint64_t bytes = 0;
  checkpoint::Digest layout;
};

// What travels beside the regions. An operation that has timed out still uses it.
struct Letter {
  Header header;
  checkpoint::Digest digest;
};

Header HeaderOf(absl::Span<const StateRegion> regions) {
  Header header;
  checkpoint::StreamingDigest layout;
  for (const StateRegion& region : regions) {
    const std::string line = absl::StrCat(region.name.size(), " ", region.name, " ", region.bytes);
    layout.Add(line.data(), line.size());
    header.bytes += region.bytes;
  }
  header.layout = layout.Value();
  return header;
}

checkpoint::Digest DigestOfAll(absl::Span<const StateRegion> regions) {
  checkpoint::StreamingDigest digest;
  for (const StateRegion& region : regions) {
    if (region.bytes > 0) digest.Add(region.data, region.bytes);
  }
  return digest.Value();
}

// The letter stays until the operation lets go of it.
Work Keep(Work work, const std::shared_ptr<Letter>& letter) {
  work.Then([letter](const absl::Status& /*status*/) {});
  return work;
}

absl::Status WaitForAll(std::vector<Work>& works, Deadline deadline) {
  absl::Status status;
  for (Work& work : works) {
    status.Update(work.Wait(deadline.Left(Clock::now())));
  }
  return status;
}

absl::Status Serve(Communicator& world, int to, absl::Span<const StateRegion> regions,
                   Deadline deadline) {
  const auto letter = std::make_shared<Letter>();
  letter->header = HeaderOf(regions);
  std::vector<Work> works;
  works.push_back(
      Keep(world.Send(&letter->header, sizeof(letter->header), DataType::kUint8, to), letter));
  for (const StateRegion& region : regions) {
    if (region.bytes == 0) continue;
    works.push_back(world.Send(region.data, region.bytes, DataType::kUint8, to));
  }
  letter->digest = DigestOfAll(regions);
  works.push_back(
      Keep(world.Send(&letter->digest, sizeof(letter->digest), DataType::kUint8, to), letter));
  return WaitForAll(works, deadline);
}

absl::StatusOr<uint64_t> Copy(Communicator& world, int from, absl::Span<const StateRegion> regions,
                              Deadline deadline) {
  const auto letter = std::make_shared<Letter>();
  const Header expected = HeaderOf(regions);
  std::vector<Work> works;
  works.push_back(
      Keep(world.Receive(&letter->header, sizeof(letter->header), DataType::kUint8, from), letter));
  PHX_RETURN_IF_ERROR(WaitForAll(works, deadline));
  if (letter->header.bytes != expected.bytes || letter->header.layout != expected.layout) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", world.rank(), " was given regions of other names or sizes (",
                     expected.bytes, " bytes) than rank ", from, " (", letter->header.bytes,
                     " bytes); in a job that heals live they are the same on all ranks"));
  }
  works.clear();
  for (const StateRegion& region : regions) {
    if (region.bytes == 0) continue;
    works.push_back(world.Receive(region.data, region.bytes, DataType::kUint8, from));
  }
  works.push_back(
      Keep(world.Receive(&letter->digest, sizeof(letter->digest), DataType::kUint8, from), letter));
  PHX_RETURN_IF_ERROR(WaitForAll(works, deadline));
  if (DigestOfAll(regions) != letter->digest) {
    return absl::DataLossError(absl::StrCat("what rank ", world.rank(), " copied from rank ", from,
                                            " isn't what was sent"));
  }
  return expected.bytes;
}

}  // namespace

absl::StatusOr<int64_t> RestoreLive(Saver& saver, Stepper& stepper, Communicator& world,
                                    absl::Span<const StateRegion> regions, Deadline deadline) {
  PHX_RETURN_IF_ERROR(saver.BeginRestore(regions));
  while (true) {
    PHX_ASSIGN_OR_RETURN(const Stepper::Todo todo, stepper.AwaitTodo(deadline));
    switch (todo.kind) {
      case Stepper::Todo::Kind::kRestore:
        PHX_RETURN_IF_ERROR(saver.Restore(regions, deadline).status());
        break;
      case Stepper::Todo::Kind::kCopy: {
        saver.KeepFirst(regions);
        PHX_ASSIGN_OR_RETURN(const uint64_t bytes, Copy(world, todo.rank, regions, deadline));
        stepper.Copied(todo, bytes);
        break;
      }
      case Stepper::Todo::Kind::kServe:
        PHX_RETURN_IF_ERROR(Serve(world, todo.rank, regions, deadline));
        break;
      case Stepper::Todo::Kind::kGoOn:
        saver.GoOnAfter(todo.step);
        return todo.step + 1;
    }
  }
}

}  // namespace phalanx::api
