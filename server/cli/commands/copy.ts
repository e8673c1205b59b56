import { parseArgs } from 'node:util';
import { MAX_LIST_LIMIT } from '../../../shared/limits.ts';
import {
  type Copy,
  type CopySync,
  copyChangeSchema,
  copyKeySchema,
  inNoCopySentence,
  type LostCopy,
} from '../../../shared/node/copy.ts';
import { countOf } from '../../../shared/values/counts.ts';
import { realPlace } from '../../copies/targets/openTarget.ts';
import {
  askPassphrase,
  type Command,
  type ExitCode,
  NODE_OPTIONS,
  optionsHelp,
  PASSPHRASE_HELP,
  print,
  printJson,
  requireConfirmation,
  TARGET_HELP,
  TARGET_OPTIONS,
  targetOf,
  UsageError,
} from '../command.ts';
import type { NodeClient } from '../node/nodeClient.ts';
import { withArchive } from '../node/withNode.ts';

const OPTIONS = {
  key: {
    type: 'boolean',
    default: false,
    help: 'also keep the key of the archive in the copy, encrypted with a passphrase of 12 characters or more',
  },
  ...NODE_OPTIONS,
  ...TARGET_OPTIONS,
  pages: {
    type: 'boolean',
    help: 'keep pages in the copy that anyone can read without a node, from now on',
  },
  every: {
    type: 'string',
    value: 'MINUTES',
    help: 'the time between two syncs by a running node, from now on',
  },
  'mark-lost': {
    type: 'boolean',
    default: false,
    help: 'the copy is permanently lost: record the objects that only it held as damaged, and forget it',
  },
  yes: { type: 'boolean', default: false, help: 'with --mark-lost: do not ask' },
  'public-url': { type: 'string', value: 'URL', help: 'where readers find these pages' },
} as const;

const HELP = `Usage: strongroom copy TARGET [options]

Brings a second copy of the archive up to date: its objects, its records, its ledger and, if the owner wants them, pages
for readers. Only what is new is sent. The first call creates the copy; the place must be empty. “strongroom restore”
makes an archive from a copy, and “strongroom verify” verifies one. Uses the running node of the data folder, or opens
the folder itself.

The key is in the copy only with --key. Anyone who can read the copy can then try passphrases: choose a long one.
${PASSPHRASE_HELP}

${TARGET_HELP}

If objects are offloaded and the only copy of them is lost, --mark-lost records them in the ledger as damaged, as an
audit does. Readers then get a clear answer. It is refused while the copy can be read.

${optionsHelp(OPTIONS)}

Exit code: 0 if the copy is up to date or was marked as lost, 2 if it could not be written.`;

export const copy: Command = {
  name: 'copy',
  summary: 'bring a second copy of the archive up to date, in a folder or a bucket',
  help: HELP,
  async run(args, config): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const target = targetOf(positionals);
    const { endpoint, region } = values;
    const passphrase = values.key
      ? copyKeySchema.safeParse({ passphrase: await askPassphrase({ isNew: true }) })
      : undefined;
    if (passphrase?.success === false) throw new UsageError('The passphrase needs at least 12 characters.');
    return withArchive(values, config, async (node): Promise<ExitCode> => {
      const { items: copies } = await node.call('listCopies', { query: { limit: MAX_LIST_LIMIT } });
      const places = await Promise.all(copies.map(realPlace));
      const named = await realPlace({ target });
      const known = copies.find(
        (each, index) => places[index] === named && each.endpoint === (endpoint ?? null),
      );
      const place = { target, ...(endpoint && { endpoint }), ...(region && { region }) };
      const pages = {
        ...((values.pages || values['public-url']) && { pages: true }),
        ...(values['public-url'] && { public_url: publicUrlOf(values['public-url']) }),
      };
      if (values['mark-lost']) return markLost(node, known, { ...values, target });
      const every = values.every && { every_minutes: minutesOf(values.every) };
      const chosen = { ...pages, ...every };
      const { id } = known ?? (await node.call('addCopy', { body: { ...place, ...chosen } }));
      const params = { id };
      if (known && Object.keys(chosen).length > 0) await node.call('changeCopy', { params, body: chosen });
      const sent = (await node.finished(await node.call('syncCopy', { params }))) as CopySync;
      if (passphrase) await node.call('keepKeyInCopy', { params, body: passphrase.data });
      const { items: after } = await node.call('listCopies', { query: { limit: MAX_LIST_LIMIT } });
      const { withheld_in_no_copy = 0, withheld_encrypted = 0 } = after.find((each) => each.id === id) ?? {};
      const kept = { withheld_in_no_copy, withheld_encrypted };
      if (values.json) printJson({ ok: true, id, target, ...sent, ...kept });
      else for (const sentence of [...describe(target, sent), ...describeKept(kept, after)]) print(sentence);
      return 0;
    });
  },
};

