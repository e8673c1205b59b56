import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

test.runIf(process.platform === 'linux')('lowers the priority of the calling thread only', async () => {
  const before = getPriority();
  const module = new URL('../../server/store/lowerThreadPriority.ts', import.meta.url);
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const { getPriority } = require('node:os');
     import(${JSON.stringify(module.href)}).then(({ lowerThreadPriority }) => {
       lowerThreadPriority();
       parentPort.postMessage(getPriority());
     });`,
    { eval: true },
  );
  const priority = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
  expect(priority).toBe(10);
  expect(getPriority()).toBe(before);
  await worker.terminate();
});
