/* Steps that are applied live: votes, changes of the view, joiners. README.md says what is modelled, and
 * check.py runs it. */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef EPOCHS
#define EPOCHS 3
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef STEPS
#define STEPS 2
#endif

#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#define TAG(p, s) ((p) * (STEPS + 1) + (s))
#define OF(e, s) ((e) * (STEPS + 2) + (s))

/* A process in the place of a rank. */
byte term[RANKS];    /* the newest epoch that has asked */
byte applied[RANKS]; /* steps, from 1 */
byte ballot[RANKS];  /* the step that it has voted for; 0: none */
byte of_epoch[RANKS];
byte tag[RANKS * (STEPS + 1)]; /* its regions: in which epoch each applied step was computed */
byte running;                  /* those that go on, as bits */
byte whole;                    /* whose regions are those of `applied` */
byte dead;
byte losses;

/* An epoch. Its coordinator may be heard long after the next one began. */
byte members[EPOCHS + 1];
byte votes[OF(EPOCHS + 1, 0)]; /* said, by step */
byte begun[OF(EPOCHS + 1, 0)]; /* ranks that have begun the step */
byte stands; /* in the newest epoch: who is at the target */
byte target;
bool has_target;
byte epoch;

/* What any rank has ever applied. */
byte history[STEPS + 2];
byte length;

inline apply(p, s) {
  assert(s == applied[p] + 1);
  tag[TAG(p, s)] = of_epoch[p];
  applied[p] = s;
  ballot[p] = 0;
  printf("rank %d applies step %d as computed in epoch %d\n", p, s, of_epoch[p]);
  if
  :: s > length ->
     length = s;
     history[s] = of_epoch[p]
  :: else -> assert(history[s] == of_epoch[p])
  fi
}

/* A view without the dead (it shrinks), or with joiners in their places. */
inline begin_view(joiners) {
  epoch++;
  i = 0;
  do
  :: i < RANKS ->
     if
     :: HAS(dead, i) && HAS(members[epoch - 1], i) && joiners ->
        dead = dead & ~BIT(i);
        whole = whole & ~BIT(i);
        term[i] = 0;
        applied[i] = 0;
        ballot[i] = 0;
        of_epoch[i] = 0
     :: else
     fi;
     if
     :: !HAS(dead, i) && HAS(members[epoch - 1], i) -> members[epoch] = members[epoch] | BIT(i)
     :: else
     fi;
     i++
  :: else -> break
  od;
  stands = 0;
  has_target = false;
  target = 0;
  i = 0;
  printf("epoch %d of ranks %d\n", epoch, members[epoch])
}

/* All have stopped and reported: what they said stays true until they are told the target. */
inline decide() {
  i = 0;
  all_alike = true;
  common = 0;
  common_epoch = 0;
  target = 0;
  do
  :: i < RANKS ->
     if
     :: HAS(members[epoch] & whole, i) && applied[i] > target -> target = applied[i]
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < RANKS ->
     if
     :: HAS(members[epoch] & whole, i) ->
        if
        :: common == 0 ->
           common = ballot[i];
           common_epoch = of_epoch[i]
        :: else
        fi;
        all_alike = all_alike && applied[i] == target && ballot[i] == target + 1 &&
                    of_epoch[i] == common_epoch
     :: else
     fi;
     i++
  :: else -> break
  od;
  has_target = true;
#ifndef SURVIVORS_VOTES_DO_NOT_COUNT
  if
  :: all_alike ->
     target++;
#ifdef SURVIVORS_COMMIT_IS_WRONG
     assert(length >= target);
#endif
  :: else
  fi;
#endif
  i = 0;
  common = 0;
  common_epoch = 0;
  all_alike = false;
  printf("all are to stand at step %d\n", target)
}

inline copy(p, q) {
  i = 1;
  do
  :: i <= STEPS ->
     tag[TAG(p, i)] = tag[TAG(q, i)];
     i++
  :: else -> break
  od;
  i = 0;
  whole = whole | BIT(p);
  applied[p] = applied[q];
  printf("rank %d copies rank %d, which stands at step %d\n", p, q, applied[q])
}

/* Nobody goes on before all stand at the target; then nothing that was applied is missing anywhere. */
inline check_resume(p) {
  assert(applied[p] == target);
  assert(length == target || (running & members[epoch]) != 0);
  i = 1;
  do
  :: i <= target ->
     assert(tag[TAG(p, i)] == history[i]);
     i++
  :: else -> break
  od;
  i = 0
}

