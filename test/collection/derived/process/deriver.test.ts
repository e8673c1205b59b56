import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DeriveReply } from '../../../../server/collection/derived/process/derive.worker.ts';
import { Deriver } from '../../../../server/collection/derived/process/deriver.ts';
import type { TextTask } from '../../../../server/collection/derived/process/tasks.ts';
import { forkChild, type StartChild } from '../../../../server/runtime/child.ts';
import { createLog } from '../../../../server/runtime/log.ts';
import { closeTestNodes, temporaryFolder } from '../../../support/node.ts';
import { sha256 } from '../support.ts';

/** Longer than by default, so that a quick document is quick on a slow machine too. */
const QUICK_MS = 5_000;

let deriver: Deriver;
let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  deriver = new Deriver(createLog('silent'), undefined, undefined, QUICK_MS);
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

/** Takes any parser minutes: it searches all open elements for each closing tag. */
const ENDLESS = `${'<a>'.repeat(60_000)}${'</q>'.repeat(1_000_000)}`;

test('ends a task that takes too long and runs the next one in a new process', async () => {
  const endless = deriver.derive(await taskOf(ENDLESS), { timeoutMs: 500 });
  const next = deriver.derive(await taskOf('<title>Next</title>'), { timeoutMs: 60_000 });
  await expect(endless).rejects.toMatchObject({ name: 'NotDerivableError', reason: 'time_out' });
  expect((await next).title).toBe('Next');
});

test('ends a task that takes too much memory and runs the next one in a new process', async () => {
  // With a small heap, because a process collects garbage for long before it gives up a large one.
  const startChild: StartChild = (options) => forkChild({ ...options, heapMb: 64 });
  deriver = new Deriver(createLog('silent'), startChild, undefined, QUICK_MS);
  const large = deriver.derive(await taskOf('<p>'.repeat(500_000)), { timeoutMs: 200_000 });
  const next = deriver.derive(await taskOf('<title>Next</title>'), { timeoutMs: 60_000 });
  await expect(large).rejects.toMatchObject({ reason: 'out_of_memory' });
  expect((await next).title).toBe('Next');
});

test('runs a requested task before background tasks', async () => {
  const order: string[] = [];
  const titles = ['first', 'low', 'normal'];
  // Created before any is started: the order depends on when tasks are queued, not on when their files are written.
  const tasks = await Promise.all(titles.map((title) => taskOf(`<title>${title}</title>`)));
  const derived = tasks.map(async (task, at) => {
    const title = titles[at] ?? '';
    const priority = title === 'normal' ? 'normal' : 'low';
    await deriver.derive(task, { timeoutMs: 60_000, priority });
    order.push(title);
  });
  await Promise.all(derived);
  expect(order.indexOf('normal')).toBeLessThan(order.indexOf('low'));
});

test('refuses a task while too many are queued, and rejects all unfinished tasks when closed', async () => {
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

/**
 * Starts children that answer at once, except about one object, on which they work for ever. How long a real process takes
 * for a quick document depends on the machine.
 */
function childrenThatHangAt(sha256: string): StartChild {
  return ({ onMessage }) => {
    setImmediate(() => onMessage({ isReady: true } satisfies DeriveReply));
    return {
      send: (message) => {
        const { id, task } = message as { id: number; task: TextTask };
        if (task.object.sha256 !== sha256) setImmediate(() => onMessage({ id, result: { title: 'Other' } }));
      },
      kill: async () => {},
    };
  };
}

test('moves a slow document and the others of its source to the slow queue', async () => {
  const [slow, other] = await Promise.all([taskOf('<title>Slow</title>'), taskOf('<title>Other</title>')]);
  deriver = new Deriver(createLog('silent'), childrenThatHangAt(slow.object.sha256), undefined, 200);
  const ofSource = (task: TextTask, source: number) => ({ ...task, object: { ...task.object, source } });
  let isSlowDone = false;
  const endless = deriver.derive(ofSource(slow, 1), { timeoutMs: 2_000 }).finally(() => {
    isSlowDone = true;
  });
  const after = [2, 3].map((source) => deriver.derive(ofSource(other, source), { timeoutMs: 60_000 }));
  expect((await Promise.all(after)).map(({ title }) => title)).toEqual(['Other', 'Other']);
  // It is in the slow queue by now: the next document of its source waits behind it, one of another source does not.
  const sameSource = deriver.derive(ofSource(other, 1), { timeoutMs: 60_000 });
  expect((await deriver.derive(ofSource(other, 2), { timeoutMs: 60_000 })).title).toBe('Other');
  expect(isSlowDone).toBe(false);
  await expect(endless).rejects.toMatchObject({ reason: 'time_out' });
  expect((await sameSource).title).toBe('Other');
});
