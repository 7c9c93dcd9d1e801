#define _GNU_SOURCE
#include "exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

/* After the command's end its pipes may still be open in a process that is about to die. */
enum { DRAIN_MS = 1000, READ_SIZE = 1 << 16 };

/* The first half of what is allowed and the last half; what was between is counted. */
typedef struct {
  int fd;
  Buffer head, tail;
  size_t half, tail_at;
  uint64_t seen;
} Stream;

static struct {
  pid_t pid;
  bool ended;
  int status;
  Stream streams[2];
  int in;
  Buffer input;
  size_t fed;
  uint8_t end;
  long long started, last_word, drain_until;
  uint32_t total_ms, quiet_ms;
  OnOutput on_output;
} run;

long long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

bool exec_running(void) { return run.pid != 0; }

static char **texts(Reader *r) {
  uint32_t count = get_u32(r);
  /* Each takes at least its length. */
  if (count > r->left / 4) r->failed = true;
  if (r->failed) count = 0;
  char **list = allocate(NULL, (count + 1) * sizeof *list);
  for (uint32_t i = 0; i < count; i++) list[i] = get_text(r);
  list[count] = NULL;
  return list;
}

static void free_texts(char **list) {
  for (char **at = list; *at; at++) free(*at);
  free(list);
}

static void say(Buffer *failure, const char *what, const char *which, int error) {
  char text[512];
  snprintf(text, sizeof text, "%s %.200s: %s", what, which, strerror(error));
  put_text(failure, text);
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* In the child: becomes the command, or tells why not and is gone. */
static void become(char **argv, char **env, const char *cwd, int in, int out, int err, int report) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  setsid();
  /* When memory runs out, the command goes and the agent stays to tell. */
  int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    ssize_t ignored = write(score, "1000", 4);
    (void)ignored;
    close(score);
  }
  int failed = 0;
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) failed = errno;
  if (!failed && *cwd && chdir(cwd) < 0) failed = errno;
  if (!failed) {
    environ = env;
    execvp(argv[0], argv);
    failed = errno;
  }
  ssize_t ignored = write(report, &failed, sizeof failed);
  (void)ignored;
  _exit(127);
}

static bool pipes(int in[2], int out[2], int err[2], int report[2]) {
  return pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0;
}

bool exec_start(Reader *request, OnOutput on_output, Buffer *failure) {
  memset(&run, 0, sizeof run);
  run.total_ms = get_u32(request);
  run.quiet_ms = get_u32(request);
  uint32_t most = get_u32(request);
  bool merge = get_u8(request);
  char *cwd = get_text(request);
  char **argv = texts(request), **env = texts(request);
  size_t size;
  const uint8_t *input = get_blob(request, &size);
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};
  int error = 0;

  if (request->failed || !argv[0]) put_text(failure, "a malformed request");
  else if (!pipes(in, out, err, report)) say(failure, "no pipes for", argv[0], errno);
  else if ((run.pid = fork()) == 0) become(argv, env, cwd, in[0], out[1], merge ? out[1] : err[1], report[1]);
  else if (run.pid < 0) say(failure, "cannot start", argv[0], errno);
  else {
    close_fd(&report[1]);
    ssize_t got;
    do got = read(report[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
      waitpid(run.pid, NULL, 0);
      say(failure, "cannot run", *cwd && error == ENOENT && access(cwd, F_OK) < 0 ? cwd : argv[0], error);
    }
  }
  close_fd(&in[0]);
  close_fd(&out[1]);
  close_fd(&err[1]);
  close_fd(&report[0]);
  close_fd(&report[1]);
  free(cwd);
  free_texts(argv);
  free_texts(env);
  if (failure->size) {
    close_fd(&in[1]);
    close_fd(&out[0]);
    close_fd(&err[0]);
    run.pid = 0;
    return false;
  }

  put(&run.input, input, size);
  run.in = in[1];
  run.streams[0] = (Stream){.fd = out[0], .half = most / 2};
  run.streams[1] = (Stream){.fd = err[0], .half = most / 2};
  for (int i = 0; i < 2; i++) fcntl(run.streams[i].fd, F_SETFL, O_NONBLOCK);
  fcntl(run.in, F_SETFL, O_NONBLOCK);
  run.on_output = on_output;
  run.started = run.last_word = now_ms();
  return true;
}

int exec_poll(struct pollfd *fds) {
  int count = 0;
  if (!run.pid) return 0;
  for (int i = 0; i < 2; i++) {
    if (run.streams[i].fd >= 0) fds[count++] = (struct pollfd){.fd = run.streams[i].fd, .events = POLLIN};
  }
  if (run.in >= 0 && run.fed < run.input.size) fds[count++] = (struct pollfd){.fd = run.in, .events = POLLOUT};
  return count;
}

