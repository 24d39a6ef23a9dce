#include <zlib.h>

// A macro, which Swift cannot call.
static inline int relay_inflate_begin(z_stream *stream) { return inflateInit(stream); }
