// Line editing over libedit, made so that other text can be printed while a line is being edited.
// Everything here is for one thread only.
#ifndef RELAY_CEDIT_H
#define RELAY_CEDIT_H

/// Shows the prompt and begins to edit. `line` is called with each entered line, or NULL at end of input.
void relay_edit_begin(const char *prompt, void (*line)(const char *text));

/// Takes what has been typed. Call it when standard input is readable.
void relay_edit_read(void);

/// Removes the prompt and the line being edited from the screen, so that text can be printed there.
void relay_edit_hide(void);

/// Shows them again below what was printed.
void relay_edit_show(void);

/// Uses another prompt from the next `relay_edit_show` on.
void relay_edit_prompt(const char *prompt);

/// Gives the terminal back as it was.
void relay_edit_end(void);

void relay_edit_load_history(const char *path);
void relay_edit_save_history(const char *path);

/// What the tab key completes to: `count` strings, copied.
void relay_edit_set_completions(const char *const *words, int count);

/// Columns and rows of the terminal; 80 by 24 when unknown.
void relay_terminal_size(int *columns, int *rows);
#endif
