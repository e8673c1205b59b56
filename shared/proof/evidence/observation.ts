import canonicalize from 'canonicalize';
import { INSTANT } from '../../values/clock.ts';
import { inQuotes } from '../../values/quotes.ts';
import type { ProofCrypto } from '../crypto/algorithms.ts';
import { hexOf, utf8 } from '../crypto/bytes.ts';
import { countLines, noteBody, ProofError, rawKeyOf, signatureState } from '../ledger/signedNote.ts';
import { shownKey, shownKeyName } from '../words.ts';
import {
  type EvidenceClaim,
  judge,
  type ProvenEntry,
  recordIn,
  requireThat,
  sha256,
  stated,
} from './evidence.ts';

/** How far the clocks and the fetches of both nodes may be apart. */
export const OBSERVATION_WINDOW_MS = 60_000;

/**
 * The first lines of the two signed notes with which an address is seen by two nodes at one moment. No checkpoint begins so,
 * because the origin of a log is the name of its node.
 */
export const REQUEST_HEADER = 'strongroom.observation-request@1';
export const STATEMENT_HEADER = 'strongroom.observation@1';
type Header = typeof REQUEST_HEADER | typeof STATEMENT_HEADER;

type Json = Readonly<Record<string, unknown>>;

/** The text that a node signs: a header, and canonical JSON. */
export function observationText(header: Header, value: unknown): `strongroom.${string}` {
  return `${header}\n${canonicalize(value)}\n`;
}

/** The SHA-256, in hex, that names a request in the statement which answers it. */
export function requestDigest(note: string, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', utf8(noteBody(note))));
}

/** What a node fixes its result with before it asks: without the salt, it says nothing. */
export function commitmentOf(salt: string, sha256: string, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', utf8(`${salt}\n${sha256}\n`)));
}

/** Reads a note without verifying its signature. @throws ProofError */
export function readObservation(note: string, header: Header): Json {
  const body = noteBody(note);
  const value = valueIn(body, header);
  if (typeof value !== 'object' || value === null) throw new ProofError('This is not a signed observation.');
  return { ...value };
}

/** Returns the value that is written in this text in the only way that there is; undefined if there is none. */
function valueIn(body: string, header: Header): unknown {
  try {
    const value: unknown = JSON.parse(body.split('\n', 2)[1] ?? '');
    return observationText(header, value) === body ? value : undefined;
  } catch {
    // Not JSON, or nested so deeply that it cannot be written: no observation.
    return undefined;
  }
}

/** Verifies and reads a note with one signature, so that nothing unsigned is kept with it. @throws ProofError */
export function openObservation(note: string, header: Header, key: string, crypto: ProofCrypto): Json {
  if (signatureState(note, key, crypto) !== 'valid' || countLines(note) !== 1)
    throw new ProofError(`${key.split('+', 1)[0]} has not signed this.`);
  return readObservation(note, header);
}

/**
 * Verifies that a statement is signed with this key and answers this request. Its time is not checked here.
 *
 * @throws ProofError
 */
export function openStatement(
  note: string,
  { request: asked, key }: { request: string; key: string },
  crypto: ProofCrypto,
): Json {
  const statement = openObservation(note, STATEMENT_HEADER, key, crypto);
  const request = readObservation(asked, REQUEST_HEADER);
  if (statement.request !== requestDigest(asked, crypto) || statement.nonce !== request.nonce)
    throw new ProofError('The statement answers another request.');
  if (statement.url !== request.url || statement.requested_at !== request.requested_at)
    throw new ProofError('The statement is about another address.');
  if (statement.by !== key || request.to !== key)
    throw new ProofError('The statement is by another node than the one that was asked.');
  if ((statement.error === null) === (statement.sha256 === null))
    throw new ProofError('The statement says neither what was got nor why nothing was.');
  return statement;
}

/** What the node recorded of a peer that fetched the address at the same time. */
interface RecordedSeenBy {
  nonce: string;
  peer: { name: string; key: string };
  request: string;
  statement: string;
  event: number;
  salt: string;
  agreement: string;
}

/** The key by which a request says that it is signed. @throws ProofError */
function fromIn(request: string): string {
  return String(readObservation(request, REQUEST_HEADER).from);
}

/** What the statement of the peer proves for each agreement. The node alone compares the texts. */
const SAW: Readonly<Record<string, string>> = {
  same_bytes: 'the same bytes',
  same_text: 'other bytes',
  differs: 'other bytes',
  unreachable: 'nothing',
};

