import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { systemClock } from '../../../shared/values/clock.ts';
import { installDebianPackages } from '../debian.ts';

const run = promisify(execFile);

/** How a store is reached. */
export interface StoreAddress {
  endpoint: string;
  region: string;
  access_key: string;
  secret_key: string;
}

/** A real S3-compatible object store on loopback: OpenStack Swift with its S3 interface and one replica. */
export interface ObjectStore extends StoreAddress {
  /** Creates a bucket, and waits until the store can do so. */
  createBucket(bucket: string): Promise<void>;
  /** Lets anyone read a bucket. Returns its address for readers, which ends with a slash. */
  publish(bucket: string): Promise<string>;
  /** Ends the processes and removes the folder. */
  close(): Promise<void>;
}

const PACKAGES = ['swift-proxy', 'swift-account', 'swift-container', 'swift-object', 'memcached'];
const BACK_ENDS = ['object', 'container', 'account'] as const;
const BACK_ENDS_START_WITHIN_MS = 180_000;
/** Below those of /proc/sys/net/ipv4/ip_local_port_range, which begins at 32768 if nobody changed it. */
const FIRST_PORT = 20_000;
const OWN_PORTS = 12_000;
const PORTS_APART = 16;

/** Installs Swift from Debian's packages if that is possible here. Returns whether it is installed. */
export function installObjectStore(): boolean {
  const isInstalled = () => existsSync('/usr/bin/swift-proxy-server') && existsSync('/usr/bin/memcached');
  if (!isInstalled()) installDebianPackages('an object store', PACKAGES);
  return isInstalled();
}

/** Starts a store on free ports with a folder of its own. */
export async function openObjectStore(): Promise<ObjectStore> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-store-'));
  const [proxy = 0, memcached = 0, ...backEnds] = await freePorts(2 + BACK_ENDS.length);
  await configure(folder, proxy, memcached, backEnds);
  const children = [
    spawn('memcached', ['-u', 'nobody', '-l', '127.0.0.1', '-p', String(memcached)], { stdio: 'ignore' }),
    ...[...BACK_ENDS, 'proxy'].map((name) => startServer(folder, name)),
  ];
  const store = objectStoreAt(
    {
      endpoint: `http://127.0.0.1:${proxy}`,
      region: 'us-east-1',
      access_key: 'test:tester',
      secret_key: 'testing',
    },
    () => requireRunning(children),
  );
  return {
    ...store,
    close: async () => {
      await store.close();
      await Promise.all(children.map(end));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A store that runs already, such as the one that all trials share. To close it ends only its connections. */
export function objectStoreAt(address: StoreAddress, requireStarted = () => {}): ObjectStore {
  const { endpoint, region, access_key, secret_key } = address;
  const credentials = { accessKeyId: access_key, secretAccessKey: secret_key };
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true, maxAttempts: 1 });
  return {
    ...address,
    createBucket: (bucket) => createBucketSoon(client, bucket, requireStarted),
    publish: async (bucket) => {
      const headers = { 'X-Auth-User': access_key, 'X-Auth-Key': secret_key };
      const signedIn = await fetch(`${endpoint}/auth/v1.0`, { headers });
      const url = `${signedIn.headers.get('X-Storage-Url')}/${bucket}`;
      const token = signedIn.headers.get('X-Auth-Token') ?? '';
      const rights = { 'X-Auth-Token': token, 'X-Container-Read': '.r:*' };
      const changed = await fetch(url, { method: 'POST', headers: rights });
      if (!changed.ok) throw new Error(`The bucket cannot be published: ${changed.status}.`);
      return `${url}/`;
    },
    close: async () => client.destroy(),
  };
}

/** Tries until the back ends have started. Vitest is not used, so that benchmarks can start a store too. */
async function createBucketSoon(client: S3Client, bucket: string, requireStarted: () => void): Promise<void> {
  const until = performance.now() + BACK_ENDS_START_WITHIN_MS;
  for (;;) {
    requireStarted();
    try {
      return await createBucket(client, bucket);
    } catch (error) {
      if (performance.now() > until) throw error;
    }
    await systemClock.sleep(250);
  }
}

function requireRunning(children: readonly ChildProcess[]): void {
  const ended = children.find((child) => !isRunning(child));
  if (!ended) return;
  const why = ended.signalCode ?? `exit code ${ended.exitCode}`;
  throw new Error(
    `The object store needs ${ended.spawnfile} (${ended.spawnargs.at(-1)}), which ended: ${why}.`,
  );
}

