import type { CslName } from '../../../shared/archive/citation.ts';

/** Matches suffixes that follow a comma in a name but are not a given name. */
const NO_GIVEN_NAME =
  /^(?:jr|sr|i{1,3}|iv|vi{0,3}|ph\.?\s?d|m\.?d|m\.?sc|b\.?sc|esq|inc|ltd|llc|llp|plc|corp|co|gmbh|ag|s\.?a|e\.?\s?v|b\.?v)\.?$/i;

/**
 * Splits a name into its parts. A record has each name as one text, and it is generally unknown where to split it
 * (`María de la Cruz`, `Nguyễn Văn An`, an organization). So only names written as `Family, Given` are split.
 */
export function nameParts(name: string): CslName {
  const [family = '', given = '', ...more] = name.split(',').map((part) => part.trim());
  const isSplit = family !== '' && given !== '' && more.length === 0;
  return isSplit && !NO_GIVEN_NAME.test(given) && given.split(' ').length <= 4
    ? { family, given }
    : { literal: name };
}

/** Returns `M. S.` for `Marie Salomea`, `J.-P.` for `Jean-Paul`. Scripts without capital letters have no initials. */
export function initials(given: string): string {
  return given
    .replaceAll('.', '. ')
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (/^\p{Lu}/u.test(word) ? word.split('-').map(initial).join('-') : word))
    .join(' ');
}

function initial(part: string): string {
  const [letter = ''] = part;
  return /\p{L}/u.test(letter) ? `${letter.toUpperCase()}.` : part;
}
