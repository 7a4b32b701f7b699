/** A thread that takes the output of one process as fast as it comes; says when it has started, and ends with it. */
import { parentPort, workerData } from 'node:worker_threads';
import { withClient } from './client.mjs';

await withClient(workerData, async (client) => {
  const flood = await client.start(workerData.argv);
  parentPort.postMessage('started');
  await flood.ended;
});