/** An attempt that failed half-way may have created the bucket. */
async function createBucket(client: S3Client, Bucket: string): Promise<void> {
  try {
    await client.send(new CreateBucketCommand({ Bucket }));
  } catch (error) {
    if (!(error instanceof S3ServiceException && error.name === 'BucketAlreadyOwnedByYou')) throw error;
  }
}

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/**
 * Ports that were free a moment ago. Linux does not give them to a server or a client that asks for any port, and each
 * process begins at others, so that nothing else takes them until the store listens.
 */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let step = 0; ports.length < count; step += 1) {
    if (step === OWN_PORTS) throw new Error('No port is free for an object store.');
    const port = FIRST_PORT + ((process.pid * PORTS_APART + step) % OWN_PORTS);
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * Makes Swift read its settings from another folder than `/etc/swift`, then runs one of its programs. It ends with the test
 * even if that is killed (PR_SET_PDEATHSIG).
 */
const START = `import ctypes, runpy, sys
ctypes.CDLL(None).prctl(1, 9)
from swift.common.utils import set_swift_dir
set_swift_dir(sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name='__main__')`;

function startServer(folder: string, name: string): ChildProcess {
  const program = `/usr/bin/swift-${name}-server`;
  return spawn('/usr/bin/python3', ['-c', START, folder, program, join(folder, `${name}.conf`)], {
    stdio: 'ignore',
  });
}

async function configure(
  folder: string,
  proxy: number,
  memcached: number,
  backEnds: readonly number[],
): Promise<void> {
  await mkdir(join(folder, 'devices', 'd1'), { recursive: true });
  await writeFile(
    join(folder, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n',
  );
  for (const [index, name] of BACK_ENDS.entries()) {
    const port = backEnds[index] ?? 0;
    const ring = (...words: string[]) =>
      run('swift-ring-builder', [`${name}.builder`, ...words], { cwd: folder });
    await ring('create', '4', '1', '1');
    await ring('add', `r1z1-127.0.0.1:${port}/d1`, '1');
    await ring('rebalance');
    const app = `${name}-server`;
    const server = ['[pipeline:main]', `pipeline = ${app}`, `[app:${app}]`, `use = egg:swift#${name}`];
    await writeFile(join(folder, `${name}.conf`), [...common(folder, port), ...server, ''].join('\n'));
  }
  const filters = ['catch_errors', 'gatekeeper', 'cache', 's3api', 'tempauth', 'slo', 'dlo'];
  const sections = filters.flatMap((name) => [
    `[filter:${name}]`,
    `use = egg:swift#${name === 'cache' ? 'memcache' : name}`,
    ...(FILTER_OPTIONS[name] ?? []),
    ...(name === 'cache' ? [`memcache_servers = 127.0.0.1:${memcached}`] : []),
  ]);
  const app = ['[app:proxy-server]', 'use = egg:swift#proxy', 'account_autocreate = true'];
  const pipeline = ['[pipeline:main]', `pipeline = ${filters.join(' ')} proxy-server`];
  const lines = [...common(folder, proxy), ...pipeline, ...app, ...sections, ''];
  await writeFile(join(folder, 'proxy.conf'), lines.join('\n'));
}

const FILTER_OPTIONS: Record<string, readonly string[]> = {
  // A short page, so that a test of a few files needs several.
  s3api: ['s3_acl = false', 'max_bucket_listing = 10'],
  tempauth: ['user_test_tester = testing .admin .reseller_admin'],
};

/**
 * Every program reads its own of these from `[DEFAULT]`. Some are half a second by default, after which a store on a busy
 * machine loses an answer of its own parts, or no longer asks them for a minute.
 */
const PATIENCE = [
  'conn_timeout = 60',
  'node_timeout = 120',
  'recoverable_node_timeout = 120',
  'container_update_timeout = 120',
  'error_suppression_limit = 1000000',
  // Of the connections to memcached.
  'connect_timeout = 60',
  'pool_timeout = 60',
  'io_timeout = 60',
];

function common(folder: string, port: number): string[] {
  return [
    '[DEFAULT]',
    'bind_ip = 127.0.0.1',
    `bind_port = ${port}`,
    'workers = 0',
    `user = ${userInfo().username}`,
    `swift_dir = ${folder}`,
    `devices = ${join(folder, 'devices')}`,
    'mount_check = false',
    'log_address = /dev/null',
    'log_level = ERROR',
    ...PATIENCE,
  ];
}
