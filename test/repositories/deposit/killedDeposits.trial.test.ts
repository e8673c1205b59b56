import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { LedgerEntry } from '../../../shared/ledger/ledger.ts';
import type { Deposit, RepositoryKind } from '../../../shared/node/deposit.ts';
import { uploadNewPack } from '../../support/archive/packs.ts';
import { end, type ServedNode, serveNode } from '../../support/cli.ts';
import { eventually } from '../../support/eventually.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { DataverseServer } from './dataverseServer.ts';
import { InvenioServer } from './invenioServer.ts';
import { closeRepositories, type RepositoryServer } from './repositoryServer.ts';
import { addRepository, hurriedClock } from './support.ts';

let served: ServedNode | undefined;
afterEach(async () => {
  if (served) await end(served, 'SIGKILL');
  served = undefined;
  await closeTestNodes();
  await closeRepositories();
});

const FILES = { 'a.txt': 'a', 'b/c.csv': 'x,y\n1,2\n' };

/** The requests of a whole deposit. */
const STEPS = {
  invenio: ['search', 'create', 'draft', 'reserve', 'files', 'begin', 'content', 'commit', 'publish'],
  dataverse: ['search', 'contents', 'user', 'create', 'dataset', 'add', 'publish'],
} as const;

async function begin({ url, token_file }: ServedNode, body: object): Promise<void> {
  const token = await readFile(token_file, 'utf8');
  await fetch(new URL('/manage/deposits', url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** Kills the served node at a request, before it is processed or before its answer is sent. */
function killAt(
  server: RepositoryServer,
  request: string,
  when: 'unprocessed' | 'unanswered',
): Promise<void> {
  return new Promise((resolve) => {
    server.fault = async (name) => {
      if (name !== request || !served) return undefined;
      const node = served;
      served = undefined;
      await end(node, 'SIGKILL');
      resolve();
      return when;
    };
  });
}

/** Opens the folder again. The deposit goes on by itself; its pauses are over at once. */
async function resumed(dataFolder: string): Promise<Deposit | undefined> {
  const node = await openTestNode({ dataFolder, clock: hurriedClock() });
  const ended = await eventually(async () => {
    const answer = await node.fetchAsOwner('/manage/deposits');
    const { items } = (await answer.json()) as { items: Deposit[] };
    expect(items).toHaveLength(1);
    expect(items[0]?.state).not.toBe('sending');
    return items[0];
  });
  const ledger = await node.fetch('/api/ledger?limit=200');
  const { items } = (await ledger.json()) as { items: LedgerEntry[] };
  expect(items.map(({ type }) => type)).toEqual(['pack.added', 'pack.deposited']);
  expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true });
  await node.close();
  return ended;
}

const CASES = Object.entries(STEPS).flatMap(([kind, steps]) =>
  steps.map((step): [kind: RepositoryKind, step: string] => [kind as RepositoryKind, step]),
);

test.each(CASES)(
  'a node that is killed in %s at the request “%s” makes one deposit, published and recorded once',
  async (kind, step) => {
    for (const when of ['unprocessed', 'unanswered'] as const) {
      const invenio = kind === 'invenio' ? await new InvenioServer().listen() : undefined;
      const dataverse = kind === 'dataverse' ? await new DataverseServer().listen() : undefined;
      const server = invenio ?? dataverse;
      if (!server) throw new TypeError();
      if (invenio) invenio.indexLag = 2;
      const dataFolder = join(await temporaryFolder(), 'data');
      const node = await openTestNode({ dataFolder });
      const repository = await addRepository(node, { kind }, server);
      const pack = await uploadNewPack(node, {}, FILES);
      await node.close();

      served = await serveNode(dataFolder);
      const killed = killAt(server, step, when);
      await begin(served, { pack: pack.id, repository: repository.id, publish: true });
      await killed;
      server.fault = () => undefined;
      const deposit = await resumed(dataFolder);

      expect(deposit, when).toMatchObject({ state: 'published', files: 3, compared: 3, error: null });
      const stored = [...(invenio?.records.values() ?? []), ...(dataverse?.datasets.values() ?? [])];
      expect(stored, when).toHaveLength(1);
      expect([...(stored[0]?.files ?? [])], when).toHaveLength(3);
      expect((invenio ?? dataverse)?.publications, when).toHaveLength(1);
    }
  },
);
