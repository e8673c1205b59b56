import { createHash, type Hash } from 'node:crypto';
import { load } from 'cheerio/slim';
import { JSONPathEnvironment, type JSONPathQuery } from 'json-p3';
import type { NoiseFindings, NoiseRule, RuleOutcome } from '../../../shared/collection/noise.ts';
import { TimeLimitError, withTimeLimit } from '../diff/limits.ts';

/** A value of the older and of the newer version. */
export interface Pair<Value> {
  from: Value;
  to: Value;
}

/** Time limits for one rule on both versions, and for all rules. */
const RULE_MS = 1_000;
const ALL_RULES_MS = 5_000;

/**
 * Applies the noise rules of a source to two of its versions and records what each rule removed. A rule that exceeds its
 * time limit, such as a regular expression with exponential backtracking, is applied to neither version.
 */
export class RuleRun {
  readonly #outcomes: RuleOutcome[];
  readonly #removed: Pair<Hash> = { from: createHash('sha256'), to: createHash('sha256') };
  #leftMs = ALL_RULES_MS;

  constructor(rules: readonly NoiseRule[]) {
    this.#outcomes = rules.map((rule) => ({
      ...rule,
      outcome: 'not_applicable',
      ignored: { from: 0, to: 0 },
    }));
  }

  /** Removes the elements that the selectors match. */
  ignoreElements(markup: Pair<string>, { isXml }: { isXml: boolean }): Pair<string> {
    if (!this.#has('selector')) return markup;
    const documents = mapPair(markup, (text) => load(text, isXml ? { xml: true } : {}));
    this.#each('selector', (selector) => {
      // Both searches finish before anything is removed, so that an interrupted search changes neither document.
      const found = mapPair(documents, ($) =>
        outermostElements($.root().toArray(), $.root().find(selector).toArray()),
      );
      return () =>
        eachSide((side) => {
          const $ = documents[side];
          const pieces = found[side].map((element) => $.xml(element));
          $(found[side]).remove();
          return pieces;
        });
    });
    return mapPair(documents, ($) => (isXml ? $.xml() : $.html()));
  }

  /** Removes the matches of the patterns from each of these texts. */
  ignoreMatches(texts: Pair<string[]>): Pair<string[]> {
    const left = { ...texts };
    this.#each('pattern', (value) => {
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

  /** Removes the values that the JSONPaths match, and the matches of the patterns in strings. */
  ignoreNodes(values: Pair<unknown>): Pair<unknown> {
    const left = { ...values };
    this.#each('json_path', (value) => {
      const path = compilePath(value);
      const found = mapPair(left, (json) => [...path.query(json as never)].map(({ location }) => location));
      return () =>
        eachSide((side) => {
          const { value: rest, pieces } = removeNodes(left[side], found[side]);
          left[side] = rest;
          return pieces;
        });
    });
    if (!this.#has('pattern')) return left;
    const texts = mapPair(left, stringsOf);
    const cut = this.ignoreMatches(texts);
    return eachSide((side) => replaceStrings(left[side], cut[side]));
  }

  #has(kind: NoiseRule['kind']): boolean {
    return this.#outcomes.some((outcome) => outcome.kind === kind);
  }

  /** Applies each rule of a kind: runs `find` within the time limit, then the removal that it returns. */
  #each(kind: NoiseRule['kind'], find: (value: string) => () => Pair<string[]>): void {
    for (const outcome of this.#outcomes) {
      if (outcome.kind !== kind) continue;
      const started = performance.now();
      try {
        const remove = withTimeLimit(Math.min(RULE_MS, this.#leftMs), () => find(outcome.value));
        const pieces = remove();
        outcome.outcome = 'applied';
        for (const side of SIDES) {
          outcome.ignored[side] = pieces[side].length;
          for (const piece of pieces[side]) this.#removed[side].update(`${piece}\0`);
        }
      } catch (error) {
        // After any other error (recursion too deep, expression too large), the rule has removed nothing.
        outcome.outcome = error instanceof TimeLimitError ? 'timed_out' : 'failed';
      }
      this.#leftMs -= performance.now() - started;
    }
  }

  /**
   * Returns the outcome of all rules.
   *
   * @param isSame whether both versions are the same without the removed parts
   */
  findings(isSame: boolean): NoiseFindings {
    const [from, to] = [this.#removed.from.copy().digest('hex'), this.#removed.to.copy().digest('hex')];
    const isComplete = this.#outcomes.every(({ outcome }) => outcome !== 'timed_out' && outcome !== 'failed');
    return {
      rules: this.#outcomes,
      // A change is noise if the removed parts differ and nothing else does.
      is_noise: this.#outcomes.length === 0 ? null : isComplete && isSame && from !== to,
      ignored: this.#outcomes.reduce((sum, { ignored }) => sum + ignored.from + ignored.to, 0),
    };
  }
}

const SIDES = ['from', 'to'] as const;

function eachSide<Result>(make: (side: 'from' | 'to') => Result): Pair<Result> {
  return { from: make('from'), to: make('to') };
}

export function mapPair<Value, Result>(pair: Pair<Value>, make: (value: Value) => Result): Pair<Result> {
  return eachSide((side) => make(pair[side]));
}

/**
 * Compiles a regular expression with the flags `g` and `m`. Uses Unicode mode (`u`), or legacy mode if the pattern is
 * invalid in Unicode mode.
 *
 * @throws SyntaxError
 */
function compilePattern(value: string): RegExp {
  try {
    return new RegExp(value, 'gmu');
  } catch (error) {
    if (error instanceof SyntaxError) return new RegExp(value, 'gm');
    throw error;
  }
}

/** Deeper than `parseJson` allows JSON to be nested, so that `..` reaches every value. */
const environment = new JSONPathEnvironment({ maxRecursionDepth: 600 });

/** Compiles a JSONPath query (RFC 9535). @throws an Error with the position of the mistake. */
function compilePath(value: string): JSONPathQuery {
  return environment.compile(value);
}

function compileSelector(value: string): void {
  load('<p></p>').root().find(value);
}

const COMPILERS: Record<NoiseRule['kind'], (value: string) => unknown> = {
  selector: compileSelector,
  pattern: compilePattern,
  json_path: compilePath,
};

/** Returns whether the value of a rule is valid for its kind. */
export function canCompile({ kind, value }: NoiseRule): boolean {
  try {
    COMPILERS[kind](value);
    return true;
  } catch {
    // Each library throws its own errors; all mean that the value is invalid.
    return false;
  }
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

/** The part of a parsed document's nodes that is used here. */
interface Branch {
  children?: readonly unknown[];
}

/** Returns the elements that are not inside another one of them, in document order. */
function outermostElements<Element extends object>(
  roots: readonly object[],
  elements: readonly Element[],
): Element[] {
  const wanted = new Set<object>(elements);
  const found: Element[] = [];
  const open: object[] = [...roots].reverse();
  // Not recursive, because a hostile document can be arbitrarily deep.
  for (let node = open.pop(); node; node = open.pop()) {
    if (wanted.has(node)) found.push(node as Element);
    else for (const child of ((node as Branch).children ?? []).toReversed()) open.push(child as object);
  }
  return found;
}
