#include <sys/random.h>
#include <sys/types.h>
#include <wslay/wslay.h>
