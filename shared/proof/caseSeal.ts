import type { ProofCrypto } from './crypto/algorithms.ts';
import { judge, requireThat } from './evidence/evidence.ts';
import { ifValid, openNote, requireNodeKey } from './ledger/signedNote.ts';
import type { Claim, ClaimId } from './verdict.ts';

/*
 * The seal of the bag of a case: a note that the node signed, with the digests of the manifest and of the description. So
 * the index, the notes and the list of what belongs to the case cannot be rewritten, although no ledger entry covers them.
 */

const HEADER = 'strongroom.case-bag@1';
const FORM =
  /^strongroom\.case-bag@1\nkey (\S+)\nbag-info\.txt ([0-9a-f]{64})\nmanifest-sha256\.txt ([0-9a-f]{64})\n\n— /;

/** The SHA-256 of the sealed files, in hex. */
export interface SealedFiles {
  info: string;
  manifest: string;
}

/** The text that the node signs. */
export function caseSealText(key: string, { info, manifest }: SealedFiles): `strongroom.${string}` {
  return `${HEADER}\nkey ${key}\nbag-info.txt ${info}\nmanifest-sha256.txt ${manifest}\n`;
}

/** Returns the key that signed a seal; undefined if the key that it names did not. */
export function keyOfCaseSeal(note: string, crypto: ProofCrypto): string | undefined {
  const key = keyNamedIn(note);
  return key !== undefined && ifValid(() => openNote(note, key, crypto, 'list')) ? key : undefined;
}

function keyNamedIn(note: string): string | undefined {
  return FORM.exec(note)?.[1];
}

/** Checks the seal of a bag, if it has one. */
export function checkCaseSeal(
  note: string | undefined,
  files: SealedFiles,
  crypto: ProofCrypto,
): Claim<ClaimId<'case_bag'>>[] {
  const name = 'The node sealed the list of the files of this bag, and what the bag says of itself.';
  if (note === undefined) {
    const detail = 'There is no seal: the node had no key to make one with, or somebody removed it.';
    return [{ id: 'seal', name, state: 'unproven', detail }];
  }
  const key = keyNamedIn(note) ?? '';
  return [
    judge('key', 'The key of the node is well formed.', '', () => requireNodeKey(key, crypto)),
    judge('seal', name, '', () => {
      const { body } = openNote(note, key, crypto, 'list');
      requireThat(body === caseSealText(key, files), 'The list of files or the description was altered.');
    }),
  ];
}