/* One loop for all: a step of any process, of a coordinator, a loss. Messages that are late or lost are
 * steps that come late or never. */
active proctype World() {
  byte p, q, i, step, common, common_epoch;
  bool all_alike;
  d_step {
    whole = BIT(RANKS) - 1;
    members[0] = BIT(RANKS) - 1;
    begin_view(false)
  }
end:
  do
  :: atomic {
       select(p : 0..(RANKS - 1));
       if
       :: HAS(dead, p)
       :: d_step { /* asked where it stands, it stops */
            !HAS(dead, p) && HAS(members[epoch], p) && term[p] < epoch ->
            term[p] = epoch;
            running = running & ~BIT(p)
          }
       :: d_step { /* told the target */
            !HAS(dead, p) && has_target && term[p] == epoch && HAS(members[epoch] & whole, p) &&
                !HAS(running | stands, p) ->
            if
            :: applied[p] < target ->
               assert(ballot[p] == target);
               apply(p, target)
            :: else
            fi;
            if
            :: ballot[p] != 0 && of_epoch[p] < epoch -> ballot[p] = 0 /* to be computed again */
            :: else
            fi;
            assert(applied[p] == target);
            stands = stands | BIT(p)
          }
       :: d_step { /* all stand: told to go on */
            !HAS(dead, p) && has_target && term[p] == epoch && stands == members[epoch] &&
                HAS(stands, p) && !HAS(running, p) ->
            check_resume(p);
            running = running | BIT(p)
          }
       :: d_step { /* begins its next step; its operations complete when all members have */
            !HAS(dead, p) && HAS(running, p) && ballot[p] == 0 && applied[p] < STEPS &&
                !HAS(begun[OF(term[p], applied[p] + 1)], p) ->
            begun[OF(term[p], applied[p] + 1)] = begun[OF(term[p], applied[p] + 1)] | BIT(p)
          }
       :: d_step {
            !HAS(dead, p) && HAS(running, p) && ballot[p] == 0 && applied[p] < STEPS &&
                begun[OF(term[p], applied[p] + 1)] == members[term[p]] ->
            ballot[p] = applied[p] + 1;
            of_epoch[p] = term[p];
            votes[OF(term[p], ballot[p])] = votes[OF(term[p], ballot[p])] | BIT(p);
            printf("rank %d votes for step %d in epoch %d\n", p, ballot[p], term[p])
          }
       :: d_step { /* committed by all members' votes, perhaps by a coordinator of the past */
            !HAS(dead, p) && HAS(running, p) && ballot[p] != 0 &&
                votes[OF(term[p], ballot[p])] == members[term[p]] ->
            step = ballot[p];
            apply(p, step);
            step = 0
          }
       :: d_step {
            !HAS(dead, p) && losses < LOSSES && epoch < EPOCHS ->
            losses++;
            dead = dead | BIT(p);
            running = running & ~BIT(p);
            printf("rank %d is lost\n", p)
          }
       :: else
       fi;
       p = 0
     }
  :: d_step {
       !has_target && (members[epoch] & dead) == 0 && (members[epoch] & whole) != 0 &&
           (term[0] == epoch || !HAS(members[epoch], 0)) &&
           (term[1] == epoch || !HAS(members[epoch], 1)) &&
           (RANKS < 3 || term[RANKS - 1] == epoch || !HAS(members[epoch], RANKS - 1)) ->
       decide()
     }
  :: atomic { /* a joiner copies from one that has applied the target */
       select(p : 0..(RANKS - 1));
       select(q : 0..(RANKS - 1));
       if
       :: d_step {
            p != q && !HAS(dead, p) && !HAS(dead, q) && HAS(members[epoch], p) &&
                HAS(members[epoch], q) && term[p] == epoch && term[q] == epoch && !HAS(whole, p) &&
#ifdef JOINER_COPIES_BEFORE_DECISION
                HAS(whole, q) && !HAS(running, q) ->
            copy(p, q);
            whole = whole & ~BIT(p); /* reported as a joiner: it isn't told to apply anything */
            stands = stands | BIT(p)
#else
                has_target && HAS(stands & whole, q) ->
            copy(p, q);
            stands = stands | BIT(p)
#endif
          }
       :: else
       fi;
       p = 0;
       q = 0
     }
  :: d_step { (members[epoch] & dead) != 0 && epoch < EPOCHS -> begin_view(true) }
  :: d_step {
       (members[epoch] & dead) != 0 && (members[epoch] & ~dead) != 0 && epoch < EPOCHS ->
       begin_view(false)
     }
  od
}
