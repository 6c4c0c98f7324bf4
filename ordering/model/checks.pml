/* What must hold.
 *
 * Each step adds to a set or spends a fault, and nothing takes from a set without spending one: no run
 * is endless. A program that waits for ever is therefore a state in which nothing can happen, which is
 * what `timeout` stands for, and in which some op isn't complete. (The faults that may come are chosen
 * at the start, so that a fault that could still come never hides such a state: some other run has the
 * same state without it.) */

/* Ops that some device launched by ticket before it launched this one. Without those that a member may
 * complete alone: if nobody holds one when the sequencer dies, it's ticketed anew, behind what is held. */
byte launched_before[OPS];

inline note_order(r, x) {
  launched_before[x] = launched_before[x] | (launched[r] & ~guessed[r] & ~buffers)
}

/* One order per device, taken from one order of all: the orders of all devices together have no cycle. */
hidden byte other, lap;
inline check_one_order() {
  lap = 0;
  do
  :: lap < OPS ->
     op = 0;
     do
     :: op < OPS ->
        other = 0;
        do
        :: other < OPS ->
           if
           :: HAS(launched_before[op], other) ->
              launched_before[op] = launched_before[op] | launched_before[other]
           :: else
           fi;
           other++
        :: else -> break
        od;
        assert(!HAS(launched_before[op], op));
        op++
     :: else -> break
     od;
     lap++
  :: else -> break
  od;
  op = 0
}

/* Launched anywhere: complete on all members, or aborted on all of them. What is buffered may be complete
 * on some and aborted on others. */
#define IS_COMPLETE(r, x) HAS(complete[r], x)
#define IS_OVER(r, x) HAS(buffers & GONE(r), x)
#define IS_ABORTED(r, x) HAS(aborted[r] & ~complete[r], x)
inline check_agreement() {
  op = 0;
  do
  :: op < OPS ->
     assert((!HAS(launched[0], op) && !HAS(launched[1], op) && !HAS(launched[2], op)) ||
            ALL_MEMBERS(op, IS_COMPLETE) || ALL_MEMBERS(op, IS_ABORTED) ||
            ALL_MEMBERS(op, IS_OVER));
     op++
  :: else -> break
  od;
  op = 0
}

#define HAS_ENDED(r) (next_item[r] == items[r] && (issued[r] & ~GONE(r)) == 0)

#define IS_PRESENT_SOMEWHERE(x) (PRESENT(0, x) || PRESENT(1, x) || PRESENT(2, x))
#define REFUSE_IF_PRESENT(x) (IS_PRESENT_SOMEWHERE(x) -> BIT(x) : 0)

/* Nothing moves. Either all is done, or it is a cycle, or an absent rank: then the sequencer aborts what
 * is present anywhere. One message tells each rank all of it, so no op completes on some member while
 * it is aborted on another: each of the aborted has a member that is blocked by another of them. */
proctype Watchdog() {
  do
  :: timeout ->
     if
     :: HAS_ENDED(0) && HAS_ENDED(1) && HAS_ENDED(2) ->
        d_step { check_agreement(); check_one_order() };
#ifdef END_IS_WRONG
        assert(false); /* to show that the check gets here at all */
#endif
        break
     :: else ->
        assert(!completable);
        d_step {
          refused = refused | REFUSE_IF_PRESENT(0) | REFUSE_IF_PRESENT(1) | REFUSE_IF_PRESENT(2) |
                    REFUSE_IF_PRESENT(3) | REFUSE_IF_PRESENT(4) | REFUSE_IF_PRESENT(5);
          printf("nothing moves; set %d is to be aborted\n", refused)
        }
     fi
  od
}
