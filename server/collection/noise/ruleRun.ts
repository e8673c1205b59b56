import { createHash, type Hash } from 'node:crypto';
import { load } from 'cheerio/slim';
import type { NoiseFindings, NoiseRule, RuleOutcome } from '../../../shared/noise.ts';
import { TimeLimitError, withTimeLimit } from '../diff/timeLimit.ts';
import { compilePath, compilePattern } from './compileRule.ts';
import { removeNodes, replaceTexts, textsOf } from './jsonNodes.ts';
import { outermostElements } from './markupNodes.ts';

/** The older and the newer version of something. */
export interface Pair<Value> {
  from: Value;
  to: Value;
}

/** One rule may take so long on both versions, and all together. */
const RULE_MS = 1_000;
const ALL_RULES_MS = 5_000;

/**
 * Applies the rules of a source to two versions of it, rule by rule to both, and keeps account of what each left out.
 * A rule that takes too long is left aside for both: a regular expression can be made to run for ever, and what it
 * would have found is not known then.
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

  /** Leaves out the elements that the selectors name. */
  ignoreElements(markup: Pair<string>, { isXml }: { isXml: boolean }): Pair<string> {
    if (!this.#has('selector')) return markup;
    const documents = both(markup, (text) => load(text, isXml ? { xml: true } : {}));
    this.#each('selector', (selector) => {
      // Looked for first in both and taken out then: a search that is broken off leaves both whole.
      const found = both(documents, ($) =>
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
    return both(documents, ($) => (isXml ? $.xml() : $.html()));
  }

  /** Leaves out what the patterns match in each of these texts. */
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

  /** Leaves out the members and elements that the JSONPaths name, and what the patterns match in strings. */
  ignoreNodes(values: Pair<unknown>): Pair<unknown> {
    const left = { ...values };
    this.#each('json_path', (value) => {
      const path = compilePath(value);
      const found = both(left, (json) => [...path.query(json as never)].map(({ location }) => location));
      return () =>
        eachSide((side) => {
          const { value: rest, pieces } = removeNodes(left[side], found[side]);
          left[side] = rest;
          return pieces;
        });
    });
    if (!this.#has('pattern')) return left;
    const texts = both(left, textsOf);
    const cut = this.ignoreMatches(texts);
    return eachSide((side) => replaceTexts(left[side], cut[side]));
  }

  #has(kind: NoiseRule['kind']): boolean {
    return this.#outcomes.some((outcome) => outcome.kind === kind);
  }

  /** Runs what looks for pieces within the time that is left, then what takes them out and gives them back. */
  #each(kind: NoiseRule['kind'], look: (value: string) => () => Pair<string[]>): void {
    for (const outcome of this.#outcomes) {
      if (outcome.kind !== kind) continue;
      const started = performance.now();
      try {
        const takeOut = withTimeLimit(Math.min(RULE_MS, this.#leftMs), () => look(outcome.value));
        const pieces = takeOut();
        outcome.outcome = 'applied';
        for (const side of SIDES) {
          outcome.ignored[side] = pieces[side].length;
          for (const piece of pieces[side]) this.#removed[side].update(`${piece}\0`);
        }
      } catch (error) {
        // Whatever else a rule stumbles on (too deep a recursion, too large an expression), it left nothing out.
        outcome.outcome = error instanceof TimeLimitError ? 'timed_out' : 'failed';
      }
      this.#leftMs -= performance.now() - started;
    }
  }

  /**
   * What came of it.
   *
   * @param isSame whether what the rules left of both versions is the same
   */
  findings(isSame: boolean): NoiseFindings {
    const [from, to] = [this.#removed.from.copy().digest('hex'), this.#removed.to.copy().digest('hex')];
    const isWhole = this.#outcomes.every(({ outcome }) => outcome !== 'timed_out' && outcome !== 'failed');
    return {
      rules: this.#outcomes,
      // Noise is a change that the rules explain: what they left out differs, and nothing else does.
      is_noise: this.#outcomes.length === 0 ? null : isWhole && isSame && from !== to,
      ignored: this.#outcomes.reduce((sum, { ignored }) => sum + ignored.from + ignored.to, 0),
    };
  }
}

const SIDES = ['from', 'to'] as const;

function eachSide<Result>(make: (side: 'from' | 'to') => Result): Pair<Result> {
  return { from: make('from'), to: make('to') };
}

export function both<Value, Result>(pair: Pair<Value>, make: (value: Value) => Result): Pair<Result> {
  return eachSide((side) => make(pair[side]));
}
