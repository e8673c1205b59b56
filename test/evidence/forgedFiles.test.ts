import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import {
  nodeCrypto,
  nodeKeyOf,
  privateKeyOfSeed,
  signCheckpoint,
  signNote,
} from '../../server/ledger/checkpoint.ts';
import type { Finding } from '../../server/verification/report.ts';
import type { Evidence } from '../../shared/proof/evidence/evidence.ts';
import { dataIn, type EvidenceParts, evidenceHtml } from '../../shared/proof/evidence/evidencePage.ts';
import { checkEvidenceData } from '../../shared/proof/evidence/verifyEvidence.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { decide } from '../../shared/proof/verdict.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { withEvidence } from '../e2e/support/evidenceChanges.ts';
import { sha256Of } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';
import { addPack, buildEvidenceParts, evidenceIn, evidenceOf, writeEvidenceParts } from './support.ts';

afterEach(closeTestNodes);

let parts: EvidenceParts;
beforeAll(async () => {
  parts = await buildEvidenceParts();
});

let rendererFolder: string;
async function openNodeWithEvidence(): Promise<TestNode> {
  rendererFolder = await writeEvidenceParts(parts);
  return openTestNode({ rendererFolder });
}

/** Runs `strongroom verify` as the program that the node is of. */
function verify(...words: string[]) {
  return runHere(['verify', ...words], undefined, { rendererFolder });
}

test('no character of the data can be another one unnoticed', async () => {
  const node = await openNodeWithEvidence();
  const id = await addPack(node, { 'a.txt': 'a' });
  const text = JSON.stringify(await evidenceOf(node, id));
  const unnoticed: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    // Also of a digit another one, and of a name another name.
    const other = String.fromCharCode(text.charCodeAt(at) ^ 1);
    const altered = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
    const { claims } = checkEvidenceData(altered, nodeCrypto);
    if (decide('evidence', claims).verdict !== 'altered')
      unnoticed.push(text.slice(Math.max(0, at - 20), at + 20));
  }
  expect(unnoticed).toEqual([]);
});

test('an evidence file that no node wrote fails, and what is verified with it is verified', async () => {
  const node = await openNodeWithEvidence();
  const html = await (
    await node.fetch(`/api/packs/${await addPack(node, { 'a.txt': 'a' })}/evidence`)
  ).text();
  const folder = await temporaryFolder();
  const data = JSON.stringify(evidenceIn(html)).replaceAll('<', '\\u003c');
  const hostile = {
    'a-null': 'null',
    'a-surrogate': data.replace('"made_at":"', '"made_at":"\\ud800'),
    'a-subject': data.replace('"subject":"', '"subject":"\\ud800'),
    'a-deep': data.replace('"diff":null', `"diff":${'['.repeat(200_000)}${']'.repeat(200_000)}`),
  };
  for (const [name, text] of Object.entries(hostile))
    await writeFile(
      join(folder, `${name}.evidence.html`),
      `<script type="application/json" id="evidence">${text}</script>`,
    );
  await writeFile(join(folder, 'z.evidence.html'), html);
  const { code, stdout } = await verify(
    ...[...Object.keys(hostile), 'z'].map((name) => join(folder, `${name}.evidence.html`)),
  );
  expect(code).toBe(1);
  for (const name of ['a-null', 'a-surrogate', 'a-subject', 'a-deep'])
    expect(stdout).toMatch(new RegExp(`altered .*${name}`));
  expect(stdout).toMatch(/intact .*z\.evidence\.html/);
});

/** The verdict on a file, its exit code, and why. */
async function verdictOn(
  html: string | Uint8Array,
): Promise<{ code: number | null; verdict: string; why: string }> {
  const file = join(await temporaryFolder(), 'x.evidence.html');
  await writeFile(file, html);
  const { code, stdout } = await verify(file, '--json');
  const { verdict = '', detail } = JSON.parse(stdout.split('\n')[0] ?? '') as Finding;
  return { code, verdict, why: detail ?? '' };
}

