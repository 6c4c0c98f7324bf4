/* The sequencer, the order that each node keeps, and what may befall them.
 *
 * An op gets a ticket when all its members are present and in the announced term, that is, have stopped
 * speculating. The lowest incomplete ticket can always run: on each member it is launched, or next in
 * that device's order with a slot that speculation can't have. By induction nothing waits for ever. */

/* --- tickets -------------------------------------------------------------------------------------- */

#ifdef COMPLETE_IS_ABSENT
/* Breaks: r0 M - r1 M; hsM; A - r2 A where r0 sends M. r0 has launched and completed M by the schedule, and
 * after the fence r1 waits for r0 to announce it. Without a schedule: r0 M - r1 M, where the sequencer dies
 * when r0 has launched M by its ticket and r1 hasn't. */
#define READY(r, x) (PRESENT(r, x) && HAS(entered, r))
#else
#define READY(r, x) (PRESENT_OR_PASSED(r, x) && HAS(entered, r))
#endif
#define ANY_PRESENT(x) (PRESENT(0, x) || PRESENT(1, x) || PRESENT(2, x))

#ifdef GROUP_AS_UNIT
/* Breaks: r0 G{X;Y}/s0; Z/s1 - r1 X; Z; Y. Y can't be present on r1 before Z is complete, and X, which
 * Z is behind, waits for Y because they stand in one group on r0. */
#define READY_EVERYWHERE(x)                                                        \
  ((!HAS(members[x], 0) || READY(0, x)) && (!HAS(members[x], 1) || READY(1, x)) && \
   (!HAS(members[x], 2) || READY(2, x)))
#define WHOLE_GROUP_READY(r, x)                            \
  ((!HAS(group_of[AT(r, x)], 0) || READY_EVERYWHERE(0)) && \
   (!HAS(group_of[AT(r, x)], 1) || READY_EVERYWHERE(1)) && \
   (!HAS(group_of[AT(r, x)], 2) || READY_EVERYWHERE(2)))
#define MAY_BE_TICKETED(x) (ALL_MEMBERS(x, READY) && ALL_MEMBERS(x, WHOLE_GROUP_READY))
#else
#define MAY_BE_TICKETED(x) ALL_MEMBERS(x, READY)
#endif

#ifdef OWED_IN_SCHEDULE_ORDER
#define IS_OWED(x) (entered != everyone || HAS(owed, x))
#else
#define IS_OWED(x) false
#endif

#define GETS_TICKET(x)                                               \
  d_step {                                                           \
    members[x] != 0 && !HAS(ticketed | refused, x) && !IS_OWED(x) && \
        ANY_PRESENT(x) &&                                            \
        ((phase == ANNOUNCED && MAY_BE_TICKETED(x)) ||               \
         (old_lives && ALL_MEMBERS(x, PRESENT_OR_PASSED))) ->        \
    ticketed = ticketed | BIT(x);                                    \
    append(home[x], x);                                              \
    printf("ticket for op%d in epoch %d\n", x, epoch)                \
  }

hidden byte at;
inline append(list, x) {
  at = list * OPS;
  do
  :: order[at] == 0 -> break
  :: else -> at++
  od;
  order[at] = x + 1;
  merged[list] = merged[list] | BIT(x)
}

/* The next global ticket that concerns the node and isn't merged into its order, plus 1. */
#define UNMERGED(n, i) \
  (TICKET(GLOBAL, i) != 0 && HAS(touches[n] & ~merged[n], TICKET(GLOBAL, i) - 1))
#define NEXT_UNMERGED(n)                                                        \
  (UNMERGED(n, 0) -> TICKET(GLOBAL, 0) : (UNMERGED(n, 1) -> TICKET(GLOBAL, 1) : \
  (UNMERGED(n, 2) -> TICKET(GLOBAL, 2) : (UNMERGED(n, 3) -> TICKET(GLOBAL, 3) : \
  (UNMERGED(n, 4) -> TICKET(GLOBAL, 4) : (UNMERGED(n, 5) -> TICKET(GLOBAL, 5) : 0))))))

inline merge_next(n) {
  op = NEXT_UNMERGED(n) - 1;
  append(n, op);
  op = 0
}

proctype Node(byte n) {
end:
  do
  :: d_step { MERGES && NEXT_UNMERGED(n) != 0 -> merge_next(n) }
  od
}

/* --- fence and schedule --------------------------------------------------------------------------- */

#ifdef FENCE_ON_MISSING_HEAD
/* Breaks: r0 C/s0; A/s0 - r1 A/s1; C/s2 with 2 slots: C is the next entry of r1 and was issued, but no
 * slot is left to speculate with. No head is missing anywhere. */
