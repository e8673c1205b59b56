import { blocksOf, type DifferingBlocks, MAX_LISTED_BLOCKS } from '../../../shared/collection/event.ts';
import { mayHoldToken } from '../../../shared/collection/handedIn.ts';
import {
  MAX_BLOCKS,
  type ObservationRequest,
  type ObservationStatement,
  type ObservedText,
  observationRequestSchema,
} from '../../../shared/node/observation.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  OBSERVATION_WINDOW_MS,
  observationText,
  openObservation,
  REQUEST_HEADER,
  readObservation,
  requestDigest,
  STATEMENT_HEADER,
} from '../../../shared/proof/evidence/observation.ts';
import { ProofError } from '../../../shared/proof/ledger/signedNote.ts';
import { decompressContent, type TextContent } from '../../collection/derived/process/tasks.ts';
import type { Look } from '../../collection/fetch/lookOnce.ts';
import { HostBackoffError } from '../../collection/schedule/hostRateLimiter.ts';
import { archiveReadOnly, isReadOnly } from '../../ledger/appendEntry.ts';
import { nodeCrypto } from '../../ledger/checkpoint.ts';
import type { Checkpoints } from '../../ledger/checkpoints.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { recordObservation } from '../../ledger/peerEvidence.ts';
import { allPeers, countAnswered, type PeerRow, wasAnswered } from '../../store/sqlite/node/peers.ts';
import type { Store } from '../../store/store.ts';

interface AnswerServices {
  store: Store;
  checkpoints: Pick<Checkpoints, 'key' | 'signNote'>;
  /** Fetches an address once as any visitor gets it. */
  look: (url: string, signal: AbortSignal) => Promise<Look>;
}

/** The asking node waits 30 seconds for an answer to begin. */
const LOOK_MS = 24_000;
/** Requests of one peer that are answered at once. */
const MAX_RUNNING = 4;

/** Fetches addresses for peers that the owner agreed to do so for, and signs what it got. */
export class RequestAnswerer {
  readonly #services: AnswerServices;
  /** The requests that are being answered: the key of the peer by the nonce. They count for the quota. */
  readonly #running = new Map<string, string>();
  /** The requests of a day that brought nothing to sign, by the key of the peer. They count too. */
  readonly #failed = new Map<string, number>();
  #failedOn = '';

  constructor(services: AnswerServices) {
    this.#services = services;
  }

  /**
   * Answers a request of a peer: fetches the address, records the statement in the ledger and returns it.
   *
   * @throws Problem `observation_refused`, `invalid_field`, `private_address`, `archive_read_only`, `shutting_down`
   */
  async answer(note: string, closing: AbortSignal): Promise<{ statement: string; blocks: string[] }> {
    const { store } = this.#services;
    if (isReadOnly(store.read)) throw archiveReadOnly();
    const { request, peer } = this.#open(note);
    this.#admit(request, peer);
    this.#running.set(request.nonce, peer.key);
    try {
      return await this.#lookAndSign(note, request, peer, closing);
    } catch (error) {
      this.#countFailed(peer.key);
      throw error;
    } finally {
      this.#running.delete(request.nonce);
    }
  }