test('genuine evidence is not that of another event, pack or finding by whose name it goes', async () => {
  const node = await openNodeWithEvidence();
  const id = await addPack(node, { 'a.txt': 'a' });
  const html = await (await node.fetch(`/api/packs/${id}/evidence`)).text();
  const folder = await temporaryFolder();
  const on = async (name: string) => {
    await writeFile(join(folder, name), html);
    const { code, stdout } = await verify(join(folder, name));
    return { code, stdout };
  };
  for (const name of [id, `${id.toUpperCase().replace('PK', 'pk')}`, 'mine', 'of-event-2-and-more'])
    expect(await on(`${name}.evidence.html`), name).toMatchObject({ code: 0 });
  expect(await on(`${id}.evidence (1).html`)).toMatchObject({ code: 0 });
  const others = {
    [`pk_${'0'.repeat(20)}.evidence.html`]: `pack pk_${'0'.repeat(20)}`,
    [`pk_${'0'.repeat(20)}.evidence (1).html`]: `pack pk_${'0'.repeat(20)}`,
    'event-2.evidence.html': 'event 2',
    [`fi_${'0'.repeat(20)}.EVIDENCE.html`]: `finding fi_${'0'.repeat(20)}`,
  };
  for (const [name, subject] of Object.entries(others))
    expect(await on(name), name).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`It is not the evidence of ${subject}.`) as string,
    });
  // Names in characters that look like those of the name of other evidence.
  const imitated = {
    'event-\uff12.evidence.html': 'event 2',
    'event-\u00b2.evidence.html': 'event 2',
    'event-\u200b2.evidence.html': 'event 2',
    'event-2 - Copy.evidence.html': 'event 2',
    'event-1\u041e.evidence.html': 'what only looks like event-1\\u{43e}',
    'event-1O.evidence.html': 'what only looks like event-1o',
    'event-\u0417.evidence.html': 'what only looks like event-\\u{437}',
    'event-\u0417\u0417\u0417\u0417.evidence.html': `what only looks like event-${'\\u{437}'.repeat(4)}`,
    '\u0435vent-2.evidence.html': 'what only looks like \\u{435}vent-2',
    'event\u20102.evidence.html': 'what only looks like event\\u{2010}2',
    [`${id.replace('pk_', 'p\u043a_')}.evidence.html`]: `what only looks like ${id.replace('pk_', 'p\\u{43a}_')}`,
  };
  for (const [name, subject] of Object.entries(imitated))
    expect(await on(name), name).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`It is not the evidence of ${subject}.`) as string,
    });
  // Words of other languages, and longer names, are no such names.
  for (const name of [
    '\u041e\u0442\u0447\u0451\u0442-1',
    'event-of-\u043f\u043e\u0436\u0430\u0440',
    'event-log',
    'events-2',
  ])
    expect(await on(`${name}.evidence.html`), name).toMatchObject({ code: 0 });
});

test('an invented record under the key of a node is unsigned, and its exit code is 3', async () => {
  const node = await openNodeWithEvidence();
  const id = await addPack(node, { 'a.txt': 'a' });
  const html = await (await node.fetch(`/api/packs/${id}/evidence`)).text();
  const genuine = evidenceIn(html);
  const record = genuine.recorded.record.replace('"title":"', '"title":"Invented ');
  const digest = sha256Of(record);
  const { hash: _, ...unsealed } = {
    ...genuine.recorded.entry,
    subject: `pk_${digest.slice(0, 20)}`,
    at: '2019-01-01T00:00:00.000Z',
    digest,
  };
  const entry = { ...unsealed, hash: sha256Of(canonicalText(unsealed)) };
  const invented = { ...genuine, recorded: { entry, record, proofs: [] }, seal: null };
  const { code, verdict, why } = await verdictOn(withEvidence(html, invented));
  expect([code, verdict]).toEqual([3, 'unsigned']);
  expect(why).toContain('This file has no seal');
  for (const key of [
    '',
    'anything',
    `${genuine.key} `,
    genuine.key.replace('+A', '+B'),
    genuine.key.toUpperCase(),
  ])
    expect(await verdictOn(withEvidence(html, { ...invented, key })), key).toMatchObject({
      code: 1,
      verdict: 'altered',
    });
  // A genuine file whose seal was taken away, by which its differences and its time could be changed.
  expect(await verdictOn(withEvidence(html, { ...genuine, seal: null }))).toMatchObject({ code: 3 });
});

