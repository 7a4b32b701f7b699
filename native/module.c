/*
 * What JavaScript sees: the class `Child`, and `missingFeature`. Only turns values into C and back. Also the end of an
 * environment: a worker or the process may end while children run, and then nothing of them may stay in the event loop.
 */
#include "farhand.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4u
#endif

/* How long the end of an environment waits for a killed child; one that hangs in the kernel must not hold it up. */
#define LAST_WAIT_MS 200

/* ---- the environment ---- */

void addon_release(struct addon *addon) {
  addon->references -= 1;
  if (addon->references > 0) return;
  launch_stack_destroy(addon->launch_stack);
  free(addon);
}

void addon_handle_closed(struct addon *addon) {
  addon->handles -= 1;
  if (addon->ending && addon->handles == 0) napi_remove_async_cleanup_hook(addon->hook);
}

static void on_environment_end(napi_async_cleanup_hook_handle hook, void *data) {
  struct addon *addon = data;
  addon->hook = hook;
  addon->ending = true;
  for (struct child *child = addon->children; child; child = child->next) {
    child_forget_callbacks(child);
    child_abandon(child);
  }
  for (struct child *child = addon->children; child; child = child->next) {
    exit_collect_now(child, LAST_WAIT_MS);
    watch_close(&child->exit);
  }
  if (addon->handles == 0) napi_remove_async_cleanup_hook(hook);
  addon_release(addon);
}

/* ---- values ---- */

static napi_value throw_type_error(napi_env env, const char *message) {
  napi_throw_type_error(env, NULL, message);
  return NULL;
}

static bool get_member(napi_env env, napi_value object, const char *name, napi_value *value) {
  return napi_get_named_property(env, object, name, value) == napi_ok;
}

static bool get_count(napi_env env, napi_value object, const char *name, uint32_t *number) {
  napi_value value;
  return get_member(env, object, name, &value) && napi_get_value_uint32(env, value, number) == napi_ok;
}

static bool get_flag(napi_env env, napi_value object, const char *name, bool *flag) {
  napi_value value;
  return get_member(env, object, name, &value) && napi_get_value_bool(env, value, flag) == napi_ok;
}

static bool get_array(napi_env env, napi_value value, napi_typedarray_type wanted, void **data, size_t *length) {
  napi_typedarray_type type;
  bool is_array = false;
  if (napi_is_typedarray(env, value, &is_array) != napi_ok || !is_array) return false;
  return napi_get_typedarray_info(env, value, &type, length, data, NULL, NULL) == napi_ok && type == wanted;
}

static bool get_size(napi_env env, napi_value object, struct winsize *size) {
  uint32_t rows, cols;
  if (!get_count(env, object, "rows", &rows) || !get_count(env, object, "cols", &cols)) return false;
  if (rows > UINT16_MAX || cols > UINT16_MAX) return false;
  *size = (struct winsize){.ws_row = (unsigned short)rows, .ws_col = (unsigned short)cols};
  return true;
}

/* ---- a new child ---- */

struct cursor {
  char *at;
  size_t left;
};

static char *next_string(struct cursor *cursor) {
  char *end = cursor->left > 0 ? memchr(cursor->at, '\0', cursor->left) : NULL;
  if (!end) return NULL;
  char *string = cursor->at;
  cursor->left -= (size_t)(end + 1 - string);
  cursor->at = end + 1;
  return string;
}

static bool next_strings(struct cursor *cursor, char **strings, size_t count) {
  for (size_t index = 0; index < count; index += 1) {
    strings[index] = next_string(cursor);
    if (!strings[index]) return false;
  }
  strings[count] = NULL;
  return true;
}

/*
 * `strings` is one block, each string ended by a zero byte: file, folder, arguments, variables. The pointers made here
 * point into it, so they are good while the JavaScript value is; `*pointers` is the caller's to free.
 */
static bool read_strings(struct cursor cursor, struct order *order, const uint32_t counts[2], char ***pointers) {
  static char shell[] = "/bin/sh";
  size_t argument_count = counts[0], variable_count = counts[1];
  /* Bounds the sum below: every string takes at least a byte. */
  if (argument_count == 0 || argument_count > cursor.left || variable_count > cursor.left) return false;
  char **block = calloc(2 * argument_count + variable_count + 4, sizeof *block);
  if (!block) return false;
  *pointers = block;
  order->argv = block;
  order->shell_argv = order->argv + argument_count + 1;
  order->envp = order->shell_argv + argument_count + 2;
  order->file = next_string(&cursor);
  order->folder = next_string(&cursor);
  if (!order->file || !order->folder) return false;
  if (!next_strings(&cursor, order->argv, argument_count)) return false;
  if (!next_strings(&cursor, order->envp, variable_count) || cursor.left > 0) return false;
  order->shell_argv[0] = shell;
  order->shell_argv[1] = (char *)order->file;
  memcpy(order->shell_argv + 2, order->argv + 1, argument_count * sizeof *order->argv);
  return true;
}

