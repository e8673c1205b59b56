import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  buildEvidenceScript,
  EVIDENCE_SCRIPT,
  EVIDENCE_STYLE,
  readEvidenceStyle,
} from '../../renderer/inlineScripts.ts';
import type { PageCapture, PageList } from '../../shared/collection/page.ts';
import { imported } from '../collection/captures/support.ts';
import { handIn } from '../collection/handedIn/support.ts';
import { type CollectingNode, openCollectingNode } from '../collection/support.ts';
import { filesOf, sha256Of, uploadNewPack } from '../support/archive/packs.ts';
import { eventually } from '../support/eventually.ts';
import { page, ScriptedWeb } from '../support/network/scriptedWeb.ts';
import { share } from '../support/network/sharing.ts';
import { DERIVING, type TestNode, temporaryFolder } from '../support/node.ts';
import { savedPage } from '../support/savedPages.ts';
import { gzippedByRecord, response } from '../support/warcFiles.ts';

/** Words that are in the withheld bytes only, and in nothing that stays public. */
export const SECRETS = [
  'quibblesome',
  'frangipane',
  'zymurgical',
  'obnubilate',
  'susurration',
  'crepuscular',
  'vellichor',
  'petrichor',
  'gloaming',
  'sesquipedalian',
  'defenestrate',
];

/** An archive with secrets, before anything is withheld. */
export interface SecretArchive {
  node: CollectingNode;
  /** What has to be withheld so that no secret is left, a target of each kind among them. */
  targets: object[];
  versions: string[];
  packs: [older: string, newer: string];
  pages: PageCapture[];
  /** A page that stays shown, and the stylesheet in it that is withheld. */
  album: { sha256: string; style: string };
  /** What a third party captured. */
  captured: string;
  study: string;
  finding: string;
  ownCase: string;
}

/** Returns a folder with what evidence files carry. */
export async function builtInterface(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'evidence'));
  await writeFile(join(folder, EVIDENCE_SCRIPT), await buildEvidenceScript());
  await writeFile(join(folder, EVIDENCE_STYLE), await readEvidenceStyle());
  return folder;
}

const HTML = { headers: { 'content-type': 'text/html; charset=utf-8' } };
const CSS = { headers: { 'content-type': 'text/css' } };

