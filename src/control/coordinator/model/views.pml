/* Views: coordinators that follow one another, processes that are lost or evicted with their node,
 * spares that take places, the end. README.md says what is modelled, and check.py runs it. */

#ifndef COORDINATORS
#define COORDINATORS 2
#endif
#ifndef PROCESSES
#define PROCESSES 4 /* those without a place in the first view are spares */
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef EVICTIONS
#define EVICTIONS 1
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)

/* Two ranks: a view is who holds either. Every process has a node of its own. */
#define VIEW(first, second) ((first) * PROCESSES + (second))
#define FIRST(view) ((view) / PROCESSES)
#define SECOND(view) ((view) % PROCESSES)
#define IN(view, p) (FIRST(view) == (p) || SECOND(view) == (p))

/* The record. */
byte number; /* of the newest change */
byte epoch;  /* of the newest view; 0: there was none */
byte view;
byte evicted; /* nodes */
bool finished;
byte given_away; /* who ever had a place that another got */

/* What was said, by epoch. It may be heard at any later time, or never. */
byte said_epochs;
byte said[EPOCHS + 1];
bool said_finished;

/* A process. */
byte in[PROCESSES];      /* epoch */
byte done_in[PROCESSES]; /* epoch at whose end it has said that it is done */
byte dead;
byte left;
byte losses;
byte evictions;

/* A coordinator, from 1: the record as it would have it, and whether that is there yet. */
#define SETTLED 0
#define WRITING 1
#define WRITTEN 2
byte claims;
byte its_number[COORDINATORS + 1];
byte its_epoch[COORDINATORS + 1];
byte its_view[COORDINATORS + 1];
byte its_evicted[COORDINATORS + 1];
bool its_finished[COORDINATORS + 1];
byte phase[COORDINATORS + 1];
bool announces[COORDINATORS + 1]; /* it has a view to announce */
bool over[COORDINATORS + 1];

inline write(c) {
#ifdef EVICTION_NOT_RECORDED
  evicted = 0;
#else
  evicted = its_evicted[c];
#endif
  if
  :: its_epoch[c] > epoch ->
     assert(!finished && left == 0); /* nobody who is wanted has gone */
     assert(!HAS(given_away, FIRST(its_view[c])) && !HAS(given_away, SECOND(its_view[c])));
     if
     :: epoch > 0 && FIRST(view) != FIRST(its_view[c]) ->
        given_away = given_away | BIT(FIRST(view))
     :: else
     fi;
     if
     :: epoch > 0 && SECOND(view) != SECOND(its_view[c]) ->
        given_away = given_away | BIT(SECOND(view))
     :: else
     fi
  :: else -> assert(its_finished[c])
  fi;
  number++;
  its_number[c] = number;
  epoch = its_epoch[c];
  view = its_view[c];
  finished = its_finished[c];
  phase[c] = WRITTEN;
  printf("coordinator %d: the record has epoch %d, %d and %d, evicted %d, finished %d\n", c,
         epoch, FIRST(view), SECOND(view), evicted, finished)
}

inline announce(c) {
  if
  :: its_finished[c] ->
     said_finished = true;
     printf("coordinator %d says that all have finished\n", c)
  :: else ->
     assert(!HAS(said_epochs, its_epoch[c]) || said[its_epoch[c]] == its_view[c]);
     said_epochs = said_epochs | BIT(its_epoch[c]);
     said[its_epoch[c]] = its_view[c];
     printf("coordinator %d announces epoch %d, %d and %d\n", c, its_epoch[c],
            FIRST(its_view[c]), SECOND(its_view[c]))
  fi;
  announces[c] = false
}

/* Whose place another may get: whose end was seen, or whose node it evicts. */
#ifdef PLACE_OF_THE_LIVING
#define GONE(c, p) true
#else
#define GONE(c, p) (HAS(dead, p) || HAS(its_evicted[c], p))
#endif
#define MAY_HOLD(c, p, before) \
  (!HAS(its_evicted[c], p) && (p == before || (GONE(c, before) && !IN(its_view[c], p) && in[p] == 0 && !HAS(dead, p))))
#define IS_DONE(c, p) (done_in[p] == its_epoch[c] && !HAS(its_evicted[c], p))
#ifdef WRITES_WITHOUT_LOOKING
#define MAY_WRITE(c) true
#else
#define MAY_WRITE(c) (number == its_number[c])
#endif
#define MAY_DECIDE(c) \
  (!over[c] && phase[c] == SETTLED && !its_finished[c] && its_epoch[c] < EPOCHS)

inline next_view(c, first, second) {
  its_epoch[c]++;
  its_view[c] = VIEW(first, second);
  phase[c] = WRITING;
  announces[c] = true
}