#define MISSES_HEAD(r, x)                                                  \
  (HAS(speculating, r) && HAS(mine[r] & ~issued[r], x) && IS_NEXT(r, x) && \
   (issued[r] & ~launched[r]) != 0)
#define CALLS_FOR_FENCE(x) (MISSES_HEAD(0, x) || MISSES_HEAD(1, x) || MISSES_HEAD(2, x))
#else
/* Some op is present on all its members, or complete, and not launched on at least one: it could run and
 * doesn't. A missing head alone is no reason, since timing makes almost every program show that. */
#ifdef COMPLETE_HIDES_FROM_FENCE
/* Breaks: r0 M - r1 M; hsM; A - r2 A where r0 sends M and is done. On r1 it isn't M's turn before A's. */
#define COULD_RUN(x) ALL_MEMBERS(x, PRESENT)
#else
#define COULD_RUN(x) ALL_MEMBERS(x, PRESENT_OR_PASSED)
#endif
#define CALLS_FOR_FENCE(x) (members[x] != 0 && COULD_RUN(x) && !ALL_MEMBERS(x, IS_LAUNCHED))
#endif

#define NOTHING_GUESSED(r) ((guessed[r] & ~GONE(r)) == 0)

/* --- a new sequencer ------------------------------------------------------------------------------ */

/* Keeps of a list, in its order, the ops of a set. */
hidden byte from, to, keep;
inline filter(list) {
  from = list * OPS;
  to = from;
  do
  :: from < (list + 1) * OPS ->
     op = order[from];
     order[from] = 0;
     if
     :: op != 0 && HAS(keep, op - 1) -> order[to] = op; to++
     :: else
     fi;
     from++
  :: else -> break
  od;
  merged[list] = merged[list] & keep;
  op = 0
}

/* What is held is issued again, in the old order and before anything new. A node does the same with its
 * own tickets: it keeps their places among the global ones that it had merged, and appends the other
 * global ones that are issued again before it gives a ticket itself. */
inline issue_again() {
  keep = held[0] | held[1] | held[2];
#ifdef NEW_BEFORE_OLD
  /* Breaks: r0 launches A by its ticket, r1 doesn't; the new sequencer gives B the first ticket. With 1
   * slot r1 launches B and r0 has A. */
  keep = 0;
#endif
  filter(0);
  filter(1);
  filter(GLOBAL);
  do
  :: MERGES && has_local_ops[0] && NEXT_UNMERGED(0) != 0 -> merge_next(0)
  :: MERGES && has_local_ops[1] && NEXT_UNMERGED(1) != 0 -> merge_next(1)
  :: else -> break
  od;
  ticketed = keep;
#ifdef HIGH_WATER_MARK
  believed[0] = believed[0] & keep;
  believed[1] = believed[1] & keep;
  believed[2] = believed[2] & keep;
#endif
#ifdef QUESTION_IS_NO_FENCE
  speculating = 0;
#endif
  held[0] = 0;
  held[1] = 0;
  held[2] = 0
}

proctype Sequencer() {
end:
  do
  :: GETS_TICKET(0)
  :: GETS_TICKET(1)
  :: GETS_TICKET(2)
  :: GETS_TICKET(3)
  :: GETS_TICKET(4)
  :: GETS_TICKET(5)
  :: d_step {
       phase == CERTIFIED &&
           (CALLS_FOR_FENCE(0) || CALLS_FOR_FENCE(1) || CALLS_FOR_FENCE(2) || CALLS_FOR_FENCE(3) ||
            CALLS_FOR_FENCE(4) || CALLS_FOR_FENCE(5)) ->
       phase = ANNOUNCED;
       entered = 0;
       printf("fence\n")
     }
  :: d_step { /* a rank diverged, or what the sequencer knows is out of date */
       phase == CERTIFIED && fences > 0 ->
       fences--;
       phase = ANNOUNCED;
       entered = 0;
       printf("fence for no reason\n")
     }
  :: d_step {
       phase == ANNOUNCED && lessons > 0 && entered == everyone &&
           NOTHING_GUESSED(0) && NOTHING_GUESSED(1) && NOTHING_GUESSED(2) ->
       lessons--;
       phase = CERTIFIED;
       entered = 0;
       printf("schedule\n")
     }
  :: d_step {
       phase != QUESTION && crashes > 0 ->
       crashes--;
       old_lives = (phase == ANNOUNCED && entered == everyone);
       phase = QUESTION;
       entered = 0;
       refused = 0; /* whoever hasn't heard will stall again, and be told by the new one */
       epoch++;
       printf("the sequencer dies; epoch %d asks\n", epoch)
     }
  :: d_step {
       phase == QUESTION && entered == everyone ->
       old_lives = 0;
       issue_again();
       phase = ANNOUNCED;
       printf("epoch %d begins, set %d is issued again\n", epoch, ticketed)
     }
  od
}
