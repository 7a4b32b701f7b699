/* A descriptor in the event loop. Owns the descriptor and its libuv handle; knows nothing of what is read there. */
#include "farhand.h"

#include <unistd.h>

int watch_open(struct watch *watch, struct child *child, int fd) {
  int status = uv_poll_init(child->addon->loop, &watch->poll, fd);
  if (status < 0) return status;
  watch->poll.data = child;
  watch->fd = fd;
  child->handles += 1;
  child->addon->handles += 1;
  return 0;
}

void watch_start(struct watch *watch, int events, uv_poll_cb callback) {
  if (watch->fd < 0 || watch->polling) return;
  /* Fails only for a handle that is closing. */
  watch->polling = uv_poll_start(&watch->poll, events, callback) == 0;
}

void watch_stop(struct watch *watch) {
  if (watch->fd < 0 || !watch->polling) return;
  uv_poll_stop(&watch->poll);
  watch->polling = false;
}

static void on_closed(uv_handle_t *handle) {
  child_handle_closed(handle->data);
}

void watch_close(struct watch *watch) {
  if (watch->fd < 0) return;
  /* In this order: libuv must not know a number that the next open may be given. */
  uv_close((uv_handle_t *)&watch->poll, on_closed);
  close(watch->fd);
  watch->fd = -1;
  watch->polling = false;
}
