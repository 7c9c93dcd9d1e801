/* POSIX tar (ustar with pax records for long names), written from and into a folder without following a link on the way. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "wire.h"

enum { BLOCK = 512, MAX_DEPTH = 200, MAX_PATH = 4096 };

typedef struct {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
  char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
} Header;

_Static_assert(sizeof(Header) == BLOCK, "a tar header is a block");

static void pad(Buffer *out) {
  static const uint8_t zeros[BLOCK];
  put(out, zeros, (BLOCK - out->size % BLOCK) % BLOCK);
}

static void put_header(Buffer *out, const char *name, const char *link, char type, unsigned mode, uint64_t size, long long mtime) {
  Header h = {0};
  memcpy(h.name, name, strnlen(name, sizeof h.name));
  memcpy(h.link, link, strnlen(link, sizeof h.link));
  snprintf(h.mode, sizeof h.mode, "%07o", mode & 07777);
  snprintf(h.uid, sizeof h.uid, "%07o", 0);
  snprintf(h.gid, sizeof h.gid, "%07o", 0);
  snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)size & 077777777777);
  snprintf(h.mtime, sizeof h.mtime, "%011llo", (unsigned long long)(mtime < 0 ? 0 : mtime) & 077777777777);
  h.type = type;
  memcpy(h.magic, "ustar", 6);
  memcpy(h.version, "00", 2);
  memset(h.sum, ' ', sizeof h.sum);
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof h; i++) sum += ((const uint8_t *)&h)[i];
  snprintf(h.sum, sizeof h.sum, "%06o", sum);
  put(out, &h, sizeof h);
}

/* A pax record counts its own length, in decimal. */
static void put_record(Buffer *records, const char *key, const char *value) {
  size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;
  for (size_t digits = 1, last = 0; last != length;) {
    last = length;
    digits = snprintf(NULL, 0, "%zu", length);
    length = rest + digits;
  }
  char start[64];
  put(records, start, snprintf(start, sizeof start, "%zu %s=", length, key));
  put(records, value, strlen(value));
  put(records, "\n", 1);
}

static void put_entry(Buffer *out, const char *name, const char *link, char type, unsigned mode, uint64_t size, long long mtime) {
  Buffer records = {0};
  if (strlen(name) > sizeof ((Header *)0)->name) put_record(&records, "path", name);
  if (strlen(link) > sizeof ((Header *)0)->link) put_record(&records, "linkpath", link);
  if (records.size) {
    put_header(out, "long-name", "", 'x', 0644, records.size, 0);
    put(out, records.data, records.size);
    pad(out);
  }
  clear(&records);
  put_header(out, name, link, type, mode, size, mtime);
}

typedef struct {
  Buffer *out;
  size_t start;
  uint64_t most;
  uint32_t left_out;
  bool full;
} Packing;

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* One order, whatever the file system's: equal folders make equal archives. */
static char **names_of(DIR *dir) {
  size_t count = 0, room = 16;
  char **names = allocate(NULL, room * sizeof *names);
  for (struct dirent *entry; (entry = readdir(dir));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (count + 1 == room) names = allocate(names, (room *= 2) * sizeof *names);
    char *name = allocate(NULL, strlen(entry->d_name) + 1);
    names[count++] = strcpy(name, entry->d_name);
  }
  qsort(names, count, sizeof *names, by_name);
  names[count] = NULL;
  return names;
}

static void pack_file(Packing *p, int dir, const char *name, const char *path, const struct stat *info) {
  int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    p->left_out++;
    return;
  }
  put_entry(p->out, path, "", '0', info->st_mode, info->st_size, info->st_mtime);
  uint64_t left = info->st_size;
  uint8_t bytes[1 << 16];
  while (left) {
    ssize_t got = read(fd, bytes, left < sizeof bytes ? left : sizeof bytes);
    if (got <= 0) {
      /* It shrank: the header's promise is kept with zeros. */
      got = left < sizeof bytes ? left : sizeof bytes;
      memset(bytes, 0, got);
    }
    put(p->out, bytes, got);
    left -= got;
  }
  pad(p->out);
  close(fd);
}

