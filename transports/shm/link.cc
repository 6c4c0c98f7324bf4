#include "link.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "futex.h"

namespace phalanx::shm {

LinkState::LinkState(const Options& options)
    : options_(options),
      peer_(options.peer),
      own_(options.own),
      outbox_(options.segment, options.own),
      inbox_(options.own, options.expected.rank) {}

void LinkState::Send(const spi::Label& label, absl::Span<const std::byte> bytes,
                     spi::Transfer* transfer) {
  transfer->Begin();
  if (state_ == State::kEnded) return transfer->Finish(status_);
  if (state_ == State::kPeerClosed) return transfer->Finish(PeerHasClosed());
  outbox_.Send(label, bytes, transfer);
  Ring();
}

void LinkState::Receive(const spi::Label& label, absl::Span<std::byte> bytes,
                        spi::Transfer* transfer) {
  transfer->Begin();
  if (state_ == State::kEnded) return transfer->Finish(status_);
  if (state_ == State::kPeerClosed && !inbox_.Holds(label.tag))
    return transfer->Finish(PeerHasClosed());
  if (absl::Status status = inbox_.Receive(label, bytes, transfer); !status.ok()) {
    return Break(Named(status));
  }
  Ring();
}

bool LinkState::Progress(size_t budget) {
  if (state_ == State::kEnded) return false;
  const absl::StatusOr<bool> moved = ProgressHalves(budget);
  if (!moved.ok()) {
    if (state_ == State::kHandshake && absl::IsFailedPrecondition(moved.status())) {
      state_ = State::kEnded;
      status_ = Named(moved.status());
      End(LinkEnd::kRefused);
    } else {
      Break(Named(moved.status()));
    }
    return true;
  }
  Ring();
  return *moved;
}

absl::StatusOr<bool> LinkState::ProgressHalves(size_t budget) {
  bool moved = false;
  if (state_ == State::kHandshake) {
    PHX_ASSIGN_OR_RETURN(const bool connected, TryConnect());
    if (!connected) return false;
    moved = true;
  }
  // Before the rest: once it has ended, all that it ever sent is listed.
  const LinkEnd end = theirs_->end.load(std::memory_order_acquire);
  peer_->Acquired(&theirs_->end);
  if (end == LinkEnd::kDiffers) {
    return absl::InvalidArgumentError("it refused a message of ours, which isn't what it expects");
  }
  if (end == LinkEnd::kBroken) return absl::UnavailableError("it has given up its transfers");
  if (end == LinkEnd::kRefused) {
    return absl::FailedPreconditionError("its handshake refused us; the job's view has changed");
  }
  PHX_ASSIGN_OR_RETURN(const bool sent, outbox_.Progress());
  PHX_ASSIGN_OR_RETURN(const bool received, inbox_.Progress(budget));
  if (end == LinkEnd::kClosed && state_ != State::kPeerClosed) {
    state_ = State::kPeerClosed;
    outbox_.Fail(PeerHasClosed());
    inbox_.FailUnmatched(PeerHasClosed());
    moved = true;
  }
  return moved || sent || received;
}

bool LinkState::HasNews() const {
  switch (state_) {
    case State::kHandshake:  // looked at again after every sleep
    case State::kEnded:
      return false;
    case State::kConnected:
      return outbox_.HasNews() || inbox_.HasNews() ||
             theirs_->end.load(std::memory_order_seq_cst) != LinkEnd::kOpen;
    case State::kPeerClosed:
      return inbox_.HasNews();
  }
  return false;
}

absl::StatusOr<bool> LinkState::TryConnect() {
  const uint64_t offset = peer_->header().wire_area.load(std::memory_order_acquire);
  const auto* const area = reinterpret_cast<const WireArea*>(peer_->At(offset, sizeof(WireArea)));
  if (area == nullptr || offset % alignof(WireArea) != 0) {
    return absl::InternalError("its description of itself makes no sense");
  }
  if (offset == 0 || area->known.load(std::memory_order_acquire) == 0) return false;
  peer_->Acquired(&area->known);
  PHX_RETURN_IF_ERROR(Check(*area));
  for (const WireArea::Entry& entry : area->links) {
    const uint64_t link = entry.offset.load(std::memory_order_acquire);
    if (link == 0) return false;
    peer_->Acquired(&entry.offset);
    if (entry.peer_incarnation != options_.incarnation.value) continue;
    theirs_ = reinterpret_cast<const LinkArea*>(peer_->At(link, sizeof(LinkArea)));
    if (theirs_ == nullptr || link % alignof(LinkArea) != 0) {
      return absl::InternalError("its description of the link makes no sense");
    }
    wire_area_ = area;
    outbox_.Connect(peer_, theirs_);
    inbox_.Connect(peer_, theirs_);
    state_ = State::kConnected;
    return true;
  }
  return false;
}

absl::Status LinkState::Check(const WireArea& area) const {
  const auto refuse = [](const std::string& what) {
    return absl::FailedPreconditionError(
        absl::StrCat("the handshake found ", what, "; the job's view has changed"));
  };
  if (area.job_token != options_.identity.job_token) return refuse("another job");
  if (area.epoch != options_.identity.epoch.value) {
    return refuse(absl::StrCat("epoch ", area.epoch, ", not ", options_.identity.epoch.value));
  }
  if (area.rank != options_.expected.rank) return refuse(absl::StrCat("rank ", area.rank));
  if (area.incarnation != options_.expected.incarnation.value) return refuse("another incarnation");
  return absl::OkStatus();
}

absl::Status LinkState::Named(const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrCat("shm: rank ", options_.identity.rank, "'s link to rank ",
                                   options_.expected.rank, ": ", std::string(status.message())));
}

absl::Status LinkState::PeerHasClosed() const {
  return Named(absl::UnavailableError("it has closed its wire"));
}

void LinkState::PeerExited() {
  if (state_ == State::kEnded) return;
  Progress(SIZE_MAX);
  if (state_ == State::kHandshake || state_ == State::kConnected) {
    Break(Named(absl::UnavailableError("its process has exited")));
  }
}

void LinkState::Break(const absl::Status& status) {
  if (state_ == State::kEnded) {
    status_ = status;
    return;
  }
  state_ = State::kEnded;
  status_ = status;
  End(absl::IsInvalidArgument(status) ? LinkEnd::kDiffers : LinkEnd::kBroken);
}

void LinkState::Close() {
  if (state_ == State::kEnded) return;
  state_ = State::kEnded;
  status_ = absl::FailedPreconditionError(absl::StrCat(
      "shm: rank ", options_.identity.rank, "'s wire is closed; open a new session to go on"));
  End(outbox_.idle() ? LinkEnd::kClosed : LinkEnd::kBroken);
}

void LinkState::End(LinkEnd end) {
  // First, so that nobody takes for our message what its buffer holds later.
  own_->end.store(end, std::memory_order_seq_cst);
  outbox_.Fail(status_);
  inbox_.Fail(status_);
  if (wire_area_ != nullptr) FutexWakeAll(wire_area_->parked);
}

// Wakes the peer if it sleeps and there is something for it. A wake-up just before it falls asleep
// is lost, since nobody may write to its word; its sleeps are short for that reason.
void LinkState::Ring() {
  const bool sent = outbox_.TakePublished();
  const bool received = inbox_.TakePublished();
  if ((sent || received) && wire_area_->parked.load(std::memory_order_seq_cst) != 0) {
    FutexWakeAll(wire_area_->parked);
  }
}

}  // namespace phalanx::shm
