// Linking this target is enough: see guard.c.
#ifndef RUN_GUARD_H
#define RUN_GUARD_H
#endif
