#include "phalanx/options.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "control_protocol/job_settings.h"
#include "faults/fault.h"

namespace phalanx {
namespace {

using Setter = absl::Status (*)(Options&, const std::string& text);

// One option: PHALANX_<name>, the flag that comes of it, and what other launchers call it.
struct Entry {
  const char* name;
  Setter set;
  std::vector<const char*> synonyms;
};

absl::Status ParseInt(const std::string& text, int* out) {
  if (absl::SimpleAtoi(text, out)) return absl::OkStatus();
  return absl::InvalidArgumentError("isn't a whole number");
}

absl::Status ParseSeconds(const std::string& text, std::chrono::milliseconds* out) {
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds > 0) || seconds > 1e9) {
    return absl::InvalidArgumentError("isn't a positive number of seconds");
  }
  *out = std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  return absl::OkStatus();
}

absl::Status ParseMilliseconds(const std::string& text, std::chrono::microseconds* out) {
  double milliseconds = 0;
  if (!absl::SimpleAtod(text, &milliseconds) || !(milliseconds > 0) || milliseconds > 1e6) {
    return absl::InvalidArgumentError("isn't a positive number of milliseconds");
  }
  *out = std::chrono::microseconds(static_cast<int64_t>(milliseconds * 1000));
  return absl::OkStatus();
}

absl::Status ParseWholeMilliseconds(const std::string& text, std::chrono::milliseconds* out) {
  int milliseconds = 0;
  PHX_RETURN_IF_ERROR(ParseInt(text, &milliseconds));
  *out = std::chrono::milliseconds(milliseconds);
  return absl::OkStatus();
}

absl::Status ParseBool(const std::string& text, bool* out) {
  if (absl::SimpleAtob(text, out)) return absl::OkStatus();
  return absl::InvalidArgumentError("isn't 0 or 1");
}

absl::Status ParseBytes(const std::string& text, size_t* out) {
  static constexpr char kUnits[] = "KMGT";
  std::string digits = absl::AsciiStrToUpper(text);
  int shift = 0;
  for (int unit = 0; unit < 4; ++unit) {
    if (!digits.empty() && digits.back() == kUnits[unit]) {
      digits.pop_back();
      shift = 10 * (unit + 1);
      break;
    }
  }
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(digits, &bytes) ||
      bytes > (std::numeric_limits<uint64_t>::max() >> shift)) {
    return absl::InvalidArgumentError("isn't a number of bytes (a suffix K, M, G or T is allowed)");
  }
  *out = bytes << shift;
  return absl::OkStatus();
}

absl::Status ParseChoice(const std::string& text, std::vector<const char*> choices,
                         std::string* out) {
  for (const char* choice : choices) {
    if (text == choice) {
      *out = text;
      return absl::OkStatus();
    }
  }
  std::string list;
  for (const char* choice : choices) absl::StrAppend(&list, list.empty() ? "" : ", ", choice);
  return absl::InvalidArgumentError(absl::StrCat("isn't one of ", list));
}

template <std::string Options::*Field>
absl::Status SetText(Options& options, const std::string& text) {
  options.*Field = text;
  return absl::OkStatus();
}

// Whose place the process takes, and how the job is found.
std::vector<Entry> PlaceEntries() {
  return {
      {"RANK",
       [](Options& o, const std::string& t) { return ParseInt(t, &o.rank); },
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}},
      {"WORLD_SIZE",
       [](Options& o, const std::string& t) { return ParseInt(t, &o.world_size); },
       {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}},
      {"LOCAL_WORLD_SIZE",
       [](Options& o, const std::string& t) { return ParseInt(t, &o.local_world_size); },
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}},
      {"SPARE", [](Options& o, const std::string& t) { return ParseBool(t, &o.spare); }, {}},
      {"AGENT", SetText<&Options::agent>, {}},
      {"SUPERVISED",
       [](Options& o, const std::string& t) { return ParseBool(t, &o.supervised); },
       {}},
      {"UNIQUE_ID", SetText<&Options::unique_id>, {}},
      {"ADDRESS", SetText<&Options::address>, {}},
      {"KEY_FILE", SetText<&Options::key_file>, {}},
  };
}

