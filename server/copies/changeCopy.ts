import type { CopyChange } from '../../shared/node/copy.ts';
import { Problem } from '../../shared/problems.ts';
import { type CopyRow, copyAt, setCopyAddress, setPages } from '../store/sqlite/node/copies.ts';
import { readCredentials, writeCredentials } from './keys/credentials.ts';
import { type CopyServices, requireOwn } from './requireOwn.ts';
import { openTarget } from './targets/openTarget.ts';

/**
 * Changes the settings of a copy. Another endpoint, region or access key is kept only if the copy is found with it.
 *
 * @throws CopyError; Problem `copy_exists`
 */
export async function changeCopy(services: CopyServices, copy: CopyRow, change: CopyChange): Promise<void> {
  const { store } = services;
  const { access_key, secret_key, every_minutes, endpoint, region } = change;
  const address = {
    every_minutes: every_minutes === undefined ? copy.every_minutes : every_minutes,
    endpoint: endpoint === undefined ? copy.endpoint : endpoint,
    region: region === undefined ? copy.region : region,
  };
  const isMoved = address.endpoint !== copy.endpoint || address.region !== copy.region;
  const credentials = access_key && secret_key ? { access_key, secret_key } : undefined;
  if (isMoved || credentials) {
    if (address.endpoint !== copy.endpoint && copyAt(store.read, copy.target, address.endpoint))
      throw new Problem('copy_exists', `There is a copy in ${copy.target} at this endpoint already.`);
    await requireFound(services, { ...copy, ...address }, credentials);
  }
  if (credentials) await writeCredentials(store.folder, copy.id, credentials);
  const pages = {
    pages: change.pages === undefined ? copy.pages : Number(change.pages),
    public_url: change.public_url === undefined ? copy.public_url : change.public_url,
  };
  const arePagesChanged = pages.pages !== copy.pages || pages.public_url !== copy.public_url;
  await store.write((database) => {
    setCopyAddress(database, copy.id, address);
    if (arePagesChanged) setPages(database, copy.id, pages);
  });
}

async function requireFound(
  services: CopyServices,
  copy: CopyRow,
  given: { access_key: string; secret_key: string } | undefined,
): Promise<void> {
  const credentials = given ?? (await readCredentials(services.store.folder))[copy.id];
  const target = await openTarget({ ...copy, ...credentials });
  try {
    await requireOwn(services, copy, target);
  } finally {
    target.close();
  }
}
