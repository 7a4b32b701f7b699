/*
 * The exit of a child, by its pidfd in the event loop. Collects exactly its own child, so it gets on with Node's
 * child_process and its SIGCHLD handler. Until the exit is collected the pid and the group id are the child's.
 */
#include "farhand.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum waited { STILL_RUNNING, HAS_EXITED, CANNOT_WAIT };

static enum waited wait_for(struct child *child, int options, siginfo_t *info) {
  int status;
  do {
    memset(info, 0, sizeof *info);
    status = waitid((idtype_t)P_PIDFD, (id_t)child->exit.fd, info, WEXITED | WNOHANG | options);
  } while (status < 0 && errno == EINTR);
  /* A non-blocking pidfd says EAGAIN where WNOHANG says pid 0; both mean the same. */
  if (status < 0 && errno != EAGAIN) return CANNOT_WAIT;
  return status < 0 || info->si_pid == 0 ? STILL_RUNNING : HAS_EXITED;
}

static void emit(struct child *child, enum waited waited, const siginfo_t *info) {
  if (waited == CANNOT_WAIT) child_emit_exited(child, -1, -1);
  else if (info->si_code == CLD_EXITED) child_emit_exited(child, info->si_status, -1);
  else child_emit_exited(child, -1, info->si_status);
}

static void on_dead(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  struct child *child = poll->data;
  siginfo_t info;
  if (wait_for(child, WNOWAIT, &info) == STILL_RUNNING) return;
  /* First the output: whoever gets it may still signal the group, which is only safe before the exit is collected. */
  for (unsigned index = 0; index < 2; index += 1) reader_catch_up(&child->readers[index]);
  enum waited waited = wait_for(child, 0, &info);
  child->exited = true;
  watch_close(&child->exit);
  watch_close(&child->input);
  emit(child, waited, &info);
  /* Nobody may keep a terminal open after its leader; the last bytes were taken above. */
  if (child->terminal) child_close_streams(child);
}

void exit_watch_start(struct child *child) {
  watch_start(&child->exit, UV_READABLE, on_dead);
}

void exit_collect_now(struct child *child, int patience_ms) {
  struct pollfd pidfd = {.fd = child->exit.fd, .events = POLLIN};
  siginfo_t info;
  if (child->exited || child->exit.fd < 0) return;
  while (poll(&pidfd, 1, patience_ms) < 0 && errno == EINTR) continue;
  child->exited = wait_for(child, 0, &info) != STILL_RUNNING;
}
