import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { AlertingNode } from '../alerts/support.ts';
import { type Call, WebhookReceiver } from '../alerts/webhookReceiver.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { addCopy, sync } from '../copies/withheldCopies.ts';
import { saveZip, textFile } from '../dump/exportedArchive.ts';
import { filledArchive } from '../dump/filledArchive.ts';
import { buildEvidenceParts, writeEvidenceParts } from '../evidence/support.ts';
import { addPeer, mirror } from '../peers/support.ts';
import { sampleRecord, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { publishedSet } from '../support/archive/sets.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { EC_KEY, TimestampAuthority } from '../support/network/timestampAuthority.ts';
import { openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/** Packs of the archive are small, so that its set has several. */
export const PACK_BYTES = 10_000;

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const SHOP = `<!doctype html><html><head><title>Shop</title></head><body><h1>Prices</h1><p id="price"></p>
<script>document.getElementById('price').textContent = 'Bread costs 2.10';</script></body></html>`;
const SAVED =
  '<!doctype html><html><head><title>Saved</title></head><body><p>As a person saw it</p></body></html>';

/** What the archive has besides: each has files of its own. */
interface Added {
  pack: string;
  set: string;
  event: number;
  pageEvent: number;
  finding: string;
  case: string;
  timestamp: number;
  webhook: Call;
}

/**
 * Makes an archive that has something of everything, and writes each format that leaves a node into a folder. It opens
 * nodes, webs, an authority and a webhook, which the caller closes.
 */
export async function writeFormats(folder: string): Promise<void> {
  const own = await temporaryFolder();
  const dataFolder = join(own, 'data');
  const filled = await filledArchive(dataFolder);
  await filled.node.close();
  // Before anything is given out, so that all of it is by the second key of the ledger.
  expect(await runHere(['key', '--renew', '--data', dataFolder])).toMatchObject({ code: 0 });
  const rendererFolder = await writeEvidenceParts(await buildEvidenceParts());
  const opened = await AlertingNode.reopen({ dataFolder, rendererFolder, packBytes: PACK_BYTES });
  const { node } = opened;
  const added = await addMore(opened);
  const save = async (name: string, path: string) => writeFile(join(folder, name), await bytesAt(node, path));

  await save('pack.pack.zip', `/api/packs/${added.pack}/file`);
  await save('set.pack.zip', `/api/packs/${added.set}/file`);
  await save('pack.evidence.html', `/api/packs/${added.pack}/evidence`);
  await save('event.evidence.html', `/api/events/${added.event}/evidence`);
  await save('page.evidence.html', `/api/events/${added.pageEvent}/evidence`);
  await save('finding.evidence.html', `/api/findings/${added.finding}/evidence`);
  await save('case.zip', `/api/cases/${added.case}/bag`);
  await save('archive.warc.gz', '/api/warc?gzip=true');
  await save('archive.wacz', '/api/wacz');
  await save('log.checkpoint', '/api/ledger/checkpoint');
  await save('key.txt', '/api/ledger/key');
  await save('entry.tlog-proof', '/api/ledger/proof?seq=3&format=tlog-proof');
  const entries = (await jsonAt(node, '/api/ledger?from=3&limit=1')) as { items: Record<string, unknown>[] };
  const members = Object.entries(entries.items[0] ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(join(folder, 'entry.entry.json'), JSON.stringify(Object.fromEntries(members)));
  await save('ledger.tsr', `/api/ledger/timestamps/${added.timestamp}`);
  await save('ledger.txt', `/api/ledger/timestamps/${added.timestamp}/text`);
  await writeFile(join(folder, 'webhook.json'), `${JSON.stringify(added.webhook, null, 2)}\n`);
  for (const pages of [false, true]) {
    const place = join(own, pages ? 'copy-with-pages' : 'copy');
    await sync(node, await addCopy(node, place, { pages }));
    await saveFolder(join(folder, pages ? 'copy-with-pages.zip' : 'copy.zip'), place);
  }
  await save('dump.jsonl', '/api/dump.jsonl');
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', dataFolder, '--out', out])).toMatchObject({ code: 0 });
  await saveFolder(join(folder, 'data-folder.zip'), dataFolder);
}

async function addMore(opened: AlertingNode): Promise<Added> {
  const { node } = opened;
  const { id: pack } = await uploadNewPack(node, sampleRecord({ title: 'Two files' }), {
    'levels.csv': 'station,level\nA,1.2\n',
    'notes/größe.txt': 'Read at noon\n',
  });
  const { manifest } = await publishedSet(node, undefined, { title: 'A set' });
  await mirrorFromPeer(node);
  await handIn(node, Buffer.from(SAVED), 'text/html', { url: 'https://saved.example/page' });

  const web = await ScriptedWeb.open();
  web.script('/fees', page('<p>The fee is 120 euros.</p>'), page('<p>The fee is 145 euros.</p>'));
  web.script('/shop', page(SHOP, HTML));
  const fees = await opened.watch(web.url('/fees'), { name: 'Fees', ignore_robots: true });
  const shop = await opened.watch(web.url('/shop'), { name: 'Shop', ignore_robots: true, capture: 'page' });
  await opened.check([fees.id, shop.id]);
  const receiver = await WebhookReceiver.open();
  await opened.alert({ event_types: ['changed'] }, [receiver.target]);
  await opened.check([fees.id]);
  await opened.untilDelivered('sent');
  const [webhook] = receiver.calls;
  const [event] = await opened.events(`event_type=changed&source=${fees.id}`);
  const [ofPage] = await opened.events(`source=${shop.id}`);
  if (!webhook || !event || !ofPage?.page) throw new Error('The example lacks a call, an event or a page.');
  const target = { kind: 'event', id: String(event.id) };
  const passage = { sha256: event.sha256, exact: '145 euros' };
  const noted = await node.sendJson('POST', '/manage/findings', { target, passage, text: 'It went up.' });
  const finding = ((await noted.json()) as { id: string }).id;
  const items = [target, { kind: 'pack', id: pack }, { kind: 'finding', id: finding }];
  const made = await node.sendJson('POST', '/manage/cases', { title: 'Fees', description: '', items });
  const { id } = (await made.json()) as { id: string };

  const authority = await TimestampAuthority.open(EC_KEY);
  await opened.set({ timestamp_authorities: [authority.url] });
  expect((await node.fetchAsOwner('/manage/timestamps', { method: 'POST' })).status).toBe(201);
  const { items: stamps } = (await jsonAt(node, '/api/ledger/timestamps')) as { items: { id: number }[] };
  return {
    pack,
    set: manifest.id,
    event: event.id,
    pageEvent: ofPage.id,
    finding,
    case: id,
    timestamp: stamps[0]?.id ?? 0,
    webhook,
  };
}

/** Mirrors a pack of another node, and what that node withholds of it. */
async function mirrorFromPeer(node: TestNode): Promise<void> {
  const other = await openTestNode();
  await uploadNewPack(other, sampleRecord({ title: 'Of a peer' }), {
    'open.txt': 'open',
    'names.txt': 'names',
  });
  const withheld = { sha256: sha256Of('names'), reason: 'personal_data' };
  expect((await other.sendJson('POST', '/manage/withheld', withheld)).status).toBe(201);
  await mirror(node, await addPeer(node, other.url), { packs: true });
  await other.close();
}

async function bytesAt(node: TestNode, path: string): Promise<Buffer> {
  const answer = await node.fetchAsOwner(path);
  expect(answer.status, path).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

async function jsonAt(node: TestNode, path: string): Promise<unknown> {
  return JSON.parse((await bytesAt(node, path)).toString());
}

/** Writes the files of a folder into a ZIP, but `reserve`: its random bytes only keep room on the disk. */
async function saveFolder(file: string, folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name !== 'reserve')
    .map((entry) => join(entry.parentPath, entry.name));
  await saveZip(
    file,
    files.sort().map((path) => ({
      ...textFile(relative(folder, path), ''),
      isCompressed: true,
      read: async function* () {
        yield await readFile(path);
      },
    })),
  );
  await rm(`${file}.directory`);
}
