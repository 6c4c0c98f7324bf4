#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "command_line.h"
#include "control_emulation/emulated_network.h"
#include "control_launch/job_coordinator.h"
#include "control_launch/node_job.h"
#include "control_launch/nodes_job.h"
#include "control_protocol/job_settings.h"
#include "faults/fault.h"
#include "keyed_record/etcd_url.h"
#include "run_faults.h"

namespace phalanx::tools {
namespace {

constexpr char kFooter[] =
    R"(Each process gets its place in PHALANX_RANK, PHALANX_WORLD_SIZE, PHALANX_LOCAL_RANK and
PHALANX_LOCAL_WORLD_SIZE (and in RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE). Its lines come
out as `[rank] line`, those of a spare as `[spare 0] line`; standard error stays standard error. Rank
0 reads our standard input unless that is a terminal; the others read nothing. A program name without
a slash is looked for in PATH, then beside phalanx.

Signals (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT) are passed on. After
the first one that ends the job, the processes have the grace period to end; then, or at a second
such signal, they are killed. When a process fails, the others are ended in the same way, unless a
spare takes its place.

With --nodes an agent on each host starts that host's ranks, which are consecutive; they start in
our working folder, get our PHALANX_ variables and what -x names, and read nothing. Hosts other than
localhost are reached through --rsh; the job's key passes through its standard input.

Exit code: 0 when all processes succeed; else that of the first that failed, or 128 + the signal
that killed it. 127: no such program, 126: not executable, 2: wrong options, 1: our own failure.

Examples:
  phalanx run -n 4 -- train
  phalanx run -n 4 --spares 1 -- train
  phalanx run -n 4 --spares 1 --fault 'kill rank=2 at=step:120' -- train
  phalanx run -n 4 --persist /checkpoints/digits -- train
  phalanx run -n 8 python3 train.py --epochs 3
  phalanx run --nodes node1:4,node2:4 -- ./train)";

struct RunOptions {
  int ranks = 0;
  int spares = 0;
  int max_restarts = 0;
  std::string on_loss;
  int checkpoint_every = 1;
  int replicas = 0;
  uint64_t replication_bytes_per_second = 0;
  bool label = true;
  bool no_label = false;
  int grace_ms = 5000;
  std::vector<std::string> variables;
  std::vector<std::string> program;
  std::string nodes;
  std::string emulate;
  std::string host_file;
  std::string remote_shell = "ssh -o BatchMode=yes";
  std::string remote_command;
  std::string address;
  control::JobFiles files;
  std::string persist_folder;
  int persist_every = 1;
  std::string persist_keep = "2";
  std::vector<std::string> faults;
  std::string fault_file;

  bool has_nodes() const { return !nodes.empty() || !host_file.empty() || !emulate.empty(); }
};

void AddEmulationOptions(CLI::App& command, RunOptions* options) {
  command
      .add_option("--emulate", options->emulate,
                  "Emulate a cluster on this machine: NODESxRANKS@RATE as in 4x2@1gbit, or the "
                  "ranks of each node as in 1,2,4@200mbit; needs root or user namespaces")
      ->excludes("--nodes")
      ->excludes("--hostfile")
      ->excludes("--ranks")
      ->excludes("--address")
      ->type_name("CLUSTER")
      ->group("Several nodes");
}

void AddNodeOptions(CLI::App& command, RunOptions* options) {
  const std::string group = "Several nodes";
  CLI::Option* nodes =
      command
          .add_option("--nodes,--host", options->nodes,
                      "Where to run, in the order of the ranks: HOST or HOST:RANKS, with commas")
          ->type_name("HOSTS")
          ->group(group);
  command
      .add_option("--hostfile", options->host_file,
                  "The same from a file, one host a line: HOST, HOST:RANKS or HOST slots=RANKS")
      ->type_name("FILE")
      ->excludes(nodes)
      ->group(group);
  command
      .add_option("--rsh", options->remote_shell,
                  "Starts a command on another host: RSH HOST COMMAND (not used for localhost)")
      ->envname("PHALANX_RSH")
      ->type_name("RSH")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--remote-phalanx", options->remote_command,
                  "Path of phalanx on the other hosts; default: as here")
      ->type_name("PATH")
      ->group(group);
  command
      .add_option("--address", options->address,
                  "Address of this machine that all hosts reach; default: found by itself")
      ->type_name("ADDRESS")
      ->group(group);
  AddEmulationOptions(command, options);
}

