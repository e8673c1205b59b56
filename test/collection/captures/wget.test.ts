import { execFile, execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { chunked, closeScriptedWebs, page, redirect, ScriptedWeb } from '../../support/scriptedWeb.ts';
import { sha256 } from '../../support/warcFiles.ts';
import { openCollectingNode } from '../support.ts';
import { imported, sourceNamed } from './support.ts';

afterEach(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
});

/** Whether wget is here; where it is not, nothing of it can be shown. */
function hasWget(): boolean {
  try {
    execFileSync('wget', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const run = promisify(execFile);

test.skipIf(!hasWget())(
  'what wget --warc-file wrote is read, packed or not (skipped without wget)',
  async () => {
    const web = await ScriptedWeb.open();
    web.script('/page', page('<title>Levels</title>12.7'));
    web.script('/chunks', chunked(['one ', 'two']));
    web.script('/target', page('another'));
    web.script('/old', redirect('/target'));
    const folder = await temporaryFolder();
    const paths = ['/page', '/chunks', '/old', '/missing'];
    const urls = paths.map((path) => web.url(path));
    for (const [name, more] of [
      ['plain', ['--no-warc-compression']],
      ['packed', []],
    ] as const) {
      const args = ['-q', '-t', '1', '-O', '/dev/null', ...more, `--warc-file=${name}`, ...urls];
      // wget ends with 8 because one page is missing.
      await run('wget', args, { cwd: folder }).catch((error: { code: number }) => expect(error.code).toBe(8));
    }
    for (const file of ['plain.warc', 'packed.warc.gz']) {
      const node = await openCollectingNode();
      const result = await imported(node, await readFile(join(folder, file)), { observer: 'wget' });
      expect(result).toMatchObject({ captures: 5, refused: [] });
      expect(result.events).toHaveLength(3);
      const told = async (path: string) => {
        const retrievals = await node.retrievals((await sourceNamed(node, web.url(path))).id);
        return retrievals.map(({ status, error, sha256: digest }) => [status, error, digest]);
      };
      expect(await told('/chunks')).toEqual([[200, null, sha256('one two')]]);
      expect(await told('/old')).toEqual([[302, 'redirected', sha256('')]]);
      expect(await told('/missing')).toEqual([[404, 'http_error', sha256('Not here.')]]);
      expect(await told('/page')).toEqual([[200, null, sha256('<title>Levels</title>12.7')]]);
      await node.node.close();
    }
  },
);
