/* One command at a time: started, fed, listened to, and ended with everything that it started. */
#ifndef TRAILGYM_EXEC_H
#define TRAILGYM_EXEC_H

#include <poll.h>

#include "buffer.h"

enum { EXEC_FDS = 3 };

/* Told each part of the output as it comes. */
typedef void (*OnOutput)(int stream, const uint8_t *bytes, size_t size);

/* Starts the command of an exec_request. Returns false and a text in `failure` when it cannot be run. */
bool exec_start(Reader *request, OnOutput on_output, Buffer *failure);
bool exec_running(void);
/* What to wait for: at most EXEC_FDS entries. Returns how many. */
int exec_poll(struct pollfd *fds);
/* Milliseconds until something is due by itself; -1 never. */
int exec_due(void);
/* Moves bytes and looks at clocks. Returns true when the command has ended, and its reply's body in `reply`. */
bool exec_turn(Buffer *reply);
/* Ends it now; the next turn has the reply. */
void exec_kill(void);
/* Ends whatever else lives in the sandbox. */
void end_everything(void);

long long now_ms(void);

#endif