void AddPersistOptions(CLI::App& command, RunOptions* options) {
  const std::string group = "Checkpoints in files";
  CLI::Option* folder =
      command
          .add_option("--persist", options->persist_folder,
                      "Write committed checkpoints to DIR, and begin with the newest one that is "
                      "whole there; the same folder on all nodes, one for each training")
          ->envname("PHALANX_PERSIST")
          ->type_name("DIR")
          ->group(group);
  command
      .add_option("--persist-every", options->persist_every,
                  "Each how manyth committed checkpoint; one that is due while another is being "
                  "written is left out")
      ->envname("PHALANX_PERSIST_EVERY")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str()
      ->needs(folder)
      ->type_name("K")
      ->group(group);
  command
      .add_option("--persist-keep", options->persist_keep,
                  "How many of the newest stay in DIR, or `all`")
      ->envname("PHALANX_PERSIST_KEEP")
      ->check(CLI::Range(1, 1'000'000) | CLI::IsMember({"all"}))
      ->capture_default_str()
      ->needs(folder)
      ->type_name("N|all")
      ->group(group);
}

void AddFaultOptions(CLI::App& command, RunOptions* options) {
  const std::string group = "Faults, for tests";
  command
      .add_option(
          "--fault", options->faults,
          "Let a process or a link fail, once: `kill rank=N at=step:N`, `stop … for=30s`, "
          "`segfault …`, "
          "`exit … code=N`, `flip rank=N at=point:revoked`, `kill node=N at=time:1s`, `kill "
          "coordinator at=point:stored`, with --emulate `cut link=A-B at=step:N for=2s`; may be "
          "repeated")
      ->type_name("FAULT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
  command.add_option("--fault-file", options->fault_file, "The same from a file, one a line")
      ->type_name("FILE")
      ->group(group);
}

void AddCopyOptions(CLI::App& command, RunOptions* options) {
  command
      .add_option("--checkpoint-every", options->checkpoint_every,
                  "Of so many steps at whose end the program would save its state, one is saved")
      ->envname("PHALANX_CHECKPOINT_EVERY")
      ->check(CLI::Range(1, control::kMaxCheckpointEvery))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--replicas", options->replicas,
                  "How many nodes keep a copy of each rank's checkpoint, its own included; as many "
                  "as there are if that is less; default: 2")
      ->envname("PHALANX_REPLICAS")
      ->check(CLI::Range(1, control::kMaxReplicas))
      ->type_name("N");
  command
      .add_option("--replication-rate", options->replication_bytes_per_second,
                  "How much of checkpoints each node sends to others in the background (K, M, G "
                  "mean 2^10, 2^20, 2^30); copies that a restore waits for go as fast as they can; "
                  "default: 0, without limit")
      ->envname("PHALANX_REPLICATION_RATE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 50))
      ->type_name("BYTES_PER_SECOND");
}

void AddCoordinatorOptions(CLI::App& command, RunOptions* options) {
  command
      .add_option("--coordinator", options->files.record_url,
                  "Keep the record that the job's coordinator goes by in etcd instead of here: "
                  "etcd://HOST:PORT, or several with commas")
      ->envname("PHALANX_COORDINATOR")
      ->type_name("URL");
}

void AddOptions(CLI::App& command, RunOptions* options) {
  // Only for the help: SplitAtProgram has taken the program away before anything is parsed.
  command.add_option("PROGRAM", options->program, "What to run, and after it all its arguments");
  command
      .add_option(
          "-n,--ranks", options->ranks,
          "How many processes to start (also -np); default: one for each core, or slot of --nodes")
      ->check(CLI::Range(1, 65536))
      ->type_name("N");
  command
      .add_option("--spares", options->spares,
                  "How many processes more to start that wait to take a lost one's place; the "
                  "program must use Session::Run")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--max-restarts", options->max_restarts,
                  "How many processes each node starts anew where others were lost: as the next "
                  "spares, or, without one, in the lost one's place")
      ->envname("PHALANX_MAX_RESTARTS")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--on-loss", options->on_loss,
                  "What is tried when a rank is lost, in this order: spare, restart, shrink, fail, "
                  "with commas between; default: all of these")
      ->envname("PHALANX_ON_LOSS")
      ->type_name("WORDS");
  AddCopyOptions(command, options);
  command.add_flag("--no-label", options->no_label,
                   "Pass lines on without the `[rank] ` before them");
  command.add_flag("--tag-output", options->label,
                   "Label lines; that is the default (an option of mpirun)");
  command
      .add_option("-x,--env", options->variables,
                  "Give the processes this variable: NAME=VALUE, or NAME for our own value; may "
                  "be repeated")
      ->type_name("NAME[=VALUE]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--grace-ms", options->grace_ms,
                  "Milliseconds between asking the processes to end and killing them")
      ->check(CLI::Range(0, 86400000))
      ->capture_default_str()
      ->type_name("MS");
  command
      .add_option("--report", options->files.reports,
                  "Append each report about operations that wait, one line of JSON each")
      ->envname("PHALANX_REPORT_FILE")
      ->type_name("FILE");
  command
      .add_option("--events", options->files.events,
                  "Append what happens to the job, for programs: losses, views, recoveries with "
                  "their times, committed checkpoints; one line of JSON each")
      ->type_name("FILE");
  command
      .add_option("--status-port", options->files.status_port,
                  "Show how the job is on http://127.0.0.1:PORT/ (a page, /status.json, /metrics); "
                  "0: on a free port, which is said")
      ->envname("PHALANX_STATUS_PORT")
      ->type_name("PORT");
  AddCoordinatorOptions(command, options);
  AddPersistOptions(command, options);
  AddFaultOptions(command, options);
  AddNodeOptions(command, options);
  command.footer(kFooter);
}

