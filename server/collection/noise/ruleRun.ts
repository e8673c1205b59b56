import { createHash, type Hash } from 'node:crypto';
import {
  type NoiseFindings,
  type RuleOutcome,
  type Scope,
  type Selector,
  selectorOf,
  type WatchOutcome,
} from '../../../shared/collection/noise.ts';
import { TimeLimitError, withTimeLimit } from '../derived/limits.ts';
import type { Table } from '../diff/compareTables.ts';
import {
  columnPlaces,
  compilePath,
  compilePattern,
  findNodes,
  KeptNodes,
  type MarkupNode,
  parseMarkup,
  selectsElements,
} from './selectors.ts';

/** A value of the older and of the newer version. */
export interface Pair<Value> {
  from: Value;
  to: Value;
}

/** Time limits for one selector on both versions, and for all of them. */
const RULE_MS = 1_000;
const ALL_RULES_MS = 5_000;

/**
 * Applies the watched part and the noise rules of a source to two of its versions: keeps only what is watched, and of that
 * removes what the rules ignore. Records what each selector did. A selector that exceeds its time limit, such as a regular
 * expression with exponential backtracking, is applied to neither version.
 */
export class RuleRun {
  readonly #outcomes: RuleOutcome[];
  readonly #watch: WatchOutcome | null;
  readonly #elsewhere: boolean;
  readonly #removed: Pair<Hash> = { from: createHash('sha256'), to: createHash('sha256') };
  #leftMs = ALL_RULES_MS;

