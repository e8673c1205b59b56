import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import { errorCode } from '../../shared/values/errorCode.ts';

/**
 * The package that carries Chromium's headless shell for Linux (x64), compressed, with the libraries that a
 * machine lacks on which no browser was ever installed, and a font.
 */
const PACKAGE = '@sparticuz/chromium';
/** The shell has 200 MB. In pieces of the usual 16 KB, unpacking takes half as much again of the processor's time. */
const PIECE_BYTES = 262_144;
const LIBRARIES = 'lib';
const FONTS = 'fonts.conf';

/**
 * Returns the path of the headless shell that came with `npm ci`, or null. It is unpacked once, into the owner's cache
 * folder: the package itself would use a name in the shared temporary folder that anybody can take first.
 */
export async function packagedBrowser(): Promise<string | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const packed = packagedFolder();
  if (packed === null) return null;
  const { size, mtimeMs } = statSync(join(packed, 'chromium.br'));
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'strongroom');
  const folder = join(cache, `browser-${size}-${Math.floor(mtimeMs)}`);
  const executable = join(folder, 'chromium');
  if (existsSync(executable)) return executable;
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const unfinished = await mkdtemp(join(cache, 'unpacking-'));
  try {
    await unpack(packed, unfinished);
    await rename(unfinished, folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(executable)) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return executable;
}

/** Returns what the packaged browser needs in its environment. Another browser brings its libraries and fonts itself. */
export function packagedVariables(executable: string): Record<string, string> {
  const folder = dirname(executable);
  if (!existsSync(join(folder, FONTS))) return {};
  return {
    LD_LIBRARY_PATH: join(folder, LIBRARIES),
    // Without any font, a page has no letters.
    ...(!existsSync('/etc/fonts/fonts.conf') && { FONTCONFIG_FILE: join(folder, FONTS) }),
  };
}

function packagedFolder(): string | null {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), '..', 'bin');
  } catch (error) {
    if (errorCode(error) === 'MODULE_NOT_FOUND') return null;
    throw error;
  }
}

async function unpack(packed: string, folder: string): Promise<void> {
  await unpackTar(join(packed, 'al2023.tar.br'), folder);
  await unpackTar(join(packed, 'fonts.tar.br'), folder);
  await writeFile(join(folder, FONTS), FONT_CONFIGURATION);
  await pipeline(
    createReadStream(join(packed, 'chromium.br')),
    createBrotliDecompress({ chunkSize: PIECE_BYTES }),
    createWriteStream(join(folder, 'chromium'), { mode: 0o700 }),
  );
}

/** The configuration in the package names the folders of one cloud service. */
const FONT_CONFIGURATION = `<?xml version="1.0"?>
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
`;

const BLOCK = 512;

/** Unpacks the files of a tar archive of a package whose integrity npm has checked. It has short names and no links. */
async function unpackTar(file: string, folder: string): Promise<void> {
  const tar = await pipeline(createReadStream(file), createBrotliDecompress(), (bytes) => buffer(bytes));
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      tar.toString('latin1', at + from, at + from + length).split('\0')[0] ?? '';
    const name = field(0, 100);
    const size = Number.parseInt(field(124, 12), 8);
    const isFile = ['0', ''].includes(field(156, 1));
    if (isFile && name !== FONTS) {
      const target = join(folder, name);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, tar.subarray(at + BLOCK, at + BLOCK + size));
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
