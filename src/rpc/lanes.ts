/**
 * Which request of one connection may run now. Pure bookkeeping: jobs start in arrival order within their lane, a lane
 * has a width, and a job that merely waits gives its place back while it waits. It knows nothing of messages or methods.
 */
import {
  MAX_QUEUED_REQUEST_BYTES,
  MAX_QUEUED_REQUESTS,
  MAX_WAITING_REQUEST_BYTES,
  MAX_WAITING_REQUESTS,
} from '../limits.ts';
import { type Deferred, deferred } from '../util/deferred.ts';

export type LaneName = 'ordinary' | 'control';

/** A running job's hold on its lane. */
export interface Slot {
  /** Gives the place in the lane back before the job is done. Too many waiting jobs: the place is kept. */
  leave(): void;
}

export type Job = {
  /** Whatever lets `cancelQueued` recognise the job. */
  tag: unknown;
  /** What it keeps in memory while it is not done, in bytes. */
  weight: number;
  /** Returns a promise only when the job is not done yet. Must not throw or reject. */
  run(slot: Slot): Promise<void> | undefined;
  /** Called instead of `run` when the job was cancelled while queued. */
  cancelled(reason: Error): void;
};

export type LaneOptions = { width: number; maxQueued?: number; maxWaiting?: number };

// Control calls do not compute, they only touch state; the width merely bounds those that wait for their object.
const CONTROL_WIDTH = 64;

/** How much is somewhere, in jobs and in bytes. */
class Load {
  #jobs = 0;
  #bytes = 0;
  readonly #maxJobs: number;
  readonly #maxBytes: number;

  constructor(maxJobs: number, maxBytes: number) {
    this.#maxJobs = maxJobs;
    this.#maxBytes = maxBytes;
  }

  get full(): boolean {
    return this.#jobs >= this.#maxJobs || this.#bytes >= this.#maxBytes;
  }

  add({ weight }: Job): void {
    this.#jobs += 1;
    this.#bytes += weight;
  }

  remove({ weight }: Job): void {
    this.#jobs -= 1;
    this.#bytes -= weight;
  }
}

type Lane = { width: number; running: number; queue: Job[] };

export class Lanes {
  readonly #lanes: Record<LaneName, Lane>;
  readonly #queued: Load;
  readonly #waiting: Load;
  #room: Deferred<void> | undefined;

  constructor({ width, maxQueued = MAX_QUEUED_REQUESTS, maxWaiting = MAX_WAITING_REQUESTS }: LaneOptions) {
    this.#lanes = {
      ordinary: { width, running: 0, queue: [] },
      control: { width: Math.max(width, CONTROL_WIDTH), running: 0, queue: [] },
    };
    this.#queued = new Load(maxQueued, MAX_QUEUED_REQUEST_BYTES);
    this.#waiting = new Load(maxWaiting, MAX_WAITING_REQUEST_BYTES);
  }

  /** Starts the job now if its lane has room, else queues it. */
  add(name: LaneName, job: Job): void {
    const lane = this.#lanes[name];
    if (lane.running < lane.width && lane.queue.length === 0) this.#start(lane, job);
    else {
      lane.queue.push(job);
      this.#queued.add(job);
    }
  }

  /** True while so many jobs are queued that no more should be read. */
  get full(): boolean {
    return this.#queued.full;
  }

  /** Resolves when `full` is false. */
  async room(): Promise<void> {
    while (this.full) {
      this.#room ??= deferred();
      await this.#room.promise;
    }
  }

  /** Cancels the newest queued ordinary job whose tag matches; false when there is none. */
  cancelQueued(matches: (tag: unknown) => boolean, reason: Error): boolean {
    const { queue } = this.#lanes.ordinary;
    const index = queue.findLastIndex((job) => matches(job.tag));
    if (index < 0) return false;
    for (const job of queue.splice(index, 1)) {
      this.#queued.remove(job);
      job.cancelled(reason);
    }
    this.#signalRoom();
    return true;
  }

  /** Forgets what has not started; running jobs go on. */
  clear(): void {
    for (const { queue } of Object.values(this.#lanes)) for (const job of queue.splice(0)) this.#queued.remove(job);
    this.#signalRoom();
  }

  #start(lane: Lane, job: Job): void {
    let place: 'lane' | 'waiting' | 'gone' = 'lane';
    lane.running += 1;
    const finish = (): void => {
      if (place === 'lane') lane.running -= 1;
      if (place === 'waiting') this.#waiting.remove(job);
      place = 'gone';
    };
    const pending = job.run({
      leave: () => {
        if (place !== 'lane' || this.#waiting.full) return;
        place = 'waiting';
        lane.running -= 1;
        this.#waiting.add(job);
        this.#next(lane);
      },
    });
    if (pending === undefined) {
      finish(); // Whoever started us looks at the queue again, so a long queue of quick jobs does not recurse.
      return;
    }
    void pending.then(() => {
      finish();
      this.#next(lane);
    }); // `run` never rejects.
  }

  #next(lane: Lane): void {
    while (lane.running < lane.width) {
      const job = lane.queue.shift();
      if (!job) break;
      this.#queued.remove(job);
      this.#start(lane, job);
    }
    this.#signalRoom();
  }

  #signalRoom(): void {
    if (!this.#room || this.full) return;
    this.#room.resolve();
    this.#room = undefined;
  }
}
