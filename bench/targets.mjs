/**
 * What we hold ourselves to. Ratios are ours to the reference's, measured in one run; a limit is for our number alone.
 * Ratios near their target say little on a busy machine.
 */

export const atMost = (ratio) => ({ kind: 'ratio', isMet: (value) => value <= ratio, text: `ratio ≤ ${ratio}` });
export const atLeast = (ratio) => ({ kind: 'ratio', isMet: (value) => value >= ratio, text: `ratio ≥ ${ratio}` });
export const limit = (value, unit) => ({
  kind: 'ours',
  isMet: (ours) => ours <= value,
  text: `ours ≤ ${value} ${unit}`,
});

/** True, false, or undefined when there is nothing to hold it against. */
export function isMet(target, { ours, ratio }) {
  const value = target?.kind === 'ratio' ? ratio : ours;
  return target === undefined || value === undefined || Number.isNaN(value) ? undefined : target.isMet(value);
}
