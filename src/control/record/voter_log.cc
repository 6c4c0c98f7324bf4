#include "control_record/voter_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint_digest/digest.h"
#include "control_process/spawn.h"
#include "record_bytes.h"

namespace phalanx::control {
namespace {

using membership::VoterId;
using membership::VoterState;

constexpr uint64_t kMagic = 0x3165746f76786870;  // "phxvote1"
// Far apart: what was never written takes no room.
constexpr uint64_t kPlaceBytes = uint64_t{1} << 32;
constexpr uint64_t kMostStateBytes = uint64_t{1} << 30;

struct Header {
  uint64_t magic = kMagic;
  uint64_t number = 0;
  uint64_t bytes = 0;
  uint32_t state_checksum = 0;
  uint32_t checksum = 0;  // of the header before this
};

uint32_t ChecksumOf(const Header& header) {
  return checkpoint::Crc32c(&header, offsetof(Header, checksum));
}

absl::Status Failed(const char* call) {
  return absl::UnavailableError(absl::StrCat("the log of the job's record: ", call, ": ",
                                             errno == 0 ? "it ends early" : strerror(errno)));
}

bool ReadAt(int fd, void* data, size_t bytes, uint64_t offset) {
  auto* next = static_cast<char*>(data);
  while (bytes > 0) {
    errno = 0;
    const ssize_t got = ::pread(fd, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<size_t>(got);
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

bool WriteAt(int fd, const void* data, size_t bytes, uint64_t offset) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    errno = 0;
    const ssize_t put = ::pwrite(fd, next, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    next += put;
    bytes -= static_cast<size_t>(put);
    offset += static_cast<uint64_t>(put);
  }
  return true;
}

std::vector<uint64_t> Numbers(const std::set<VoterId>& voters) {
  std::vector<uint64_t> numbers;
  for (const VoterId voter : voters) numbers.push_back(voter.value);
  return numbers;
}

std::set<VoterId> Voters(const flatbuffers::Vector<uint64_t>& numbers) {
  std::set<VoterId> voters;
  for (const uint64_t number : numbers) voters.insert(VoterId{number});
  return voters;
}

std::string Encode(const VoterState& state) {
  flatbuffers::FlatBufferBuilder builder;
  flatbuffers::Offset<record_wire::Record> record;
  if (state.record != nullptr) {
    const auto current = builder.CreateVector(Numbers(state.record->voters.current));
    const auto incoming = builder.CreateVector(Numbers(state.record->voters.incoming));
    const auto value = PackBytes(builder, state.record->value);
    record = record_wire::CreateRecord(builder, state.record->version,
                                       state.record->change.proposer.value,
                                       state.record->change.number, current, incoming, value);
  }
  const record_wire::Ballot promised(state.promised.round, state.promised.proposer.value);
  const record_wire::Ballot accepted(state.accepted.round, state.accepted.proposer.value);
  return FinishRecord(builder, record_wire::CreateVoterState(builder, state.id.value, &promised,
                                                             &accepted, record));
}

std::optional<VoterState> Decode(absl::string_view bytes) {
  const std::vector<uint64_t> aligned = Aligned(bytes);
  const auto* from = VerifiedRecord<record_wire::VoterState>(aligned, bytes.size());
  if (from == nullptr) return std::nullopt;
  VoterState state;
  state.id = VoterId{from->id()};
  state.promised = {from->promised()->round(), {from->promised()->proposer()}};
  state.accepted = {from->accepted()->round(), {from->accepted()->proposer()}};
  if (const record_wire::Record* record = from->record(); record != nullptr) {
    state.record = std::make_shared<const membership::Record>(
        membership::Record{record->version(),
                           {{record->change_proposer()}, record->change_number()},
                           {Voters(*record->current()), Voters(*record->incoming())},
                           UnpackBytes(*record->value())});
  }
  return state;
}

struct Place {
  uint64_t number = 0;
  VoterState state;
};

std::optional<Place> ReadPlace(int fd, uint64_t offset) {
  Header header;
  if (!ReadAt(fd, &header, sizeof(header), offset) || header.magic != kMagic ||
      header.checksum != ChecksumOf(header) || header.bytes > kMostStateBytes) {
    return std::nullopt;
  }
  std::string bytes(header.bytes, '\0');
  if (!ReadAt(fd, bytes.data(), bytes.size(), offset + sizeof(header)) ||
      checkpoint::Crc32c(bytes.data(), bytes.size()) != header.state_checksum) {
    return std::nullopt;
  }
  std::optional<VoterState> state = Decode(bytes);
  if (!state.has_value()) return std::nullopt;
  return Place{header.number, *std::move(state)};
}

}  // namespace

absl::StatusOr<VoterLog> VoterLog::Open(Fd file) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &lock) != 0) {
    if (errno != EACCES && errno != EAGAIN) return Failed("fcntl");
    return absl::FailedPreconditionError(
        "another process has the log of the job's record: its coordinator lives");
  }
  VoterLog log(std::move(file));
  for (const uint64_t offset : {uint64_t{0}, kPlaceBytes}) {
    std::optional<Place> place = ReadPlace(log.file_.get(), offset);
    if (!place.has_value() || place->number <= log.number_) continue;
    log.number_ = place->number;
    log.state_ = std::move(place->state);
  }
  if (log.number_ > 0) return log;
  VoterState fresh;
  fresh.id = VoterId{RandomNumber()};
  PHX_RETURN_IF_ERROR(log.Write(fresh));
  return log;
}

absl::Status VoterLog::Write(const VoterState& state) {
  const std::string bytes = Encode(state);
  Header header;
  header.number = number_ + 1;
  header.bytes = bytes.size();
  header.state_checksum = checkpoint::Crc32c(bytes.data(), bytes.size());
  header.checksum = ChecksumOf(header);
  const uint64_t offset = header.number % 2 == 0 ? 0 : kPlaceBytes;
  // Nothing of the place is whole until its checksums fit, so the order of these doesn't matter.
  if (!WriteAt(file_.get(), &header, sizeof(header), offset) ||
      !WriteAt(file_.get(), bytes.data(), bytes.size(), offset + sizeof(header))) {
    return Failed("pwrite");
  }
  if (::fdatasync(file_.get()) != 0) return Failed("fdatasync");
  number_ = header.number;
  state_ = state;
  return absl::OkStatus();
}

}  // namespace phalanx::control
