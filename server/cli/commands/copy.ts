import { parseArgs } from 'node:util';
import type { Copy, CopySync } from '../../../shared/node/copy.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { openArchiveForWriting } from '../../collection/record/openArchiveForWriting.ts';
import { Jobs } from '../../runtime/jobs.ts';
import { createLog } from '../../runtime/log.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import { archiveFolder, type Command, type ExitCode, print, printError } from '../command.ts';
import { TARGET_HELP, TARGET_OPTIONS, targetOf } from '../copyTarget.ts';
import { NODE_OPTIONS, optionsHelp } from '../options.ts';
import { connectToNode, type NodeOptions, type RunningNode } from '../runningNode.ts';

const OPTIONS = { ...NODE_OPTIONS, ...TARGET_OPTIONS } as const;

const HELP = `Usage: strongroom copy TARGET [options]

Brings a second copy of the archive up to date: its objects, its records and its ledger. Only what is new is sent. The
first call creates the copy; the place must be empty. “strongroom restore” makes an archive from a copy, and “strongroom
verify” verifies one. Uses the running node of the data folder, or opens the folder itself.

${TARGET_HELP}

${optionsHelp(OPTIONS)}

Exit code: 0 if the copy is up to date, 2 if it could not be written.`;

/** What the command needs of a node, or of an archive that it opened itself. */
interface CopyClient {
  list(): Promise<Copy[]>;
  add(copy: { target: string; endpoint?: string; region?: string }): Promise<Copy>;
  sync(id: string): Promise<CopySync>;
  close(): Promise<void>;
}

export const copy: Command = {
  name: 'copy',
  summary: 'bring a second copy of the archive up to date, in a folder or a bucket',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const target = targetOf(positionals);
    const { endpoint, region } = values;
    const client = await openClient(values);
    try {
      const known = (await client.list()).find(
        (each) => each.target === target && each.endpoint === (endpoint ?? null),
      );
      const place = { target, ...(endpoint && { endpoint }), ...(region && { region }) };
      const { id } = known ?? (await client.add(place));
      const sent = await client.sync(id);
      if (values.json) print(JSON.stringify({ ok: true, id, target, ...sent }));
      else print(describe(target, sent));
      return 0;
    } finally {
      await client.close();
    }
  },
};

/** @throws Error if a node has the folder open and cannot be reached */
async function openClient(values: NodeOptions): Promise<CopyClient> {
  try {
    return await openInProcess(archiveFolder(values.data));
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error;
    return remoteClient(await connectToNode(values));
  }
}

function remoteClient(node: RunningNode): CopyClient {
  const json = (value: object) => ({
    type: 'application/json',
    bytes: new TextEncoder().encode(JSON.stringify(value)),
  });
  return {
    list: async () => ((await node.request('GET', '/manage/copies?limit=500')) as { items: Copy[] }).items,
    add: async (added) => (await node.request('POST', '/manage/copies', json(added))) as Copy,
    sync: async (id) => (await node.request('POST', `/manage/copies/${id}/sync?wait=true`)) as CopySync,
    close: async () => {},
  };
}

async function openInProcess(folder: string): Promise<CopyClient> {
  const warn = (_: object, sentence: string) => printError(sentence);
  const { store, checkpoints } = await openArchiveForWriting({ folder, clock: systemClock, warn });
  // Loaded here, so that the list of commands does not wait for it.
  const { Copies } = await import('../../copies/copies.ts');
  const jobs = new Jobs(systemClock, store.randomHex);
  const copies = new Copies({ store, checkpoints, jobs, log: createLog('silent') });
  return {
    list: () => copies.list(),
    add: (added) => copies.add(added),
    sync: (id) => copies.sync(id).finished,
    close: async () => {
      copies.close();
      await jobs.close();
      await store.close();
    },
  };
}

function describe(target: string, { objects, bytes, records }: CopySync): string {
  if (records === 0) return `The copy in ${target} was up to date.`;
  return `The copy in ${target} is up to date: ${records} entries, ${objects} objects and ${bytes} bytes were sent.`;
}
