// MPI_Allreduce, for whichever MPI it is compiled with. Started by that MPI's launcher.
//
// usage: mpi_all_reduce [--min BYTES] [--max BYTES] [--factor N] [--loop-ms N]
#include <mpi.h>

#include <cstdio>

#include "measure.h"

namespace {

class MpiPeer final : public phalanx::stress::Peer {
 public:
  MpiPeer() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void Prepare(float* data, size_t count) override {
    data_ = data;
    count_ = static_cast<int>(count);
  }
  void AllReduce() override {
    MPI_Allreduce(MPI_IN_PLACE, data_, count_, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  double FromRankZero(double value) override {
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return value;
  }
  double Maximum(double value) override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  float* data_ = nullptr;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  phalanx::stress::Sweep sweep;
  if (!phalanx::stress::ParseSweep(argc, argv, &sweep)) {
    std::fprintf(stderr, "mpi_all_reduce: bad size, factor or time\n");
    return 2;
  }
  MPI_Init(&argc, &argv);  // an error inside of MPI ends the job, which is MPI's default
  {
    MpiPeer peer;
    phalanx::stress::MeasureAllReduce(peer, sweep);
  }
  MPI_Finalize();
  return 0;
}
