// The handshake of a link: each side says once who it is, whom it expects, and under which key it
// wants to be written to; each side checks what the other said and answers with a welcome. Messages
// flow once both sides have been welcomed. Pure.
#ifndef PHALANX_MESSAGING_HELLO_H_
#define PHALANX_MESSAGING_HELLO_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "spi/link.h"

namespace phalanx::messaging {

// As it travels. Fixed width, native byte order.
struct HelloPayload {
  static constexpr uint64_t kMagic = 0x31'6b6e'6c78'6870;  // "phxlnk1"

  uint64_t magic = kMagic;
  uint64_t job_token = 0;
  uint64_t epoch = 0;
  uint64_t incarnation = 0;
  uint64_t expected_incarnation = 0;
  uint64_t key = 0;  // frames to the sender of this hello carry it
  int32_t rank = -1;
  int32_t expected_rank = -1;
};
static_assert(sizeof(HelloPayload) == 56);

HelloPayload MakeHello(const spi::Identity& self, const spi::PeerIdentity& expected, uint64_t key);

// None when the bytes aren't a hello.
std::optional<HelloPayload> ParseHello(absl::Span<const std::byte> payload);

// FAILED_PRECONDITION, naming what differs, unless `hello` comes from `expected`, in our job and
// epoch, and is meant for us.
absl::Status CheckHello(const spi::Identity& self, const spi::PeerIdentity& expected,
                        const HelloPayload& hello);

}  // namespace phalanx::messaging

#endif  // PHALANX_MESSAGING_HELLO_H_
