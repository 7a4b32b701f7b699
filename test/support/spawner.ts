/** Which spawner the suite runs with: the best one, or the one named by FARHAND_TEST_SPAWNER. */
import type { SpawnerName } from '../../src/process/choose-spawner.ts';

const wanted = process.env.FARHAND_TEST_SPAWNER;

export const TEST_SPAWNER: SpawnerName | undefined = wanted === 'native' || wanted === 'portable' ? wanted : undefined;
