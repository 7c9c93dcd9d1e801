/*
 * The agent in a sandbox: does what the server asks, one thing at a time, and remembers its answers of this turn, so that
 * a server which lost one (a dropped connection, a restart) gets it again and nothing is done twice. It listens on a Unix socket that
 * the server takes out of the sandbox's sight before anything untrusted runs, and it ends itself, and all that lives in the
 * sandbox with it, when nobody has renewed its lease.
 *
 * usage: agent SOCKET WORKSPACE LEASE_MS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "exec.h"
#include "files.h"
#include "wire.h"

/* Output that nobody reads is not kept twice: the reply has it. Frames beyond this size are nobody's. */
enum { MAX_BACKLOG = 1 << 20, READ_SIZE = 1 << 16 };
static const uint32_t max_frame = 1u << 30;

static const char *workspace;
typedef struct {
  int fd;
  Buffer in, out;
  size_t sent;
} Client;

/* Who is served, and who has connected and not yet said hello: only that takes the place of the first. */
static Client client = {.fd = -1}, guest = {.fd = -1};

static struct {
  uint64_t turn;
  bool running;
  uint64_t running_key;
  size_t count, room;
  Buffer *replies; /* of this turn: u64 key, u8 status, body */
} done;

static uint32_t lease_ms;
static long long lease_end;

static void hang_up(Client *c) {
  if (c->fd >= 0) close(c->fd);
  clear(&c->in);
  clear(&c->out);
  *c = (Client){.fd = -1};
}

static void send_frame(uint8_t kind, const Buffer *body) {
  if (client.fd < 0) return;
  put_u32(&client.out, body->size + 1);
  put_u8(&client.out, kind);
  put(&client.out, body->data, body->size);
}

static void on_output(int stream, const uint8_t *bytes, size_t size) {
  if (client.out.size - client.sent > MAX_BACKLOG) return;
  Buffer body = {0};
  put_u64(&body, done.running_key);
  put_u8(&body, stream);
  put(&body, bytes, size);
  send_frame(SAY_OUTPUT, &body);
  clear(&body);
}

static Buffer reply_of(uint64_t key, uint8_t status, const Buffer *body) {
  Buffer reply = {0};
  put_u64(&reply, key);
  put_u8(&reply, status);
  put(&reply, body->data, body->size);
  send_frame(SAY_REPLY, &reply);
  return reply;
}

static void answer(uint64_t key, uint8_t status, const Buffer *body) {
  if (done.count == done.room) done.replies = allocate(done.replies, (done.room = 2 * done.room + 4) * sizeof *done.replies);
  done.replies[done.count++] = reply_of(key, status, body);
}

static void refuse(uint64_t key, const char *why) {
  Buffer body = {0};
  put_text(&body, why);
  Buffer reply = reply_of(key, REPLY_REFUSED, &body);
  clear(&reply);
  clear(&body);
}

static const Buffer *answered(uint64_t key) {
  for (size_t i = 0; i < done.count; i++) {
    Reader r = {.at = done.replies[i].data, .left = done.replies[i].size};
    if (get_u64(&r) == key) return &done.replies[i];
  }
  return NULL;
}

static void begin_turn(uint64_t turn) {
  for (size_t i = 0; i < done.count; i++) clear(&done.replies[i]);
  done.count = 0;
  done.turn = turn;
}

static void call(Reader *r) {
  uint64_t turn = get_u64(r), key = get_u64(r);
  uint8_t op = get_u8(r);
  Buffer body = {0};
  if (turn == done.turn) {
    if (done.running && key == done.running_key) return; /* a retry while it runs: its reply will come */
    const Buffer *reply = answered(key);
    if (reply) return send_frame(SAY_REPLY, reply);
  }
  if (done.running) return refuse(key, "another command runs");
  if (turn < done.turn) return refuse(key, "this turn is over");
  if (turn > done.turn) begin_turn(turn);
  int status = REPLY_FAILED;
  switch (op) {
    case OP_EXEC:
      if (exec_start(r, on_output, &body)) {
        done.running = true;
        done.running_key = key;
        return;
      }
      break;
    case OP_READ: status = file_read(r, &body); break;
    case OP_WRITE: status = file_write(r, &body); break;
    case OP_LIST: status = file_list(r, &body); break;
    case OP_ARCHIVE: status = archive(workspace, r, &body); break;
    case OP_RESTORE: status = restore(workspace, r, &body); break;
    default: put_text(&body, "no such operation");
  }
  answer(key, status, &body);
  clear(&body);
}

