#include "stress/benchmark.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "measure.h"
#include "phalanx/session.h"
#include "report.h"
#include "trial.h"
#include "wire.h"

namespace phalanx::stress {
namespace {

// A benchmark's two buffers, of the asked-for kind.
class Buffers {
 public:
  static absl::StatusOr<Buffers> Make(Session& session, const std::string& kind, size_t bytes) {
    Buffers buffers;
    for (int i = 0; i < 2; ++i) {
      if (kind == "allocated") {
        absl::StatusOr<Buffer> shared = session.Allocate(std::max<size_t>(bytes, 1));
        if (!shared.ok()) return shared.status();
        buffers.shared_[i] = *std::move(shared);
        buffers.memory_[i] = buffers.shared_[i].as<std::byte>();
      } else {
        buffers.own_[i].reset(new (std::nothrow) std::byte[std::max<size_t>(bytes, 1)]());
        if (buffers.own_[i] == nullptr) {
          return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
        }
        buffers.memory_[i] = buffers.own_[i].get();
      }
    }
    return buffers;
  }
  std::byte* send() const { return memory_[0]; }
  std::byte* receive() const { return memory_[1]; }

 private:
  Buffer shared_[2];
  std::unique_ptr<std::byte[]> own_[2];
  std::byte* memory_[2] = {};
};

absl::Status Sweep(const BenchmarkSettings& settings, Session& session, const std::string& kind,
                   const Wire& wire, Report* report) {
  Communicator& world = session.view().world();
  const Shape largest = ShapeOf(settings, world.size(), settings.max_bytes);
  const size_t elements = std::max(largest.send_elements, largest.receive_elements);
  absl::StatusOr<Buffers> buffers = Buffers::Make(session, kind, elements * SizeOf(settings.type));
  if (!buffers.ok()) return buffers.status();
  Trial trial(settings, world, buffers->send(), buffers->receive());
  if (report != nullptr) report->Header(kind);
  for (size_t bytes = settings.min_bytes; bytes <= settings.max_bytes; bytes *= settings.factor) {
    Row row{kind, ShapeOf(settings, world.size(), bytes), {}, {}};
    if (row.shape.count == 0) continue;
    absl::StatusOr<Measurement> measured = Measure(settings, world, trial, wire, row.shape, false);
    if (!measured.ok()) return measured.status();
    row.out_of_place = *measured;
    if (trial.can_be_in_place()) {
      measured = Measure(settings, world, trial, wire, row.shape, true);
      if (!measured.ok()) return measured.status();
      row.in_place = *measured;
    }
    if (report != nullptr) report->Add(row);
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& BenchmarkNames() {
  static const auto* const names = new std::vector<std::string>{
      "all_reduce", "reduce_scatter", "all_gather", "broadcast",   "reduce",
      "gather",     "scatter",        "all_to_all", "send_receive"};
  return *names;
}

absl::StatusOr<DataType> ParseDataType(const std::string& name) {
  if (name == "float16") return DataType::kFloat16;
  if (name == "float32") return DataType::kFloat32;
  if (name == "float64") return DataType::kFloat64;
  std::vector<std::string> names;
  for (int i = 0; i < kDataTypeCount; ++i) {
    names.emplace_back(NameOf(static_cast<DataType>(i)));
    if (name == names.back()) return static_cast<DataType>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown type ", name, "; known are ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<ReduceOp> ParseReduceOp(const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < kReduceOpCount; ++i) {
    names.emplace_back(NameOf(static_cast<ReduceOp>(i)));
    if (name == names.back()) return static_cast<ReduceOp>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown reduction ", name, "; known are ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<size_t> ParseSize(const std::string& text) {
  std::string digits = text;
  int shift = 0;
  if (!digits.empty()) {
    const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back())));
    shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    if (shift > 0) digits.pop_back();
  }
  uint64_t value = 0;
  if (!absl::SimpleAtoi(digits, &value) || value > (uint64_t{1} << 40) >> shift) {
    return absl::InvalidArgumentError(
        absl::StrCat("size ", text, " isn't a number of bytes like 8, 64K or 16M"));
  }
  return value << shift;
}

absl::Status RunBenchmark(const BenchmarkSettings& settings, const Options& options) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Join(options);
  if (!session.ok()) return session.status();
  View& view = (*session)->view();
  if (settings.root < 0 || settings.root >= view.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("root ", settings.root, " isn't one of the ranks 0 to ", view.size() - 1));
  }
  const bool prints = view.rank() == 0;
  const absl::StatusOr<Wire> wire = Wire::Find(view.world());
  if (!wire.ok()) return wire.status();
  Report report(settings, options.transport, view.size(), *wire);
  for (const std::string kind : {"allocated", "ordinary"}) {
    if (settings.buffers != "both" && settings.buffers != kind) continue;
    const absl::Status status = Sweep(settings, **session, kind, *wire, prints ? &report : nullptr);
    if (!status.ok()) return status;
  }
  if (prints) {
    report.Footer();
    if (!settings.json_path.empty()) {
      if (const absl::Status status = report.WriteJson(settings.json_path); !status.ok()) {
        return status;
      }
    }
  }
  if (const absl::Status status = (*session)->Close(); !status.ok()) return status;
  if (report.wrong() == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(report.wrong(), " elements were wrong"));
}

}  // namespace phalanx::stress
