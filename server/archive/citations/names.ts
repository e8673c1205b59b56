import type { CslName } from '../../../shared/archive/citation.ts';

const GENERATION = /^(?:jr|sr|ii|iii|iv)\.?$/i;

/** Matches what follows a comma in a name but is not a given name. */
const NO_GIVEN_NAME =
  /^(?:jr|sr|i{1,3}|iv|vi{0,3}|ph\.?\s?d|m\.?d|m\.?sc|b\.?sc|esq|inc|ltd|llc|llp|plc|corp|co|gmbh|ag|s\.?a|e\.?\s?v|b\.?v)\.?$/i;

/** Words that people's names do not contain. */
const ORGANIZATION_WORDS = new Set(
  `academy administration agency alliance archive archives assembly association authority board bureau center centre
  club coalition collaboration collective college commission committee community company consortium corporation
  corps council department directorate division factory federation forum foundation fund gmbh group hospital
  inc initiative institut institute institution international laboratories laboratory lab labs league libraries library llc
  ltd ministry museum nations network number observatory office organisation organization partnership plc program
  programme project research school sciences service services société society station statistics studio survey syndicate system systems
  team trust union universidad university universität université université verein and und et for of the für`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** The ends of German words for organizations, such as `Forschungsgemeinschaft` and `Bundesamt`. */
const ORGANIZATION_END = /(?:gemeinschaft|gesellschaft|institut|verband|verein|zentrum|bundesamt)$/i;

/** Words in lower case that begin a family name, as in `van der Berg` and `ibn Sina`. */
const PARTICLES = new Set(
  `af al am an auf aus av ben bin bint d da dal dalla dalle das de degli dei del della delle den der des di do dos du e el
  ibn im la las le les lo los op 't ten ter the tot und van vom von y zu zum zur`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
/** Particles that are also written with a capital letter before a family name, as in `Robert De Niro`. */
const CAPITAL_PARTICLE = /^(?:De|Del|Della|Den|Der|Di|Du|La|Le|Van|Vander|Von|St\.?)$/;
const TITLE = /^(?:dr|prof|professor|mr|mrs|ms|mx|sir|dame)\.?$/i;

const MOST_WORDS = 6;

/**
 * Splits a name into its parts. A record has each name as one text, `Family, Given` or `Given Family`. A name that is
 * not clearly a person's in one of these forms is left whole: organizations, single words, scripts without capital
 * letters, and Vietnamese names, which begin with the family name.
 */
export function nameParts(name: string): CslName {
  const parts = name.split(',').map((part) => part.trim());
  const [first = '', second = '', third] = parts;
  if (parts.length === 1) return splitName(first) ?? { literal: name };
  if (parts.length === 2 && GENERATION.test(second)) {
    const split = splitName(first);
    return split ? { ...split, suffix: second } : { literal: name };
  }
  if (parts.length === 3 && first !== '' && third !== undefined) {
    // "Family, Given, Jr." and "Family, Jr., Given" are both in use.
    if (GENERATION.test(third) && isGiven(second)) return { family: first, given: second, suffix: third };
    if (GENERATION.test(second) && isGiven(third)) return { family: first, given: third, suffix: second };
  }
  if (parts.length === 2 && first !== '' && isGiven(second)) return { family: first, given: second };
  return { literal: name };
}

function isGiven(text: string): boolean {
  return text !== '' && !NO_GIVEN_NAME.test(text) && text.split(' ').length <= 4;
}

type SplitName = Extract<CslName, { family: string }>;

/** Splits `Given Family`; undefined if the text is not clearly that. */
function splitName(text: string): SplitName | undefined {
  const words = text.split(' ').filter((word) => word !== '');
  while (words.length > 2 && TITLE.test(words[0] ?? '')) words.shift();
  const generation = words.length > 2 && GENERATION.test(words.at(-1) ?? '') ? words.pop() : undefined;
  if (words.length < 2 || words.length > MOST_WORDS || isOrganization(words.join(' '))) return undefined;
  const start = familyStart(words);
  const given = words.slice(0, start);
  if (!isCapital(words.at(-1) ?? '') || !given.every((word) => isCapital(word))) return undefined;
  return {
    family: words.slice(start).join(' '),
    given: given.join(' '),
    ...(generation === undefined ? {} : { suffix: generation }),
  };
}

/** The index of the first word of the family name: the last word, and the particles that belong to it. */
function familyStart(words: readonly string[]): number {
  const last = words.length - 1;
  const particle = words.findIndex((word, at) => at > 0 && at < last && PARTICLES.has(word));
  // "José Ortega y Gasset": both names around the "y" are of the family.
  if (particle > 1 && /^[ey]$/.test(words[particle] ?? '')) return particle - 1;
  if (particle > 0) return particle;
  let start = last;
  while (start > 1 && CAPITAL_PARTICLE.test(words[start - 1] ?? '')) start -= 1;
  return start;
}

/** Letters that only Vietnamese has. */
const VIETNAMESE = /[\u01A0\u01A1\u01AF\u01B0\u1EA0-\u1EF9]/;

function isOrganization(text: string): boolean {
  if (!/^[\p{L}\p{M}.'’ʼ-]+(?: [\p{L}\p{M}.'’ʼ-]+)*$/u.test(text) || VIETNAMESE.test(text.normalize('NFC')))
    return true;
  return text
    .split(' ')
    .some((word) => ORGANIZATION_WORDS.has(word.toLowerCase()) || ORGANIZATION_END.test(word));
}

/** Returns whether a word begins with a capital letter, also after an article such as `d’` or `al-`. */
function isCapital(word: string): boolean {
  return /^(?:\p{Ll}{1,2}['’-])?\p{Lu}/u.test(word);
}

/** Returns `M. S.` for `Marie Salomea`, `J.-P.` for `Jean-Paul`. Scripts without capital letters have no initials. */
export function initials(given: string): string {
  return given
    .replaceAll('.', '. ')
    .replace(/\. -/g, '.-')
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (/^\p{Lu}/u.test(word) ? word.split(/[-‐‑]/).map(initial).join('-') : word))
    .join(' ');
}

function initial(part: string): string {
  const [letter = ''] = part;
  return /\p{L}/u.test(letter) ? `${letter.toUpperCase()}.` : part;
}
