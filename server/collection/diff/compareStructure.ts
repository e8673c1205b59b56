import { diffArrays } from 'diff';
import type { JsonChange, JsonParts } from '../../../shared/collection/diff.ts';
import { jsonPointer } from '../../../shared/problems.ts';
import { truncateText } from '../derived/limits.ts';

/** Limit on listed changes; all are counted. */
const MAX_CHANGES = 1_000;
/** Limits on the JSON text of one value and of all changes, in characters. */
const MAX_VALUE = 1_000;
const MAX_CHARACTERS = 300_000;
/** A pointer cannot be cut: changes at longer ones are counted, but not listed. */
const MAX_POINTER = 4_000;
/** After more additions and removals than this, the elements of a list are compared by position. */
const MAX_LIST_EDITS = 2_000;
const LIST_TIMEOUT_MS = 500;
/** Members that may identify the elements of a list, the most reliable first. */
const ID_NAMES = ['id', '@id', '_id', 'uuid', 'guid', 'key', 'code', 'slug', 'name', 'url', 'href'];

type Path = readonly (string | number)[];

/**
 * Compares two JSON values: members of objects by name, elements of lists by an identifying member (`id`, `key`, `name`,
 * …) if every element has a unique one, else by order. Recursive: `parseJson` limits the depth.
 */
export function compareStructure(from: unknown, to: unknown): JsonParts & { truncated: boolean } {
  const walk = new Walk();
  walk.compare(from, to, [], []);
  return walk.result();
}

class Walk {
  readonly #changes: JsonChange[] = [];
  #characters = 0;
  readonly #summary = { added: 0, removed: 0, changed: 0, moved: 0 };

  result(): JsonParts & { truncated: boolean } {
    const counted = Object.values(this.#summary).reduce((sum, count) => sum + count, 0);
    return {
      summary: this.#summary,
      changes: this.#changes,
      truncated: counted > this.#changes.length,
    };
  }

  compare(from: unknown, to: unknown, fromPath: Path, toPath: Path): void {
    if (Array.isArray(from) && Array.isArray(to)) this.#compareLists(from, to, fromPath, toPath);
    else if (isObject(from) && isObject(to)) this.#compareObjects(from, to, fromPath, toPath);
    else if (!isSame(from, to)) this.#addChange('changed', fromPath, toPath, from, to);
  }

  #compareObjects(from: JsonObject, to: JsonObject, fromPath: Path, toPath: Path): void {
    for (const [name, value] of Object.entries(from)) {
      if (Object.hasOwn(to, name)) this.compare(value, to[name], [...fromPath, name], [...toPath, name]);
      else this.#addChange('removed', [...fromPath, name], null, value, undefined);
    }
    for (const [name, value] of Object.entries(to)) {
      if (!Object.hasOwn(from, name)) this.#addChange('added', null, [...toPath, name], undefined, value);
    }
  }

  #compareLists(from: unknown[], to: unknown[], fromPath: Path, toPath: Path): void {
    const id = idName(from, to);
    if (id !== undefined) this.#compareById(from as JsonObject[], to as JsonObject[], id, fromPath, toPath);
    else this.#compareByOrder(from, to, fromPath, toPath);
  }

  #compareById(from: JsonObject[], to: JsonObject[], id: string, fromPath: Path, toPath: Path): void {
    const places = new Map(to.map((element, index) => [element[id], index] as const));
    const before = new Map(from.map((element, index) => [element[id], index] as const));
    for (const [index, element] of from.entries()) {
      const place = places.get(element[id]);
      if (place === undefined) this.#addChange('removed', [...fromPath, index], null, element, undefined);
    }
    const stayed = longestIncreasingSubsequence(to.flatMap((element) => before.get(element[id]) ?? []));
    for (const [index, element] of to.entries()) {
      const place = before.get(element[id]);
      const path = [...toPath, index];
      if (place === undefined) {
        this.#addChange('added', null, path, undefined, element);
        continue;
      }
      if (!stayed.has(place)) this.#addChange('moved', [...fromPath, place], path, undefined, undefined);
      this.compare(from[place], element, [...fromPath, place], path);
    }
  }

  #compareByOrder(from: unknown[], to: unknown[], fromPath: Path, toPath: Path): void {
    const old = from.map((element) => JSON.stringify(element));
    const now = to.map((element) => JSON.stringify(element));
    const runs = diffArrays(old, now, { maxEditLength: MAX_LIST_EDITS, timeout: LIST_TIMEOUT_MS });
    if (!runs) return this.#comparePairs(from, to, fromPath, toPath, [...from.keys()], [...to.keys()]);
    const at = { from: 0, to: 0 };
    const gone: number[] = [];
    const arrived: number[] = [];
    const close = () => {
      this.#comparePairs(from, to, fromPath, toPath, gone.splice(0), arrived.splice(0));
    };
    for (const { added, removed, count } of runs) {
      if (!added && !removed) {
        close();
        at.from += count;
        at.to += count;
      } else if (removed) for (let n = 0; n < count; n += 1) gone.push(at.from++);
      else for (let n = 0; n < count; n += 1) arrived.push(at.to++);
    }
    close();
  }

  /** Pairs removed and added elements by position: each pair counts as one changed element. */
  #comparePairs(
    from: unknown[],
    to: unknown[],
    fromPath: Path,
    toPath: Path,
    gone: readonly number[],
    arrived: readonly number[],
  ): void {
    const pairs = Math.min(gone.length, arrived.length);
    for (let n = 0; n < pairs; n += 1) {
      const [left, right] = [gone[n] as number, arrived[n] as number];
      this.compare(from[left], to[right], [...fromPath, left], [...toPath, right]);
    }
    for (const index of gone.slice(pairs))
      this.#addChange('removed', [...fromPath, index], null, from[index], undefined);
    for (const index of arrived.slice(pairs))
      this.#addChange('added', null, [...toPath, index], undefined, to[index]);
  }

  #addChange(
    op: JsonChange['op'],
    fromPath: Path | null,
    toPath: Path | null,
    before: unknown,
    after: unknown,
  ): void {
    this.#summary[op] += 1;
    if (this.#changes.length >= MAX_CHANGES || this.#characters >= MAX_CHARACTERS) return;
    const from = fromPath && jsonPointer(fromPath);
    const pointer = toPath ? jsonPointer(toPath) : (from ?? '');
    if (pointer.length > MAX_POINTER || (from?.length ?? 0) > MAX_POINTER) return;
    const change: JsonChange = {
      op,
      pointer,
      from_pointer: toPath && from !== pointer ? from : null,
      before: shown(before),
      after: shown(after),
    };
    const { json: old } = change.before ?? { json: '' };
    const { json: now } = change.after ?? { json: '' };
    this.#characters += pointer.length + old.length + now.length;
    this.#changes.push(change);
  }
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJson(value);
}

