#include "control_emulation/link_fault_text.h"

#include "absl/strings/str_cat.h"
#include "control_emulation/network_text.h"

namespace phalanx::control {
namespace {

using faults::Fault;
using faults::Target;

// Between nodes; from nodes to the hub; from the hub to nodes.
constexpr const char* kChains[] = {"forward", "input", "output"};

std::string Quoted(const std::string& name) { return absl::StrCat("\"", name, "\""); }
std::string From(int node) { return absl::StrCat("iifname ", Quoted(PortName(node)), " "); }
std::string To(int node) { return absl::StrCat("oifname ", Quoted(PortName(node)), " "); }

void AddRule(const char* chain, const std::string& rule, std::string* text) {
  absl::StrAppend(text, "add rule bridge ", kFaultTable, " ", chain, " ", rule, "\n");
}

// What is dropped is counted.
std::string Loss() { return absl::StrCat("counter name ", Quoted(kLostCounter), " drop"); }

void AddCut(const Target& target, std::string* text) {
  if (target.kind == Target::Kind::kNode) {
    AddRule("forward", From(target.number) + Loss(), text);
    AddRule("forward", To(target.number) + Loss(), text);
    AddRule("input", From(target.number) + Loss(), text);
    AddRule("output", To(target.number) + Loss(), text);
    return;
  }
  AddRule("forward", From(target.number) + To(target.other) + Loss(), text);
  if (target.one_way) return;
  AddRule("forward", From(target.other) + To(target.number) + Loss(), text);
}

}  // namespace

std::string LinkTable() {
  std::string text = absl::StrCat("add table bridge ", kFaultTable, "\nadd counter bridge ",
                                  kFaultTable, " ", kLostCounter, "\n");
  for (const char* const chain : kChains) {
    absl::StrAppend(&text, "add chain bridge ", kFaultTable, " ", chain, " { type filter hook ",
                    chain, " priority 0; policy accept; }\n");
  }
  return text;
}

std::string LinkRules(const std::vector<Fault>& faults) {
  std::string text;
  for (const char* const chain : kChains) {
    absl::StrAppend(&text, "flush chain bridge ", kFaultTable, " ", chain, "\n");
  }
  for (const Fault& fault : faults) {
    if (fault.action == faults::Action::kCut) AddCut(fault.target, &text);
  }
  return text;
}

}  // namespace phalanx::control
