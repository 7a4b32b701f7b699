/*
 * The life of one child. Its memory is needed by libuv until every handle is closed and by JavaScript until the object
 * is collected; the last of the two frees it. From begin() until everything is closed the object is kept alive here, so
 * a running child cannot be collected, whoever drops it.
 */
#include "farhand.h"

#include <signal.h>
#include <stdlib.h>

struct child *child_create(struct addon *addon, bool terminal) {
  struct child *child = calloc(1, sizeof *child);
  if (!child) return NULL;
  child->terminal = terminal;
  child->exit.fd = child->input.fd = child->readers[0].watch.fd = child->readers[1].watch.fd = -1;
  child->readers[0].child = child->readers[1].child = child;
  child->addon = addon;
  addon->references += 1;
  child->next = addon->children;
  child->link = &addon->children;
  if (child->next) child->next->link = &child->next;
  addon->children = child;
  return child;
}

static void free_if_unused(struct child *child) {
  if (child->handles > 0 || !child->collected) return;
  struct addon *addon = child->addon;
  *child->link = child->next;
  if (child->next) child->next->link = child->link;
  free(child);
  addon_release(addon);
}

void child_collected(struct child *child) {
  child->collected = true;
  free_if_unused(child);
}

void child_forget_callbacks(struct child *child) {
  napi_env env = child->addon->env;
  if (child->context) napi_async_destroy(env, child->context);
  if (child->notify) napi_delete_reference(env, child->notify);
  if (child->self) napi_delete_reference(env, child->self);
  child->context = NULL;
  child->notify = child->self = NULL;
}

void child_handle_closed(struct child *child) {
  struct addon *addon = child->addon;
  child->handles -= 1;
  if (child->handles == 0 && !addon->ending) child_forget_callbacks(child);
  addon->references += 1; /* it has to outlive the child for the next two lines */
  free_if_unused(child);
  addon_handle_closed(addon);
  addon_release(addon);
}

napi_status child_begin(struct child *child, napi_value self, napi_value notify) {
  napi_env env = child->addon->env;
  napi_value name;
  napi_status status = napi_create_string_utf8(env, "farhand:child", NAPI_AUTO_LENGTH, &name);
  if (status == napi_ok) status = napi_async_init(env, self, name, &child->context);
  if (status == napi_ok) status = napi_create_reference(env, notify, 1, &child->notify);
  if (status == napi_ok) status = napi_create_reference(env, self, 1, &child->self);
  if (status != napi_ok) {
    child_forget_callbacks(child);
    return status;
  }
  child->begun = true;
  exit_watch_start(child);
  if (child->streams_closed) child_close_streams(child);
  for (unsigned index = 0; index < 2; index += 1) reader_update(&child->readers[index]);
  return napi_ok;
}

void child_set_paused(struct child *child, bool paused) {
  child->paused = paused;
  for (unsigned index = 0; index < 2; index += 1) reader_update(&child->readers[index]);
}

void child_close_streams(struct child *child) {
  child->streams_closed = true;
  if (!child->begun) return; /* so that `ended` is not told to nobody */
  watch_close(&child->input);
  for (unsigned index = 0; index < 2; index += 1) reader_close(&child->readers[index]);
}

void child_abandon(struct child *child) {
  if (child->pid > 0 && !child->exited) kill(-child->pid, SIGKILL);
  child->begun = true;
  child_close_streams(child);
  exit_watch_start(child);
}

/* Calls `notify`. What it throws is an uncaught exception, as from any other callback of the event loop. */
static void call(struct child *child, size_t count, const napi_value *arguments) {
  napi_env env = child->addon->env;
  napi_value notify, global, error;
  if (napi_get_reference_value(env, child->notify, &notify) != napi_ok) return;
  if (napi_get_global(env, &global) != napi_ok) return;
  if (napi_make_callback(env, child->context, global, notify, count, arguments, NULL) != napi_pending_exception) return;
  if (napi_get_and_clear_last_exception(env, &error) == napi_ok) napi_fatal_exception(env, error);
}

static bool can_call(struct child *child) {
  return child->notify != NULL && !child->addon->ending;
}

void child_emit_output(struct child *child, enum stream stream, const void *bytes, size_t length) {
  napi_env env = child->addon->env;
  napi_handle_scope scope;
  napi_value arguments[3];
  if (!can_call(child) || napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_status status = napi_create_uint32(env, EVENT_OUTPUT, &arguments[0]);
  if (status == napi_ok) status = napi_create_uint32(env, stream, &arguments[1]);
  if (status == napi_ok) status = napi_create_buffer_copy(env, length, bytes, NULL, &arguments[2]);
  if (status == napi_ok) call(child, 3, arguments);
  /* Output must not vanish unseen. (A worker that is being stopped has an exception pending instead.) */
  if (status == napi_generic_failure) {
    napi_fatal_error("farhand", NAPI_AUTO_LENGTH, "out of memory for the output of a process", NAPI_AUTO_LENGTH);
  }
  napi_close_handle_scope(env, scope);
}

void child_emit_exited(struct child *child, int code, int signal) {
  napi_env env = child->addon->env;
  napi_handle_scope scope;
  napi_value arguments[3];
  if (!can_call(child) || napi_open_handle_scope(env, &scope) != napi_ok) return;
  bool is_ready = napi_create_uint32(env, EVENT_EXITED, &arguments[0]) == napi_ok &&
                  napi_create_int32(env, code, &arguments[1]) == napi_ok &&
                  napi_create_int32(env, signal, &arguments[2]) == napi_ok;
  if (is_ready) call(child, 3, arguments);
  napi_close_handle_scope(env, scope);
}

void child_emit(struct child *child, enum event event) {
  napi_env env = child->addon->env;
  napi_handle_scope scope;
  napi_value argument;
  if (!can_call(child) || napi_open_handle_scope(env, &scope) != napi_ok) return;
  if (napi_create_uint32(env, event, &argument) == napi_ok) call(child, 1, &argument);
  napi_close_handle_scope(env, scope);
}
