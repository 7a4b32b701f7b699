/** The longest delay setTimeout takes, about 25 days; a longer one is as good as for ever. */
const MAX_TIMER_MS = 2_147_483_647;

/** A delay that setTimeout will not take for "at once". */
export function clampDelay(delayMs: number): number {
  return Math.min(delayMs, MAX_TIMER_MS);
}
