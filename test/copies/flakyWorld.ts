import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { openTarget, type TargetAddress } from '../../server/copies/targets/openTarget.ts';
import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import type { Copy, CopyCheck } from '../../shared/node/copy.ts';
import { sampleRecord, uploadNewPack } from '../support/archive/packs.ts';
import { FaultPlan } from '../support/copies/flakyTarget.ts';
import { openTestNode, type TestNode } from '../support/node.ts';

/** What a run of an operation came to: its result, or why there is none. */
export type Outcome = { result: unknown } | { sentence: string; code: string | undefined };

/** An archive with copies, one of which can fail. */
export class FlakyWorld {
  readonly plan: FaultPlan;
  readonly flaky: TargetAddress;
  readonly steady: TargetAddress;
  #node: TestNode | undefined;
  readonly #dataFolder: string;
  #packs = 0;

  constructor(dataFolder: string, flaky: TargetAddress, steady: TargetAddress) {
    this.#dataFolder = dataFolder;
    this.flaky = flaky;
    this.steady = steady;
    const place = placeOf(flaky);
    this.plan = new FaultPlan((name) => name.startsWith(place));
  }

  get node(): TestNode {
    return this.#node ?? expect.fail('The node is not open.');
  }

  /** Opens the archive again: what was cached is gone. */
  async reopen(): Promise<void> {
    await this.#node?.close();
    await this.open();
  }

  async open(): Promise<void> {
    this.#node = await openTestNode({ dataFolder: this.#dataFolder, aroundCopies: this.plan.around });
  }

  /** Publishes a pack of two files. Returns their digests. */
  async publish(bytes = 200): Promise<string[]> {
    this.#packs += 1;
    const title = `Pack ${this.#packs}`;
    const large = Buffer.alloc(bytes, `${title}, `);
    const { files } = await uploadNewPack(this.node, sampleRecord({ title }), {
      'a.txt': title,
      'b.bin': large,
    });
    return files.map(({ sha256 }) => sha256);
  }

  async copies(): Promise<Copy[]> {
    const answer = await this.node.fetchAsOwner('/manage/copies');
    return ((await answer.json()) as { items: Copy[] }).items;
  }

  async copyAt({ target }: TargetAddress): Promise<Copy | undefined> {
    return (await this.copies()).find((copy) => copy.target === target);
  }

  async idOf(address: TargetAddress): Promise<string> {
    return (await this.copyAt(address))?.id ?? expect.fail(`no copy in ${address.target}`);
  }

  /** Sends a request. An internal error is a failure in any case. */
  async ask(method: string, path: string, body?: unknown): Promise<Outcome> {
    const answer =
      body === undefined
        ? await this.node.fetchAsOwner(path, { method })
        : await this.node.sendJson(method, path, body);
    const text = await answer.text();
    expect(answer.status, `${method} ${path}: ${text}`).not.toBe(500);
    const json = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    if (answer.ok) return { result: json };
    return { sentence: String(json.detail), code: String(json.code) };
  }

  add = (address: TargetAddress, more: object = {}) =>
    this.ask('POST', '/manage/copies', { ...address, ...more });
  sync = async (address: TargetAddress) =>
    this.ask('POST', `/manage/copies/${await this.idOf(address)}/sync?wait=true`);
  check = async (address: TargetAddress, more: object = {}) =>
    this.ask('POST', `/manage/copies/${await this.idOf(address)}/check?wait=true`, more);
  /** Lets everything leave that may. */
  offload = async () => {
    await this.ask('PATCH', '/manage/settings', { offload_after_days: 0 });
    return this.ask('POST', '/manage/offload?wait=true');
  };
  markLost = async (address: TargetAddress) =>
    this.ask('POST', `/manage/copies/${await this.idOf(address)}/mark-lost?wait=true`);