/** Marks a copy as lost, after the owner has confirmed it. @throws UsageError; the node's problems */
async function markLost(
  node: NodeClient,
  known: Copy | undefined,
  { target, json, yes }: { target: string; json: boolean; yes: boolean },
): Promise<ExitCode> {
  if (!known) throw new UsageError(`This archive has no copy in ${target}.`);
  if (!yes)
    await requireConfirmation(
      `The objects that only the copy in ${target} holds are recorded as lost, and the copy is forgotten.`,
    );
  const marked = await node.call('markCopyLost', { params: { id: known.id } });
  const lost = (await node.finished(marked)) as LostCopy;
  const { objects, bytes, restored } = lost;
  if (json) printJson({ ok: true, id: known.id, target, ...lost });
  else {
    print(
      `The copy in ${target} was marked as lost. ${countOf(objects, 'object')} (${bytes} bytes) ${objects === 1 ? 'is' : 'are'} recorded as damaged.`,
    );
    if (restored > 0) print(`${restored} objects were still in the cache and are on this disk again.`);
  }
  return 0;
}

/** @throws UsageError */
function minutesOf(text: string): number {
  const minutes = copyChangeSchema.shape.every_minutes.safeParse(Number(text));
  if (minutes.data) return minutes.data;
  throw new UsageError('--every: enter a number of minutes from 1 to 43200.');
}

/** @throws UsageError */
function publicUrlOf(text: string): string {
  const url = copyChangeSchema.shape.public_url.safeParse(text);
  if (url.data) return url.data;
  throw new UsageError(`--public-url: ${url.error?.issues[0]?.message ?? 'Enter an http(s) address.'}`);
}

function* describe(target: string, sent: CopySync): Generator<string> {
  const { objects, bytes, records, pages, withheld_cleaned, withheld_in_the_clear, released_removed } = sent;
  const all = `${countOf(records, 'entry', 'entries')}, ${countOf(objects, 'object')} (${bytes} bytes)`;
  if (records === 0 && !pages) yield `The copy in ${target} was up to date.`;
  else
    yield `The copy in ${target} is up to date: ${all}${pages === undefined ? '' : ` and ${pages} pages`} were sent.`;
  if (withheld_cleaned > 0)
    yield `${countOf(withheld_cleaned, 'withheld object was', 'withheld objects were')} removed from it, because readers may look into it.`;
  if (withheld_in_the_clear > 0)
    yield `${countOf(withheld_in_the_clear, 'withheld object is', 'withheld objects are')} still there in the clear. Sync again. What then stays is intact nowhere else: give it up for good (Withheld) if it must go.`;
  if (released_removed > 0)
    yield `${countOf(released_removed, 'object that was', 'objects that were')} given up ${released_removed === 1 ? 'was' : 'were'} removed from it.`;
  if (sent.older_versions)
    yield 'The bucket may keep older versions of what was removed, which this access key may not see or delete. Remove them there.';
}

/** Says what is not safe of what is withheld. */
function* describeKept(
  { withheld_in_no_copy, withheld_encrypted }: Pick<Copy, 'withheld_in_no_copy' | 'withheld_encrypted'>,
  copies: readonly Copy[],
): Generator<string> {
  if (withheld_in_no_copy > 0)
    yield inNoCopySentence(
      withheld_in_no_copy,
      copies.some(({ pages }) => !pages),
    );
  if (withheld_encrypted > 0)
    yield `${countOf(withheld_encrypted, 'withheld object is', 'withheld objects are')} only there, encrypted by an earlier version. Put the key that decrypts ${withheld_encrypted === 1 ? 'it' : 'them'} into withheld.key, then sync again.`;
}