/** The record of a peer, in canonical JSON, and what its entry says of it. */
interface RecordedEntry {
  entry: Pick<ProvenEntry['entry'], 'type' | 'subject' | 'digest'>;
  record: string;
}

/**
 * Checks what a peer signed of an event: that it is for this event, that the peer was asked before the node could know the
 * answer, and that it agrees as the node says.
 *
 * @param seen the keys of the node and of the peers before, to which that of this peer is added
 */
export function checkSeenBy(
  proven: RecordedEntry,
  { recorded, key: ownKey }: { recorded: Pick<ProvenEntry, 'record'>; key: string },
  crypto: ProofCrypto,
  seen = new Set([rawKeyOf(ownKey)]),
): EvidenceClaim[] {
  let found: { agreement: string; called: string; key: string; at: string; from: string } | undefined;
  const signed = judge('seen_by', 'A peer signed what it got from the same address.', '', () => {
    const event = recordIn(recorded.record) as {
      id: number;
      url: string;
      sha256: string | null;
      observed_at: string;
    };
    const record = recordIn(proven.record) as unknown as RecordedSeenBy;
    requireThat(sha256(proven.record, crypto) === proven.entry.digest, 'The record of the peer was altered.');
    const { peer, request, agreement } = record;
    const { type, subject } = proven.entry;
    requireThat(type === 'observation.signed' && subject === record.nonce, 'The entry is of something else.');
    const statement = openStatement(record.statement, { request, key: peer.key }, crypto);
    const asked = openObservation(request, REQUEST_HEADER, fromIn(request), crypto);
    const ownKeys = [ownKey, fromIn(request)].map(rawKeyOf);
    requireThat(!ownKeys.includes(rawKeyOf(peer.key)), 'The key of the peer is that of the node itself.');
    requireThat(!seen.has(rawKeyOf(peer.key)), 'The same peer signed twice.');
    seen.add(rawKeyOf(peer.key));
    requireThat(Object.hasOwn(SAW, agreement), 'The node says in no known way how both agree.');
    requireThat(
      record.event === event.id && asked.url === event.url && asked.nonce === record.nonce,
      'The peer was asked about another event.',
    );
    requireThat(
      event.sha256 !== null && asked.commitment === commitmentOf(record.salt, event.sha256, crypto),
      'The node had fixed another result before it asked.',
    );
    const got = statement.sha256;
    requireThat(
      (agreement === 'same_bytes') === (got === event.sha256) &&
        (agreement === 'unreachable') === (got === null),
      'The peer signed something else than the node says.',
    );
    requireThat(agreement !== 'same_text' || Boolean(statement.text), 'The peer signed that it got no text.');
    const fetched = String(statement.fetched_at);
    // In another form, a time would depend on where it is read.
    requireThat(
      INSTANT.test(event.observed_at) && INSTANT.test(fetched),
      'A time has another form than a node writes.',
    );
    const apart = Date.parse(fetched) - Date.parse(event.observed_at);
    requireThat(
      Math.abs(apart) <= OBSERVATION_WINDOW_MS,
      'The peer did not fetch it within a minute of this observation.',
    );
    found = {
      agreement,
      called: peer.name,
      key: peer.key,
      at: fetched,
      from: String(asked.from),
    };
  });
  if (!found) return [signed];
  const { agreement, called, key, at, from } = found;
  // What the node calls the peer, no peer has signed.
  const name = shownKeyName(key);
  const alias = called === name ? '' : ` The node calls it ${inQuotes(called)}.`;
  return [
    ...(from === ownKey
      ? []
      : [
          stated(
            'The peer was asked by this node.',
            `The request is signed by another key, an earlier one of this node or one of another node: ${shownKey(from)}`,
          ),
        ]),
    {
      ...signed,
      ...(from === ownKey
        ? {
            name: `${name} signed that it got ${SAW[agreement]} from the same address.`,
            detail: `Its Ed25519 signature is over the digest and this node’s request, which fixed this node’s result without telling it.${alias} Compare its key: ${shownKey(key)}`,
          }
        : {
            name: `${name} signed, as another key asked, that it got ${SAW[agreement]} from the same address.`,
            detail: `Its Ed25519 signature is over the digest and that request, which fixed a result without telling it.${alias} Compare its key: ${shownKey(key)}`,
          }),
    },
    stated(
      `${name} fetched it itself, at ${at}.`,
      'Only the peer states this. It could have learned the result of this node in another way.',
    ),
    ...(agreement === 'same_text'
      ? [
          stated(
            'The text of both is the same.',
            'The peer signed the digest of its text. The node compared it with its own.',
          ),
        ]
      : []),
  ];
}
