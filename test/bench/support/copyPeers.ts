import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { StoreAddress } from '../../support/network/objectStore.ts';

const run = promisify(execFile);
const QUIET = { maxBuffer: 64 * 1_048_576 };

/** Returns which of these programs are missing. */
export function missingPrograms(programs: readonly string[]): string[] {
  return programs.filter((program) => spawnSync(program, ['--help']).error !== undefined);
}

/** restic with a local repository. */
export function resticAt(repository: string) {
  const env = { ...process.env, RESTIC_REPOSITORY: repository, RESTIC_PASSWORD: 'bench' };
  const restic = (...args: string[]) => run('restic', [...args, '--quiet'], { env, ...QUIET });
  return {
    create: () => restic('init'),
    backup: (folder: string) => restic('backup', folder),
    restore: (folder: string) => restic('restore', 'latest', '--target', folder),
  };
}

/** Copies a folder with cp and waits until its disk holds it. */
export async function copyWithCp(from: string, to: string): Promise<void> {
  await run('cp', ['-r', from, to]);
  await run('sync', ['--file-system', to]);
}

/** Copies a folder into a bucket with rclone. */
export async function copyWithRclone(
  folder: string,
  bucket: string,
  { endpoint, region, access_key, secret_key }: StoreAddress,
  transfers: number,
): Promise<void> {
  const env = {
    ...process.env,
    RCLONE_S3_PROVIDER: 'Other',
    RCLONE_S3_ENDPOINT: endpoint,
    RCLONE_S3_REGION: region,
    RCLONE_S3_ACCESS_KEY_ID: access_key,
    RCLONE_S3_SECRET_ACCESS_KEY: secret_key,
    RCLONE_CONFIG: '/dev/null',
    // rclone refuses a list of certificates, and the store on loopback needs none.
    AWS_CA_BUNDLE: '',
  };
  const args = ['copy', folder, `:s3:${bucket}`, '--transfers', String(transfers), '--s3-no-check-bucket'];
  await run('rclone', [...args, '--no-traverse', '--quiet'], { env, ...QUIET });
}
