import { Problem } from '../../../../shared/problems.ts';
import { tagDecoder } from './tagEncoding.ts';

/** What `bagit.txt` says about a bag. */
export interface Declaration {
  /** Such as `1.0`. */
  version: string;
  /** The encoding of the other tag files. `bagit.txt` itself is UTF-8. */
  encoding: string;
}

/** Which bags are accepted: bags of packs only, or bags of other software too. */
export type BagRules = 'pack' | 'any';

/** BagIt 1.0 is RFC 8493. The earlier versions are its drafts, which differ in what manifests must list. */
const VERSIONS: Readonly<Record<BagRules, ReadonlySet<string>>> = {
  pack: new Set(['0.97', '1.0']),
  any: new Set(['0.93', '0.94', '0.95', '0.96', '0.97', '1.0']),
};

/** @throws Problem `invalid_pack_file` */
export function parseDeclaration(lines: readonly string[], rules: BagRules): Declaration {
  const version = /^BagIt-Version: (\d+\.\d+)[ \t]*$/.exec(lines[0] ?? '')?.[1] ?? '';
  const encoding = /^Tag-File-Character-Encoding: (\S+)[ \t]*$/i.exec(lines[1] ?? '')?.[1] ?? '';
  const isSupported = rules === 'any' ? tagDecoder(encoding) !== undefined : /^utf-8$/i.test(encoding);
  if (lines.length === 2 && VERSIONS[rules].has(version) && isSupported) return { version, encoding };
  throw new Problem(
    'invalid_pack_file',
    rules === 'pack'
      ? 'bagit.txt must contain the lines BagIt-Version: 1.0 (or 0.97) and Tag-File-Character-Encoding: UTF-8.'
      : 'bagit.txt must contain the lines BagIt-Version (0.93 to 1.0) and Tag-File-Character-Encoding (UTF-8, UTF-16, ISO-8859-1 or US-ASCII).',
  );
}
