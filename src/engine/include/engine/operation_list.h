// An intrusive first-in, first-out list of operations.
#ifndef PHALANX_ENGINE_OPERATION_LIST_H_
#define PHALANX_ENGINE_OPERATION_LIST_H_

namespace phalanx::engine {

class Operation;

// An operation is in one list at a time. Not thread-safe.
class OperationList {
 public:
  Operation* front() const { return front_; }
  void Append(Operation* operation);
  Operation* Pop();
  Operation* TakeAll();
  void Remove(Operation* previous, Operation* operation);

 private:
  Operation* front_ = nullptr;
  Operation* back_ = nullptr;
};

}  // namespace phalanx::engine

#endif  // PHALANX_ENGINE_OPERATION_LIST_H_
