/** Whether the answers of one connection came in the recorded order. */
export type Arrival = { id: string; arrival: number };

/**
 * `recorded` has the answers in the order of the recording, each with its place in the order of this run. With groups,
 * only the answers named in them are compared, and only group against group.
 */
export function checkAnswerOrder(recorded: readonly Arrival[], groups?: readonly (readonly string[])[]): void {
  const ranked = recorded.map(({ id, arrival }, index) => {
    return { id, arrival, rank: groups ? groups.findIndex((ids) => ids.includes(id)) : index };
  });
  const compared = ranked.filter(({ rank }) => rank >= 0).sort((left, right) => left.arrival - right.arrival);
  const late = compared.find(({ rank }, index) => rank < (compared[index - 1]?.rank ?? rank));
  if (late) throw new Error(`${late.id} is answered too late: ${compared.map(({ id }) => id).join(' ')}`);
}
