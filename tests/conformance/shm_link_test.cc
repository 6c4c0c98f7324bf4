// The link suite on shared memory. A wire reaches only peers whose memory its domain has attached,
// which an agent arranges in a job; here the address carries what that takes, and descriptors are
// opened through /proc.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "link_conformance.h"
#include "shm/shm.h"

namespace phalanx::conformance {
namespace {

// What a peer has to know to attach a segment.
struct SegmentName {
  uint64_t incarnation;
  int pid;
  int fd;
};

class AttachingWire final : public spi::Wire {
 public:
  AttachingWire(std::unique_ptr<shm::ShmTransport> transport, Incarnation incarnation)
      : transport_(std::move(transport)) {
    const SegmentName segment{incarnation.value, static_cast<int>(getpid()),
                              transport_->domain().segment_fd()};
    address_.assign(reinterpret_cast<const char*>(&segment), sizeof(segment));
    address_ += transport_->wire().address();
  }

  absl::string_view name() const override { return transport_->wire().name(); }
  const std::string& address() const override { return address_; }
  void SetIdentity(const spi::Identity& identity) override {
    rank_ = identity.rank;
    transport_->wire().SetIdentity(identity);
  }
  absl::StatusOr<std::unique_ptr<spi::Link>> Connect(const spi::PeerIdentity& peer,
                                                     const std::string& address) override {
    SegmentName segment;
    std::memcpy(&segment, address.data(), sizeof(segment));
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", segment.pid, segment.fd);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return absl::UnavailableError("rank " + std::to_string(peer.rank) + "'s process is gone");
    }
    const absl::Status attached = transport_->domain().Attach(
        rank_, {{peer.rank, Incarnation{segment.incarnation}, segment.pid, fd}});
    close(fd);
    if (!attached.ok()) return attached;
    return transport_->wire().Connect(peer, address.substr(sizeof(segment)));
  }
  bool Progress() override { return transport_->wire().Progress(); }
  void Wait(Clock::duration timeout) override { transport_->wire().Wait(timeout); }
  void WakeUp() override { transport_->wire().WakeUp(); }
  void Abort(const absl::Status& status) override { transport_->wire().Abort(status); }
  absl::Status Close(Deadline deadline) override { return transport_->wire().Close(deadline); }

 private:
  const std::unique_ptr<shm::ShmTransport> transport_;
  std::string address_;
  int rank_ = -1;
};

class ShmFixture final : public LinkFixture {
 public:
  absl::StatusOr<std::unique_ptr<spi::Wire>> Open() override {
    std::random_device random;
    shm::ShmOptions options;
    options.incarnation = Incarnation{uint64_t{random()} << 32 | random()};
    options.heap_limit_bytes = 64 << 20;
    options.cross_memory_attach = PHALANX_TEST_CROSS_MEMORY_ATTACH != 0;
    options.logger = Logger::ToStderr("", LogSeverity::kError);
    auto transport = shm::OpenShm(options);
    if (!transport.ok()) return transport.status();
    return std::make_unique<AttachingWire>(*std::move(transport), options.incarnation);
  }
};

}  // namespace

std::unique_ptr<LinkFixture> MakeLinkFixture() { return std::make_unique<ShmFixture>(); }

}  // namespace phalanx::conformance