function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  return JSON.stringify(left) === JSON.stringify(right);
}

/** Returns the name of a member that is unique among the elements of each list, or undefined. */
function idName(from: readonly unknown[], to: readonly unknown[]): string | undefined {
  if (from.length === 0 || to.length === 0) return undefined;
  if (!from.every(isObject) || !to.every(isObject)) return undefined;
  return ID_NAMES.find((name) => isUnique(from as JsonObject[], name) && isUnique(to as JsonObject[], name));
}

function isUnique(elements: readonly JsonObject[], name: string): boolean {
  const seen = new Set<unknown>();
  for (const element of elements) {
    const value = Object.hasOwn(element, name) ? element[name] : undefined;
    if ((typeof value !== 'string' && typeof value !== 'number') || seen.has(value)) return false;
    seen.add(value);
  }
  return true;
}

function shown(value: unknown): JsonChange['before'] {
  if (value === undefined) return null;
  const json = JSON.stringify(value);
  return json.length <= MAX_VALUE ? { json, cut: false } : { json: truncateText(json, MAX_VALUE), cut: true };
}

/** Part of ECMAScript 2026; available in Node, missing in TypeScript's libraries. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};

/** Returns whether this is a number kept as text because a double cannot hold its digits. */
function isRawJson(value: object): boolean {
  return isRawJSON(value);
}

/** Values nested deeper than this are not compared; far below the limit of the stack. */
const MAX_DEPTH = 500;

/** The text cannot be compared as JSON; the message states why, without a full stop. */
export class UncomparableJsonError extends Error {}

/**
 * Parses JSON without losing digits: a number with more digits than a double holds keeps its text (`JSON.rawJSON`).
 *
 * @throws UncomparableJsonError
 */
export function parseJson(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) {
    throw new UncomparableJsonError('The JSON is nested too deeply to be compared by its structure');
  }
  try {
    return /\d{16}/.test(text)
      ? JSON.parse(text, keepDigits as (name: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw new UncomparableJsonError('This is not well-formed JSON');
    throw error;
  }
}

/** `source` is the text of a primitive value (ECMAScript 2026, JSON.parse). */
function keepDigits(_name: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  const isExact = context.source.length < 16 || String(value) === context.source;
  return isExact ? value : rawJSON(context.source);
}

const OPENED = 0x7b;
const CLOSED = 0x7d;
const OPENED_LIST = 0x5b;
const CLOSED_LIST = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the maximum nesting depth of the text without recursion. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPENED || code === OPENED_LIST) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (code === CLOSED || code === CLOSED_LIST) depth -= 1;
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Returns the numbers of a longest increasing subsequence. In a reordered list, the other elements were moved. */
function longestIncreasingSubsequence(numbers: readonly number[]): Set<number> {
  const ends: number[] = [];
  const before = new Map<number, number | undefined>();
  for (const number of numbers) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle] as number) < number) low = middle + 1;
      else high = middle;
    }
    before.set(number, ends[low - 1]);
    ends[low] = number;
  }
  const kept = new Set<number>();
  for (let last = ends.at(-1); last !== undefined; last = before.get(last)) kept.add(last);
  return kept;
}
