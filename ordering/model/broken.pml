/* The broken variants that need more than a condition; without their switches these are empty. The
 * others stand beside the rule that they leave out. */

#ifdef HIGH_WATER_MARK
/* Breaks: r0 A/s0; B/s1 - r1 B/s0; A/s1. r0 launches A by speculation, then B and A are ticketed in this
 * order, and the sequencer dies before r0 launches B: by its mark r0 believes that it has, and r1 waits
 * for it for ever. */
byte believed[RANKS]; /* to be launched: what stands before the last launched in the device's order */
#define SKIPPED(r) believed[r]
inline note_high_water_mark(r) {
  believed[r] = 0;
  op = OPS;
  do
  :: op > 0 ->
     op--;
     if
     :: TICKET(list_of[r], op) != 0 &&
            (believed[r] != 0 || HAS(launched[r], TICKET(list_of[r], op) - 1)) ->
        believed[r] = believed[r] | BIT(TICKET(list_of[r], op) - 1)
     :: else
     fi
  :: else -> break
  od;
  believed[r] = believed[r] & ~launched[r]
}
#else
#define SKIPPED(r) 0
inline note_high_water_mark(r) { skip }
#endif

#ifdef OWED_IN_SCHEDULE_ORDER
/* Breaks: r0 A/s0; G/s1 - r1 G/s0; A/s0 and two fifths of all small programs: the owed op that
 * comes first in the schedule may depend on one that comes later, and holds the slot that this one
 * needs. */
byte owed; /* launched by some members and not by all when the last of the ranks stopped */
#define OWES(r) (owed & mine[r] & ~launched[r] & ~aborted[r])
#define LAUNCHES_OWED(r, x)                                                                    \
  d_step {                                                                                     \
    HAS(OWES(r), x) && (OWES(r) & earlier[x]) == 0 && PRESENT(r, x) && RESIDENTS(r) < slots -> \
    launched[r] = launched[r] | BIT(x);                                                        \
    printf("r%d launches op%d, which it owes\n", r, x)                                         \
  }
inline note_owed() {
  owed = 0;
  if
  :: phase == ANNOUNCED && entered == everyone ->
     op = 0;
     do
     :: op < OPS ->
        if
        :: (HAS(launched[0], op) || HAS(launched[1], op) || HAS(launched[2], op)) &&
               !ALL_MEMBERS(op, IS_LAUNCHED) ->
           owed = owed | BIT(op)
        :: else
        fi;
        op++
     :: else -> break
     od;
     op = 0
  :: else
  fi
}
#else
#define OWES(r) 0
inline note_owed() { skip }
#endif
