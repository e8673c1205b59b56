import { createHash } from 'node:crypto';
import type { KeptCheckpoint } from './proofs.ts';

/** Bytes that a node has acknowledged. */
export interface Held {
  sha256: string;
  content: Buffer;
  markers: readonly string[];
  /** `blob`: of a pack. `object`: from the web, handed in or imported. */
  kind: 'blob' | 'object';
  /** `gone`: damaged or lost, and the node has said so. */
  state: 'held' | 'released' | 'gone';
  /** Whether it came from the peer, which decides over it too. */
  isTheirs: boolean;
}

/** A withholding in force: what it names, and what it covers. */
export interface Withholding {
  entry: number;
  target: object;
  reason: string;
  covers: Set<string>;
  /** Whether it is the word of the peer. */
  isOfPeer?: boolean;
  /** Whether it came with that of a set. */
  isOfSet?: boolean;
}

/** A record that was acknowledged: who reads this path gets a body with these members. */
export interface Kept {
  path: string;
  /** Members that the body has, or that one of its `items` has. */
  has: object;
  isItem?: boolean;
  /** Only the owner may read it. */
  isPrivate?: boolean;
  /** It is in no export. */
  isLocal?: boolean;
}

export interface CopyOfArchive {
  id: string;
  target: string;
  /** The folder; undefined for a bucket. */
  place: string | undefined;
  pages: boolean;
  hasKey: boolean;
  isSynced: boolean;
  /** The moment of the last sync, in counts of the model. */
  syncedAt: number;
}

export interface SetOfPacks {
  id: string;
  files: Map<string, Buffer>;
  /** The digests of the parts of each file. */
  parts: Map<string, string[]>;
  /** The packs that hold the parts. */
  packs: Set<string>;
  /** The digest of the list of its files. */
  list: string;
}

/** Markers of texts that nobody but the owner may read: drafts, sealed findings, notes to oneself. */
export interface Secret {
  marker: string;
  why: string;
}

/** Everything that the nodes of a simulation have acknowledged, and who may see it. */
export class Model {
  /** Rises with each change of what may be seen. */
  moment = 1;
  readonly bytes = new Map<string, Held>();
  readonly withholdings = new Map<number, Withholding>();
  readonly kept: Kept[] = [];
  readonly secrets = new Map<string, Secret>();
  /** Since when a marker is hidden. */
  readonly hiddenSince = new Map<string, number>();
  /** Markers that are in titles of pages. What was recorded while they were shown may quote them for good. */
  readonly titles = new Set<string>();
  readonly #quoted = new Set<string>();
  copies: CopyOfArchive[] = [];
  checkpoints: KeptCheckpoint[] = [];
  entries = 0;
  packs: { id: string; files: { path: string; sha256: string }[] }[] = [];
  sets: SetOfPacks[] = [];
  studies: { id: string; status: string }[] = [];
  comments: { id: string; item: string }[] = [];
  nodes: string[] = [];
  drafts: { id: string; files: Map<string, Held> }[] = [];
  sources: { id: string; path: string; url: string }[] = [];
  events: { id: number; sha256: string | null; source: string; at: string }[] = [];
  retrievals: number[] = [];
  findings: { id: string; target: object }[] = [];
  sealed: { id: string; marker: string; target: object }[] = [];
  /** Words that findings quote without naming an object, and the digests of what the findings are about. */
  readonly quotations: { marker: string; digests: readonly string[] }[] = [];
  cases: { id: string; revision: number }[] = [];
  pages: { id: string; covers: string[] }[] = [];
  handedIn: { id: string; retrieval: number }[] = [];
  captured: string[] = [];
  profiles: string[] = [];
  timestamps: string[] = [];
  alerts: string[] = [];
  /** What alerts sent, each with the moment at which it arrived. */
  readonly messages: { body: string; moment: number }[] = [];
  peerPacks: {
    id: string;
    title: string;
    files: { path: string; content: Buffer; markers: readonly string[] }[];
  }[] = [];
  /** The digests of the lists of the peer's sets. */
  readonly peerLists = new Set<string>();
  /** The digests of files that the peer's sets have in parts, each with one of its parts. */
  readonly joined: [whole: string, part: string][] = [];
  /** What the owner chose to show, whatever the peer says. */
  readonly shownByOwner = new Set<string>();
  /** The digests of what the peer may have got, because visitors could read it at a mirror. */
  readonly givenAway = new Set<string>();

