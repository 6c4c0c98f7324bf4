/* Saving: coordinators that follow one another, holders that may be lost, a record that is changed by
 * compare-and-set. README.md says what is modelled, and check.py runs it. */

#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef LOSSES
#define LOSSES 1 /* fewer than HOLDERS: what is promised */
#endif
#ifndef COORDINATORS
#define COORDINATORS 3
#endif
#ifndef VERSIONS
#define VERSIONS 3
#endif
#define ORDERS 12 /* of one coordinator, from 1 */

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define ALL (BIT(HOLDERS) - 1)

/* The record. */
byte claim;     /* the coordinator that has it, from 1 */
byte committed; /* version; 0: none */

/* A holder. Versions are bits. */
byte has[HOLDERS];  /* whole and verified */
byte room[HOLDERS]; /* told to hold */
byte term[HOLDERS]; /* the newest coordinator that has asked or ordered */
byte seen[HOLDERS]; /* its newest orders: AT(coordinator, number) */
byte dead;
byte losses;
byte highest; /* version that was ever decided: another epoch's has another name */

/* A coordinator, from 1. */
byte kept[COORDINATORS + 1];
byte in_flight[COORDINATORS + 1]; /* version; 0: none */
byte decided[COORDINATORS + 1];
byte stored[COORDINATORS + 1];  /* holders that said so, perhaps long ago */
byte members[COORDINATORS + 1]; /* holders of its view */
byte writing[COORDINATORS + 1];
bool written[COORDINATORS + 1]; /* the record took it */
byte orders[COORDINATORS + 1]; /* the number of the newest */
byte told[(COORDINATORS + 1) * ORDERS];         /* versions to hold, as bits */
byte told_flight[(COORDINATORS + 1) * ORDERS];  /* the one of them that is saved */
byte told_decided[(COORDINATORS + 1) * ORDERS];

#define AT(c, n) ((c) * ORDERS + (n))

inline publish(c, versions) {
  orders[c]++;
  assert(orders[c] < ORDERS);
  told[AT(c, orders[c])] = (versions) & ~1; /* version 0 is in nobody's memory */
  told_flight[AT(c, orders[c])] = in_flight[c];
  told_decided[AT(c, orders[c])] = decided[c]
}

/* A committed version is with somebody, as long as fewer holders are lost than there are. */
inline check_promise() {
  there = (committed == 0);
  j = 0;
  do
  :: j < HOLDERS ->
     there = there || (!HAS(dead, j) && HAS(has[j], committed));
     j++
  :: else -> break
  od;
  assert(there);
  j = 0;
  there = false
}

