/* The voters' register: ballots that compete under every timing, one voter replaced, logs lost.
 * README.md says what is modelled, and check.py runs it. */

#ifndef BALLOTS
#define BALLOTS 3
#endif
#ifndef WIPES
#define WIPES 1
#endif
#ifndef VERSIONS
#define VERSIONS 4 /* one more than the newest */
#endif
#define VOTERS 4

/* Voter sets: at first 0, 1 and 2; at the end 1, 2 and 3. */
#define FIRST 0
#define BOTH 1
#define LAST 2
#define BIT(v) (1 << (v))
#define HAS(set, v) (((set) >> (v)) & 1)
#ifdef HALF_QUORUM
#define MOST(set, a, b, c) (HAS(set, a) || HAS(set, b) || HAS(set, c))
#else
#define MOST(set, a, b, c) (HAS(set, a) + HAS(set, b) + HAS(set, c) >= 2)
#endif
#define QUORUM(sets, voters)                              \
  ((sets == LAST || MOST(voters, 0, 1, 2)) &&             \
   (sets == FIRST || MOST(voters, 1, 2, 3)))

/* A voter: all of it is on its disk. */
byte promised[VOTERS];
byte accepted[VOTERS]; /* a ballot; what was accepted is what that ballot proposed */
byte lost;             /* voters whose log is lost */
byte wipes;

/* A ballot, from 1. Entry 0 stands for what the job was formed with. */
#define PREPARING 0
#define ACCEPTING 1
#define OVER 2
byte phase[BALLOTS + 1];
byte promises[BALLOTS + 1]; /* the voters whose promise has come */
byte found[BALLOTS + 1];    /* the highest that they had accepted */
byte have_it[BALLOTS + 1];  /* those of them that had */
byte before[BALLOTS + 1];   /* the newest committed version when the first of them came */
byte acks[BALLOTS + 1];     /* the voters that accepted */
/* The record that it proposes. */
byte version[BALLOTS + 1];
byte sets[BALLOTS + 1];
byte origin[BALLOTS + 1]; /* the ballot that made it; others may have found and settled it */

byte committed[VERSIONS]; /* by version: the origin */
byte newest;              /* version */

#ifdef OLD_VOTERS
#define PREPARED(b) QUORUM(FIRST, promises[b])
#else
#define PREPARED(b) QUORUM(sets[found[b]], promises[b])
#endif
/* Known to be committed: a quorum has it under one ballot, or its proposer has been told. */
#define SETTLED(b)                                                    \
  (found[b] == 0 || QUORUM(sets[found[b]], have_it[b]) ||             \
   committed[version[found[b]]] == origin[found[b]])
#ifdef CHANGE_THE_UNSETTLED
#define MAY_CHANGE(b) true
#else
#define MAY_CHANGE(b) SETTLED(b)
#endif

inline propose(b, of_sets) {
  version[b] = version[found[b]] + 1;
  sets[b] = of_sets;
  origin[b] = b;
  phase[b] = ACCEPTING;
  printf("ballot %d proposes version %d, sets %d\n", b, version[b], sets[b])
}

/* An attempt of some proposer. It may stop at any moment, or go on much later. */
proctype Attempt(byte b) {
end:
  atomic {
    PREPARED(b) ->
    if
    :: SETTLED(b) -> /* read */
       assert(version[found[b]] >= before[b]);
       assert(found[b] == 0 || committed[version[found[b]]] == origin[found[b]]);
       phase[b] = OVER;
       printf("ballot %d reads version %d\n", b, version[found[b]])
    :: MAY_CHANGE(b) && version[found[b]] + 1 < VERSIONS -> propose(b, sets[found[b]])
    :: MAY_CHANGE(b) && version[found[b]] + 1 < VERSIONS && sets[found[b]] == FIRST ->
       propose(b, BOTH)
    :: MAY_CHANGE(b) && version[found[b]] + 1 < VERSIONS && sets[found[b]] == BOTH ->
       propose(b, LAST)
    :: !SETTLED(b) -> /* settle it */
       version[b] = version[found[b]];
       sets[b] = sets[found[b]];
       origin[b] = origin[found[b]];
       phase[b] = ACCEPTING;
       printf("ballot %d settles version %d of ballot %d\n", b, version[b], origin[b])
    fi;
    promises[b] = 0; /* what isn't needed any more */
    found[b] = 0;
    have_it[b] = 0;
    before[b] = 0
  }
}

/* Messages that are lost or late are those that are handled never or later; a repeated one finds
 * nothing to do. Promises whose answer is lost only hold others up. */
inline promise(v, b) {
  if
  :: promises[b] == 0 -> before[b] = newest
  :: else
  fi;
  promised[v] = b;
  promises[b] = promises[b] | BIT(v);
  if
  :: accepted[v] > found[b] ->
     found[b] = accepted[v];
     have_it[b] = BIT(v)
  :: accepted[v] == found[b] -> have_it[b] = have_it[b] | BIT(v)
  :: else
  fi;
  printf("voter %d promises ballot %d, has accepted %d\n", v, b, accepted[v])
}

inline accept(v, b) {
  promised[v] = b;
  accepted[v] = b;
  acks[b] = acks[b] | BIT(v);
  printf("voter %d accepts ballot %d\n", v, b);
  if
  :: QUORUM(sets[b], acks[b]) ->
     assert(committed[version[b]] == 0 || committed[version[b]] == origin[b]);
     assert(version[b] == 1 || committed[version[b] - 1] != 0);
     committed[version[b]] = origin[b];
     if
     :: version[b] > newest -> newest = version[b]
     :: else
     fi;
#ifdef REPLACED_IS_WRONG
     assert(sets[b] != LAST);
#endif
     printf("version %d of ballot %d is committed\n", version[b], origin[b])
  :: else
  fi
}

#define VOTES(b)                                                                             \
  ::d_step {                                                                                 \
    !HAS(lost, v) && phase[b] == PREPARING && !HAS(promises[b], v) && b > promised[v] -> \
    promise(v, b)                                                                            \
  }                                                                                          \
  ::d_step {                                                                                 \
    !HAS(lost, v) && phase[b] == ACCEPTING && (v != 3 || sets[b] != FIRST) && !HAS(acks[b], v) &&            \
        b >= promised[v] -> \
    accept(v, b)                                                                             \
  }

proctype Voter(byte v) {
end:
  do
    VOTES(1) VOTES(2)
#if BALLOTS > 2
    VOTES(3)
#endif
#if BALLOTS > 3
    VOTES(4)
#endif
#if BALLOTS > 4
    VOTES(5)
#endif
  :: d_step {
       wipes > 0 && !HAS(lost, v) && promised[v] > 0 ->
       wipes--;
       printf("voter %d loses its log\n", v);
       promised[v] = 0;
       accepted[v] = 0;
#ifndef EMPTY_VOTER_VOTES
       lost = lost | BIT(v) /* what stands in its place has another name, which is in no set */
#endif
     }
  od
}

init {
  byte i = 0;
  wipes = WIPES;
  atomic {
    do
    :: i < VOTERS ->
       run Voter(i);
       i++
    :: else -> break
    od;
    i = 1;
    do
    :: i <= BALLOTS ->
       run Attempt(i);
       i++
    :: else -> break
    od
  }
}
