#include "control_client/client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "connection.h"
#include "control_protocol/message.h"
#include "description.h"
#include "looking.h"
#include "outbox.h"

namespace phalanx::control {
namespace {

constexpr int kSliceMs = 1000;
constexpr int kBeatMs = 100;

class ClientImpl final : public Client {
 public:
  ClientImpl(Connection connection, Logger logger, Fd wake)
      : connection_(std::move(connection)), logger_(std::move(logger)), wake_(std::move(wake)) {}
  ~ClientImpl() override { StopThread(); }

  absl::StatusOr<ViewDescription> Join(const JoinRequest& request,
                                       const std::function<void(const std::string&)>& progress,
                                       Deadline deadline) override;
  absl::Status JoinAsSpare(const JoinRequest& request, Deadline deadline) override;
  absl::StatusOr<ViewDescription> AwaitPlace(Deadline deadline) override;
  absl::StatusOr<ViewDescription> Return(const JoinRequest& request, Deadline deadline) override;
  const std::vector<int>& segment_fds() const override { return segment_fds_; }
  void Start(ClientEvents* events) override;
  void SendOrdering(std::string payload) override;
  void SendCheckpoint(std::string payload) override;
  void SetSteps(std::function<void(absl::string_view)> steps) override;
  void SendSteps(std::string payload) override;
  bool Receive(Clock::duration patience) override;
  absl::StatusOr<CommunicatorId> ReserveCommunicators(int count, Deadline deadline) override;
  void SayRecoverable() override;
  void SayFaultPerformed(uint32_t index, std::chrono::milliseconds continue_after,
                         Deadline deadline) override;
  absl::Status Finish(Deadline deadline) override;
  bool AwaitRevocation(Deadline deadline) override;
  bool goes_on() const override { return goes_on_.load(std::memory_order_acquire); }
  void Detach(const ClientEvents* events) override;
  absl::Status Leave(Deadline deadline) override;

 private:
  absl::Status SendJoin(const JoinRequest& request, bool spare, Deadline deadline);
  // Waits for a view; `last_line` says what is known so far.
  absl::StatusOr<ViewDescription> AwaitView(std::string last_line,
                                            const std::function<void(const std::string&)>& progress,
                                            Deadline deadline);
  // Sends what is queued.
  absl::Status SendTheRest(Deadline deadline);
  // Forgets the view that has ended.
  void BeginAnew();
  // The next message; DEADLINE_EXCEEDED when none comes in time.
  absl::StatusOr<Message> Await(Deadline deadline);
  absl::Status TakeSegments(const message::Segments& segments);
  absl::StatusOr<std::vector<Fd>> TakeFds(const message::Checkpoint& checkpoint);
  absl::StatusOr<ViewDescription> TakeView(message::View view);

  void Run();
  // Takes in all that has come; with reading_ held. False once nothing more can come.
  bool TakeIn();
  void Handle(const Message& message);
  // Waits until there is something to read; false when the thread is to end.
  bool AwaitReadable();
  void Wake();
  // The control thread's: says that we are there when that is due.
  void Beat();
  // What ended the view, or nothing when `message` doesn't.
  std::optional<absl::Status> EndIn(const Message& message) const;
  std::optional<absl::Status> NoteEnd(const Message& message);
  void ReadUntilEnd(Deadline deadline);
  void SetEnd(const absl::Status& end);
  // Waits, with mutex_ held by `lock`, until `ready`, the view's end or the deadline.
  void AwaitEndOr(std::unique_lock<std::mutex>& lock, Deadline deadline,
                  const std::function<bool()>& ready);
  void OnCommunicatorIds(const message::CommunicatorIds& ids);
  void StopThread();

  // False: it is about something else.
  bool TakeSteps(const Message& message);

  Connection connection_;
  const Logger logger_;
  Outbox outbox_{&connection_};
  const Fd wake_;  // eventfd: makes the control thread look at outbox_ and stopping_
  std::atomic<bool> stopping_ = false;
  Incarnation incarnation_;
  std::function<void(absl::string_view)> steps_;
  std::vector<std::pair<int, Fd>> segments_;  // by rank, as they came
  std::vector<int> segment_fds_;

