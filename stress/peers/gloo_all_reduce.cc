// Gloo's all-reduce over TCP on the loopback interface. Starts its own ranks as child processes.
//
// usage: gloo_all_reduce --ranks N --algorithm ring|ring_chunked|halving_doubling --store FOLDER
//                        [--min BYTES] [--max BYTES] [--factor N] [--loop-ms N]
//
// `ring` is what PyTorch calls; the other two are Gloo's older classes. FOLDER must be empty: the
// ranks find each other through files in it.
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "measure.h"

namespace {

class GlooPeer final : public phalanx::stress::Peer {
 public:
  GlooPeer(int rank, int size, std::string algorithm, const std::string& store_folder)
      : algorithm_(std::move(algorithm)) {
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    gloo::rendezvous::FileStore store(store_folder);
    auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    context->connectFullMesh(store, device);
    context_ = std::move(context);
  }
  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  void Prepare(float* data, size_t count) override {
    data_ = data;
    count_ = count;
    const std::vector<float*> pointers{data};
    const int elements = static_cast<int>(count);
    if (algorithm_ == "ring_chunked") {
      older_ = std::make_unique<gloo::AllreduceRingChunked<float>>(context_, pointers, elements);
    } else if (algorithm_ == "halving_doubling") {
      older_ =
          std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, pointers, elements);
    }
  }

  void AllReduce() override {
    if (older_ != nullptr) {
      older_->run();
      return;
    }
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(data_, count_);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

  double FromRankZero(double value) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(&value, 1);
    options.setRoot(0);
    options.setTag(1);
    gloo::broadcast(options);
    return value;
  }

  double Maximum(double value) override {
    gloo::AllreduceOptions options(context_);
    options.setOutput(&value, 1);
    options.setReduceFunction(
        static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::max<double>));
    options.setTag(2);
    gloo::allreduce(options);
    return value;
  }

 private:
  const std::string algorithm_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::Algorithm> older_;
  float* data_ = nullptr;
  size_t count_ = 0;
};

int RunRank(int rank, int ranks, const std::string& algorithm, const std::string& store,
            const phalanx::stress::Sweep& sweep) {
  try {
    GlooPeer peer(rank, ranks, algorithm, store);
    phalanx::stress::MeasureAllReduce(peer, sweep);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_all_reduce: rank %d: %s\n", rank, error.what());
    return 1;
  }
}

// Ends with its parent, so that a driver that gives up leaves nothing behind.
pid_t StartRank(int rank, int ranks, const std::string& algorithm, const std::string& store,
                const phalanx::stress::Sweep& sweep) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int status = RunRank(rank, ranks, algorithm, store, sweep);
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  phalanx::stress::Sweep sweep;
  const int ranks = std::atoi(phalanx::stress::Flag(argc, argv, "--ranks", "0"));
  const std::string algorithm = phalanx::stress::Flag(argc, argv, "--algorithm", "");
  const std::string store = phalanx::stress::Flag(argc, argv, "--store", "");
  const bool known =
      algorithm == "ring" || algorithm == "ring_chunked" || algorithm == "halving_doubling";
  if (ranks < 1 || !known || store.empty() || !phalanx::stress::ParseSweep(argc, argv, &sweep)) {
    std::fprintf(stderr,
                 "usage: gloo_all_reduce --ranks N --algorithm ring|ring_chunked|halving_doubling "
                 "--store FOLDER [--min BYTES] [--max BYTES] [--factor N] [--loop-ms N]\n");
    return 2;
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(StartRank(rank, ranks, algorithm, store, sweep));
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) failed = 1;
  }
  return failed;
}