  /** Verifies that a peer signed this request for this node now. */
  #open(note: string): { request: ObservationRequest; peer: PeerRow } {
    const { store, checkpoints } = this.#services;
    const request = parsed(() => readObservation(note, REQUEST_HEADER));
    // The signature is verified first. Otherwise anyone could find out for which keys this node fetches addresses.
    parsed(() => openObservation(note, REQUEST_HEADER, request.from, nodeCrypto));
    const peer = allPeers(store.read).find((row) => row.key === request.from);
    if (!peer || peer.observe_per_day === 0 || peer.state === 'rewritten')
      throw refused('This node does not fetch addresses for you. Ask its owner.');
    if (request.to !== checkpoints.key.verifierKey) throw invalid('This request is for another node.');
    if (Math.abs(store.clock.now() - Date.parse(request.requested_at)) > OBSERVATION_WINDOW_MS)
      throw invalid('This request is not of this minute. Compare the clocks of both nodes.');
    return { request, peer };
  }

  #admit({ nonce, url }: ObservationRequest, { key, observe_per_day }: PeerRow): void {
    const { read, instant } = this.#services.store;
    if (this.#running.has(nonce) || wasAnswered(read, nonce)) throw invalid('This request was answered.');
    if (mayHoldToken(url)) throw refused('The address may hold a secret.');
    const running = [...this.#running.values()].filter((of) => of === key).length;
    if (running >= MAX_RUNNING) throw refused('Too many of your requests are being answered.');
    const today = `${instant().slice(0, 10)}T00:00:00.000Z`;
    const failed = this.#failedOn === today.slice(0, 10) ? (this.#failed.get(key) ?? 0) : 0;
    if (countAnswered(read, key, today) + failed + running >= observe_per_day)
      throw refused(`This node fetches at most ${observe_per_day} addresses a day for you.`);
  }

  #countFailed(key: string): void {
    const today = this.#services.store.instant().slice(0, 10);
    if (this.#failedOn !== today) this.#failed.clear();
    this.#failedOn = today;
    this.#failed.set(key, (this.#failed.get(key) ?? 0) + 1);
  }

  async #lookAndSign(
    note: string,
    request: ObservationRequest,
    peer: PeerRow,
    closing: AbortSignal,
  ): Promise<{ statement: string; blocks: string[] }> {
    const { store, checkpoints } = this.#services;
    const { nonce, url, requested_at } = request;
    const { text, at, ...look } = await this.#look(url, closing);
    const named = text && nameText(text);
    const statement: ObservationStatement = {
      nonce,
      request: requestDigest(note, nodeCrypto),
      url,
      by: checkpoints.key.verifierKey,
      requested_at,
      fetched_at: at,
      ...look,
      text: named?.text ?? null,
    };
    const signed = await store.write((database) => {
      // The transaction may have had to wait. What is signed later was not seen at one moment.
      if (store.clock.now() - Date.parse(requested_at) > OBSERVATION_WINDOW_MS) throw tooLate();
      const signature = checkpoints.signNote(observationText(STATEMENT_HEADER, statement));
      if (signature === null) throw archiveReadOnly();
      recordObservation(database, {
        nonce,
        role: 'answered',
        at: store.instant(),
        peer: { id: peer.id, name: peer.name, key: peer.key },
        request: note,
        statement: signature,
        event: null,
        salt: null,
        agreement: null,
        blocks: null,
      });
      return signature;
    });
    return { statement: signed, blocks: named?.names ?? [] };
  }

  /** Fetches within the time in which the answer is of use. */
  async #look(url: string, closing: AbortSignal): Promise<Look> {
    const { store, look } = this.#services;
    const [late, done] = [new AbortController(), new AbortController()];
    store.clock.sleep(LOOK_MS, done.signal).then(
      () => late.abort(),
      () => {},
    );
    try {
      const seen = await look(url, AbortSignal.any([closing, late.signal]));
      // Making the text is not aborted.
      late.signal.throwIfAborted();
      return seen;
    } catch (error) {
      if (error instanceof HostBackoffError)
        throw refused('The host of the address is not asked again so soon.');
      if (late.signal.aborted && !closing.aborted) throw tooLate();
      throw error;
    } finally {
      done.abort();
    }
  }
}

/** Reads a request. What is wrong with it is an error of who sent it. */
function parsed(read: () => object): ObservationRequest {
  try {
    const request = observationRequestSchema.safeParse(read());
    if (request.success) return request.data;
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    throw invalid(error.message);
  }
  throw invalid('This is not a request of a known form.');
}

function invalid(message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path: '/request', message }] });
}

function tooLate(): Problem {
  return refused('The address could not be fetched in time.');
}

function refused(sentence: string): Problem {
  return new Problem('observation_refused', sentence);
}

/** Hex digits of the SHA-256 of a block that name it. */
const BLOCK_DIGITS = 32;

/** A text by its digests, with the names of its blocks; none if it has too many to compare. */
interface NamedText {
  text: ObservedText;
  names: string[];
}

/** Names a derived text. `content` is the stored document. There is nothing to compare if the text is empty or was cut. */
export function nameText({ content, tool }: { content: Uint8Array; tool: string }): NamedText | undefined {
  const { text, truncated } = decompressContent<TextContent>(content);
  const blocks = blocksOf(text.toWellFormed());
  if (truncated || blocks.length === 0) return undefined;
  const names =
    blocks.length > MAX_BLOCKS ? [] : blocks.map((block) => sha256Of(block).slice(0, BLOCK_DIGITS));
  return {
    text: {
      sha256: sha256Of(text.toWellFormed()),
      tool,
      blocks: blocks.length,
      blocks_sha256: digestOfNames(names),
    },
    names,
  };
}

export function digestOfNames(names: readonly string[]): string {
  return sha256Of(names.map((name) => `${name}\n`).join(''));
}

/** Returns which blocks of two texts differ, wherever they are; null if either has too many to compare. */
export function differingBlocks(ours: NamedText, theirs: NamedText): DifferingBlocks | null {
  const isCounted = ({ text, names }: NamedText) => text.blocks === names.length;
  if (!isCounted(ours) || !isCounted(theirs)) return null;
  const [here, there] = [new Set(ours.names), new Set(theirs.names)];
  const only = ours.names.flatMap((name, index) => (there.has(name) ? [] : [index + 1]));
  return {
    ours: ours.names.length,
    theirs: theirs.names.length,
    only_ours: only.slice(0, MAX_LISTED_BLOCKS),
    only_ours_count: only.length,
    only_theirs_count: theirs.names.filter((name) => !here.has(name)).length,
  };
}
