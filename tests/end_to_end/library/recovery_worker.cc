// A worker of the tests that uses Session::Run and says what it does: `pid P` at its start,
// `place R epoch E` when its body runs, `rank R sum S` at its end. Its argument says how it works:
//   until FILE  all-reduces until the file is there, which rank 0 looks for
//   last RANK   in the first view that rank stays when the others are done, which they say
//   wait RANK   in the first view that rank waits outside of the all-reduce in which the others are
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "phalanx/phalanx.h"

namespace {

constexpr size_t kCount = 20'000;

absl::Status Sum(phalanx::View& view, std::vector<int64_t>* values) {
  phalanx::OpOptions options;
  options.timeout = std::chrono::seconds(60);
  return view.world()
      .AllReduce(values->data(), values->data(), values->size(), phalanx::DataType::kInt64,
                 phalanx::ReduceOp::kSum, options)
      .Wait();
}

absl::Status Until(phalanx::View& view, const std::string& file) {
  while (true) {
    std::vector<int64_t> ready(kCount, 0);
    if (view.rank() == 0 && access(file.c_str(), F_OK) == 0) ready[0] = 1;
    if (const absl::Status status = Sum(view, &ready); !status.ok()) return status;
    if (ready[0] == 1) return absl::OkStatus();
  }
}

// Comes back when all ranks are known to be in Run: the job can't be recovered before. Each asks
// the coordinator for a communicator's number after it has told it so.
absl::Status AwaitAll(phalanx::View& view) {
  const auto alone = view.world().Split(view.rank(), 0);
  if (!alone.ok()) return alone.status();
  const auto again = (*alone)->Split(0, 0);
  return again.ok() ? view.world().Barrier().Wait() : again.status();
}

absl::Status Last(phalanx::View& view, int rank) {
  std::vector<int64_t> values(kCount, view.rank() + 1);
  if (const absl::Status status = Sum(view, &values); !status.ok()) return status;
  if (view.epoch() == 1 && view.rank() == rank) pause();
  std::printf("done epoch %d\n", static_cast<int>(view.epoch()));
  return absl::OkStatus();
}

absl::Status Work(phalanx::View& view, const std::string& how, const std::string& what) {
  if (const absl::Status status = AwaitAll(view); !status.ok()) return status;
  std::printf("place %d epoch %d\n", view.rank(), static_cast<int>(view.epoch()));
  if (how == "until") return Until(view, what);
  if (how == "last") return Last(view, std::stoi(what));
  if (view.epoch() == 1 && view.rank() == std::stoi(what)) pause();
  std::vector<int64_t> values(kCount, view.rank() + 1);
  return Sum(view, &values);
}

absl::Status Run(const std::string& how, const std::string& what) {
  const auto options = phalanx::Options::FromEnvironment();
  if (!options.ok()) return options.status();
  auto session = phalanx::Session::Join(*options);
  if (!session.ok()) return session.status();
  std::printf("joined\n");
  const absl::Status done =
      (*session)->Run([&](phalanx::View& view) { return Work(view, how, what); });
  if (!done.ok()) return done;
  phalanx::View& view = (*session)->view();
  if (view.rank() >= 0) {
    std::vector<int64_t> sum(1, view.rank() + 1);
    if (const absl::Status status = Sum(view, &sum); !status.ok()) return status;
    std::printf("rank %d sum %d\n", view.rank(), static_cast<int>(sum[0]));
  }
  return (*session)->Close();
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("pid %d\n", getpid());
  const absl::Status status = Run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "0");
  if (status.ok()) return 0;
  std::fprintf(stderr, "failed: %s\n", std::string(status.message()).c_str());
  return 3;
}
