import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditResult } from '../../../shared/ledger/fixity.ts';
import { PACK_FORMAT, TERMS_VERSION } from '../../../shared/limits.ts';
import type { MirrorResult, Peer } from '../../../shared/node/peer.ts';
import type { ScriptedWeb } from '../../e2e/support/scriptedWeb.ts';
import { textFile } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import { publishDemoPacks } from '../packs.ts';
import { collectDemoSources } from '../sources.ts';
import type { DemoNode } from './demoNode.ts';

/** The nodes of the demonstration: one that publishes, and two that mirror and cosign it. */
export interface Cast {
  laboratory: DemoNode;
  library: DemoNode;
  newspaper: DemoNode;
}

type Say = (line: string) => void;

/** The laboratory publishes, has its ledger timestamped and cosigned, and the two others mirror it. */
export async function prove(
  { laboratory, library, newspaper }: Cast,
  { web, authority }: { web: ScriptedWeb; authority: string },
  say: Say,
): Promise<void> {
  await publishDemoPacks(laboratory.api);
  await collectDemoSources(laboratory.api, web);
  for (const [node, name] of [
    [library, 'The library'],
    [newspaper, 'The newspaper'],
  ] as const) {
    const peer = await addPeer(node, laboratory, 'The laboratory');
    await addPeer(laboratory, node, name);
    const taken = await mirror(node.api, peer, true);
    expectThat(taken.refused.length === 0, `${name} could not mirror everything: ${JSON.stringify(taken)}`);
    say(
      `${name} mirrored ${taken.packs} packs, ${taken.events} events and ${taken.objects} objects, and verified each.`,
    );
  }
  await laboratory.api.call('changeSettings', { body: { timestamp_authorities: [authority] } });
  await laboratory.api.call('requestTimestamps');
  await cosign(laboratory.api);
  say('The ledger of the laboratory is timestamped by the authority, and cosigned by both others.');
}

/** Adds a node by its address and its key, as its link has them. Each cosigns the checkpoints of the other. */
async function addPeer(node: DemoNode, other: DemoNode, name: string): Promise<Peer> {
  const { id } = await node.api.call('addPeer', {
    body: { url: other.url, key: await other.key(), ask_to_cosign: true },
  });
  return node.api.call('changePeer', { params: { id }, body: { name } });
}

async function mirror(api: OwnerApi, { id }: Peer, follow: boolean): Promise<MirrorResult> {
  const body = { packs: true, sources: true, follow };
  return (await api.call('mirrorPeer', { params: { id }, query: { wait: 'true' }, body })) as MirrorResult;
}

async function cosign(api: OwnerApi): Promise<void> {
  const { size, witnesses } = await api.call('submitToWitnesses');
  for (const witness of witnesses)
    expectThat(witness.size === size, `A witness did not cosign: ${witness.error}`);
}

/** A file of the library is overwritten, as by a failing disk. An audit finds it, and a peer gives it again. */
export async function damageAndRepair({ library }: Cast, say: Say): Promise<void> {
  await library.api.call('changeSettings', { body: { repair_from_peers: true } });
  const { items } = await library.api.call('listPacks', { query: { q: 'penguins', limit: '1' } });
  const sha256 = items[0]?.files[0]?.sha256 ?? '';
  const file = join(library.folder, 'data', 'blobs', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  await writeFile(file, 'Something else.');
  const audit = (await library.api.call('startAudit', { query: { wait: 'true' } })) as AuditResult;
  expectThat(audit.restored.includes(sha256), `The object was not restored: ${JSON.stringify(audit)}`);
  say(`An object of the library was damaged (${sha256.slice(0, 8)}…). Its audit restored it from a peer.`);
}

/**
 * The laboratory publishes a result, and the others see it. Then it goes back to an older copy of its archive, and
 * publishes another result in its place.
 */
export async function rewriteHistory(cast: Cast, copy: string, say: Say): Promise<void> {
  const { laboratory, library, newspaper } = cast;
  await laboratory.copyTo(copy);
  await publishResult(laboratory.api, 'No effect of the new feed on growth', 'null');
  await cosign(laboratory.api);
  for (const node of [library, newspaper]) await mirror(node.api, await laboratoryAt(node), true);
  await laboratory.continueWith(copy);
  await publishResult(laboratory.api, 'Strong effect of the new feed on growth', 'positive');
  const { witnesses } = await laboratory.api.call('submitToWitnesses');
  expectThat(
    witnesses.every(({ error }) => error !== null),
    'A witness cosigned the second history.',
  );
  for (const node of [library, newspaper]) {
    const { id } = await laboratoryAt(node);
    const { state } = await node.api.call('contactPeer', { params: { id } });
    expectThat(state === 'rewritten', `The rewritten history was not noticed: ${state}`);
    await node.api.call('readPeerEvidence', { params: { id } });
    const refusals = await node.api.call('listWitnessRefusals');
    expectThat(refusals.items[0]?.is_proof === true, 'The refused checkpoint was not kept.');
  }
  say('The laboratory replaced a published result. Both others noticed, and keep the evidence.');
}

/** Returns the laboratory as a node knows it. */
export async function laboratoryAt({ api }: DemoNode): Promise<Peer> {
  const { items } = await api.call('listPeers');
  const found = items.find(({ name }) => name === 'The laboratory');
  if (!found) throw new Error('The laboratory is no peer.');
  return found;
}

function publishResult(api: OwnerApi, title: string, outcome: 'null' | 'positive') {
  return api.addPack(
    {
      pack_format: PACK_FORMAT,
      terms_version: TERMS_VERSION,
      title,
      summary: 'Invented for this demonstration.',
      authors: [{ name: 'Nobody' }],
      license: 'CC0-1.0',
      outcome,
    },
    [{ ...textFile('growth.csv', `feed,growth\nold,1.0\nnew,${outcome === 'null' ? '1.0' : '1.4'}\n`) }],
  );
}

function expectThat(isTrue: boolean, otherwise: string): asserts isTrue {
  if (!isTrue) throw new Error(otherwise);
}