test('a file is intact only if it is, byte for byte, what a known version writes', async () => {
  const node = await openNodeWithEvidence();
  const html = await (
    await node.fetch(`/api/packs/${await addPack(node, { 'a.txt': 'a' })}/evidence`)
  ).text();
  const data = `<script type="application/json" id="evidence">${dataIn(html)}</script>`;
  expect(await verdictOn(html)).toMatchObject({ code: 0, verdict: 'intact' });
  const other = await (
    await node.fetch(`/api/packs/${await addPack(node, { 'a.txt': 'b' })}/evidence`)
  ).text();
  const altered: [what: string, html: string | Uint8Array][] = [
    ['the data in a comment', `<!doctype html><!-- ${data} --><h1>Something else</h1>`],
    ['something before', `<h1>Something else</h1>${html}`],
    ['something after', `${html}<h1>Something else</h1>`],
    ['a space after', `${html} `],
    ['a byte order mark', `\ufeff${html}`],
    ['UTF-16', Buffer.from(`\ufeff${html}`, 'utf16le')],
    ['a NUL', html.replace('<main>', '<main>\0')],
    ['CRLF', html.replaceAll('\n', '\r\n')],
    ['bytes that are not UTF-8', Buffer.concat([Buffer.from(html), Buffer.from([0xff])])],
    ['another title', html.replace('<title>Evidence', '<title>Proof')],
    ['text in the page', html.replace('<main>', '<main><h1>Something else</h1>')],
    ['a second block of data', html.replace('<body>', `<body>${data}`)],
    ['a second block after', html.replace('</body>', `${data}</body>`)],
    ['a wider policy', html.replace("default-src 'none'", 'default-src *')],
    ['a name twice', html.replace('{"format"', '{"kind":"event","format"')],
    ['a prototype', html.replace('{"format"', '{"__proto__":{},"format"')],
    ['a space in the data', html.replace('{"format"', '{ "format"')],
    ['an escape in the data', html.replace('"format"', '"\\u0066ormat"')],
    ['the page of another', html.replace(/<title>[^<]*/, /<title>[^<]*/.exec(other)?.[0] ?? '')],
  ];
  for (const [what, each] of altered) {
    expect(Buffer.from(each).equals(Buffer.from(html)), what).toBe(false);
    const { code, verdict } = await verdictOn(each);
    // In UTF-16, nothing in the file is evidence.
    expect([code, verdict], what).toEqual([1, what === 'UTF-16' ? 'unknown' : 'altered']);
  }
  // Whole pages of other making: their data may hold, but not what they show.
  const { script, style } = parts;
  const own = { script: `document.title = 'x';${script}`, style };
  const pages: [what: string, parts: EvidenceParts][] = [
    ['another script', own],
    ['no script', { script: '', style }],
    ['another style', { script, style: `main { display: none }\n${style}` }],
    ['a style that ends', { script, style: `</style><h1>Something else</h1><style>${style}` }],
  ];
  for (const [what, made] of pages) {
    const { code, verdict } = await verdictOn([...evidenceHtml(evidenceIn(html), made, nodeCrypto)].join(''));
    expect([code, verdict], what).toEqual([1, what === 'a style that ends' ? 'altered' : 'unknown']);
  }
});

