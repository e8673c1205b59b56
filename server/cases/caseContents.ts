import { createHash } from 'node:crypto';
import { type Event } from '../../shared/collection/event.ts';
import { BROWSER, foreignWords, isHandedIn } from '../../shared/collection/observers.ts';
import type { Case, CaseItem } from '../../shared/findings/case.ts';
import type { Finding, FindingTarget } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { packFileOf } from '../archive/packs/file/writePackFile.ts';
import { digestsOfPack, requirePack } from '../archive/packs/readPack.ts';
import { findingById, selectFindings } from '../findings/findingRows.ts';
import { unreadableQuote } from '../findings/findings.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../fixity/audit.ts';
import { html, type Piece } from '../html.ts';
import { eventById } from '../store/sqlite/collection/timeline/events.ts';
import { blobBytes } from '../store/sqlite/node/blobs.ts';
import type { Store } from '../store/store.ts';
import { OWNER, type Reader, requireAllReadable, unreadable } from '../withholding/withholding.ts';

/** An object of a case, with what the index says of it. */
interface CaseObject {
  sha256: string;
  bytes: number;
}

/** The pack file of a case that can be written. */
interface CasePack {
  id: string;
  /** The CRCs of its files, which were read and checked. */
  crcs: Uint32Array;
}

/** Something of a case that the archive cannot give, with the reason. */
interface MissingPart {
  name: string;
  reason: string;
}

/** Everything that the bag of a case contains. */
export interface CaseContents {
  case: Case;
  events: Event[];
  packs: CasePack[];
  objects: CaseObject[];
  /** The findings that are items, and the current ones about the events and packs, oldest first. */
  findings: Finding[];
  missing: MissingPart[];
}

/** At most this many findings about one event or pack are taken into the bag. */
const MAX_FINDINGS_OF_TARGET = 500;

/**
 * Collects what the bag of a case contains for a reader. Every object and every file of a pack is read and hashed,
 * because the bag is sent while it is written: what is missing or damaged has to be known before.
 */
export async function caseContents(store: DamageContext, found: Case, reader: Reader): Promise<CaseContents> {
  const { read } = store;
  const missing: MissingPart[] = [];
  const findings = findingsOf(store, found).filter((finding) => {
    const problem = unreadableQuote(read, finding, reader);
    // The ledger covers the quotation, so a finding without it could not be checked.
    if (problem) missing.push({ name: `Finding ${finding.id}`, reason: problem.message });
    return !problem;
  });
  const targets = [...found.items.map(asTarget), ...findings.map(({ target }) => target)];
  const ids = (kind: FindingTarget['kind']) => [
    ...new Set(targets.flatMap((target) => (target?.kind === kind ? [target.id] : []))),
  ];
  const events = ids('event').flatMap((id) => eventById(read, Number(id)) ?? []);
  const quoted = findings.flatMap(({ target, passage }) =>
    target.kind === 'pack' ? [] : [passage?.sha256 ?? null],
  );
  const digests = [
    ...events.flatMap(({ sha256, previous_sha256 }) => [sha256, previous_sha256]),
    ...ids('object'),
    ...quoted,
  ].filter((sha256) => sha256 !== null);
  const objects: CaseObject[] = [];
  for (const sha256 of new Set(digests)) {
    const problem = unreadable(read, sha256, reader);
    if (problem) {
      missing.push({ name: `Object ${sha256}`, reason: problem.message });
      continue;
    }
    const bytes = await intactBytes(store, sha256);
    if (bytes === undefined)
      missing.push({ name: `Object ${sha256}`, reason: 'its stored bytes are missing or damaged' });
    else objects.push({ sha256, bytes });
  }
  const packs: CasePack[] = [];
  for (const id of ids('pack')) {
    const crcs = await checkedPack(store, id, reader);
    if (crcs instanceof Problem)
      missing.push({ name: `Pack file and evidence file of ${id}`, reason: crcs.message });
    else packs.push({ id, crcs });
  }
  return { case: found, events, packs, objects, findings, missing };
}

function asTarget({ kind, id }: CaseItem): FindingTarget | undefined {
  return kind === 'finding' ? undefined : { kind, id };
}

function findingsOf({ read }: Pick<Store, 'read'>, { items }: Case): Finding[] {
  const found = new Map<string, Finding>();
  for (const item of items) {
    const target = asTarget(item);
    const selection = { match: undefined, tag: undefined, target, state: 'current' as const, reader: OWNER };
    const page = { limit: MAX_FINDINGS_OF_TARGET, offset: 0 };
    const findings = target
      ? selectFindings(read, selection, page).items
      : [findingById(read, item.id)].filter((finding) => finding !== undefined);
    for (const finding of findings) found.set(finding.id, finding);
  }
  return [...found.values()].sort((left, right) => left.ledger_entry - right.ledger_entry);
}

