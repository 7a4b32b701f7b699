/*
 * The parts of the addon and what they promise each other. One `struct child` is one spawned process with everything
 * the event loop watches for it; one `struct addon` is one JavaScript environment (the main thread or a worker) that
 * loaded us. Nothing here is shared between threads.
 *
 *   module.c   what JavaScript sees, and the end of an environment
 *   child.c    the life of a child: events, who keeps its memory, when it is freed
 *   spawn.c    descriptors and the clone        launch.c   what runs in the new process until exec
 *   watch.c    a descriptor in the event loop   reader.c   output   writer.c   input   exit.c   the exit status
 */
#ifndef FARHAND_H
#define FARHAND_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <uv.h>

#define CONTAINER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* The most one output event carries. */
#define READ_BYTES (64 * 1024)

/* ---- one environment ---- */

struct child;

struct addon {
  napi_env env;
  uv_loop_t *loop;
  napi_async_cleanup_hook_handle hook;
  struct child *children;  /* all whose memory is not freed */
  unsigned handles;        /* libuv handles of all children; an environment must not end before they are closed */
  unsigned references;     /* the environment and each child; the last one frees this */
  bool ending;             /* the environment is being torn down: no more JavaScript */
  char *launch_stack;      /* see launch.c */
  char scratch[READ_BYTES];
};

void addon_release(struct addon *addon);
void addon_handle_closed(struct addon *addon);

/* ---- a descriptor in the event loop ---- */

struct watch {
  uv_poll_t poll;
  int fd; /* -1 before watch_open and after watch_close */
  bool polling;
};

/* Takes the descriptor over and makes it non-blocking. 0, or a negative libuv error: then the caller keeps it. */
int watch_open(struct watch *watch, struct child *child, int fd);
void watch_start(struct watch *watch, int events, uv_poll_cb callback);
void watch_stop(struct watch *watch);
/* Closes handle and descriptor; harmless when they are closed. The child's memory stays until libuv is done with it. */
void watch_close(struct watch *watch);

/* ---- output ---- */

/* The numbers are known to native-addon.ts. */
enum stream { STREAM_STDOUT = 0, STREAM_STDERR = 1, STREAM_PTY = 2 };

struct reader {
  struct watch watch;
  uv_timer_t rest_timer;
  struct child *child;
  enum stream stream;
  bool resting; /* not polled for a moment, see reader.c */
  unsigned small_reads;
  uint64_t last_read_ns;
};

int reader_open(struct reader *reader, struct child *child, int fd, enum stream stream);
/* Polls or not, as the child's state asks. */
void reader_update(struct reader *reader);
/* Called when the child is dead and before its exit is told: takes what it left behind. */
void reader_catch_up(struct reader *reader);
void reader_close(struct reader *reader);

/* ---- input ---- */

enum { WRITE_GONE = -1 };
/* The number of bytes taken, or WRITE_GONE. After fewer than asked, one `writable` event follows. */
ssize_t writer_write(struct child *child, const void *bytes, size_t length);

/* ---- exit ---- */

void exit_watch_start(struct child *child);
/* Waits up to `patience_ms` for a killed child and collects it; for the end of an environment. */
void exit_collect_now(struct child *child, int patience_ms);

/* ---- one child ---- */

struct child {
  struct addon *addon;
  struct child *next;
  struct child **link; /* what points to us */

  pid_t pid; /* 0 until the clone succeeded */
  bool terminal;
  bool begun;
  bool paused;
  bool exited;         /* its exit was collected: `pid` may be somebody else's */
  bool streams_closed; /* asked for; before begin() it is only noted */
  bool collected;      /* the JavaScript object is gone */
  unsigned handles;    /* libuv handles, each pointing into this memory */
  unsigned open_readers;
  uint64_t last_input_ns;

  struct watch exit;
  struct watch input;
  struct reader readers[2]; /* stdout and stderr; a terminal uses the first only */

  napi_ref self; /* strong from begin() until everything is closed */
  napi_ref notify;
  napi_async_context context;
};

struct child *child_create(struct addon *addon, bool terminal);
/* Events flow from here on, each a call of `notify`. */
napi_status child_begin(struct child *child, napi_value self, napi_value notify);
void child_set_paused(struct child *child, bool paused);
/* Closes our ends of all its streams; the `ended` event follows. */
void child_close_streams(struct child *child);
/* For a child nobody can ask about any more: kills it and lets go of everything. Its exit is still collected. */
void child_abandon(struct child *child);
/* Lets go of what belongs to JavaScript; no event follows. */
void child_forget_callbacks(struct child *child);
void child_handle_closed(struct child *child);
/* The JavaScript object is gone, or there never was one. */
void child_collected(struct child *child);

/* The numbers are known to native-addon.ts. */
enum event { EVENT_OUTPUT = 0, EVENT_EXITED = 1, EVENT_ENDED = 2, EVENT_WRITABLE = 3 };

void child_emit_output(struct child *child, enum stream stream, const void *bytes, size_t length);
/* Both numbers are -1 when waiting failed, else one of them is. */
void child_emit_exited(struct child *child, int code, int signal);
void child_emit(struct child *child, enum event event);

/* ---- spawning ---- */

struct order {
  const char *file; /* has a slash */
  const char *folder;
  char **argv;
  char **shell_argv; /* for a file without a format: /bin/sh runs it, as execvp does */
  char **envp;
  bool input_pipe;
  bool terminal;
  struct winsize size;
  const int32_t *descriptors; /* pairs: number in the child, number here */
  size_t descriptor_pairs;
};

struct failure {
  int error; /* errno */
  const char *stage;
};

/* On failure nothing is left but handles of `child` that are being closed. */
bool spawn_child(struct child *child, const struct order *order, struct failure *failure);
int terminal_resize(struct child *child, const struct winsize *size);

/* ---- in the new process ---- */

struct move {
  int from;
  int to;
};

struct launch {
  const struct order *order;
  struct move *moves;
  size_t move_count;
  pid_t parent;
  /* Written by the child, read by the parent: they share memory until exec. */
  volatile int error;
  const char *volatile stage;
};

char *launch_stack_create(void);
void launch_stack_destroy(char *stack);
/* The pid, or -1 with errno. Returns after exec or failure of the child; then `error` says which. */
pid_t launch_run(struct launch *launch, char *stack, int *pidfd);

#endif
