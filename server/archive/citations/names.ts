import type { CslName } from '../../../shared/citation.ts';

/** What follows a comma in a name without being a given name. */
const NO_GIVEN_NAME =
  /^(?:jr|sr|i{1,3}|iv|vi{0,3}|ph\.?\s?d|m\.?d|m\.?sc|b\.?sc|esq|inc|ltd|llc|llp|plc|corp|co|gmbh|ag|s\.?a|e\.?\s?v|b\.?v)\.?$/i;

/**
 * The parts of a name. A record holds each name as one text, and where a name is to be parted cannot be told from it in
 * general (`María de la Cruz`, `Nguyễn Văn An`, an institute): only one that is written as `Family, Given` is.
 */
export function nameParts(name: string): CslName {
  const [family = '', given = '', ...more] = name.split(',').map((part) => part.trim());
  const isParted = family !== '' && given !== '' && more.length === 0;
  return isParted && !NO_GIVEN_NAME.test(given) && given.split(' ').length <= 4
    ? { family, given }
    : { literal: name };
}

/** `Marie Salomea` as `M. S.`, `Jean-Paul` as `J.-P.`; a script without capital letters has no initials. */
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
