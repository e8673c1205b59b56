import type { PageLabel } from '../../../../shared/collection/event.ts';
import { LABEL_SCORE, type QualityFinding } from '../../../../shared/collection/quality.ts';
import { scriptShellReason } from '../scriptShell.ts';
import { ERROR_RULES } from './errorRules.ts';
import { findTitle, headersOf, htmlOf, isWholeHtml, type PageResponse, shortTextIn } from './pageHtml.ts';
import type { PageFacts, QualityRule } from './qualityRule.ts';
import { RATE_RULES } from './rateRules.ts';
import { WALL_RULES } from './wallRules.ts';

const SHELL_RULE: QualityRule = {
  id: 'shell.scripts',
  label: 'script_shell',
  score: 100,
  when: 'ok',
  find: ({ html, isWhole }) => (isWhole ? scriptShellReason(html) : undefined),
};

const RULES: readonly QualityRule[] = [...WALL_RULES, ...RATE_RULES, ...ERROR_RULES, SHELL_RULE];

/** Returns what the rules find in a response, in the order of the rules. */
export async function findingsOf(page: PageResponse): Promise<QualityFinding[]> {
  return findingsIn(await factsOf(page));
}

/** Reads a response as the rules see it. */
export async function factsOf(page: PageResponse): Promise<PageFacts> {
  const headers = headersOf(page);
  const html = htmlOf(page, headers);
  return {
    page,
    headers,
    html,
    title: await findTitle(html),
    text: html === '' ? '' : (shortTextIn(html) ?? ''),
    isWhole: isWholeHtml(page, headers, html),
  };
}

/** Returns what the rules find in a response that was read, in the order of the rules. */
export function findingsIn(facts: PageFacts): QualityFinding[] {
  const { status } = facts.page;
  const ok = status !== null && status >= 200 && status < 300;
  return RULES.flatMap(({ id, label, score, when, find }) => {
    const reason = ok || when === 'always' ? find(facts) : undefined;
    return reason === undefined || reason === '' ? [] : [{ rule: id, label, score, reason }];
  });
}

/**
 * Returns the first label by `RANK` whose findings together have at least `LABEL_SCORE`, with the reason of the strongest
 * one.
 */
export function labelOf(findings: readonly QualityFinding[]): PageLabel | null {
  const scores = new Map<PageLabel['label'], number>();
  for (const { label, score } of findings) scores.set(label, (scores.get(label) ?? 0) + score);
  let best: PageLabel['label'] | undefined;
  for (const [label, score] of scores)
    if (score >= LABEL_SCORE && (best === undefined || RANK[label] < RANK[best])) best = label;
  if (best === undefined) return null;
  const strongest = findings
    .filter(({ label }) => label === best)
    .reduce((left, right) => (right.score > left.score ? right : left));
  return { label: best, reason: strongest.reason };
}

/** A wall explains an error, and both explain an empty page. */
const RANK: Record<PageLabel['label'], number> = {
  bot_wall: 0,
  rate_limit: 1,
  error_page: 2,
  script_shell: 3,
};
