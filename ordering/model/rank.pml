/* A rank: its host, which issues, and its launch queue, which launches.
 *
 * A message that carries a fact which stays true (an op is present; this ticket stands here) isn't
 * modelled as a message: its receiver may look at the fact, at any later moment or never. That has the
 * same behaviours as sending it, over links that keep their order, and far fewer states. What isn't
 * stable (what a rank has launched while it still may launch) is answered in a step of its own. */

/* --- host ----------------------------------------------------------------------------------------- */

#ifdef HARD_RUN_AHEAD
/* Breaks: r0 A/s0; B/s0; C/s1; D/s1 - r1 C/s1; D/s1; A/s0; B/s0 with a bound of 2. Each rank waits for
 * room, and the room for an op that the other hasn't been allowed to issue. */
#define MAY_ENQUEUE(r) (COUNT(issued[r] & ~GONE(r)) < run_ahead)
#else
/* The bound is soft: it blocks only while a ticketed op is incomplete, which will complete whatever the
 * host does. (In a certified term it blocks for 1 ms at most: no more than a delay.) */
#define MAY_ENQUEUE(r)                        \
  (COUNT(issued[r] & ~GONE(r)) < run_ahead || \
   HAS(speculating, r) || (ticketed & mine[r] & ~GONE(r)) == 0)
#endif

#define ITEM(r) ((r) * ITEMS + next_item[r])

proctype Host(byte r) {
end:
  do
  :: d_step {
       next_item[r] < items[r] && (waits[ITEM(r)] & ~GONE(r)) == 0 && MAY_ENQUEUE(r) ->
       issued[r] = issued[r] | issues[ITEM(r)];
       printf("r%d issues set %d\n", r, issues[ITEM(r)]);
       next_item[r]++
     }
  od
}

/* --- certified term: launching without a ticket --------------------------------------------------- */

/* Slots that speculation holds: one for each stream with an incomplete op (any number may queue behind
 * it), and one for each incomplete part that runs beside another part of its group. */
#define GUESSES_ON(r, s) (guessed[r] & ~GONE(r) & on_stream[(r) * STREAMS + (s)] & ~beside[r])
#define SPECULATION(r)                                                           \
  ((GUESSES_ON(r, 0) != 0) + (GUESSES_ON(r, 1) != 0) + (GUESSES_ON(r, 2) != 0) + \
   (GUESSES_ON(r, 3) != 0) + COUNT(guessed[r] & ~GONE(r) & beside[r]))
#define ADDS(r, x) (HAS(beside[r], x) || GUESSES_ON(r, stream_of[AT(r, x)]) == 0)
#define TICKETS_HELD(r) COUNT(launched[r] & ~guessed[r] & ~GONE(r))

#ifdef NO_RESERVED_SLOT
/* Breaks: r0 A/s0; B/s1; C/s2 - r1 C/s0; hsC; B/s0; A/s0 with 2 slots: A and B fill those of r0, and
 * wait for r1, which waits for C. */
#define SPECULATION_LIMIT slots
#else
#define SPECULATION_LIMIT (slots - 1)
#endif

#define HAS_ROOM_TO_SPECULATE(r, x)                    \
  (SPECULATION(r) + ADDS(r, x) <= SPECULATION_LIMIT && \
   SPECULATION(r) + ADDS(r, x) + TICKETS_HELD(r) <= slots)

/* The next entry of the rank's projection: everything before it is launched, ticketed or aborted. */
#define IS_NEXT(r, x) \
  ((mine[r] & earlier[x] & ~(launched[r] | ticketed | aborted[r])) == 0 && !HAS(ticketed, x))

/* Inline on the user's stream when nothing unlaunched lies before it there; else gated until it is
 * present. */
#define MAY_STAND_IN_STREAM(r, x) \
  (PRESENT(r, x) || (before_on_stream[AT(r, x)] & ~(launched[r] | aborted[r])) == 0)

#define SPECULATES(r, x)                                                                 \
  d_step {                                                                               \
    HAS(speculating, r) && HAS(issued[r] & scheduled & ~launched[r] & ~aborted[r], x) && \
        IS_NEXT(r, x) && MAY_STAND_IN_STREAM(r, x) && HAS_ROOM_TO_SPECULATE(r, x) ->     \
    launched[r] = launched[r] | BIT(x);                                                  \
    guessed[r] = guessed[r] | BIT(x);                                                    \
    printf("r%d launches op%d by schedule\n", r, x);                                     \
    assert(RESIDENTS(r) <= slots)                                                        \
  }

/* --- announced term: launching by ticket ---------------------------------------------------------- */

/* The first ticket in a list that the rank hasn't launched, plus 1; 0 if there is none. A ticket for
 * what is launched here already (by speculation) has nothing left to do. */
#define OPEN_TICKET(r, list, i) \
  (TICKET(list, i) != 0 &&      \
   HAS(mine[r] & ~launched[r] & ~aborted[r] & ~SKIPPED(r), TICKET(list, i) - 1))
