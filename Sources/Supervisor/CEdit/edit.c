#define _GNU_SOURCE
#include "CEdit.h"

#include <editline/readline.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

static void (*on_line)(const char *text);
static char *prompt_text;
static char **completions;
static int completion_count;
static int hidden;
static int active;
// The last line was entered and nothing typed since: libedit still holds the old line until the next key.
static int entered;
// The entered line, until the terminal is in libedit's mode again.
static char *entered_line;

static void take_line(char *text) {
    entered = 1;
    if (text && *text) add_history(text);
    if (!text) {
        // Later output, such as the shell's prompt, does not begin behind ours.
        relay_edit_hide();
        relay_edit_end();
        if (on_line) on_line(NULL);
        return;
    }
    free(entered_line);
    entered_line = strdup(text);
}

static char *next_completion(const char *text, int state) {
    static int index;
    if (state == 0) index = 0;
    while (index < completion_count) {
        const char *word = completions[index++];
        if (strncmp(word, text, strlen(text)) == 0) return strdup(word);
    }
    return NULL;
}

static char **complete(const char *text, int start, int end) {
    (void)end;
    rl_attempted_completion_over = 1;
    return start == 0 ? rl_completion_matches(text, next_completion) : NULL;
}

void relay_edit_begin(const char *prompt, void (*line)(const char *text)) {
    setlocale(LC_ALL, "");
    if (MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
    on_line = line;
    relay_edit_prompt(prompt);
    rl_readline_name = "pi-relayd";
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = " \t\n";
    using_history();
    stifle_history(1000);
    rl_callback_handler_install(prompt_text, take_line);
    active = 1;
}

void relay_edit_read(void) {
    if (!active) return;
    entered = 0;
    rl_callback_read_char();
    if (!entered_line) return;
    char *line = entered_line;
    entered_line = NULL;
    // libedit has left the terminal in the shell's mode, in which a key such as Ctrl-D would be lost.
    rl_callback_handler_install(prompt_text, take_line);
    fflush(stdout);
    if (on_line) on_line(line);
    free(line);
}

static int display_width(const char *text) {
    int width = 0;
    mbstate_t state;
    memset(&state, 0, sizeof state);
    while (*text) {
        wchar_t character;
        size_t length = mbrtowc(&character, text, MB_CUR_MAX, &state);
        if (length == 0 || length > 16) {
            text++;
            memset(&state, 0, sizeof state);
            continue;
        }
        int columns = wcwidth(character);
        if (columns > 0) width += columns;
        text += length;
    }
    return width;
}

void relay_terminal_size(int *columns, int *rows) {
    struct winsize size;
    if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        *columns = size.ws_col;
        *rows = size.ws_row;
    } else {
        *columns = 80;
        *rows = 24;
    }
}

void relay_edit_hide(void) {
    if (hidden || !active) return;
    hidden = 1;
    int columns, rows;
    relay_terminal_size(&columns, &rows);
    int before = display_width(prompt_text);
    if (!entered && rl_line_buffer && rl_point > 0) {
        char *typed = strndup(rl_line_buffer, (size_t)rl_point);
        if (typed) before += display_width(typed);
        free(typed);
    }
    int up = before / columns;
    fflush(stdout);
    if (up > 0)
        dprintf(1, "\r\033[%dA\033[J", up);
    else
        dprintf(1, "\r\033[J");
}

void relay_edit_show(void) {
    if (!hidden || !active) return;
    hidden = 0;
    if (entered) {
        // libedit takes the prompt of a new line for drawn already.
        rl_callback_handler_install(prompt_text, take_line);
        fflush(stdout);
        dprintf(1, "\r\033[J%s", prompt_text);
        return;
    }
    rl_set_prompt(prompt_text);
    rl_forced_update_display();
    fflush(stdout);
}

void relay_edit_prompt(const char *prompt) {
    free(prompt_text);
    prompt_text = strdup(prompt);
}

void relay_edit_end(void) {
    if (!active) return;
    active = 0;
    rl_callback_handler_remove();
    fflush(stdout);
}

void relay_edit_load_history(const char *path) {
    using_history();
    read_history(path);
}

void relay_edit_save_history(const char *path) {
    write_history(path);
}

void relay_edit_set_completions(const char *const *words, int count) {
    for (int i = 0; i < completion_count; i++) free(completions[i]);
    free(completions);
    completions = calloc((size_t)(count ? count : 1), sizeof *completions);
    completion_count = 0;
    if (!completions) return;
    for (int i = 0; i < count; i++) completions[completion_count++] = strdup(words[i]);
}
