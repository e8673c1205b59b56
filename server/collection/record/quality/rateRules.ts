import { type QualityRule, sentenceIn } from './qualityRule.ts';

const TITLE =
  /^(error\s*)?(429\b[\s:.–—-]*)?(too many requests|rate limit(ed| exceeded| reached)|request limit exceeded)\b/i;
const SENTENCE =
  /too many requests|you(['’]ve| have) (exceeded|reached) (the|your) (rate|request|download|usage)s? ?limit|rate limit (exceeded|reached)|zu viele anfragen|trop de requêtes/i;

/** Answers of a host that was asked too often. */
export const RATE_RULES: readonly QualityRule[] = [
  {
    id: 'rate.status',
    label: 'rate_limit',
    score: 100,
    when: 'always',
    find: ({ page }) => (page.status === 429 ? 'The server answered 429 (Too Many Requests)' : undefined),
  },
  {
    id: 'rate.title',
    label: 'rate_limit',
    score: 105,
    when: 'ok',
    find: ({ title }) =>
      title && TITLE.test(title) ? `The title is that of a rate limit: ${title}` : undefined,
  },
  {
    id: 'rate.sentence',
    label: 'rate_limit',
    score: 60,
    when: 'ok',
    find: (facts) => sentenceIn(facts, SENTENCE),
  },
  {
    id: 'rate.short_text',
    label: 'rate_limit',
    score: 40,
    when: 'ok',
    find: ({ text }) =>
      text.length <= 200 && SENTENCE.test(text) ? 'The page contains nothing else' : undefined,
  },
  {
    id: 'rate.retry_after',
    label: 'rate_limit',
    score: 40,
    when: 'ok',
    find: ({ headers }) => (headers.has('retry-after') ? 'The answer has a header Retry-After' : undefined),
  },
  {
    id: 'rate.remaining',
    label: 'rate_limit',
    score: 40,
    when: 'ok',
    find: ({ headers }) => {
      const left = headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining');
      return left?.trim() === '0' ? 'The answer says that no request is left' : undefined;
    },
  },
];
