import type { Agreement, DifferingBlocks } from '../../../shared/collection/event.ts';
import { mayHoldToken } from '../../../shared/collection/handedIn.ts';
import {
  type ObservationRequest,
  type ObservationStatement,
  observationAnswerSchema,
  observationStatementSchema,
  type SourceObservers,
} from '../../../shared/node/observation.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  commitmentOf,
  OBSERVATION_WINDOW_MS,
  observationText,
  openStatement,
  REQUEST_HEADER,
} from '../../../shared/proof/evidence/observation.ts';
import { ProofError } from '../../../shared/proof/ledger/signedNote.ts';
import type { Texts } from '../../collection/derived/derived.ts';
import type { Look } from '../../collection/fetch/lookOnce.ts';
import type { Network } from '../../collection/fetch/requester.ts';
import {
  allowsPrivateAddress,
  isPrivateHost,
  PrivateAddressCheck,
} from '../../collection/sources/privateSources.ts';
import { archiveReadOnly, isReadOnly } from '../../ledger/appendEntry.ts';
import { nodeCrypto } from '../../ledger/checkpoint.ts';
import type { Checkpoints } from '../../ledger/checkpoints.ts';
import { recordObservation } from '../../ledger/peerEvidence.ts';
import { shuttingDown } from '../../runtime/jobs.ts';
import type { Log } from '../../runtime/log.ts';
import { type SourceRow, sourceById, sourceByKey } from '../../store/sqlite/collection/sources.ts';
import { type RecordedEventRow, recordedEvent } from '../../store/sqlite/collection/timeline/events.ts';
import {
  allPeers,
  observersOfSource,
  type PeerRow,
  peerById,
  setObserverOutcome,
  setObservers,
} from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';
import { type PeerClient, PeerError } from '../peerClient.ts';
import { requirePeer } from '../peerRecords.ts';
import { differingBlocks, digestOfNames, nameText, RequestAnswerer } from './answerRequests.ts';

interface ObservationsConfig {
  store: Store;
  checkpoints: Pick<Checkpoints, 'key' | 'signNote'>;
  texts: Pick<Texts, 'textOf'>;
  network: Network;
  /** Works with a peer over its pinned connection. */
  withPeer: <Result>(id: string, work: (client: PeerClient) => Promise<Result>) => Promise<Result>;
  /** Fetches an address once as any visitor gets it. */
  look: (url: string, signal: AbortSignal) => Promise<Look>;
  log: Log;
}

/** Requests to peers at once. Those of a larger round are left out: their minute would be over. */
const MAX_ASKED = 16;
const MAX_ANSWER_BYTES = 1_048_576;

/** The answer of a peer, verified. */
interface Answer {
  statement: ObservationStatement;
  /** As it was signed. */
  note: string;
  names: string[];
}

/** Has changes seen by two at one moment: asks peers to fetch an address too, and answers peers that ask. */
export class Observations {
  readonly #config: ObservationsConfig;
  readonly #answerer: RequestAnswerer;
  /** What runs: requests to peers, and answers to them. */
  readonly #running = new Set<Promise<void>>();
  #asking = 0;
  readonly #closing = new AbortController();

  constructor(config: ObservationsConfig) {
    this.#config = config;
    this.#answerer = new RequestAnswerer(config);
  }