  // Held by whoever reads from the connection, and covers the next four.
  std::mutex reading_;
  ClientEvents* events_ = nullptr;
  bool revoked_ = false;
  bool all_left_ = false;
  bool looking_pays_ = true;
  std::atomic<uint64_t> reads_by_others_{0};  // than the control thread
  uint64_t reads_seen_ = 0;                   // the control thread's
  Clock::time_point next_beat_;               // the same

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;  // end_, all_finished_ or first_ids_
  std::optional<absl::Status> end_;  // guarded by mutex_: OK when all left, else why it was revoked
  bool all_finished_ = false;        // guarded by mutex_
  std::atomic<bool> goes_on_ = false;
  uint64_t last_request_ = 0;                              // guarded by mutex_
  std::map<uint64_t, std::optional<uint32_t>> first_ids_;  // by request; the same
};

absl::StatusOr<Message> ClientImpl::Await(Deadline deadline) {
  while (true) {
    PHX_ASSIGN_OR_RETURN(std::optional<Message> message, connection_.Receive());
    if (message.has_value()) return *std::move(message);
    if (deadline.Passed(Clock::now())) return absl::DeadlineExceededError("no message in time");
    pollfd waited{connection_.fd(), POLLIN, 0};
    ::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs));
  }
}

absl::Status ClientImpl::TakeSegments(const message::Segments& segments) {
  for (const int rank : segments.ranks) {
    std::optional<Fd> fd = connection_.TakeFd();
    if (!fd.has_value()) {
      return absl::InternalError("the agent announced more segments than it sent");
    }
    segments_.emplace_back(rank, *std::move(fd));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Fd>> ClientImpl::TakeFds(const message::Checkpoint& checkpoint) {
  std::vector<Fd> fds;
  while (fds.size() < checkpoint.descriptors) {
    std::optional<Fd> fd = connection_.TakeFd();
    if (!fd.has_value()) {
      return absl::InternalError("the agent announced more descriptors than it sent");
    }
    fds.push_back(*std::move(fd));
  }
  return fds;
}

absl::StatusOr<ViewDescription> ClientImpl::TakeView(message::View view) {
  segment_fds_.assign(view.members.size(), -1);
  for (const auto& [rank, fd] : segments_) {
    if (rank >= static_cast<int>(view.members.size())) {
      return absl::InternalError("the agent sent the segment of a rank outside the view");
    }
    segment_fds_[static_cast<size_t>(rank)] = fd.get();
  }
  for (const message::Member& member : view.members) {
    if (member.incarnation == incarnation_) connection_.set_node(member.node);
  }
  return ToDescription(std::move(view));
}

absl::Status ClientImpl::SendJoin(const JoinRequest& request, bool spare, Deadline deadline) {
  incarnation_ = request.incarnation;
  message::Join join;
  join.member.rank = request.rank;
  join.member.incarnation = request.incarnation;
  join.member.addresses = request.addresses;
  join.world_size = request.world_size;
  join.has_segment = request.segment_fd >= 0;
  join.settings = request.settings;
  join.spare = spare;
  return connection_.Send(join, request.segment_fd, deadline);
}

absl::StatusOr<ViewDescription> ClientImpl::Join(
    const JoinRequest& request, const std::function<void(const std::string&)>& progress,
    Deadline deadline) {
  PHX_RETURN_IF_ERROR(SendJoin(request, /*spare=*/false, deadline));
  return AwaitView("nobody has joined yet, as far as this node's agent knows", progress, deadline);
}

absl::Status ClientImpl::JoinAsSpare(const JoinRequest& request, Deadline deadline) {
  PHX_RETURN_IF_ERROR(SendJoin(request, /*spare=*/true, deadline));
  while (true) {
    PHX_ASSIGN_OR_RETURN(const Message message, Await(deadline));
    if (std::holds_alternative<message::SpareAccepted>(message)) return absl::OkStatus();
    if (const auto* refused = std::get_if<message::Refused>(&message)) return refused->status;
    if (const auto* revoked = std::get_if<message::Revoked>(&message)) return revoked->reason;
    if (std::holds_alternative<message::Progress>(message)) continue;  // the ranks' joining
    return absl::InternalError(
        absl::StrCat("unexpected message from the agent: ", NameOf(message)));
  }
}

absl::StatusOr<ViewDescription> ClientImpl::AwaitPlace(Deadline deadline) {
  return AwaitView("no rank has been lost", {}, deadline);
}

absl::StatusOr<ViewDescription> ClientImpl::Return(const JoinRequest& request, Deadline deadline) {
  goes_on_.store(false, std::memory_order_release);
  StopThread();
  PHX_RETURN_IF_ERROR(SendTheRest(deadline));
  BeginAnew();
  PHX_RETURN_IF_ERROR(SendJoin(request, /*spare=*/false, deadline));
  return AwaitView("the other ranks haven't come back after a loss", {}, deadline);
}

absl::Status ClientImpl::SendTheRest(Deadline deadline) {
  while (!outbox_.empty()) {
    if (deadline.Passed(Clock::now())) {
      return absl::DeadlineExceededError("the agent takes no messages");
    }
    pollfd waited{connection_.fd(), POLLOUT, 0};
    ::poll(&waited, 1, deadline.LeftMs(Clock::now(), kSliceMs));
    outbox_.Flush();
  }
  return absl::OkStatus();
}

void ClientImpl::BeginAnew() {
  const std::lock_guard reading(reading_);
  events_ = nullptr;
  revoked_ = false;
  all_left_ = false;
  stopping_ = false;
  segments_.clear();
  segment_fds_.clear();
  goes_on_.store(false, std::memory_order_release);
  const std::lock_guard lock(mutex_);
  end_.reset();
  all_finished_ = false;
}

absl::StatusOr<ViewDescription> ClientImpl::AwaitView(
    std::string last_line, const std::function<void(const std::string&)>& progress,
    Deadline deadline) {
  while (true) {
    absl::StatusOr<Message> message = Await(deadline);
    if (absl::IsDeadlineExceeded(message.status())) {
      return absl::DeadlineExceededError(
          absl::StrCat("joining the job took too long: ", last_line));
    }
    if (!message.ok()) return message.status();
    if (auto* view = std::get_if<message::View>(&*message)) return TakeView(std::move(*view));
    if (TakeSteps(*message)) {
      PHX_RETURN_IF_ERROR(SendTheRest(deadline));  // of the answer
      continue;
    }
    if (const auto* refused = std::get_if<message::Refused>(&*message)) return refused->status;
    if (const auto* line = std::get_if<message::Progress>(&*message)) {
      last_line = line->line;
      if (progress) progress(last_line);
    } else if (const auto* segments = std::get_if<message::Segments>(&*message)) {
      PHX_RETURN_IF_ERROR(TakeSegments(*segments));
    } else if (const auto* checkpoint = std::get_if<message::Checkpoint>(&*message)) {
      PHX_RETURN_IF_ERROR(TakeFds(*checkpoint).status());  // of a view that is over
    } else if (const auto* revoked = std::get_if<message::Revoked>(&*message)) {
      if (revoked->goes_on) continue;
      SetEnd(revoked->reason);  // Leave() has nothing to wait for
      return revoked->reason;
    } else if (std::holds_alternative<message::AllFinished>(*message) ||
               std::holds_alternative<message::AllLeft>(*message)) {
      if (std::holds_alternative<message::AllLeft>(*message)) SetEnd(absl::OkStatus());
      return absl::CancelledError("all ranks have finished; this process wasn't needed");
    } else if (!std::holds_alternative<message::Ordering>(*message) &&
               !std::holds_alternative<message::CommunicatorIds>(*message)) {
      // Those two are of such a view as well.
      return absl::InternalError(
          absl::StrCat("unexpected message from the agent: ", NameOf(*message)));
    }
  }
}

void ClientImpl::Start(ClientEvents* events) {
  PHX_CHECK(!thread_.joinable());
  {
    const std::lock_guard lock(reading_);
    events_ = events;
  }
  thread_ = std::thread([this] { Run(); });
}

std::optional<absl::Status> ClientImpl::EndIn(const Message& message) const {
  if (const auto* revoked = std::get_if<message::Revoked>(&message)) return revoked->reason;
  if (std::holds_alternative<message::AllLeft>(message)) return absl::OkStatus();
  // Too late.
  if (std::holds_alternative<message::Ordering>(message) ||
      std::holds_alternative<message::Checkpoint>(message)) {
    return std::nullopt;
  }
  logger_.Warning(absl::StrCat("ignored a message from the agent: ", NameOf(message)));
  return std::nullopt;
}

void ClientImpl::SayRecoverable() {
  if (outbox_.Post(message::Recoverable{incarnation_})) Wake();
}

void ClientImpl::SayFaultPerformed(uint32_t index, std::chrono::milliseconds continue_after,
                                   Deadline deadline) {
  const auto continue_after_ms = static_cast<uint32_t>(continue_after.count());
  if (outbox_.Post(message::FaultPerformed{index, continue_after_ms})) Wake();
  // What lies in the socket outlives us.
  const absl::Status sent = SendTheRest(deadline);
  if (!sent.ok()) logger_.Error(std::string(sent.message()));
}

absl::Status ClientImpl::Finish(Deadline deadline) {
  if (outbox_.Post(message::Finished{incarnation_})) Wake();
  std::unique_lock lock(mutex_);
  AwaitEndOr(lock, deadline, [this] { return all_finished_; });
  if (all_finished_) return absl::OkStatus();
  if (end_.has_value()) return *end_;
  return absl::DeadlineExceededError("not all ranks came to the end of their work in time");
}

bool ClientImpl::AwaitRevocation(Deadline deadline) {
  if (!thread_.joinable()) ReadUntilEnd(deadline);
  std::unique_lock lock(mutex_);
  AwaitEndOr(lock, deadline, [] { return false; });
  return end_.has_value() && !end_->ok();
}

// Only while there is no thread.
void ClientImpl::ReadUntilEnd(Deadline deadline) {
  while (!end_.has_value()) {
    absl::StatusOr<Message> message = Await(deadline);
    if (absl::IsDeadlineExceeded(message.status())) return;
    if (message.ok()) {
      if (!TakeSteps(*message)) NoteEnd(*message);
    } else {
      SetEnd(message.status());
    }
  }
}

void ClientImpl::Detach(const ClientEvents* events) {
  {
    const std::lock_guard lock(reading_);
    if (events_ != events) return;
  }
  StopThread();
  const std::lock_guard lock(reading_);
  events_ = nullptr;
}

void ClientImpl::AwaitEndOr(std::unique_lock<std::mutex>& lock, Deadline deadline,
                            const std::function<bool()>& ready) {
  while (!ready() && !end_.has_value() && !deadline.Passed(Clock::now())) {
    changed_.wait_for(lock, std::chrono::milliseconds(deadline.LeftMs(Clock::now(), kSliceMs)));
  }
}

void ClientImpl::SetEnd(const absl::Status& end) {
  const std::lock_guard lock(mutex_);
  if (!end_.has_value()) end_ = end;
  changed_.notify_all();
}

void ClientImpl::SendOrdering(std::string payload) {
  if (payload.size() > kMaxOrderingBytes) {
    logger_.Error(absl::StrCat("dropped a message of the ordering service's: its ", payload.size(),
                               " bytes are over the limit of ", kMaxOrderingBytes));
    return;
  }
  if (outbox_.Post(message::Ordering{std::move(payload)})) Wake();
}

void ClientImpl::SendCheckpoint(std::string payload) {
  if (outbox_.Post(message::Checkpoint{std::move(payload), 0})) Wake();
}

void ClientImpl::SetSteps(std::function<void(absl::string_view)> steps) {
  steps_ = std::move(steps);
}

void ClientImpl::SendSteps(std::string payload) {
  if (outbox_.Post(message::Steps{incarnation_, std::move(payload)})) Wake();
}

absl::StatusOr<CommunicatorId> ClientImpl::ReserveCommunicators(int count, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const uint64_t request = ++last_request_;
  first_ids_[request];
  lock.unlock();
  const auto asked = static_cast<uint32_t>(count);
  if (outbox_.Post(message::AskCommunicatorIds{incarnation_, request, asked})) Wake();
  lock.lock();
  AwaitEndOr(lock, deadline, [&] { return first_ids_[request].has_value(); });
  const std::optional<uint32_t> first = first_ids_[request];
  first_ids_.erase(request);
  if (!first.has_value()) {
    if (!end_.has_value()) {
      return absl::DeadlineExceededError("the coordinator named no new communicators in time");
    }
    return end_->ok() ? absl::FailedPreconditionError("all ranks have left the job") : *end_;
  }
  if (*first == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("all ", kMaxCommunicators, " communicator numbers of this view are used"));
  }
  return CommunicatorId{static_cast<uint16_t>(*first)};
}

void ClientImpl::OnCommunicatorIds(const message::CommunicatorIds& ids) {
  const std::lock_guard lock(mutex_);
  const auto asked = first_ids_.find(ids.request);
  if (asked == first_ids_.end()) return;  // nobody waits for it any more
  asked->second = ids.first;
  changed_.notify_all();
}

void ClientImpl::Wake() {
  const uint64_t one = 1;
  PHX_CHECK(::write(wake_.get(), &one, sizeof(one)) == sizeof(one));
}

void ClientImpl::Beat() {
  const Clock::time_point now = Clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + std::chrono::milliseconds(kBeatMs);
  // What lies in the outbox says the same once the agent takes it.
  if (outbox_.empty()) outbox_.Post(message::Heartbeat{});
}

bool ClientImpl::AwaitReadable() {
  while (true) {
    // Beside a thread that reads while it waits we would be woken for each of its messages, on a
    // core that it needs. So as long as there are such threads we look once a millisecond.
    const uint64_t reads = reads_by_others_.load(std::memory_order_relaxed);
    const bool others_read = std::exchange(reads_seen_, reads) != reads;
    const int wanted = (others_read ? 0 : POLLIN) | (outbox_.empty() ? 0 : POLLOUT);
    pollfd waited[] = {{connection_.fd(), static_cast<short>(wanted), 0}, {wake_.get(), POLLIN, 0}};
    constexpr int kLookMs = 1;
    const int patience_ms = Deadline(next_beat_).LeftMs(Clock::now(), kBeatMs);
    if (::poll(waited, 2, others_read ? kLookMs : patience_ms) < 0 && errno != EINTR) return false;
    Beat();
    if (stopping_) return false;
    uint64_t wakes = 0;
    if (waited[1].revents != 0) {
      PHX_CHECK(::read(wake_.get(), &wakes, sizeof(wakes)) == sizeof(wakes));
    }
    if ((waited[0].revents & POLLOUT) != 0) outbox_.Flush();
    if ((waited[0].revents & ~POLLOUT) != 0) return true;
  }
}

// The control thread: reads until the view ends, then until the agent goes or we are stopped.
void ClientImpl::Run() {
  while (!stopping_) {
    // Something may have come together with the view.
    if (const std::unique_lock lock(reading_, std::try_to_lock); lock.owns_lock() && !TakeIn()) {
      return;
    }
    if (!AwaitReadable()) return;
  }
}

bool ClientImpl::TakeIn() {
  while (!stopping_) {
    const absl::StatusOr<std::optional<Message>> message = connection_.Receive();
    if (message.ok()) {
      if (!message->has_value()) return true;
      Handle(**message);
      continue;
    }
    if (all_left_) return false;
    SetEnd(message.status());
    if (!std::exchange(revoked_, true)) events_->OnRevoked(message.status(), goes_on());
    events_->OnAgentLost();
    all_left_ = true;  // it was told
    return false;
  }
  return true;
}

bool ClientImpl::TakeSteps(const Message& message) {
  const auto* const steps = std::get_if<message::Steps>(&message);
  if (steps != nullptr && steps_) steps_(steps->payload);
  return steps != nullptr;
}

void ClientImpl::Handle(const Message& message) {
  if (TakeSteps(message)) return;
  if (const auto* ordering = std::get_if<message::Ordering>(&message)) {
    if (!revoked_ && !all_left_) events_->OnOrdering(ordering->payload);
    return;
  }
  if (const auto* checkpoint = std::get_if<message::Checkpoint>(&message)) {
    absl::StatusOr<std::vector<Fd>> fds = TakeFds(*checkpoint);
    if (!fds.ok()) {
      logger_.Error(std::string(fds.status().message()));
    } else if (!revoked_ && !all_left_) {
      events_->OnCheckpoint(checkpoint->payload, *std::move(fds));
    }
    return;
  }
  if (const auto* ids = std::get_if<message::CommunicatorIds>(&message)) {
    OnCommunicatorIds(*ids);
    return;
  }
  if (std::holds_alternative<message::AllFinished>(message)) {
    const std::lock_guard lock(mutex_);
    all_finished_ = true;
    changed_.notify_all();
    return;
  }
  const auto* const revoked = std::get_if<message::Revoked>(&message);
  if (revoked_ && revoked != nullptr && !revoked->goes_on) events_->OnNoneFollows();
  if (revoked_ || all_left_) return;
  const std::optional<absl::Status> end = NoteEnd(message);
  if (!end.has_value()) return;
  all_left_ = end->ok();
  revoked_ = !all_left_;
  if (revoked_) events_->OnRevoked(*end, goes_on());
}

std::optional<absl::Status> ClientImpl::NoteEnd(const Message& message) {
  std::optional<absl::Status> end = EndIn(message);
  if (!end.has_value()) return end;
  if (const auto* revoked = std::get_if<message::Revoked>(&message)) {
    goes_on_.store(revoked->goes_on, std::memory_order_release);
  }
  SetEnd(*end);
  return end;
}

bool ClientImpl::Receive(Clock::duration patience) {
  const std::unique_lock lock(reading_, std::try_to_lock);
  if (!lock.owns_lock() || events_ == nullptr || all_left_) return false;
  reads_by_others_.fetch_add(1, std::memory_order_relaxed);
  if (!LookForInput(connection_.fd(), patience, &looking_pays_)) return true;
  // What ends the connection wakes the control thread as well.
  return TakeIn();
}

absl::Status ClientImpl::Leave(Deadline deadline) {
  absl::Status sent;
  if (thread_.joinable()) {
    if (outbox_.Post(message::Leave{incarnation_})) Wake();
  } else {
    sent = connection_.Send(message::Leave{incarnation_}, -1, deadline);
  }
  // Without a thread nobody has looked yet whether the view has ended before.
  if (sent.ok() && !thread_.joinable()) ReadUntilEnd(deadline);
  std::optional<absl::Status> end;
  {
    std::unique_lock lock(mutex_);
    if (sent.ok()) AwaitEndOr(lock, deadline, [] { return false; });
    end = end_;
  }
  StopThread();
  if (end.has_value()) return *end;
  if (!sent.ok()) return sent;
  return absl::DeadlineExceededError("not all members left in time");
}

void ClientImpl::StopThread() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  Wake();
  thread_.join();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const std::string& agent, Logger logger,
                                                        Deadline deadline) {
  PHX_ASSIGN_OR_RETURN(Connection connection, Connection::Open(agent, deadline));
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return absl::UnavailableError(absl::StrCat("eventfd: ", strerror(errno)));
  return std::unique_ptr<Client>(
      new ClientImpl(std::move(connection), std::move(logger), std::move(wake)));
}

}  // namespace phalanx::control
