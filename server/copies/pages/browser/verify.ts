import { noteCrypto } from '../../../../shared/proof/crypto/noteCrypto.ts';
import {
  ifValid,
  noteBody,
  openCheckpoint,
  parseCheckpoint,
} from '../../../../shared/proof/ledger/signedNote.ts';
import { CHECKPOINT, LEFT_OUT, objectPath } from '../../copyPaths.ts';
import { SignedFiles } from './signedFiles.ts';
import { CopiedLedger, objectsOf } from './verifyEntry.ts';
import { digestOf, objectsNamedBy, verifyFiles } from './verifyFiles.ts';

/*
 * Verifies, in the browser, files against the digests of a copy, and an entry of the ledger: its inclusion in the signed
 * checkpoint, what it records, and the objects that the record names. Reads only files of the copy. Each sentence rests on
 * what was verified, or says what was not.
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

type Verdict = '' | 'holds' | 'fails' | 'claimed';
/** Says how a claim turned out. It may be called as often as that changes. */
type Say = (verdict: Verdict, words: string, ...more: Node[]) => void;

/** Adds a claim to a list. */
function addClaim(list: HTMLElement, claim: string): Say {
  const item = document.createElement('li');
  const result = document.createElement('p');
  item.append(claim, result);
  list.append(item);
  return (verdict, words, ...more) => {
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
    const signed = await SignedFiles.open(readIfPresent, key());
    const place = await placeOfRecord(signed, digest, say);
    if (place === undefined)
      return say(
        'claimed',
        `${digest}: no record names these bytes, in the files of records that the key signed.`,
      );
    const named = `${digest}: ${place} names these bytes, and the key signed that file.`;
    const answer = await readIfPresent(objectPath(digest));
    if (!answer) return say('claimed', `${named} The object itself is not in this copy.`);
    const found = await digestOf(answer.body);
    if (found !== digest) return say('fails', `${named} The object of this copy has other bytes: ${found}.`);
    const link = document.createElement('a');
    link.href = objectPath(digest);
    link.download = file.name;
    link.textContent = 'the stored object';
    say('holds', `${named} This copy holds the same bytes, `, link);
  } catch (error) {
    say('fails', messageOf(error));
  }
}

/** Returns the file whose records name an object; undefined if none does. Only what the key signed is searched. */
async function placeOfRecord(signed: SignedFiles, digest: string, say: Say): Promise<string | undefined> {
  let searched = 0;
  for await (const { path } of signed.all(requireFile)) {
    if (!path.startsWith('records/')) continue;
    searched += 1;
    say('', `${digest}: ${searched} files of records searched`);
    const text = await signed.text(path);
    if (text === undefined) throw new Error(`${path} is missing, or not as the signed list says.`);
    if (!text.includes(digest)) continue;
    for (const line of text.split('\n')) if (objectsNamedBy(line).has(digest)) return path;
  }
  return undefined;
}

function requireFile(path: string, fault: string): never {
  throw new Error(`${path} is ${fault}, so the records of this copy cannot be searched.`);
}

/** A checkpoint and the ledger below it. */
interface Checked {
  ledger: CopiedLedger;
  isSigned: boolean;
  seq: number;
}

/** Returns why the copy does not have an object, as far as it can be verified; undefined if it should have it. */
async function whyAbsent(digest: string, { ledger, isSigned, seq }: Checked): Promise<string | undefined> {
  const release = await ledger.release(digest, seq);
  if (release !== undefined && isSigned)
    return `Given up: ledger entry ${release}, which the checkpoint covers, records that the bytes were released.`;
  const signed = await SignedFiles.open(readIfPresent, key());
  if ((await signed.text(LEFT_OUT))?.split('\n').includes(digest))
    return `Not in this copy: the key signed that the object is withheld (${LEFT_OUT}). Its bytes were not verified.`;
  return undefined;
}

async function checkObject(list: HTMLElement, digest: string, checked: Checked): Promise<void> {
  const say = addClaim(list, `The object ${digest} has this digest.`);
  const answer = await readIfPresent(objectPath(digest));
  if (!answer) {
    const why = await whyAbsent(digest, checked);
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
  // Also that the key is of the archive whose checkpoint it is: one key may sign for another name.
  const isSigned = ifValid(() => openCheckpoint(note, key(), noteCrypto)) !== undefined;
  decide(list, `The checkpoint of ${checkpoint.size} entries is signed by the archive’s key.`, isSigned);
  const ledger = new CopiedLedger(read, checkpoint);
  const { entry, isIncluded } = await ledger.entry(seq);
  byId('subject').textContent = `${entry.type} ${entry.subject}`;
  decide(list, 'The entry is in the ledger that the checkpoint covers.', isIncluded);
  const { record, isRecorded } = await ledger.record(entry, claimed);
  decide(list, 'The record matches the entry.', isRecorded);
  for (const digest of objectsOf(entry, record)) await checkObject(list, digest, { ledger, isSigned, seq });
}

/** Verifies every file of the copy, and names those that are changed or missing. */
async function checkAll(): Promise<void> {
  const button = byId('verify-all') as HTMLButtonElement;
  const faults = byId('faults');
  button.disabled = true;
  faults.replaceChildren();
  try {
    const { files, withheld } = await verifyFiles({
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
    const found = faults.childElementCount === 0 ? 'All are intact' : 'Not all are intact';
    const leftOut = withheld === 0 ? '' : ` Withheld objects that are not in this copy: ${withheld}.`;
    byId('verified').textContent =
      `${found}: ${files} files were verified, which the signed list and the records name.${leftOut} Files that neither names were not looked for, and the records were not compared with the ledger.`;
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
