/** The recorded exchanges of the exec-server core on Linux, each one test, against the server of server.ts. */
import { expect, test } from 'vitest';
import { asOurs, DIFFERENCES } from './differences.ts';
import { isHttpScenario, replayHttp } from './http-replay.ts';
import { missingProgram, planFor } from './plan.ts';
import { replay } from './replay.ts';
import { referenceProgram, startGoldenServer } from './server.ts';
import { readTranscript, scenarioNames } from './transcript.ts';

// The reference has no setting for its two waits of 30 s.
const timeoutMs = referenceProgram ? 60_000 : 15_000;

for (const name of scenarioNames()) {
  const transcript = readTranscript(name);
  test.runIf(process.platform === 'linux')(
    `${name}: ${transcript.note}`,
    { timeout: 2 * timeoutMs },
    async (context) => {
      if (isHttpScenario(name)) {
        await replayHttp(transcript);
        return;
      }
      const plan = planFor(name);
      const missing = missingProgram(plan);
      if (missing !== undefined) context.skip(`${missing} is not installed`);
      await using server = await startGoldenServer(plan.server);
      const expected = server.kind === 'ours' ? asOurs(transcript, plan, server) : { transcript, plan };
      await replay({ server, ...expected, timeoutMs });
    },
  );
}

test('every difference belongs to a recording', () => {
  for (const { scenario } of DIFFERENCES) expect(scenarioNames()).toContain(scenario);
});
