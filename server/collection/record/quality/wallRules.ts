import { type PageFacts, type QualityRule, sentenceIn } from './qualityRule.ts';

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
