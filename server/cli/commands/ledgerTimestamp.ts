import { resolve } from 'node:path';
import type { Stamping } from '../../../shared/ledger/timestamp.ts';
import { Problem } from '../../../shared/problems.ts';
import { systemClock } from '../../../shared/values/clock.ts';
import { isPrivateAddress } from '../../collection/fetch/addresses.ts';
import { systemLookup } from '../../collection/fetch/connect.ts';
import { createPost } from '../../collection/fetch/post.ts';
import { openArchiveForWriting } from '../../collection/record/openArchiveForWriting.ts';
import { Timestamps } from '../../ledger/timestamps/timestamps.ts';
import { FolderInUseError } from '../../store/opening/folderLock.ts';
import { openSettings } from '../../store/settings.ts';
import { type ExitCode, print, printError } from '../command.ts';
import { escapeForTerminal } from '../escapeForTerminal.ts';
import { connectToNode, type NodeOptions, RefusedByNodeError } from '../runningNode.ts';

/** Runs `strongroom ledger timestamp`: asks every authority now, through the node that has the folder open if there is one. */
export async function timestampLedger(options: NodeOptions & { json: boolean }): Promise<ExitCode> {
  let result: Stamping;
  try {
    result = await stampAlone(resolve(options.data)).catch((error: unknown) => {
      if (error instanceof FolderInUseError) return stampByNode(options);
      throw error;
    });
  } catch (error) {
    if (!(error instanceof Problem || error instanceof RefusedByNodeError)) throw error;
    printError(escapeForTerminal(error.message));
    return 1;
  }
  if (options.json) print(JSON.stringify(result));
  else printResult(result);
  return result.failed.length === 0 ? 0 : 1;
}

async function stampAlone(folder: string): Promise<Stamping> {
  const { store, checkpoints } = await openArchiveForWriting({ folder, clock: systemClock });
  try {
    const settings = openSettings(store);
    const post = createPost(
      { clock: systemClock, lookup: systemLookup, isPrivateAddress },
      () => settings.current,
    );
    return await new Timestamps({ store, checkpoints, settings, post, warn: () => {} }).stampNow();
  } finally {
    await store.close();
  }
}

async function stampByNode(options: NodeOptions): Promise<Stamping> {
  const node = await connectToNode(options);
  return (await node.request('POST', '/manage/timestamps')) as Stamping;
}

function printResult({ items, failed }: Stamping): void {
  for (const { size, at, authority, serial } of items) {
    const entries = size === 1 ? 'Entry 1' : `Entries 1 to ${size}`;
    print(`${entries} existed before ${at}, says ${escapeForTerminal(authority)} (${serial}).`);
  }
  for (const { authority, error } of failed) printError(escapeForTerminal(`${authority}: ${error}`));
}
