// etcd's key-value service as a KeyStore.
#ifndef PHALANX_CONTROL_RECORD_ETCD_MODULE_ETCD_STORE_H_
#define PHALANX_CONTROL_RECORD_ETCD_MODULE_ETCD_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "etcd.grpc.pb.h"
#include "keyed_record/key_store.h"

namespace phalanx::etcd {

class EtcdStore final : public control::KeyStore {
 public:
  explicit EtcdStore(const control::KeyStoreOptions& options);

  control::StoreAnswer Perform(const control::StoreCall& call) override;

 private:
  struct Endpoint {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> stub;
  };

  control::StoreAnswer Get(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context) const;
  control::StoreAnswer Put(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context,
                           const control::StoreCall& call) const;
  control::StoreAnswer Remove(etcdserverpb::KV::Stub& stub, grpc::ClientContext* context) const;

  const std::string key_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace phalanx::etcd

#endif  // PHALANX_CONTROL_RECORD_ETCD_MODULE_ETCD_STORE_H_