static bool greet(Reader *r) {
  bool hello = get_u8(r) == ASK_HELLO;
  uint32_t version = get_u32(r), lease = get_u32(r);
  if (!hello || r->failed || version != WIRE_VERSION) return false;
  lease_ms = lease;
  hang_up(&client);
  client = guest;
  guest = (Client){.fd = -1};
  Buffer body = {0};
  put_u32(&body, WIRE_VERSION);
  put_u64(&body, done.turn);
  send_frame(SAY_HELLO, &body);
  clear(&body);
  return true;
}

static void take_frame(Reader *r) {
  lease_end = now_ms() + lease_ms;
  switch (get_u8(r)) {
    case ASK_CALL: return call(r);
    case ASK_KILL:
      if (done.running && get_u64(r) == done.running_key) exec_kill();
      return;
    case ASK_END: lease_end = 0;
  }
}

/* The frame at the start of what was heard, if it is whole. */
static bool whole_frame(Client *c, size_t at, Reader *body) {
  if (c->in.size - at < 4) return false;
  Reader head = {.at = c->in.data + at, .left = 4};
  uint32_t size = get_u32(&head);
  if (!size || size > max_frame) return hang_up(c), false;
  *body = (Reader){.at = c->in.data + at + 4, .left = size};
  return c->in.size - at - 4 >= size;
}

static void forget(Buffer *b, size_t size) {
  if (!size) return;
  memmove(b->data, b->data + size, b->size - size);
  b->size -= size;
}

static bool hear(Client *c) {
  static uint8_t bytes[READ_SIZE];
  ssize_t got = read(c->fd, bytes, sizeof bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) return hang_up(c), false;
  put(&c->in, bytes, got);
  return true;
}

static void take_frames(void) {
  Reader body;
  size_t at = 0;
  while (whole_frame(&client, at, &body)) {
    at += 4 + body.left;
    take_frame(&body);
  }
  if (client.fd >= 0) forget(&client.in, at);
}

static void hear_client(void) {
  if (hear(&client)) take_frames();
}

static void hear_guest(void) {
  Reader body;
  if (!hear(&guest) || !whole_frame(&guest, 0, &body)) return;
  size_t size = 4 + body.left;
  if (!greet(&body)) return hang_up(&guest);
  forget(&client.in, size);
  take_frames();
}

static void tell_client(void) {
  if (client.fd < 0) return;
  while (client.sent < client.out.size) {
    ssize_t sent = send(client.fd, client.out.data + client.sent, client.out.size - client.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) return hang_up(&client);
    client.sent += sent;
  }
  client.out.size = client.sent = 0;
  if (client.out.room > MAX_BACKLOG) clear(&client.out);
}

static void welcome(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  hang_up(&guest);
  guest.fd = fd;
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  umask(0177);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 4) < 0) return -1;
  umask(022);
  return fd;
}

static int earlier(int a, int b) { return a < 0 ? b : b < 0 || a < b ? a : b; }

int main(int argc, char **argv) {
  if (argc != 4) return fputs("usage: agent SOCKET WORKSPACE LEASE_MS\n", stderr), 2;
  workspace = argv[2];
  lease_ms = strtoul(argv[3], NULL, 10);
  /* Nothing in the sandbox may look into the agent, nor gain a right that it was not given. */
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  int listener = listen_at(argv[1]);
  if (signals < 0 || listener < 0 || chdir(workspace) < 0) return perror("agent"), 1;

  for (lease_end = now_ms() + lease_ms; now_ms() < lease_end;) {
    struct pollfd fds[4 + EXEC_FDS] = {
        {.fd = listener, .events = POLLIN},
        {.fd = signals, .events = POLLIN},
        {.fd = client.fd, .events = POLLIN | (client.out.size > client.sent ? POLLOUT : 0)},
        {.fd = guest.fd, .events = POLLIN},
    };
    int count = 4 + exec_poll(fds + 4);
    poll(fds, count, earlier(exec_due(), (int)(lease_end - now_ms())));
    if (fds[1].revents) {
      struct signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0);
    }
    Buffer body = {0};
    if (exec_turn(&body)) {
      done.running = false;
      answer(done.running_key, REPLY_OK, &body);
    }
    clear(&body);
    if (fds[2].revents && client.fd >= 0) hear_client();
    if (fds[3].revents) hear_guest();
    if (fds[0].revents) welcome(listener);
    tell_client();
  }
  end_everything();
  return 0;
}