  keep(path: string, has: object, more: Omit<Kept, 'path' | 'has'> = {}): void {
    const known = this.kept.findIndex((each) => each.path === path && !each.isItem && !more.isItem);
    if (known >= 0) this.kept.splice(known, 1);
    this.kept.push({ path, has, ...more });
  }

  forget(path: string): void {
    for (let at = this.kept.length - 1; at >= 0; at -= 1)
      if (this.kept[at]?.path === path) this.kept.splice(at, 1);
  }

  /** Records bytes. The same bytes again are known already; what was gone is there again. */
  hold(content: Buffer, kind: Held['kind'], markers: readonly string[], isTheirs = false): Held {
    const sha256 = digestOf(content);
    const known = this.bytes.get(sha256);
    if (known) {
      if (known.state === 'gone') known.state = 'held';
      if (!isTheirs) known.isTheirs = false;
      return known;
    }
    const held: Held = { sha256, content, markers, kind, state: 'held', isTheirs };
    this.bytes.set(sha256, held);
    return held;
  }

  /** Whether bytes came from the peer alone, and so did the files and the parts that are withheld with them. */
  areTheirs(sha256: string, seen = new Set<string>()): boolean {
    if (seen.has(sha256)) return true;
    seen.add(sha256);
    if (!(this.bytes.get(sha256)?.isTheirs ?? true)) return false;
    const others = this.joined.filter((pair) => pair.includes(sha256)).flat();
    return others.every((each) => this.areTheirs(each, seen));
  }

  isWithheld(sha256: string): boolean {
    for (const { covers } of this.withholdings.values()) if (covers.has(sha256)) return true;
    return false;
  }

  /** The bytes that a visitor may read. */
  visible(): Held[] {
    return [...this.bytes.values()].filter(
      ({ sha256, state }) => state === 'held' && !this.isWithheld(sha256),
    );
  }

  /** The markers that nothing for visitors may have. One that is in other visible bytes too may be seen. */
  hidden(): Set<string> {
    const all = [...this.bytes.values()];
    // What was damaged here is still said in the texts that were made of it, unless it is withheld.
    const said = all.filter(({ sha256, state }) => state !== 'released' && !this.isWithheld(sha256));
    const seen = new Set(said.flatMap(({ markers }) => markers));
    const markers = all.flatMap((each) => each.markers);
    const isHidden = (marker: string) => !seen.has(marker) && !this.#quoted.has(marker);
    return new Set([...markers, ...this.secrets.keys()].filter(isHidden));
  }

  /** The quoted words that nothing but a dump shows a visitor, because something that the finding is about is hidden. */
  hiddenQuotations(): Set<string> {
    const isHidden = (sha256: string) =>
      this.isWithheld(sha256) || this.bytes.get(sha256)?.state === 'released';
    return new Set(
      this.quotations.filter(({ digests }) => digests.some(isHidden)).map(({ marker }) => marker),
    );
  }

  /** The markers of released bytes, which must not be on the disk. */
  released(): Set<string> {
    const others = new Set(
      [...this.bytes.values()].filter(({ state }) => state !== 'released').flatMap(({ markers }) => markers),
    );
    const drafted = this.drafts.flatMap(({ files }) => [...files.values()].flatMap(({ markers }) => markers));
    return new Set(
      [...this.bytes.values()]
        .filter(({ state }) => state === 'released')
        .flatMap(({ markers }) => markers)
        .filter((marker) => !others.has(marker) && !drafted.includes(marker) && !this.#quoted.has(marker)),
    );
  }

  /** To be called after each step: notes since when what is hidden now is hidden. */
  noteHidden(): void {
    this.moment += 1;
    const hidden = this.hidden();
    for (const title of this.titles) if (!hidden.has(title)) this.#quoted.add(title);
    for (const marker of hidden) if (!this.hiddenSince.has(marker)) this.hiddenSince.set(marker, this.moment);
    for (const marker of this.hiddenSince.keys()) if (!hidden.has(marker)) this.hiddenSince.delete(marker);
  }

  /** The archive goes on in another folder: what is in no export is not there. */
  leaveLocal(): void {
    for (let at = this.kept.length - 1; at >= 0; at -= 1) if (this.kept[at]?.isLocal) this.kept.splice(at, 1);
    for (const { files } of this.drafts)
      for (const { markers } of files.values()) for (const marker of markers) this.secrets.delete(marker);
    this.copies = [];
    this.alerts = [];
    this.drafts = [];
    this.profiles = [];
    // An archive that was restored had all of it from elsewhere.
    for (const held of this.bytes.values()) held.isTheirs = false;
    for (const withholding of this.withholdings.values()) withholding.isOfPeer = false;
  }
}

export function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
