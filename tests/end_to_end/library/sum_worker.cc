// Joins a job, sums the ranks, prints `rank R sum S` and leaves. With `create`: makes the job first
// and prints its id for the others.
#include <cstdint>
#include <cstdio>
#include <string>

#include "phalanx/phalanx.h"

namespace {

absl::Status Run(bool create) {
  auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  if (create) {
    auto id = phalanx::Session::CreateUniqueId(*options);
    if (!id.ok()) return id.status();
    std::printf("id %s\n", id->c_str());
    std::fflush(stdout);
    options->unique_id = *id;
  }
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  int64_t sum = (*session)->view().rank() + 1;
  const absl::Status status =
      (*session)
          ->view()
          .world()
          .AllReduce(&sum, &sum, 1, phalanx::DataType::kInt64, phalanx::ReduceOp::kSum)
          .Wait();
  if (!status.ok()) return status;
  std::printf("rank %d sum %d\n", (*session)->view().rank(), static_cast<int>(sum));
  return (*session)->Close();
}

}  // namespace

int main(int argc, char** argv) {
  const absl::Status status = Run(argc > 1 && std::string(argv[1]) == "create");
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
