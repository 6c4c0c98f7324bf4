/* The program under check: what each rank's host issues, on which stream, and what it waits for.
 *
 * One verifier serves all programs: check.py hands the tables over in the environment (MODEL_PROGRAM),
 * so that thousands of programs cost one compilation. They never change during a run, hence `hidden`:
 * they are no part of a state. Sets of ops and of ranks are bit masks. */

#define RANKS 3
#define OPS 6
#define STREAMS 4
#define ITEMS 9 /* what one host does, one after the other */

#define BIT(i) (1 << (i))
#define HAS(mask, i) (((mask) >> (i)) & 1)
#define AT(rank, op) ((rank) * OPS + (op))
#define COUNT(mask) \
  (HAS(mask, 0) + HAS(mask, 1) + HAS(mask, 2) + HAS(mask, 3) + HAS(mask, 4) + HAS(mask, 5))

/* Limits and how many faults of each kind a run may have at most. */
hidden byte slots;
hidden byte run_ahead;
hidden byte adaptive;    /* 0: strict; nothing is ever launched by speculation */
hidden byte most_fences; /* fences for no reason, at any moment */
hidden byte most_crashes;
hidden byte most_lessons; /* times that a new schedule is learned after a fence */
hidden byte may_hesitate; /* 1: each rank may stop speculating, at any moment and for good */
hidden byte completable;  /* by the exact test in programs.py; what the model must not refute */

/* A node that has ops of its own (all members live there, and there are two or more) keeps an order of
 * its own, into which it merges the global one. The devices of other nodes follow the global one. */
#define NODES 2
#define GLOBAL NODES
#define LISTS (NODES + 1)
hidden byte list_of[RANKS];       /* the order that the rank's device follows: its node's, or GLOBAL */
hidden byte has_local_ops[NODES];
hidden byte touches[NODES];       /* ops with a member on the node */
hidden byte home[OPS];            /* the order that the op's ticket goes to first */

hidden byte everyone;            /* the ranks of the program */
hidden byte scheduled;           /* ops that the certified schedule knows */

hidden byte members[OPS];        /* ranks that take part in the op */
hidden byte buffers;             /* ops that some member may complete before all are there */
hidden byte needs[RANKS * OPS];  /* the members that must be there for the rank to complete the op */
hidden byte earlier[OPS];        /* ops that stand before it in the certified schedule */
hidden byte mine[RANKS];         /* ops that the rank takes part in */
hidden byte items[RANKS];        /* how many items its host has */
hidden byte waits[RANKS * ITEMS]; /* the item blocks the host until these are complete… */
hidden byte issues[RANKS * ITEMS]; /* …and then issues these at once, more than one if it is a group */
hidden byte before_on_stream[RANKS * OPS]; /* ops that must end before the rank's stream reaches the op */
hidden byte stream_of[RANKS * OPS];
hidden byte on_stream[RANKS * STREAMS]; /* ops that the rank issues on the stream */
hidden byte group_of[RANKS * OPS]; /* the parts of the group that the op is a part of; itself if none */
hidden byte beside[RANKS];         /* parts of groups, all but the first of each */

c_decl {
\#include <stdlib.h>
};

c_code {
  static void ReadNumbers(char** at, uchar* to, int count) {
    int i;
    for (i = 0; i < count; i++) {
      to[i] = (uchar)strtol(*at, at, 10);
    }
  }

  /* In the order in which Program.table() of programs.py writes them. */
  static void ReadProgram(void) {
    char* at = getenv("MODEL_PROGRAM");
    if (at == NULL) {
      fputs("MODEL_PROGRAM is not set: start the verifier through check.py\n", stderr);
      exit(2);
    }
    ReadNumbers(&at, &slots, 1);
    ReadNumbers(&at, &run_ahead, 1);
    ReadNumbers(&at, &adaptive, 1);
    ReadNumbers(&at, &most_fences, 1);
    ReadNumbers(&at, &most_crashes, 1);
    ReadNumbers(&at, &most_lessons, 1);
    ReadNumbers(&at, &may_hesitate, 1);
    ReadNumbers(&at, &completable, 1);
    ReadNumbers(&at, &everyone, 1);
    ReadNumbers(&at, &scheduled, 1);
    ReadNumbers(&at, list_of, sizeof(list_of));
    ReadNumbers(&at, has_local_ops, sizeof(has_local_ops));
    ReadNumbers(&at, touches, sizeof(touches));
    ReadNumbers(&at, home, sizeof(home));
    ReadNumbers(&at, members, sizeof(members));
    ReadNumbers(&at, &buffers, 1);
    ReadNumbers(&at, needs, sizeof(needs));
    ReadNumbers(&at, earlier, sizeof(earlier));
    ReadNumbers(&at, mine, sizeof(mine));
    ReadNumbers(&at, items, sizeof(items));
    ReadNumbers(&at, waits, sizeof(waits));
    ReadNumbers(&at, issues, sizeof(issues));
    ReadNumbers(&at, before_on_stream, sizeof(before_on_stream));
    ReadNumbers(&at, stream_of, sizeof(stream_of));
    ReadNumbers(&at, on_stream, sizeof(on_stream));
    ReadNumbers(&at, group_of, sizeof(group_of));
    ReadNumbers(&at, beside, sizeof(beside));
  }
};
