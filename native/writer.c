/*
 * The input of a child, a pipe or its terminal. Takes what the kernel takes and says when it will take more; the queue
 * of what waits is kept by the caller.
 */
#include "farhand.h"

#include <errno.h>
#include <unistd.h>

static void on_writable(uv_poll_t *poll, int status, int events) {
  /* An error is found again by the next write, which can tell it from a mere wake-up. */
  (void)status;
  (void)events;
  struct watch *watch = CONTAINER_OF(poll, struct watch, poll);
  watch_stop(watch);
  child_emit(poll->data, EVENT_WRITABLE);
}

ssize_t writer_write(struct child *child, const void *bytes, size_t length) {
  struct watch *watch = &child->input;
  if (watch->fd < 0) return WRITE_GONE;
  child->last_input_ns = uv_hrtime();
  ssize_t taken;
  /* One call: a fast reader must not hold the loop. The process ignores SIGPIPE (Node sees to it). */
  do taken = write(watch->fd, bytes, length);
  while (taken < 0 && errno == EINTR);
  if (taken < 0 && errno != EAGAIN) {
    watch_close(watch);
    return WRITE_GONE;
  }
  if (taken < 0) taken = 0;
  if ((size_t)taken < length) watch_start(watch, UV_WRITABLE, on_writable);
  return taken;
}
