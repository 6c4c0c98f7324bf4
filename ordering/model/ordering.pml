/* The ordering protocol: one program, on up to three ranks, under every timing and some faults.
 * README.md says what is modelled, and check.py runs it. */

#include "program.pml"
#include "state.pml"
#include "device.pml"
#include "checks.pml"
#include "broken.pml"
#include "rank.pml"
#include "sequencer.pml"

init {
  d_step {
    c_code { ReadProgram(); };
    entered = everyone;
    phase = ANNOUNCED;
    if
    :: adaptive && slots > 1 -> /* with one slot there is no speculation */
       phase = CERTIFIED;
       entered = 0;
       speculating = everyone
    :: else
    fi
  };
  /* How many faults this run may have. */
  do
  :: fences < most_fences -> fences++
  :: break
  od;
  do
  :: crashes < most_crashes -> crashes++
  :: break
  od;
  do
  :: may_hesitate && will_hesitate < everyone -> will_hesitate++ /* any set of ranks */
  :: break
  od;
  do
  :: lessons < most_lessons && slots > 1 -> lessons++
  :: break
  od;
  atomic {
    op = 0;
    do
    :: op < RANKS && HAS(everyone, op) ->
       run Host(op);
       run LaunchQueue(op);
       run Device(op);
       op++
    :: else -> break
    od;
    op = 0;
    if
    :: has_local_ops[0] -> run Node(0)
    :: else
    fi;
    if
    :: has_local_ops[1] -> run Node(1)
    :: else
    fi;
    run Sequencer();
    run Watchdog()
  }
}