static bool read_descriptors(struct order *order, const int32_t *numbers, size_t length) {
  order->descriptors = numbers;
  order->descriptor_pairs = length / 2;
  for (size_t pair = 0; pair < order->descriptor_pairs; pair += 1) {
    if (numbers[2 * pair] < 3 || numbers[2 * pair + 1] < 0) return false;
  }
  return length % 2 == 0;
}

static bool read_order(napi_env env, napi_value request, struct order *order, char ***pointers) {
  napi_value strings, descriptors;
  uint32_t counts[2];
  void *bytes = NULL, *numbers = NULL;
  struct cursor cursor = {0};
  size_t length;
  bool has_members = get_flag(env, request, "inputPipe", &order->input_pipe) &&
                     get_flag(env, request, "terminal", &order->terminal) && get_size(env, request, &order->size) &&
                     get_count(env, request, "argumentCount", &counts[0]) &&
                     get_count(env, request, "variableCount", &counts[1]) &&
                     get_member(env, request, "descriptors", &descriptors) &&
                     get_member(env, request, "strings", &strings);
  /* Memory last: a member may be an accessor, which could take it away. */
  if (!has_members || !get_array(env, descriptors, napi_int32_array, &numbers, &length)) return false;
  if (!get_array(env, strings, napi_uint8_array, &bytes, &cursor.left)) return false;
  cursor.at = bytes;
  return read_descriptors(order, numbers, length) && read_strings(cursor, order, counts, pointers);
}

/* The caller has better words for most numbers; the message is for those it does not know. */
static void throw_failure(napi_env env, const struct failure *failure) {
  char text[128];
  napi_value message, error, number, stage;
  snprintf(text, sizeof text, "%s (os error %d)", strerror(failure->error), failure->error);
  bool is_ready = napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message) == napi_ok &&
                  napi_create_error(env, NULL, message, &error) == napi_ok &&
                  napi_create_int32(env, -failure->error, &number) == napi_ok &&
                  napi_create_string_utf8(env, failure->stage, NAPI_AUTO_LENGTH, &stage) == napi_ok &&
                  napi_set_named_property(env, error, "errno", number) == napi_ok &&
                  napi_set_named_property(env, error, "stage", stage) == napi_ok;
  if (is_ready) napi_throw(env, error);
}

static void on_object_collected(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  struct child *child = data;
  /* Dropped without begin(): nobody will ever ask. A child that began is collected only when all is closed. */
  if (child->handles > 0 && !child->addon->ending) child_abandon(child);
  child_collected(child);
}

static napi_value construct(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value request, self, new_target = NULL;
  struct addon *addon = NULL;
  struct order order = {0};
  struct failure failure = {0};
  char **pointers = NULL;
  if (napi_get_cb_info(env, info, &count, &request, &self, NULL) != napi_ok) return NULL;
  if (napi_get_new_target(env, info, &new_target) != napi_ok || !new_target) return throw_type_error(env, "needs new");
  if (napi_get_instance_data(env, (void **)&addon) != napi_ok || !addon) return NULL;
  if (!read_order(env, request, &order, &pointers)) {
    free(pointers);
    return throw_type_error(env, "not a request to start a process");
  }
  struct child *child = child_create(addon, order.terminal);
  bool is_started = child && spawn_child(child, &order, &failure);
  free(pointers);
  if (!child) failure = (struct failure){.error = ENOMEM, .stage = "memory"};
  if (!is_started) throw_failure(env, &failure);
  if (is_started && napi_wrap(env, self, child, on_object_collected, NULL, NULL) == napi_ok) return self;
  if (is_started) child_abandon(child);
  if (child) child_collected(child);
  return NULL;
}

/* ---- methods of a child ---- */

/* The child, and up to one argument; NULL with an exception pending when `this` is not a child. */
static struct child *receiver(napi_env env, napi_callback_info info, napi_value *self, napi_value *argument) {
  size_t count = 1;
  struct child *child = NULL;
  bool is_child = napi_get_cb_info(env, info, &count, argument, self, NULL) == napi_ok &&
                  napi_unwrap(env, *self, (void **)&child) == napi_ok;
  if (!is_child) throw_type_error(env, "not a child");
  return is_child ? child : NULL;
}

static napi_value get_pid(napi_env env, napi_callback_info info) {
  napi_value self, unused, pid;
  struct child *child = receiver(env, info, &self, &unused);
  if (!child || napi_create_int32(env, child->pid, &pid) != napi_ok) return NULL;
  return pid;
}

static napi_value begin(napi_env env, napi_callback_info info) {
  napi_value self, notify;
  napi_valuetype type;
  struct child *child = receiver(env, info, &self, &notify);
  if (!child) return NULL;
  if (child->begun) return throw_type_error(env, "begun already");
  if (napi_typeof(env, notify, &type) != napi_ok || type != napi_function) return throw_type_error(env, "not a function");
  if (child_begin(child, self, notify) != napi_ok) return throw_type_error(env, "cannot begin");
  return NULL;
}

