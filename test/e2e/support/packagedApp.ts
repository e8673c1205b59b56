import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { extractAll, getRawHeader } from '@electron/asar';

const root = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** Marks the fuses in Electron's program. It is followed by the version, the number of fuses and a byte for each. */
const SENTINEL = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX';
/** The fuses of Electron 45: RunAsNode, NodeOptions, inspect, file protocol privileges and WASM trap handlers are on. */
const FUSES_AS_DELIVERED = '101100011';

export interface PackagedApp {
  /** The files in the asar archive: size by path. */
  packed: Map<string, number>;
  /** The files next to the archive: size by path. */
  unpacked: Map<string, number>;
  /** The fuses of the program: 0 is off, 1 is on. */
  fuses: string;
  archiveBytes: number;
  /** A folder with all files extracted, as Electron's file system shows them. */
  extracted: string;
}

/** Packages the built app for this platform. Instead of Electron, it contains a file with nothing but fuses. */
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
