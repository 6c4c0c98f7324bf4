// What a user's first program may look like: every rank adds its number; all print the sum.
#include <cstdio>

#include "phalanx/phalanx.h"

namespace {

absl::Status AddRanks() {
  absl::StatusOr<phalanx::Options> options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<phalanx::Session>> session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  phalanx::Communicator& world = (*session)->view().world();
  int sum = world.rank() + 1;
  absl::Status status =
      world.AllReduce(&sum, &sum, 1, phalanx::DataType::kInt32, phalanx::ReduceOp::kSum).Wait();
  if (!status.ok()) return status;
  std::printf("rank %d: sum %d\n", world.rank(), sum);
  return (*session)->Close();
}

}  // namespace

int main() {
  const absl::Status status = AddRanks();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
