#include "messaging/hello.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace phalanx::messaging {
namespace {

absl::Status Mismatch(int rank, absl::string_view what, uint64_t theirs, uint64_t ours) {
  return absl::FailedPreconditionError(
      absl::StrCat("handshake with rank ", rank, ": it is of ", what, " ", theirs, ", expected ",
                   ours, "; the view has changed or the address is another process's"));
}

}  // namespace

HelloPayload MakeHello(const spi::Identity& self, const spi::PeerIdentity& expected, uint64_t key) {
  HelloPayload hello;
  hello.job_token = self.job_token;
  hello.epoch = self.epoch.value;
  hello.incarnation = self.incarnation.value;
  hello.expected_incarnation = expected.incarnation.value;
  hello.key = key;
  hello.rank = self.rank;
  hello.expected_rank = expected.rank;
  return hello;
}

std::optional<HelloPayload> ParseHello(absl::Span<const std::byte> payload) {
  HelloPayload hello;
  if (payload.size() != sizeof(hello)) return std::nullopt;
  std::memcpy(&hello, payload.data(), sizeof(hello));
  if (hello.magic != HelloPayload::kMagic) return std::nullopt;
  return hello;
}

absl::Status CheckHello(const spi::Identity& self, const spi::PeerIdentity& expected,
                        const HelloPayload& hello) {
  if (hello.job_token != self.job_token) {  // a secret: not in the message
    return absl::FailedPreconditionError(absl::StrCat(
        "handshake with rank ", expected.rank, ": its job token isn't ours; it is of another job"));
  }
  if (hello.epoch != self.epoch.value) {
    return Mismatch(expected.rank, "epoch", hello.epoch, self.epoch.value);
  }
  if (hello.rank != expected.rank) {
    return Mismatch(expected.rank, "rank", hello.rank, expected.rank);
  }
  if (hello.incarnation != expected.incarnation.value) {
    return Mismatch(expected.rank, "incarnation", hello.incarnation, expected.incarnation.value);
  }
  if (hello.expected_rank != self.rank || hello.expected_incarnation != self.incarnation.value) {
    return absl::FailedPreconditionError(absl::StrCat(
        "handshake with rank ", expected.rank, ": it expects rank ", hello.expected_rank,
        " incarnation ", hello.expected_incarnation, ", we are rank ", self.rank, " incarnation ",
        self.incarnation.value, "; the view has changed"));
  }
  return absl::OkStatus();
}

}  // namespace phalanx::messaging
