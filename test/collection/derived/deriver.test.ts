import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Deriver } from '../../../server/collection/derived/deriver.ts';
import type { TextTask } from '../../../server/collection/derived/tasks.ts';
import { createLog } from '../../../server/runtime/log.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { sha256 } from './support.ts';

let deriver: Deriver;
let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  deriver = new Deriver(createLog('silent'));
});
afterEach(async () => {
  await deriver.close();
  await closeTestNodes();
});

async function taskOf(body: string, contentType = 'text/html'): Promise<TextTask> {
  const file = join(folder, sha256(body));
  await writeFile(file, body);
  return { task: 'text', object: { sha256: sha256(body), file, contentType, contentEncoding: null } };
}

/** Takes any parser minutes: each closing tag is looked for among all that are open. */
const ENDLESS = `${'<a>'.repeat(60_000)}${'</q>'.repeat(1_000_000)}`;

test('a task that takes too long is ended, and the next one has a new process', async () => {
  const endless = deriver.derive(await taskOf(ENDLESS), { timeoutMs: 500 });
  const next = deriver.derive(await taskOf('<title>Next</title>'), { timeoutMs: 20_000 });
  await expect(endless).rejects.toMatchObject({ name: 'NotDerivableError', reason: 'time_out' });
  expect((await next).title).toBe('Next');
});

test('a task that takes too much memory is ended, and the next one has a new process', async () => {
  const large = deriver.derive(await taskOf('<p>'.repeat(3_000_000)), { timeoutMs: 60_000 });
  const next = deriver.derive(await taskOf('<title>Next</title>'), { timeoutMs: 20_000 });
  await expect(large).rejects.toMatchObject({ reason: 'out_of_memory' });
  expect((await next).title).toBe('Next');
}, 60_000);

test('what somebody asked for goes before what nobody did', async () => {
  const order: string[] = [];
  const titles = ['first', 'low', 'asked'];
  // Made before any is begun: their turn is decided by when they are asked for, not by when their files are written.
  const tasks = await Promise.all(titles.map((title) => taskOf(`<title>${title}</title>`)));
  const derived = tasks.map(async (task, at) => {
    const title = titles[at] ?? '';
    const priority = title === 'asked' ? 'asked' : 'low';
    await deriver.derive(task, { timeoutMs: 20_000, priority });
    order.push(title);
  });
  await Promise.all(derived);
  expect(order.indexOf('asked')).toBeLessThan(order.indexOf('low'));
});

test('whoever asks while too many wait is told to come again; closing tells all who wait', async () => {
  const task = await taskOf(ENDLESS);
  const settled = Promise.allSettled(
    Array.from({ length: 66 }, () => deriver.derive(task, { timeoutMs: 60_000 })),
  );
  await deriver.close();
  const codes = (await settled).map((outcome) =>
    outcome.status === 'rejected' ? (outcome.reason as { code: string }).code : 'done',
  );
  expect(codes.filter((code) => code === 'derivation_busy')).toHaveLength(1);
  expect(codes.filter((code) => code === 'shutting_down')).toHaveLength(65);
});

test('a slow document goes on where only slow ones are made, and so do the others of its source', async () => {
  const [slow, other] = await Promise.all([taskOf(ENDLESS), taskOf('<title>Other</title>')]);
  const ofSource = (task: TextTask, source: number) => ({ ...task, object: { ...task.object, source } });
  let isSlowOver = false;
  const endless = deriver.derive(ofSource(slow, 1), { timeoutMs: 10_000 }).finally(() => {
    isSlowOver = true;
  });
  const after = [2, 3].map((source) => deriver.derive(ofSource(other, source), { timeoutMs: 10_000 }));
  expect((await Promise.all(after)).map(({ title }) => title)).toEqual(['Other', 'Other']);
  // By now it was moved aside; its source's next one waits behind it, and another source's does not.
  const own = deriver.derive(ofSource(other, 1), { timeoutMs: 10_000 });
  expect((await deriver.derive(ofSource(other, 2), { timeoutMs: 10_000 })).title).toBe('Other');
  expect(isSlowOver).toBe(false);
  await expect(endless).rejects.toMatchObject({ reason: 'time_out' });
  expect((await own).title).toBe('Other');
}, 60_000);
