// Every field of a message as text, for comparing.
#ifndef PHALANX_TESTS_UNIT_ORDERING_WIRE_SHOW_H_
#define PHALANX_TESTS_UNIT_ORDERING_WIRE_SHOW_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ordering_wire/codec.h"

namespace phalanx::ordering {

class Show {
 public:
  std::string operator()(const Report& report) const {
    return Join("report", report.term, report.body.index(), std::visit(*this, report.body));
  }
  std::string operator()(const Order& order) const {
    return Join("order", order.term, order.body.index(), std::visit(*this, order.body));
  }
  std::string operator()(const NewCommunicator& it) const {
    return Join("new", it.id.value, it.members);
  }
  std::string operator()(const Present& it) const {
    return Join(it.op, it.signature, it.launched, it.rank);
  }
  std::string operator()(const Done& it) const { return Join(it.op); }
  std::string operator()(const Diverged& it) const { return Join(it.op); }
  std::string operator()(const Clear& /*it*/) const { return "clear"; }
  std::string operator()(const Held& it) const { return Join(it.tickets); }
  std::string operator()(const LocalTickets& it) const { return Join(it.entries, it.sequences); }
  std::string operator()(const Disagreement& it) const { return Join(it.op, it.left, it.right); }
  std::string operator()(const Stalled& it) const { return Join(it.rank); }
  std::string operator()(const SnapshotPart& it) const {
    const RankSnapshot& snapshot = it.snapshot;
    return Join(it.round, snapshot.rank, snapshot.progress, snapshot.ops, snapshot.threads,
                snapshot.device_held, snapshot.issued, snapshot.tickets);
  }
  std::string operator()(const Passed& it) const { return Join(it.rank, it.lanes); }
  std::string operator()(const Ticket& it) const { return Text(it); }
  std::string operator()(const Certify& it) const {
    return Join(it.schedule->entries, it.schedule->bases);
  }
  std::string operator()(const Fence& /*it*/) const { return "fence"; }
  std::string operator()(const Question& /*it*/) const { return "question"; }
  std::string operator()(const Resume& it) const { return Join(it.tickets); }
  std::string operator()(const AskSnapshot& it) const { return Join(it.round); }
  std::string operator()(const Verdict& it) const { return TextOf(*it.explanation); }
  std::string operator()(const Refused& it) const { return TextOf(*it.explanation); }

 private:
  static std::string TextOf(const Explanation& explanation) {
    return Join(static_cast<int>(explanation.kind), explanation.lines, explanation.difference,
                explanation.aborted);
  }
  template <typename... Parts>
  static std::string Join(const Parts&... parts) {
    std::string text = "(";
    (absl::StrAppend(&text, Text(parts), " "), ...);
    text.back() = ')';
    return text;
  }
  static std::string Text(const std::string& text) { return absl::StrCat("\"", text, "\""); }
  static std::string Text(const char* text) { return text; }
  static std::string Text(bool value) { return value ? "true" : "false"; }
  static std::string Text(int value) { return absl::StrCat(value); }
  static std::string Text(unsigned int value) { return absl::StrCat(value); }
  static std::string Text(uint64_t value) { return absl::StrCat(value); }
  static std::string Text(const Term& it) { return Join(it.epoch, it.generation); }
  static std::string Text(const TicketNumber& it) { return Join(it.epoch, it.global, it.local); }
  static std::string Text(const Lane& it) {
    return Join(it.communicator.value, static_cast<int>(it.kind), it.detail);
  }
  static std::string Text(const OpName& it) { return Join(it.lane, it.sequence); }
  static std::string Text(const Schedule::Base& it) { return Join(it.lane, it.sequence); }
  static std::string Text(const Schedule::Entry& it) { return Join(it.lane, it.signature); }
  static std::string Text(const RankSnapshot::Issued& it) { return Join(it.lane, it.next); }
  static std::string Text(int64_t number) { return absl::StrCat(number); }
  static std::string Text(const Signature& it) {
    return Join(static_cast<int>(it.kind), static_cast<int>(it.type), static_cast<int>(it.reduce),
                it.root, it.count, it.counts_hash);
  }
  static std::string Text(const Passed::OfLane& it) {
    return Join(it.lane, it.below, it.beyond, it.launched);
  }
  static std::string Text(const Passed::Launched& it) {
    return Join(it.first, it.until, it.entries);
  }
  static std::string Text(const Party& it) { return Join(it.rank, it.signature); }
  static std::string Text(const Ticket& it) { return Join(it.number, it.previous, it.op); }
  static std::string Text(const OpView& it) {
    return Join(it.name, it.signature, it.stream, it.unit, it.present, it.launched, it.call_site,
                it.overdue, it.age_ns);
  }
  static std::string Text(const ThreadView& it) {
    return Join(static_cast<int>(it.state), it.waits_for, it.device_wide);
  }
  static std::string Text(const Difference& it) { return Join(it.field, it.left, it.right); }
  static std::string Text(const Explanation::Line& it) {
    return Join(it.rank, static_cast<int>(it.why), it.op, it.signature, it.stream, it.call_site,
                it.waits_for, it.behind);
  }
  template <typename Item>
  static std::string Text(const std::optional<Item>& item) {
    return item.has_value() ? Text(*item) : "none";
  }
  template <typename Item>
  static std::string Text(const std::vector<Item>& items) {
    std::string text = "[";
    for (const Item& item : items) absl::StrAppend(&text, Text(item), " ");
    return text + "]";
  }
};

inline std::string ToText(const Uplink& message) { return std::visit(Show(), message); }
inline std::string ToText(const Downlink& message) { return Show()(message); }

}  // namespace phalanx::ordering

#endif  // PHALANX_TESTS_UNIT_ORDERING_WIRE_SHOW_H_
