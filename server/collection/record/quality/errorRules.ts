import { STATUS_CODES } from '../../../runtime/nodeHttp.ts';
import { MAX_SENTENCE_TEXT, type PageFacts, type QualityRule, sentenceIn } from './qualityRule.ts';

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