static void pack(Packing *p, int dir_fd, const char *prefix, int depth) {
  DIR *dir = fdopendir(dir_fd);
  if (!dir) {
    close(dir_fd);
    p->left_out++;
    return;
  }
  char **names = names_of(dir);
  for (char **name = names; *name; name++) {
    char path[MAX_PATH], link[MAX_PATH];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s%s", prefix, *name);
    bool stated = length < MAX_PATH - 1 && fstatat(dir_fd, *name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    ssize_t size;
    int fd;
    if (p->full || !stated) p->left_out++;
    else if (S_ISDIR(info.st_mode)) {
      fd = depth < MAX_DEPTH ? openat(dir_fd, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
      strcat(path, "/");
      /* When a folder or a link was made says nothing about what is in it, and a restored one is of another time. */
      put_entry(p->out, path, "", '5', info.st_mode, 0, 0);
      if (fd < 0) p->left_out++;
      else pack(p, fd, path, depth + 1);
    } else if (S_ISLNK(info.st_mode)) {
      size = readlinkat(dir_fd, *name, link, sizeof link - 1);
      if (size < 0) p->left_out++;
      else {
        link[size] = 0;
        put_entry(p->out, path, link, '2', 0777, 0, 0);
      }
    } else if (!S_ISREG(info.st_mode)) p->left_out++;
    else if (p->out->size - p->start + info.st_size > p->most) p->full = true;
    else pack_file(p, dir_fd, *name, path, &info);
    free(*name);
  }
  free(names);
  closedir(dir);
}

int archive(const char *root, Reader *request, Buffer *reply) {
  uint64_t most = get_u64(request);
  int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (request->failed || fd < 0) return failed(reply, "archive", root, request->failed ? 0 : errno);
  Buffer out = {0};
  Packing p = {.out = &out, .most = most};
  pack(&p, fd, "", 0);
  static const uint8_t end[2 * BLOCK];
  put(&out, end, sizeof end);
  int status = REPLY_OK;
  if (p.full || out.size > most) {
    char text[128];
    snprintf(text, sizeof text, "the workspace has more than %llu bytes", (unsigned long long)most);
    put_text(reply, text);
    status = REPLY_TOO_LARGE;
  } else {
    put_u32(reply, p.left_out);
    put_blob(reply, out.data, out.size);
  }
  clear(&out);
  return status;
}

static int wipe(int dir_fd, int depth) {
  DIR *dir = fdopendir(dir_fd);
  if (!dir) return close(dir_fd), -1;
  int status = 0;
  char **names = names_of(dir);
  for (char **name = names; *name; name++) {
    if (unlinkat(dir_fd, *name, 0) < 0) {
      fchmodat(dir_fd, *name, 0700, 0);
      int fd = openat(dir_fd, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0 || depth > MAX_DEPTH || wipe(fd, depth + 1) < 0 || unlinkat(dir_fd, *name, AT_REMOVEDIR) < 0) status = -1;
    }
    free(*name);
  }
  free(names);
  closedir(dir);
  return status;
}

/* Opens the folder that `path` is in, making it where it is not there; `*last` is the name in it. Never through a link. */
static int parent_of(int root, char *path, char **last) {
  int dir = dup(root);
  for (char *name = path, *slash; dir >= 0; name = slash + 1) {
    slash = strchr(name, '/');
    if (!slash) {
      *last = name;
      return dir;
    }
    *slash = 0;
    if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST) break;
    int next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(dir);
    dir = next;
    *slash = '/';
  }
  if (dir >= 0) close(dir);
  return -1;
}

/* `a/b` of `./a//b/`; false for what leads out of the folder. */
static bool normalise(char *path) {
  char *out = path;
  if (*path == '/') return false;
  for (char *name = path, *next; name; name = next) {
    next = strchr(name, '/');
    if (next) *next++ = 0;
    if (!*name || !strcmp(name, ".")) continue;
    if (!strcmp(name, "..")) return false;
    if (out != path) *out++ = '/';
    size_t length = strlen(name);
    memmove(out, name, length);
    out += length;
  }
  *out = 0;
  return true;
}

static uint64_t octal(const char *text, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size && (text[i] == ' ' || (text[i] >= '0' && text[i] <= '7')); i++) {
    if (text[i] != ' ') value = value * 8 + (text[i] - '0');
  }
  return value;
}

static void copy_field(char *to, const char *field, size_t size) {
  memcpy(to, field, size);
  to[size] = 0;
}

