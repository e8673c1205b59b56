import { afterEach, describe, expect, test } from 'vitest';
import { WorkCoalescer } from '../../server/runtime/concurrency.ts';
import type { LedgerVerification } from '../../shared/ledger/ledger.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';

afterEach(closeTestNodes);

describe('coalesced work', () => {
  test('is shared by requests before it begins, and run again for later ones', async () => {
    const shared = new WorkCoalescer<number>(1);
    const ends: (() => void)[] = [];
    let begun = 0;
    const work = async () => {
      begun += 1;
      const result = begun;
      await new Promise<void>((resolve) => ends.push(resolve));
      return result;
    };
    const first = shared.run('a', work);
    await expect.poll(() => begun).toBe(1);
    const later = [shared.run('a', work), shared.run('a', work)];
    const other = shared.run('b', work);
    ends[0]?.();
    expect(await first).toBe(1);
    await expect.poll(() => begun).toBe(2);
    ends[1]?.();
    expect(await Promise.all(later)).toEqual([2, 2]);
    await expect.poll(() => begun).toBe(3);
    ends[2]?.();
    expect(await other).toBe(3);
  });

  test('rejects all requests that share a failed run, and runs again for the next', async () => {
    const shared = new WorkCoalescer<number>(1);
    const fails = () => Promise.reject(new Error('The disk is gone.'));
    const requests = [shared.run('a', fails), shared.run('a', fails)];
    for (const each of requests) await expect(each).rejects.toThrow('The disk is gone.');
    expect(await shared.run('a', () => Promise.resolve(1))).toBe(1);
  });

  test('limits the verifications of the ledger that many visitors request at once', async () => {
    const node = await openTestNode();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const answer = await node.fetch('/api/ledger/verify');
        return (await answer.json()) as LedgerVerification;
      }),
    );
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(new Set(answers.map(({ checked_at }) => checked_at)).size).toBeLessThan(6);
  });
});