int exec_due(void) {
  if (!run.pid) return -1;
  long long due = -1, at = now_ms();
  if (run.ended) due = run.drain_until;
  else {
    if (run.total_ms) due = run.started + run.total_ms;
    if (run.quiet_ms && (due < 0 || run.last_word + run.quiet_ms < due)) due = run.last_word + run.quiet_ms;
  }
  return due < 0 ? -1 : due <= at ? 0 : (int)(due - at);
}

static void keep(Stream *s, const uint8_t *bytes, size_t size) {
  s->seen += size;
  size_t first = s->half - s->head.size < size ? s->half - s->head.size : size;
  put(&s->head, bytes, first);
  bytes += first;
  size -= first;
  if (size > s->half) {
    bytes += size - s->half;
    size = s->half;
  }
  while (size) {
    if (s->tail.size < s->half) {
      size_t part = s->half - s->tail.size < size ? s->half - s->tail.size : size;
      put(&s->tail, bytes, part);
      bytes += part;
      size -= part;
    } else {
      /* A ring: the oldest byte of the tail is at tail_at. */
      size_t part = s->half - s->tail_at < size ? s->half - s->tail_at : size;
      memcpy(s->tail.data + s->tail_at, bytes, part);
      s->tail_at = (s->tail_at + part) % s->half;
      bytes += part;
      size -= part;
    }
  }
}

static void listen_to(int i) {
  static uint8_t bytes[READ_SIZE];
  Stream *s = &run.streams[i];
  /* A flood must not keep the agent from its clocks. */
  for (int turns = 0; s->fd >= 0 && turns < 16; turns++) {
    ssize_t got = read(s->fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return close_fd(&s->fd);
    run.last_word = now_ms();
    keep(s, bytes, got);
    run.on_output(i + 1, bytes, got);
  }
}

static void feed(void) {
  while (run.in >= 0 && run.fed < run.input.size) {
    ssize_t put_in = write(run.in, run.input.data + run.fed, run.input.size - run.fed);
    if (put_in < 0 && errno == EINTR) continue;
    if (put_in < 0 && errno == EAGAIN) return;
    if (put_in < 0) break; /* it does not read: its own affair */
    run.fed += put_in;
  }
  close_fd(&run.in);
}

/* All processes whose parent is the agent; as PID 1 or subreaper it inherits every orphan. */
static bool kill_children(void) {
  char path[64], list[1 << 14];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, list, sizeof list - 1);
  close(fd);
  if (size <= 0) return false;
  list[size] = 0;
  for (char *at = list, *end; *at; at = end) {
    long pid = strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 1) kill(pid, SIGKILL);
  }
  return true;
}

void end_everything(void) {
  for (;;) {
    if (getpid() == 1) kill(-1, SIGKILL);
    else if (!kill_children() && run.pid) kill(-run.pid, SIGKILL);
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return;
    if (pid == run.pid && !run.ended) {
      run.ended = true;
      run.status = status;
    }
  }
}

static void reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != run.pid || run.ended) continue;
    run.ended = true;
    run.status = status;
  }
}

static void finish(Buffer *reply) {
  bool signalled = WIFSIGNALED(run.status);
  put_u8(reply, run.end ? run.end : signalled ? END_SIGNAL : END_EXIT);
  put_u32(reply, signalled ? WTERMSIG(run.status) : WEXITSTATUS(run.status));
  put_u32(reply, now_ms() - run.started);
  for (int i = 0; i < 2; i++) {
    Stream *s = &run.streams[i];
    put_u64(reply, s->seen - s->head.size - s->tail.size);
  }
  for (int i = 0; i < 2; i++) {
    Stream *s = &run.streams[i];
    put_u32(reply, s->head.size + s->tail.size);
    put(reply, s->head.data, s->head.size);
    if (s->tail.size) {
      put(reply, s->tail.data + s->tail_at, s->tail.size - s->tail_at);
      put(reply, s->tail.data, s->tail_at);
    }
    close_fd(&s->fd);
    clear(&s->head);
    clear(&s->tail);
  }
  close_fd(&run.in);
  clear(&run.input);
  run.pid = 0;
}

void exec_kill(void) {
  if (!run.pid || run.ended) return;
  run.end = END_KILLED;
  end_everything();
}

bool exec_turn(Buffer *reply) {
  if (!run.pid) return false;
  feed();
  for (int i = 0; i < 2; i++) listen_to(i);
  reap();
  if (!run.ended) {
    long long at = now_ms();
    if (run.total_ms && at >= run.started + run.total_ms) run.end = END_TIMEOUT;
    else if (run.quiet_ms && at >= run.last_word + run.quiet_ms) run.end = END_QUIET;
    if (!run.end) return false;
    end_everything();
  }
  if (!run.drain_until) {
    /* What it left in the background ends with it: the next command finds the sandbox as this one did. */
    end_everything();
    run.drain_until = now_ms() + DRAIN_MS;
    for (int i = 0; i < 2; i++) listen_to(i);
  }
  bool open = run.streams[0].fd >= 0 || run.streams[1].fd >= 0;
  if (open && now_ms() < run.drain_until) return false;
  finish(reply);
  return true;
}
