import { verifyCopy } from '../../server/copies/verifyCopy.ts';
import { nodeKeyOf, privateKeyOfSeed, signNote } from '../../server/ledger/checkpoint.ts';
import { namedKeyClaims } from '../../shared/proof/provenFile.ts';
import { decide, isSigned } from '../../shared/proof/verdict.ts';
import type { ForgedFormat, Forgery, Random } from './forgery.ts';
import { sha256 } from './forgery.ts';
import type { Files } from './formats.ts';
import { memoryCopy } from './memoryCopy.ts';
import { forgeEntries } from './zip.ts';

/** A copy in a folder: its checkpoint, its records, its objects, its pages and the signed list of them. */
export function copyFormat(genuine: readonly [Files, Files], key: string): ForgedFormat<Files> {
  const { signal } = new AbortController();
  return {
    name: 'copy',
    share: 1_500,
    genuine,
    forge: (one, other, random) => {
      const forged = forgeFiles(one, other, random);
      return random() < 0.4 ? withSecondSigner(forged, key, random) : forged;
    },
    verdict: async (files) => {
      try {
        const { claims, head } = await verifyCopy(memoryCopy(files), { signal, progress: () => {} });
        // As with --key: anyone can sign a whole copy with their own key.
        const by = { key: head?.verifierKey, isSigned: isSigned('copy', claims) };
        return decide('copy', [...claims, ...namedKeyClaims(by, key)]).verdict;
      } catch (error) {
        // What is no copy any more, or has records that cannot be read, is refused with a sentence.
        if (error instanceof Error && ['CopyError', 'DumpError'].includes(error.name)) return 'altered';
        throw error;
      }
    },
    content: (files) =>
      [...files]
        .filter(([path]) => !/(^|\/)(\.DS_Store|desktop\.ini)$/.test(path) && !isFormerPart(path, files))
        .map(([path, data]) => `${path} ${sha256(data)}`)
        .sort()
        .join('\n'),
  };
}

/** Whether it is a part of a list that the copy has no more: digests and paths, which nothing reads. */
function isFormerPart(path: string, files: Files): boolean {
  const isPart = /^files\/[0-9a-f]{64}$/.test(path);
  return isPart && !(files.get('files/list')?.includes(path) ?? false);
}

function forgeFiles(one: Files, other: Files, random: Random): Forgery<Files> {
  const entries = [...one].map(([name, data]) => ({ name, data }));
  const others = [...other].map(([name, data]) => ({ name, data }));
  const { operation, pointer, input } = forgeEntries(entries, others, random);
  return { operation, pointer, input: new Map(input.map(({ name, data }) => [name, data])) };
}

/**
 * What somebody with a key of the same name can make anew: a second line under the checkpoint, the key that the copy names, in one
 * place or in both, and the signed list. Each is left out at times.
 */
function withSecondSigner(
  { operation, pointer, input }: Forgery<Files>,
  key: string,
  random: Random,
): Forgery<Files> {
  const name = key.split('+', 1)[0] ?? '';
  const stranger = nodeKeyOf(name, privateKeyOfSeed(Buffer.from(sha256('second signer'), 'hex')));
  const files = new Map(input);
  const done: string[] = [];
  const change = (what: string, path: string | undefined, by: (text: string) => string) => {
    const bytes = files.get(path ?? '');
    if (path === undefined || !bytes || random() < 0.2) return;
    files.set(path, Buffer.from(by(bytes.toString())));
    done.push(what);
  };
  const genuineNote = files.get('checkpoint')?.toString() ?? '';
  const own = genuineNote.slice(genuineNote.lastIndexOf('\n\n') + 2);
  const body = genuineNote.slice(0, genuineNote.length - own.length - 1);
  const line = signNote(stranger, body).slice(body.length + 1);
  const note = `${body}\n${random() < 0.5 ? own + line : line + own}`;
  change('line', 'checkpoint', () => note);
  change('claim', 'strongroom.json', (text) => text.replaceAll(key, stranger.verifierKey));
  const state = [...files.keys()].find((path) => path.startsWith('state/'));
  const spelled = random();
  change('header', state, (text) => {
    const [header = '', ...rest] = text.split('\n');
    const withNote = header.replace(JSON.stringify(genuineNote), JSON.stringify(note));
    const other =
      spelled < 0.3
        ? withNote.replace('"key":', '"key": ')
        : spelled < 0.6
          ? withNote.replace(key, key.replace('+', '\\u002b'))
          : withNote.replace(key, stranger.verifierKey);
    return [other, ...rest].join('\n');
  });
  change('list', 'files/list', (text) => relisted(text, files, (list) => signNote(stranger, list)));
  return { operation: `${operation}, second signer: ${done.join(' ')}`, pointer, input: files };
}

/** Makes the list of the files anew, in one part. */
function relisted(note: string, files: Map<string, Buffer>, sign: (text: string) => string): string {
  const [format = '', origin = '', statement = ''] = note.split('\n');
  const parts = [...files.keys()].filter((path) => /^files\/[0-9a-f]{64}$/.test(path));
  const listed = parts.flatMap(
    (path) =>
      files
        .get(path)
        ?.toString()
        .match(/(?<= {2}).+$/gm) ?? [],
  );
  for (const path of parts) files.delete(path);
  const present = listed.flatMap((path) => {
    const bytes = files.get(path);
    return bytes ? [`${sha256(bytes)}  ${path}\n`] : [];
  });
  const part = Buffer.from(present.join(''));
  files.set(`files/${sha256(part)}`, part);
  const stated = statement.replace(/\d+$/, String(present.length));
  return sign(`${format}\n${origin}\n${stated}\n${sha256(part)}  files/${sha256(part)}\n`);
}
