#include "control_channel/tls.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"

namespace phalanx::control {

struct TlsSecret {
  std::string job;
  JobKey key;
};

namespace {

// Both suites hash with SHA-256, as the key's does; any other would refuse the key.
constexpr char kCipherSuites[] = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char kKeySuite[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

// Where a context keeps its secret. Index 0 ("app data") is Asio's.
int SecretIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Null when out of memory.
SSL_SESSION* SessionOf(SSL* ssl, const JobKey& key) {
  const SSL_CIPHER* suite = SSL_CIPHER_find(ssl, kKeySuite);
  SSL_SESSION* session = SSL_SESSION_new();
  if (suite == nullptr || session == nullptr ||
      SSL_SESSION_set1_master_key(session, key.bytes.data(), key.bytes.size()) != 1 ||
      SSL_SESSION_set_cipher(session, suite) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

const TlsSecret* SecretOf(SSL* ssl) {
  return static_cast<const TlsSecret*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), SecretIndex()));
}

int OfferKey(SSL* ssl, const EVP_MD* /*digest*/, const unsigned char** identity,
             size_t* identity_bytes, SSL_SESSION** session) {
  const TlsSecret* secret = SecretOf(ssl);
  *session = SessionOf(ssl, secret->key);
  if (*session == nullptr) return 0;
  *identity = reinterpret_cast<const unsigned char*>(secret->job.data());
  *identity_bytes = secret->job.size();
  return 1;
}

int FindKey(SSL* ssl, const unsigned char* identity, size_t identity_bytes, SSL_SESSION** session) {
  const TlsSecret* secret = SecretOf(ssl);
  *session = nullptr;
  // Another job's identity: without a key the handshake fails by itself, as there is no
  // certificate.
  if (identity_bytes != secret->job.size() ||
      std::memcmp(identity, secret->job.data(), identity_bytes) != 0) {
    return 1;
  }
  *session = SessionOf(ssl, secret->key);
  return *session == nullptr ? 0 : 1;
}

}  // namespace

TlsContext::TlsContext(Side side, std::string job, const JobKey& key)
    : side_(side),
      secret_(std::make_unique<TlsSecret>(TlsSecret{std::move(job), key})),
      context_(side == Side::kClient ? asio::ssl::context::tlsv13_client
                                     : asio::ssl::context::tlsv13_server) {}

TlsContext::~TlsContext() { OPENSSL_cleanse(secret_->key.bytes.data(), secret_->key.bytes.size()); }

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Make(Side side, std::string job,
                                                             const JobKey& key) {
  auto tls = std::unique_ptr<TlsContext>(new TlsContext(side, std::move(job), key));
  SSL_CTX* context = tls->context_.native_handle();
  if (SSL_CTX_set_ex_data(context, SecretIndex(), tls->secret_.get()) != 1 ||
      SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, kCipherSuites) != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    return absl::InternalError("OpenSSL refuses the settings of the control plane's TLS");
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (side == Side::kClient) {
    // A server that answers with a certificate in place of the key is never trusted.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(context, OfferKey);
  } else {
    SSL_CTX_set_psk_find_session_callback(context, FindKey);
  }
  return tls;
}

}  // namespace phalanx::control
