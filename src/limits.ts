/**
 * Every limit of the engine, with its unit in the name and its reason beside it. Importable by every layer; holds no
 * logic. Settable ones are the defaults of a flag.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

/* ---- wire ---- */

/** The reference's limit on JSON values in one message; a JSON bomb costs memory per value, not per byte. */
export const MAX_JSON_VALUES = 262_144;
/** Deepest nesting accepted, the root object counted; the reference refuses the 128th level. */
export const MAX_JSON_DEPTH = 127;
/** Largest message in either framing; same as the reference's message limit. */
export const MAX_MESSAGE_BYTES = 64 * MIB;

/* ---- transports ---- */

/** Decoded messages waiting for the dispatcher before the socket is no longer read; the reference has 128. */
export const MAX_QUEUED_INCOMING = 128;
/** And in bytes, so that 128 huge messages do not pile up. */
export const MAX_QUEUED_INCOMING_BYTES = 8 * MIB;
/** Above this many queued outgoing bytes a connection is congested... */
export const SEND_HIGH_WATER_BYTES = 1 * MIB;
/** ...and below this it is not any more. Larger marks gave no throughput and more latency for others. */
export const SEND_LOW_WATER_BYTES = 512 * KIB;
/** Keep-alive pings; two in a row without any sign of life end the connection. */
export const PING_INTERVAL_MS = 15_000;
export const MAX_SILENT_PINGS = 2;
/** Idle HTTP connections that never finish their request head are cut after this. */
export const HTTP_HEAD_TIMEOUT_MS = 10_000;
/** A WebSocket close handshake the peer does not finish is cut after this. */
export const CLOSE_HANDSHAKE_TIMEOUT_MS = 1_000;
/** Open connections per server; each costs buffers and a descriptor. */
export const MAX_CONNECTIONS = 1_024;

/* ---- requests ---- */

/** Requests of one connection that were read but have not started; beyond this the socket is not read. */
export const MAX_QUEUED_REQUESTS = 1_024;
/** And in bytes; a single request over it is still taken. */
export const MAX_QUEUED_REQUEST_BYTES = 8 * MIB;
/** Requests of one connection that wait outside their lane (long polls, full pipes); beyond this they keep their lane. */
export const MAX_WAITING_REQUESTS = 4_096;
/** And in bytes: a waiting write keeps its data. */
export const MAX_WAITING_REQUEST_BYTES = 16 * MIB;
/** The reference's default: one ordinary request of a connection at a time. */
export const DEFAULT_CONCURRENT_REQUESTS = 1;

/* ---- sessions ---- */

/** Long enough for a laptop to change networks; the reference's value, on which its clients rely (they give up at 25 s). */
export const SESSION_GRACE_MS = 30_000;
/** Sessions kept per server, attached or not. */
export const MAX_SESSIONS = 1_024;
/** Processes per session, closed ones still held included. */
export const MAX_PROCESSES_PER_SESSION = 1_024;
/** A process id is repeated in every event of its process, so its length multiplies. */
export const MAX_PROCESS_ID_BYTES = 4_096;
/** How much of a command line is kept for lists. */
export const MAX_LISTED_ARGV_CHARS = 4_096;
/** A connection that looks attached but answers no ping within this is taken for dead when its session is resumed. */
export const RESUME_PROBE_MS = 2_000;

/* ---- output ---- */

/** One `process/output` chunk, as in the reference: `maxBytes` paging and retention depend on it. */
export const MAX_CHUNK_BYTES = 8_192;
/** Output in one answer to a read: as base64 it must fit into a message. The rest follows with the next read. */
export const MAX_READ_BYTES = 32 * MIB;
/** Output kept per process for `process/read`. */
export const RETAIN_BYTES = 1 * MIB;
/** And in chunks, so that one-byte writes cannot make the log expensive. */
export const RETAIN_CHUNKS = 50_000;
/** A closed process stays readable and its id reserved this long while a client is attached. */
export const CLOSED_RETENTION_MS = 30_000;
/** After this many bytes of output the peer is asked to confirm (a ping on WebSockets). */
export const CONFIRM_EVERY_BYTES = 256 * KIB;
/** Questions to a peer that answers none of them; what is sent meanwhile is covered by the next. */
export const MAX_OPEN_CONFIRMATIONS = 64;
/** Output sent but not confirmed before the child is paused. */
export const MAX_UNCONFIRMED_BYTES = 8 * MIB;
/** A peer that confirms nothing for this long is not waited for any more: its output is handled as in drain mode. */
export const CONFIRM_TIMEOUT_MS = 10_000;

/* ---- stdin ---- */

/** Writes accepted but not yet taken by the child's pipe; the next one waits. As the reference: one under way, 128 behind. */
export const MAX_QUEUED_WRITES = 129;
/** And in bytes, one write over the limit allowed, so that any legal message fits. */
export const MAX_QUEUED_WRITE_BYTES = 16 * MIB;
/** Accepted write ids remembered per process, first in first out, to make a resent write harmless. */
export const MAX_REMEMBERED_WRITE_IDS = 4_096;

/* ---- ending ---- */

/** After we ended a process and it is gone: how long its output may stay open for what it printed last. */
export const LAST_OUTPUT_MS = 1_000;

/** A stopping server waits this long for trees to end and sockets to close. */
export const SHUTDOWN_MS = 5_000;
