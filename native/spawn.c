/*
 * Starts a child: opens the descriptors on both sides, clones, and puts our sides into the event loop. Every descriptor
 * has one owner at any time: `struct ends` until a watch takes it over.
 */
#include "farhand.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* Index 0 to 2 as in the child: input, output, errors. */
struct ends {
  int ours[3];
  int theirs[3];
};

static bool failed(struct failure *failure, const char *stage, int error) {
  failure->stage = stage;
  failure->error = error;
  return false;
}

static void close_if_open(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/*
 * Room for several reads: with the kernel's 64 KiB a fast printer and this process take turns for every read. Beyond a
 * user's share of pipe memory the kernel refuses, and the ordinary size does as well.
 */
#define OUTPUT_PIPE_BYTES (256 * 1024)

/* The pipe's ends go to `ours` and `theirs` of one stream. */
static bool open_pipe(struct ends *ends, int stream) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) < 0) return false;
  int child_reads = stream == 0;
  if (!child_reads) (void)fcntl(pipe_ends[0], F_SETPIPE_SZ, OUTPUT_PIPE_BYTES);
  ends->theirs[stream] = pipe_ends[child_reads ? 0 : 1];
  ends->ours[stream] = pipe_ends[child_reads ? 1 : 0];
  return true;
}

static bool open_pipes(struct ends *ends, bool input_pipe) {
  if (input_pipe) {
    if (!open_pipe(ends, 0)) return false;
  } else {
    ends->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (ends->theirs[0] < 0) return false;
  }
  return open_pipe(ends, 1) && open_pipe(ends, 2);
}

/* Our side is open twice, because a descriptor can be in the event loop only once: [0] to write, [1] to read. */
static bool open_terminal(struct ends *ends, const struct winsize *size) {
  int master = ends->ours[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return false;
  if (ioctl(master, TIOCSWINSZ, size) < 0) return false;
  /* By the master and not by name: whatever is mounted at /dev/pts. */
  ends->theirs[0] = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ends->theirs[0] < 0) return false;
  ends->ours[0] = fcntl(master, F_DUPFD_CLOEXEC, 0);
  return ends->ours[0] >= 0;
}

/* Our sides belong to the child from here on, one by one. */
static int watch_ours(struct child *child, struct ends *ends) {
  int status = 0;
  if (ends->ours[0] >= 0) {
    status = watch_open(&child->input, child, ends->ours[0]);
    if (status < 0) return status;
    ends->ours[0] = -1;
  }
  for (int stream = 1; stream <= 2; stream += 1) {
    if (ends->ours[stream] < 0) continue;
    enum stream name = child->terminal ? STREAM_PTY : stream == 1 ? STREAM_STDOUT : STREAM_STDERR;
    status = reader_open(&child->readers[stream - 1], child, ends->ours[stream], name);
    if (status < 0) return status;
    ends->ours[stream] = -1;
  }
  return 0;
}

/* Collects a child that is dead or about to be. */
static void collect(pid_t pid) {
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}

static bool clone_child(struct child *child, const struct order *order, const struct ends *ends, struct failure *failure) {
  struct launch launch = {.order = order, .move_count = 3 + order->descriptor_pairs};
  struct addon *addon = child->addon;
  int pidfd = -1;
  launch.moves = calloc(launch.move_count, sizeof *launch.moves);
  if (!addon->launch_stack) addon->launch_stack = launch_stack_create();
  if (!launch.moves || !addon->launch_stack) {
    free(launch.moves);
    return failed(failure, "memory", ENOMEM);
  }
  for (int fd = 0; fd < 3; fd += 1) {
    launch.moves[fd].from = ends->theirs[order->terminal ? 0 : fd];
    launch.moves[fd].to = fd;
  }
  for (size_t pair = 0; pair < order->descriptor_pairs; pair += 1) {
    launch.moves[3 + pair].to = order->descriptors[2 * pair];
    launch.moves[3 + pair].from = order->descriptors[2 * pair + 1];
  }
  pid_t pid = launch_run(&launch, addon->launch_stack, &pidfd);
  int error = pid < 0 ? errno : launch.error;
  free(launch.moves);
  if (pid < 0) return failed(failure, "clone", error);
  if (error != 0) {
    collect(pid);
    close_if_open(&pidfd);
    return failed(failure, launch.stage, error);
  }
  /* A kernel that does not know CLONE_PIDFD ignores it. */
  int status = pidfd < 0 ? -ENOSYS : watch_open(&child->exit, child, pidfd);
  if (status < 0) {
    kill(-pid, SIGKILL);
    collect(pid);
    close_if_open(&pidfd);
    return failed(failure, "event loop", -status);
  }
  child->pid = pid;
  return true;
}

bool spawn_child(struct child *child, const struct order *order, struct failure *failure) {
  struct ends ends = {{-1, -1, -1}, {-1, -1, -1}};
  bool is_open = order->terminal ? open_terminal(&ends, &order->size) : open_pipes(&ends, order->input_pipe);
  bool is_started = is_open || failed(failure, order->terminal ? "terminal" : "pipes", errno);
  if (is_started) {
    int status = watch_ours(child, &ends);
    is_started = status == 0 || failed(failure, "event loop", -status);
  }
  if (is_started) is_started = clone_child(child, order, &ends, failure);
  for (int stream = 0; stream < 3; stream += 1) {
    close_if_open(&ends.ours[stream]);
    close_if_open(&ends.theirs[stream]);
  }
  if (!is_started) child_abandon(child);
  return is_started;
}

int terminal_resize(struct child *child, const struct winsize *size) {
  int master = child->readers[0].watch.fd;
  if (!child->terminal || master < 0) return 0;
  return ioctl(master, TIOCSWINSZ, size) < 0 ? errno : 0;
}
