import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extractAll, getRawHeader } from '@electron/asar';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** Where Electron's program keeps its fuses: this text, the version, their number, and a byte for each. */
const SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
/** As Electron 45 comes: RunAsNode, NodeOptions, inspect, the file protocol's privileges and WASM trap handlers are on. */
const FUSES_AS_DELIVERED = '101100011';

export interface PackagedApp {
  /** What lies in the archive, by path, each with its size. */
  packed: Map<string, number>;
  /** What lies beside the archive. */
  unpacked: Map<string, number>;
  /** Each fuse of the program: 0 off, 1 on. */
  fuses: string;
  archiveBytes: number;
  /** A folder with all of it as plain files, as Electron's file system shows it. */
  extracted: string;
}

/** Packages the built app for this platform, with a file that holds nothing but fuses in the place of Electron. */
export async function packageApp(folder: string): Promise<PackagedApp> {
  const stub = join(folder, 'electron');
  await mkdir(stub);
  const wire = Buffer.from([1, FUSES_AS_DELIVERED.length]);
  await writeFile(
    join(stub, 'electron'),
    Buffer.concat([Buffer.from(SENTINEL), wire, Buffer.from(FUSES_AS_DELIVERED)]),
    { mode: 0o755 },
  );
  const builder = createRequire(import.meta.url).resolve('electron-builder/cli.js');
  const output = join(folder, 'dist');
  await run(
    process.execPath,
    [builder, '--linux', '--dir', `-c.electronDist=${stub}`, `-c.directories.output=${output}`],
    { cwd: root, maxBuffer: 16_000_000 },
  );
  const app = join(output, `linux${process.arch === 'x64' ? '' : `-${process.arch}`}-unpacked`);
  const archive = join(app, 'resources/app.asar');
  const extracted = join(folder, 'extracted');
  extractAll(archive, extracted);
  const { packed, unpacked, bytes } = listArchive(archive);
  return {
    packed,
    unpacked,
    fuses: await readFuses(join(app, 'strongroom')),
    archiveBytes: bytes,
    extracted,
  };
}

async function readFuses(program: string): Promise<string> {
  const bytes = await readFile(program);
  const at = bytes.indexOf(SENTINEL) + SENTINEL.length;
  return bytes.toString('latin1', at + 2, at + 2 + (bytes[at + 1] ?? 0));
}

interface Entry {
  files?: Record<string, Entry>;
  size?: number;
  unpacked?: boolean;
}

function listArchive(archive: string) {
  const packed = new Map<string, number>();
  const unpacked = new Map<string, number>();
  const { header, headerSize } = getRawHeader(archive);
  const visit = (entry: Entry, path: string) => {
    for (const [name, child] of Object.entries(entry.files ?? {}))
      visit(child, path ? `${path}/${name}` : name);
    if (entry.files === undefined) (entry.unpacked ? unpacked : packed).set(path, entry.size ?? 0);
  };
  visit(header as Entry, '');
  const bytes = headerSize + [...packed.values()].reduce((sum, size) => sum + size, 0);
  return { packed, unpacked, bytes };
}