// NAME alone is our own value; one that we haven't got is left out, as with mpirun -x.
std::map<std::string, std::string> ToVariables(const std::vector<std::string>& words) {
  std::map<std::string, std::string> variables;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      variables[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (const char* value = std::getenv(word.c_str()); value != nullptr) {
      variables[word] = value;
    }
  }
  return variables;
}

absl::StatusOr<std::string> ReadText(const std::string& option, const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file) return text;
  return absl::NotFoundError(absl::StrCat(option, ": can't read '", path, "'"));
}

absl::StatusOr<control::ClusterShape> ShapeOf(const RunOptions& options) {
  absl::StatusOr<control::ClusterShape> shape = control::ParseClusterShape(options.emulate);
  if (shape.ok()) return shape;
  return absl::InvalidArgumentError(absl::StrCat("--emulate: ", shape.status().message()));
}

absl::StatusOr<std::vector<control::HostSlots>> HostsOf(const RunOptions& options) {
  std::vector<control::HostSlots> hosts;
  if (!options.emulate.empty()) {
    PHX_ASSIGN_OR_RETURN(const control::ClusterShape shape, ShapeOf(options));
    for (const int ranks : shape.ranks) {
      hosts.push_back({absl::StrCat("emulated", hosts.size()), ranks});
    }
    return hosts;
  }
  if (!options.host_file.empty()) {
    PHX_ASSIGN_OR_RETURN(const std::string text, ReadText("--hostfile", options.host_file));
    PHX_ASSIGN_OR_RETURN(hosts, control::ParseHostFile(text));
  } else {
    PHX_ASSIGN_OR_RETURN(hosts, control::ParseHostList(options.nodes));
  }
  if (options.ranks == 0) return hosts;
  return control::TakeSlots(hosts, options.ranks);
}

absl::StatusOr<std::vector<faults::Fault>> FaultsOf(const RunOptions& options) {
  FaultTexts texts;
  texts.options = options.faults;
  if (!options.fault_file.empty()) {
    PHX_ASSIGN_OR_RETURN(texts.file_text, ReadText("--fault-file", options.fault_file));
    texts.file = options.fault_file;
  }
  JobForFaults job{options.ranks, options.spares, 0, !options.emulate.empty()};
  const bool has_any = !texts.options.empty() || !texts.file.empty();
  if (has_any && options.has_nodes()) {
    PHX_ASSIGN_OR_RETURN(const std::vector<control::HostSlots> hosts, HostsOf(options));
    job.nodes = static_cast<int>(hosts.size());
  }
  return ReadFaults(texts, job);
}

// Ours, whatever they are set to, mean the same on every node.
void AddOwnVariables(std::map<std::string, std::string>* variables) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (text.rfind("PHALANX_", 0) != 0) continue;
    const size_t equals = text.find('=');
    variables->emplace(text.substr(0, equals), text.substr(equals + 1));
  }
}

// The coordinator opens it later, when nobody looks.
absl::Status CheckFile(const char* option, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": can't write '", path, "': ", strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

// Makes the folder, and a file in it.
absl::StatusOr<control::PersistSettings> PersistSettingsOf(const RunOptions& options) {
  control::PersistSettings persist;
  if (options.persist_folder.empty()) return persist;
  const std::string where = absl::StrCat("--persist: '", options.persist_folder, "': ");
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::absolute(options.persist_folder, error).lexically_normal();
  if (!error) std::filesystem::create_directories(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(where, "can't be made: ", error.message()));
  }
  std::string probe = (path / ".phalanx-XXXXXX").string();
  const int fd = mkstemp(probe.data());
  if (fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, "can't be written: ", strerror(errno)));
  }
  close(fd);
  unlink(probe.c_str());
  persist.folder = path.string();
  persist.every = options.persist_every;
  persist.keep = 0;
  if (options.persist_keep != "all") persist.keep = std::stoi(options.persist_keep);
  return persist;
}

int UsageError(const std::string& message) {
  std::fprintf(stderr, "phalanx: %s\nRun `phalanx run --help` for more information.\n",
               message.c_str());
  return kExitUsage;
}

