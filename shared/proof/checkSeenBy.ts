import type { ProofCrypto } from './algorithms.ts';
import type { Claim, Evidence, ProvenEntry } from './evidence.ts';
import { judge, requireThat, sha256 } from './judge.ts';
import {
  commitmentOf,
  OBSERVATION_WINDOW_MS,
  openStatement,
  REQUEST_HEADER,
  readObservation,
} from './observation.ts';

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

const SAW: Readonly<Record<string, string>> = {
  same_bytes: 'the same bytes',
  same_text: 'other bytes with the same text',
  differs: 'something else',
  unreachable: 'nothing',
};

/**
 * Checks what a peer signed of an event: that it is for this event, that the peer was asked before the node could know the
 * answer, and that it agrees as the node says.
 */
export function checkSeenBy(
  proven: ProvenEntry,
  { recorded, key: ownKey }: Pick<Evidence, 'recorded' | 'key'>,
  crypto: ProofCrypto,
): Claim[] {
  let found: { agreement: string; name: string; key: string; at: string; from: string } | undefined;
  const signed = judge('A peer signed what it got from the same address.', '', () => {
    const event = JSON.parse(recorded.record) as {
      id: number;
      url: string;
      sha256: string | null;
      observed_at: string;
    };
    const record = JSON.parse(proven.record) as RecordedSeenBy;
    const { peer, request, agreement } = record;
    requireThat(sha256(proven.record, crypto) === proven.entry.digest, 'The record of the peer was altered.');
    const { type, subject } = proven.entry;
    requireThat(type === 'observation.signed' && subject === record.nonce, 'The entry is of something else.');
    const statement = openStatement(record.statement, { request, key: peer.key }, crypto);
    const asked = readObservation(request, REQUEST_HEADER);
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
    const apart = Date.parse(String(statement.fetched_at)) - Date.parse(event.observed_at);
    requireThat(
      Math.abs(apart) <= OBSERVATION_WINDOW_MS,
      'The peer did not fetch it within a minute of this observation.',
    );
    found = {
      agreement,
      name: peer.name,
      key: peer.key,
      at: String(statement.fetched_at),
      from: String(asked.from),
    };
  });
  if (!found) return [signed];
  const { agreement, name, key, at, from } = found;
  return [
    ...(from === ownKey
      ? []
      : [
          {
            verdict: 'claimed' as const,
            claim: 'The peer was asked by this node.',
            detail: `The request is signed by another key, an earlier one of this node or one of another node: ${from}`,
          },
        ]),
    {
      ...signed,
      claim: `${name} signed that it got ${SAW[agreement] ?? agreement} from the same address.`,
      detail: `Its Ed25519 signature is over the digest and this node’s request, which fixed this node’s result without telling it. Compare its key: ${key}`,
    },
    {
      verdict: 'claimed',
      claim: `${name} fetched it itself, at ${at}.`,
      detail: 'Only the peer states this. It could have learned the result of this node in another way.',
    },
    ...(agreement === 'same_text'
      ? [
          {
            verdict: 'claimed' as const,
            claim: 'The text of both is the same.',
            detail: 'The peer signed the digest of its text. The node compared it with its own.',
          },
        ]
      : []),
  ];
}