  constructor({ watch, rules, elsewhere = false }: Scope) {
    this.#elsewhere = elsewhere && watch !== null;
    this.#outcomes = rules.map((rule) => ({
      ...rule,
      outcome: 'not_applicable',
      ignored: { from: 0, to: 0 },
    }));
    this.#watch = watch && {
      ...selectorOf(watch),
      outcome: 'not_applicable',
      found: { from: 0, to: 0 },
    };
  }

  /** Keeps the watched elements, without those that rules name. All are found in the whole documents. */
  readMarkup(markup: Pair<string>, { isXml }: { isXml: boolean }): Pair<string> {
    const applies = ({ kind }: Selector) => selectsElements(kind, isXml);
    if (!this.#selectors().some(applies)) return markup;
    const documents = mapPair(markup, (text) => parseMarkup(text, isXml));
    const found = this.#find(applies, (watch) =>
      mapPair(documents, (document) => findNodes(document, watch)),
    );
    const kept = found && mapPair(found, (nodes) => new KeptNodes(nodes));
    this.#each(applies, (selector) => {
      // Both searches finish before anything is removed, so that an interrupted search changes neither document.
      const named = mapPair(documents, (document) => findNodes(document, selector));
      return () =>
        eachSide((side) => {
          const { $ } = documents[side];
          const isSeen = (node: MarkupNode) => kept?.[side].touches(node) ?? true;
          const pieces = named[side].filter(isSeen).map((node) => $.xml(node as never));
          for (const node of named[side]) $(node as never).remove();
          return pieces;
        });
    });
    return eachSide((side) => {
      const document = documents[side];
      kept?.[side].prune(document);
      return isXml ? document.$.xml() : document.$.html();
    });
  }

  /** Removes the matches of the patterns from each of these texts. */
  ignoreMatches(texts: Pair<string[]>): Pair<string[]> {
    const left = { ...texts };
    this.#each(isPattern, ({ value }) => {
      const pattern = compilePattern(value);
      const pieces: Pair<string[]> = { from: [], to: [] };
      const cut = eachSide((side) =>
        left[side].map((text) =>
          text.replace(pattern, (match) => {
            if (match !== '') pieces[side].push(match);
            return '';
          }),
        ),
      );
      return () => {
        Object.assign(left, cut);
        return pieces;
      };
    });
    return left;
  }

  /** Keeps the watched values, without those that rules name, and without the matches of the patterns in strings. */
  readValues(values: Pair<unknown>): Pair<unknown> {
    const left = { ...values };
    const locate = ({ value }: Selector): Pair<Location[]> => {
      const path = compilePath(value);
      return mapPair(left, (json) => [...path.query(json as never)].map(({ location }) => location));
    };
    const kept = this.#find(isPath, locate);
    if (kept)
      Object.assign(
        left,
        eachSide((side) => keepNodes(left[side], kept[side])),
      );
    this.#each(isPath, (rule) => {
      const found = locate(rule);
      return () =>
        eachSide((side) => {
          const { value: rest, pieces } = removeNodes(left[side], found[side]);
          left[side] = rest;
          return pieces;
        });
    });
    if (kept) for (const side of SIDES) closeGaps(left[side]);
    if (!this.#selectors().some(isPattern)) return left;
    const texts = mapPair(left, stringsOf);
    const cut = this.ignoreMatches(texts);
    return eachSide((side) => replaceStrings(left[side], cut[side]));
  }

  /** Records which of two pictures the watched region is in. */
  foundRegion(found: Pair<boolean>): void {
    if (this.#watch) Object.assign(this.#watch, { outcome: 'applied', found: mapPair(found, Number) });
  }

  /** Keeps the watched columns, without those that rules name. */
  readTables(tables: Pair<Table>): Pair<Table> {
    const left = { ...tables };
    const place = ({ columns }: Selector): Pair<number[]> =>
      mapPair(left, ({ header }) =>
        columns ? (columnPlaces(header, columns) ?? []) : header.map((_name, index) => index),
      );
    const kept = this.#find(isTable, place);
    if (kept)
      Object.assign(
        left,
        eachSide((side) => withColumns(left[side], kept[side])),
      );
    this.#each(isTable, (rule) => {
      const found = place(rule);
      return () =>
        eachSide((side) => {
          const table = left[side];
          const others = [...table.header.keys()].filter((index) => !found[side].includes(index));
          left[side] = withColumns(table, others);
          return found[side].map((index) =>
            JSON.stringify([table.header[index], ...table.rows.map((row) => row[index])]),
          );
        });
    });
    return left;
  }

  #selectors(): Selector[] {
    return [...(this.#watch ? [this.#watch] : []), ...this.#outcomes];
  }

  /** Finds the watched parts. Undefined if everything is compared: also if neither version has them. */
  #find<Part>(
    applies: (selector: Selector) => boolean,
    find: (watch: Selector) => Pair<Part[]>,
  ): Pair<Part[]> | undefined {
    const watch = this.#watch;
    if (!watch || !applies(watch)) return undefined;
    const found = this.#timed(watch, () => find(watch));
    if (!found) return undefined;
    watch.found = mapPair(found, (parts) => parts.length);
    return this.#isNarrowed() ? found : undefined;
  }

  #isNarrowed(): boolean {
    const found = this.#watch?.found;
    return found !== undefined && found.from + found.to > 0;
  }

  /** Applies each rule: runs `find` within the time limit, then the removal that it returns. */
  #each(applies: (selector: Selector) => boolean, find: (selector: Selector) => () => Pair<string[]>): void {
    for (const outcome of this.#outcomes) {
      if (!applies(outcome)) continue;
      const pieces = this.#timed(outcome, () => find(outcome))?.();
      if (!pieces) continue;
      for (const side of SIDES) {
        outcome.ignored[side] = pieces[side].length;
        for (const piece of pieces[side]) this.#removed[side].update(`${piece}\0`);
      }
    }
  }

  /** Runs a search within the time limit; undefined if it did not end or failed: then it has changed nothing. */
  #timed<Found>(selector: RuleOutcome | WatchOutcome, find: () => Found): Found | undefined {
    const started = performance.now();
    try {
      const found = withTimeLimit(Math.min(RULE_MS, this.#leftMs), find);
      selector.outcome = 'applied';
      return found;
    } catch (error) {
      // Any other error means that a recursion was too deep or an expression too large.
      selector.outcome = error instanceof TimeLimitError ? 'timed_out' : 'failed';
      return undefined;
    } finally {
      this.#leftMs -= performance.now() - started;
    }
  }

  /**
   * Returns the outcome of all selectors.
   *
   * @param isSame whether both versions are the same without the removed parts
   */
  findings(isSame: boolean): NoiseFindings {
    const [from, to] = [this.#removed.from.copy().digest('hex'), this.#removed.to.copy().digest('hex')];
    const selectors = [...(this.#watch ? [this.#watch] : []), ...this.#outcomes];
    const isComplete = selectors.every(({ outcome }) => outcome !== 'timed_out' && outcome !== 'failed');
    const isExplained = isComplete && isSame;
    // What the rules ignore within the watched part is noise, not a change elsewhere.
    const outside = this.#isNarrowed() ? isExplained && from === to : this.#elsewhere && isComplete;
    return {
      rules: this.#outcomes,
      watch: this.#watch,
      outside,
      // A change is noise if the removed parts differ and nothing else does, or if it is outside.
      is_noise: selectors.length === 0 ? null : outside || (isExplained && from !== to),
      ignored: this.#outcomes.reduce((sum, { ignored }) => sum + ignored.from + ignored.to, 0),
    };
  }
}

const isPattern = ({ kind }: Selector) => kind === 'pattern';
const isPath = ({ kind }: Selector) => kind === 'json_path';
const isTable = ({ kind }: Selector) => kind === 'table';

const SIDES = ['from', 'to'] as const;

function eachSide<Result>(make: (side: 'from' | 'to') => Result): Pair<Result> {
  return { from: make('from'), to: make('to') };
}

export function mapPair<Value, Result>(pair: Pair<Value>, make: (value: Value) => Result): Pair<Result> {
  return eachSide((side) => make(pair[side]));
}

function withColumns({ header, rows }: Table, places: readonly number[]): Table {
  const pick = (cells: readonly string[]) => places.map((index) => cells[index] ?? '');
  return { header: pick(header), rows: places.length === 0 ? [] : rows.map(pick) };
}

type Container = Record<string | number, unknown>;
type Location = readonly (string | number)[];

/**
 * Removes the values at these locations from a JSON value, in place, and returns the removed values as JSON. A location
 * within another one is removed with it.
 */
function removeNodes(value: unknown, locations: readonly Location[]): { value: unknown; pieces: string[] } {
  if (locations.some((location) => location.length === 0)) {
    return { value: null, pieces: [JSON.stringify(value)] };
  }
  const removals: Removals = new Map();
  for (const location of locations) {
    const parent = parentOf(value, location);
    if (!parent || Object.isFrozen(parent)) continue;
    const names = removals.get(parent) ?? new Set();
    removals.set(parent, names.add(String(location.at(-1))));
  }
  const pieces: string[] = [];
  removeFrom(value, removals, pieces);
  return { value, pieces };
}

/** The names and indexes to be removed from each object and list. */
type Removals = Map<Container, Set<string>>;

function removeFrom(value: unknown, removals: Removals, pieces: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Container;
  const names = removals.get(container);
  for (const name of Object.keys(container)) {
    if (names?.has(name)) pieces.push(`${name}:${JSON.stringify(container[name])}`);
    else removeFrom(container[name], removals, pieces);
  }
  if (!names) return;
  if (Array.isArray(container)) keepOnly(container, (index) => !names.has(String(index)));
  else for (const name of names) delete container[name];
}

function parentOf(value: unknown, location: Location): Container | undefined {
  let parent = value as Container | undefined;
  for (const step of location.slice(0, -1)) parent = parent?.[step] as Container | undefined;
  return parent;
}

/** The names and indexes of what is kept below a value; true for everything. */
type Kept = true | Map<string, Kept>;

/**
 * Keeps only the values at these locations, in place, and what they are in. What is removed from a list leaves a gap, so
 * that the indexes of the others still hold.
 */
function keepNodes(value: unknown, locations: readonly Location[]): unknown {
  let all: Kept = new Map();
  for (const location of locations) {
    if (location.length === 0) all = true;
    let at: Kept = all;
    for (const [depth, step] of location.entries()) {
      if (at === true) break;
      const isLast = depth === location.length - 1;
      const below: Kept = isLast ? true : (at.get(String(step)) ?? new Map());
      at.set(String(step), below);
      at = below;
    }
  }
  keepIn(value, all);
  return locations.length === 0 ? null : value;
}

function keepIn(value: unknown, kept: Kept): void {
  if (kept === true || typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  const container = value as Container;
  for (const name of Object.keys(container)) {
    const below = kept.get(name);
    if (below) keepIn(container[name], below);
    else if (Array.isArray(value)) container[name] = undefined;
    else delete container[name];
  }
}

/** Removes the gaps of `keepNodes` from all lists. */
function closeGaps(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (Array.isArray(value)) keepOnly(value, (index) => value[index] !== undefined);
  for (const inner of Object.values(value)) closeGaps(inner);
}

function keepOnly(list: unknown[], isKept: (index: number) => boolean): void {
  let length = 0;
  for (let index = 0; index < list.length; index += 1) {
    if (!isKept(index)) continue;
    list[length] = list[index];
    length += 1;
  }
  list.length = length;
}

/** Returns every string value of a JSON value, in order. Member names are not included. */
function stringsOf(value: unknown): string[] {
  const texts: string[] = [];
  mapStrings(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** Replaces the strings returned by `stringsOf` with others, in the same order. */
function replaceStrings(value: unknown, texts: readonly string[]): unknown {
  let next = 0;
  return mapStrings(value, (text) => texts[next++] ?? text);
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const container = value as Container;
  for (const name of Object.keys(container)) container[name] = mapStrings(container[name], map);
  return container;
}
