#define _GNU_SOURCE
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

int failed(Buffer *reply, const char *what, const char *which, int error) {
  char text[512];
  snprintf(text, sizeof text, "cannot %s %.300s: %s", what, which, error ? strerror(error) : "a malformed request");
  reply->size = 0;
  put_text(reply, text);
  return REPLY_FAILED;
}

static int too_large(Buffer *reply, const char *which, uint64_t most) {
  char text[512];
  snprintf(text, sizeof text, "%.300s has more than %llu bytes", which, (unsigned long long)most);
  reply->size = 0;
  put_text(reply, text);
  return REPLY_TOO_LARGE;
}

int file_read(Reader *request, Buffer *reply) {
  char *path = get_text(request);
  uint64_t most = get_u64(request);
  int status = REPLY_OK;
  /* NONBLOCK: a fifo has nobody at its other end. */
  int fd = request->failed ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  if (request->failed) status = failed(reply, "read", path, 0);
  else if (fd < 0 || fstat(fd, &info) < 0) status = failed(reply, "read", path, errno);
  else if (!S_ISREG(info.st_mode)) status = failed(reply, "read", path, S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
  else {
    put_u32(reply, info.st_mode & 07777);
    size_t at = reply->size;
    put_u32(reply, 0);
    uint8_t bytes[1 << 16];
    for (ssize_t got; status == REPLY_OK && (got = read(fd, bytes, sizeof bytes)) != 0;) {
      if (got < 0) status = failed(reply, "read", path, errno);
      else if (reply->size - at - 4 + got > most) status = too_large(reply, path, most);
      else put(reply, bytes, got);
    }
    if (status == REPLY_OK) {
      uint32_t size = reply->size - at - 4;
      for (int i = 0; i < 4; i++) reply->data[at + i] = size >> (8 * i);
    }
  }
  if (fd >= 0) close(fd);
  free(path);
  return status;
}

static int make_parents(char *path) {
  for (char *at = path + 1; (at = strchr(at, '/')); at++) {
    *at = 0;
    int made = mkdir(path, 0755);
    *at = '/';
    if (made < 0 && errno != EEXIST) return -1;
  }
  return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size) {
  while (size) {
    ssize_t done = write(fd, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    bytes += done;
    size -= done;
  }
  return 0;
}

int file_write(Reader *request, Buffer *reply) {
  char *path = get_text(request);
  uint32_t mode = get_u32(request) & 07777;
  size_t size;
  const uint8_t *bytes = get_blob(request, &size);
  int status = REPLY_OK;
  int fd = -1;
  if (request->failed || !*path) status = failed(reply, "write", path, 0);
  else if (make_parents(path) < 0 || (fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode)) < 0)
    status = failed(reply, "write", path, errno);
  else if (write_all(fd, bytes, size) < 0 || fchmod(fd, mode) < 0) status = failed(reply, "write", path, errno);
  if (fd >= 0) close(fd);
  free(path);
  return status;
}

int file_list(Reader *request, Buffer *reply) {
  char *path = get_text(request);
  int status = REPLY_OK;
  DIR *dir = request->failed ? NULL : opendir(path);
  if (!dir) status = failed(reply, "list", path, request->failed ? 0 : errno);
  else {
    uint32_t count = 0;
    put_u32(reply, 0);
    for (struct dirent *entry; (entry = readdir(dir));) {
      struct stat info;
      if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
      if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) continue;
      put_text(reply, entry->d_name);
      put_u8(reply, S_ISREG(info.st_mode) ? 'f' : S_ISDIR(info.st_mode) ? 'd' : S_ISLNK(info.st_mode) ? 'l' : 'o');
      put_u32(reply, info.st_mode & 07777);
      put_u64(reply, info.st_size);
      count++;
    }
    for (int i = 0; i < 4; i++) reply->data[i] = count >> (8 * i);
    closedir(dir);
  }
  free(path);
  return status;
}
