#include "etcd_store.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/status/status.h"

namespace phalanx::etcd {
namespace {

using control::StoreAnswer;
using control::StoreCall;

// Of a connection; each is milliseconds.
constexpr int kFirstReconnect = 100;
constexpr int kLongestReconnect = 1000;
constexpr int kConnectTimeout = 2000;
// A connection whose other end is gone without a word. etcd refuses shorter ones than 5 s.
constexpr int kKeepaliveEvery = 10'000;
constexpr int kKeepaliveTimeout = 5000;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnect);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnect);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeout);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveEvery);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeout);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

// A connection is only made while somebody waits for it in gRPC, which a call doesn't do once an
// attempt has failed. Returns when there is one or an attempt has failed, which a call then says
// more about. False: at the deadline.
bool AwaitConnection(grpc::Channel& channel, std::chrono::system_clock::time_point deadline) {
  bool tried = false;
  while (true) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY || state == GRPC_CHANNEL_SHUTDOWN) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && tried) return true;
    tried = state != GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (!channel.WaitForStateChange(state, deadline)) return false;
  }
}

StoreAnswer Failed(const grpc::Status& status) {
  StoreAnswer answer;
  answer.status =
      absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  return answer;
}

StoreAnswer Garbled() {
  StoreAnswer answer;
  answer.status = absl::InternalError("it answers what wasn't asked");
  return answer;
}

StoreAnswer Found(const etcdserverpb::RangeResponse& response) {
  StoreAnswer answer;
  if (response.kvs_size() == 0) return answer;
  answer.revision = response.kvs(0).mod_revision();
  answer.value = response.kvs(0).value();
  return answer;
}

}  // namespace

EtcdStore::EtcdStore(const control::KeyStoreOptions& options) : key_(options.key) {
  for (const std::string& endpoint : options.endpoints) {
    const std::shared_ptr<grpc::Channel> channel = ChannelTo(endpoint);
    endpoints_.push_back({channel, etcdserverpb::KV::NewStub(channel)});
  }
}

StoreAnswer EtcdStore::Perform(const StoreCall& call) {
  const auto deadline =
      std::chrono::system_clock::now() + std::chrono::nanoseconds(call.timeout_ns);
  if (!AwaitConnection(*endpoints_[call.endpoint].channel, deadline)) {
    StoreAnswer answer;
    answer.status = absl::UnavailableError("no connection to it");
    return answer;
  }
  grpc::ClientContext context;
  context.set_deadline(deadline);
  etcdserverpb::KV::Stub& stub = *endpoints_[call.endpoint].stub;
  switch (call.kind) {
    case StoreCall::Kind::kGet:
      return Get(stub, &context);
    case StoreCall::Kind::kPut:
      return Put(stub, &context, call);
    case StoreCall::Kind::kRemove:
      return Remove(stub, &context);
  }
  return Garbled();
}

StoreAnswer EtcdStore::Get(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context) const {
  etcdserverpb::RangeRequest request;
  request.set_key(key_);
  etcdserverpb::RangeResponse response;
  const grpc::Status status = stub.Range(context, request, &response);
  return status.ok() ? Found(response) : Failed(status);
}

StoreAnswer EtcdStore::Put(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context,
                           const StoreCall& call) const {
  etcdserverpb::TxnRequest request;
  etcdserverpb::Compare* const compare = request.add_compare();
  compare->set_result(etcdserverpb::Compare::EQUAL);
  compare->set_target(etcdserverpb::Compare::MOD);
  compare->set_key(key_);
  compare->set_mod_revision(call.expected);
  etcdserverpb::PutRequest* const put = request.add_success()->mutable_request_put();
  put->set_key(key_);
  put->set_value(call.value);
  request.add_failure()->mutable_request_range()->set_key(key_);
  etcdserverpb::TxnResponse response;
  const grpc::Status status = stub.Txn(context, request, &response);
  if (!status.ok()) return Failed(status);
  if (response.succeeded()) {
    StoreAnswer answer;
    answer.put = true;
    answer.revision = response.header().revision();
    return answer;
  }
  if (response.responses_size() != 1 || !response.responses(0).has_response_range()) {
    return Garbled();
  }
  return Found(response.responses(0).response_range());
}

StoreAnswer EtcdStore::Remove(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context) const {
  etcdserverpb::DeleteRangeRequest request;
  request.set_key(key_);
  etcdserverpb::DeleteRangeResponse response;
  const grpc::Status status = stub.DeleteRange(context, request, &response);
  return status.ok() ? StoreAnswer{} : Failed(status);
}

}  // namespace phalanx::etcd
