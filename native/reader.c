/*
 * One output stream of a child. Reads until there is nothing more or 64 KiB are full, one event per wake-up, and knows
 * when a stream is at its end. Decides nothing about pausing except the short rests below.
 */
#include "farhand.h"

#include <errno.h>
#include <unistd.h>

/*
 * A program that prints line by line would cost a wake-up, an event and a message per line. After this many small reads
 * in quick succession the stream rests a moment and the lines pile up in the pipe. Not while somebody types: an echo
 * should not wait.
 */
#define SMALL_READ_BYTES 4096
#define SMALL_READS 8
#define QUICK_NS UINT64_C(2000000)
#define REST_MS 1
#define TYPING_NS UINT64_C(50000000)

/* A terminal that no process has open looks ended until its leader opens it again; how often to look. */
#define REOPEN_MS 20

/* More than a pipe or a terminal holds; more can only come from somebody who goes on printing after the leader's end. */
#define TAIL_BYTES (1024 * 1024)

enum outcome { FULL, DRY, ENDED };

static void on_closed(uv_handle_t *handle) {
  struct child *child = handle->data;
  child->open_readers -= 1;
  if (child->open_readers == 0) child_emit(child, EVENT_ENDED);
  child_handle_closed(child);
}

int reader_open(struct reader *reader, struct child *child, int fd, enum stream stream) {
  int status = watch_open(&reader->watch, child, fd);
  if (status < 0) return status;
  uv_timer_init(child->addon->loop, &reader->rest_timer);
  reader->rest_timer.data = child;
  reader->stream = stream;
  reader->child = child;
  child->handles += 1;
  child->addon->handles += 1;
  child->open_readers += 1;
  return 0;
}

void reader_close(struct reader *reader) {
  if (reader->watch.fd < 0) return;
  watch_close(&reader->watch);
  uv_close((uv_handle_t *)&reader->rest_timer, on_closed);
}

static enum outcome fill(struct reader *reader, char *buffer, size_t *length) {
  *length = 0;
  while (*length < READ_BYTES) {
    ssize_t taken = read(reader->watch.fd, buffer + *length, READ_BYTES - *length);
    if (taken > 0) *length += (size_t)taken;
    else if (taken < 0 && errno == EINTR) continue;
    else return taken < 0 && errno == EAGAIN ? DRY : ENDED; /* EIO is how a terminal ends */
  }
  return FULL;
}

/* One round of reading and its event. The event may have closed the reader. */
static enum outcome read_round(struct reader *reader, size_t *length) {
  char *scratch = reader->child->addon->scratch;
  enum outcome outcome = fill(reader, scratch, length);
  if (*length > 0) child_emit_output(reader->child, reader->stream, scratch, *length);
  return outcome;
}

static void on_rested(uv_timer_t *timer) {
  struct reader *reader = CONTAINER_OF(timer, struct reader, rest_timer);
  reader->resting = false;
  reader->last_read_ns = uv_hrtime();
  reader_update(reader);
}

static void rest(struct reader *reader, uint64_t milliseconds) {
  reader->resting = true;
  uv_timer_start(&reader->rest_timer, on_rested, milliseconds, 0);
  reader_update(reader);
}

static bool needs_rest(struct reader *reader, size_t length) {
  uint64_t now = uv_hrtime();
  bool quick_and_small = length < SMALL_READ_BYTES && now - reader->last_read_ns < QUICK_NS;
  reader->small_reads = quick_and_small ? reader->small_reads + 1 : 0;
  reader->last_read_ns = now;
  return reader->small_reads >= SMALL_READS && now - reader->child->last_input_ns > TYPING_NS;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)events;
  struct reader *reader = CONTAINER_OF(poll, struct reader, watch.poll);
  size_t length;
  enum outcome outcome = read_round(reader, &length);
  if (reader->watch.fd < 0) return;
  if (status < 0) { /* libuv stopped polling; whatever is wrong will stay so */
    reader_close(reader);
  } else if (outcome == ENDED) {
    if (reader->child->terminal) rest(reader, REOPEN_MS);
    else reader_close(reader);
  } else if (needs_rest(reader, length)) {
    rest(reader, REST_MS);
  }
}

void reader_update(struct reader *reader) {
  struct child *child = reader->child;
  if (child->begun && !child->paused && !reader->resting) watch_start(&reader->watch, UV_READABLE, on_readable);
  else watch_stop(&reader->watch);
}

void reader_catch_up(struct reader *reader) {
  bool terminal = reader->child->terminal;
  size_t length;
  for (size_t total = 0; total < TAIL_BYTES; total += length) {
    /* A pipe keeps its bytes for later; a terminal is closed after this. */
    if (reader->watch.fd < 0 || (reader->child->paused && !terminal)) return;
    enum outcome outcome = read_round(reader, &length);
    if (outcome == ENDED && !terminal) reader_close(reader);
    if (outcome != FULL) return;
  }
}
