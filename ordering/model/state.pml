/* Who knows what, and the faults that may still come. The devices' state is in device.pml. */

/* The sequencer. */
#define CERTIFIED 0 /* a schedule is out; ranks launch without tickets */
#define ANNOUNCED 1
#define QUESTION 2 /* a new sequencer asks what the ranks hold */
byte phase;
byte epoch;
byte ticketed; /* in this epoch */
byte refused;  /* aborted by the sequencer, to be aborted by each rank */
bit old_lives; /* the one that is given up may still give tickets to ranks that haven't been asked */

/* Tickets in their order, each an op plus 1: the nodes' own orders and the global one. */
byte order[LISTS * OPS];
byte merged[LISTS]; /* what stands in each of these */
#define TICKET(list, i) order[(list) * OPS + (i)]

/* The ranks. */
byte next_item[RANKS]; /* of the host */
byte entered;          /* ranks that have entered the announced term, or answered the question */
byte speculating;      /* ranks that are in the certified term */
byte held[RANKS];      /* the answer to the question: launched by a ticket, not complete */

/* Faults. */
byte fences;        /* for no reason */
byte crashes;       /* of the sequencer */
byte lessons;       /* schedules that will be learned */
byte will_hesitate; /* ranks that will stop speculating some time, for reasons of their own */
byte hesitant;      /* ranks that have */

hidden byte op; /* scratch, 0 outside of a step */
