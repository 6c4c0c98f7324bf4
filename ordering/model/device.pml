/* A rank's device and its streams: what an op's state is, and when it completes.
 *
 * enqueued -> present (its stream has reached it) -> gone (complete or aborted), and apart from that
 * launched or not. A slot is held by what is resident: launched, present, not gone. An op that was
 * launched inline behind others on its stream holds no slot yet. */

byte issued[RANKS];   /* by the host */
byte launched[RANKS]; /* handed to the device, which can't be taken back */
byte guessed[RANKS];  /* those of the launched that were launched by speculation, without a ticket */
byte complete[RANKS];
byte aborted[RANKS];

#define GONE(r) (complete[r] | aborted[r])

#define PRESENT(r, x) \
  (HAS(issued[r], x) && !HAS(GONE(r), x) && (before_on_stream[AT(r, x)] & ~GONE(r)) == 0)
#define RESIDENT(r, x) (HAS(launched[r], x) && PRESENT(r, x))
#define RESIDENTS(r) \
  (RESIDENT(r, 0) + RESIDENT(r, 1) + RESIDENT(r, 2) + RESIDENT(r, 3) + RESIDENT(r, 4) + RESIDENT(r, 5))

/* Over the members of an op. */
#define ALL_MEMBERS(x, what)                                                     \
  ((!HAS(members[x], 0) || what(0, x)) && (!HAS(members[x], 1) || what(1, x)) && \
   (!HAS(members[x], 2) || what(2, x)))

#define IS_LAUNCHED(r, x) HAS(launched[r], x)

/* Rendezvous: nobody completes before all members are resident, and then each in its own time. What is
 * buffered needs fewer: a send nobody but itself, a broadcast's leaf its root, a reduction's leaf itself. */
#define RESIDENT_OR_COMPLETE(r, x) (RESIDENT(r, x) || HAS(complete[r], x))
#define NEEDED_ARE_THERE(r, x)                                    \
  ((!HAS(needs[AT(r, x)], 0) || RESIDENT_OR_COMPLETE(0, x)) &&    \
   (!HAS(needs[AT(r, x)], 1) || RESIDENT_OR_COMPLETE(1, x)) &&    \
   (!HAS(needs[AT(r, x)], 2) || RESIDENT_OR_COMPLETE(2, x)))

/* Completed counts as present, where members complete apart. (Of other ops nobody completes before all
 * have launched them, so nothing is owed.) */
#define PASSED(r, x) HAS(buffers & complete[r], x)
#define PRESENT_OR_PASSED(r, x) (PRESENT(r, x) || PASSED(r, x))

#define COMPLETES(r, x)                                                                 \
  d_step {                                                                              \
    HAS(mine[r], x) && RESIDENT(r, x) && NEEDED_ARE_THERE(r, x) ->                      \
    complete[r] = complete[r] | BIT(x);                                                 \
    printf("r%d completes op%d\n", r, x);                                               \
    assert(RESIDENTS(r) <= slots) /* what is behind it on the stream is resident now */ \
  }

proctype Device(byte r) {
end:
  do
  :: COMPLETES(r, 0)
  :: COMPLETES(r, 1)
  :: COMPLETES(r, 2)
  :: COMPLETES(r, 3)
  :: COMPLETES(r, 4)
  :: COMPLETES(r, 5)
  od
}
