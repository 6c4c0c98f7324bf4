// TLS 1.3 by the job's pre-shared key alone: no certificates, no older versions, no tickets.
#ifndef PHALANX_CONTROL_CHANNEL_TLS_H_
#define PHALANX_CONTROL_CHANNEL_TLS_H_

#include <asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control_channel/job_key.h"

namespace phalanx::control {

struct TlsSecret;

// A context for connections of `job`; the job's id is the key's identity. Keeps the key itself.
class TlsContext {
 public:
  enum class Side { kClient, kServer };
  static absl::StatusOr<std::unique_ptr<TlsContext>> Make(Side side, std::string job,
                                                          const JobKey& key);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  Side side() const { return side_; }
  asio::ssl::context& context() { return context_; }

 private:
  TlsContext(Side side, std::string job, const JobKey& key);

  Side side_;
  std::unique_ptr<TlsSecret> secret_;  // outlives context_, whose callbacks read it
  asio::ssl::context context_;
};

}  // namespace phalanx::control

#endif  // PHALANX_CONTROL_CHANNEL_TLS_H_
