import { expect, test, vi } from 'vitest';
import { VerificationRun, type VerificationState } from '../../renderer/src/pages/verify/verificationRun.ts';
import type { VerifyReply, VerifyRequest } from '../../renderer/src/pages/verify/verify.worker.ts';
import { WorkerPool } from '../../renderer/src/pages/verify/workerPool.ts';

/** A worker that answers on command. */
class HeldWorker {
  onmessage: ((event: { data: VerifyReply }) => void) | null = null;
  onerror: (() => void) | null = null;
  readonly asked: VerifyRequest[] = [];
  isEnded = false;

  postMessage(request: VerifyRequest): void {
    this.asked.push(request);
  }

  answer(reply: (id: number) => VerifyReply): void {
    const request = this.asked.shift();
    if (request) this.onmessage?.({ data: reply(request.id) });
  }

  terminate(): void {
    this.isEnded = true;
  }
}

function heldPool(): { pool: WorkerPool; worker: HeldWorker } {
  vi.stubGlobal('navigator', { hardwareConcurrency: 1 });
  const worker = new HeldWorker();
  const pool = new WorkerPool(() => worker as unknown as Worker);
  vi.unstubAllGlobals();
  return { pool, worker };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const file = (name: string) => new File(['x'], name);

test('what was asked of workers, and what waits for them, is answered when they are closed', async () => {
  const { pool, worker } = heldPool();
  const asked = ['a', 'b', 'c'].map((name) => pool.hash([file(name)], () => {}));
  const evidence = pool.verifyEvidence(file('x.evidence.html'), []);
  await settled();
  expect(worker.asked).toHaveLength(2);
  pool.close();
  const failed = [{ sha256: null, error: expect.stringContaining('Add the files again') as string }];
  expect(await Promise.all(asked)).toEqual([failed, failed, failed]);
  expect(await evidence).toBeNull();
  expect(worker.isEnded).toBe(true);
});

test('a task that comes while another one waits takes nothing from it', async () => {
  const { pool, worker } = heldPool();
  const done: string[] = [];
  const ask = (name: string) => pool.hash([file(name)], () => {}).then(() => done.push(name));
  const all = ['a', 'b', 'c'].map(ask);
  await settled();
  worker.answer((id) => ({ id, outcomes: [{ sha256: 'a', error: null }] }));
  all.push(ask('d'));
  for (let turn = 0; turn < 4; turn += 1) {
    await settled();
    worker.answer((id) => ({ id, outcomes: [{ sha256: 'x', error: null }] }));
  }
  await Promise.all(all);
  expect(done.toSorted()).toEqual(['a', 'b', 'c', 'd']);
});

test('a run that was cleared while it reads files shows nothing any more', async () => {
  const { pool, worker } = heldPool();
  const shown: Partial<VerificationState>[] = [];
  const run = new VerificationRun(
    (change) => void shown.push(change),
    () => pool,
  );
  const list = file('SHA256SUMS');
  const { promise, resolve } = Promise.withResolvers<string>();
  vi.spyOn(list, 'text').mockReturnValue(promise);
  const adding = run.add([
    { path: 'SHA256SUMS', file: list },
    { path: 'a.txt', file: file('a.txt') },
  ]);
  await settled();
  run.close();
  const before = shown.length;
  resolve(`${'a'.repeat(64)}  a.txt\n`);
  await adding;
  expect(shown).toHaveLength(before);
  expect(worker.asked).toEqual([]);
});

test('a list does not make a file what its name says', async () => {
  const { pool } = heldPool();
  const shown: Partial<VerificationState> = {};
  const run = new VerificationRun(
    (change) => Object.assign(shown, change),
    () => pool,
  );
  vi.stubGlobal('window', new EventTarget());
  const digest = 'a'.repeat(64);
  const claimed = [
    'log.checkpoint',
    'log.che\u0441kpoint',
    'x.tlog-proof',
    'x.tlog-proof.1',
    'mine.evidence (1).html',
    'event-1.evidence.html.1',
    `pk_${'0'.repeat(20)}.zip`,
    `pk_${'0'.repeat(20)}.zip.1`,
    `pk_${'0'.repeat(20)}`,
    'strongroom-archive',
    'strongroom-archive.zip',
    'strongroom-archive.zip (1)',
  ];
  const plain = ['a.html', 'a.zip', 'a.txt', 'checkpoint-1', 'model.checkpoint'];
  const names = [...claimed, ...plain];
  const list = new File([names.map((name) => `${digest}  ${name}\n`).join('')], 'SHA256SUMS');
  // No worker finds anything in these files.
  vi.spyOn(pool, 'verifyBag').mockResolvedValue(null);
  vi.spyOn(pool, 'verifyEvidence').mockResolvedValue(null);
  vi.spyOn(pool, 'hash').mockImplementation((files) =>
    Promise.resolve(files.map(() => ({ sha256: digest, error: null }))),
  );
  await run.add([
    { path: 'SHA256SUMS', file: list },
    ...names.map((name) => ({ path: name, file: file(name) })),
  ]);
  run.close();
  vi.unstubAllGlobals();
  const verdicts = Object.fromEntries((shown.results ?? []).map(({ path, verdict }) => [path, verdict]));
  expect(verdicts).toEqual({
    ...Object.fromEntries(claimed.map((name) => [name, 'unproven'])),
    ...Object.fromEntries(plain.map((name) => [name, 'intact'])),
  });
});

test('a file that a list names twice, with different digests, is unknown', async () => {
  const { pool, worker } = heldPool();
  const shown: Partial<VerificationState> = {};
  const run = new VerificationRun(
    (change) => Object.assign(shown, change),
    () => pool,
  );
  const network = new EventTarget();
  vi.stubGlobal('window', network);
  const [digest, other] = ['a'.repeat(64), 'b'.repeat(64)];
  const list = new File([`${other}  a.txt\n${digest}  a.txt\n`], 'SHA256SUMS');
  const adding = run.add([
    { path: 'SHA256SUMS', file: list },
    { path: 'a.txt', file: file('a.txt') },
  ]);
  await vi.waitFor(() => expect(worker.asked).toHaveLength(1));
  worker.answer((id) => ({ id, outcomes: [{ sha256: digest, error: null }] }));
  await adding;
  run.close();
  network.dispatchEvent(new Event('online'));
  vi.unstubAllGlobals();
  const said = 'A list names it twice, with different digests.';
  expect(shown.results).toMatchObject([{ path: 'a.txt', verdict: 'unproven', error: said }]);
});
