#include "engine/operation_list.h"

#include <utility>

#include "engine/operation.h"

namespace phalanx::engine {

void OperationList::Append(Operation* operation) {
  operation->next_ = nullptr;
  (front_ == nullptr ? front_ : back_->next_) = operation;
  back_ = operation;
}

Operation* OperationList::Pop() {
  Operation* const first = front_;
  front_ = first->next_;
  first->next_ = nullptr;
  return first;
}

Operation* OperationList::TakeAll() { return std::exchange(front_, nullptr); }

void OperationList::Remove(Operation* previous, Operation* operation) {
  (previous == nullptr ? front_ : previous->next_) = operation->next_;
  if (back_ == operation) back_ = previous;
  operation->next_ = nullptr;
}

}  // namespace phalanx::engine
