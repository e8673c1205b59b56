import type { TestProject } from 'vitest/node';
import { installDebianPackages } from './debian.ts';
import { installObjectStore, openObjectStore, type StoreAddress } from './network/objectStore.ts';
import { isInstalled } from './requirements.ts';

declare module 'vitest' {
  interface ProvidedContext {
    objectStore: StoreAddress | undefined;
  }
}

/** The programs that trials compare with, and the packages of Debian that contain them. */
const PROGRAMS = {
  '7z': 'p7zip-full',
  bsdtar: 'libarchive-tools',
  go: 'golang-go',
  hashdeep: 'hashdeep',
  ip: 'iproute2',
  jar: 'default-jdk-headless',
  nginx: 'nginx-light',
  rhash: 'rhash',
  tcpdump: 'tcpdump',
  unzip: 'unzip',
  wget: 'wget',
  zip: 'zip',
};
const GO_LIBRARY = 'golang-golang-x-mod-dev';

/** Vitest's global setup of the trials: installs what is missing, and starts one object store for all of them. */
export default async function setUpTrials(project: TestProject): Promise<() => Promise<void>> {
  const missing: string[] = [];
  for (const [program, name] of Object.entries(PROGRAMS))
    if (!(await isInstalled(program))) missing.push(name);
  if (missing.length > 0) installDebianPackages('the programs of the trials', [...missing, GO_LIBRARY]);
  const store = installObjectStore() ? await openObjectStore() : undefined;
  if (store) {
    const { endpoint, region, access_key, secret_key } = store;
    project.provide('objectStore', { endpoint, region, access_key, secret_key });
  } else project.provide('objectStore', undefined);
  return async () => store?.close();
}