/* May stop between any two steps, or go on long after it was followed. */
proctype Coordinator(byte c) {
  byte p, q;
end_wait:
  d_step {
    claims == c - 1 ->
    claims = c;
    number++;
    its_number[c] = number;
    its_epoch[c] = epoch;
    its_view[c] = view;
    its_evicted[c] = evicted;
    its_finished[c] = finished;
    printf("coordinator %d claims the record, epoch %d\n", c, epoch)
  }
  if
  :: d_step { its_finished[c] -> announce(c) }
  :: d_step { /* those of the old view have heard another, so they go to a new one */
       !its_finished[c] && its_epoch[c] < EPOCHS ->
       if
       :: its_epoch[c] == 0 -> next_view(c, 0, 1)
       :: else -> next_view(c, FIRST(view), SECOND(view))
       fi
     }
  :: d_step { !its_finished[c] && its_epoch[c] == EPOCHS -> over[c] = true }
  fi;
end_work:
  do
  :: d_step { phase[c] == WRITING && !over[c] && MAY_WRITE(c) -> write(c) }
  :: d_step { phase[c] == WRITING && !over[c] && !MAY_WRITE(c) -> over[c] = true }
#if defined(ANNOUNCED_BEFORE_DURABLE)
  :: d_step { phase[c] == WRITING && announces[c] && !its_finished[c] -> announce(c) }
#elif defined(FINISHED_BEFORE_DURABLE)
  :: d_step { phase[c] == WRITING && announces[c] && its_finished[c] -> announce(c) }
#endif
  :: d_step { phase[c] == WRITTEN && announces[c] -> announce(c) }
  :: d_step { phase[c] == WRITTEN && !announces[c] -> phase[c] = SETTLED }
  :: d_step { /* its node says nothing, and may yet */
       MAY_DECIDE(c) && evictions > 0 && !HAS(its_evicted[c], FIRST(its_view[c])) ->
       evictions--;
       its_evicted[c] = its_evicted[c] | BIT(FIRST(its_view[c]))
     }
  :: atomic {
       MAY_DECIDE(c) && (GONE(c, FIRST(its_view[c])) || GONE(c, SECOND(its_view[c]))) ->
       select(p : 0..(PROCESSES - 1));
       select(q : 0..(PROCESSES - 1));
       if
       :: MAY_HOLD(c, p, FIRST(its_view[c])) && MAY_HOLD(c, q, SECOND(its_view[c])) && p != q &&
              VIEW(p, q) != its_view[c] -> next_view(c, p, q)
       :: else
       fi;
       p = 0;
       q = 0
     }
  :: d_step {
       !over[c] && phase[c] == SETTLED && !its_finished[c] && IS_DONE(c, FIRST(its_view[c])) &&
           IS_DONE(c, SECOND(its_view[c])) ->
       its_finished[c] = true;
       phase[c] = WRITING;
       announces[c] = true
     }
  od
}

/* Of two with one rank, one can't be heard. */
#define UNHEARD(p) (HAS(dead, p) || HAS(evicted, p))
inline check_places(p, e) {
  q = 0;
  do
  :: q < PROCESSES ->
     assert(q == p || in[q] == 0 || UNHEARD(q) || UNHEARD(p) ||
            (!(FIRST(said[in[q]]) == q && FIRST(said[e]) == p) &&
             !(SECOND(said[in[q]]) == q && SECOND(said[e]) == p)));
     q++
  :: else -> break
  od;
  q = 0
}

proctype Process(byte p) {
  byte e, q;
end:
  do
  :: atomic {
       !HAS(dead | left, p) && said_epochs != 0 ->
       select(e : 1..(EPOCHS));
       if
       :: d_step {
            e > in[p] && HAS(said_epochs, e) && IN(said[e], p) ->
            in[p] = e;
            printf("process %d enters epoch %d\n", p, e);
            check_places(p, e);
#ifdef REPLACED_IS_WRONG
            assert(p < 2 || claims < COORDINATORS || !HAS(evicted, FIRST(said[1])));
#endif
          }
       :: else
       fi;
       e = 0
     }
  :: d_step {
       !HAS(dead | left, p) && in[p] > done_in[p] ->
       done_in[p] = in[p];
       printf("process %d is done in epoch %d\n", p, in[p])
     }
  :: d_step {
       !HAS(dead | left, p) && in[p] > 0 && said_finished ->
       left = left | BIT(p);
       printf("process %d leaves\n", p)
     }
  :: d_step {
       !HAS(dead, p) && losses > 0 ->
       losses--;
       dead = dead | BIT(p);
       printf("process %d is lost\n", p)
     }
  od
}

init {
  byte i = 0;
  losses = LOSSES;
  evictions = EVICTIONS;
  atomic {
    do
    :: i < PROCESSES ->
       run Process(i);
       i++
    :: else -> break
    od;
    i = 1;
    do
    :: i <= COORDINATORS ->
       run Coordinator(i);
       i++
    :: else -> break
    od
  }
}