/** Opens a node that holds secrets in every form that it can give out. */
export async function archiveWithSecrets(): Promise<SecretArchive> {
  const web = await ScriptedWeb.open();
  const node = await openCollectingNode({}, { ...DERIVING, rendererFolder: await builtInterface() });
  await share(node.node, 'read');
  const created = async (path: string, body: object) => {
    const answer = await node.node.sendJson('POST', path, body);
    expect(answer.status, path).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };

  const notes = (word: string) =>
    page(
      `<html><title>Notes on ${word} days</title><body><h1>Notes of the day</h1><p>A ${word} afternoon.</p></body></html>`,
      HTML,
    );
  const drawn = (word: string) =>
    page(`<html><title>Shop</title><body><p>It smells of ${word} here, all day.</p></body></html>`, HTML);
  const style = `body::before { content: "crepuscular, as the style says" }`;
  const album =
    '<html><link rel="stylesheet" href="/style.css"><body><p>An album for everyone.</p></body></html>';
  web.script('/notes', notes('quibblesome'), notes('frangipane'), notes('zymurgical'));
  web.script('/shop', drawn('petrichor'), drawn('petrichor'), drawn('gloaming'));
  web.script('/style.css', page(style, CSS));
  web.script('/album', page(album, HTML));
  const { id: source } = await node.watch(web.url('/notes'));
  const { id: shop } = await node.watch(web.url('/shop'), { capture: 'page' });
  await node.watch(web.url('/style.css'));
  await node.watch(web.url('/album'));
  // robots.txt is asked first. Each round sees the next version; the shop changes with the third.
  for (let round = 0; round < 3; round += 1) await node.check();
  const elsewhere = 'http://elsewhere.example/page';
  const captured = '<html><body><p>The vellichor of a page that others captured.</p></body></html>';
  await imported(node, gzippedByRecord([response(captured, { uri: elsewhere })]));

  const handedIn = 'http://elsewhere.example/inbox';
  const inbox =
    '<html><link rel="stylesheet" href="cid:style"><body><p>A sesquipedalian letter.</p></body></html>';
  const inboxStyle = 'p::after { content: "defenestrate" }';
  const saved = savedPage(handedIn, [
    { type: 'text/html', location: handedIn, content: inbox },
    { type: 'text/css', id: 'style', content: inboxStyle },
  ]);
  const handed = await handIn(node.node, saved, 'multipart/related', { withheld: 'false' });

  const study = await created('/api/studies', {
    title: 'Study',
    question: 'What is in the files?',
    description: '',
    node: null,
    status: 'planned',
  });
  const contents = [{ 'data.csv': 'obnubilate,b\n1,2\n' }, { 'data.csv': 'susurration,b\n1,2\n' }] as const;
  const packOf = (files: Record<string, string>, changes: object) =>
    uploadNewPack(node.node, { files: filesOf(files, 'text/csv'), study, ...changes }, files);
  const { id: older } = await packOf(contents[0], {});
  const { id: newer } = await packOf(contents[1], { supersedes: older });

  const events = await node.summarizedEvents();
  const versions = [
    ...new Set(events.filter((event) => event.source.id === source).map(({ sha256 }) => String(sha256))),
  ];
  const listed = await node.read<PageList>(`/archive/pages?source=${shop}`);
  const pages = await Promise.all(
    listed.items.map(({ id }) => node.read<PageCapture>(`/archive/pages/${id}`)),
  );
  await eventually(async () => {
    for (const word of SECRETS.filter((each) => each !== 'crepuscular' && each !== 'defenestrate'))
      expect(await node.read(`/api/search?q=${word}`), word).not.toMatchObject({ total: 0 });
  });

  const event = events.find(({ sha256 }) => sha256 === versions[0]);
  const finding = await created('/manage/findings', {
    target: { kind: 'event', id: String(event?.id) },
    text: 'Note this.',
    passage: { sha256: versions[0], exact: 'A zymurgical afternoon', prefix: 'of the day ' },
  });
  const drawnEvent = events.find(({ sha256 }) => sha256 === pages[0]?.text);
  const items = [
    { kind: 'event', id: String(event?.id) },
    { kind: 'event', id: String(drawnEvent?.id) },
    { kind: 'pack', id: older },
    { kind: 'finding', id: finding },
  ];
  const ownCase = await created('/manage/cases', { title: 'Case', items });
  const [retrieval] = await node.retrievals(source);
  return {
    node,
    targets: [
      { retrieval: retrieval?.id },
      ...versions.map((sha256) => ({ sha256 })),
      { pack: older },
      { pack: newer },
      ...pages.map(({ id }) => ({ page: id })),
      { sha256: sha256Of(style) },
      { sha256: sha256Of(captured) },
      { retrieval: handed.retrieval },
    ],
    versions,
    packs: [older, newer],
    pages,
    album: { sha256: sha256Of(album), style: sha256Of(style) },
    captured: sha256Of(captured),
    study,
    finding,
    ownCase,
  };
}

/** Withholds every target. */
export async function withholdAll({ node, targets }: SecretArchive): Promise<void> {
  for (const target of targets) {
    const answer = await node.node.sendJson('POST', '/manage/withheld', {
      ...target,
      reason: 'personal_data',
    });
    expect(answer.status, JSON.stringify(target)).toBe(201);
  }
}

/** Shows every target again. */
export async function showAll({ node, targets }: SecretArchive): Promise<void> {
  for (const target of targets)
    expect((await node.node.sendJson('DELETE', '/manage/withheld', target)).status).toBe(200);
}

/** Waits until a node says that everything of what was released is overwritten. */
export function isClean(node: TestNode): Promise<void> {
  return eventually(async () =>
    expect(await (await node.fetchAsOwner('/manage/storage')).json()).toMatchObject({ cleaning: false }),
  );
}

/** Uploads a text as a pack, and waits until it is in the index. Returns its digest. */
export async function indexedText(node: TestNode, word: string): Promise<string> {
  const text = `A ${word} in a text.`;
  await uploadNewPack(node, { files: filesOf({ 'a.txt': text }) }, { 'a.txt': text });
  await eventually(async () => expect(await textsFound(node, word)).toBe(1));
  return sha256Of(text);
}

/** Returns how many texts the owner finds. */
export async function textsFound(node: TestNode, word: string): Promise<number> {
  const answer = await node.fetchAsOwner(`/api/search?q=${word}`);
  return ((await answer.json()) as { total: number }).total;
}
