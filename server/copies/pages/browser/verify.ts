import { sha256 } from '@noble/hashes/sha2.js';
import canonicalize from 'canonicalize';
import { concat, hexOf, isSameBytes, utf8 } from '../../../../shared/proof/crypto/bytes.ts';
import { noteCrypto } from '../../../../shared/proof/crypto/noteCrypto.ts';
import { noteBody, parseCheckpoint, signatureState } from '../../../../shared/proof/ledger/signedNote.ts';
import {
  splitEntries,
  TILE_WIDTH,
  type TileAddress,
  tilePath,
} from '../../../../shared/proof/ledger/tree.ts';
import { CHECKPOINT, LEFT_OUT, objectPath, recordsFiles } from '../../copyPaths.ts';
import { digestOf, verifyFiles } from './verifyFiles.ts';

/*
 * Verifies, in the browser, files against the digests of a copy, and an entry of the ledger: its inclusion in the signed
 * checkpoint, what it records, and the objects that the record names. Reads only files of the copy.
 */

const MAX_FAULTS = 100;

const byId = (id: string) => document.getElementById(id) as HTMLElement;
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
/** The verifier key of the archive, as the page names it. */
const key = () => document.querySelector('[data-key]')?.getAttribute('data-key') ?? '';

/** Reads a file of the copy; undefined if there is none. */
async function readIfPresent(path: string): Promise<Response | undefined> {
  const answer = await fetch(path, { cache: 'no-cache' });
  if (answer.status === 404 || answer.status === 403) return undefined;
  if (!answer.ok) throw new Error(`${path} cannot be read (${answer.status}).`);
  return answer;
}

async function read(path: string): Promise<Response> {
  const answer = await readIfPresent(path);
  if (!answer) throw new Error(`${path} is missing.`);
  return answer;
}

/** Adds a claim to a list, and returns how it turned out, to be called as often as that changes. */
function addClaim(list: HTMLElement, claim: string) {
  const item = document.createElement('li');
  const result = document.createElement('p');
  item.append(claim, result);
  list.append(item);
  return (verdict: '' | 'holds' | 'fails' | 'claimed', words: string, ...more: Node[]) => {
    const sign = { '': '', holds: '✓ ', fails: '✕ ', claimed: '? ' }[verdict];
    result.className = verdict;
    result.replaceChildren(sign + words, ...more);
  };
}

function decide(list: HTMLElement, claim: string, holds: boolean): void {
  addClaim(list, claim)(holds ? 'holds' : 'fails', holds ? 'Holds.' : 'Fails.');
}

async function checkFile(file: File): Promise<void> {
  const say = addClaim(byId('hashed'), file.name);
  try {
    let bytes = 0;
    const digest = await digestOf(file.stream(), (chunk) => {
      bytes += chunk.length;
      say('', `${Math.floor((bytes / Math.max(1, file.size)) * 100)} % hashed`);
    });
    const isHeld = (await fetch(objectPath(digest), { method: 'HEAD' })).ok;
    if (!isHeld) return say('claimed', `${digest}: no object of this copy has this digest.`);
    const link = document.createElement('a');
    link.href = objectPath(digest);
    link.download = file.name;
    link.textContent = 'the stored object';
    say('holds', `${digest}: this copy holds the same bytes, `, link);
  } catch (error) {
    say('fails', messageOf(error));
  }
}

const tiles = new Map<string, Promise<Uint8Array>>();

function readTile(level: TileAddress['level'], index: number, size: number): Promise<Uint8Array> {
  const hashes = level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level);
  const path = tilePath({ level, index, width: Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH) });
  const tile = tiles.get(path) ?? read(path).then((answer) => answer.bytes());
  tiles.set(path, tile);
  return tile;
}

