import { keysOf } from '../ledger/detectRollback.ts';
import { readKeyChanges } from '../ledger/keyChanges.ts';
import { readClaim, writeClaim } from './claim.ts';
import { type CopyServices, requireSameHistory } from './requireOwn.ts';
import { CopyError, type CopyTarget } from './targets/target.ts';

/**
 * Makes a place a copy that this data folder writes to. It must be empty, or hold a copy of this archive, which is taken
 * over: another machine that wrote to it is refused from then on.
 *
 * @throws CopyError
 */
export async function claimTarget(services: CopyServices, writer: string, target: CopyTarget): Promise<void> {
  const { store, checkpoints } = services;
  const { name: node, verifierKey: key } = checkpoints.key;
  const claim = await readClaim(target);
  if (claim && !keysOf(key, readKeyChanges(store.read)).includes(claim.key))
    throw new CopyError(
      `${target.name} holds the copy of another archive, ${claim.node}. Choose another place.`,
    );
  if (claim) await requireSameHistory(services, target);
  else await requireEmpty(target);
  await writeClaim(target, { node, key, writer });
  // Two programs may have written at once. The one whose claim is there continues.
  if ((await readClaim(target))?.writer !== writer)
    throw new CopyError(
      `Another program began a copy in ${target.name} at the same time. Choose another place.`,
    );
}

async function requireEmpty(target: CopyTarget): Promise<void> {
  for await (const { path } of target.list(''))
    throw new CopyError(`${target.name} is not empty: it holds ${path}. Choose an empty place.`);
}
