import { createHash, type Hash } from 'node:crypto';
import { load } from 'cheerio/slim';
import type { NoiseFindings, NoiseRule, RuleOutcome } from '../../../shared/collection/noise.ts';
import { TimeLimitError, withTimeLimit } from '../diff/timeLimit.ts';
import { compilePath, compilePattern } from './compileRule.ts';
import { outermostElements } from './outermostElements.ts';
import { removeNodes, replaceStrings, stringsOf } from './removeNodes.ts';

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