/** The root of a tree (RFC 6962) of which one leaf is given, and all other hashes are in tiles. */
function rootWith(leaf: Uint8Array, { place, size }: { place: number; size: number }): Promise<Uint8Array> {
  const root = async (start: number, end: number): Promise<Uint8Array> => {
    if (end - start === 1 && start === place) return leaf;
    const level = Math.log2(end - start);
    const hasPlace = start <= place && place < end;
    if (!hasPlace && Number.isInteger(level)) return stored(level, start / (end - start));
    const middle = start + 2 ** (Math.ceil(level) - 1);
    return parentOf(await root(start, middle), await root(middle, end));
  };
  const stored = async (level: number, index: number): Promise<Uint8Array> => {
    if (level % 8 > 0)
      return parentOf(await stored(level - 1, index * 2), await stored(level - 1, index * 2 + 1));
    const tile = await readTile(level / 8, Math.floor(index / TILE_WIDTH), size);
    const at = (index % TILE_WIDTH) * 32;
    return tile.subarray(at, at + 32);
  };
  return root(0, size);
}

function parentOf(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(concat(Uint8Array.of(1), left, right));
}

interface Entry {
  seq: number;
  type: string;
  subject: string;
  digest: string;
}

/** The members that an entry records, by its type. Others record the member `record`. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  'study.created': ['id', 'title', 'question', 'description', 'node', 'status', 'created_at'],
  'pack.deposited': ['pack', 'doi', 'url', 'repository', 'at'],
  'event.recorded': [
    'id',
    'source',
    'url',
    'retrieval',
    'event_type',
    'observer',
    'observed_at',
    'original_observed_at',
    'sha256',
    'previous_sha256',
    'reverts_to',
    'page_label',
  ],
};

type Line = Record<string, unknown>;

/** Returns what an entry records, from the file of its records. */
async function readRecord(seq: number, size: number): Promise<Line> {
  const [{ path } = { path: '' }] = recordsFiles(size, seq);
  for (const line of (await (await read(path)).text()).split('\n')) {
    if (line === '' || line.startsWith('{"kind":"entry"') || !line.includes(`"ledger_entry":${seq}`))
      continue;
    const value = JSON.parse(line) as Line;
    if (value.ledger_entry === seq) return value;
  }
  throw new Error(`${path} has no record of entry ${seq}.`);
}

function recordedPart({ type }: Entry, line: Line, claimed: URLSearchParams): unknown {
  const names = MEMBERS[type];
  if (!names) return line.record;
  // The line names an event's source by a number. Its id and its address come from the link, and the digest covers them.
  const all: Line = { ...line, source: claimed.get('source'), url: claimed.get('url') };
  // Only the event of a page has that member.
  const recorded = typeof line.page === 'string' ? [...names, 'page'] : names;
  return Object.fromEntries(recorded.map((name) => [name, all[name]]));
}

/** Returns the digests of the objects that a record names. */
function objectsOf(entry: Entry, record: unknown): Set<string> {
  const named = record as { files?: { sha256: string }[]; [member: string]: unknown };
  const files = named.files ?? [];
  const shown = entry.type === 'page.captured' ? [named.document, named.text, named.picture] : [];
  const all = [named.sha256, named.previous_sha256, ...shown, ...files.map((file) => file.sha256)];
  return new Set(all.filter((each) => typeof each === 'string'));
}

/** Returns why the copy does not have an object in the clear; undefined if it should have it. */
async function whyAbsent(digest: string, { seq, size }: { seq: number; size: number }) {
  if ((await (await readIfPresent(LEFT_OUT))?.text())?.split('\n').includes(digest))
    return 'Withheld: the object is not in this copy. The record and the digest are verified.';
  for (const { path } of recordsFiles(size, seq))
    for (const line of (await (await read(path)).text()).split('\n'))
      if (line.startsWith('{"kind":"object_released"') && line.includes(digest))
        return 'Released: the bytes were given up, as the ledger records. The record and the digest are verified.';
  return undefined;
}

async function checkObject(
  list: HTMLElement,
  digest: string,
  place: { seq: number; size: number },
): Promise<void> {
  const say = addClaim(list, `The object ${digest} has this digest.`);
  const answer = await readIfPresent(objectPath(digest));
  if (!answer) {
    const why = await whyAbsent(digest, place);
    return why === undefined ? say('fails', `Fails: ${objectPath(digest)} is missing.`) : say('claimed', why);
  }
  let bytes = 0;
  const found = await digestOf(answer.body, (chunk) => {
    bytes += chunk.length;
    say('', `${bytes} bytes hashed`);
  });
  if (found === digest) say('holds', 'Holds.');
  else say('fails', `Fails: the bytes of this copy have the digest ${found}.`);
}

