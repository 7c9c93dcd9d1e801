/* Files of the workspace: read, written, listed; all of it packed into a tar archive and unpacked again. */
#ifndef TRAILGYM_FILES_H
#define TRAILGYM_FILES_H

#include "buffer.h"

/* Each reads its request and appends its reply's body. Returns a status of wire.h; unless REPLY_OK the body is a text. */
int file_read(Reader *request, Buffer *reply);
int file_write(Reader *request, Buffer *reply);
int file_list(Reader *request, Buffer *reply);
int archive(const char *root, Reader *request, Buffer *reply);
int restore(const char *root, Reader *request, Buffer *reply);

int failed(Buffer *reply, const char *what, const char *which, int error);

#endif