int RunOnNodes(const RunOptions& options, const std::vector<faults::Fault>& faults,
               control::NodeAssignment assignment) {
  control::NodesOptions nodes;
  absl::StatusOr<std::vector<control::HostSlots>> hosts = HostsOf(options);
  if (!hosts.ok()) return UsageError(std::string(hosts.status().message()));
  nodes.hosts = *std::move(hosts);
  nodes.remote_shell = absl::StrSplit(options.remote_shell, ' ', absl::SkipEmpty());
  if (nodes.remote_shell.empty()) return UsageError("--rsh: names no command");
  nodes.remote_command = options.remote_command;
  nodes.address = options.address;
  nodes.files = options.files;
  AddOwnVariables(&assignment.variables);
  if (!options.emulate.empty()) {
    const absl::StatusOr<control::ClusterShape> shape = ShapeOf(options);
    if (!shape.ok()) return UsageError(std::string(shape.status().message()));
    nodes.emulated = *shape;
    nodes.has_link_faults = std::any_of(faults.begin(), faults.end(), faults::IsOfNetwork);
    // The network's interface, instead of loopback.
    assignment.variables["PHALANX_BIND"] = control::EmulatedInterface();
    assignment.variables["PHALANX_EMULATED_RATE"] = std::to_string(shape->bits_per_second);
  }
  std::error_code ignored;
  assignment.folder = std::filesystem::current_path(ignored).string();
  return control::RunNodesJob(nodes, assignment);
}

}  // namespace

int RunCommand(const std::vector<std::string>& arguments) {
  RunOptions options;
  CLI::App command("Start a job: N processes of one program, on this machine or on several.",
                   "phalanx run");
  AddOptions(command, &options);
  const SplitArguments split = SplitAtProgram(command, arguments);
  int exit_code = 0;
  if (!Parse(command, split.options, &exit_code)) return exit_code;
  if (split.program.empty()) {
    return UsageError("no program to run; for example: phalanx run -n 4 -- ./train");
  }
  for (const auto& [option, path] : {std::pair{"--report", options.files.reports},
                                     std::pair{"--events", options.files.events}}) {
    const absl::Status status = CheckFile(option, path);
    if (!status.ok()) return UsageError(std::string(status.message()));
  }
  const std::string& record_url = options.files.record_url;
  if (!record_url.empty()) {
    const absl::Status status = control::ParseEtcdUrl(record_url).status();
    if (!status.ok()) return UsageError("--coordinator: " + std::string(status.message()));
  }
  control::NodeAssignment assignment;
  assignment.program = split.program;
  assignment.variables = ToVariables(options.variables);
  const absl::StatusOr<std::vector<faults::Fault>> faults = FaultsOf(options);
  if (!faults.ok()) return UsageError(std::string(faults.status().message()));
  if (!faults->empty()) assignment.variables["PHALANX_FAULTS"] = ToText(*faults);
  absl::StatusOr<control::PersistSettings> persist = PersistSettingsOf(options);
  if (!persist.ok()) return UsageError(std::string(persist.status().message()));
  assignment.persist = *std::move(persist);
  if (options.replicas > 0) {
    assignment.variables["PHALANX_REPLICAS"] = std::to_string(options.replicas);
  }
  if (command.get_option("--on-loss")->count() > 0) {
    const absl::StatusOr<control::LossPolicy> policy = control::LossPolicy::Parse(options.on_loss);
    if (!policy.ok()) return UsageError("--on-loss: it " + std::string(policy.status().message()));
    assignment.variables["PHALANX_ON_LOSS"] = policy->ToText();
  }
  if (options.checkpoint_every > 1) {
    assignment.variables["PHALANX_CHECKPOINT_EVERY"] = std::to_string(options.checkpoint_every);
  }
  assignment.replication_bytes_per_second = options.replication_bytes_per_second;
  assignment.label = !options.no_label;
  assignment.spares = options.spares;
  assignment.restarts = options.max_restarts;
  assignment.replaces = options.spares > 0 || options.max_restarts > 0;
  assignment.grace = std::chrono::milliseconds(options.grace_ms);
  if (options.has_nodes()) {
    return RunOnNodes(options, *faults, std::move(assignment));
  }
  assignment.world_size = options.ranks > 0 ? options.ranks : control::UsableCores();
  assignment.local_world_size = assignment.world_size;
  // A terminal isn't given away: a worker that reads it from the background would be stopped.
  const bool gives_input = isatty(STDIN_FILENO) == 0;
  return control::RunLocalJob(
      std::move(assignment),
      gives_input ? control::ChildInput::kInherited : control::ChildInput::kNothing, options.files);
}

}  // namespace phalanx::tools
