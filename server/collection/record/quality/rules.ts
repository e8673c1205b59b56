import type { PageLabel } from '../../../../shared/collection/event.ts';
import { STATUS_CODES } from '../../../runtime/nodeHttp.ts';
import type { PageResponse } from './pageHtml.ts';

/** What the rules look at. */
export interface PageFacts {
  page: Pick<PageResponse, 'url' | 'final_url' | 'status'>;
  /** The first value of each header, by its name in lower case. */
  headers: ReadonlyMap<string, string>;
  /** The beginning of the page; empty if it is not HTML or XML. */
  html: string;
  title: string | null;
  /** The text of a page with little text; empty otherwise. */
  text: string;
  /** Whether `html` is the whole page, and HTML. */
  isWhole: boolean;
}

/** A rule that finds a sign that a response is not the expected page. */
export interface QualityRule {
  id: string;
  label: PageLabel['label'];
  /** A page gets the label whose rules together have at least `LABEL_SCORE`. */
  score: number;
  /** `ok`: only for responses with a status of success. */
  when: 'always' | 'ok';
  /** Returns the reason in words, or undefined if there is no such sign. */
  find: (facts: PageFacts) => string | undefined;
}

/** The text of a page whose heading or sentence is most of what it says. */
const MAX_SENTENCE_TEXT = 600;

/** Returns the reason that a page contains little more than a sentence. */
function sentenceIn({ text }: PageFacts, sentence: RegExp): string | undefined {
  const found = sentence.exec(text)?.[0];
  return found && `The page contains little more than “${found}”`;
}

/** Checks whether the visitor is a person. */
export const WALL_RULES: readonly QualityRule[] = [
  { id: 'wall.header', label: 'bot_wall', score: 130, when: 'always', find: wallHeader },
  {
    id: 'wall.title',
    label: 'bot_wall',
    score: 120,
    when: 'always',
    find: ({ title }) =>
      title && WALL_TITLES.some((known) => known.test(title))
        ? `The title is a bot wall’s: ${title}`
        : undefined,
  },
  {
    id: 'wall.markup',
    label: 'bot_wall',
    score: 110,
    when: 'always',
    find: ({ html }) => {
      const marker = WALL_MARKERS.find(([known]) => known.test(html));
      return marker && `The page is ${marker[1]}`;
    },
  },
  {
    id: 'wall.sentence',
    label: 'bot_wall',
    score: 100,
    when: 'always',
    find: (facts) => sentenceIn(facts, WALL_SENTENCES),
  },
];

const WALL_TITLES: readonly RegExp[] = [
  /^just a moment\b/i,
  /^attention required! \| cloudflare/i,
  /^access denied$/i,
  /^access to this page has been denied/i,
  /^pardon our interruption/i,
  /^(are you|please (prove|verify|confirm) (that )?you are) (not )?a? ?(robot|human)/i,
  /^(verify(ing)? (that )?you are (a )?human|human verification|robot check|bot (verification|check|detection))/i,
  /^(security (check|checkpoint|verification)|vercel security checkpoint)/i,
  /^(checking your browser|ddos[- ](guard|protection))/i,
  /^making sure you're not a bot/i,
  /^client challenge$/i,
  /\bcaptcha\b/i,
];
/** Markup that only the wall itself contains, not the pages that the same service protects. */
const WALL_MARKERS: readonly [RegExp, string][] = [
  [/_cf_chl_opt|cf-challenge-running|id="challenge-(form|error-text|running)"/, 'a Cloudflare challenge'],
  [/Incapsula incident ID/i, 'an Incapsula block'],
  [/captcha-delivery\.com\/(captcha|interstitial|c\.js)/, 'a DataDome challenge'],
  [/id="px-captcha"/, 'a HUMAN (PerimeterX) challenge'],
  [/window\.gokuProps|AwsWafIntegration\.(forceRefreshToken|checkForceRefresh)/, 'an AWS WAF challenge'],
  [/id="anubis_challenge"/, 'an Anubis challenge'],
  [/Sucuri WebSite Firewall - Access Denied/i, 'a Sucuri block'],
];
const WALL_SENTENCES =
  /checking (if the site connection is secure|your browser before accessing)|verify (that )?you are (a )?human|enable javascript and cookies to continue|unusual traffic from your computer network|complete the (security check|captcha)|i('| a)m not a robot/i;

function wallHeader({ page, headers }: PageFacts): string | undefined {
  if (headers.get('cf-mitigated') === 'challenge') return 'The header cf-mitigated is challenge';
  const waf = headers.get('x-amzn-waf-action');
  if (waf === 'challenge' || waf === 'captcha') return `The header x-amzn-waf-action is ${waf}`;
  if (headers.has('x-datadome') && page.status === 403) return 'DataDome answered 403';
  if (headers.has('x-sucuri-block')) return 'The header x-sucuri-block is set';
  if (headers.has('x-vercel-mitigated')) return 'The header x-vercel-mitigated is set';
  return undefined;
}

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
    find: ({ headers }) => (headers.has('retry-after') ? 'The response has a Retry-After header' : undefined),
  },
  {
    id: 'rate.remaining',
    label: 'rate_limit',
    score: 40,
    when: 'ok',
    find: ({ headers }) => {
      const left = headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining');
      return left?.trim() === '0' ? 'The response states that no requests are left' : undefined;
    },
  },
];

