import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { type HandIn, handInFieldsSchema } from '../../../shared/collection/handedIn.ts';
import { HANDED_IN_WORDS } from '../../../shared/collection/observers.ts';
import { kindOf } from '../../collection/handedIn/handedIn.ts';
import type { NodeConfig } from '../../config.ts';
import {
  type Command,
  type ExitCode,
  escapeForTerminal,
  NODE_AT_OPTIONS,
  optionsHelp,
  print,
  printJson,
  requireOne,
  UsageError,
} from '../command.ts';
import { type NodeOptions, withNode } from '../node/withNode.ts';

const OPTIONS = {
  url: {
    type: 'string',
    value: 'URL',
    help: 'the address that the file shows; a saved page (MHTML) may name it itself',
  },
  title: { type: 'string', value: 'TEXT', help: 'a title; it is public' },
  'seen-at': {
    type: 'string',
    value: 'TIME',
    help: 'when you saw it, such as 2026-11-20T10:14:21Z (default: now)',
  },
  note: { type: 'string', value: 'TEXT', help: 'a note; it is public' },
  name: { type: 'string', value: 'NAME', help: 'who hands it in (default: the name of the node)' },
  show: { type: 'boolean', default: false, help: 'show it to visitors (default: it is withheld from them)' },
  ...NODE_AT_OPTIONS,
} as const;

const HELP = `Usage: strongroom hand-in FILE [--url URL] [options]

Hands in what your own browser showed: a saved page (MHTML), an HTML file, a PDF or a picture. The file is kept byte for
byte, with its parts. It is recorded as handed in by you: this node did not fetch it. Visitors may not read it unless you
say --show. If a node has the data folder open, the file is sent to that node.

${optionsHelp(OPTIONS)}

Exit code: 0 if the file was kept, 2 if it could not be.`;

export const handIn: Command = {
  name: 'hand-in',
  summary: 'hand in what your own browser showed: a saved page, a PDF or a picture',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const file = requireOne(positionals, 'Name one file.');
    const { url, title, 'seen-at': seenAt, note, name, show } = values;
    const said = {
      ...(url !== undefined && { url }),
      ...(title !== undefined && { title }),
      ...(seenAt !== undefined && { seen_at: seenAt }),
      ...(note !== undefined && { note }),
      ...(name !== undefined && { name }),
      withheld: show ? ('false' as const) : ('true' as const),
    };
    const handed = await handInOne(
      file,
      said,
      { ...values, url: values.node, addressOption: '--node' },
      config,
    );
    if (values.json) printJson(handed);
    else printHandIn(handed);
    return 0;
  },
};

/** Hands a file in. @throws UsageError */
async function handInOne(
  file: string,
  said: Record<string, string>,
  options: NodeOptions,
  config: Partial<NodeConfig>,
): Promise<HandIn> {
  const checked = handInFieldsSchema.safeParse(said);
  if (!checked.success) throw new UsageError(checked.error.issues[0]?.message ?? 'An option is not valid.');
  const { mediaType: type } = await kindOf({ file, mediaType: undefined, name: basename(file) });
  return withNode(options, config, async (node) => {
    const { json } = await node.send('handIn', { query: said, type, chunks: createReadStream(file) });
    return json;
  });
}

function printHandIn({ id, url, file, document, parts, withheld }: HandIn): void {
  print(`${escapeForTerminal(url)} is kept as ${id}, ${HANDED_IN_WORDS}.`);
  print(`file      ${file.sha256}`);
  print(`document  ${document}`);
  if (parts.length > 1) print(`${parts.length} parts`);
  print(withheld ? 'Visitors may not read it.' : 'Visitors may read it.');
}
