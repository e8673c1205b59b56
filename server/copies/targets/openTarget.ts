import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openFolderTarget } from './folderTarget.ts';
import { CopyError, type CopyTarget } from './target.ts';

/** Where a copy is, as the owner names it. */
export interface TargetAddress {
  /** `file:///…` or `s3://bucket/prefix`. */
  target: string;
  endpoint?: string | null | undefined;
  region?: string | null | undefined;
  access_key?: string | null | undefined;
  secret_key?: string | null | undefined;
}

/**
 * Opens the target of a copy. Only for a new copy is a missing folder created.
 *
 * @throws CopyError if it cannot be reached or the address cannot be understood
 */
export async function openTarget(
  address: TargetAddress,
  { isNew = false }: { isNew?: boolean } = {},
): Promise<CopyTarget> {
  const url = URL.parse(address.target);
  if (url?.protocol === 'file:' && url.host === '') return openFolderTarget(folderOf(url), { isNew });
  if (url?.protocol !== 's3:' || url.host === '')
    throw new CopyError('A copy is in a folder (file:///path) or in a bucket (s3://bucket/prefix).');
  // The client of the object store takes a while to load, and most nodes never need it.
  const { openS3Target } = await import('./s3Target.ts');
  const path = decoded(url).replace(/^\/+|\/+$/g, '');
  const { endpoint, region, access_key, secret_key } = address;
  const hasKey = access_key && secret_key;
  return openS3Target({
    bucket: url.host,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: endpoint ?? undefined,
    region: region ?? undefined,
    credentials: hasKey ? { accessKeyId: access_key, secretAccessKey: secret_key } : undefined,
  });
}

/** Returns whether an address names a folder or what is within it. */
export function isWithin(folder: string, { target }: Pick<TargetAddress, 'target'>): boolean {
  const url = URL.parse(target);
  if (url?.protocol !== 'file:' || url.host !== '') return false;
  const path = relative(resolve(folder), folderOf(url));
  return path.split(sep)[0] !== '..' && !isAbsolute(path);
}

function folderOf(url: URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new CopyError(`${url.href} does not name a folder of this machine.`, { cause });
  }
}

function decoded(url: URL): string {
  try {
    return decodeURIComponent(url.pathname);
  } catch (cause) {
    throw new CopyError(`${url.href} is not a valid address: write % as %25.`, { cause });
  }
}