// What the process asks of the job.
std::vector<Entry> BehaviourEntries() {
  return {
      {"TRANSPORT",
       [](Options& o, const std::string& t) {
         return ParseChoice(t, {"auto", "shm", "ucx", "ofi"}, &o.transport);
       },
       {}},
      {"BIND", SetText<&Options::bind_address>, {}},
      {"SHARED_MEMORY",
       [](Options& o, const std::string& t) { return ParseBytes(t, &o.shared_memory_limit); },
       {}},
      {"CROSS_MEMORY_ATTACH",
       [](Options& o, const std::string& t) { return ParseBool(t, &o.cross_memory_attach); },
       {}},
      {"ORDERING",
       [](Options& o, const std::string& t) {
         return ParseChoice(t, {"off", "strict", "adaptive"}, &o.ordering);
       },
       {}},
      {"DEVICE_SLOTS",
       [](Options& o, const std::string& t) { return ParseInt(t, &o.device_slots); },
       {}},
      {"DEVICE_WAIT_HOLDS",
       [](Options& o, const std::string& t) { return ParseBool(t, &o.device_wait_holds); },
       {}},
      {"FUSION_THRESHOLD",
       [](Options& o, const std::string& t) { return ParseBytes(t, &o.fusion_threshold); },
       {}},
      {"FUSION_CYCLE_TIME_MS",
       [](Options& o, const std::string& t) { return ParseMilliseconds(t, &o.fusion_cycle_time); },
       {}},
      {"STALL_TIMEOUT",
       [](Options& o, const std::string& t) { return ParseSeconds(t, &o.stall_timeout); },
       {}},
      {"STALL_ACTION",
       [](Options& o, const std::string& t) {
         return ParseChoice(t, {"abort", "warn"}, &o.stall_action);
       },
       {}},
      {"SUSPECT_AFTER_MS",
       [](Options& o, const std::string& t) { return ParseWholeMilliseconds(t, &o.suspect_after); },
       {}},
      {"REPLICAS", [](Options& o, const std::string& t) { return ParseInt(t, &o.replicas); }, {}},
      {"ON_LOSS",
       [](Options& o, const std::string& t) {
         o.on_loss = t;
         return control::LossPolicy::Parse(t).status();
       },
       {}},
      {"CHECKPOINT_EVERY",
       [](Options& o, const std::string& t) { return ParseInt(t, &o.checkpoint_every); },
       {}},
      {"LIVE", [](Options& o, const std::string& t) { return ParseBool(t, &o.live); }, {}},
      {"JOIN_TIMEOUT",
       [](Options& o, const std::string& t) { return ParseSeconds(t, &o.join_timeout); },
       {}},
      {"OPERATION_TIMEOUT",
       [](Options& o, const std::string& t) { return ParseSeconds(t, &o.operation_timeout); },
       {}},
      {"FAULTS", SetText<&Options::faults>, {}},
      {"LOG",
       [](Options& o, const std::string& t) {
         return ParseChoice(t, {"info", "warning", "error"}, &o.log);
       },
       {}},
  };
}

const std::vector<Entry>& Entries() {
  static const auto* const entries = [] {
    auto* all = new std::vector<Entry>(PlaceEntries());
    for (Entry& entry : BehaviourEntries()) all->push_back(std::move(entry));
    return all;
  }();
  return *entries;
}

absl::Status Set(const Entry& entry, const std::string& source, const std::string& text,
                 Options* options) {
  const absl::Status status = entry.set(*options, text);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(source, "=", text, ": the value ", status.message()));
}

std::string FlagOf(const Entry& entry) {
  return absl::StrCat("--phalanx-",
                      absl::StrReplaceAll(absl::AsciiStrToLower(entry.name), {{"_", "-"}}));
}

}  // namespace

absl::StatusOr<Options> Options::FromEnvironment() {
  return FromEnvironment([](const char* name) -> const char* { return std::getenv(name); });
}

absl::StatusOr<Options> Options::FromEnvironment(
    const std::function<const char*(const char* name)>& get) {
  Options options;
  for (const Entry& entry : Entries()) {
    std::vector<std::string> names{absl::StrCat("PHALANX_", entry.name)};
    names.insert(names.end(), entry.synonyms.begin(), entry.synonyms.end());
    for (const std::string& name : names) {
      const char* const value = get(name.c_str());
      if (value == nullptr || *value == '\0') continue;
      PHX_RETURN_IF_ERROR(Set(entry, name, value, &options));
      break;
    }
  }
  // Whatever started us may have numbered all its processes.
  if (options.spare) options.rank = -1;
  return options;
}