  /** Answers a request of a peer. @throws Problem, as `RequestAnswerer.answer` */
  async answer(note: string): Promise<{ statement: string; blocks: string[] }> {
    if (this.#closing.signal.aborted) throw shuttingDown();
    const answering = this.#answerer.answer(note, this.#closing.signal);
    this.#follow(answering.then(ignore, ignore));
    try {
      return await answering;
    } catch (error) {
      if (this.#closing.signal.aborted) throw shuttingDown();
      throw error;
    }
  }

  /** Returns which peers are asked when a source changes. @throws Problem `not_found` */
  observersOf(id: string): SourceObservers {
    const { read } = this.#config.store;
    const source = requireSource(read, id);
    const chosen = observersOfSource(read, source.key);
    return {
      refusal: this.#refusalOf(source) ?? null,
      peers: allPeers(read).map((peer) => {
        const row = chosen.find((each) => each.peer === peer.id);
        const { asked_at = null, error = null } = row ?? {};
        return { peer: peer.id, name: peer.name, asked: row !== undefined, asked_at, error };
      }),
    };
  }

  /** Chooses the peers that are asked when a source changes. @throws Problem `not_found`, `invalid_field` */
  async choose(id: string, peers: readonly string[]): Promise<SourceObservers> {
    const { store } = this.#config;
    await store.write((database) => {
      const source = requireSource(database, id);
      const asked = new Set(observersOfSource(database, source.key).map(({ peer }) => peer));
      const refusal = this.#refusalOf(source);
      // Peers that were chosen before can be left out one by one.
      if (refusal !== undefined && peers.some((peer) => !asked.has(peer))) throw invalid(refusal);
      const unknown = peers.find((peer) => !peerById(database, peer));
      if (unknown !== undefined) throw invalid(`There is no peer ${unknown}.`);
      setObservers(database, source.key, peers);
    });
    return this.observersOf(id);
  }

  /** Asks the peers of a source that has a new version. It returns at once, and no failure is one of the check. */
  seen(sourceKey: number, event: number): void {
    if (this.#closing.signal.aborted) return;
    const asking = this.#askAll(sourceKey, event).catch((error: unknown) =>
      this.#config.log.error({ error }, 'A peer could not be asked to fetch an address'),
    );
    this.#follow(asking);
  }

  async #askAll(sourceKey: number, eventId: number): Promise<void> {
    const { read } = this.#config.store;
    const observers = observersOfSource(read, sourceKey);
    if (observers.length === 0 || isReadOnly(read)) return;
    const source = sourceByKey(read, sourceKey);
    const event = recordedEvent(read, eventId);
    if (source && event)
      await Promise.all(observers.map(({ peer }) => this.#askAndKeep(source, event, peer)));
  }

  /** Waits for it when the node closes. It must not be rejected. */
  #follow(work: Promise<void>): void {
    const ended = work.then(() => void this.#running.delete(ended));
    this.#running.add(ended);
  }

  /** Asks one peer, and keeps how that ended. */
  async #askAndKeep(source: SourceRow, event: RecordedEventRow, peer: string): Promise<void> {
    const { store } = this.#config;
    const asked_at = store.instant();
    let error: string | null = null;
    this.#asking += 1;
    try {
      await this.#ask(source, event, peer);
    } catch (thrown) {
      if (this.#closing.signal.aborted) return;
      error = sentenceOf(thrown);
    } finally {
      this.#asking -= 1;
    }
    await store.write((database) =>
      setObserverOutcome(database, { source_key: source.key, peer, asked_at, error }),
    );
  }

  /** @throws RefusedAnswer; ProofError; Problem of the connection */
  async #ask(source: SourceRow, event: RecordedEventRow, id: string): Promise<void> {
    const { store, withPeer } = this.#config;
    const refusal = this.#refusalOf(source);
    if (refusal !== undefined) throw new RefusedAnswer(refusal);
    if (event.sha256 === null) return;
    if (this.#asking > MAX_ASKED) throw new RefusedAnswer('Too many changes came at once.');
    // A private address is never sent to a peer. The name is resolved, because `allow_private` may be undecided.
    if (await new PrivateAddressCheck(this.#config.network).allows(source.url))
      throw new RefusedAnswer(PRIVATE_ADDRESS);
    const peer = requirePeer(store.read, id);
    if (peer.state === 'rewritten')
      throw new RefusedAnswer('The peer rewrote its ledger, so it is not asked.');
    const salt = store.randomHex(64);
    const { note, request } = this.#signRequest(source, event.sha256, salt, peer);
    const answer = await withPeer(id, (client) =>
      client.post('/api/observations', { request: note }, observationAnswerSchema, MAX_ANSWER_BYTES),
    );
    const verified = this.#verify(answer, { note, peer, event });
    const found = await this.#compare(event.sha256, verified);
    await store.write((database) => {
      // The key may have changed meanwhile, and the peer may be gone.
      if (peerById(database, id)?.key !== peer.key)
        throw new RefusedAnswer('The peer was removed or has another key.');
      recordObservation(database, {
        nonce: request.nonce,
        role: 'asked',
        at: store.instant(),
        peer: { id, name: peer.name, key: peer.key },
        request: note,
        statement: verified.note,
        event: event.id,
        salt,
        ...found,
      });
    });
  }

  #signRequest(
    { url }: SourceRow,
    sha256: string,
    salt: string,
    peer: PeerRow,
  ): { note: string; request: ObservationRequest } {
    const { store, checkpoints } = this.#config;
    const request = {
      nonce: store.randomHex(32),
      url,
      from: checkpoints.key.verifierKey,
      to: peer.key,
      commitment: commitmentOf(salt, sha256, nodeCrypto),
      requested_at: store.instant(),
    };
    const note = checkpoints.signNote(observationText(REQUEST_HEADER, request));
    if (note === null) throw archiveReadOnly();
    return { note, request };
  }

  /** @throws ProofError, RefusedAnswer */
  #verify(
    { statement: signed, blocks }: { statement: string; blocks: string[] },
    { note, peer, event }: { note: string; peer: PeerRow; event: RecordedEventRow },
  ): Answer {
    const { clock } = this.#config.store;
    const read = openStatement(signed, { request: note, key: peer.key }, nodeCrypto);
    const parsed = observationStatementSchema.safeParse(read);
    if (!parsed.success) throw new ProofError('The statement has no known form.');
    const statement = parsed.data;
    const observed = Date.parse(event.observed_at);
    if (clock.now() - observed > OBSERVATION_WINDOW_MS)
      throw new RefusedAnswer('The answer came more than a minute after the change was found.');
    if (Math.abs(Date.parse(statement.fetched_at) - observed) > OBSERVATION_WINDOW_MS)
      throw new RefusedAnswer('By its clock, the peer did not fetch it within a minute of this node.');
    const { text } = statement;
    if (digestOfNames(blocks) !== (text?.blocks_sha256 ?? digestOfNames([])))
      throw new RefusedAnswer('The blocks of the answer are not those that the peer signed.');
    return { statement, note: signed, names: blocks };
  }

  async #compare(
    sha256: string,
    { statement, names }: Answer,
  ): Promise<{ agreement: Agreement; blocks: DifferingBlocks | null }> {
    if (statement.sha256 === null) return { agreement: 'unreachable', blocks: null };
    if (statement.sha256 === sha256) return { agreement: 'same_bytes', blocks: null };
    const { tool, tool_version, content } = await this.#config.texts.textOf(sha256, 'low');
    const ours = content && nameText({ content, tool: `${tool} ${tool_version}` });
    const theirs = statement.text;
    if (!ours || !theirs || ours.text.tool !== theirs.tool) return { agreement: 'differs', blocks: null };
    if (ours.text.sha256 === theirs.sha256) return { agreement: 'same_text', blocks: null };
    return { agreement: 'differs', blocks: differingBlocks(ours, { text: theirs, names }) };
  }

  /** Why no peer is asked to fetch a source, as a sentence; undefined if peers may be asked. */
  #refusalOf(source: SourceRow): string | undefined {
    const { isPrivateAddress } = this.#config.network;
    if (source.needs_login || source.profile !== null)
      return 'It is watched with a login, and a peer would not see the same.';
    if (Object.keys(source.headers).length > 0)
      return 'It is fetched with request headers, and these are given to nobody.';
    if (allowsPrivateAddress(source, isPrivateAddress) || isPrivateHost(source.url, isPrivateAddress))
      return PRIVATE_ADDRESS;
    if (mayHoldToken(source.url)) return 'Its address may hold a secret.';
    return undefined;
  }

  /** Ends what runs, and waits for it. The connections to peers must be closed too. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}

function ignore(): void {}

/** What a peer answered is not recorded. The message is a sentence that says why. */
class RefusedAnswer extends Error {}

/** Says why nothing was recorded. */
function sentenceOf(error: unknown): string {
  if (error instanceof Problem && error.cause instanceof PeerError) {
    const { status, message } = error.cause;
    if (status === 404 || status === 405) return 'The peer has a version of Strongroom that cannot do this.';
    if (status === 422) return NOT_UNDERSTOOD;
    return status === 403 ? REFUSED : message;
  }
  if (error instanceof RefusedAnswer || error instanceof ProofError || error instanceof Problem)
    return error.message;
  throw error;
}

const PRIVATE_ADDRESS = 'It may be at a private address, which a peer cannot reach.';

const REFUSED =
  'The peer refused: its owner has not agreed, its daily limit is reached, or it could not fetch the address in time.';

const NOT_UNDERSTOOD =
  'The peer did not accept the request. Compare the clocks of both nodes, and whether it has this node’s key.';

function requireSource(database: Store['read'], id: string): SourceRow {
  const source = sourceById(database, id);
  if (!source || source.removed) throw new Problem('not_found', 'There is no such source.');
  return source;
}

function invalid(message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path: '/peers', message }] });
}
