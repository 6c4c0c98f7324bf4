/* What the sequencer and the nodes know, and the faults that may still come. */

#define CERTIFIED 0 /* a schedule is out; ranks launch without tickets */
#define ANNOUNCED 1
#define QUESTION 2 /* a new sequencer asks what the ranks hold */
byte phase;
byte epoch;

byte ticketed;            /* in this epoch */
byte order[LISTS * OPS];  /* tickets in their order, each an op plus 1: the nodes' and the global one */
byte merged[LISTS];       /* what stands in each of these */
#define TICKET(list, i) order[(list) * OPS + (i)]
bit old_lives;            /* the sequencer that is given up may still give tickets to who hasn't been asked */
byte refused;             /* aborted by the sequencer, to be aborted by each rank */

byte fences;  /* for no reason, that may still come */
byte crashes; /* of the sequencer */
byte lessons; /* schedules that may still be learned */

/* Of the ranks. */
byte next_item[RANKS];

byte entered;     /* ranks that have stopped speculating and entered the sequencer's announced term */
byte speculating; /* ranks that are in a certified term */
byte hesitant;    /* ranks that chose not to speculate any more */
byte held[RANKS]; /* the answer to a new sequencer: launched by a ticket, not complete */

hidden byte op; /* scratch, 0 outside of a step */