  /** Reads an object as a visitor does. */
  async read(sha256: string): Promise<Outcome> {
    const answer = await this.node.fetch(`/api/blobs/${sha256}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    expect(answer.status).not.toBe(500);
    if (!answer.ok) return { sentence: bytes.toString(), code: 'unread' };
    expect(sha256Of(bytes)).toBe(sha256);
    return { result: bytes.length };
  }

  drill = async (address: TargetAddress) =>
    this.ask('POST', `/manage/copies/${await this.idOf(address)}/drill?wait=true`);

  /** Verifies a copy as a stranger does, without faults. */
  async verified({ plan, ...address }: TargetAddress & { plan?: FaultPlan }): Promise<unknown> {
    const target = await openTarget(address, { around: plan?.around });
    try {
      return await verifyCopy(target, { signal: new AbortController().signal, progress: () => {} });
    } finally {
      await target.close();
    }
  }

  /** A copy is intact for its owner and for a stranger. */
  async requireIntact(address: TargetAddress, when: string): Promise<void> {
    const check = await this.check(address);
    expect(check, when).toMatchObject({ result: { ok: true } satisfies Partial<CopyCheck> });
    expect(await this.verified(address), when).toMatchObject({
      ok: true,
      damaged: [],
      missing: [],
      extra: [],
    });
  }

  /** Nothing partial is left: in the place of the copy, if it is a folder, and in the data folder. */
  async requireTidy(when: string): Promise<void> {
    for (const address of [this.flaky, this.steady]) {
      if (!address.target.startsWith('file:')) continue;
      const place = fileURLToPath(address.target);
      const names = existsSync(place) ? await readdir(place) : [];
      expect(
        names.filter((name) => name.startsWith('.partial')),
        when,
      ).toEqual([]);
    }
    const temporary = join(this.#dataFolder, 'tmp');
    expect(existsSync(temporary) ? await readdir(temporary) : [], when).toEqual([]);
  }

  /** The owner reads a sentence about the copy, and the copy has it too. */
  async requireReason(outcome: Outcome, when: string): Promise<void> {
    if ('result' in outcome) return;
    const { sentence, code } = outcome;
    // It concerns no place.
    if (code === 'copy_readable') return;
    requireSentence(sentence, placeOf(this.flaky), when);
    if (code !== 'copy_failed') return;
    const copy = await this.copyAt(this.flaky);
    if (copy) expect(copy.last_error, when).toBe(sentence);
  }

  blobFile(sha256: string): string {
    return join(this.#dataFolder, 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  }

  /** Overwrites an object of this archive, and has an audit find that. */
  async damageHere(sha256: string): Promise<void> {
    await writeFile(this.blobFile(sha256), 'damaged');
    await this.ask('POST', '/manage/audits?wait=true');
  }

  async currentDamages(): Promise<string[]> {
    const { items } = (await (await this.node.fetch('/api/damages')).json()) as {
      items: { sha256: string; restored_at: string | null }[];
    };
    return items.filter(({ restored_at }) => restored_at === null).map(({ sha256 }) => sha256);
  }

  /** Alters or removes an object of a copy. */
  async damageThere(address: TargetAddress, sha256: string, bytes?: string): Promise<void> {
    const target = await openTarget(address);
    try {
      const path = `archive/${sha256}`;
      if (bytes === undefined) await target.remove([path]);
      else await target.put(path, { bytes: Buffer.from(bytes) }, { type: 'application/octet-stream' });
      await target.flush();
    } finally {
      await target.close();
    }
  }
}

/** The beginning of the name that messages give a place. */
export function placeOf({ target }: TargetAddress): string {
  return target.startsWith('file:') ? fileURLToPath(target) : target;
}

export function requireSentence(sentence: string, place: string, when: string): void {
  expect(sentence, when).toMatch(/^\S[^]{20,}\.$/);
  expect(sentence, when).not.toMatch(/^E[A-Z]+\b|undefined|\[object/);
  expect(sentence, when).toContain(place);
}

export const sha256Of = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

/** Runs something that is not asked of a node. */
export async function attempt(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { result: await work() };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { sentence: error.message, code: error.name };
  }
}

export async function emptied(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  return folder;
}
