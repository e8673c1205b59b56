import { observerSchema } from '../../shared/collection/captures.ts';
import { Problem } from '../../shared/problems.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { allPeers } from '../store/sqlite/node/peers.ts';

/** Returns the address of a node in the form that is kept. */
export function normalUrl(given: string): string {
  return new URL(given).href.replace(/\/+$/, '');
}

/** @throws Problem `invalid_field` if a certificate is expected at an address that is not https */
export function requireTls(url: string, fingerprint: string | undefined): void {
  if (fingerprint === undefined || url.startsWith('https:')) return;
  const message = 'Only an address that begins with https has a certificate.';
  throw new Problem('invalid_field', message, { errors: [{ path: '/tls_fingerprint', message }] });
}

/** @throws Problem `invalid_field` */
export function requireObserver(name: string): void {
  const parsed = observerSchema.safeParse(name);
  const [issue] = parsed.error?.issues ?? [];
  if (issue)
    throw new Problem('invalid_field', issue.message, {
      errors: [{ path: '/name', message: issue.message }],
    });
}

/** @throws Problem `peer_exists` if another peer has the address, the key or the name */
export function requireFree(
  database: ReadDatabase,
  {
    url,
    name,
    key,
    except,
  }: { url?: string | undefined; name?: string | undefined; key?: string | undefined; except?: string },
): void {
  const taken = allPeers(database).find(
    (row) => row.id !== except && (row.url === url || row.name === name || row.key === key),
  );
  if (taken)
    throw new Problem('peer_exists', `${taken.name} is a peer already, at ${taken.url}.`, {
      members: { peer: taken.id },
    });
}