/** Returns the size of a stored object if its bytes have its digest. */
async function intactBytes(store: DamageContext, sha256: string): Promise<number | undefined> {
  const bytes = blobBytes(store.read, sha256);
  if (bytes === undefined) return undefined;
  try {
    const hash = createHash('sha256');
    for await (const chunk of store.blobs.read(sha256)) hash.update(chunk);
    if (hash.digest('hex') === sha256) return bytes;
  } catch (error) {
    // A Problem: the copy that holds the bytes cannot be reached.
    if (error instanceof Problem && error.code !== 'blob_damaged') return undefined;
    if (!isBlobDamageError(error)) throw error;
  }
  await confirmDamage(store, [sha256]);
  return undefined;
}

async function checkedPack(store: DamageContext, id: string, reader: Reader): Promise<Uint32Array | Problem> {
  try {
    requireAllReadable(store.read, digestsOfPack(store.read, requirePack(store.read, id)), reader);
    return await packFileOf(store, id).check();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1,h2,h3{font-family:Georgia,serif;line-height:1.25}
ol.items>li{margin:0 0 1.75rem}
.muted{opacity:.75;font-size:.875rem}
.text{white-space:pre-wrap}
blockquote{margin:.5rem 0;padding:.25rem 0 .25rem 1rem;border-left:3px solid currentColor;white-space:pre-wrap}
code{font-size:.85em}
a{color:LinkText}
@media print{body{max-width:none;margin:0}}`;

/** Writes the page of a bag. It loads nothing and runs no script. */
export function caseIndex(contents: CaseContents, nodeName: string): string {
  const { case: shown, missing, objects } = contents;
  const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
  const body = html`<h1>${shown.title}</h1>
<p class="muted">Case ${shown.id} of <bdi>${nodeName}</bdi>, last changed on ${timeText(shown.changed_at)}. <a href="${CASE_PATHS.readme}">How to check this bag</a></p>
${shown.description !== '' && html`<p class="text">${shown.description}</p>`}
${shown.items.length === 0 && html`<p>The case has no items.</p>`}
<ol class="items">${shown.items.map((item) => html`<li>${itemOf(contents, item)}</li>`)}</ol>
${
  missing.length > 0 &&
  html`<h2>Not in this bag</h2>
<ul>${missing.map(({ name, reason }) => html`<li>${name}: ${reason}</li>`)}</ul>`
}
${
  objects.length > 0 &&
  html`<h2>Objects</h2>
<p class="muted">The bytes exactly as they were retrieved. They may contain scripts: open them with care.</p>
<ul>${objects.map(({ sha256, bytes }) => html`<li><a href="${CASE_PATHS.object(sha256)}" download><code>${sha256}</code></a> <span class="muted">${bytes} bytes</span></li>`)}</ul>`
}`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${shown.title}</title>
<style>
${STYLE}
</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.text;
}

function itemOf(contents: CaseContents, item: CaseItem): Piece {
  const note = item.note !== '' && html`<p class="text">${item.note}</p>`;
  if (item.kind === 'finding') {
    const finding = contents.findings.find(({ id }) => id === item.id);
    return html`<h2>Finding</h2>${note}${finding && findingOf(finding)}`;
  }
  // A finding that is an item is shown in its own place.
  const listed = new Set(contents.case.items.map(({ id }) => id));
  const about = contents.findings.filter(
    ({ id, target }) => target.kind === item.kind && target.id === item.id && !listed.has(id),
  );
  return html`<h2>${item.name}</h2>${item.kind === 'event' ? eventOf(contents, item) : packOf(contents, item)}${note}${about.map((finding) => html`<h3>Finding</h3>${findingOf(finding)}`)}`;
}

function eventOf({ events }: CaseContents, { id }: CaseItem): Piece {
  const event = events.find((each) => String(each.id) === id);
  if (!event) return undefined;
  const { event_type, observer, observed_at, original_observed_at, sha256, previous_sha256, source } = event;
  return html`<p class="muted">Event ${id}: ${event_type.replace('_', ' ')}, <bdi>${source.url}</bdi><br>
Retrieved ${timeText(observed_at)}${original_observed_at !== null && html`; ${observer === BROWSER ? html`drawn ${timeText(original_observed_at)} by a browser of this node` : html`${isHandedIn(observer) ? 'seen' : 'captured'} ${timeText(original_observed_at)} by ${foreignWords(observer)}`}`}<br>
${sha256 !== null && html`Object <code>${sha256}</code><br>`}
${previous_sha256 !== null && html`Before <code>${previous_sha256}</code>`}</p>
<p><a href="${CASE_PATHS.evidence(`event-${id}`)}">Evidence file</a></p>`;
}

function packOf({ packs }: CaseContents, { id, at }: CaseItem): Piece {
  const isHere = packs.some((pack) => pack.id === id);
  return html`<p class="muted">Pack ${id}, received ${timeText(at)}</p>
${isHere && html`<p><a href="${CASE_PATHS.evidence(id)}">Evidence file</a>, <a href="${CASE_PATHS.pack(id)}" download>pack file</a></p>`}`;
}

function findingOf({
  id,
  at,
  text,
  tags,
  passage,
  withdrawal,
  superseded_by,
  target,
  target_name,
}: Finding): Piece {
  const { record, proof } = CASE_PATHS.finding(id);
  return html`${passage !== null && html`<blockquote>${passage.exact}</blockquote>`}
<p class="text">${withdrawal === null ? text : `Withdrawn: ${withdrawal}`}</p>
<p class="muted">${id}, ${timeText(at)}, about ${target.kind} <bdi>${target_name}</bdi>${tags.length > 0 && html`. Tags: ${tags.map((tag, index) => html`${index > 0 && ', '}<bdi>${tag}</bdi>`)}`}${superseded_by !== null && `. Superseded by ${superseded_by}`}.
<a href="${record}">Record</a>, <a href="${proof}" download>proof</a></p>`;
}

function timeText(at: string): Piece {
  return html`<time datetime="${at}">${at.slice(0, 10)} ${at.slice(11, 19)} UTC</time>`;
}

/** The paths in the bag of a case, below `data/`. */
export const CASE_PATHS = {
  index: 'index.html',
  readme: 'README.txt',
  record: 'case.json',
  annotations: 'findings.jsonld',
  finding: (id: string) => ({
    record: `findings/${id}.json`,
    entry: `findings/${id}.entry.json`,
    proof: `findings/${id}.tlog-proof`,
  }),
  sealed: (id: string) => ({
    salt: `findings/${id}.salt`,
    entry: `findings/${id}.sealed.json`,
    proof: `findings/${id}.sealed.tlog-proof`,
    cosigned: `findings/${id}.sealed.cosigned.tlog-proof`,
    /** The reply of an authority, the text beside it that it stamped, and the proof for that size of the ledger. */
    timestamp: (number: number) => ({
      reply: `findings/${id}.sealed.${number}.tsr`,
      text: `findings/${id}.sealed.${number}.txt`,
      proof: `findings/${id}.sealed.${number}.tlog-proof`,
    }),
  }),
  evidence: (name: string) => `evidence/${name}.evidence.html`,
  pack: (id: string) => `packs/${id}.pack.zip`,
  /** Without an extension, so that no program opens archived content by itself. */
  object: (sha256: string) => `objects/${sha256}`,
};

/** Says what is in the bag and how to check it. */
export function readmeText({ id, title, changed_at }: Case): string {
  return `${title}
Case ${id}, last changed on ${changed_at}.

Open index.html in a browser. It needs no network and runs no script.

  evidence/   One evidence file for each event and pack. Open it in a browser: it checks itself.
  packs/      The pack files. Each is a ZIP with a BagIt bag.
  objects/    The bytes of web sources exactly as they were retrieved. The name of each file is its SHA-256.
              They may contain scripts: open them with care.
  findings/   For each finding what the ledger records (.json), its ledger entry (.entry.json), and the proof that
              the entry is in the ledger (.tlog-proof, C2SP). The SHA-256 of the .json is the "digest" in the entry.
              For one that was sealed before also the salt in hex (.salt), the entry that sealed it (.sealed.json) and
              the proof of that (.sealed.tlog-proof). Its "digest" is the SHA-256 of the bytes of the salt and the .json.
              When it was sealed: .sealed.cosigned.tlog-proof has the oldest checkpoint with it that a witness
              cosigned. .sealed.1.tsr is a timestamp (RFC 3161) of the text .sealed.1.txt, which is the checkpoint in
              .sealed.1.tlog-proof, and so on for each authority. Without these, only the clock of the node says when.
  findings.jsonld   All findings as a W3C Web Annotation collection.
  case.json         The case: its items in their order, with the notes.

To check that no file was changed:

  sha256sum -c manifest-sha256.txt      in the folder above this one
  strongroom verify THE-ZIP-OR-FOLDER   the same, with Strongroom
  strongroom verify data/evidence/*     checks the evidence itself: signatures, proofs and digests
  strongroom verify data/packs/*        checks each pack
  strongroom verify data/findings/*.tsr checks each timestamp

seal.txt in the folder above this one is signed by the node: the digests of manifest-sha256.txt and bag-info.txt, and so
of every file here.

The notes, the title and the order of the case are the owner's and can be changed. No ledger entry covers them, only the
seal of the bag that was made with them.
`;
}