#define NEXT_TICKET(r, list)                                                                  \
  (OPEN_TICKET(r, list, 0) -> TICKET(list, 0) : (OPEN_TICKET(r, list, 1) -> TICKET(list, 1) : \
  (OPEN_TICKET(r, list, 2) -> TICKET(list, 2) : (OPEN_TICKET(r, list, 3) -> TICKET(list, 3) : \
  (OPEN_TICKET(r, list, 4) -> TICKET(list, 4) : (OPEN_TICKET(r, list, 5) -> TICKET(list, 5) : 0))))))

#ifdef TWO_SOURCES
/* Breaks: r0 L/s0; G/s1 - r1 L/s0; G/s1 - r2 G with r0 and r1 on one node and 1 slot: r0 takes L first,
 * r1 takes G. */
#define MERGES false
#else
#define MERGES true
#endif

#ifdef QUESTION_IS_NO_FENCE
/* Breaks: r0 tells the new sequencer that it holds nothing, then launches A by its old ticket; the new
 * one gives B the first ticket, which r1 launches; with 1 slot each has what the other lacks. */
#define STOPPED(r) false
#define STAYS_OUT(r) (phase == QUESTION)
#else
#define STAYS_OUT(r) false
#define STOPPED(r) (phase == QUESTION && HAS(entered, r))
#endif

#define LAUNCHES_TICKET(r, list)                                     \
  d_step {                                                           \
    NEXT_TICKET(r, list) != 0 && !STOPPED(r) && OWES(r) == 0 &&      \
        SPECULATION(r) + TICKETS_HELD(r) < slots ->                  \
    op = NEXT_TICKET(r, list) - 1;                                   \
    assert(PRESENT(r, op)); /* or there would have been no ticket */ \
    note_order(r, op);                                               \
    launched[r] = launched[r] | BIT(op);                             \
    assert(RESIDENTS(r) <= slots);                                   \
    printf("r%d launches op%d by its ticket\n", r, op);              \
    op = 0                                                           \
  }

/* On hearing of a fence or of a new sequencer's question the rank stops speculating, for good until it
 * hears a schedule. To a question it answers with the tickets it holds: launched and not complete. It
 * forgets the others: the new sequencer may never have heard of them. */
#define ENTERS(r, known)                                                      \
  d_step {                                                                    \
    phase != CERTIFIED && !HAS(entered, r) ->                                 \
    entered = entered | BIT(r);                                               \
    speculating = (STAYS_OUT(r) -> speculating : speculating & ~BIT(r));      \
    if                                                                        \
    :: phase == QUESTION ->                                                   \
       held[r] = ticketed & launched[r] & ~GONE(r) & (~guessed[r] | (known)); \
       note_high_water_mark(r)                                                \
    :: else                                                                   \
    fi;                                                                       \
    note_owed();                                                              \
    printf("r%d stops, epoch %d, holding set %d\n", r, epoch, held[r])        \
  }

/* All that the sequencer aborts at a time ends in one step, also what the rank will issue only later.
 * Breaks, if it doesn't: r0 A; X - r1 X; hsX; Y - r2 Y; hsY; A. A is aborted on r0, X completes behind it,
 * and then the abort of X reaches r1. */
#define ABORTS(r, set)                                                    \
  d_step {                                                                \
    (refused & (set) & mine[r] & ~GONE(r)) != 0 ->                        \
    aborted[r] = aborted[r] | (refused & (set) & mine[r] & ~complete[r]); \
    printf("r%d aborts, now set %d\n", r, aborted[r])                     \
  }

proctype LaunchQueue(byte r) {
end:
  do
  :: SPECULATES(r, 0)
  :: SPECULATES(r, 1)
  :: SPECULATES(r, 2)
  :: SPECULATES(r, 3)
  :: SPECULATES(r, 4)
  :: SPECULATES(r, 5)
  :: d_step {
       HAS(will_hesitate & speculating, r) ->
       hesitant = hesitant | BIT(r);
       speculating = speculating & ~BIT(r);
       printf("r%d speculates no more\n", r)
     }
  :: d_step { /* the new schedule arrives */
       phase == CERTIFIED && !HAS(speculating | hesitant, r) ->
       speculating = speculating | BIT(r);
       printf("r%d hears the schedule\n", r)
     }
  :: LAUNCHES_TICKET(r, list_of[r])
#ifdef TWO_SOURCES
  :: LAUNCHES_TICKET(r, GLOBAL)
#endif
#ifdef OWED_IN_SCHEDULE_ORDER
  :: LAUNCHES_OWED(r, 0)
  :: LAUNCHES_OWED(r, 1)
  :: LAUNCHES_OWED(r, 2)
  :: LAUNCHES_OWED(r, 3)
  :: LAUNCHES_OWED(r, 4)
  :: LAUNCHES_OWED(r, 5)
#endif
  :: ENTERS(r, 0)
  :: ENTERS(r, guessed[r]) /* whether it knows a ticket of what it guessed is a matter of timing */
#ifdef ABORT_IN_PIECES
  :: ABORTS(r, BIT(0))
  :: ABORTS(r, BIT(1))
  :: ABORTS(r, BIT(2))
#else
  :: ABORTS(r, refused)
#endif
  od
}