const SORRY =
  /\b((the|this) (requested )?(page|file|document|resource|url) (you (requested|are looking for) )?((was|could|can) ?not be found|(no longer|does not|doesn['’]t) exists?|has been (moved|removed|deleted))|(seite|dokument) (wurde )?nicht gefunden|page (introuvable|non trouvée))/i;
const TEMPLATE = /<h1[^>]{0,200}>\s*(error\s*)?(404|403|410|500|502|503)\b/i;

/** Pages that say with status 200 that there is nothing. */
export const ERROR_RULES: readonly QualityRule[] = [
  { id: 'error.front_page', label: 'error_page', score: 100, when: 'ok', find: frontPageReason },
  { id: 'error.title', label: 'error_page', score: 100, when: 'ok', find: statusTitleReason },
  {
    id: 'error.heading',
    label: 'error_page',
    score: 60,
    when: 'ok',
    find: ({ html, text }) =>
      text.length <= MAX_SENTENCE_TEXT && TEMPLATE.test(html) ? 'The heading is a status code' : undefined,
  },
  {
    id: 'error.sentence',
    label: 'error_page',
    score: 60,
    when: 'ok',
    find: (facts) => sentenceIn(facts, SORRY),
  },
  {
    id: 'error.noindex',
    label: 'error_page',
    score: 20,
    when: 'ok',
    find: ({ html }) =>
      /<meta[^>]{0,100}name=["']?robots["']?[^>]{0,100}noindex/i.test(html)
        ? 'The page asks not to be indexed'
        : undefined,
  },
];

function frontPageReason({ page: { url, final_url } }: PageFacts): string | undefined {
  if (url === final_url) return undefined;
  const requested = new URL(url);
  const final = new URL(final_url);
  const sameSite = withoutWww(requested.hostname) === withoutWww(final.hostname);
  const isFront = (address: URL) => address.pathname === '/' && address.search === '';
  if (requested.href === final.href || !sameSite || isFront(requested) || !isFront(final)) return undefined;
  return `Redirected to the front page of ${final.host}`;
}

function withoutWww(hostname: string): string {
  return hostname.replace(/^www\./, '');
}

/** Error phrases that are unlikely as a page's real title. "Gone" or "Conflict" alone could be real titles. */
const ERROR_TITLES: ReadonlySet<string> = new Set([
  ...Object.entries(STATUS_CODES)
    .filter(([code, phrase]) => Number(code) >= 400 && (phrase ?? '').includes(' '))
    .map(([, phrase]) => (phrase ?? '').toLowerCase()),
  'page not found',
  'file not found',
  'page cannot be found',
  'page does not exist',
  'the page you requested was not found',
  'error 404',
  'http 404',
  'forbidden',
  'unauthorized',
  'server error',
  'page no longer available',
  'oops! page not found',
  'sorry, page not found',
]);

function statusTitleReason({ title }: PageFacts): string | undefined {
  if (title === null) return undefined;
  const parts = [title, ...title.split(/\s+[|–—·»:-]\s+|\s*[|–—·»:]\s*/)].map((part) =>
    part.trim().toLowerCase(),
  );
  const numbered = /^(?:http |error |http error )?([45]\d\d)(?:[\s:.–—-]+(.+))?$/;
  const isError = (part: string) => {
    const [, code, phrase] = numbered.exec(part.replace(/[.!]+$/, '')) ?? [];
    const standard = code && STATUS_CODES[code]?.toLowerCase();
    if (
      standard &&
      (phrase === undefined || phrase === standard || ERROR_TITLES.has(phrase) || phrase === 'error')
    )
      return true;
    return ERROR_TITLES.has(part.replace(/[.!]+$/, ''));
  };
  return parts.some(isError) ? `The title is a status phrase: ${title}` : undefined;
}