absl::StatusOr<Options> Options::FromFlags(int* argc, char** argv) {
  PHX_ASSIGN_OR_RETURN(Options options, FromEnvironment());
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") {
      while (i < *argc) argv[kept++] = argv[i++];
      break;
    }
    if (!absl::StartsWith(argument, "--phalanx-")) {
      argv[kept++] = argv[i];
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    bool known = false;
    for (const Entry& entry : Entries()) {
      if (FlagOf(entry) != flag) continue;
      known = true;
      if (equals == std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(flag, " needs a value: ", flag, "=…"));
      }
      PHX_RETURN_IF_ERROR(Set(entry, flag, argument.substr(equals + 1), &options));
    }
    if (!known) return absl::InvalidArgumentError(absl::StrCat("unknown flag ", flag));
  }
  *argc = kept;
  argv[kept] = nullptr;
  return options;
}

absl::Status Options::Validate() const {
  if (world_size <= 0) {
    return absl::InvalidArgumentError(
        "the number of ranks isn't known: start the program with `phalanx run -n N -- program` (or "
        "torchrun, mpirun, srun), or set PHALANX_WORLD_SIZE");
  }
  if (rank < -1 || rank >= world_size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", rank, " isn't a rank of a job of ",
                                                   world_size, ": ranks are 0 to ",
                                                   world_size - 1));
  }
  if (const absl::Status good = faults::ParseFaults(faults).status(); !good.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_FAULTS: ", good.message()));
  }
  if (spare && rank >= 0) {
    return absl::InvalidArgumentError(absl::StrCat("a spare has no rank, but rank ", rank,
                                                   " is given; leave out one of the two"));
  }
  if (device_slots < 0 || device_slots > control::kMaxDeviceSlots) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_DEVICE_SLOTS is ", device_slots,
                                                   "; 0 (no limit) to ", control::kMaxDeviceSlots,
                                                   " are possible"));
  }
  if (stall_timeout.count() < 1 || stall_timeout.count() > control::kMaxStallTimeoutMs) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_STALL_TIMEOUT is ",
                                                   stall_timeout.count(), " ms; 1 to ",
                                                   control::kMaxStallTimeoutMs, " are possible"));
  }
  if (suspect_after.count() < control::kMinSuspectAfterMs ||
      suspect_after.count() > control::kMaxSuspectAfterMs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PHALANX_SUSPECT_AFTER_MS is ", suspect_after.count(), "; ", control::kMinSuspectAfterMs,
        " to ", control::kMaxSuspectAfterMs, " are possible"));
  }
  if (replicas < 0 || replicas > control::kMaxReplicas) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_REPLICAS is ", replicas, "; 1 to ",
                                                   control::kMaxReplicas, " are possible"));
  }
  if (const absl::Status good = control::LossPolicy::Parse(on_loss).status(); !good.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("PHALANX_ON_LOSS=", on_loss, ": the value ", good.message()));
  }
  if (checkpoint_every < 1 || checkpoint_every > control::kMaxCheckpointEvery) {
    return absl::InvalidArgumentError(absl::StrCat("PHALANX_CHECKPOINT_EVERY is ", checkpoint_every,
                                                   "; 1 to ", control::kMaxCheckpointEvery,
                                                   " are possible"));
  }
  if (!agent.empty() || !unique_id.empty()) return absl::OkStatus();
  if (address.empty()) {
    return absl::InvalidArgumentError(
        "the job isn't known: start the program with `phalanx run`, or give PHALANX_UNIQUE_ID, or "
        "PHALANX_ADDRESS (host:port of rank 0) and PHALANX_KEY_FILE");
  }
  if (key_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PHALANX_ADDRESS=", address,
        " is given but no key: set PHALANX_KEY_FILE to a file with at least 16 secret bytes, the "
        "same on all machines"));
  }
  if (rank < 0) {
    return absl::InvalidArgumentError(
        "PHALANX_ADDRESS needs PHALANX_RANK too: rank 0 starts the coordinator there");
  }
  return absl::OkStatus();
}

}  // namespace phalanx