test('a file in which the key signed two ledgers is altered', async () => {
  const node = await openNodeWithEvidence();
  const html = await (
    await node.fetch(`/api/packs/${await addPack(node, { 'a.txt': 'a' })}/evidence`)
  ).text();
  const genuine = evidenceIn(html);
  const signer = nodeKeyOf('two.example', privateKeyOfSeed(new Uint8Array(32).fill(7)));
  const sha256 = (...all: Uint8Array[]) => createHash('sha256').update(Buffer.concat(all)).digest();
  const leaf = sha256(Buffer.of(0), Buffer.from(canonicalText(genuine.recorded.entry)));
  /** The entry, and another one after it. */
  const proof = (fill: number) => {
    const next = Buffer.alloc(32, fill);
    const checkpoint = signCheckpoint(signer, { size: 2, root: sha256(Buffer.of(1), leaf, next) });
    return { checkpoint, hashes: [next.toString('base64')] };
  };
  const signed = (...proofs: typeof genuine.recorded.proofs): Evidence => ({
    ...genuine,
    key: signer.verifierKey,
    recorded: { ...genuine.recorded, proofs },
    seal: null,
  });
  expect(genuine.recorded.entry.seq).toBe(1);
  expect((await verdictOn(withEvidence(html, signed(proof(1))))).verdict).toBe('unsigned');
  const { verdict, why } = await verdictOn(withEvidence(html, signed(proof(1), proof(2))));
  expect([verdict, why]).toEqual([
    'altered',
    expect.stringContaining('Two checkpoints of 2 entries have two roots.'),
  ]);
});

test('a checkpoint that another key with this name signed, or that is written otherwise, proves nothing', async () => {
  const node = await openNodeWithEvidence();
  const html = await (
    await node.fetch(`/api/packs/${await addPack(node, { 'a.txt': 'a' })}/evidence`)
  ).text();
  const genuine = evidenceIn(html);
  const [proof] = genuine.recorded.proofs;
  if (!proof) throw new Error('There is no proof.');
  const name = genuine.key.split('+', 1)[0] ?? '';
  const stranger = nodeKeyOf(name, privateKeyOfSeed(new Uint8Array(32).fill(7)));
  const { checkpoint } = proof;
  const body = noteBody(checkpoint);
  const forged = (...proofs: typeof genuine.recorded.proofs): Evidence => ({
    ...genuine,
    recorded: { ...genuine.recorded, proofs },
    seal: null,
  });
  const bySomebody = signNote(stranger, body);
  const empty = signNote(stranger, `${name}\n0\n${'A'.repeat(43)}=\n`);
  const line = /\n\n(— .*\n)/.exec(checkpoint)?.[1] ?? '';
  const cases: [what: string, evidence: Evidence][] = [
    ['by another key', forged({ ...proof, checkpoint: bySomebody })],
    ['one good, one bad', forged(proof, { ...proof, checkpoint: bySomebody })],
    ['one good, one of no size', forged(proof, { checkpoint: empty, hashes: [] })],
    ['no size', { ...forged({ checkpoint: empty, hashes: [] }), key: stranger.verifierKey }],
    [
      'an unknown line',
      forged({ ...proof, checkpoint: checkpoint + signNote(stranger, body).split('\n\n')[1] }),
    ],
    ['a line twice', forged({ ...proof, checkpoint: checkpoint + line })],
    ['CRLF', forged({ ...proof, checkpoint: checkpoint.replaceAll('\n', '\r\n') })],
    ['no last line end', forged({ ...proof, checkpoint: checkpoint.slice(0, -1) })],
    ['a space in the signature', forged({ ...proof, checkpoint: checkpoint.replace(/(.{5})\n$/, ' $1\n') })],
    ['another algorithm', { ...forged(proof), key: genuine.key.replace(/^([^+]+[+][^+]+[+])A/, '$1B') }],
    ['a homoglyph', { ...forged(proof), key: genuine.key.replace('o', 'о') }],
    ['an idle witness', { ...forged(proof), witnesses: [genuine.key] }],
  ];
  for (const [what, evidence] of cases) {
    expect(JSON.stringify(evidence)).not.toBe(JSON.stringify({ ...genuine, seal: null }));
    const { code, verdict } = await verdictOn(withEvidence(html, evidence));
    expect([code, verdict], what).toEqual([1, 'altered']);
  }
});
