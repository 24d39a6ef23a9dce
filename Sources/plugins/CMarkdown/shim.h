#include <md4c.h>
#include <wchar.h>

// POSIX, but hidden from Swift by glibc's feature macros.
int wcwidth(wchar_t character);