/* The long names that a pax header gives to the entry after it. */
static void read_records(const uint8_t *at, size_t left, char *path, char *link) {
  while (left) {
    char digits[16] = {0};
    size_t i = 0;
    while (i < left && i < 15 && at[i] >= '0' && at[i] <= '9') digits[i] = at[i], i++;
    size_t length = strtoul(digits, NULL, 10);
    if (length <= i + 1 || length > left) return;
    const char *record = (const char *)at + i + 1, *end = (const char *)at + length - 1;
    const char *equals = memchr(record, '=', end - record);
    if (equals) {
      char *to = !strncmp(record, "path=", 5) ? path : !strncmp(record, "linkpath=", 9) ? link : NULL;
      size_t size = end - equals - 1;
      if (to && size < MAX_PATH) copy_field(to, equals + 1, size);
    }
    at += length;
    left -= length;
  }
}

static int unpack_one(int root, char type, char *path, char *link, unsigned mode, long long mtime, const uint8_t *bytes, size_t size) {
  char *name;
  if (!normalise(path) || (type == '1' && !normalise(link))) return errno = EPERM, -1;
  if (!*path) return 0; /* the folder itself */
  int dir = parent_of(root, path, &name), status = -1;
  if (dir < 0) return -1;
  if (type == '5') status = mkdirat(dir, name, 0700) < 0 && errno != EEXIST ? -1 : fchmodat(dir, name, mode | 0700, 0);
  else if (type == '2') status = symlinkat(link, dir, name);
  else if (type == '1') {
    char *from;
    int other = parent_of(root, link, &from);
    status = other < 0 ? -1 : linkat(other, from, dir, name, 0);
    if (other >= 0) close(other);
  } else {
    unlinkat(dir, name, 0);
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    for (size_t done = 0; fd >= 0 && done < size;) {
      ssize_t part = write(fd, bytes + done, size - done);
      if (part < 0 && errno == EINTR) continue;
      if (part < 0) {
        close(fd);
        fd = -1;
      } else done += part;
    }
    if (fd >= 0) {
      struct timespec times[2] = {{.tv_sec = mtime}, {.tv_sec = mtime}};
      futimens(fd, times);
      status = fchmod(fd, mode);
      close(fd);
    }
  }
  int error = errno;
  close(dir);
  errno = error;
  return status;
}

static int unpack(int root, const uint8_t *at, size_t left, Buffer *reply) {
  char path[MAX_PATH] = "", link[MAX_PATH] = "";
  while (left >= BLOCK && *at) {
    const Header *h = (const Header *)at;
    uint64_t size = octal(h->size, sizeof h->size);
    char type = h->type ? h->type : '0';
    bool has_body = type != '5' && type != '2' && type != '1';
    uint64_t body = has_body ? size : 0, blocks = (body + BLOCK - 1) / BLOCK * BLOCK;
    const uint8_t *bytes = at + BLOCK;
    if (body > left - BLOCK) return failed(reply, "restore", "an archive that ends early", EINVAL);
    if (type == 'x') read_records(bytes, body, path, link);
    else if (type == 'L' || type == 'K') {
      if (body >= MAX_PATH) return failed(reply, "restore", "a name of this length", ENAMETOOLONG);
      copy_field(type == 'L' ? path : link, (const char *)bytes, body);
    } else if (type != 'g') {
      if (!*path) {
        char prefix[156], name[101];
        copy_field(prefix, h->prefix, sizeof h->prefix);
        copy_field(name, h->name, sizeof h->name);
        bool prefixed = !memcmp(h->magic, "ustar", 6) && *prefix;
        snprintf(path, sizeof path, "%s%s%s", prefixed ? prefix : "", prefixed ? "/" : "", name);
      }
      if (!*link) copy_field(link, h->link, sizeof h->link);
      char shown[MAX_PATH];
      strcpy(shown, path);
      if (!strchr("01257", type)) return failed(reply, "restore", shown, EINVAL);
      if (unpack_one(root, type, path, link, octal(h->mode, sizeof h->mode) & 07777, octal(h->mtime, sizeof h->mtime), bytes, body) < 0)
        return failed(reply, "restore", shown, errno);
      *path = *link = 0;
    }
    size_t step = BLOCK + blocks;
    if (step > left) step = left;
    at += step;
    left -= step;
  }
  return REPLY_OK;
}

int restore(const char *root, Reader *request, Buffer *reply) {
  size_t size;
  const uint8_t *bytes = get_blob(request, &size);
  int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (request->failed || fd < 0) return failed(reply, "restore", root, request->failed ? 0 : errno);
  if (wipe(dup(fd), 0) < 0) {
    int error = errno;
    close(fd);
    return failed(reply, "empty", root, error);
  }
  int status = unpack(fd, bytes, size, reply);
  close(fd);
  return status;
}
