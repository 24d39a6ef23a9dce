// Linking this target is all that is to be done: see guard.c.
#ifndef RUN_GUARD_H
#define RUN_GUARD_H
#endif