async function checkEntry(claimed: URLSearchParams): Promise<void> {
  const seq = Number(claimed.get('entry'));
  const list = byId('claims');
  list.replaceChildren();
  byId('record').hidden = false;
  byId('seq').textContent = String(seq);
  byId('key').textContent = key();
  const note = await (await read(CHECKPOINT)).text();
  const checkpoint = parseCheckpoint(noteBody(note));
  if (!checkpoint) throw new Error('The file checkpoint is not a checkpoint.');
  const { size } = checkpoint;
  const isSigned = signatureState(note, key(), noteCrypto) === 'valid';
  decide(list, `The checkpoint of ${size} entries is signed by the archive’s key.`, isSigned);
  const place = seq - 1;
  const entries = splitEntries(await readTile('entries', Math.floor(place / TILE_WIDTH), size));
  const leaf = entries[place % TILE_WIDTH] ?? new Uint8Array();
  const entry = JSON.parse(new TextDecoder().decode(leaf)) as Entry;
  byId('subject').textContent = `${entry.type} ${entry.subject}`;
  const root = await rootWith(sha256(concat(Uint8Array.of(0), leaf)), { place, size });
  const isIncluded = entry.seq === seq && isSameBytes(root, checkpoint.root);
  decide(list, 'The entry is in the ledger that the checkpoint covers.', isIncluded);
  const record = recordedPart(entry, await readRecord(seq, size), claimed);
  const isRecorded = hexOf(sha256(utf8(canonicalize(record) ?? ''))) === entry.digest;
  decide(list, 'The record matches the entry.', isRecorded);
  for (const digest of objectsOf(entry, record)) await checkObject(list, digest, { seq, size });
}

/** Verifies every file of the copy, and names those that are changed or missing. */
async function checkAll(): Promise<void> {
  const button = byId('verify-all') as HTMLButtonElement;
  const faults = byId('faults');
  button.disabled = true;
  faults.replaceChildren();
  try {
    const files = await verifyFiles({
      key: key(),
      read: readIfPresent,
      onFault: (path, fault) => {
        if (faults.childElementCount < MAX_FAULTS) addClaim(faults, path)('fails', `This file is ${fault}.`);
      },
      onFile: (done, total) => {
        if (done % 20 === 0 || done === total)
          byId('verified').textContent = `${done} of ${total} files verified`;
      },
    });
    const found = faults.childElementCount === 0 ? 'All files are intact' : 'Not all files are intact';
    byId('verified').textContent = `${found}: ${files} were verified.`;
  } catch (error) {
    byId('verified').textContent = messageOf(error);
  } finally {
    button.disabled = false;
  }
}

function start(): void {
  const claimed = new URLSearchParams(location.hash.slice(1));
  if (!/^[1-9]\d{0,14}$/.test(claimed.get('entry') ?? '')) return;
  checkEntry(claimed).catch((error: unknown) => {
    addClaim(byId('claims'), 'The verification stopped.')('fails', messageOf(error));
  });
}

function checkChosen(chosen: Iterable<File>): void {
  const checkEach = async () => {
    for (const file of chosen) await checkFile(file);
  };
  checkEach().catch(reportError);
}

const drop = byId('drop');
const files = byId('files') as HTMLInputElement;
files.addEventListener('change', () => checkChosen(files.files ?? []));
drop.addEventListener('dragover', (event) => {
  event.preventDefault();
  drop.classList.add('over');
});
drop.addEventListener('dragleave', () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => {
  event.preventDefault();
  drop.classList.remove('over');
  checkChosen(event.dataTransfer?.files ?? []);
});
byId('verify-all').addEventListener('click', () => void checkAll());
addEventListener('hashchange', start);
start();