/* May stop between any two steps, or go on long after it was followed. */
proctype Coordinator(byte c) {
  byte i, j, newest;
  bool there;
end_wait:
  d_step {
    claim == c - 1 ->
    claim = c;
    kept[c] = committed;
    decided[c] = committed;
    members[c] = ALL & ~dead;
    printf("coordinator %d claims the record, which names version %d\n", c, committed)
  }
  do /* ask */
  :: i < HOLDERS && HAS(members[c], i) ->
end_ask:
     d_step {
       !HAS(dead, i) && term[i] <= c ->
       if
       :: seen[i] > newest && members[seen[i] / ORDERS] == members[c] -> newest = seen[i]
       :: else /* none, or another epoch's */
       fi;
       term[i] = c;
       i++
     }
  :: i < HOLDERS && !HAS(members[c], i) -> i++
  :: i == HOLDERS -> break
  od;
  skip;
  d_step {
    if
    :: newest > 0 ->
       if
       :: told_decided[newest] > decided[c] -> decided[c] = told_decided[newest]
       :: else
       fi;
       if
       :: told_flight[newest] > committed -> in_flight[c] = told_flight[newest]
       :: else
       fi
    :: else -> decided[c] = highest
    fi;
    newest = 0;
    i = 0;
    publish(c, BIT(kept[c]) | BIT(in_flight[c]))
  }
end_work:
  do
  :: d_step { /* all ranks save the next one */
       in_flight[c] == 0 && decided[c] < VERSIONS ->
       decided[c]++;
       if
       :: decided[c] > highest -> highest = decided[c]
       :: else
       fi;
       in_flight[c] = decided[c];
       stored[c] = 0;
       publish(c, BIT(kept[c]) | BIT(in_flight[c]));
       printf("coordinator %d has version %d saved\n", c, in_flight[c])
     }
  :: d_step { /* a shard went bad before all had it */
       in_flight[c] != 0 && writing[c] == 0 && stored[c] != members[c] && orders[c] < 5 ->
       in_flight[c] = 0;
       publish(c, BIT(kept[c]))
     }
  :: d_step {
       in_flight[c] != 0 && writing[c] == 0 && stored[c] == members[c] ->
       writing[c] = in_flight[c];
#ifdef FREED_BEFORE_DURABLE
       publish(c, BIT(in_flight[c]));
#endif
       printf("coordinator %d asks the record to name version %d\n", c, writing[c])
     }
  :: d_step { /* the compare-and-set; whether its answer comes back is another matter */
       writing[c] != 0 && claim == c && !written[c] ->
       assert(committed == kept[c] && writing[c] > committed);
       committed = writing[c];
       written[c] = true;
       printf("the record names version %d\n", committed);
       check_promise();
#ifdef ADOPTED_IS_WRONG
       assert(orders[c] > 1); /* committed what another coordinator had begun */
#endif
       i = 0;
       do
       :: i < HOLDERS ->
          assert(!HAS(members[c], i) || HAS(dead, i) || HAS(has[i], committed));
          i++
       :: else -> break
       od;
       i = 0
     }
  :: d_step { /* told, or read again */
       written[c] ->
       written[c] = false;
       kept[c] = writing[c];
       writing[c] = 0;
       in_flight[c] = 0;
       stored[c] = 0;
       publish(c, BIT(kept[c]));
       printf("coordinator %d has version %d freed\n", c, kept[c] - 1)
     }
  od
}

proctype Holder(byte h) {
  byte c, n, j;
  bool there;
end:
  do
  :: atomic { /* any orders that are newer than those that it has seen */
       !HAS(dead, h) ->
       select(c : 1..(COORDINATORS));
       select(n : 1..(ORDERS - 1));
       if
       :: n <= orders[c] && c >= term[h] && AT(c, n) > seen[h] ->
          d_step {
            term[h] = c;
            seen[h] = AT(c, n);
            room[h] = told[AT(c, n)];
            if
            :: has[h] & ~room[h] -> printf("holder %d frees %d\n", h, has[h] & ~room[h])
            :: else
            fi;
            has[h] = has[h] & room[h];
            check_promise()
          }
       :: else
       fi;
       c = 0;
       n = 0
     }
  :: d_step { /* a shard comes, of a version that it was told to hold */
       !HAS(dead, h) && told_flight[seen[h]] != 0 && !HAS(has[h], told_flight[seen[h]]) &&
           members[seen[h] / ORDERS] == members[term[h]] ->
       has[h] = has[h] | BIT(told_flight[seen[h]]);
       printf("holder %d has verified version %d\n", h, told_flight[seen[h]])
     }
  :: d_step { /* its word arrives, at whichever coordinator is there */
       claim > 0 && !HAS(dead, h) && in_flight[claim] != 0 && HAS(members[claim], h) &&
           HAS(has[h], in_flight[claim]) && !HAS(stored[claim], h) ->
       stored[claim] = stored[claim] | BIT(h)
     }
  :: d_step {
       losses < LOSSES && !HAS(dead, h) && has[h] != 0 ->
       losses++;
       dead = dead | BIT(h);
       printf("holder %d is lost\n", h);
       check_promise()
     }
  od
}

init {
  byte i = 0;
  atomic {
    do
    :: i < HOLDERS ->
       run Holder(i);
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