static napi_value pause_reading(napi_env env, napi_callback_info info) {
  napi_value self, unused;
  struct child *child = receiver(env, info, &self, &unused);
  if (child) child_set_paused(child, true);
  return NULL;
}

static napi_value resume_reading(napi_env env, napi_callback_info info) {
  napi_value self, unused;
  struct child *child = receiver(env, info, &self, &unused);
  if (child) child_set_paused(child, false);
  return NULL;
}

static napi_value write_input(napi_env env, napi_callback_info info) {
  napi_value self, bytes, taken;
  void *data = NULL;
  size_t length;
  struct child *child = receiver(env, info, &self, &bytes);
  if (!child) return NULL;
  if (!get_array(env, bytes, napi_uint8_array, &data, &length)) return throw_type_error(env, "not bytes");
  ssize_t count = writer_write(child, data, length);
  return napi_create_int64(env, count, &taken) == napi_ok ? taken : NULL;
}

static napi_value close_input(napi_env env, napi_callback_info info) {
  napi_value self, unused;
  struct child *child = receiver(env, info, &self, &unused);
  if (child) watch_close(&child->input);
  return NULL;
}

static napi_value close_streams(napi_env env, napi_callback_info info) {
  napi_value self, unused;
  struct child *child = receiver(env, info, &self, &unused);
  if (child) child_close_streams(child);
  return NULL;
}

/* 0 or a negative errno. */
static napi_value resize(napi_env env, napi_callback_info info) {
  napi_value self, argument, result;
  struct winsize size;
  struct child *child = receiver(env, info, &self, &argument);
  if (!child) return NULL;
  if (!get_size(env, argument, &size)) return throw_type_error(env, "not a size");
  return napi_create_int32(env, -terminal_resize(child, &size), &result) == napi_ok ? result : NULL;
}

/* ---- the module ---- */

static const char *find_missing_feature(void) {
  int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (pidfd < 0) return "pidfd_open";
  siginfo_t info;
  /* We are not our own child: a kernel that understands the question says so. */
  int status = waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
  bool understands = status < 0 && errno == ECHILD;
  close(pidfd);
  if (!understands) return "waitid with P_PIDFD";
  /* No descriptor has this number. */
  if (syscall(SYS_close_range, ~0u, ~0u, CLOSE_RANGE_CLOEXEC) < 0) return "close_range with CLOSE_RANGE_CLOEXEC";
  return NULL;
}

static napi_value missing_feature(napi_env env, napi_callback_info info) {
  (void)info;
  const char *missing = find_missing_feature();
  napi_value result;
  napi_status status = missing ? napi_create_string_utf8(env, missing, NAPI_AUTO_LENGTH, &result)
                               : napi_get_null(env, &result);
  return status == napi_ok ? result : NULL;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor members[] = {
      {"pid", NULL, NULL, get_pid, NULL, NULL, napi_enumerable, NULL},
      {"begin", NULL, begin, NULL, NULL, NULL, napi_default, NULL},
      {"pause", NULL, pause_reading, NULL, NULL, NULL, napi_default, NULL},
      {"resume", NULL, resume_reading, NULL, NULL, NULL, napi_default, NULL},
      {"write", NULL, write_input, NULL, NULL, NULL, napi_default, NULL},
      {"closeInput", NULL, close_input, NULL, NULL, NULL, napi_default, NULL},
      {"closeStreams", NULL, close_streams, NULL, NULL, NULL, napi_default, NULL},
      {"resize", NULL, resize, NULL, NULL, NULL, napi_default, NULL},
  };
  napi_value child_class, feature;
  struct addon *addon = calloc(1, sizeof *addon);
  if (!addon) return throw_type_error(env, "out of memory");
  addon->env = env;
  addon->references = 1;
  bool is_ready = napi_get_uv_event_loop(env, &addon->loop) == napi_ok &&
                  napi_define_class(env, "Child", NAPI_AUTO_LENGTH, construct, NULL, sizeof members / sizeof *members,
                                    members, &child_class) == napi_ok &&
                  napi_create_function(env, "missingFeature", NAPI_AUTO_LENGTH, missing_feature, NULL, &feature) == napi_ok &&
                  napi_set_named_property(env, exports, "Child", child_class) == napi_ok &&
                  napi_set_named_property(env, exports, "missingFeature", feature) == napi_ok &&
                  napi_set_instance_data(env, addon, NULL, NULL) == napi_ok &&
                  napi_add_async_cleanup_hook(env, on_environment_end, addon, &addon->hook) == napi_ok;
  if (is_ready) return exports;
  napi_set_instance_data(env, NULL, NULL, NULL);
  free(addon);
  return throw_type_error(env, "cannot set up the addon");
}
