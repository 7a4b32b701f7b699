/*
 * The clone, and everything the new process does until exec. It shares our memory while this thread stands still, as
 * after vfork: what runs there allocates nothing, takes no lock, calls no libc function that keeps state, and returns
 * only through exec or _exit. So a start costs the same whatever the size of the heap, and a failure is known at once.
 */
#include "farhand.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Arguments and environment do not live here, only a few frames of the functions below. */
#define STACK_BYTES (64 * 1024)
/* As large as the largest page of the systems we run on, so that it is whole pages everywhere. */
#define GUARD_BYTES (64 * 1024)

/* The kernel's idea of signals, not libc's, which hides two of them from us. */
#define KERNEL_SIGNALS 64
#define KERNEL_MASK_BYTES (KERNEL_SIGNALS / 8)

/* Sanitizers keep notes about stacks and do not know this one. */
#if defined(__has_feature)
#define WITHOUT_SANITIZERS __attribute__((no_sanitize("address", "undefined")))
#else
#define WITHOUT_SANITIZERS __attribute__((no_sanitize_address, no_sanitize_undefined))
#endif

char *launch_stack_create(void) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE;
  char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stack == MAP_FAILED) return NULL;
  if (mprotect(stack, GUARD_BYTES, PROT_NONE) == 0) return stack;
  launch_stack_destroy(stack);
  return NULL;
}

void launch_stack_destroy(char *stack) {
  if (stack) munmap(stack, GUARD_BYTES + STACK_BYTES);
}

WITHOUT_SANITIZERS
static _Noreturn void fail(struct launch *launch, const char *stage) {
  launch->error = errno;
  launch->stage = stage;
  _exit(127);
}

/* Ignored signals survive exec (Node ignores SIGPIPE), and handlers of ours must not run here. */
WITHOUT_SANITIZERS
static void reset_signals(void) {
  /* All zero bits are the default action with no flags, whatever the layout of the kernel's struct. */
  const unsigned long action[8] = {0};
  for (int signal = 1; signal <= KERNEL_SIGNALS; signal += 1) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    syscall(SYS_rt_sigaction, signal, action, NULL, (size_t)KERNEL_MASK_BYTES);
  }
}

/* Puts every descriptor where it belongs, also when a number is both a source and somebody's target. */
WITHOUT_SANITIZERS
static bool move_descriptors(struct launch *launch) {
  struct move *moves = launch->moves;
  int above = 0;
  for (size_t index = 0; index < launch->move_count; index += 1) {
    if (moves[index].to >= above) above = moves[index].to + 1;
  }
  for (size_t index = 0; index < launch->move_count; index += 1) {
    if (moves[index].from >= above) continue;
    moves[index].from = fcntl(moves[index].from, F_DUPFD_CLOEXEC, above);
    if (moves[index].from < 0) return false;
  }
  /* Nothing else is passed on; what dup2 makes is not marked. */
  if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0) return false;
  for (size_t index = 0; index < launch->move_count; index += 1) {
    int made;
    do made = dup2(moves[index].from, moves[index].to);
    while (made < 0 && (errno == EINTR || errno == EBUSY));
    if (made < 0) return false;
  }
  return true;
}

/* If our thread ends, the child is asked to end too; a terminal does that by hanging up. */
WITHOUT_SANITIZERS
static bool end_with_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) < 0) return false;
  pid_t now = getppid();
  /* It may have ended before we asked. 0 is a parent in another pid namespace, about which nothing can be said. */
  if (now != parent && now != 0) _exit(128 + SIGTERM);
  return true;
}

WITHOUT_SANITIZERS
static int run_in_child(void *argument) {
  struct launch *launch = argument;
  const struct order *order = launch->order;
  reset_signals();
  if (setsid() < 0) fail(launch, "session");
  if (!move_descriptors(launch)) fail(launch, "descriptors");
  if (order->terminal) {
    if (ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0) fail(launch, "terminal");
  } else if (!end_with_parent(launch->parent)) {
    fail(launch, "parent");
  }
  if (chdir(order->folder) < 0) fail(launch, "folder");
  const unsigned long none[2] = {0, 0};
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, NULL, (size_t)KERNEL_MASK_BYTES);
  execve(order->file, order->argv, order->envp);
  if (errno == ENOEXEC) execve(order->shell_argv[0], order->shell_argv, order->envp);
  fail(launch, "exec");
}

pid_t launch_run(struct launch *launch, char *stack, int *pidfd) {
  unsigned long all[2] = {~0ul, ~0ul};
  unsigned long before[2];
  launch->parent = getpid();
  launch->error = 0;
  /* A signal handler must not run in the child, on our memory. */
  if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, all, before, (size_t)KERNEL_MASK_BYTES) < 0) return -1;
  int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
  pid_t pid = clone(run_in_child, stack + GUARD_BYTES + STACK_BYTES, flags, launch, pidfd);
  int error = errno;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, (size_t)KERNEL_MASK_BYTES);
  errno = error;
  return pid;
}
